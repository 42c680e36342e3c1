"""Figures of one run: where its skills go, what it has learnt about them, and how it came to it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import matplotlib
import numpy as np
from jaxtyping import Array, Float
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from leads.agent import Agent, load
from leads.methods.leads import Leads
from leads.report import style
from leads.rollouts.episodes import Episodes
from leads.tasks.task import Task
from leads.training.evaluation import EVALUATION_EPISODES, cells, counts

GRID = 100
"""Points a dimension at which the measure and the uncertainty are drawn."""
BAND = 0.27
"""Inches above a panel, for its name."""
HEAD = 0.4
"""Inches above all panels, for the figure's title."""
GAP = 0.14
"""Inches between panels, and around them."""

Paths = list[list[np.ndarray]]
"""A path [time, state] for every skill and episode."""
Projection = Callable[[np.ndarray], np.ndarray]
"""States [..., state] to points of a figure [..., 2]."""


def write_figures(run_dir: Path) -> list[Path]:
    """Draws a run from its directory alone, as PNG and PDF into its `figures`, and returns the PNGs' paths."""
    agent = load(run_dir)
    episodes = agent.episodes(EVALUATION_EPISODES)
    metrics = metrics_of(agent)
    figures = {"skills": skills_figure(agent, episodes, metrics[-1] if metrics else None)}
    if metrics:
        figures["coverage"] = coverage_figure(metrics)
    if style.is_maze(agent.task):
        figures["visited"] = visited_figure(agent, episodes)
        if isinstance(agent.method, Leads):
            figures["measure"] = measure_figure(agent)
            figures["uncertainty"] = uncertainty_figure(agent)
    return [style.save(figure, agent.run.figures, name) for name, figure in figures.items()]


def metrics_of(agent: Agent) -> list[dict[str, Any]]:
    """The metrics up to the agent's checkpoint; a run that goes on, or broke off, has later ones."""
    return [line for line in agent.run.metrics() if line["epoch"] <= agent.epoch]


def skills_figure(agent: Agent, episodes: Episodes, numbers: dict[str, Any] | None) -> Figure:
    """Paths of fresh episodes: all skills in one panel, and each skill alone."""
    rows, columns = style.rows_and_columns(agent.n_skill, 2 / 3)
    side = (5.4 - rows * BAND) / rows
    large = rows * (side + BAND) - BAND
    figure = style.new_figure(large + columns * (side + GAP) + 3 * GAP, HEAD + BAND + large + GAP)
    style.title(figure, _headline(agent, numbers))
    paths, project = real_paths(episodes), projection(agent, episodes)
    everyone = range(agent.n_skill)
    _skills_panel(style.place(figure, GAP, HEAD + BAND, large, large), agent, paths, project, everyone, 1.0)
    for skill in everyone:
        x = large + 3 * GAP + skill % columns * (side + GAP)
        y = HEAD + BAND + skill // columns * (side + BAND)
        axes = style.place(figure, x, y, side, side)
        _skills_panel(axes, agent, paths, project, [skill], 0.6)
        style.name_skill(axes, skill, style.palette(agent.n_skill)[skill])
    return figure


def _skills_panel(axes, agent: Agent, paths: Paths, project: Projection, skills: Sequence[int], scale: float) -> None:
    """Paths of some skills, taking turns episode by episode so that no skill lies on top of the others."""
    turns = [(skill, project(paths[skill][i])) for i in range(len(paths[0])) for skill in skills]
    palette, targets = style.palette(agent.n_skill), agent.method.targets(agent.state)
    colours = [palette[skill] for skill, _ in turns]
    look = {"linewidths": 0.4 + 0.5 * scale, "alpha": 0.2 + 0.2 * scale, "capstyle": "round", "joinstyle": "round"}
    axes.add_collection(LineCollection([path for _, path in turns], colors=colours, zorder=2, **look), autolim=False)
    ends = np.stack([path[-1] for _, path in turns])
    axes.scatter(*ends.T, s=14 * scale**2, c=colours, linewidths=0, alpha=0.9, zorder=3)
    if style.is_maze(agent.task):
        style.draw_maze(axes, agent.task, 4.5 * scale)
    else:
        _draw_plane(axes, [project(path) for skill in paths for path in skill])
    style.mark_start(axes, project(agent.task.start), 8 * scale)
    if targets is not None:
        for skill in skills:
            style.mark_target(axes, project(np.asarray(targets[skill])), palette[skill], 17 * scale)


