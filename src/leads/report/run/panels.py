"""Panels that figures of one run and of several are made of."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, Normalize
from matplotlib.figure import Figure

from leads.agent import Agent
from leads.report import style
from leads.report.run.planes import Paths, Plane

BAND = 0.27
"""Inches above a panel, for its name."""
HEAD = 0.4
"""Inches above all panels, for the figure's title."""
GAP = 0.14
"""Inches between panels, and around them."""


def runs_figure(planes: Sequence[Plane], titles: Sequence[str], draw: Callable[[Axes, int], None]) -> Figure:
    """One panel per run with its title above; `draw` is given a panel and the index of its run."""
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
    """Draws paths of some of an agent's skills, the start and the skills' targets."""
    targets = agent.targets()
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
    """Draws paths of some skills, alternating between skills so that none lies on top of the others."""
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


def draw_image(axes: Axes, plane: Plane, image: np.ndarray, colours: Colormap, norm: Normalize) -> ScalarMappable:
    """Fills a panel with an image [second, first]."""
    shown = axes.imshow(image, cmap=colours, norm=norm, origin="lower", extent=plane.extent, zorder=1)
    plane.draw(axes, 2.5)
    return shown


def draw_colour_bar(figure: Figure, axes: Axes, shown: ScalarMappable) -> None:
    bar = figure.colorbar(shown, cax=axes)
    bar.ax.tick_params(labelsize=8, length=2, color=style.INK, labelcolor=style.INK)
    bar.outline.set_linewidth(0.6)
