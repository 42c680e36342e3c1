"""States as networks see them: every entry about zero and of about the size of one."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from leads.data.episodes import Episodes
from leads.data.running_statistics import RunningStatistics
from leads.tasks.task import Task

LARGEST = 10.0
"""Scaled entries are clipped to this."""


class Scaling(eqx.Module):
    """By mean and variance of all states visited so far; states of a task of one scale stay as they are."""

    statistics: RunningStatistics | None

    @classmethod
    def of(cls, task: Task) -> "Scaling":
        """Before anything was visited."""
        return cls(None if task.one_scale else RunningStatistics.around(jnp.asarray(task.start)))

    def seen(self, episodes: Episodes) -> "Scaling":
        """With the real steps of `episodes`."""
        if self.statistics is None:
            return self
        return Scaling(self.statistics.seen(episodes.states[:, :, 1:], episodes.steps()))

    def __call__(self, states: Float[Array, "*batch state"]) -> Float[Array, "*batch state"]:
        return states if self.statistics is None else self.statistics.whitened(states, LARGEST)
