"""Replay: the last transitions of all skills, what off-policy methods learn from."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.tasks.task import Task


class Transitions(eqx.Module):
    """Steps s, a -> s' of skills z."""

    s: Float[Array, "n state"]
    a: Float[Array, "n action"]
    z: Float[Array, "n skill_size"]
    next_s: Float[Array, "n state"]
    terminal: Bool[Array, " n"]
    """Whether s' ends the episode by itself; an episode that the horizon cuts off is not over."""
    time: Int[Array, " n"]
    """Steps of the episode before this one."""


def check_replay_size(size: int, samples: int) -> None:
    """Refuses a ring that an epoch of so many samples could overflow."""
    if size < samples:
        raise UserError(f"replay_size: {size} is not allowed; give at least an epoch's samples, {samples}")


class Replay(eqx.Module):
    """A ring of transitions in the order in which they happened, episode after episode."""

    kept: Transitions
    written: Int[Array, ""]
    """How many were ever written."""

    @classmethod
    def empty(cls, size: int, task: Task, skill_size: int) -> "Replay":
        kept = Transitions(
            s=jnp.zeros((size, task.state_size)),
            a=jnp.zeros((size, task.action_size)),
            z=jnp.zeros((size, skill_size)),
            next_s=jnp.zeros((size, task.state_size)),
            terminal=jnp.zeros(size, bool),
            time=jnp.zeros(size, jnp.int32),
        )
        return cls(kept, jnp.int32(0))

    @property
    def size(self) -> int:
        return len(self.kept.time)

    def add(self, episodes: Episodes, z: Float[Array, "skill skill_size"]) -> "Replay":
        """With the real steps of `episodes`, of which there are at most `size`."""
        real = episodes.steps()
        time = jnp.broadcast_to(jnp.arange(episodes.horizon), real.shape)
        new = Transitions(
            s=episodes.states[:, :, :-1],
            a=episodes.actions,
            z=jnp.broadcast_to(z[:, None, None], (*real.shape, z.shape[-1])),
            next_s=episodes.states[:, :, 1:],
            terminal=episodes.terminated[..., None] & (time + 1 == episodes.lengths[..., None]),
            time=time,
        )
        order = jnp.cumsum(real.reshape(-1))
        where = jnp.where(real.reshape(-1), (self.written + order - 1) % self.size, self.size)
        put = lambda old, new: old.at[where].set(new.reshape(len(where), *old.shape[1:]), mode="drop")
        return Replay(jax.tree.map(put, self.kept, new), self.written + order[-1])

    def draw(self, n: int, key: PRNGKeyArray) -> tuple[Int[Array, " n"], Transitions]:
        """(index, transitions), uniformly."""
        index = jax.random.randint(key, (n,), 0, jnp.minimum(self.written, self.size))
        return index, jax.tree.map(lambda x: x[index], self.kept)

    def earlier(self, index: Int[Array, " n"], most: int) -> tuple[Int[Array, "n most"], Bool[Array, "n most"]]:
        """(index, is there) of the transitions up to `most` steps before these in the same episodes, the last first."""
        back = jnp.arange(1, most + 1)
        age = (self.written - 1 - index) % self.size
        same_episode = back <= self.kept.time[index][:, None]
        not_overwritten = age[:, None] + back < jnp.minimum(self.written, self.size)
        return (index[:, None] - back) % self.size, same_episode & not_overwritten