def _draw_plane(axes, paths: list[np.ndarray]) -> None:
    """A square around all paths, of which every panel shows the same part."""
    points = np.concatenate(paths)
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.55 * max(*(high - low), 1e-6)
    style.frame(axes, (low + high) / 2 - half, (low + high) / 2 + half)
    axes.spines[:].set(visible=True, color=style.FAINT, linewidth=0.8)


def _headline(agent: Agent, numbers: dict[str, Any] | None) -> str:
    name = f"{agent.run.config().method} on {style.task_name(agent.task)}"
    if numbers is None:
        return name
    return (
        f"{name}, {numbers['samples']:,} samples:  coverage {numbers['coverage']:.0f} %,  "
        f"skill coverage {numbers['skill_coverage']:.0f} %,  distinctness {numbers['distinctness']:.2f}"
    )


def real_paths(episodes: Episodes) -> Paths:
    """The paths of episodes from the start to their true ends."""
    states, lengths = np.asarray(episodes.states), np.asarray(episodes.lengths)
    return [
        [path[: length + 1] for path, length in zip(*skill, strict=True)] for skill in zip(states, lengths, strict=True)
    ]


def projection(agent: Agent, episodes: Episodes) -> Projection:
    """A maze's states as they are; other states on the first two principal components of those visited.

    Whether a component points up or down means nothing, so its largest entry is made positive.
    """
    if style.is_maze(agent.task):
        return lambda states: states
    visited = np.concatenate([path for skill in real_paths(episodes) for path in skill])
    centre = visited.mean(axis=0)
    components = np.linalg.svd(visited - centre, full_matrices=False)[2][:2]
    components *= np.sign(components[range(len(components)), np.abs(components).argmax(axis=1)])[:, None]
    components = np.pad(components, ((0, 2 - len(components)), (0, 0)))
    return lambda states: (states - centre) @ components.T


def measure_figure(agent: Agent) -> Figure:
    """m(s0, ., z) of every skill, scaled to [0, 1] (fig:measure)."""
    assert isinstance(agent.method, Leads)
    f = np.asarray(agent.method.log_measure(agent.state, jnp.asarray(agent.task.start), grid(agent.task)))
    m = np.exp(f - f.max(axis=1, keepdims=True))
    title = "successor state measure $m(s_0, s, z)$, scaled to [0, 1] for each skill"
    return _grid_figure(agent, _unit(m), title, style.heat(), targets=False)


def uncertainty_figure(agent: Agent) -> Figure:
    """u(., z) of every skill with its target (fig:uncertainty), where training has been, for it knows no other."""
    assert isinstance(agent.method, Leads)
    points = grid(agent.task)
    u = np.asarray(agent.method.uncertainty(agent.state, points))
    seen = agent.visited_fine[np.asarray(cells(agent.task, points, agent.task.fine_bins))]
    u = np.ma.masked_array(u, np.broadcast_to(~seen, u.shape))
    title = "uncertainty $u(s, z)$, scaled to [0, 1] for each skill, and the skill's target"
    return _grid_figure(agent, _unit(u), title, matplotlib.colormaps["viridis"], targets=True)


def grid(task: Task) -> Float[Array, "point 2"]:
    """States in the middle of GRID x GRID cells of the maze, row by row from the lowest."""
    x, y = (task.low + (task.high - task.low) * (np.arange(GRID)[:, None] + 0.5) / GRID).T
    return jnp.asarray(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2), jnp.float32)


def _grid_figure(agent: Agent, values: np.ndarray, title: str, colours: Colormap, targets: bool) -> Figure:
    side, bar = 1.9, 0.75
    rows, columns = style.rows_and_columns(agent.n_skill, 1.5)
    width = columns * (side + GAP) + GAP + bar
    figure = style.new_figure(width, HEAD + rows * (side + BAND) + GAP)
    style.title(figure, title, math=True)
    marks = np.asarray(agent.method.targets(agent.state))
    for skill, image in enumerate(values.reshape(-1, GRID, GRID)):
        row, column = divmod(skill, columns)
        x, y = GAP + column * (side + GAP), HEAD + BAND + row * (side + BAND)
        axes = style.place(figure, x, y, side, side)
        _image(axes, agent.task, image, colours, Normalize(0, 1))
        style.mark_start(axes, agent.task.start, 5.5)
        style.name_skill(axes, skill, style.palette(agent.n_skill)[skill])
        if targets:
            style.mark_target(axes, marks[skill], style.palette(agent.n_skill)[skill])
    height = rows * (side + BAND) - BAND
    axes = style.place(figure, width - bar + GAP, HEAD + BAND, 0.13, height)
    _colour_bar(figure, axes, ScalarMappable(Normalize(0, 1), colours))
    return figure


