"""LSD: skills as directions in a space that stretches no distance (Park et al. 2022, arXiv:2202.00914)."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from leads.config.fields import Positive
from leads.methods.displacement import Displacement, DisplacementConfig
from leads.methods.intrinsic import Batch
from leads.nn.learner import Learner
from leads.nn.lipschitz import LipschitzMLP

FIRST_ITERATIONS = 100
"""Power iterations before the first step, so that the norms are right from the beginning."""


@dataclass(frozen=True)
class LsdConfig(DisplacementConfig):
    """The numbers of LSD."""

    model_learning_rate: Positive[float] = 1e-4
    """Learning rate of phi (published: 3e-5 to 1e-4)."""
    reward_scale: Positive[float] = 20.0
    """Scale of the rewards (published: 1); unscaled, a reward is at most the length of a step, .08 in the mazes."""
    power_iterations: Positive[int] = 1
    """Power iterations after each gradient step, by which the layers' norms are known (published: 1)."""


class LsdModel(eqx.Module):
    """phi, with |phi(s') - phi(s)| <= |s' - s| by spectral normalisation of every layer."""

    phi: LipschitzMLP


class Lsd(Displacement):
    """The model is phi alone: it has no multiplier to learn, for its form obeys the constraint."""

    Config = LsdConfig
    title = "LSD"

    def init_model(self, key: PRNGKeyArray) -> LsdModel:
        phi = LipschitzMLP(key, (self.feature_size, *self.config.model_hidden, self.skill_size))
        return LsdModel(phi.iterated(FIRST_ITERATIONS))

    def model_loss(self, model: LsdModel, batch: Batch, key: PRNGKeyArray):
        """max E[r]."""
        moved = self.displacement(model, batch)
        gain = jnp.mean(jnp.sum(moved * self.direction(batch.z), axis=-1))
        return -gain, {"step_length": jnp.mean(jnp.linalg.norm(moved, axis=-1))}

    def teach(self, model: Learner[LsdModel], batch: Batch, key: PRNGKeyArray):
        model, metrics = super().teach(model, batch, key)
        return model.with_model(LsdModel(model.model.phi.iterated(self.config.power_iterations))), metrics
