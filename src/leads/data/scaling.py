"""States and features as networks see them: about as large as 1, by a scale that is found early and then kept."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from leads.data.episodes import Episodes
from leads.data.running_statistics import SMALLEST, RunningStatistics
from leads.tasks.task import Task

SETTLED = 100_000
"""Samples after which states are standardised by what is known; else what was near would shrink as skills run on."""
LINEAR = 10.0
"""Standardised entries beyond +-this grow with the logarithm only."""


class Scaling(eqx.Module):
    """Standardises states, unless all entries are of one scale, and measures features in the task's unit or its own."""

    task: Task = eqx.field(static=True)
    statistics: RunningStatistics | None
    """Of states; None where their entries are of one scale."""
    measured: Float[Array, " feature"] | None
    """Unit of the features by the first epoch, 0 before it; None where the task has one."""

    @classmethod
    def of(cls, task: Task) -> "Scaling":
        """Before any episode."""
        statistics = None if task.one_scale else RunningStatistics.around(jnp.asarray(task.start))
        return cls(task, statistics, jnp.zeros(task.feature_size) if task.unit is None else None)

    @property
    def unit(self) -> Float[Array, " feature"]:
        """Length of each feature that networks see as 1."""
        if self.measured is None:
            return jnp.asarray(self.task.unit, jnp.float32)
        return jnp.where(self.measured > 0, self.measured, 1.0)

    def updated(self, episodes: Episodes) -> "Scaling":
        """After the real steps of `episodes`."""
        statistics, measured = self.statistics, self.measured
        states, real = episodes.states[:, :, 1:], episodes.steps()
        if statistics is not None:
            keep = statistics.count >= SETTLED
            after = statistics.updated(states, real)
            statistics = jax.tree.map(lambda old, new: jnp.where(keep, old, new), statistics, after)
        if measured is not None:
            measured = jnp.where(measured > 0, measured, _spread(self.task, states, real))
        return Scaling(self.task, statistics, measured)

    def __call__(self, states: Float[Array, "*batch state"]) -> Float[Array, "*batch state"]:
        """States as networks see them."""
        return states if self.statistics is None else _compressed(self.statistics.standardised(states))

    def features(self, states: Float[Array, "*batch state"]) -> Float[Array, "*batch network_feature"]:
        """Features as networks see them, in their unit: distances from the centre, then cosines and sines of angles."""
        task, x, unit = self.task, self.task.features(states), self.unit
        centre = task.features(jnp.asarray(task.start)) if task.centre is None else task.centre
        distance = (x - jnp.asarray(centre, jnp.float32)) / unit
        if not task.periodic:
            return distance
        angles = np.asarray(task.periodic)
        angle, unit = x[..., angles], unit[angles]
        others = np.setdiff1d(np.arange(task.feature_size), angles)
        return jnp.concatenate([distance[..., others], jnp.cos(angle) / unit, jnp.sin(angle) / unit], axis=-1)


def _compressed(x: Float[Array, "*batch entry"]) -> Float[Array, "*batch entry"]:
    """x itself up to +-LINEAR, and from there smoothly on with log |x|: far places stay apart, none drowns the rest."""
    size = jnp.maximum(jnp.abs(x) / LINEAR, 1.0)
    return jnp.where(size > 1.0, jnp.sign(x) * LINEAR * (1 + jnp.log(size)), x)


def _spread(task: Task, states: Float[Array, "*batch state"], real: Bool[Array, "*batch"]) -> Float[Array, " feature"]:
    """Standard deviation of each feature, of angles on the circle; 1 where it hardly varies and is not magnified."""
    start, x = (task.features(s) for s in (jnp.asarray(task.start), states))
    columns = lambda x: jnp.concatenate([x, jnp.cos(x), jnp.sin(x)], axis=-1)
    variance = RunningStatistics.around(columns(start)).updated(columns(x), real).variance
    straight, cosine, sine = variance.reshape(3, -1)
    is_angle = np.isin(np.arange(task.feature_size), task.periodic)
    spread = jnp.sqrt(jnp.where(is_angle, cosine + sine, straight))
    return jnp.where(spread < SMALLEST, 1.0, spread)
