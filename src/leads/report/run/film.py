"""A film of all skills at once, and a table of where each of them goes."""

import csv
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import imageio.v2 as imageio
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from PIL import Image

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.report import style
from leads.report.run import robot_film
from leads.report.run.figures import real_paths
from leads.rollouts.noise import Colour
from leads.tasks.task import Task
from leads.training.checkpoint import write_whole
from leads.training.evaluation import cells, counts, evaluate
from leads.training.run import FILM

# imageio would start ffmpeg by a plain fork, of which JAX rightly warns; this makes it start by a safe one.
os.environ.setdefault("IMAGEIO_FFMPEG_NO_PREVENT_SIGINT", "1")

FPS = 25
"""Pictures a second; a GIF counts time in hundredths of one."""
MOVING, HELD = 150, 30
"""Pictures in which skills move, and how many the last one stays for."""
SHOWN = 8
"""Episodes of each skill in the film, at most; more would hide each other."""
TRAIL = 20
"""Pictures after which a trail has faded."""
WIDTH, HEIGHT, DPI = 4.8, 5.1, 160
"""Inches of the film and its resolution; in pixels both sides are multiples of 16, as films need."""
GIF_BYTES = 3_000_000
"""What a GIF in a README may weigh."""
GIF_SIZES = ((480, 1), (400, 1), (320, 1), (240, 1))
"""(pixels of width, of how many pictures one is kept); the first that is light enough is taken."""
ROBOT_GIF_SIZES = ((800, 1), (640, 1), (640, 2), (480, 2), (400, 2), (320, 2), (240, 2))
"""The same for robots, which have but a panel each; where cameras follow them, all of every picture changes."""
SEEN = 8
"""Pictures of a film that its GIF's palette is made from, at most."""
NEAR = 8
"""How far a colour of 256 levels may be from another and be taken for it, as Pillow does with nearer ones."""
CLEAR = 255
"""The index in a GIF's palette that is transparent."""

Row = dict[str, Any]


def write_skills(agent: Agent, out: Path, episodes: int, noise: Colour | None = None) -> list[str]:
    """Rolls every skill out, writes skills.csv, .gif and .mp4, and returns the table's lines and the files' paths.

    Noise may have another colour than in evaluation, which the files are then called after: skills_pink.csv. Where
    nothing can be rendered there is no film, and a line on stderr says why.
    """
    if episodes <= 0:
        raise UserError(f"episodes: {episodes} is not allowed; give a number above 0")
    name = "skills" if noise is None else f"skills_{noise}"
    files = {kind: out / f"{name}.{kind}" for kind in FILM}
    with style.writing_to(out):
        rolled = agent.episodes(episodes, noise=noise)
        rows = table(agent, rolled)
        write_whole(files["csv"], _csv(rows))
        lines = [*_lines(agent.task, rows), _together(agent, rolled), f"table {files['csv']}"]
        colours, videos = style.palette(agent.n_skill), (files["mp4"], files["gif"])
        try:
            if style.is_maze(agent.task):
                _write_film(*videos, film(agent, rolled), lambda _: _gif_palette(colours), GIF_SIZES)
            else:
                palette = lambda pictures: _adaptive_palette(pictures, colours)
                first = zip(np.asarray(rolled.actions)[:, 0], np.asarray(rolled.lengths)[:, 0], strict=True)
                actions = [taken[:length] for taken, length in first]
                _write_film(*videos, robot_film.film(agent.task, actions, MOVING), palette, ROBOT_GIF_SIZES)
        except UserError as error:
            print(f"leads: no film; {error}", file=sys.stderr)
            return lines
    return [*lines, f"video {files['gif']}", f"video {files['mp4']}"]


def _together(agent: Agent, episodes: Episodes) -> str:
    numbers = evaluate(agent.task, episodes, agent.method.targets(agent.state))
    return f"together: skill coverage {numbers['skill_coverage']:.1f} %, distinctness {numbers['distinctness']:.2f}"


