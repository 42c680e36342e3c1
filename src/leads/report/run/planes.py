"""Planes in which states are drawn: a maze, pairs of a task's features, the first two principal components."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.ticker import MaxNLocator

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.data.running_statistics import SMALLEST
from leads.report import style
from leads.tasks.task import Task

SHADE = "#e3eaf4"
"""Colour of cells that training has visited, behind the paths."""

Paths = list[list[np.ndarray]]
"""A path [time, state], or one of points [time, 2], per skill and episode."""
Points = Float[np.ndarray, "*n 2"]
Projection = Callable[[np.ndarray], np.ndarray]
"""States [..., state] to points of a figure [..., 2]."""


@dataclass(frozen=True)
class Plane:
    """Two numbers of a state as a point, and the part of the plane that panels show."""

    project: Projection
    low: np.ndarray
    high: np.ndarray
    maze: Task | None = None
    """The maze whose walls are drawn in place of a frame."""
    names: tuple[str, str] = ("", "")
    """What the two numbers are."""
    ticks: bool = False
    """Whether their values mean something."""
    visited: np.ndarray | None = None
    """Which cells [first, second] of the fine grid training has visited."""

    @property
    def margin(self) -> tuple[float, float]:
        """Inches that names and ticks take: to the left of a panel, and below it."""
        if self.maze is not None:
            return 0.0, 0.0
        return (0.5, 0.4) if self.ticks else (0.22, 0.22)

    @property
    def gap(self) -> float:
        """Inches between panels of which only the leftmost have ticks."""
        return 2 * style.GAP if self.ticks else style.GAP

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top, as images expect them."""
        (left, bottom), (right, top) = self.low, self.high
        return left, right, bottom, top

    def draw(self, axes: Axes, wall: float) -> None:
        """Draws a maze with walls of this width, or a frame."""
        if self.maze is not None:
            style.draw_maze(axes, self.maze, wall)
        else:
            axes.set(xlim=self.extent[:2], ylim=self.extent[2:], aspect="auto", xticks=[], yticks=[])
            axes.spines[:].set(color=style.FAINT, linewidth=0.8)

    def draw_image(self, axes: Axes, image: np.ndarray, shades: ScalarMappable) -> None:
        """Fills a panel with an image [second, first], between thin walls."""
        shown = axes.imshow(image, origin="lower", extent=self.extent, zorder=1)
        shown.set(cmap=shades.cmap, norm=shades.norm)
        self.draw(axes, 2.5)

    def shade(self, axes: Axes) -> None:
        """Tints what training has visited; call it before `draw`, as an image resets the frame."""
        if self.visited is not None:
            look = {"cmap": ListedColormap(["white", SHADE]), "vmin": 0, "vmax": 1, "zorder": 0}
            axes.imshow(self.visited.T, origin="lower", extent=self.extent, **look)

    def name_axes(self, axes: Axes, x: bool = True, y: bool = True) -> None:
        """Adds names and ticks: `x` for a panel with none below, `y` for one with none to its left."""
        for wanted, axis, name in ((x, axes.xaxis, self.names[0]), (y, axes.yaxis, self.names[1])):
            if wanted and name:
                axis.set_label_text(name, fontsize=9, color=style.INK, parse_math=False)
                if self.ticks:
                    axis.set_tick_params(labelsize=8, length=2.5, color=style.FAINT, labelcolor=style.INK)
                    axis.set_major_locator(MaxNLocator(min(6, axis.get_tick_space()), steps=[1, 2, 2.5, 5, 10]))

    def mark(self, state: np.ndarray) -> np.ndarray:
        """Where to mark a state; states outside are marked at the edge."""
        return np.clip(self.project(state), self.low, self.high)

    def lines(self, path: np.ndarray) -> list[np.ndarray]:
        """Splits a path where it jumps over half the panel, as an angle does after a full turn."""
        jumps = np.abs(np.diff(path, axis=0)) > (self.high - self.low) / 2
        return np.split(path, np.flatnonzero(jumps.any(axis=1)) + 1)


def maze_plane(task: Task) -> Plane:
    """States as they are, between walls."""
    return Plane(np.asarray, task.low, task.high, task)


