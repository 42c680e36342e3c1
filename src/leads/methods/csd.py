"""CSD: skills as directions in a space where rare transitions are long (Park et al. 2023, arXiv:2302.05103)."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from leads.config.fields import NonNegative, Positive
from leads.methods.displacement import Displacement, DisplacementConfig
from leads.methods.intrinsic import Batch
from leads.nn.dual import Dual
from leads.nn.networks import MLP


@dataclass(frozen=True)
class CsdConfig(DisplacementConfig):
    """The numbers of CSD."""

    model_learning_rate: Positive[float] = 1e-4
    """Learning rate of phi, the multiplier and the model of transitions (published: 1e-4)."""
    multiplier: Positive[float] = 3000.0
    """Initial lambda of the constraint (published: 3000)."""
    slack: NonNegative[float] = 1e-6
    """Epsilon: how far inside the constraint phi is not pushed any further (published: 1e-6)."""
    reward_scale: Positive[float] = 10.0
    """Scale of the rewards (published: 10 for locomotion)."""
    first_temperature: Positive[float] = 0.01
    """Initial value of the learnt temperature (authors' code: fixed, .03 to .3 by task)."""


class CsdModel(eqx.Module):
    """phi with its multiplier, and the Gaussian of s' - s, given s, in which a likely step is a short one."""

    dual: Dual
    transition: MLP

    @property
    def phi(self) -> MLP:
        return self.dual.phi

    def step(
        self, x: Float[Array, "batch feature"]
    ) -> tuple[Float[Array, "batch feature"], Float[Array, "batch feature"]]:
        """(mu, log sigma) of s' - s."""
        mean, log_std = jnp.split(self.transition(x), 2, axis=-1)
        return mean, jnp.clip(log_std, LOG_STD_MIN, LOG_STD_MAX)


LOG_STD_MIN, LOG_STD_MAX = -6.0, 2.0


class Csd(Displacement):
    """The model bounds the mean square of phi's step by d(s, s'), the controllability-aware length of the step."""

    Config = CsdConfig
    title = "CSD"

    def init_model(self, key: PRNGKeyArray) -> CsdModel:
        phi_key, transition_key = jax.random.split(key)
        phi = MLP(phi_key, (self.feature_size, *self.config.model_hidden, self.skill_size))
        transition = MLP(transition_key, (self.feature_size, *self.config.model_hidden, 2 * self.feature_size))
        return CsdModel(Dual.of(phi, self.config.multiplier), transition)

    def length(self, model: CsdModel, batch: Batch) -> Float[Array, " batch"]:
        """d = mean_i (ds - mu)_i^2 w_i^2, w = 1 / sigma divided by its geometric mean."""
        mean, log_std = model.step(batch.x)
        log_weight = -log_std + jnp.mean(log_std, axis=-1, keepdims=True)
        return jnp.mean((batch.next_x - batch.x - mean) ** 2 * jnp.exp(2 * log_weight), axis=-1)

    def model_loss(self, model: CsdModel, batch: Batch, key: PRNGKeyArray):
        """max E[r + lambda min(epsilon, d - mean_i (phi(s') - phi(s))_i^2)], and the likelihood of s' - s."""
        moved = self.displacement(model, batch)
        allowed = jax.lax.stop_gradient(self.length(model, batch))
        room = jnp.minimum(self.config.slack, allowed - jnp.mean(moved**2, axis=-1))
        phi, multiplier = model.dual.losses(jnp.sum(moved * self.direction(batch.z), axis=-1), room)
        mean, log_std = model.step(batch.x)
        surprise = 0.5 * ((batch.next_x - batch.x - mean) / jnp.exp(log_std)) ** 2 + log_std
        transition = jnp.mean(jnp.sum(surprise, axis=-1))
        metrics = {"step_allowed": jnp.mean(jnp.sqrt(allowed)), "transition_loss": transition}
        return phi + multiplier + transition, metrics | {"multiplier": jnp.exp(model.dual.log_multiplier)}
