"""Figures of what a method has learnt: its successor state measure, and the uncertainty that chooses its targets."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import matplotlib
import numpy as np
from jaxtyping import Array, Float
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure

from leads.agent import Agent
from leads.methods.method import HasTargets, LearnsMeasure
from leads.report import style
from leads.report.run.planes import Plane
from leads.report.style import BAND, BAR, GAP, HEAD
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
    return _learnt_figure(agent, plane, scaled_measure(agent), title, ScalarMappable(norm, style.heat()))


def uncertainty_figure(agent: Agent, plane: Plane) -> Figure:
    """u(., z) of every skill with its target (fig:uncertainty), where training has been: it is unknown elsewhere."""
    title = "uncertainty $u(s, z)$, scaled to [0, 1] for each skill, and the skill's target"
    shades = ScalarMappable(Normalize(0, 1), matplotlib.colormaps["viridis"])
    figure = _learnt_figure(agent, plane, scaled_uncertainty(agent), title, shades)
    targets, colours = plane.mark(np.asarray(agent.targets())), style.palette(agent.n_skill)
    for axes, target, colour in zip(figure.axes, targets, colours, strict=False):  # the colour bar comes last
        style.mark_target(axes, target, colour)
    return figure


def scaled_measure(agent: Agent) -> Float[np.ndarray, "skill point"]:
    """m(s0, ., z) at `known_points`, scaled to [0, 1] for each skill."""
    assert isinstance(agent.method, LearnsMeasure)
    f = np.asarray(agent.method.log_measure(agent.state, jnp.asarray(agent.task.start), known_points(agent)))
    return _unit(np.exp(f - f.max(axis=1, keepdims=True)))


def scaled_uncertainty(agent: Agent) -> np.ma.MaskedArray:
    """u(., z) at `known_points`, scaled to [0, 1] for each skill; points that training has not visited are masked."""
    assert isinstance(agent.method, HasTargets)
    points, task = known_points(agent), agent.task
    u = np.ma.masked_array(agent.method.uncertainty(agent.state, points))
    if style.is_maze(task):
        u[:, ~agent.visited_fine[np.asarray(cells(task, points, task.fine_bins))]] = np.ma.masked
    return _unit(u)


def _unit(values: Any) -> Any:
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return (values - low) / np.maximum(high - low, 1e-12)


def known_points(agent: Agent) -> Float[Array, "point state"]:
    """States at which figures show what was learnt: everywhere in a maze, elsewhere the method's landmarks."""
    task = agent.task
    if style.is_maze(task):  # the middles of GRID x GRID cells, row by row from the lowest
        x, y = (task.low + (task.high - task.low) * (np.arange(GRID)[:, None] + 0.5) / GRID).T
        return jnp.asarray(np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2), jnp.float32)
    assert isinstance(agent.method, LearnsMeasure)
    return agent.method.landmarks(agent.state)


def _learnt_figure(agent: Agent, plane: Plane, values: np.ndarray, title: str, shades: ScalarMappable) -> Figure:
    """Values from 0 to 1, one panel per skill: an image of a maze, elsewhere points, the highest on top."""
    n, side, (left, below) = agent.n_skill, 1.9, plane.margin
    rows, columns = style.rows_and_columns(n, 1.5)
    step = side + plane.gap, side + BAND
    figure = style.new_figure(left + columns * step[0] + GAP + BAR, HEAD + rows * step[1] + GAP + below)
    style.title(figure, title, math=True)
    for skill, axes in enumerate(style.place_grid(figure, n, columns, side, (GAP + left, HEAD + BAND), step)):
        if plane.maze:
            plane.draw_image(axes, values[skill].reshape(GRID, GRID), shades)
        else:
            order = np.argsort(values[skill], kind="stable")
            points = plane.project(np.asarray(known_points(agent)))[order].T
            look = {"s": 7, "edgecolors": style.FAINT, "cmap": shades.cmap, "norm": shades.norm}
            axes.scatter(*points, c=values[skill][order], linewidths=0.15, zorder=2, **look)
            plane.draw(axes, 2.5)
        plane.name_axes(axes, x=skill + columns >= n, y=skill % columns == 0)
        style.mark_start(axes, plane.mark(agent.task.start), 5.5)
        style.name_skill(axes, skill, style.palette(n)[skill])
    style.draw_colour_bar(figure, shades, HEAD + BAND, rows * step[1] - BAND)
    return figure
