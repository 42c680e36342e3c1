"""States as networks see them: every entry about zero and of about the size of one."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from leads.rollouts.episodes import Episodes
from leads.tasks.task import Task

SMALLEST = 1e-3
"""Standard deviation below which an entry is taken not to vary, and is not blown up."""
LARGEST = 10.0
"""Scaled entries are clipped to this."""


class Scaling(eqx.Module):
    """Mean and variance of all states visited so far; of a task of one scale, nothing, and states stay as they are."""

    mean: Float[Array, " state"] | None
    variance: Float[Array, " state"] | None
    count: Float[Array, ""] | None

    @classmethod
    def of(cls, task: Task) -> "Scaling":
        """Before anything was visited."""
        if task.one_scale:
            return cls(None, None, None)
        return cls(jnp.asarray(task.start), jnp.ones(task.state_size), jnp.zeros(()))

    def seen(self, episodes: Episodes) -> "Scaling":
        """With the real steps of `episodes` (the parallel form of Welford's update)."""
        if self.mean is None or self.variance is None or self.count is None:
            return self
        real = episodes.steps()[..., None]
        states = jnp.where(real, episodes.states[:, :, 1:], self.mean) - self.mean
        count = jnp.sum(real).astype(jnp.float32)
        shift = jnp.sum(states, (0, 1, 2)) / count
        variance = jnp.sum(jnp.where(real, states - shift, 0.0) ** 2, (0, 1, 2)) / count
        share = count / (self.count + count)
        return Scaling(
            mean=self.mean + share * shift,
            variance=(1 - share) * self.variance + share * variance + share * (1 - share) * shift**2,
            count=self.count + count,
        )

    def __call__(self, states: Float[Array, "*batch state"]) -> Float[Array, "*batch state"]:
        if self.mean is None or self.variance is None:
            return states
        spread = jnp.maximum(jnp.sqrt(self.variance), SMALLEST)
        return jnp.clip((states - self.mean) / spread, -LARGEST, LARGEST)
