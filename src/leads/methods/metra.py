"""METRA: skills as directions in a space where a step in time has length 1 (Park et al. 2024, arXiv:2310.08887)."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from leads.config.fields import NonNegative, Positive
from leads.methods.displacement import Displacement, DisplacementConfig
from leads.methods.intrinsic import Batch
from leads.nn.dual import Dual
from leads.nn.networks import MLP


@dataclass(frozen=True)
class MetraConfig(DisplacementConfig):
    """The numbers of METRA."""

    model_learning_rate: Positive[float] = 1e-4
    """Learning rate of phi and the multiplier (published: 1e-4)."""
    multiplier: Positive[float] = 30.0
    """Initial lambda of the constraint |phi(s') - phi(s)| <= 1 (published: 30)."""
    slack: NonNegative[float] = 1e-3
    """Epsilon: how far inside the constraint phi is not pushed any further (published: 1e-3)."""


class Metra(Displacement):
    """The model is phi, whose steps |phi(s') - phi(s)|, the root of a sum over dimensions, are at most 1."""

    Config = MetraConfig
    title = "METRA"

    def init_model(self, key: PRNGKeyArray) -> Dual:
        phi = MLP(key, (self.feature_size, *self.config.model_hidden, self.skill_size))
        return Dual.of(phi, self.config.multiplier)

    def model_loss(self, model: Dual, batch: Batch, key: PRNGKeyArray):
        """max E[r + lambda min(epsilon, 1 - |phi(s') - phi(s)|^2)]."""
        moved = self.displacement(model, batch)
        length = jnp.sum(moved**2, axis=-1)
        room = jnp.minimum(self.config.slack, 1 - length)
        phi, multiplier = model.losses(jnp.sum(moved * self.direction(batch.z), axis=-1), room)
        metrics = {"step_length": jnp.mean(jnp.sqrt(length + 1e-12)), "multiplier": jnp.exp(model.log_multiplier)}
        return phi + multiplier, metrics