def feature_planes(agent: Agent) -> list[Plane]:
    """The maze; elsewhere one plane per pair of counted features, so none for a single feature."""
    if style.is_maze(agent.task):
        return [maze_plane(agent.task)]
    return [feature_plane(agent, pair) for pair in combinations(range(len(agent.task.grid_axes)), 2)]


def feature_plane(agent: Agent, pair: Sequence[int]) -> Plane:
    """Two of the counted features, in the box of the coverage grid."""
    task = agent.task
    index = [task.grid_axes[i] for i in pair]
    cells = agent.visited_fine.reshape(len(task.grid_axes) * (task.fine_bins,))
    others = tuple(i for i in range(cells.ndim) if i not in pair)
    project = lambda states: np.asarray(task.features(jnp.asarray(states)))[..., index]
    names = feature_name(task, index[0]), feature_name(task, index[1])
    return Plane(project, task.low[index], task.high[index], None, names, True, np.asarray(cells.any(axis=others)))


def feature_name(task: Task, feature: int) -> str:
    return task.feature_names[feature] if task.feature_names else f"feature {feature}"


def component_plane(project: Projection, *shown: Float[Array, "*n state"]) -> Plane:
    """Principal components, in a frame around the states shown."""
    points = np.concatenate([project(np.asarray(states)).reshape(-1, 2) for states in shown])
    low, high = points.min(axis=0), points.max(axis=0)
    around = 0.05 * np.maximum(high - low, 1e-6)
    return Plane(project, low - around, high + around, names=("principal component 1", "principal component 2"))


def principal_components(*runs: Episodes) -> Projection:
    """The first two principal components of the states that runs' episodes visit, after standardising every entry."""
    visited = np.concatenate([path for episodes in runs for skill in real_paths(episodes) for path in skill])
    centre, spread = visited.mean(axis=0), np.maximum(visited.std(axis=0), SMALLEST)
    components = np.linalg.svd((visited - centre) / spread, full_matrices=False)[2][:2]
    # the sign of a component means nothing: its largest entry is made positive
    components *= np.sign(components[range(len(components)), np.abs(components).argmax(axis=1)])[:, None]
    components = np.pad(components, ((0, 2 - len(components)), (0, 0)))
    return lambda states: (states - centre) / spread @ components.T


def real_paths(episodes: Episodes, project: Projection = np.asarray) -> Paths:
    """Paths of episodes from the start to their true ends, as states or as points of a plane."""
    states, lengths = project(np.asarray(episodes.states)), np.asarray(episodes.lengths)
    return [[path[: n + 1] for path, n in zip(*skill, strict=True)] for skill in zip(states, lengths, strict=True)]


def draw_skills(axes: Axes, agent: Agent, rolled: Episodes, plane: Plane, skills: Sequence[int], scale: float) -> None:
    """Draws paths of some of an agent's skills, the start and the skills' targets."""
    paths, targets = real_paths(rolled, plane.project), agent.targets()
    marks = None if targets is None else plane.mark(np.asarray(targets))
    draw_paths(axes, paths, plane, skills, scale, plane.mark(agent.task.start), marks)


def draw_paths(
    axes: Axes, paths: Paths, plane: Plane, skills: Sequence[int], scale: float, start: Points, targets: Points | None
) -> None:
    """Draws paths of some skills, alternating between skills so that none lies on top of the others."""
    palette = style.palette(len(paths))
    turns = [(palette[skill], paths[skill][i]) for i in range(len(paths[0])) for skill in skills]
    colours, lines = zip(*((colour, line) for colour, path in turns for line in plane.lines(path)), strict=True)
    look = {"linewidths": 0.4 + 0.5 * scale, "alpha": 0.2 + 0.2 * scale, "capstyle": "round", "joinstyle": "round"}
    axes.add_collection(LineCollection(lines, colors=colours, zorder=2, **look), autolim=False)
    ends = np.stack([path[-1] for _, path in turns])
    axes.scatter(*ends.T, s=14 * scale**2, c=[colour for colour, _ in turns], linewidths=0, alpha=0.9, zorder=3)
    plane.shade(axes)
    plane.draw(axes, 4.5 * scale)
    style.mark_start(axes, start, 8 * scale)
    if targets is not None:
        for skill in skills:
            style.mark_target(axes, targets[skill], palette[skill], 17 * scale)
