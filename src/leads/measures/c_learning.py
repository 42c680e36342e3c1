"""C-Learning: the measure as the logit of a classifier between future states and states of the marginal p(s).

Eysenbach et al. 2021, arXiv:2011.08909. The losses are functions of logits f; `batch` rows of positives stand against
`batch x negatives` of the marginal.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from leads.config.fields import Layers, Positive, Share
from leads.measures.measure import (
    AfterEnd,
    Estimator,
    Followed,
    Measure,
    MeasureBatch,
    MeasureConfig,
    Sizes,
    Tau,
    geometric_weights,
)
from leads.nn.networks import MLP

softplus = jax.nn.softplus


@dataclass(frozen=True)
class CLearningConfig(MeasureConfig):
    """The numbers of C-Learning."""

    measure_form: Literal["factorised", "classifier"] = "factorised"
    """Form of f: <phi(s1,a,z), psi(s2)>, or one network on all (paper: classifier)."""
    measure_hidden: Layers = (128, 128)
    """Hidden layers of the measure's networks (paper: 256,128)."""
    measure_embedding: Positive[int] = 64
    """Size of phi and psi in the factorised form."""
    mc_weight: Share[float] = 0.5
    """Lambda: weight of the Monte Carlo loss against the temporal difference loss (paper: .5)."""
    td_cap: Positive[float] = 100.0
    """Upper bound of the weight w in the temporal difference loss (paper: none)."""
    measure_twin: bool = False
    """Two networks: w is that of the smaller f, and f is the mean of both (C-Learning's authors: true)."""
    measure_tau: Tau = 1.0
    """Rate at which a target network for w follows; 1: there is none (C-Learning's authors: .005)."""


class Logits(Measure):
    """A classifier whose logit is f."""

    @abstractmethod
    def logits(
        self,
        s1: Float[Array, "batch state"],
        a: Float[Array, "batch action"],
        z: Float[Array, "batch skill"],
        positives: tuple[Float[Array, "batch feature"], ...],
        marginal: Float[Array, "batch feature"],
    ) -> tuple[tuple[Float[Array, " batch"], ...], Float[Array, "batch negatives"]]:
        """f row by row with each of `positives`, and with as many draws s2 ~ p(s) as are cheap for this form."""


class Factorised(Logits):
    """f = <phi(s1, a, z), psi(s2)>: all pairs of a batch for the price of its rows."""

    phi: MLP
    psi: MLP

    def __init__(self, key: PRNGKeyArray, sizes: Sizes, hidden: tuple[int, ...] = (256, 128), embedding: int = 64):
        phi_key, psi_key = jax.random.split(key)
        self.phi = MLP(phi_key, (sizes.state + sizes.action + sizes.skill, *hidden, embedding))
        self.psi = MLP(psi_key, (sizes.feature, *hidden, embedding))

    def log_ratio(self, s1, a, z, s2):
        return jnp.sum(self.phi(jnp.concatenate([s1, a, z], -1)) * self.psi(s2), axis=-1)

    def pairs(self, s1, a, z, s2):
        return self.phi(jnp.concatenate([s1, a, z], -1)) @ self.psi(s2).T

    def logits(self, s1, a, z, positives, marginal):
        anchor = self.phi(jnp.concatenate([s1, a, z], -1))
        positive = jnp.split(self.psi(jnp.concatenate(positives)), len(positives)) if positives else ()
        # alone, so that the compiler finds psi(s-) of the bootstrap to be the same and computes it once
        return tuple(jnp.sum(anchor * psi, axis=-1) for psi in positive), anchor @ self.psi(marginal).T


class Classifier(Logits):
    """f = network(s1, a, s2, z), the paper's form, with hidden layers 256-128 (appendix table)."""

    network: MLP

    def __init__(self, key: PRNGKeyArray, sizes: Sizes, hidden: tuple[int, ...] = (256, 128)):
        self.network = MLP(key, (sizes.state + sizes.action + sizes.feature + sizes.skill, *hidden, 1))

    def log_ratio(self, s1, a, z, s2):
        inputs = s1, a, s2, z
        rows = jnp.broadcast_shapes(*(x.shape[:-1] for x in inputs))
        return self.network(jnp.concatenate([jnp.broadcast_to(x, (*rows, x.shape[-1])) for x in inputs], -1))[..., 0]

    def pairs(self, s1, a, z, s2):
        return self.log_ratio(s1[:, None], a[:, None], z[:, None], s2[None])

    def logits(self, s1, a, z, positives, marginal):
        return tuple(self.log_ratio(s1, a, z, s2) for s2 in positives), self.log_ratio(s1, a, z, marginal)[:, None]


