"""Table and figure of how well the learnt measure agrees with where skills really go."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from leads.agent import Agent
from leads.errors import UserError
from leads.report import style
from leads.report.run.agreement import FLOOR, Agreement, diagnose
from leads.report.run.figures import metrics_of
from leads.report.run.panels import BAND, GAP, HEAD, draw_colour_bar, draw_image
from leads.report.run.planes import Plane, feature_name, feature_plane, maze_plane
from leads.tasks.task import Task
from leads.training.checkpoint import write_whole

COLUMNS = 6
"""Skills side by side in the figure."""


def write_diagnosis(agent: Agent, out: Path, episodes: int) -> list[str]:
    """Writes diagnosis.json, .png and .pdf, and returns the lines of the table and the files' paths."""
    if episodes <= 0:
        raise UserError(f"episodes: {episodes} is not allowed; give a number above 0")
    agreement = diagnose(agent, episodes)
    rows = agreement.rows()
    mean = {name: _mean([row[name] for row in rows]) for name in rows[0] if name != "skill"}
    data = {
        "epoch": agent.epoch,
        "episodes": episodes,
        "cells": len(agreement.chance),
        "floor": FLOOR,
        "mean": mean,
        "skills": rows,
    }
    with style.writing_to(out):
        write_whole(out / "diagnosis.json", (json.dumps(data, indent=2) + "\n").encode())
    picture = style.save(diagnosis_figure(agent, agreement, rows, mean), out, "diagnosis")
    return [*_lines(rows, mean), f"table {out / 'diagnosis.json'}", f"figure {picture}"]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(float(np.mean(known)), 4) if known else None


def _lines(rows: list[dict[str, Any]], mean: dict[str, Any]) -> list[str]:
    """The table as text."""
    lines = [f"{'skill':>5}  {'correlation':>11}  {'total variation':>15}  {'by chance':>9}"]
    for row in (*rows, {"skill": "mean", **mean}):
        lines.append(
            f"{row['skill']:>5}  {_number(row['correlation']):>11}  {_number(row['total_variation']):>15}"
            f"  {_number(row['total_variation_of_chance']):>9}"
        )
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def diagnosis_figure(agent: Agent, agreement: Agreement, rows: list[dict[str, Any]], mean: dict[str, Any]) -> Figure:
    """One column per skill: the measure above the visits of episodes, in the two features of the widest spread."""
    task, name, bar = agent.task, 0.25, 0.75
    pair = widest_features(task, agreement.visited)
    plane = _plane(agent, pair)
    learnt, visited = (_projected(task, shares, pair) for shares in (agreement.learnt, agreement.visited))
    left, below = plane.margin
    gap = 2 * GAP if plane.ticks else GAP
    columns = min(agent.n_skill, COLUMNS)
    side = max(1.4, 5.6 / columns - gap)
    blocks = -(-agent.n_skill // columns)
    block = 2 * (BAND + side) + below
    width = name + left + columns * (side + gap) + GAP + bar
    figure = style.new_figure(width, HEAD + blocks * block + GAP)
    style.title(figure, _title(agent, mean))
    norm = LogNorm(FLOOR, max(learnt.max(), visited.max()))
    for row in rows:
        skill = row["skill"]
        x, top = GAP + name + left + skill % columns * (side + gap), HEAD + BAND + skill // columns * block
        for image, what, y in ((learnt[skill], "learnt", top), (visited[skill], "visited", top + side + BAND)):
            axes = style.place(figure, x, y, side, side)
            draw_image(axes, plane, np.ma.masked_less(image, FLOOR).T, style.heat(), norm)
            plane.name_axes(axes, x=what == "visited", y=skill % columns == 0)
            if skill % columns == 0:
                at = {"x": (GAP + name / 2) / width, "y": 1 - (y + side / 2) / figure.get_figheight()}
                look = {"color": style.INK, "fontweight": "bold", "fontsize": 9}
                figure.text(s=what, rotation=90, ha="center", va="center", **at, **look)
            if what == "learnt":
                style.name_skill(axes, skill, style.palette(agent.n_skill)[skill])
            else:
                numbers = f"corr. {_number(row['correlation'])}, TV {_number(row['total_variation'])}"
                axes.set_title(numbers, fontsize=8, color=style.INK, pad=4.5)
    axes = style.place(figure, width - bar + GAP, HEAD + BAND, 0.13, blocks * block - BAND - below)
    axes.set_title("share", fontsize=8, color=style.INK)
    draw_colour_bar(figure, axes, ScalarMappable(norm, style.heat()))
    return figure


def _title(agent: Agent, mean: dict[str, Any]) -> str:
    metrics = metrics_of(agent)
    after = f", {metrics[-1]['samples']:,} samples" if metrics else ""
    return (
        f"measure and visits, {style.task_name(agent.task)}{after}:  correlation {_number(mean['correlation'])},  "
        f"total variation {_number(mean['total_variation'])}"
    )


def widest_features(task: Task, visited: Float[np.ndarray, "skill cell"]) -> tuple[int, ...]:
    """The two counted features with the largest variance over visits, in their order; all if there are fewer."""
    grid = visited.mean(axis=0).reshape(len(task.grid_axes) * (task.bins,))
    variances = []
    for axis in range(grid.ndim):
        share = grid.sum(axis=tuple(other for other in range(grid.ndim) if other != axis))
        variances.append(share @ np.arange(task.bins) ** 2 - (share @ np.arange(task.bins)) ** 2)
    return tuple(sorted(np.argsort(variances)[-2:].tolist()))


def _projected(task: Task, shares: Float[np.ndarray, "skill cell"], features: tuple[int, ...]) -> np.ndarray:
    """Shares [skill, first, second] of the cells of two features, summed over the others; of one, as a strip."""
    grid = shares.reshape(-1, *len(task.grid_axes) * (task.bins,))
    others = tuple(1 + axis for axis in range(grid.ndim - 1) if axis not in features)
    return grid.sum(axis=others).reshape(len(grid), task.bins, -1)


def _plane(agent: Agent, features: tuple[int, ...]) -> Plane:
    """The plane of two features; a single one fills it as a strip."""
    task = agent.task
    if style.is_maze(task):
        return maze_plane(task)
    if len(features) == 2:
        return feature_plane(agent, (features[0], features[1]))
    [feature] = task.grid_axes
    low, high = np.array([task.low[feature], 0.0]), np.array([task.high[feature], 1.0])
    return Plane(np.asarray, low, high, names=(feature_name(task, feature), ""), ticks=True)
