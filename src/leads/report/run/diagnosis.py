"""Whether the learnt measure m(s0, ., z) says where a skill really goes: compared with fresh episodes, cell by cell."""

import json
from dataclasses import dataclass
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
from leads.data.episodes import Episodes, draw_steps
from leads.errors import UserError
from leads.measures.c_learning import AfterEnd
from leads.methods.leads import Leads
from leads.methods.leads_config import LeadsConfig
from leads.report import style
from leads.report.run.figures import BAND, GAP, HEAD, draw_colour_bar, draw_image, metrics_of
from leads.report.run.planes import Plane, feature_name, feature_plane, maze_plane
from leads.rollouts.noise import Colour
from leads.tasks.task import Task
from leads.training.checkpoint import write_whole
from leads.training.evaluation import cells, n_cells
from leads.training.train import rolled_out

FLOOR = 1e-4
"""The share of a skill's mass below which a cell counts as empty; logs are taken of no less."""
DRAWS = 8192
"""States drawn from the skills' own marginal, where that is what the measure is relative to."""
COLUMNS = 6
"""Skills beside each other in the picture."""


@dataclass(frozen=True)
class Diagnosis:
    """Where each skill goes, as shares of the cells of the coarse grid that sum to 1."""

    learnt: Float[np.ndarray, "skill cell"]
    """By the measure."""
    visited: Float[np.ndarray, "skill cell"]
    """By fresh episodes."""
    chance: Float[np.ndarray, " cell"]
    """By a measure of 1 everywhere, which knows nothing: p(s) itself."""

    def rows(self) -> list[dict[str, Any]]:
        """How well they agree, a row a skill."""
        return [
            {
                "skill": skill,
                "correlation": correlation(learnt, visited),
                "total_variation": total_variation(learnt, visited),
                "total_variation_of_chance": total_variation(self.chance, visited),
            }
            for skill, (learnt, visited) in enumerate(zip(self.learnt, self.visited, strict=True))
        ]


def write_diagnosis(agent: Agent, out: Path, episodes: int) -> list[str]:
    """Writes diagnosis.json, .png and .pdf, and returns the table's lines and the files' paths."""
    if episodes <= 0:
        raise UserError(f"episodes: {episodes} is not allowed; give a number above 0")
    diagnosis = diagnose(agent, episodes)
    rows = diagnosis.rows()
    mean = {name: _mean([row[name] for row in rows]) for name in rows[0] if name != "skill"}
    said = {
        "epoch": agent.epoch,
        "episodes": episodes,
        "cells": len(diagnosis.chance),
        "floor": FLOOR,
        "mean": mean,
        "skills": rows,
    }
    with style.writing_to(out):
        write_whole(out / "diagnosis.json", (json.dumps(said, indent=2) + "\n").encode())
    picture = style.save(diagnosis_figure(agent, diagnosis, rows, mean), out, "diagnosis")
    return [*_lines(rows, mean), f"table {out / 'diagnosis.json'}", f"figure {picture}"]


def diagnose(agent: Agent, episodes: int) -> Diagnosis:
    """Compares the measure with as many fresh episodes of every skill."""
    method, task = agent.method, agent.task
    if not isinstance(method, Leads):
        raise UserError(f"method: {agent.run.config().method} learns no measure that could be diagnosed; leads does")
    c = method.config
    visited = occupancy(task, _fitted_episodes(agent, episodes, "white"), time_weights(c, task.horizon), c.after_end)
    states = _marginal(agent, episodes)
    f = np.asarray(method.log_measure(agent.state, jnp.asarray(task.start), states), np.float64)
    return Diagnosis(
        learnt=density(task, states, np.exp(f - f.max(axis=1, keepdims=True))),
        visited=visited,
        chance=density(task, states, np.ones((1, len(states))))[0],
    )


def _fitted_episodes(agent: Agent, episodes: int, noise: Colour) -> Episodes:
    """Episodes of the policy that the measure is fitted to: the last one, and not its average, by which skills act.

    The measure's own actions have white noise, those of the episodes it learns from the colour of `LeadsConfig.noise`.
    """
    roll = rolled_out(agent.task, agent.method.explore, agent.n_skill, episodes, noise, threads=1)
    return roll(agent.state, jax.random.key(0))


def _marginal(agent: Agent, episodes: int) -> Float[Array, "n state"]:
    """Draws of p(s), which the measure is relative to: the archive, or steps of all skills as they are collected."""
    if agent.method.config.marginal == "archive":
        return agent.state.archive.states
    collected = _fitted_episodes(agent, episodes, agent.method.noise)
    skill = jnp.arange(DRAWS) % agent.n_skill
    episode, time = draw_steps(collected, skill, jax.random.key(1))
    return collected.states[skill, episode, time + 1]


def time_weights(config: LeadsConfig, horizon: int) -> Float[np.ndarray, " time"]:
    """What a visit counts 1, 2, ... steps after the start: the mixture of futures that the measure is trained on.

    The losses' common fixed point leans more to the Monte Carlo futures, as temporal differences pass them on; the
    steps of temporal differences alone that end an epoch lean to the geometric ones. The mixture lies in between.
    """
    geometric = (1 - config.discount) * config.discount ** np.arange(horizon)
    monte_carlo = np.full(horizon, 1 / horizon) if config.futures == "uniform" else geometric
    return config.mc_weight * monte_carlo + (1 - config.mc_weight) * geometric


