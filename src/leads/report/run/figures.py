"""Figures of one run: where its skills go, what it has learnt about them, and how it came to it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import matplotlib
import numpy as np
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, ListedColormap, LogNorm, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.methods.leads import Leads
from leads.report import style
from leads.report.run.planes import (
    Paths,
    Plane,
    Projection,
    component_plane,
    feature_planes,
    principal_components,
    real_paths,
)
from leads.tasks.task import Task
from leads.training.evaluation import EVALUATION_EPISODES, cells, counts

GRID = 100
"""Points a dimension at which the measure and the uncertainty are drawn in a maze."""
BAND = 0.27
"""Inches above a panel, for its name."""
HEAD = 0.4
"""Inches above all panels, for the figure's title."""
GAP = 0.14
"""Inches between panels, and around them."""


def write_figures(agent: Agent) -> list[Path]:
    """Draws a run from its directory, as PNG and PDF into its `figures`, and returns the PNGs' paths."""
    figures = dict(_figures(agent, agent.episodes(EVALUATION_EPISODES)))
    return [style.save(figure, agent.run.figures, name) for name, figure in figures.items()]


def _figures(agent: Agent, episodes: Episodes) -> Iterator[tuple[str, Figure]]:
    """Every figure that the task and the method have."""
    metrics, components = metrics_of(agent), principal_components(episodes)
    numbers = metrics[-1] if metrics else None
    for where, planes in _planes(agent, components, episodes.states).items():
        if len(planes) == 1:
            yield f"skills{where}", skills_figure(agent, episodes, numbers, planes[0])
        else:
            yield f"skills{where}", pairs_figure(agent, episodes, numbers, planes)
    if metrics:
        yield "coverage", coverage_figure(metrics)
    features = feature_planes(agent)
    if len(features) == 1:
        yield "visited", visited_figure(agent, episodes, features[0])
    if isinstance(agent.method, Leads):
        learnt = _planes(agent, components, agent.state.archive.states).items()
        for name, draw in (("measure", measure_figure), ("uncertainty", uncertainty_figure)):
            yield from ((f"{name}{where}", draw(agent, planes[0])) for where, planes in learnt if len(planes) == 1)


def _planes(agent: Agent, components: Projection, states: Float[Array, "*n state"]) -> dict[str, list[Plane]]:
    """The planes in which states are shown, by what they add to a figure's name; only a maze has but one."""
    features, targets = feature_planes(agent), agent.method.targets(agent.state)
    if style.is_maze(agent.task):
        return {"": features}
    marks = [agent.task.start, *([] if targets is None else [targets])]
    return {"": [component_plane(components, states, *marks)]} | ({"_features": features} if features else {})


def metrics_of(agent: Agent) -> list[dict[str, Any]]:
    """The metrics up to the agent's checkpoint; a run that goes on, or broke off, has later ones."""
    return [line for line in agent.run.metrics() if line["epoch"] <= agent.epoch]


def skills_figure(agent: Agent, episodes: Episodes, numbers: dict[str, Any] | None, plane: Plane) -> Figure:
    """Paths of fresh episodes: all skills in one panel, and each skill alone."""
    rows, columns = style.rows_and_columns(agent.n_skill, 2 / 3)
    side = (5.4 - rows * BAND) / rows
    large = rows * (side + BAND) - BAND
    left, below = plane.margin
    width = left + large + columns * (side + GAP) + 3 * GAP
    figure = style.new_figure(width, HEAD + BAND + large + GAP + below)
    style.title(figure, _headline(agent, numbers))
    paths = real_paths(episodes, plane.project)
    everyone = range(agent.n_skill)
    axes = style.place(figure, GAP + left, HEAD + BAND, large, large)
    draw_skills(axes, agent, paths, plane, everyone, 1.0)
    plane.name_axes(axes)
    for skill in everyone:
        x = left + large + 3 * GAP + skill % columns * (side + GAP)
        y = HEAD + BAND + skill // columns * (side + BAND)
        axes = style.place(figure, x, y, side, side)
        draw_skills(axes, agent, paths, plane, [skill], 0.6)
        style.name_skill(axes, skill, style.palette(agent.n_skill)[skill])
    return figure


