"""TD-InfoNCE: InfoNCE from single transitions, on policy and off (Zheng et al. 2024, arXiv:2401.08750).

The next state is the future with probability 1 - gamma. Else it is a future of s', a' ~ pi: a draw of p(s), weighted by
what the target network makes of it.
"""

from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import logsumexp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from leads.measures.infonce import Embedded, InfoNCEConfig, InnerProduct, embeddings, row_loss
from leads.measures.measure import AfterEnd, Estimator, Followed, MeasureBatch, Tau, geometric_weights


@dataclass(frozen=True)
class TDInfoNCEConfig(InfoNCEConfig):
    """The numbers of TD-InfoNCE."""

    measure_unit_norm: bool = False
    """Whether phi and psi have length 1, with a temperature that is learnt (published: true, temperature 1)."""
    measure_tau: Tau = 0.005
    """Rate at which the target network follows (published: .005)."""
    td_weights: Literal["softmax", "exp"] = "softmax"
    """Weights of what follows s': exp f, or its softmax, bounded but too even in small batches (published: softmax)."""


class Cosine(Embedded):
    """f = <phi, psi> / (|phi| |psi| temperature)."""

    sharpness: Float[Array, ""]
    """1 / temperature."""

    def compare(self, phi, psi):
        return self.sharpness * jnp.vecdot(unit(phi), unit(psi))


class TDInfoNCE(Estimator):
    """The same loss on policy and off."""

    Config = TDInfoNCEConfig
    config: TDInfoNCEConfig

    def init(self, key: PRNGKeyArray) -> Followed:
        c, made = self.config, embeddings(key, self.sizes, self.config)
        online = Cosine(*made, jnp.sqrt(c.measure_embedding)) if c.measure_unit_norm else InnerProduct(*made)
        return Followed(online, online)

    def loss(self, measure: Followed, batch: MeasureBatch, on_policy: bool):
        c, anchors = self.config, (batch.s, batch.a, batch.z)
        following = measure.online.log_ratio(*anchors, batch.next)
        logits = measure.online.logits(*anchors, batch.marginal)
        later = jax.lax.stop_gradient(measure.target.logits(batch.next_s, batch.next_a, batch.z, batch.marginal))
        weights = jax.nn.softmax(later, axis=1) if c.td_weights == "softmax" else jnp.exp(later)
        loss = temporal_difference_loss(
            following, logits, weights, batch.terminal, c.measure_discount, c.after_end, c.logsumexp_penalty
        )
        return loss, {"measure_loss": loss}

    def after_step(self, measure: Followed, batch: MeasureBatch) -> Followed:
        return measure.follow(self.config.measure_tau)

    def future_weights(self, horizon: int) -> Float[np.ndarray, " time"]:
        """Geometric, whatever the futures of the episodes are."""
        return geometric_weights(self.config.measure_discount, horizon)


def temporal_difference_loss(
    following: Float[Array, " batch"],
    logits: Float[Array, "batch answers"],
    weights: Float[Array, "batch answers"],
    terminal: Bool[Array, " batch"],
    discount: float,
    after_end: AfterEnd,
    penalty: float,
) -> Float[Array, ""]:
    """(1 - gamma) of the loss with f(s, a, s', z) as the positive, gamma of that with `weights` as the answer."""
    if after_end == "vanish":  # the last answer: nothing
        weights = jnp.where(terminal[:, None], jnp.zeros_like(weights).at[:, -1].set(1.0), weights)
    ahead = jnp.where(terminal & (after_end == "absorb"), 0.0, discount)
    share = following - jnp.log(len(logits))
    first = logsumexp(logits.at[:, 0].set(share), axis=1)
    later = jnp.sum(weights, axis=1) * logsumexp(logits, axis=1)
    score = (1 - ahead) * share + ahead * jnp.sum(weights * logits, axis=1)
    return row_loss((1 - ahead) * first + ahead * later, score, logits, penalty)


def unit(x: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
    """x with length 1."""
    return x * jax.lax.rsqrt(jnp.sum(x**2, axis=-1, keepdims=True) + SMALLEST_SQUARE)


SMALLEST_SQUARE = 1e-12
"""Keeps the length of 0 apart from 0."""
