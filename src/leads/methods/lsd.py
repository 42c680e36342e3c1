"""LSD: skills as directions in a space that stretches no distance (Park et al. 2022, arXiv:2202.00914)."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from leads.config import limits
from leads.methods.displacement import Displacement, DisplacementConfig
from leads.methods.intrinsic import Batch, IntrinsicState
from leads.nn.lipschitz import LipschitzMLP

FIRST_ITERATIONS = 100
"""Power iterations before the first step, so that the norms are right from the beginning."""


@dataclass(frozen=True)
class LsdConfig(DisplacementConfig):
    """The numbers of LSD."""

    model_learning_rate: float = 1e-4
    """Adam's rate for phi (published: 3e-5 to 1e-4)."""
    reward_scale: float = 20.0
    """By what rewards are multiplied (published: 1); before, one is at most 1.1 steps long, .08 in the mazes."""
    power_iterations: int = 1
    """Power iterations after each gradient step, by which the layers' norms are known (published: 1)."""

    def __post_init__(self):
        super().__post_init__()
        limits.above_zero(self, "power_iterations")


class LsdModel(eqx.Module):
    """phi, with |phi(s') - phi(s)| <= |s' - s| by spectral normalisation of every layer."""

    phi: LipschitzMLP


class Lsd(Displacement):
    """The model is phi alone: it has no multiplier to learn, for its form obeys the constraint."""

    def init_model(self, key: PRNGKeyArray) -> LsdModel:
        phi = LipschitzMLP(key, (self.seen_size, *self.config.model_hidden, self.skill_size))
        return LsdModel(phi.iterated(FIRST_ITERATIONS))

    def model_loss(self, model: LsdModel, batch: Batch, key: PRNGKeyArray):
        """max E[r]."""
        moved = self.displacement(model, batch)
        gain = jnp.mean(jnp.sum(moved * self.direction(batch.z), axis=-1))
        return -gain, {"step_length": jnp.mean(jnp.linalg.norm(moved, axis=-1))}

    def teach(self, state: IntrinsicState, batch: Batch, key: PRNGKeyArray):
        state, metrics = super().teach(state, batch, key)
        phi = state.model.phi.iterated(self.config.power_iterations)
        return eqx.tree_at(lambda s: s.model.phi, state, phi), metrics
