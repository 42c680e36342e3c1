"""A table of where each skill goes: one row per skill, as CSV and as text."""

import csv
import io
from math import floor, log10
from typing import Any

import numpy as np

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.report import style
from leads.report.run.planes import feature_name
from leads.tasks.task import Task
from leads.training.grid import cells, counts

Row = dict[str, Any]


def table(agent: Agent, episodes: Episodes) -> list[Row]:
    """Where each skill goes; shares are from 0 to 1, and entries about targets are None where there are none."""
    task, targets = agent.task, agent.targets()
    visits, steps = np.asarray(counts(task, episodes, task.bins)), np.asarray(episodes.steps())
    names, counted = _names(task), lambda states: np.asarray(task.features(states))[..., task.grid_axes]
    ends = counted(episodes.states[:, :, -1]).mean(axis=1)
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
        columns |= {f"target_{name}": target for name, target in zip(names, counted(targets).T, strict=True)}
        columns |= {"reach": hit.any(axis=2).mean(axis=1)}
    return [
        {name: None if column is None else round(np.asarray(column)[z].item(), 4) for name, column in columns.items()}
        for z in range(agent.n_skill)
    ]


def _names(task: Task) -> list[str]:
    """The counted features, as parts of column names."""
    return [feature_name(task, i).replace(" ", "_") for i in task.grid_axes]


def _ended(task: Task) -> str:
    """The column with the share of terminated episodes."""
    return "ended_at_wall" if style.is_maze(task) else "ended"


def csv_of(rows: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def lines_of(task: Task, rows: list[Row]) -> list[str]:
    """The table as text; outside of mazes its last line names the features of its points."""
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
    """A row's `end` or `target`, with enough digits to distinguish cells of the coverage grid."""
    values, box = [row[f"{kind}_{name}"] for name in _names(task)], np.stack([task.low, task.high])[:, task.grid_axes]
    if None in values:
        return ""
    digits = max(0, 1 - floor(log10(np.min(box[1] - box[0]) / task.bins)))
    width = max(len(f"{bound:.{digits}f}") for bound in box.flat)
    return f"({', '.join(f'{value:{width}.{digits}f}' for value in values)})"