def pairs_figure(agent: Agent, episodes: Episodes, numbers: dict[str, Any] | None, planes: Sequence[Plane]) -> Figure:
    """Paths of fresh episodes of all skills in several planes, which show a space of more dimensions from its sides."""
    side, legend = 3.0, 0.35
    left, below = planes[0].margin
    width = len(planes) * (left + side + GAP) + GAP
    figure = style.new_figure(width, HEAD + side + below + legend + GAP)
    style.title(figure, _headline(agent, numbers))
    for i, plane in enumerate(planes):
        axes = style.place(figure, GAP + left + i * (left + side + GAP), HEAD, side, side)
        draw_skills(axes, agent, real_paths(episodes, plane.project), plane, range(agent.n_skill), 0.7)
        plane.name_axes(axes)
    lines = [Line2D([], [], color=colour, linewidth=2.5) for colour in style.palette(agent.n_skill)]
    names = [f"skill {skill}" for skill in range(agent.n_skill)]
    look = {"frameon": False, "fontsize": 8.5, "handlelength": 1.0, "columnspacing": 1.2, "borderaxespad": 0.3}
    figure.legend(lines, names, loc="lower center", ncols=min(agent.n_skill, 12), **look)
    return figure


def runs_figure(planes: Sequence[Plane], titles: Sequence[str], draw: Callable[[Axes, int], None]) -> Figure:
    """A panel a run, with what its title says of it above; `draw` is given a panel and the number of its run."""
    side, above = 2.6, 2 * BAND
    rows, columns = style.rows_and_columns(len(titles), 1.6)
    left, below = planes[0].margin
    figure = style.new_figure(columns * (left + side + GAP) + GAP, rows * (above + side + below) + GAP)
    for i, (plane, title) in enumerate(zip(planes, titles, strict=True)):
        row, column = divmod(i, columns)
        x, y = GAP + left + column * (left + side + GAP), above + row * (above + side + below)
        axes = style.place(figure, x, y, side, side)
        draw(axes, i)
        plane.name_axes(axes)
        axes.set_title(title, fontsize=6.8, color=style.INK, linespacing=1.35, parse_math=False)
    return figure


def draw_skills(axes: Axes, agent: Agent, paths: Paths, plane: Plane, skills: Sequence[int], scale: float) -> None:
    """Paths of some of an agent's skills, its start and their targets."""
    targets = agent.method.targets(agent.state)
    marks = None if targets is None else plane.mark(np.asarray(targets))
    draw_paths(axes, paths, plane, skills, scale, plane.mark(agent.task.start), marks)


def draw_paths(
    axes: Axes,
    paths: Paths,
    plane: Plane,
    skills: Sequence[int],
    scale: float,
    start: np.ndarray,
    targets: np.ndarray | None,
) -> None:
    """Paths of some skills, taking turns episode by episode so that no skill lies on top of the others."""
    turns = [(skill, paths[skill][i]) for i in range(len(paths[0])) for skill in skills]
    palette = style.palette(len(paths))
    lines = [(palette[skill], line) for skill, path in turns for line in plane.lines(path)]
    look = {"linewidths": 0.4 + 0.5 * scale, "alpha": 0.2 + 0.2 * scale, "capstyle": "round", "joinstyle": "round"}
    drawn = LineCollection([line for _, line in lines], colors=[colour for colour, _ in lines], zorder=2, **look)
    axes.add_collection(drawn, autolim=False)
    ends = np.stack([path[-1] for _, path in turns])
    colours = [palette[skill] for skill, _ in turns]
    axes.scatter(*ends.T, s=14 * scale**2, c=colours, linewidths=0, alpha=0.9, zorder=3)
    plane.shade(axes)
    plane.draw(axes, 4.5 * scale)
    style.mark_start(axes, start, 8 * scale)
    if targets is not None:
        for skill in skills:
            style.mark_target(axes, targets[skill], palette[skill], 17 * scale)


def _headline(agent: Agent, numbers: dict[str, Any] | None) -> str:
    name = f"{agent.run.config().method} on {style.task_name(agent.task)}"
    if numbers is None:
        return name
    return f"{name}, {numbers['samples']:,} samples:  {told(numbers, ',  ')}"


def told(numbers: dict[str, Any], between: str = ", ") -> str:
    """A line of metrics in words, as far as it is known: not every epoch of a robot's run is evaluated."""
    forms = {"coverage": "{:.0f} %", "skill_coverage": "{:.0f} %", "distinctness": "{:.2f}"}
    known = {name: form.format(numbers[name]) for name, form in forms.items() if numbers[name] is not None}
    return between.join(f"{name.replace('_', ' ')} {value}" for name, value in known.items())


