"""A film of any task that is not a maze: one episode of every skill, as its environment renders it."""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from math import ceil
from typing import Any

import gymnasium
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from leads.errors import UserError
from leads.report import style
from leads.tasks.task import Task

WIDTH, DPI = 960, 160
"""Pixels that the panels of a row share, and pixels per inch."""
PANEL = 480
"""Pixels of a panel's longer side, at most; simulators render no more."""
GAP, NAME, HEAD = 16, 30, 48
"""Pixels between panels, above each for its name, and above all for the task and the time."""
BORDER = 4
"""Pixels around a panel in its skill's colour."""
BLOCK = 16
"""Sides of films have to be multiples of this, in pixels."""
FADED = 0.5
"""Share of white in the panel of a skill whose episode has ended before the others'."""


def film(task: Task, actions: list[np.ndarray], at_most: int) -> Iterator[np.ndarray]:
    """Up to `at_most` pictures [height, width, rgb] of all skills side by side, each repeating its `actions`."""
    n_skill, last_step = len(actions), max(map(len, actions))
    stride = ceil(task.horizon / (at_most - 1))
    rows, columns = style.rows_and_columns(n_skill, 1)
    episodes = _episodes(task, actions, stride, min(PANEL, (WIDTH - GAP) // columns - GAP))
    height, width, _ = episodes[0][0].shape
    total = [_whole_blocks(x) for x in (columns * (width + GAP) + GAP, HEAD + rows * (NAME + height + GAP))]
    margin = (total[0] - columns * (width + GAP) + GAP) // 2
    corners = [
        (margin + column * (width + GAP), HEAD + NAME + row * (NAME + height + GAP))
        for row, column in (divmod(skill, columns) for skill in range(n_skill))
    ]
    page = _page(style.task_name(task), total, corners, (width, height))
    for k in range(max(map(len, episodes))):
        picture = page(f"step {min(k * stride, last_step)}")
        for (x, y), pictures in zip(corners, episodes, strict=True):
            now = pictures[min(k, len(pictures) - 1)]
            white = FADED if k >= len(pictures) else 0
            picture[y : y + height, x : x + width] = now + white * (255.0 - now)
        yield picture


def _whole_blocks(pixels: int) -> int:
    return ceil(pixels / BLOCK) * BLOCK


def _episodes(task: Task, actions: list[np.ndarray], stride: int, side: int) -> list[list[np.ndarray]]:
    """A picture [height, width, rgb] every `stride` steps and at the end, for each skill.

    One environment serves all skills in turn, as each environment needs a renderer of its own.
    """
    if task.make is None:
        raise UserError("rendering: the task has no Gymnasium environment")
    environment = _rendered(partial(task.make, render_mode="rgb_array"))
    try:
        episodes = []
        for mine in actions:
            environment.reset()
            pictures = [_picture(environment, side)]
            for step, action in enumerate(mine, start=1):
                environment.step(action)
                if step == len(mine) or step % stride == 0:
                    pictures.append(_picture(environment, side))
            episodes.append(pictures)
        return episodes
    finally:
        environment.close()


def _picture(environment: gymnasium.Env, side: int) -> np.ndarray:
    """The environment as it looks now, the longer side scaled to `side` pixels."""
    picture = np.asarray(_rendered(environment.render))
    if picture.ndim != 3 or picture.shape[2] < 3:
        raise UserError("rendering: the environment draws no pictures (rgb_array)")
    height, width, _ = picture.shape
    size = [round(x * side / max(height, width)) for x in (width, height)]
    return np.asarray(Image.fromarray(picture[..., :3].astype(np.uint8)).resize(size, Image.Resampling.LANCZOS))


def _rendered(draw: Callable[[], Any]) -> Any:
    """The result of `draw`, or a UserError: a user's environment can raise anything."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return draw()
    except UserError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"rendering: the environment cannot be drawn ({reason})") from error


def _page(
    title: str, total: list[int], corners: list[tuple[int, int]], panel: tuple[int, int]
) -> Callable[[str], np.ndarray]:
    """Draws everything but the panels' contents once; the function returned adds the time."""
    width, height = (pixels / DPI for pixels in total)
    figure = style.new_figure(width, height, DPI)
    canvas = FigureCanvasAgg(figure)
    for skill, colour in enumerate(style.palette(len(corners))):
        axes = style.place(figure, *(pixels / DPI for pixels in (*corners[skill], *panel)))
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(color=colour, linewidth=2 * BORDER * 72 / DPI)
        style.name_skill(axes, skill, colour)
    clock = style.title_with_clock(figure, title, corners[0][0] / DPI, HEAD / 2 / DPI)
    canvas.draw()
    kept = canvas.copy_from_bbox(figure.bbox)

    def page(time: str) -> np.ndarray:
        canvas.restore_region(kept)
        clock.set_text(time)
        figure.draw_artist(clock)
        return style.pixels(canvas)

    return page
