"""A distance to s2: f = c(s2) - d(phi(s1, a, z), psi(s2)), whose d obeys the triangle inequality whatever is learnt.

Successor distances, Myers et al. 2024, arXiv:2406.17098; the quasimetric is made as in Liu et al. 2023,
arXiv:2208.08133.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from leads.measures.infonce import Embedded, InfoNCE, embeddings


class Distance(Embedded):
    """f = c - d(phi, psi); c is the last number of psi."""

    def compare(self, phi, psi):
        return psi[..., -1] - quasimetric(phi, psi[..., :-1])


class Metric(InfoNCE):
    """InfoNCE of a distance."""

    def init(self, key: PRNGKeyArray) -> Distance:
        return Distance(*embeddings(key, self.sizes, self.config, more=1))


def quasimetric(x: Float[Array, "*#batch size"], y: Float[Array, "*#batch size"]) -> Float[Array, "*batch"]:
    """|x - y| on one half of the numbers, which is the same both ways, and max(x - y, 0) on the other, which is not."""
    both_ways, one_way = jnp.split(x - y, [x.shape[-1] // 2], axis=-1)
    square = jnp.sum(both_ways**2, axis=-1)
    length = jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)  # a gradient of 0 at 0, not NaN
    return length + jnp.maximum(jnp.max(one_way, axis=-1), 0.0)