def table(agent: Agent, episodes: Episodes) -> list[Row]:
    """Where each skill goes, a row a skill; shares are from 0 to 1, and without targets theirs are None."""
    task, targets = agent.task, agent.method.targets(agent.state)
    visits, steps = np.asarray(counts(task, episodes, task.bins)), np.asarray(episodes.steps())
    names, of = _names(task), lambda states: np.asarray(task.features(states))[..., task.grid_axes]
    ends = of(episodes.states[:, :, -1]).mean(axis=1)
    columns = {
        "skill": np.arange(agent.n_skill),
        **{f"end_{name}": end for name, end in zip(names, ends.T, strict=True)},
        "length": np.asarray(episodes.lengths).mean(axis=1),
        _ended(task): np.asarray(episodes.terminated).mean(axis=1),
        "cells": np.sum(visits > 0, axis=1),
        "own": np.sum(visits * (visits == visits.max(axis=0)), axis=1) / visits.sum(axis=1),
    }
    columns |= dict.fromkeys((*(f"target_{name}" for name in names), "reach"))
    if targets is not None:
        path, there = (np.asarray(cells(task, s, task.bins)) for s in (episodes.states[:, :, 1:], targets))
        hit = (path == there[:, None, None]) & steps
        columns |= {f"target_{name}": target for name, target in zip(names, of(targets).T, strict=True)}
        columns |= {"reach": hit.any(axis=2).mean(axis=1)}
    return [
        {name: None if column is None else round(np.asarray(column)[z].item(), 4) for name, column in columns.items()}
        for z in range(agent.n_skill)
    ]


def _names(task: Task) -> list[str]:
    """The features that are counted, as parts of columns' names."""
    names = task.feature_names or [f"feature {i}" for i in range(len(task.low))]
    return [names[i].replace(" ", "_") for i in task.grid_axes]


def _ended(task: Task) -> str:
    """The column of the share of episodes that ended by themselves."""
    return "ended_at_wall" if style.is_maze(task) else "ended"


