"""States as networks see them: every entry centred on 0 and about as large as 1."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from leads.data.episodes import Episodes
from leads.data.running_statistics import RunningStatistics
from leads.tasks.task import Task

LARGEST = 10.0
"""Scaled entries are clipped to this."""


class Scaling(eqx.Module):
    """Standardises by the states visited so far; a task whose entries are of one scale is left as it is."""

    statistics: RunningStatistics | None

    @classmethod
    def of(cls, task: Task) -> "Scaling":
        """Before any episode."""
        return cls(None if task.one_scale else RunningStatistics.around(jnp.asarray(task.start)))

    def updated(self, episodes: Episodes) -> "Scaling":
        """After the real steps of `episodes`."""
        if self.statistics is None:
            return self
        return Scaling(self.statistics.updated(episodes.states[:, :, 1:], episodes.steps()))

    def __call__(self, states: Float[Array, "*batch state"]) -> Float[Array, "*batch state"]:
        return states if self.statistics is None else self.statistics.whitened(states, LARGEST)
