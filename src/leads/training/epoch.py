"""What an epoch is made of: the state that it changes, its compiled phases, and whether skills are evaluated."""

from collections.abc import Callable, Iterable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from leads.config.fields import shown
from leads.errors import UserError
from leads.methods.method import DividesEpisodes, Method, targets_of
from leads.tasks.task import Task
from leads.training import grid, metrics
from leads.training.metrics import Metric

EVALUATION_EPISODES = 20
"""Fresh episodes per skill from which the metrics of skills are computed."""
HOST_EVALUATION = 2
"""Training steps per evaluation step on the host, where a fresh step costs as much as one to learn from."""


class TrainState(eqx.Module):
    """Everything that training changes; with the seed it determines all that follows."""

    method: Any
    visited: Bool[Array, " cell"]
    visited_fine: Bool[Array, " fine_cell"]
    samples: Int[Array, ""]
    episode_length: Float[Array, ""]
    """Mean of the last epoch; before the first one the horizon."""


def episodes_begun(method: Method, state: Any, episode_length: float) -> Int[np.ndarray, " skill"]:
    """Episodes of each skill in the next epoch: as many as give about `epoch_samples`, if they last as the last.

    They are divided as the method wants, or evenly; n_episode is the most, 1 the least.
    """
    c = method.config
    wanted = getattr(c, "epoch_samples", None)  # a method from outside may not have it
    mean = c.n_episode if wanted is None else wanted / (c.n_skill * episode_length)
    weights = np.asarray(method.collects(state)) if isinstance(method, DividesEpisodes) else np.ones(c.n_skill)
    if weights.shape != (c.n_skill,) or not (np.isfinite(weights) & (weights > 0)).all():
        raise UserError(f"method: collects gave {shown(weights.tolist())}; it must give {c.n_skill} numbers above 0")
    each = weights * min(mean / weights.mean(), c.n_episode / weights.max())
    return np.clip(np.rint(each), 1, c.n_episode).astype(int)


def evaluations(task: Task, method: Method, budget: int) -> Callable[[int, int], bool]:
    """Whether an epoch that took the samples from one number to another ends with fresh episodes; the last one does.

    On the host, where episodes are dear, not every epoch does, and of what learns nothing only the last.
    """
    if task.step_cost == "device":
        return lambda before, samples: True
    if not method.learns:
        return lambda before, samples: samples >= budget
    every = HOST_EVALUATION * method.config.n_skill * EVALUATION_EPISODES * task.horizon
    return lambda before, samples: samples >= budget or samples // every > before // every


def initial_state(task: Task, method: Method, key: PRNGKeyArray) -> TrainState:
    """The state before the first epoch."""
    return TrainState(
        method=jax.tree.map(jnp.asarray, method.init(jax.random.fold_in(key, 0))),
        visited=jnp.zeros(grid.n_cells(task, task.bins), bool),
        visited_fine=jnp.zeros(grid.n_cells(task, task.fine_bins), bool),
        samples=jnp.int32(0),
        episode_length=jnp.float32(task.horizon),
    )


def phases(task: Task, method: Method, extra: Iterable[Metric] = ()):
    """(update, evaluate) of one epoch, compiled.

    `update(state, episodes, key)` gives (state, metrics of learning); `evaluate(state, fresh episodes or None)` gives
    the registry's metrics.
    """

    @jax.jit
    def update(state: TrainState, episodes, key):
        learnt, learning = method.update(state.method, episodes, key)
        length = episodes.samples() / jnp.sum(episodes.lengths > 0)
        return TrainState(
            method=learnt,
            visited=grid.visit(task, episodes, state.visited, task.bins),
            visited_fine=grid.visit(task, episodes, state.visited_fine, task.fine_bins),
            samples=state.samples + episodes.samples(),
            episode_length=length,
        ), learning | {"episode_length": length}

    @jax.jit
    def evaluate(state: TrainState, episodes):
        targets = targets_of(method, state.method)
        return metrics.compute(extra, metrics.Evaluation(task, state.visited, state.visited_fine, episodes, targets))

    return update, evaluate
