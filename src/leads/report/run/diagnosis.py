"""How well the learnt measure m(s0, ., z) agrees with where fresh episodes of the skills go, cell by cell."""

import json
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from leads.agent import Agent
from leads.config.fields import Positive, checked
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.measures.measure import AfterEnd
from leads.methods.method import LearnsMeasure
from leads.report import style
from leads.report.run.figures import metrics_of
from leads.report.run.planes import Plane, feature_name, feature_plane, maze_plane
from leads.report.style import BAND, BAR, GAP, HEAD
from leads.rollouts.noise import Colour
from leads.rollouts.rollout import Rollout
from leads.tasks.task import Task
from leads.training.checkpoint import write_whole
from leads.training.grid import cells, n_cells
from leads.training.memory import check_episodes

FLOOR = 1e-4
"""Share of a skill's mass below which a cell counts as empty; logs are taken of no less."""
COLUMNS = 6
"""Skills side by side in the figure."""

Shares = Float[np.ndarray, "skill cell"]
"""How each skill's mass is distributed over the cells of the coarse grid; they sum to 1."""
Row = dict[str, Any]


@dataclass(frozen=True)
class Agreement:
    """Where each skill goes."""

    learnt: Shares
    """According to the measure."""
    visited: Shares
    """In fresh episodes."""
    chance: Float[np.ndarray, " cell"]
    """According to a measure of 1 everywhere, which knows nothing: p(s) itself."""

    def rows(self) -> list[Row]:
        """One row of numbers per skill."""
        names, rows = ("skill", "correlation", "total_variation", "total_variation_of_chance"), []
        for skill, (p, q) in enumerate(zip(self.learnt, self.visited, strict=True)):
            numbers = correlation(p, q), total_variation(p, q), total_variation(self.chance, q)
            rows.append(dict(zip(names, (skill, *numbers), strict=True)))
        return rows


def diagnose(agent: Agent, episodes: int) -> Agreement:
    """Compares the measure with this many fresh episodes per skill."""
    method, task = agent.method, agent.task
    if not isinstance(method, LearnsMeasure):
        raise UserError(f"method: {agent.config.method} learns no measure that could be diagnosed; leads does")

    @cache
    def collect(noise: Colour) -> Episodes:
        """Episodes of the policy that the measure is fitted to: the exploring one; `act` may average it over time."""
        with Rollout(task, agent.method.explore, agent.n_skill, episodes, noise) as roll:
            return roll(agent.state, jax.random.key(0))

    # the measure is of actions with white noise, and relative to states as they are collected
    visited = occupancy(task, collect("white"), method.future_weights(task.horizon), method.after_end)
    states = method.marginal(agent.state, lambda: collect(agent.method.noise), jax.random.key(1))
    f = np.asarray(method.log_measure(agent.state, jnp.asarray(task.start), states), np.float64)
    learnt = density(task, states, np.exp(f - f.max(axis=1, keepdims=True)))
    return Agreement(learnt, visited, density(task, states, np.ones((1, len(states))))[0])


def occupancy(task: Task, episodes: Episodes, weights: Float[np.ndarray, " time"], after_end: AfterEnd) -> Shares:
    """Shares of each skill's weighted steps by cell; after termination there are none, or the last state repeats."""
    counted = np.asarray(episodes.steps() | ~episodes.terminated[..., None] | (after_end == "absorb"))
    states = episodes.states[:, :, 1:].reshape(len(counted), -1, task.state_size)
    weights = (weights * counted).reshape(len(counted), 1, -1)
    return np.concatenate([density(task, *skill) for skill in zip(states, weights, strict=True)])


def density(task: Task, states: Float[Array, "n state"], weights: Float[np.ndarray, "skill n"]) -> Shares:
    """The weights of states summed by cell of the coarse grid, as shares."""
    index, size = np.asarray(cells(task, states, task.bins)), n_cells(task, task.bins)
    return np.stack([np.bincount(index, each, size) / each.sum() for each in weights])


def total_variation(p: Float[np.ndarray, " cell"], q: Float[np.ndarray, " cell"]) -> float:
    """The mass that has to move for p to become q: 0 for equal shares, 1 for disjoint ones."""
    return round(float(np.abs(p - q).sum() / 2), 4)


def correlation(p: Float[np.ndarray, " cell"], q: Float[np.ndarray, " cell"]) -> float | None:
    """Of log densities over the cells in which either is above FLOOR; None if one of them is constant there."""
    logs = np.log(np.maximum([p, q], FLOOR))[:, (p > FLOOR) | (q > FLOOR)]
    if logs.shape[1] < 2 or np.any(np.ptp(logs, axis=1) < 1e-9):
        return None
    return round(float(np.corrcoef(logs)[0, 1]), 4)