def _csv(rows: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _lines(task: Task, rows: list[Row]) -> list[str]:
    """The table for people, and below it what its points are made of, unless they are places in a maze."""
    is_maze, has_targets = style.is_maze(task), rows[0]["reach"] is not None
    ends, targets = ([_point(task, row, kind) for row in rows] for kind in ("end", "target"))
    width = max(map(len, ["mean end", *ends, *targets]))
    ended = "at wall" if is_maze else "ended"
    head = f"{'skill':>5}  {'mean end':>{width}}  {'length':>6}  {ended:>7}  {'cells':>5}  {'own':>5}"
    lines = [head + (f"  {'target':>{width}}  {'reach':>5}" if has_targets else "")]
    for row, end, target in zip(rows, ends, targets, strict=True):
        lines.append(
            f"{row['skill']:>5}  {end:>{width}}  {row['length']:>6.1f}  {row[_ended(task)]:>7.0%}  {row['cells']:>5}"
            f"  {row['own']:>5.0%}" + (f"  {target:>{width}}  {row['reach']:>5.0%}" if has_targets else "")
        )
    if not is_maze:
        lines.append(f"mean end{' and target' if has_targets else ''}: {', '.join(_names(task)).replace('_', ' ')}")
    return lines


def _point(task: Task, row: Row, kind: str) -> str:
    """Where a row's `end` or `target` is, in digits that tell the cells of the coverage grid apart."""
    values, box = [row[f"{kind}_{name}"] for name in _names(task)], np.stack([task.low, task.high])[:, task.grid_axes]
    if None in values:
        return ""
    digits = max(0, 1 - floor(log10(np.min(box[1] - box[0]) / task.bins)))
    width = max(len(f"{bound:.{digits}f}") for bound in box.flat)
    return f"({', '.join(f'{value:{width}.{digits}f}' for value in values)})"


def film(agent: Agent, episodes: Episodes) -> Iterator[np.ndarray]:
    """MOVING pictures [height, width, rgb] of all skills setting out together, with trails that fade behind them.

    Only what moves is drawn anew; the whole paths stay, faintly, as each picture's are kept for the next.
    """
    places, alive, last_step = _in_time([paths[:SHOWN] for paths in real_paths(episodes)])
    colours = np.repeat(
        [to_rgb(colour) for colour in style.palette(agent.n_skill)], places.shape[1] // agent.n_skill, 0
    )
    figure = style.new_figure(WIDTH, HEIGHT, DPI)
    canvas = FigureCanvasAgg(figure)
    axes = style.place(figure, 0.15, 0.47, WIDTH - 0.3, WIDTH - 0.3)
    _scenery(axes, agent)
    still = sorted([*axes.collections, *axes.lines], key=lambda artist: artist.get_zorder())
    text = {"y": 1 - 0.24 / HEIGHT, "va": "center", "color": style.INK, "fontsize": 10}
    figure.text(0.15 / WIDTH, s=style.task_name(agent.task), parse_math=False, **text)
    clock = figure.text(1 - 0.15 / WIDTH, s="", ha="right", animated=True, **text)
    faint = axes.add_collection(LineCollection([], linewidths=0.8, alpha=0.3, animated=True), autolim=False)
    bright = axes.add_collection(LineCollection([], linewidths=1.8, capstyle="round", animated=True), autolim=False)
    heads = axes.scatter(*places[0].T, c=colours, edgecolors="black", animated=True, zorder=9)
    canvas.draw()
    kept = canvas.copy_from_bbox(figure.bbox)
    for k in range(MOVING):
        canvas.restore_region(kept)
        faint.set(segments=_segments(places[max(k - 1, 0) : k + 1]), colors=colours)
        axes.draw_artist(faint)
        kept = canvas.copy_from_bbox(figure.bbox)
        trail = places[max(k - TRAIL, 0) : k + 1]
        bright.set(segments=_segments(trail), colors=_fading(colours, len(trail) - 1))
        heads.set(offsets=places[k], sizes=np.where(alive[k], 42, 12), linewidths=np.where(alive[k], 0.9, 0.0))
        clock.set_text(f"step {round(k / (MOVING - 1) * last_step)}")
        for artist in (bright, *still, heads, clock):
            figure.draw_artist(artist)
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _scenery(axes, agent: Agent) -> None:
    style.draw_maze(axes, agent.task, 4.0)
    style.mark_start(axes, agent.task.start)
    targets = agent.method.targets(agent.state)
    for target, colour in zip(targets if targets is not None else (), style.palette(agent.n_skill), strict=False):
        style.mark_target(axes, np.asarray(target), colour, 12)


def _in_time(paths: list[list[np.ndarray]]) -> tuple[np.ndarray, np.ndarray, int]:
    """(places [picture, path, 2], whether each path still goes on [picture, path], steps of the longest path)."""
    every = [path for skill in paths for path in skill]
    longest = max(len(path) for path in every) - 1
    time = np.linspace(0, longest, MOVING)
    places = [[np.interp(time, np.arange(len(path)), path[:, i]) for i in (0, 1)] for path in every]
    alive = time[:, None] < np.asarray([len(path) - 1 for path in every])
    return np.moveaxis(np.asarray(places), -1, 0), alive, longest


def _segments(places: np.ndarray) -> np.ndarray:
    """The ways [way, 2, 2] between places [picture, path, 2] that follow each other, older ones first."""
    return np.stack([places[:-1], places[1:]], axis=2).reshape(-1, 2, 2)


def _fading(colours: np.ndarray, ways: int) -> np.ndarray:
    """The colours of a trail's ways, as `_segments` orders them: the older, the fainter."""
    strength = np.linspace(1 / TRAIL, 1, TRAIL)[TRAIL - ways :]
    shape = (ways, len(colours))
    return np.concatenate(
        [np.broadcast_to(colours, (*shape, 3)), np.broadcast_to(strength[:, None, None], (*shape, 1))], axis=-1
    ).reshape(-1, 4)


def _write_film(
    mp4: Path,
    gif: Path,
    pictures: Iterator[np.ndarray],
    palette: Callable[[list[Image.Image]], Image.Image],
    sizes: Sequence[tuple[int, int]],
) -> None:
    """Writes both files from one pass over the pictures, which are too many to keep at full size."""
    partial, small, picture = mp4.with_suffix(".partial.mp4"), [], None
    writer: Any
    try:
        with closing(imageio.get_writer(partial, format="FFMPEG", fps=FPS, codec="libx264", quality=7)) as writer:
            for picture in pictures:
                writer.append_data(picture)
                small.append(_resized(Image.fromarray(picture), sizes[0][0]))
            for _ in range(HELD - 1):
                writer.append_data(picture)
        partial.replace(mp4)
    finally:
        partial.unlink(missing_ok=True)
    write_whole(gif, _light_gif(small, palette(small), sizes))


def _resized(picture: Image.Image, width: int) -> Image.Image:
    return picture.resize((width, round(width * picture.height / picture.width)), Image.Resampling.LANCZOS)


def _light_gif(pictures: list[Image.Image], palette: Image.Image, sizes: Sequence[tuple[int, int]]) -> bytes:
    """The largest GIF that is below GIF_BYTES."""
    data = b""
    for width, every in sizes:
        kept = [*pictures[:-1:every], pictures[-1]]
        data = _gif([_resized(picture, width) for picture in kept], palette, every * 1000 // FPS)
        if len(data) < GIF_BYTES:
            break
    return data


def _gif(pictures: list[Image.Image], palette: Image.Image, milliseconds: int) -> bytes:
    """All pictures in one palette, undithered, and transparent where nothing changed, which costs least."""
    indices = [np.asarray(picture.quantize(palette=palette, dither=Image.Dither.NONE)) for picture in pictures]
    changes = [np.where(now == before, CLEAR, now).astype(np.uint8) for before, now in pairwise(indices)]
    first, *others = [Image.fromarray(index) for index in (indices[0], *changes)]
    for image in (first, *others):
        image.putpalette(palette.getpalette() or [])
    durations = [milliseconds] * (len(pictures) - 1) + [HELD * 1000 // FPS]
    options = {"duration": durations, "loop": 0, "optimize": False, "transparency": CLEAR, "disposal": 1}
    buffer = io.BytesIO()
    first.save(buffer, "GIF", save_all=True, append_images=others, **options)
    return buffer.getvalue()


def _gif_palette(colours: list[str]) -> Image.Image:
    """At most CLEAR colours: every skill's mixed with white and with ink, and greys between the two."""
    white, ink = np.ones(3), np.asarray(to_rgb(style.INK))
    shades = max(2, min(12, 238 // len(colours)))
    mixed = [np.linspace(ink, white, 16)]
    for colour in colours[:119]:
        light = np.linspace(to_rgb(colour), white, shades - shades // 4, endpoint=False)
        dark = np.linspace(to_rgb(colour), ink, shades // 4 + 1, endpoint=False)[1:]
        mixed += [light, dark]
    image = Image.new("P", (1, 1))
    image.putpalette(np.rint(255 * np.concatenate(mixed)).astype(np.uint8).tobytes())
    return image


def _adaptive_palette(pictures: list[Image.Image], colours: list[str]) -> Image.Image:
    """At most CLEAR colours: white, ink, every skill's, and those of the pictures that are not nearly one of these."""
    own = np.rint(255 * np.asarray([to_rgb(colour) for colour in ("white", style.INK, *colours[:119])]))
    seen = np.concatenate([np.asarray(picture) for picture in pictures[:: ceil(len(pictures) / SEEN)]])
    found = np.reshape(Image.fromarray(seen).quantize(CLEAR - len(own)).getpalette() or [], (-1, 3))
    others = found[np.abs(found[:, None] - own).max(axis=-1).min(axis=1) > NEAR]
    image = Image.new("P", (1, 1))
    image.putpalette(np.concatenate([own, others]).astype(np.uint8).tobytes())
    return image