def _image(axes, task: Task, image: np.ndarray, colours: Colormap, norm: Normalize) -> ScalarMappable:
    (x0, y0), (x1, y1) = task.low, task.high
    shown = axes.imshow(image, cmap=colours, norm=norm, origin="lower", extent=(x0, x1, y0, y1), zorder=1)
    style.draw_maze(axes, task, 2.5)
    return shown


def _colour_bar(figure: Figure, axes, shown: ScalarMappable) -> None:
    bar = figure.colorbar(shown, cax=axes)
    bar.ax.tick_params(labelsize=8, length=2, color=style.INK, labelcolor=style.INK)
    bar.outline.set_linewidth(0.6)


def visited_figure(agent: Agent, episodes: Episodes) -> Figure:
    """What training has ever visited beside where its skills are now: the first can be due to noise alone."""
    side, task = 3.1, agent.task
    figure = style.new_figure(2 * (side + GAP) + GAP + 0.85, HEAD + side + GAP)
    steps = np.asarray(counts(task, episodes, task.fine_bins)).sum(axis=0)
    share = np.ma.masked_equal(steps / steps.sum(), 0)

    left = style.place(figure, GAP, HEAD, side, side)
    _draw_cells(left, task, agent.visited_fine, ListedColormap(["white", "#9db8d9"]), Normalize(0, 1))
    left.set_title(f"visited in training: {100 * agent.visited_fine.mean():.0f} % of cells", fontsize=10)
    right = style.place(figure, 3 * GAP + side, HEAD, side, side)
    shown = _draw_cells(right, task, share, style.heat(), LogNorm(share.min() / 2, share.max()))
    right.set_title("visited by the skills now", fontsize=10)
    bar = style.place(figure, 2 * (side + 2 * GAP), HEAD, 0.13, side)
    bar.set_title("share of steps", fontsize=8)
    _colour_bar(figure, bar, shown)
    return figure


def _draw_cells(axes, task: Task, values: np.ndarray, colours: Colormap, norm: Normalize) -> ScalarMappable:
    image = values.reshape(task.fine_bins, task.fine_bins).T  # cells are numbered x first
    shown = _image(axes, task, image, colours, norm)
    style.mark_start(axes, task.start)
    return shown


def coverage_figure(metrics: list[dict[str, Any]]) -> Figure:
    """Coverage and distinctness against samples (fig:cov_no_feat, of one run)."""
    figure = style.new_figure(5.6, 3.4)
    left = style.place(figure, 0.65, HEAD, 4.3, 2.5)
    right = left.twinx()
    samples = [line["samples"] for line in metrics]
    blue, _, green, red, _, sky = style.COLOURS[:6]
    curves = (
        (left, "coverage", blue, "-"),
        (left, "coverage_fine", sky, "-"),
        (left, "skill_coverage", green, "-"),
        (right, "distinctness", red, (0, (4, 1.5))),
    )
    for axes, name, colour, dashes in curves:
        values = np.asarray([line[name] for line in metrics], float)
        look = {"linewidth": 1.8, "marker": "o", "markersize": 2.5, "clip_on": False}
        axes.plot(samples, values, color=colour, linestyle=dashes, label=name.replace("_", " "), **look)
    left.set(xlabel="samples", ylabel="% of cells", ylim=(0, 100), xlim=(0, samples[-1]))
    left.xaxis.set_major_formatter(FuncFormatter(lambda x, _: style.short(x)))
    left.grid(color="#e5e7eb", linewidth=0.7)
    right.set(ylim=(0, 1))
    right.set_ylabel("distinctness", color=red)
    for axes in (left, right):
        axes.spines["top"].set_visible(False)
        axes.tick_params(labelsize=8.5, length=3)
    figure.legend(loc="upper center", ncols=4, frameon=False, fontsize=8.5)
    return figure


def _unit(values: np.ndarray) -> np.ndarray:
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return (values - low) / np.maximum(high - low, 1e-12)
