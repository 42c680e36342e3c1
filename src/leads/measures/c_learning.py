"""C-Learning: the measure as the logit of a classifier between future states and states of the marginal p(s).

The losses are functions of logits f; `batch` rows of positives stand against `batch x negatives` of the marginal.
"""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

softplus = jax.nn.softplus

AfterEnd = Literal["absorb", "vanish"]
"""What follows a terminal state: it repeats for ever (the paper), or nothing, so that a shorter life counts less."""


def monte_carlo_loss(
    future: Float[Array, " batch"],
    marginal: Float[Array, "batch negatives"],
    future_is_real: Bool[Array, " batch"],
    after_end: AfterEnd,
) -> Float[Array, ""]:
    """On-policy: positives are later states s+ of the same episode, f(s, a, s+, z)."""
    weight = jnp.where(future_is_real, 1.0, 1.0 if after_end == "absorb" else 0.0)
    return jnp.mean(weight * softplus(-future)) + jnp.mean(softplus(marginal))


def temporal_difference_loss(
    following: Float[Array, " batch"],
    marginal: Float[Array, "batch negatives"],
    later: Float[Array, "batch negatives"],
    terminal: Bool[Array, " batch"],
    discount: float,
    after_end: AfterEnd,
    cap: float,
) -> Float[Array, ""]:
    """Off-policy: the next state, f(s, a, s', z), and through w = exp f(s', a', s-, z) all that follows it."""
    weight = jnp.where(terminal & (after_end == "absorb"), 1.0, 1.0 - discount)
    w = jnp.where(terminal[:, None], 0.0, jnp.minimum(jnp.exp(jax.lax.stop_gradient(later)), cap))
    negative = softplus(marginal) + discount * w * softplus(-marginal)
    return jnp.mean(weight * softplus(-following)) + jnp.mean(negative)
