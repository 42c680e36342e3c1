"""Figures of what a method has learnt: its successor state measure, and the uncertainty that chooses its targets."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import matplotlib
import numpy as np
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, Normalize, PowerNorm
from matplotlib.figure import Figure

from leads.agent import Agent
from leads.methods.method import HasTargets, LearnsMeasure
from leads.report import style
from leads.report.run.panels import BAND, GAP, HEAD, draw_colour_bar, draw_image
from leads.report.run.planes import Plane
from leads.tasks.task import Task
from leads.training.grid import cells

GRID = 100
"""Points per dimension at which the measure and the uncertainty are drawn in a maze."""


def learnt_figures(agent: Agent) -> dict[str, Callable[[Agent, Plane], Figure]]:
    """Functions that draw what the method has learnt, by the figures' names; empty where no point is known."""
    method, figures = agent.method, {}
    if isinstance(method, LearnsMeasure):
        figures["measure"] = measure_figure
    if isinstance(method, HasTargets) and (figures or style.is_maze(agent.task)):
        figures["uncertainty"] = uncertainty_figure
    return figures


def measure_figure(agent: Agent, plane: Plane) -> Figure:
    """m(s0, ., z) of every skill, scaled to [0, 1] (fig:measure)."""
    norm = Normalize(0, 1) if plane.maze else PowerNorm(0.5, 0, 1)  # most of it lies near the start, a single point
    title = "successor state measure $m(s_0, s, z)$, scaled to [0, 1] for each skill"
    return _learnt_figure(agent, plane, scaled_measure(agent), title, style.heat(), norm)


def uncertainty_figure(agent: Agent, plane: Plane) -> Figure:
    """u(., z) of every skill with its target (fig:uncertainty), where training has been: it is unknown elsewhere."""
    title = "uncertainty $u(s, z)$, scaled to [0, 1] for each skill, and the skill's target"
    u, colours = scaled_uncertainty(agent), matplotlib.colormaps["viridis"]
    return _learnt_figure(agent, plane, u, title, colours, Normalize(0, 1), np.asarray(agent.targets()))


def scaled_measure(agent: Agent) -> Float[np.ndarray, "skill point"]:
    """m(s0, ., z) at `known_points`, scaled to [0, 1] for each skill."""
    assert isinstance(agent.method, LearnsMeasure)
    f = np.asarray(agent.method.log_measure(agent.state, jnp.asarray(agent.task.start), known_points(agent)))
    return _unit(np.exp(f - f.max(axis=1, keepdims=True)))


def scaled_uncertainty(agent: Agent) -> np.ma.MaskedArray:
    """u(., z) at `known_points`, scaled to [0, 1] for each skill; points that training has not visited are masked."""
    assert isinstance(agent.method, HasTargets)
    points = known_points(agent)
    u = np.asarray(agent.method.uncertainty(agent.state, points))
    if style.is_maze(agent.task):
        visited = agent.visited_fine[np.asarray(cells(agent.task, points, agent.task.fine_bins))]
        return _unit(np.ma.masked_array(u, np.broadcast_to(~visited, u.shape)))
    return _unit(np.ma.masked_array(u))


def known_points(agent: Agent) -> Float[Array, "point state"]:
    """States at which figures show what was learnt: everywhere in a maze, elsewhere the method's landmarks."""
    if style.is_maze(agent.task):
        return _maze_grid(agent.task)
    assert isinstance(agent.method, LearnsMeasure)
    return agent.method.landmarks(agent.state)


def _maze_grid(task: Task) -> Float[Array, "point 2"]:
    """States in the middle of GRID x GRID cells of the maze, row by row from the lowest."""
    x, y = (task.low + (task.high - task.low) * (np.arange(GRID)[:, None] + 0.5) / GRID).T
    return jnp.asarray(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2), jnp.float32)


def _unit(values: Any) -> Any:
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return (values - low) / np.maximum(high - low, 1e-12)


def _learnt_figure(
    agent: Agent,
    plane: Plane,
    values: np.ndarray,
    title: str,
    colours: Colormap,
    norm: Normalize,
    targets: np.ndarray | None = None,
) -> Figure:
    """Values from 0 to 1, one panel per skill."""
    side, bar = 1.9, 0.75
    left, below = plane.margin
    gap = 2 * GAP if plane.ticks else GAP
    rows, columns = style.rows_and_columns(agent.n_skill, 1.5)
    width = left + columns * (side + gap) + GAP + bar
    figure = style.new_figure(width, HEAD + rows * (side + BAND) + GAP + below)
    style.title(figure, title, math=True)
    for skill, colour in enumerate(style.palette(agent.n_skill)):
        row, column = divmod(skill, columns)
        x, y = GAP + left + column * (side + gap), HEAD + BAND + row * (side + BAND)
        axes = style.place(figure, x, y, side, side)
        if plane.maze:
            draw_image(axes, plane, values[skill].reshape(GRID, GRID), colours, norm)
        else:
            _draw_points(axes, plane, np.asarray(known_points(agent)), values[skill], colours, norm)
        plane.name_axes(axes, x=skill + columns >= agent.n_skill, y=column == 0)
        style.mark_start(axes, plane.mark(agent.task.start), 5.5)
        style.name_skill(axes, skill, colour)
        if targets is not None:
            style.mark_target(axes, plane.mark(targets[skill]), colour)
    axes = style.place(figure, width - bar + GAP, HEAD + BAND, 0.13, rows * (side + BAND) - BAND)
    draw_colour_bar(figure, axes, ScalarMappable(norm, colours))
    return figure


def _draw_points(
    axes: Axes, plane: Plane, states: np.ndarray, values: np.ndarray, colours: Colormap, norm: Normalize
) -> None:
    """Draws states in the colours of their values, the highest on top."""
    order = np.argsort(values, kind="stable")
    look = {"s": 7, "edgecolors": style.FAINT, "linewidths": 0.15, "zorder": 2}
    axes.scatter(*plane.project(states)[order].T, c=values[order], cmap=colours, norm=norm, **look)
    plane.draw(axes, 2.5)
