"""DIAYN: skills that can be told from the states they visit (Eysenbach et al. 2019, arXiv:1802.06070)."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from leads.config.fields import Positive
from leads.methods.intrinsic import Batch, Intrinsic, IntrinsicConfig
from leads.nn.networks import MLP


@dataclass(frozen=True)
class DiaynConfig(IntrinsicConfig):
    """The numbers of DIAYN."""

    temperature: Positive[float] | None = 0.1
    """Weight of the policy's entropy; none: learnt (published: .1, fixed)."""


class Diayn(Intrinsic):
    """The model is the discriminator q(z|s), logits of which skill visits a state."""

    Config = DiaynConfig
    title = "DIAYN"

    def init_model(self, key: PRNGKeyArray) -> MLP:
        return MLP(key, (self.feature_size, *self.config.model_hidden, self.config.n_skill))

    def model_loss(self, model: MLP, batch: Batch, key: PRNGKeyArray):
        """Cross-entropy of the skill, given the state that a step ends in."""
        logits = model(batch.next_x)
        loss = jnp.mean(optax.losses.softmax_cross_entropy(logits, batch.z))
        right = jnp.mean(jnp.argmax(logits, axis=-1) == jnp.argmax(batch.z, axis=-1))
        return loss, {"discriminator_loss": loss, "discriminator_accuracy": right}

    def reward(self, model: MLP, batch: Batch, key: PRNGKeyArray) -> Float[Array, " batch"]:
        """r = log q(z|s') - log p(z), p uniform."""
        return log_posterior(model, batch) + jnp.log(self.config.n_skill)


def log_posterior(discriminator: MLP, batch: Batch) -> Float[Array, " batch"]:
    """log q(z|s')."""
    return jnp.sum(batch.z * jax.nn.log_softmax(discriminator(batch.next_x)), axis=-1)