def occupancy(
    task: Task, episodes: Episodes, weights: Float[np.ndarray, " time"], after_end: AfterEnd
) -> Float[np.ndarray, "skill cell"]:
    """Shares of each skill's weighted steps by cell; after a terminal state nothing follows, or it goes on for ever."""
    counted = np.asarray(episodes.steps() | ~episodes.terminated[..., None] | (after_end == "absorb"))
    states = episodes.states[:, :, 1:]
    return np.concatenate(
        [
            density(task, s.reshape(-1, task.state_size), (weights * real).reshape(1, -1))
            for s, real in zip(states, counted, strict=True)
        ]
    )


def density(
    task: Task, states: Float[Array, "n state"], weights: Float[np.ndarray, "skill n"]
) -> Float[np.ndarray, "skill cell"]:
    """The weights of states summed by cell of the coarse grid, as shares."""
    index, size = np.asarray(cells(task, states, task.bins)), n_cells(task, task.bins)
    return np.stack([np.bincount(index, each, size) / each.sum() for each in weights])


def total_variation(p: Float[np.ndarray, " cell"], q: Float[np.ndarray, " cell"]) -> float:
    """The mass that would have to move for p to become q: 0 alike, 1 apart."""
    return round(float(np.abs(p - q).sum() / 2), 4)


def correlation(p: Float[np.ndarray, " cell"], q: Float[np.ndarray, " cell"]) -> float | None:
    """Of log densities over the cells in which either is above FLOOR; None if it is the same in all of them."""
    logs = np.log(np.maximum([p, q], FLOOR))[:, (p > FLOOR) | (q > FLOOR)]
    if logs.shape[1] < 2 or np.any(np.ptp(logs, axis=1) < 1e-9):
        return None
    return round(float(np.corrcoef(logs)[0, 1]), 4)


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(float(np.mean(known)), 4) if known else None


def _lines(rows: list[dict[str, Any]], mean: dict[str, Any]) -> list[str]:
    """The table for people."""
    lines = [f"{'skill':>5}  {'correlation':>11}  {'total variation':>15}  {'of knowing nothing':>18}"]
    whole: dict[str, Any] = {"skill": "mean", **mean}
    for row in (*rows, whole):
        lines.append(
            f"{row['skill']:>5}  {_number(row['correlation']):>11}  {_number(row['total_variation']):>15}"
            f"  {_number(row['total_variation_of_chance']):>18}"
        )
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def diagnosis_figure(agent: Agent, diagnosis: Diagnosis, rows: list[dict[str, Any]], mean: dict[str, Any]) -> Figure:
    """What the measure says above where episodes went, a column a skill; more than two features seen from the side."""
    task, name, bar = agent.task, 0.25, 0.75
    pair = widest_features(task, diagnosis.visited)
    plane = _plane(agent, pair)
    learnt, visited = (_seen(task, each, pair) for each in (diagnosis.learnt, diagnosis.visited))
    left, below = plane.margin
    gap = 2 * GAP if plane.ticks else GAP
    columns = min(agent.n_skill, COLUMNS)
    side = max(1.4, 5.6 / columns - gap)
    blocks = -(-agent.n_skill // columns)
    block = 2 * (BAND + side) + below
    width = name + left + columns * (side + gap) + GAP + bar
    figure = style.new_figure(width, HEAD + blocks * block + GAP)
    style.title(figure, _headline(agent, mean))
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
                figure.text(
                    s=what, rotation=90, ha="center", va="center", color=style.INK, fontweight="bold", fontsize=9, **at
                )
            if what == "learnt":
                style.name_skill(axes, skill, style.palette(agent.n_skill)[skill])
            else:
                agreement = f"corr. {_number(row['correlation'])}, TV {_number(row['total_variation'])}"
                axes.set_title(agreement, fontsize=8, color=style.INK, pad=4.5)
    axes = style.place(figure, width - bar + GAP, HEAD + BAND, 0.13, blocks * block - BAND - below)
    axes.set_title("share", fontsize=8, color=style.INK)
    draw_colour_bar(figure, axes, ScalarMappable(norm, style.heat()))
    return figure


def _headline(agent: Agent, mean: dict[str, Any]) -> str:
    metrics = metrics_of(agent)
    after = f", {metrics[-1]['samples']:,} samples" if metrics else ""
    return (
        f"measure and visits, {style.task_name(agent.task)}{after}:  correlation {_number(mean['correlation'])},  "
        f"total variation {_number(mean['total_variation'])}"
    )


def widest_features(task: Task, visited: Float[np.ndarray, "skill cell"]) -> tuple[int, ...]:
    """Which two of the counted features the visits spread over most, in their order; all, if they are no more."""
    grid = visited.mean(axis=0).reshape(len(task.grid_axes) * (task.bins,))
    spread = []
    for axis in range(grid.ndim):
        share = grid.sum(axis=tuple(other for other in range(grid.ndim) if other != axis))
        spread.append(share @ np.arange(task.bins) ** 2 - (share @ np.arange(task.bins)) ** 2)
    return tuple(sorted(np.argsort(spread)[-2:].tolist()))


def _seen(task: Task, shares: Float[np.ndarray, "skill cell"], features: tuple[int, ...]) -> np.ndarray:
    """Shares [skill, first, second] of the cells of two features, summed over the others; of one, in a strip."""
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
