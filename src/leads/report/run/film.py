"""Films of all skills at once: as moving points of a maze, and elsewhere as the environment renders each of them."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from math import ceil
from typing import Any

import gymnasium
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.report import style
from leads.report.run.planes import Paths, real_paths
from leads.tasks.opengl import told_gymnasium
from leads.tasks.task import Task

DPI = 160
BLOCK = 16
"""Sides of films have to be multiples of this, in pixels."""
SHOWN, TRAIL = 8, 20
"""Episodes of each skill in a maze's film (more would hide each other), and pictures after which a trail has faded."""
MAZE_WIDTH, MAZE_HEIGHT, MARGIN, MAZE_HEAD = 4.8, 5.1, 0.15, 0.47
"""Inches of the film of a maze, around the maze, and above it for the task and the time."""
WIDTH, PANEL = 960, 480
"""Pixels that the panels of a row share, and of a panel's longer side, at most; simulators render no more."""
GAP, NAME, HEAD, BORDER = 16, 30, 48, 4
"""Pixels between panels, above each for its name, above all for the task and the time, and around each in colour."""
FADED = 0.5
"""Share of white in the panel of a skill whose episode has ended before the others'."""


class Page:
    """A figure that is drawn once; each picture adds the time and what moves."""

    def __init__(self, figure: Figure, title: str, x: float, y: float):
        """The title is so many inches from the left and the top, and the time from the right."""
        width, height = figure.get_size_inches()
        look = {"y": 1 - y / height, "va": "center", "color": style.INK, "fontsize": 10}
        figure.text(x / width, s=title, parse_math=False, **look)
        self.clock = figure.text(1 - x / width, s="", ha="right", animated=True, **look)
        self.figure, self.canvas = figure, FigureCanvasAgg(figure)
        self.canvas.draw()
        self.kept = self.canvas.copy_from_bbox(figure.bbox)

    def _draw(self, *artists: Artist) -> None:
        self.canvas.restore_region(self.kept)
        for artist in artists:
            self.figure.draw_artist(artist)

    def add(self, artist: Artist) -> None:
        """Makes an artist, as it is now, part of every later picture."""
        self._draw(artist)
        self.kept = self.canvas.copy_from_bbox(self.figure.bbox)

    def picture(self, step: int, *moving: Artist) -> np.ndarray:
        """The page [height, width, rgb] with what moves, in this order, and the time."""
        self.clock.set_text(f"step {step}")
        self._draw(*moving, self.clock)
        return np.asarray(self.canvas.buffer_rgba())[..., :3].copy()


