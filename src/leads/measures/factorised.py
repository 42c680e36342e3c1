"""The factorised measure f = <phi(s1, a, z), psi(s2)>: all pairs of a batch for the price of its rows."""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from leads.measures.measure import Measure
from leads.nn.networks import MLP


class Factorised(Measure):
    """Two networks that meet in an inner product."""

    phi: MLP
    psi: MLP

    def __init__(
        self,
        key: PRNGKeyArray,
        state_size: int,
        action_size: int,
        skill_size: int,
        seen_size: int,
        hidden: tuple[int, ...] = (256, 128),
        embedding: int = 64,
    ):
        phi_key, psi_key = jax.random.split(key)
        self.phi = MLP(phi_key, (state_size + action_size + skill_size, *hidden, embedding))
        self.psi = MLP(psi_key, (seen_size, *hidden, embedding))

    def log_ratio(self, s1, a, z, s2):
        return jnp.sum(self.phi(jnp.concatenate([s1, a, z], -1)) * self.psi(s2), axis=-1)

    def pairs(self, s1, a, z, s2):
        return self.phi(jnp.concatenate([s1, a, z], -1)) @ self.psi(s2).T

    def logits(self, s1, a, z, positives, marginal):
        anchor = self.phi(jnp.concatenate([s1, a, z], -1))
        *positive, marginal = jnp.split(self.psi(jnp.concatenate([*positives, marginal])), len(positives) + 1)
        return tuple(jnp.sum(anchor * psi, axis=-1) for psi in positive), anchor @ marginal.T