def write_diagnosis(agent: Agent, out: Path, episodes: int) -> list[str]:
    """Writes diagnosis.json, .png and .pdf, and returns the lines of the table and the files' paths."""
    checked("episodes", Positive[int], episodes)
    check_episodes("episodes", agent.task, agent.n_skill, episodes)
    agreement = diagnose(agent, episodes)
    rows = agreement.rows()
    mean = {name: _mean([row[name] for row in rows]) for name in rows[0] if name != "skill"}
    made = {"epoch": agent.epoch, "episodes": episodes, "cells": len(agreement.chance), "floor": FLOOR}
    with style.writing_to(out):
        data = json.dumps(made | {"mean": mean, "skills": rows}, indent=2) + "\n"
        write_whole(out / "diagnosis.json", data.encode())
    picture = style.save(diagnosis_figure(agent, agreement, rows, mean), out, "diagnosis")
    lines = [f"{'skill':>5}  {'correlation':>11}  {'total variation':>15}  {'by chance':>9}"]
    for skill, *numbers in ([*row.values()] for row in (*rows, {"skill": "mean", **mean})):
        lines.append("{:>5}  {:>11}  {:>15}  {:>9}".format(skill, *map(_number, numbers)))
    return [*lines, f"table {out / 'diagnosis.json'}", f"figure {picture}"]


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(float(np.mean(known)), 4) if known else None


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def diagnosis_figure(agent: Agent, agreement: Agreement, rows: list[Row], mean: Row) -> Figure:
    """One column per skill: the measure above the visits of episodes, in the two features of the widest spread."""
    n, name = agent.n_skill, 0.25
    pair = widest_features(agent.task, agreement.visited)
    plane = _plane(agent, pair)
    learnt, visited = (_projected(agent.task, shares, pair) for shares in (agreement.learnt, agreement.visited))
    shades = ScalarMappable(LogNorm(FLOOR, max(learnt.max(), visited.max())), style.heat())

    (left, below), columns = plane.margin, min(n, COLUMNS)
    side = max(1.4, 5.6 / columns - plane.gap)
    step = side + plane.gap, 2 * (BAND + side) + below
    height = HEAD + ceil(n / columns) * step[1] + GAP
    figure = style.new_figure(name + left + columns * step[0] + GAP + BAR, height)
    metrics = metrics_of(agent)
    after = f", {metrics[-1]['samples']:,} samples" if metrics else ""
    numbers = f"correlation {_number(mean['correlation'])},  total variation {_number(mean['total_variation'])}"
    style.title(figure, f"measure and visits, {style.task_name(agent.task)}{after}:  {numbers}")
    bold, at = {"color": style.INK, "fontsize": 9, "fontweight": "bold"}, (GAP + name / 2) / figure.get_figwidth()
    for skill, row in enumerate(rows):
        x, top = GAP + name + left + skill % columns * step[0], HEAD + BAND + skill // columns * step[1]
        for image, what, y in ((learnt[skill], "learnt", top), (visited[skill], "visited", top + side + BAND)):
            axes = style.place(figure, x, y, side, side)
            plane.draw_image(axes, np.ma.masked_less(image, FLOOR).T, shades)
            plane.name_axes(axes, x=what == "visited", y=skill % columns == 0)
            if skill % columns == 0:
                figure.text(at, 1 - (y + side / 2) / height, what, rotation=90, ha="center", va="center", **bold)
            if what == "learnt":
                style.name_skill(axes, skill, style.palette(n)[skill])
            else:
                numbers = f"corr. {_number(row['correlation'])}, TV {_number(row['total_variation'])}"
                axes.set_title(numbers, fontsize=8, color=style.INK, pad=4.5)
    bar = style.draw_colour_bar(figure, shades, HEAD + BAND, ceil(n / columns) * step[1] - BAND - below)
    bar.set_title("share", fontsize=8, color=style.INK)
    return figure


def widest_features(task: Task, visited: Shares) -> tuple[int, ...]:
    """The two counted features with the largest variance over visits, in their order; all if there are fewer."""
    n_feature, share = len(task.grid_axes), visited.mean(axis=0)
    place = np.indices(n_feature * (task.bins,)).reshape(n_feature, -1)
    variances = place**2 @ share - (place @ share) ** 2
    return tuple(sorted(np.argsort(variances)[-2:].tolist()))


def _projected(task: Task, shares: Shares, features: tuple[int, ...]) -> np.ndarray:
    """Shares [skill, first, second] of the cells of two features, summed over the others; of one, as a strip."""
    grid = shares.reshape(-1, *len(task.grid_axes) * (task.bins,))
    others = tuple(1 + axis for axis in range(grid.ndim - 1) if axis not in features)
    return grid.sum(axis=others).reshape(len(grid), task.bins, -1)


def _plane(agent: Agent, features: tuple[int, ...]) -> Plane:
    """The plane of two features; a single one fills it as a strip."""
    task = agent.task
    if len(features) == 2:
        return maze_plane(task) if style.is_maze(task) else feature_plane(agent, features)
    [feature] = task.grid_axes
    low, high = np.array([task.low[feature], 0.0]), np.array([task.high[feature], 1.0])
    return Plane(np.asarray, low, high, names=(feature_name(task, feature), ""), ticks=True)