def measure_figure(agent: Agent, plane: Plane) -> Figure:
    """m(s0, ., z) of every skill, scaled to [0, 1] (fig:measure): everywhere in a maze, else at archived states."""
    norm = Normalize(0, 1) if plane.maze else PowerNorm(0.5, 0, 1)  # most of it lies near the start, a single point
    title = "successor state measure $m(s_0, s, z)$, scaled to [0, 1] for each skill"
    return _learnt_figure(agent, plane, scaled_measure(agent), title, style.heat(), norm, targets=False)


def uncertainty_figure(agent: Agent, plane: Plane) -> Figure:
    """u(., z) of every skill with its target (fig:uncertainty), where training has been, for it knows no other."""
    u = scaled_uncertainty(agent)
    title = "uncertainty $u(s, z)$, scaled to [0, 1] for each skill, and the skill's target"
    return _learnt_figure(agent, plane, u, title, matplotlib.colormaps["viridis"], Normalize(0, 1), targets=True)


def scaled_measure(agent: Agent) -> Float[np.ndarray, "skill point"]:
    """m(s0, ., z) from 0 to 1 for each skill, at `known_points`."""
    assert isinstance(agent.method, Leads)
    f = np.asarray(agent.method.log_measure(agent.state, jnp.asarray(agent.task.start), known_points(agent)))
    return _unit(np.exp(f - f.max(axis=1, keepdims=True)))


def scaled_uncertainty(agent: Agent) -> np.ma.MaskedArray:
    """u(., z) from 0 to 1 for each skill, at `known_points`, without those that training has not visited."""
    assert isinstance(agent.method, Leads)
    points = known_points(agent)
    u = np.asarray(agent.method.uncertainty(agent.state, points))
    if style.is_maze(agent.task):
        seen = agent.visited_fine[np.asarray(cells(agent.task, points, agent.task.fine_bins))]
        return _unit(np.ma.masked_array(u, np.broadcast_to(~seen, u.shape)))
    return _unit(np.ma.masked_array(u))


def known_points(agent: Agent) -> Float[Array, "point state"]:
    """Where what is learnt is looked at: everywhere in a maze, else at archived states."""
    return grid(agent.task) if style.is_maze(agent.task) else agent.state.archive.states


def grid(task: Task) -> Float[Array, "point 2"]:
    """States in the middle of GRID x GRID cells of the maze, row by row from the lowest."""
    x, y = (task.low + (task.high - task.low) * (np.arange(GRID)[:, None] + 0.5) / GRID).T
    return jnp.asarray(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2), jnp.float32)


def _learnt_figure(
    agent: Agent, plane: Plane, values: np.ndarray, title: str, colours: Colormap, norm: Normalize, targets: bool
) -> Figure:
    """Values from 0 to 1, a panel a skill."""
    side, bar = 1.9, 0.75
    left, below = plane.margin
    gap = 2 * GAP if plane.ticks else GAP
    rows, columns = style.rows_and_columns(agent.n_skill, 1.5)
    width = left + columns * (side + gap) + GAP + bar
    figure = style.new_figure(width, HEAD + rows * (side + BAND) + GAP + below)
    style.title(figure, title, math=True)
    marks = np.asarray(agent.method.targets(agent.state))
    for skill in range(agent.n_skill):
        row, column = divmod(skill, columns)
        x, y = GAP + left + column * (side + gap), HEAD + BAND + row * (side + BAND)
        axes = style.place(figure, x, y, side, side)
        if plane.maze:
            draw_image(axes, plane, values[skill].reshape(GRID, GRID), colours, norm)
        else:
            _draw_archive(axes, agent, plane, values[skill], colours, norm)
        plane.name_axes(axes, x=skill + columns >= agent.n_skill, y=column == 0)
        style.mark_start(axes, plane.mark(agent.task.start), 5.5)
        style.name_skill(axes, skill, style.palette(agent.n_skill)[skill])
        if targets:
            style.mark_target(axes, plane.mark(marks[skill]), style.palette(agent.n_skill)[skill])
    height = rows * (side + BAND) - BAND
    axes = style.place(figure, width - bar + GAP, HEAD + BAND, 0.13, height)
    draw_colour_bar(figure, axes, ScalarMappable(norm, colours))
    return figure


