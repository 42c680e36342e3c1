"""What `leads skills` writes: a table of where each skill goes, and a film of all skills at once."""

import csv
import io
import sys
from collections.abc import Iterator
from math import floor, log10
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from leads.agent import Agent
from leads.config.fields import Positive, checked
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.report import style
from leads.report.run import film, video
from leads.report.run.planes import feature_name
from leads.rollouts.noise import Colour
from leads.tasks.task import Task
from leads.training.checkpoint import write_whole
from leads.training.grid import cells, counts
from leads.training.memory import check_episodes
from leads.training.metrics import HEADLINE, Evaluation, compute
from leads.training.run import FILM

MOVING = 150
"""Pictures in which skills move, at most."""
MAZE_GIF_SIZES = ((480, 1), (400, 1), (320, 1), (240, 1))
ROBOT_GIF_SIZES = ((800, 1), (640, 1), (640, 2), (480, 2), (400, 2), (320, 2), (240, 2))
"""Larger, as every skill has a panel; but where cameras follow robots, all of every picture changes."""

Row = dict[str, Any]


def write_skills(agent: Agent, out: Path, episodes: int, noise: Colour | None = None) -> list[str]:
    """Rolls every skill out, writes skills.csv, .gif and .mp4, and returns the lines of the table and the files' paths.

    With noise of another colour than in evaluation, the files are named after it: skills_pink.csv. Where nothing can
    be rendered there is no film, and a line on stderr says why.
    """
    checked("episodes", Positive[int], episodes)
    check_episodes("episodes", agent.task, agent.n_skill, episodes)
    name = "skills" if noise is None else f"skills_{noise}"
    files = {kind: out / f"{name}.{kind}" for kind in FILM}
    with style.writing_to(out):
        rolled = agent.episodes(episodes, noise=noise)
        rows = table(agent, rolled)
        write_whole(files["csv"], _csv(rows))
        lines = [*_lines(agent.task, rows), _together(agent, rolled), f"table {files['csv']}"]
        try:
            video.write_video(files["mp4"], files["gif"], *_film(agent, rolled))
        except UserError as error:
            print(f"leads: no film; {error}", file=sys.stderr)
            return lines
    return [*lines, f"video {files['gif']}", f"video {files['mp4']}"]


def table(agent: Agent, episodes: Episodes) -> list[Row]:
    """Where each skill goes; shares are from 0 to 1, and entries about targets are None where there are none."""
    task, targets, names = agent.task, agent.targets(), _names(agent.task)
    counted = lambda states: np.asarray(task.features(states))[..., task.grid_axes]
    visits, ends = np.asarray(counts(task, episodes, task.bins)), counted(episodes.states[:, :, -1]).mean(axis=1)
    columns = {
        "skill": np.arange(agent.n_skill),
        **{f"end_{name}": end for name, end in zip(names, ends.T, strict=True)},
        "length": np.asarray(episodes.lengths).mean(axis=1),
        _ended(task): np.asarray(episodes.terminated).mean(axis=1),
        "cells": np.sum(visits > 0, axis=1),
        "own": np.sum(visits * (visits == visits.max(axis=0)), axis=1) / visits.sum(axis=1),
        **dict.fromkeys((*(f"target_{name}" for name in names), "reach")),
    }
    if targets is not None:
        path, there = (np.asarray(cells(task, s, task.bins)) for s in (episodes.states[:, :, 1:], targets))
        hit = (path == there[:, None, None]) & np.asarray(episodes.steps())
        columns |= {f"target_{name}": target for name, target in zip(names, counted(targets).T, strict=True)}
        columns |= {"reach": hit.any(axis=2).mean(axis=1)}
    number = lambda column, z: None if column is None else round(np.asarray(column)[z].item(), 4)
    return [{name: number(column, z) for name, column in columns.items()} for z in range(agent.n_skill)]


def _names(task: Task) -> list[str]:
    """The counted features, as parts of column names."""
    return [feature_name(task, i).replace(" ", "_") for i in task.grid_axes]


def _ended(task: Task) -> str:
    """The column with the share of terminated episodes."""
    return "ended_at_wall" if style.is_maze(task) else "ended"


def _csv(rows: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _lines(task: Task, rows: list[Row]) -> list[str]:
    """The table as text; outside of mazes its last line names the features of its points."""
    is_maze, has_targets = style.is_maze(task), rows[0]["reach"] is not None
    ends, targets = ([_point(task, row, kind) for row in rows] for kind in ("end", "target"))
    width = max(map(len, ["mean end", *ends, *targets]))
    line = f"{{:>5}}  {{:>{width}}}  {{:>6}}  {{:>7}}  {{:>5}}  {{:>5}}"
    line += f"  {{:>{width}}}  {{:>5}}" if has_targets else ""  # otherwise the last two are left out
    ended = "at wall" if is_maze else "ended"
    lines = [line.format("skill", "mean end", "length", ended, "cells", "own", "target", "reach")]
    for row, end, target in zip(rows, ends, targets, strict=True):
        ended, own, reach = (f"{row[name] or 0:.0%}" for name in (_ended(task), "own", "reach"))
        lines.append(line.format(row["skill"], end, f"{row['length']:.1f}", ended, row["cells"], own, target, reach))
    if not is_maze:
        lines.append(f"mean end{' and target' if has_targets else ''}: {', '.join(_names(task)).replace('_', ' ')}")
    return lines


def _point(task: Task, row: Row, kind: str) -> str:
    """A row's `end` or `target`, with enough digits to distinguish cells of the coverage grid."""
    values, box = [row[f"{kind}_{name}"] for name in _names(task)], np.stack([task.low, task.high])[:, task.grid_axes]
    if None in values:
        return ""
    digits = max(0, 1 - floor(log10(np.min(box[1] - box[0]) / task.bins)))
    width = max(len(f"{bound:.{digits}f}") for bound in box.flat)
    return f"({', '.join(f'{value:{width}.{digits}f}' for value in values)})"


def _together(agent: Agent, episodes: Episodes) -> str:
    visited = jnp.asarray(agent.visited), jnp.asarray(agent.visited_fine)
    numbers = compute((), Evaluation(agent.task, *visited, episodes, agent.targets()))
    shown = [metric for metric in HEADLINE if metric.of_skills]
    texts = [f"{metric.title} {numbers[metric.name]:.{metric.digits}f} {metric.unit}".strip() for metric in shown]
    return f"together: {', '.join(texts)}"


def _film(agent: Agent, episodes: Episodes) -> tuple[Iterator[np.ndarray], video.Palette, video.GifSizes]:
    """Pictures of skills in a maze; elsewhere as the environment renders the first episode of each."""
    colours = style.palette(agent.n_skill)
    if style.is_maze(agent.task):
        return film.maze_film(agent, episodes, MOVING), lambda _: video.drawn_palette(colours), MAZE_GIF_SIZES
    first = zip(np.asarray(episodes.actions)[:, 0], np.asarray(episodes.lengths)[:, 0], strict=True)
    pictures = film.rendered_film(agent.task, [actions[:length] for actions, length in first], MOVING)
    return pictures, lambda small: video.adaptive_palette(small, colours), ROBOT_GIF_SIZES
