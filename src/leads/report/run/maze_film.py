"""A film of a maze: all skills set out together, with trails that fade behind them."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.report import style
from leads.report.run.planes import Paths, real_paths

SHOWN = 8
"""Episodes of each skill in the film, at most; more would hide each other."""
TRAIL = 20
"""Pictures after which a trail has faded."""
WIDTH, HEIGHT, DPI = 4.8, 5.1, 160
"""Inches of the film and its resolution; in pixels both sides are multiples of 16, as films need."""
MARGIN, HEAD = 0.15, 0.47
"""Inches around the maze, and above it for the task and the time."""


def film(agent: Agent, episodes: Episodes, n_picture: int) -> Iterator[np.ndarray]:
    """Pictures [height, width, rgb] from the start to the end of the longest episode.

    Only what moves is drawn anew. Each picture adds to the faint paths of the one before.
    """
    places, alive, last_step = paths_in_time([paths[:SHOWN] for paths in real_paths(episodes)], n_picture)
    palette = [to_rgb(colour) for colour in style.palette(agent.n_skill)]
    colours = np.repeat(palette, places.shape[1] // agent.n_skill, 0)
    figure = style.new_figure(WIDTH, HEIGHT, DPI)
    canvas = FigureCanvasAgg(figure)
    axes = style.place(figure, MARGIN, HEAD, WIDTH - 2 * MARGIN, WIDTH - 2 * MARGIN)
    _draw_scenery(axes, agent)
    still = sorted([*axes.collections, *axes.lines], key=lambda artist: artist.get_zorder())
    clock = style.title_with_clock(figure, style.task_name(agent.task), MARGIN, 0.24)
    faint = axes.add_collection(LineCollection([], linewidths=0.8, alpha=0.3, animated=True), autolim=False)
    bright = axes.add_collection(LineCollection([], linewidths=1.8, capstyle="round", animated=True), autolim=False)
    heads = axes.scatter(*places[0].T, c=colours, edgecolors="black", animated=True, zorder=9)
    canvas.draw()
    kept = canvas.copy_from_bbox(figure.bbox)
    for k in range(n_picture):
        canvas.restore_region(kept)
        faint.set(segments=segments(places[max(k - 1, 0) : k + 1]), colors=colours)
        axes.draw_artist(faint)
        kept = canvas.copy_from_bbox(figure.bbox)
        trail = places[max(k - TRAIL, 0) : k + 1]
        bright.set(segments=segments(trail), colors=fading(colours, len(trail) - 1))
        heads.set(offsets=places[k], sizes=np.where(alive[k], 42, 12), linewidths=np.where(alive[k], 0.9, 0.0))
        clock.set_text(f"step {round(k / (n_picture - 1) * last_step)}")
        for artist in (bright, *still, heads, clock):
            figure.draw_artist(artist)
        yield style.pixels(canvas)


def _draw_scenery(axes: Axes, agent: Agent) -> None:
    style.draw_maze(axes, agent.task, 4.0)
    style.mark_start(axes, agent.task.start)
    targets = agent.targets()
    if targets is not None:
        for target, colour in zip(np.asarray(targets), style.palette(agent.n_skill), strict=True):
            style.mark_target(axes, target, colour, 12)


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
    shape = (length, len(colours))
    return np.concatenate(
        [np.broadcast_to(colours, (*shape, 3)), np.broadcast_to(strength[:, None, None], (*shape, 1))], axis=-1
    ).reshape(-1, 4)
