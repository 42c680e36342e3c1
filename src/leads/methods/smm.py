"""SMM: skills that visit states evenly and share them out (Lee et al. 2019, arXiv:1906.05274)."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from leads.config.fields import Layers, NonNegative, Positive
from leads.methods.diayn import log_posterior
from leads.methods.intrinsic import Batch, Intrinsic, IntrinsicConfig
from leads.nn.networks import MLP


@dataclass(frozen=True)
class SmmConfig(IntrinsicConfig):
    """The numbers of SMM."""

    density_hidden: Layers = (150, 150)
    """Hidden layers of the density's encoder and decoder (published: 150,150)."""
    density_code: Positive[int] = 128
    """Size of the density's code (published: 128)."""
    density_beta: NonNegative[float] = 0.05
    """Weight of the code's divergence from a Gaussian (published: .5, too much for features of about 1)."""
    density_weight: float = 1.0
    """Weight of -log rho(s|z) in the reward (derived: 1)."""
    posterior_weight: float = 1.0
    """Weight of log d(z|s) - log p(z) in the reward (derived: 1)."""


class Density(eqx.Module):
    """A variational autoencoder of [s, z], whose loss is high where little was visited."""

    encoder: MLP
    decoder: MLP

    def surprise(
        self, x: Float[Array, "batch feature"], z: Float[Array, "batch skill"], beta: float, key: PRNGKeyArray
    ):
        """-log rho(s, z) up to a constant: squared errors, summed over dimensions, plus beta times the divergence."""
        both = jnp.concatenate([x, z], axis=-1)
        mean, log_std = jnp.split(self.encoder(both), 2, axis=-1)
        code = mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
        divergence = 0.5 * jnp.sum(mean**2 + jnp.exp(2 * log_std) - 2 * log_std - 1, axis=-1)
        return jnp.sum((self.decoder(code) - both) ** 2, axis=-1) + beta * divergence


class SmmModel(eqx.Module):
    """The density rho(s|z) of what skills visit, and the discriminator d(z|s)."""

    density: Density
    discriminator: MLP


class Smm(Intrinsic):
    """The target distribution of states is uniform, so that only what was visited counts."""

    Config = SmmConfig
    title = "SMM"

    def init_model(self, key: PRNGKeyArray) -> SmmModel:
        c, keys = self.config, jax.random.split(key, 3)
        both = self.feature_size + c.n_skill
        return SmmModel(
            density=Density(
                encoder=MLP(keys[0], (both, *c.density_hidden, 2 * c.density_code)),
                decoder=MLP(keys[1], (c.density_code, *reversed(c.density_hidden), both)),
            ),
            discriminator=MLP(keys[2], (self.feature_size, *c.model_hidden, c.n_skill)),
        )

    def surprise(self, model: SmmModel, batch: Batch, key: PRNGKeyArray) -> Float[Array, " batch"]:
        return model.density.surprise(batch.next_x, batch.z, self.config.density_beta, key)

    def model_loss(self, model: SmmModel, batch: Batch, key: PRNGKeyArray):
        """The density's loss and the discriminator's cross-entropy."""
        density = jnp.mean(self.surprise(model, batch, key))
        discriminator = jnp.mean(optax.losses.softmax_cross_entropy(model.discriminator(batch.next_x), batch.z))
        return density + discriminator, {"density_loss": density, "discriminator_loss": discriminator}

    def reward(self, model: SmmModel, batch: Batch, key: PRNGKeyArray) -> Float[Array, " batch"]:
        """r = -log rho(s'|z) + log d(z|s') - log p(z), p uniform."""
        told_apart = log_posterior(model.discriminator, batch) + jnp.log(self.config.n_skill)
        new = self.surprise(model, batch, key)
        return self.config.density_weight * new + self.config.posterior_weight * told_apart
