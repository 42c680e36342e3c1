"""Episodes: what collecting gives and every method learns from."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from leads.tasks.task import Task


class Episodes(eqx.Module):
    """Episodes of every skill, padded to the horizon; after the end the last state repeats (it is absorbing)."""

    states: Float[Array, "skill episode time1 state"]
    """s_0 to s_horizon, one more than there are actions."""
    actions: Float[Array, "skill episode time action"]
    lengths: Int[Array, "skill episode"]
    """True steps of each episode."""
    terminated: Bool[Array, "skill episode"]
    """Whether the episode ended by itself (at a wall), not by the horizon."""

    @classmethod
    def none(cls, n_skill: int, n_episode: int, task: Task) -> "Episodes":
        """Place for episodes of which no step has happened."""
        size = n_skill, n_episode
        return cls(
            states=jnp.zeros((*size, task.horizon + 1, task.state_size)),
            actions=jnp.zeros((*size, task.horizon, task.action_size)),
            lengths=jnp.zeros(size, jnp.int32),
            terminated=jnp.zeros(size, bool),
        )

    @property
    def horizon(self) -> int:
        return self.actions.shape[2]

    def steps(self) -> Bool[Array, "skill episode time"]:
        """Which steps really happened."""
        return jnp.arange(self.horizon) < self.lengths[..., None]

    def samples(self) -> Int[Array, ""]:
        return jnp.sum(self.lengths)


class Batch(eqx.Module):
    """Transitions s, a -> s' of skills, drawn from Episodes, with one later state of the same episode each."""

    skill: Int[Array, " batch"]
    s: Float[Array, "batch state"]
    a: Float[Array, "batch action"]
    next_s: Float[Array, "batch state"]
    future_s: Float[Array, "batch state"]
    """s_{t+k}, clamped to the episode's last state."""
    future_is_real: Bool[Array, " batch"]
    """False where t+k lies behind the end of an episode that terminated."""
    terminal: Bool[Array, " batch"]
    """Whether s' is terminal."""


def draw_steps(
    episodes: Episodes, skill: Int[Array, " batch"], key: PRNGKeyArray
) -> tuple[Int[Array, " batch"], Int[Array, " batch"]]:
    """(episode, time) of uniformly drawn real steps of the given skills."""
    ends = jnp.cumsum(episodes.lengths, axis=1)[skill]
    total = ends[:, -1]
    index = jnp.floor(jax.random.uniform(key, skill.shape) * total).astype(jnp.int32)
    index = jnp.minimum(index, total - 1)
    episode = jnp.sum(index[:, None] >= ends, axis=1)
    start = jnp.where(episode == 0, 0, jnp.take_along_axis(ends, jnp.maximum(episode - 1, 0)[:, None], 1)[:, 0])
    return episode, index - start


def draw_batch(
    episodes: Episodes, size: int, discount: float, futures: str, key: PRNGKeyArray, n_start: int = 0
) -> Batch:
    """Uniform real steps of uniform skills, the first `n_start` rows first steps of episodes; futures k >= 1 ahead.

    `futures="geometric"`: k ~ Geometric(1 - discount). `futures="uniform"`: t+k uniform up to the horizon.
    """
    keys = jax.random.split(key, 3)
    skill = jax.random.randint(keys[0], (size,), 0, episodes.lengths.shape[0])
    episode, time = draw_steps(episodes, skill, keys[1])
    if n_start > 0:
        begun = eqx.tree_at(lambda e: e.lengths, episodes, jnp.minimum(episodes.lengths, 1))
        first, is_first = draw_steps(begun, skill, keys[1]), jnp.arange(size) < n_start
        episode, time = jnp.where(is_first, first[0], episode), jnp.where(is_first, first[1], time)
    length, terminated = episodes.lengths[skill, episode], episodes.terminated[skill, episode]
    uniform = jax.random.uniform(keys[2], (size,), minval=jnp.finfo(jnp.float32).tiny)
    if futures == "geometric":
        ahead = 1 + jnp.floor(jnp.log(uniform) / jnp.log(discount))
    else:
        ahead = 1 + jnp.floor(uniform * (episodes.horizon - time))
    future = time + jnp.minimum(ahead, episodes.horizon + 1).astype(jnp.int32)
    return Batch(
        skill=skill,
        s=episodes.states[skill, episode, time],
        a=episodes.actions[skill, episode, time],
        next_s=episodes.states[skill, episode, time + 1],
        future_s=episodes.states[skill, episode, jnp.minimum(future, length)],
        future_is_real=~terminated | (future <= length),
        terminal=terminated & (time + 1 == length),
    )