def _draw_archive(
    axes: Axes, agent: Agent, plane: Plane, values: np.ndarray, colours: Colormap, norm: Normalize
) -> None:
    """Archived states in the colours of their values, the highest on top."""
    order = np.argsort(values, kind="stable")
    points = plane.project(np.asarray(agent.state.archive.states))[order]
    look = {"s": 7, "edgecolors": style.FAINT, "linewidths": 0.15, "zorder": 2}
    axes.scatter(*points.T, c=values[order], cmap=colours, norm=norm, **look)
    plane.draw(axes, 2.5)


def draw_image(axes: Axes, plane: Plane, image: np.ndarray, colours: Colormap, norm: Normalize) -> ScalarMappable:
    """An image [second, first] that fills a panel."""
    shown = axes.imshow(image, cmap=colours, norm=norm, origin="lower", extent=plane.extent, zorder=1)
    plane.draw(axes, 2.5)
    return shown


def draw_colour_bar(figure: Figure, axes: Axes, shown: ScalarMappable) -> None:
    bar = figure.colorbar(shown, cax=axes)
    bar.ax.tick_params(labelsize=8, length=2, color=style.INK, labelcolor=style.INK)
    bar.outline.set_linewidth(0.6)


def visited_figure(agent: Agent, episodes: Episodes, plane: Plane) -> Figure:
    """What training has ever visited beside where its skills are now: the first can be due to noise alone."""
    side, task = 3.1, agent.task
    margin, below = plane.margin
    figure = style.new_figure(margin + 2 * (side + GAP) + GAP + 0.85, HEAD + side + GAP + below)
    steps = np.asarray(counts(task, episodes, task.fine_bins)).sum(axis=0)
    share = np.ma.masked_equal(steps / steps.sum(), 0)

    left = style.place(figure, margin + GAP, HEAD, side, side)
    _draw_cells(left, task, plane, agent.visited_fine, ListedColormap(["white", "#9db8d9"]), Normalize(0, 1))
    left.set_title(f"visited in training: {100 * agent.visited_fine.mean():.0f} % of cells", fontsize=10)
    right = style.place(figure, margin + 3 * GAP + side, HEAD, side, side)
    shown = _draw_cells(right, task, plane, share, style.heat(), LogNorm(share.min() / 2, share.max()))
    right.set_title("visited by the skills now", fontsize=10)
    plane.name_axes(left)
    plane.name_axes(right, y=False)
    bar = style.place(figure, margin + 2 * (side + 2 * GAP), HEAD, 0.13, side)
    bar.set_title("share of steps", fontsize=8)
    draw_colour_bar(figure, bar, shown)
    return figure


def _draw_cells(
    axes: Axes, task: Task, plane: Plane, values: np.ndarray, colours: Colormap, norm: Normalize
) -> ScalarMappable:
    image = values.reshape(task.fine_bins, task.fine_bins).T  # cells are numbered x first
    shown = draw_image(axes, plane, image, colours, norm)
    style.mark_start(axes, plane.mark(task.start))
    return shown


def coverage_figure(metrics: list[dict[str, Any]]) -> Figure:
    """Coverage and distinctness against samples (fig:cov_no_feat, of one run)."""
    figure = style.new_figure(5.6, 3.4)
    left = style.place(figure, 0.65, HEAD, 4.3, 2.5)
    right = left.twinx()
    blue, _, green, red, _, sky = style.COLOURS[:6]
    curves = (
        (left, "coverage", blue, "-"),
        (left, "coverage_fine", sky, "-"),
        (left, "skill_coverage", green, "-"),
        (right, "distinctness", red, (0, (4, 1.5))),
    )
    for axes, name, colour, dashes in curves:
        known = [line for line in metrics if line[name] is not None]
        samples, values = ([line[key] for line in known] for key in ("samples", name))
        look = {"linewidth": 1.8, "marker": "o", "markersize": 2.5, "clip_on": False}
        axes.plot(samples, values, color=colour, linestyle=dashes, label=name.replace("_", " "), **look)
    left.set(xlabel="samples", ylabel="% of cells", ylim=(0, 100), xlim=(0, metrics[-1]["samples"]))
    left.xaxis.set_major_formatter(FuncFormatter(lambda x, _: style.short(x)))
    left.grid(color="#e5e7eb", linewidth=0.7)
    right.set(ylim=(0, 1))
    right.set_ylabel("distinctness", color=red)
    for axes in (left, right):
        axes.spines["top"].set_visible(False)
        axes.tick_params(labelsize=8.5, length=3)
    figure.legend(loc="upper center", ncols=4, frameon=False, fontsize=8.5)
    return figure


def _unit(values: Any) -> Any:
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return (values - low) / np.maximum(high - low, 1e-12)
