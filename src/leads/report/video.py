"""A film of all skills at once, and a table of where each of them goes."""

import csv
import io
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import imageio.v2 as imageio
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from PIL import Image

from leads.agent import Agent
from leads.errors import UserError
from leads.report import style
from leads.report.figures import real_paths
from leads.rollouts.episodes import Episodes
from leads.training.checkpoint import write_whole
from leads.training.evaluation import cells, counts

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
GIF_WIDTHS = (480, 400, 320, 240)
"""Pixels; the first one that is light enough is taken."""

CLEAR = 255
"""The index in a GIF's palette that is transparent."""

Row = dict[str, Any]


def write_skills(agent: Agent, out: Path, episodes: int) -> list[str]:
    """Rolls every skill out, writes skills.csv, .gif and .mp4, and returns the table's lines and the files' paths."""
    if not style.is_maze(agent.task):
        raise UserError(f"task: videos of {agent.task.name} are not supported yet, only those of mazes are")
    if episodes <= 0:
        raise UserError(f"episodes: {episodes} is not allowed; give a number above 0")
    files = {kind: out / f"skills.{kind}" for kind in ("csv", "gif", "mp4")}
    with style.writing_to(out):
        rolled = agent.episodes(episodes)
        rows = table(agent, rolled)
        write_whole(files["csv"], _csv(rows))
        _write_film(files["mp4"], files["gif"], film(agent, rolled), style.palette(agent.n_skill))
    return [*_lines(rows), f"table {files['csv']}", f"video {files['gif']}", f"video {files['mp4']}"]


def table(agent: Agent, episodes: Episodes) -> list[Row]:
    """Where each skill goes, a row a skill; shares are from 0 to 1, and without targets theirs are None."""
    task, targets = agent.task, agent.method.targets(agent.state)
    visits, steps = np.asarray(counts(task, episodes, task.bins)), np.asarray(episodes.steps())
    ends = np.asarray(episodes.states)[:, :, -1].mean(axis=1)
    columns = {
        "skill": np.arange(agent.n_skill),
        "end_x": ends[:, 0],
        "end_y": ends[:, 1],
        "length": np.asarray(episodes.lengths).mean(axis=1),
        "ended_at_wall": np.asarray(episodes.terminated).mean(axis=1),
        "cells": np.sum(visits > 0, axis=1),
        "own": np.sum(visits * (visits == visits.max(axis=0)), axis=1) / visits.sum(axis=1),
    }
    columns |= dict.fromkeys(("target_x", "target_y", "reach"))
    if targets is not None:
        path, there = (np.asarray(cells(task, s, task.bins)) for s in (episodes.states[:, :, 1:], targets))
        hit = (path == there[:, None, None]) & steps
        columns |= {"target_x": targets[:, 0], "target_y": targets[:, 1], "reach": hit.any(axis=2).mean(axis=1)}
    return [
        {name: None if column is None else round(np.asarray(column)[z].item(), 4) for name, column in columns.items()}
        for z in range(agent.n_skill)
    ]


def _csv(rows: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _lines(rows: list[Row]) -> list[str]:
    """The table for people."""
    head = f"{'skill':>5}  {'mean end':>14}  {'length':>6}  {'at wall':>7}  {'cells':>5}  {'own':>5}"
    has_targets = rows[0]["reach"] is not None
    lines = [head + (f"  {'target':>14}  {'reach':>5}" if has_targets else "")]
    for row in rows:
        end, target = (_point(row[f"{name}_x"], row[f"{name}_y"]) for name in ("end", "target"))
        lines.append(
            f"{row['skill']:>5}  {end}  {row['length']:>6.1f}  {row['ended_at_wall']:>7.0%}  {row['cells']:>5}"
            f"  {row['own']:>5.0%}" + (f"  {target}  {row['reach']:>5.0%}" if has_targets else "")
        )
    return lines


def _point(x: float | None, y: float | None) -> str:
    return "" if x is None or y is None else f"({x:5.2f}, {y:5.2f})"


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


def _write_film(mp4: Path, gif: Path, pictures: Iterator[np.ndarray], colours: list[str]) -> None:
    """Writes both files from one pass over the pictures, which are too many to keep at full size."""
    partial, small, picture = mp4.with_suffix(".partial.mp4"), [], None
    writer: Any
    with imageio.get_writer(partial, format="FFMPEG", fps=FPS, codec="libx264", quality=7) as writer:
        for picture in pictures:
            writer.append_data(picture)
            small.append(_resized(Image.fromarray(picture), GIF_WIDTHS[0]))
        for _ in range(HELD - 1):
            writer.append_data(picture)
    partial.replace(mp4)
    write_whole(gif, _light_gif(small, _gif_palette(colours)))


def _resized(picture: Image.Image, width: int) -> Image.Image:
    return picture.resize((width, round(width * picture.height / picture.width)), Image.Resampling.LANCZOS)


def _light_gif(pictures: list[Image.Image], palette: Image.Image) -> bytes:
    """The largest GIF that is below GIF_BYTES."""
    data = b""
    for width in GIF_WIDTHS:
        data = _gif([_resized(picture, width) for picture in pictures], palette)
        if len(data) < GIF_BYTES:
            break
    return data


def _gif(pictures: list[Image.Image], palette: Image.Image) -> bytes:
    """All pictures in one palette, undithered, and transparent where nothing changed, which costs least."""
    indices = [np.asarray(picture.quantize(palette=palette, dither=Image.Dither.NONE)) for picture in pictures]
    changes = [np.where(now == before, CLEAR, now).astype(np.uint8) for before, now in pairwise(indices)]
    first, *others = [Image.fromarray(index) for index in (indices[0], *changes)]
    for image in (first, *others):
        image.putpalette(palette.getpalette() or [])
    durations = [1000 // FPS] * (len(pictures) - 1) + [HELD * 1000 // FPS]
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
