"""A task's grid: the cells of states, and what is counted on them."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from leads.data.episodes import Episodes
from leads.tasks.task import Task


def n_cells(task: Task, bins: int) -> int:
    return bins ** len(task.grid_axes)


def cells(task: Task, states: Float[Array, "*batch state"], bins: int) -> Int[Array, "*batch"]:
    """Index of the grid cell of each state's features; outside the box, that of the outermost cell."""
    low, high = jnp.asarray(task.low, jnp.float32), jnp.asarray(task.high, jnp.float32)
    index = jnp.floor((task.features(states) - low) / (high - low) * bins).astype(jnp.int32)[..., task.grid_axes]
    strides = jnp.asarray([bins**power for power in reversed(range(len(task.grid_axes)))])
    return jnp.sum(jnp.clip(index, 0, bins - 1) * strides, axis=-1)


def visit(task: Task, episodes: Episodes, visited: Bool[Array, " cell"], bins: int) -> Bool[Array, " cell"]:
    """`visited` with the cells that the real steps of `episodes` reach."""
    outside = len(visited)
    index = jnp.where(episodes.steps(), cells(task, episodes.states[:, :, 1:], bins), outside)
    return visited.at[index.reshape(-1)].set(True, mode="drop")


def percent(visited: Bool[Array, " cell"]) -> Float[Array, ""]:
    return 100.0 * jnp.mean(visited)


def counts(task: Task, episodes: Episodes, bins: int) -> Float[Array, "skill cell"]:
    """How many real steps of each skill end in each cell."""
    size = n_cells(task, bins)
    index = jnp.where(episodes.steps(), cells(task, episodes.states[:, :, 1:], bins), size)
    return jax.vmap(lambda i: jnp.zeros(size).at[i].add(1.0, mode="drop"))(index.reshape(len(index), -1))


def metre_counts(task: Task, episodes: Episodes) -> Float[Array, "skill cell"]:
    """The same for cells of 1 m, without a box; there is a column for every step, so that most are empty."""
    place = jnp.floor(task.features(episodes.states[:, :, 1:])[..., task.metres]).astype(jnp.int32)
    places = place.reshape(-1, len(task.metres))
    _, cell = jnp.unique(places, axis=0, size=len(places), return_inverse=True)
    skill = jnp.arange(len(place))[:, None]
    real = episodes.steps().reshape(len(place), -1).astype(jnp.float32)
    return jnp.zeros((len(place), len(places))).at[skill, cell.reshape(real.shape)].add(real)


def distinctness(counts: Float[Array, "skill cell"]) -> Float[Array, ""]:
    """Mutual information of skill and cell, skills weighted equally, divided by log n_skill: 0 alike, 1 apart."""
    p_given_skill = counts / jnp.maximum(jnp.sum(counts, axis=1, keepdims=True), 1.0)
    p = jnp.mean(p_given_skill, axis=0)
    ratio = jnp.where(p_given_skill > 0, p_given_skill / jnp.where(p > 0, p, 1.0), 1.0)
    information = jnp.mean(jnp.sum(p_given_skill * jnp.log(ratio), axis=1))
    return jnp.clip(information / np.log(max(len(counts), 2)), 0.0, 1.0)


def reach(task: Task, episodes: Episodes, targets: Float[Array, "skill state"]) -> Float[Array, ""]:
    """Mean over skills of the share of episodes whose path visits the cell of the skill's target."""
    path = cells(task, episodes.states[:, :, 1:], task.bins)
    hit = (path == cells(task, targets, task.bins)[:, None, None]) & episodes.steps()
    return jnp.mean(jnp.any(hit, axis=2))