def maze_film(agent: Agent, episodes: Episodes, n_picture: int) -> Iterator[np.ndarray]:
    """Pictures [height, width, rgb] from the start to the end of the longest episode, with trails that fade.

    Only what moves is drawn anew. Each picture adds to the faint paths of the one before.
    """
    places, alive, last_step = paths_in_time([paths[:SHOWN] for paths in real_paths(episodes)], n_picture)
    palette, targets = style.palette(agent.n_skill), agent.targets()
    colours = np.repeat([to_rgb(colour) for colour in palette], places.shape[1] // agent.n_skill, 0)
    figure = style.new_figure(MAZE_WIDTH, MAZE_HEIGHT, DPI)
    axes = style.place(figure, MARGIN, MAZE_HEAD, MAZE_WIDTH - 2 * MARGIN, MAZE_WIDTH - 2 * MARGIN)
    style.draw_maze(axes, agent.task, 4.0)
    style.mark_start(axes, agent.task.start)
    if targets is not None:
        for target, colour in zip(np.asarray(targets), palette, strict=True):
            style.mark_target(axes, target, colour, 12)
    still = sorted([*axes.collections, *axes.lines], key=lambda artist: artist.get_zorder())
    faint = axes.add_collection(LineCollection([], linewidths=0.8, alpha=0.3, animated=True), autolim=False)
    bright = axes.add_collection(LineCollection([], linewidths=1.8, capstyle="round", animated=True), autolim=False)
    heads = axes.scatter(*places[0].T, c=colours, edgecolors="black", animated=True, zorder=9)
    page = Page(figure, style.task_name(agent.task), MARGIN, 0.24)
    for k in range(n_picture):
        faint.set(segments=segments(places[max(k - 1, 0) : k + 1]), colors=colours)
        page.add(faint)
        trail = places[max(k - TRAIL, 0) : k + 1]
        bright.set(segments=segments(trail), colors=fading(colours, len(trail) - 1))
        heads.set(offsets=places[k], sizes=np.where(alive[k], 42, 12), linewidths=np.where(alive[k], 0.9, 0.0))
        yield page.picture(round(k / (n_picture - 1) * last_step), bright, *still, heads)


def paths_in_time(paths: Paths, n_picture: int) -> tuple[np.ndarray, np.ndarray, int]:
    """(places [picture, path, 2], whether each path still goes on [picture, path], steps of the longest path)."""
    every = [path for skill in paths for path in skill]
    longest = max(len(path) for path in every) - 1
    time = np.linspace(0, longest, n_picture)
    places = [[np.interp(time, np.arange(len(path)), path[:, i]) for i in (0, 1)] for path in every]
    alive = time[:, None] < np.asarray([len(path) - 1 for path in every])
    return np.moveaxis(np.asarray(places), -1, 0), alive, longest


def segments(places: np.ndarray) -> np.ndarray:
    """Segments [segment, 2, 2] between successive places [picture, path, 2], older ones first."""
    return np.stack([places[:-1], places[1:]], axis=2).reshape(-1, 2, 2)


def fading(colours: np.ndarray, length: int) -> np.ndarray:
    """Colours [segment, rgba] of trails of so many segments, in the order of `segments`: the older, the fainter."""
    strength = np.linspace(1 / TRAIL, 1, TRAIL)[TRAIL - length :]
    return np.column_stack([np.tile(colours, (length, 1)), np.repeat(strength, len(colours))])


def rendered_film(task: Task, actions: list[np.ndarray], at_most: int) -> Iterator[np.ndarray]:
    """Up to `at_most` pictures [height, width, rgb] of all skills side by side, each repeating its `actions`."""
    n_skill, last_step = len(actions), max(map(len, actions))
    stride = ceil(task.horizon / (at_most - 1))
    rows, columns = style.rows_and_columns(n_skill, 1)
    episodes = _rendered_episodes(task, actions, stride, min(PANEL, (WIDTH - GAP) // columns - GAP))
    height, width, _ = episodes[0][0].shape
    right, down = width + GAP, NAME + height + GAP
    total = [ceil(pixels / BLOCK) * BLOCK for pixels in (columns * right + GAP, HEAD + rows * down)]
    margin = (total[0] - columns * right + GAP) // 2
    corners = [(margin + i % columns * right, HEAD + NAME + i // columns * down) for i in range(n_skill)]
    figure = style.new_figure(total[0] / DPI, total[1] / DPI, DPI)
    for skill, colour in enumerate(style.palette(n_skill)):
        axes = style.place(figure, *(pixels / DPI for pixels in (*corners[skill], width, height)))
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(color=colour, linewidth=2 * BORDER * 72 / DPI)
        style.name_skill(axes, skill, colour)
    page = Page(figure, style.task_name(task), margin / DPI, HEAD / 2 / DPI)
    for k in range(max(map(len, episodes))):
        picture = page.picture(min(k * stride, last_step))
        for (x, y), pictures in zip(corners, episodes, strict=True):
            now = pictures[min(k, len(pictures) - 1)]
            white = FADED if k >= len(pictures) else 0
            picture[y : y + height, x : x + width] = now + white * (255.0 - now)
        yield picture


def _rendered_episodes(task: Task, actions: list[np.ndarray], stride: int, side: int) -> list[list[np.ndarray]]:
    """A picture [height, width, rgb] every `stride` steps and at the end, for each skill."""
    episodes: list[list[np.ndarray]] = []
    # one environment serves all skills in turn, as each needs a renderer of its own
    with told_gymnasium(), closing(_rendered(partial(task.make, render_mode="rgb_array"))) as environment:
        for mine in actions:
            environment.reset()
            episodes.append([_picture(environment, side)])
            for step, action in enumerate(task.environment_actions(mine), start=1):
                environment.step(action)
                if step == len(mine) or step % stride == 0:
                    episodes[-1].append(_picture(environment, side))
    return episodes


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
