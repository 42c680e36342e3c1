"""How well the learnt measure m(s0, ., z) agrees with where fresh episodes of the skills go, cell by cell."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.measures.measure import AfterEnd
from leads.methods.method import LearnsMeasure
from leads.rollouts.noise import Colour
from leads.rollouts.rollout import Rollout
from leads.tasks.task import Task
from leads.training.grid import cells, n_cells

FLOOR = 1e-4
"""Share of a skill's mass below which a cell counts as empty; logs are taken of no less."""


@dataclass(frozen=True)
class Agreement:
    """Where each skill goes, as shares of the cells of the coarse grid that sum to 1."""

    learnt: Float[np.ndarray, "skill cell"]
    """According to the measure."""
    visited: Float[np.ndarray, "skill cell"]
    """In fresh episodes."""
    chance: Float[np.ndarray, " cell"]
    """According to a measure of 1 everywhere, which knows nothing: p(s) itself."""

    def rows(self) -> list[dict[str, Any]]:
        """One row of numbers per skill."""
        return [
            {
                "skill": skill,
                "correlation": correlation(learnt, visited),
                "total_variation": total_variation(learnt, visited),
                "total_variation_of_chance": total_variation(self.chance, visited),
            }
            for skill, (learnt, visited) in enumerate(zip(self.learnt, self.visited, strict=True))
        ]


def diagnose(agent: Agent, episodes: int) -> Agreement:
    """Compares the measure with this many fresh episodes per skill."""
    method, task = agent.method, agent.task
    if not isinstance(method, LearnsMeasure):
        raise UserError(f"method: {agent.config.method} learns no measure that could be diagnosed; leads does")
    # the measure is of actions with white noise, and relative to states as they are collected
    noises: set[Colour] = {"white", agent.method.noise}
    fitted = {noise: _fitted_episodes(agent, episodes, noise) for noise in noises}
    visited = occupancy(task, fitted["white"], method.future_weights(task.horizon), method.after_end)
    states = method.marginal(agent.state, fitted[agent.method.noise], jax.random.key(1))
    f = np.asarray(method.log_measure(agent.state, jnp.asarray(task.start), states), np.float64)
    return Agreement(
        learnt=density(task, states, np.exp(f - f.max(axis=1, keepdims=True))),
        visited=visited,
        chance=density(task, states, np.ones((1, len(states))))[0],
    )


def _fitted_episodes(agent: Agent, episodes: int, noise: Colour) -> Episodes:
    """Episodes of the policy that the measure is fitted to: the exploring one, which `act` may average over time."""
    with Rollout(agent.task, agent.method.explore, agent.n_skill, episodes, noise) as roll:
        return roll(agent.state, jax.random.key(0))


def occupancy(
    task: Task, episodes: Episodes, weights: Float[np.ndarray, " time"], after_end: AfterEnd
) -> Float[np.ndarray, "skill cell"]:
    """Shares of each skill's weighted steps by cell; after termination there are none, or the last state repeats."""
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
    """The mass that has to move for p to become q: 0 for equal shares, 1 for disjoint ones."""
    return round(float(np.abs(p - q).sum() / 2), 4)


def correlation(p: Float[np.ndarray, " cell"], q: Float[np.ndarray, " cell"]) -> float | None:
    """Of log densities over the cells in which either is above FLOOR; None if one of them is constant there."""
    logs = np.log(np.maximum([p, q], FLOOR))[:, (p > FLOOR) | (q > FLOOR)]
    if logs.shape[1] < 2 or np.any(np.ptp(logs, axis=1) < 1e-9):
        return None
    return round(float(np.corrcoef(logs)[0, 1]), 4)
