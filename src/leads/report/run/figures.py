"""Figures of one run: where its skills go, what it has learnt, and how its metrics grew."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.report import style
from leads.report.run.coverage import coverage_figure
from leads.report.run.learnt import known_points, learnt_figures
from leads.report.run.panels import BAND, GAP, HEAD, draw_colour_bar, draw_image, draw_skills
from leads.report.run.planes import (
    Plane,
    Projection,
    component_plane,
    feature_planes,
    principal_components,
    real_paths,
)
from leads.tasks.task import Task
from leads.training.grid import counts
from leads.training.metrics import headline
from leads.training.train import EVALUATION_EPISODES


def write_figures(agent: Agent) -> list[Path]:
    """Draws a run, as PNG and PDF into `figures` of its directory, and returns the paths of the PNGs."""
    figures = dict(_figures(agent, agent.episodes(EVALUATION_EPISODES)))
    return [style.save(figure, agent.run.figures, name) for name, figure in figures.items()]


def _figures(agent: Agent, episodes: Episodes) -> Iterator[tuple[str, Figure]]:
    """All figures that the task and the method allow, with their names."""
    metrics, components = metrics_of(agent), principal_components(episodes)
    numbers = metrics[-1] if metrics else None
    for where, planes in _planes(agent, components, episodes.states).items():
        if len(planes) == 1:
            yield f"skills{where}", skills_figure(agent, episodes, numbers, planes[0])
        else:
            yield f"skills{where}", pairs_figure(agent, episodes, numbers, planes)
    if metrics:
        yield "coverage", coverage_figure(metrics, agent.config.metrics)
    features = feature_planes(agent)
    if len(features) == 1:
        yield "visited", visited_figure(agent, episodes, features[0])
    for name, draw in learnt_figures(agent).items():
        planes_of = _planes(agent, components, known_points(agent)).items()
        yield from ((f"{name}{where}", draw(agent, planes[0])) for where, planes in planes_of if len(planes) == 1)


def _planes(agent: Agent, components: Projection, states: Float[Array, "*n state"]) -> dict[str, list[Plane]]:
    """Planes in which states are shown, by the suffix of the figure's name; a maze has only its own."""
    features, targets = feature_planes(agent), agent.targets()
    if style.is_maze(agent.task):
        return {"": features}
    marks = [agent.task.start, *([] if targets is None else [targets])]
    return {"": [component_plane(components, states, *marks)]} | ({"_features": features} if features else {})


def metrics_of(agent: Agent) -> list[dict[str, Any]]:
    """Metrics up to the agent's checkpoint; the log of an unfinished run goes further."""
    return [line for line in agent.run.metrics() if line["epoch"] <= agent.epoch]


def skills_figure(agent: Agent, episodes: Episodes, numbers: dict[str, Any] | None, plane: Plane) -> Figure:
    """Paths of fresh episodes: all skills in one panel, and each skill in its own."""
    rows, columns = style.rows_and_columns(agent.n_skill, 2 / 3)
    side = (5.4 - rows * BAND) / rows
    large = rows * (side + BAND) - BAND
    left, below = plane.margin
    width = left + large + columns * (side + GAP) + 3 * GAP
    figure = style.new_figure(width, HEAD + BAND + large + GAP + below)
    style.title(figure, _title(agent, numbers))
    paths = real_paths(episodes, plane.project)
    axes = style.place(figure, GAP + left, HEAD + BAND, large, large)
    draw_skills(axes, agent, paths, plane, range(agent.n_skill), 1.0)
    plane.name_axes(axes)
    for skill, colour in enumerate(style.palette(agent.n_skill)):
        x = left + large + 3 * GAP + skill % columns * (side + GAP)
        y = HEAD + BAND + skill // columns * (side + BAND)
        axes = style.place(figure, x, y, side, side)
        draw_skills(axes, agent, paths, plane, [skill], 0.6)
        style.name_skill(axes, skill, colour)
    return figure


def pairs_figure(agent: Agent, episodes: Episodes, numbers: dict[str, Any] | None, planes: Sequence[Plane]) -> Figure:
    """Paths of fresh episodes of all skills, one panel per pair of features."""
    side, legend = 3.0, 0.35
    left, below = planes[0].margin
    width = len(planes) * (left + side + GAP) + GAP
    figure = style.new_figure(width, HEAD + side + below + legend + GAP)
    style.title(figure, _title(agent, numbers))
    for i, plane in enumerate(planes):
        axes = style.place(figure, GAP + left + i * (left + side + GAP), HEAD, side, side)
        draw_skills(axes, agent, real_paths(episodes, plane.project), plane, range(agent.n_skill), 0.7)
        plane.name_axes(axes)
    lines = [Line2D([], [], color=colour, linewidth=2.5) for colour in style.palette(agent.n_skill)]
    names = [f"skill {skill}" for skill in range(agent.n_skill)]
    look = {"frameon": False, "fontsize": 8.5, "handlelength": 1.0, "columnspacing": 1.2, "borderaxespad": 0.3}
    figure.legend(lines, names, loc="lower center", ncols=min(agent.n_skill, 12), **look)
    return figure


def _title(agent: Agent, numbers: dict[str, Any] | None) -> str:
    name = f"{agent.config.method_in_paths} on {style.task_name(agent.task)}"
    return f"{name}, {numbers['samples']:,} samples:  {headline(numbers, ',  ')}" if numbers else name


def visited_figure(agent: Agent, episodes: Episodes, plane: Plane) -> Figure:
    """Cells that training has visited beside those that skills visit now: noise alone can account for the former."""
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
