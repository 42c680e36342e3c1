"""InfoNCE: the measure as the logit that finds a state's true future among draws of the marginal p(s), and the reverse.

van den Oord et al. 2018, arXiv:1807.03748; symmetric and with a penalty as Eysenbach et al. 2022, arXiv:2206.07568, and
those after them use it. Where nothing follows a terminal state, "nothing" is one more answer beside the draws.
"""

from abc import abstractmethod
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax.nn import logsumexp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from leads.config.fields import Layers, NonNegative, Positive
from leads.measures.measure import Estimator, Measure, MeasureBatch, MeasureConfig, Sizes
from leads.nn.networks import MLP


@dataclass(frozen=True)
class InfoNCEConfig(MeasureConfig):
    """The numbers of InfoNCE."""

    measure_hidden: Layers = (128, 128)
    """Hidden layers of phi and psi."""
    measure_embedding: Positive[int] = 64
    """Size of phi and psi."""
    logsumexp_penalty: NonNegative[float] = 0.1
    """Weight of the penalty on the mass of exp f, which keeps f relative to p(s) (published: .01 to .1)."""


class Embedded(Measure):
    """f compares phi(s1, a, z) with psi(s2)."""

    phi: MLP
    psi: MLP
    nothing: Float[Array, " embedding"] | None
    """Psi of what follows an end, where that is nothing."""

    @abstractmethod
    def compare(
        self, phi: Float[Array, "*#batch embedding"], psi: Float[Array, "*#batch embedding"]
    ) -> Float[Array, "*batch"]:
        """f of embeddings; rows broadcast."""

    def log_ratio(self, s1, a, z, s2):
        return self.compare(self.phi(jnp.concatenate([s1, a, z], -1)), self.psi(s2))

    def pairs(self, s1, a, z, s2):
        return self.compare(self.phi(jnp.concatenate([s1, a, z], -1))[:, None], self.psi(s2)[None])

    def logits(self, s1, a, z, s2: Float[Array, "m feature"]) -> Float[Array, "n answers"]:
        """log of the share of every draw s2 ~ p(s) in the futures, and of nothing; the shares' sum is 1 on average."""
        shares = self.pairs(s1, a, z, s2) - jnp.log(len(s2))
        if self.nothing is None:
            return shares
        nothing = self.compare(self.phi(jnp.concatenate([s1, a, z], -1)), self.nothing)
        return jnp.concatenate([shares, nothing[:, None]], axis=1)


class InnerProduct(Embedded):
    """f = <phi, psi>."""

    def compare(self, phi, psi):
        return jnp.vecdot(phi, psi)


def embeddings(
    key: PRNGKeyArray, sizes: Sizes, config: InfoNCEConfig, more: int = 0
) -> tuple[MLP, MLP, Float[Array, " embedding"] | None]:
    """Phi, psi, with `more` numbers than phi, and nothing, before anything is learnt."""
    keys, (hidden, size) = jax.random.split(key, 3), (config.measure_hidden, config.measure_embedding)
    phi = MLP(keys[0], (sizes.state + sizes.action + sizes.skill, *hidden, size))
    psi = MLP(keys[1], (sizes.feature, *hidden, size + more))
    vanish = config.after_end == "vanish"
    return phi, psi, 0.1 * jax.random.normal(keys[2], (size + more,)) if vanish else None


class InfoNCE(Estimator):
    """Monte Carlo: the futures are those of the episodes, on policy or not."""

    Config = InfoNCEConfig
    config: InfoNCEConfig

    def init(self, key: PRNGKeyArray) -> Embedded:
        return InnerProduct(*embeddings(key, self.sizes, self.config))

    def loss(self, measure: Embedded, batch: MeasureBatch, on_policy: bool):
        c, anchors = self.config, (batch.s, batch.a, batch.z)
        futures, logits = measure.pairs(*anchors, batch.future), measure.logits(*anchors, batch.marginal)
        loss = symmetric_loss(futures, logits, batch.future_is_real | (c.after_end == "absorb"), c.logsumexp_penalty)
        return loss, {"measure_loss": loss}


def symmetric_loss(
    futures: Float[Array, "batch batch"],
    logits: Float[Array, "batch answers"],
    is_real: Bool[Array, " batch"],
    penalty: float,
) -> Float[Array, ""]:
    """Which answer is a row's future, and which row's a future is: from f(s_i, a_i, s+_j, z_i) and `Embedded.logits`.

    The first question leaves a constant open for every (s1, a, z), the second one for every s2, both a single one.
    """
    future = jnp.diag(futures)
    score = jnp.where(is_real, future - jnp.log(len(futures)), logits[:, -1])
    answers = logits.at[:, 0].set(jnp.where(is_real, score, logits[:, 0]))  # as many draws with the future as without
    columns = jnp.where(is_real, logsumexp(futures, axis=0) - future, 0.0)
    return jnp.mean(columns) + row_loss(logsumexp(answers, axis=1), score, logits, penalty)


def row_loss(
    log_partition: Float[Array, " batch"],
    score: Float[Array, " batch"],
    logits: Float[Array, "batch answers"],
    penalty: float,
) -> Float[Array, ""]:
    """Cross-entropy, with `score` the right answer's logit, and a penalty on the mass of exp f, both least at f.

    Mass - score is, to second order, the cross-entropy again with half the squared log of the mass. The published
    penalty, the square alone, is least at an f that is too flat: the mass of a batch varies less with it.
    """
    log_mass = logsumexp(logits, axis=1)
    bounded = jnp.minimum(log_mass, LARGEST_LOG_MASS)
    mass = jnp.exp(bounded) * (1 + log_mass - bounded)  # linear from there on, so that no step is infinite
    return jnp.mean(log_partition - score + penalty * (mass - score))


LARGEST_LOG_MASS = 5.0
"""Of exp f, which is 0 where f is exact: networks that know nothing yet can be far above it."""
