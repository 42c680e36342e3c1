"""How every picture looks: the skills' colours, the maze they move in, and the files a figure becomes."""

from math import ceil
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from leads.errors import UserError
from leads.tasks.task import Task

DPI = 150
INK, FAINT = "#20242c", "#7d8491"
"""Text and walls; and text that should stay in the background."""
COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"),
    *("#67065f", "#b9c46c", "#1b01d9", "#e0004b", "#193d0a", "#9a68fe"),
)
"""Six of the colours of Okabe and Ito, and six as far from them and each other as could be found for all kinds of colour vision."""


def palette(n_skill: int) -> list[str]:
    """One colour a skill; beyond twelve no set is safe for everybody, and a rainbow has to do."""
    if n_skill <= len(COLOURS):
        return list(COLOURS[:n_skill])
    return [to_hex(colour) for colour in matplotlib.colormaps["turbo"](np.linspace(0.05, 0.95, n_skill))]


def is_maze(task: Task) -> bool:
    """Whether states are positions among walls, so that they can be drawn as they are."""
    return task.walls is not None and task.state_size == 2


def new_figure(width: float, height: float, dpi: float = DPI) -> Figure:
    """A figure outside pyplot, which would keep it alive and might open a window."""
    figure = Figure(figsize=(width, height), dpi=dpi, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def place(figure: Figure, x: float, y: float, width: float, height: float) -> Axes:
    """Axes at a place given in inches from the figure's top left corner, where reading begins."""
    total_width, total_height = figure.get_size_inches()
    bottom = total_height - y - height
    return figure.add_axes((x / total_width, bottom / total_height, width / total_width, height / total_height))


def title(figure: Figure, text: str, size: float = 11.0) -> Text:
    """One line at the top, in the middle."""
    _, height = figure.get_size_inches()
    return figure.text(0.5, 1 - 0.22 / height, text, ha="center", va="center", fontsize=size, color=INK)


def rows_and_columns(panels: int, aspect: float) -> tuple[int, int]:
    """A grid for so many panels that is about `aspect` times as wide as high."""
    rows = max(1, round((panels / aspect) ** 0.5))
    return rows, ceil(panels / rows)


def draw_maze(axes: Axes, task: Task, width: float = 3.0) -> None:
    """Walls, and nothing else: no ticks, no frame, equal scales."""
    assert task.walls is not None, "only a maze has walls to draw"
    walls = LineCollection(task.walls.reshape(-1, 2, 2), colors=INK, linewidths=width, capstyle="round", zorder=5)
    axes.add_collection(walls)
    frame(axes, task.low, task.high)


def frame(axes: Axes, low: np.ndarray, high: np.ndarray) -> None:
    """Shows the box from `low` to `high` with a small margin, without ticks and with equal scales."""
    low, high = np.asarray(low, float), np.asarray(high, float)
    margin = 0.02 * max(*(high - low), 1e-6)
    axes.set_xlim(low[0] - margin, high[0] + margin)
    axes.set_ylim(low[1] - margin, high[1] + margin)
    axes.set_aspect("equal")
    axes.set_axis_off()


def mark_start(axes: Axes, xy: np.ndarray, size: float = 7.0) -> None:
    axes.plot(*xy, "o", markersize=size, color="white", markeredgecolor="black", markeredgewidth=1.2, zorder=7)


def mark_target(axes: Axes, xy: np.ndarray, colour: str, size: float = 13.0) -> None:
    axes.plot(*xy, "*", markersize=size, color=colour, markeredgecolor="black", markeredgewidth=0.8, zorder=8)


def name_skill(axes: Axes, skill: int, colour: str) -> None:
    """Names a panel's skill in its colour, the one its paths have elsewhere."""
    axes.set_title(f"skill {skill}", color=colour, fontsize=9, fontweight="bold", pad=2.5)


def short(number: float) -> str:
    """Samples as 950, 20k or 1.5M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"


def save(figure: Figure, directory: Path, name: str) -> Path:
    """Writes a figure as PNG and PDF, the same bytes for the same figure, and returns the PNG's path."""
    path = directory / f"{name}.png"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=DPI, facecolor="white")
        with matplotlib.rc_context({"pdf.fonttype": 42}):
            figure.savefig(path.with_suffix(".pdf"), dpi=DPI, facecolor="white", metadata={"CreationDate": None})
    except OSError as error:
        raise UserError(f"{directory} cannot be written ({error.strerror})") from error
    return path
