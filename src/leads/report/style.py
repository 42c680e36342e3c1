"""How every picture looks: the skills' colours, the maze they move in, and the files a figure becomes."""

from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Colormap, LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure

from leads.errors import UserError
from leads.tasks.task import Task

DPI = 150
HEAD, BAND, GAP, BAR = 0.4, 0.27, 0.14, 0.75
"""Inches above all panels for the title, above each for its name, around each, and to the right for a colour bar."""
INK, FAINT = "#20242c", "#7d8491"
"""Text and walls; and text that should stay in the background."""
COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9"),
    *("#67065f", "#b9c46c", "#1b01d9", "#e0004b", "#193d0a", "#9a68fe"),
)
"""Six colours of Okabe and Ito, and six that are far from them and each other for every kind of colour vision."""
DASHES = ((), (4, 1.5), (1, 1.2), (6, 1.5, 1, 1.5), (9, 2), (4, 1.5, 1, 1.5, 1, 1.5))
"""Dash patterns that tell lines apart without colour, in line widths; the first is solid."""


def palette(n_skill: int) -> list[str]:
    """One colour per skill; beyond twelve a rainbow, as no set is safe for every kind of colour vision."""
    if n_skill <= len(COLOURS):
        return list(COLOURS[:n_skill])
    return [to_hex(colour) for colour in matplotlib.colormaps["turbo"](np.linspace(0.05, 0.95, n_skill))]


def is_maze(task: Task) -> bool:
    """Whether states are positions among walls, so that they can be drawn as they are."""
    return task.walls is not None and task.state_size == 2


def heat() -> Colormap:
    """From white for nothing, so that walls stand out, to dark for much."""
    magma = matplotlib.colormaps["magma_r"](np.linspace(0.08, 0.92, 32))
    return LinearSegmentedColormap.from_list("heat", [(1, 1, 1, 1), *magma])


def task_name(task: Task) -> str:
    """A task's name in a title; a user's maze is named after its file."""
    return Path(task.name).stem if task.name.startswith("maze:") else task.name


def new_figure(width: float, height: float, dpi: float = DPI) -> Figure:
    """A figure outside of pyplot, which would keep it alive and might open a window."""
    figure = Figure(figsize=(width, height), dpi=dpi, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def place(figure: Figure, x: float, y: float, width: float, height: float) -> Axes:
    """Axes at a place given in inches from the figure's top left corner."""
    total_width, total_height = figure.get_size_inches()
    bottom = total_height - y - height
    return figure.add_axes((x / total_width, bottom / total_height, width / total_width, height / total_height))


def place_grid(
    figure: Figure, n: int, columns: int, side: float, corner: tuple[float, float], step: tuple[float, float]
) -> list[Axes]:
    """n square panels row by row: the first one's corner, and the steps to the next column and row."""
    cells = (divmod(i, columns) for i in range(n))
    return [place(figure, corner[0] + c * step[0], corner[1] + r * step[1], side, side) for r, c in cells]


def title(figure: Figure, text: str, math: bool = False) -> None:
    """One centred line at the top; dollars are plain text unless `math`, as names may contain them."""
    y = 1 - 0.22 / figure.get_figheight()
    figure.text(0.5, y, text, ha="center", va="center", fontsize=11, color=INK, parse_math=math)


def rows_and_columns(panels: int, aspect: float) -> tuple[int, int]:
    """Rows and columns of a grid of panels that is about `aspect` times as wide as high."""
    rows = max(1, round((panels / aspect) ** 0.5))
    return rows, ceil(panels / rows)


def draw_maze(axes: Axes, task: Task, width: float = 3.0) -> None:
    """Draws walls, without ticks or frame and with equal scales."""
    assert task.walls is not None, "only a maze has walls to draw"
    look = {"colors": INK, "linewidths": width, "capstyle": "round", "clip_on": False, "zorder": 5}
    axes.add_collection(LineCollection(list(task.walls.reshape(-1, 2, 2)), **look), autolim=False)
    (left, bottom), (right, top) = task.low, task.high
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)


def mark_start(axes: Axes, xy: np.ndarray, size: float = 7.0) -> None:
    axes.plot(*xy, "o", markersize=size, color="white", mec="black", mew=1.2, clip_on=False, zorder=7)


def mark_target(axes: Axes, xy: np.ndarray, colour: str, size: float = 13.0) -> None:
    axes.plot(*xy, "*", markersize=size, color=colour, mec="black", mew=0.8, clip_on=False, zorder=8)


def name_skill(axes: Axes, skill: int, colour: str) -> None:
    """Names a panel's skill, in the skill's colour."""
    axes.set_title(f"skill {skill}", color=colour, fontsize=9, fontweight="bold", pad=4.5)


def draw_colour_bar(figure: Figure, shades: ScalarMappable, top: float, height: float, room: float = BAR) -> Axes:
    """Draws a colour bar into the room to the right of the panels."""
    axes = place(figure, figure.get_figwidth() - room + GAP, top, 0.13, height)
    figure.colorbar(shades, cax=axes).outline.set_linewidth(0.6)
    axes.tick_params(labelsize=8, length=2, color=INK, labelcolor=INK)
    return axes


def short(number: float) -> str:
    """Samples as 950, 20k or 1.5M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"


@contextmanager
def writing_to(directory: Path) -> Iterator[None]:
    """Makes a directory; failing to write there is a UserError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise UserError(f"{directory} cannot be written ({error.strerror or error})") from error


def save(figure: Figure, directory: Path, name: str) -> Path:
    """Writes a figure as PNG and PDF, the same bytes for the same figure, and returns the path of the PNG."""
    path = directory / f"{name}.png"
    with writing_to(directory), matplotlib.rc_context({"pdf.fonttype": 42}):
        figure.savefig(path, dpi=DPI, facecolor="white")
        figure.savefig(path.with_suffix(".pdf"), dpi=DPI, facecolor="white", metadata={"CreationDate": None})
    return path