class Twins(Measure):
    """Two networks that learn alone; f is their mean, as the smaller one would be too small on average."""

    networks: tuple[Logits, Logits]

    def log_ratio(self, s1, a, z, s2):
        first, second = self.networks
        return (first.log_ratio(s1, a, z, s2) + second.log_ratio(s1, a, z, s2)) / 2

    def pairs(self, s1, a, z, s2):
        first, second = self.networks
        return (first.pairs(s1, a, z, s2) + second.pairs(s1, a, z, s2)) / 2


class CLearning(Estimator):
    """lambda MC + (1 - lambda) TD while the data are on-policy, TD alone when they no longer are."""

    Config = CLearningConfig
    config: CLearningConfig

    def init(self, key: PRNGKeyArray) -> Measure:
        c = self.config
        first, second = jax.random.split(key)
        measure = Twins((self._network(first), self._network(second))) if c.measure_twin else self._network(key)
        return measure if c.measure_tau == 1 else Followed(measure, measure)

    def _network(self, key: PRNGKeyArray) -> Logits:
        c = self.config
        if c.measure_form == "factorised":
            return Factorised(key, self.sizes, c.measure_hidden, c.measure_embedding)
        return Classifier(key, self.sizes, c.measure_hidden)

    def loss(self, measure: Measure, batch: MeasureBatch, on_policy: bool):
        online, target = (measure.online, measure.target) if isinstance(measure, Followed) else (measure, measure)
        after = batch.next_s, batch.next_a, batch.z
        now = networks(jax.lax.stop_gradient(target))
        later = reduce(jnp.minimum, [network.logits(*after, (), batch.marginal)[1] for network in now])
        losses = [self._loss(network, later, batch, on_policy) for network in networks(online)]
        loss = sum(losses[1:], losses[0])
        return loss, {"measure_loss": loss}

    def _loss(self, network: Logits, later: Float[Array, "batch negatives"], batch: MeasureBatch, on_policy: bool):
        """Of one network, with f(s', a', s-, z) given."""
        c = self.config
        positives = (batch.next, batch.future) if on_policy else (batch.next,)
        (following, *future), negative = network.logits(batch.s, batch.a, batch.z, positives, batch.marginal)
        loss = temporal_difference_loss(
            following, negative, later, batch.terminal, c.measure_discount, c.after_end, c.td_cap
        )
        if on_policy:
            monte_carlo = monte_carlo_loss(future[0], negative, batch.future_is_real, c.after_end)
            loss = c.mc_weight * monte_carlo + (1 - c.mc_weight) * loss
        return loss

    def after_step(self, measure: Measure, batch: MeasureBatch) -> Measure:
        return measure.follow(self.config.measure_tau) if isinstance(measure, Followed) else measure

    def future_weights(self, horizon: int) -> Float[np.ndarray, " time"]:
        """The mixture of Monte Carlo and geometric futures.

        The losses' common fixed point leans more to the Monte Carlo futures, as temporal differences pass them on; the
        steps of temporal differences alone that end an epoch lean to the geometric ones. The mixture lies in between.
        """
        c = self.config
        geometric = geometric_weights(c.measure_discount, horizon)
        return c.mc_weight * super().future_weights(horizon) + (1 - c.mc_weight) * geometric


def networks(measure: Measure) -> tuple[Logits, ...]:
    """Those that learn: both twins, or the measure itself."""
    return measure.networks if isinstance(measure, Twins) else (measure,)  # type: ignore[return-value]


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
    negative = softplus(marginal) + discount * w * (softplus(marginal) - marginal)  # softplus(-f) = softplus(f) - f
    return jnp.mean(weight * softplus(-following)) + jnp.mean(negative)
