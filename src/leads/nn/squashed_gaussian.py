"""The tanh-squashed Gaussian, a = tanh(mean + std * noise), in its numerically stable form."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def sample(
    mean: Float[Array, "*batch action"], log_std: Float[Array, "*batch action"], noise: Float[Array, "*batch action"]
) -> Float[Array, "*batch action"]:
    """The action that standard normal `noise` picks; coloured noise with unit variance works as well."""
    return jnp.tanh(mean + jnp.exp(log_std) * noise)


def log_prob(
    mean: Float[Array, "*batch action"], log_std: Float[Array, "*batch action"], noise: Float[Array, "*batch action"]
) -> Float[Array, "*batch"]:
    """log pi(a) of `sample(mean, log_std, noise)`; log(1 - tanh(x)^2) = 2 (log 2 - x - softplus(-2x))."""
    x = mean + jnp.exp(log_std) * noise
    gaussian = -0.5 * noise**2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
    return jnp.sum(gaussian - 2 * (jnp.log(2.0) - x - jax.nn.softplus(-2 * x)), axis=-1)
