"""What a successor state measure is, f(s1, a, s2, z) = log p(s2 | s1, a, z) / p(s2), and what estimates one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from leads.config.fields import Config, Fraction, Positive, at_most
from leads.nn.learner import follow

AfterEnd = Literal["absorb", "vanish"]
"""What follows a terminal state: it repeats for ever (the paper), or nothing, so that a shorter life counts less."""
Tau = Annotated[Positive[float], at_most(1)]
"""Rate at which a target network follows; 1: it is the network itself."""


class Measure(eqx.Module):
    """The networks of an estimator. m = exp(f) is never formed where a log will do.

    f is calibrated: relative to p(s), whatever the loss leaves open (a constant, a normaliser, the unit of a distance).
    """

    @abstractmethod
    def log_ratio(
        self,
        s1: Float[Array, "*#batch state"],
        a: Float[Array, "*#batch action"],
        z: Float[Array, "*#batch skill"],
        s2: Float[Array, "*#batch feature"],
    ) -> Float[Array, "*batch"]:
        """f row by row; rows broadcast."""

    @abstractmethod
    def pairs(
        self,
        s1: Float[Array, "n state"],
        a: Float[Array, "n action"],
        z: Float[Array, "n skill"],
        s2: Float[Array, "m feature"],
    ) -> Float[Array, "n m"]:
        """f of every (s1, a, z) with every s2."""


class Followed(Measure):
    """A measure and its target network, which follows it slowly."""

    online: Any
    target: Any

    def log_ratio(self, s1, a, z, s2):
        return self.online.log_ratio(s1, a, z, s2)

    def pairs(self, s1, a, z, s2):
        return self.online.pairs(s1, a, z, s2)

    def follow(self, tau: float) -> "Followed":
        """With the target network nearer to the measure by the share `tau` of their difference."""
        return Followed(self.online, follow(self.target, self.online, tau))


@dataclass(frozen=True)
class Sizes:
    """Of what a measure is a function of."""

    state: int
    action: int
    skill: int
    feature: int
    """Of s2: the task's features or the whole state."""


class MeasureBatch(eqx.Module):
    """A batch that a measure learns from; states are scaled, and of s2 only the features are given."""

    s: Float[Array, "batch state"]
    a: Float[Array, "batch action"]
    z: Float[Array, "batch skill"]
    next_s: Float[Array, "batch state"]
    next_a: Float[Array, "batch action"]
    """The policy's action in s'."""
    next: Float[Array, "batch feature"]
    """s' as s2."""
    future: Float[Array, "batch feature"]
    """A later state of the same episode as s2."""
    marginal: Float[Array, "batch feature"]
    """Draws of p(s) as s2."""
    future_is_real: Bool[Array, " batch"]
    """False where the future lies behind the end of an episode that terminated."""
    terminal: Bool[Array, " batch"]
    """Whether s' is terminal."""


@dataclass(frozen=True)
class MeasureConfig(Config):
    """Which futures a measure is about: what all estimators share."""

    measure_discount: Fraction[float] = 0.95
    """Gamma (paper: .95)."""
    futures: Literal["uniform", "geometric"] = "uniform"
    """Monte Carlo positives: uniform over the rest of the horizon, or Geometric(1 - gamma) ahead (paper: geometric)."""
    after_end: AfterEnd = "vanish"
    """After a terminal state: it repeats for ever (absorb), or nothing follows, so that lives count (paper: absorb)."""


class Estimator(ABC):
    """Owns a measure's networks, losses and options; made from (config, sizes). Its functions are pure."""

    Config: type[MeasureConfig]

    def __init__(self, config: Any, sizes: Sizes):
        self.config, self.sizes = config, sizes

    @abstractmethod
    def init(self, key: PRNGKeyArray) -> Any:
        """A Measure before anything is learnt, with target networks or a normaliser if it needs them."""

    @abstractmethod
    def loss(self, measure: Any, batch: MeasureBatch, on_policy: bool) -> tuple[Float[Array, ""], dict[str, Array]]:
        """(loss, metrics). Futures are the policy's own only if `on_policy`."""

    def after_step(self, measure: Any, batch: MeasureBatch) -> Any:
        """The measure after a gradient step: target networks follow, a normaliser is renewed."""
        return measure

    def future_weights(self, horizon: int) -> Float[np.ndarray, " time"]:
        """What a visit 1, 2, ... steps ahead counts for in the measure."""
        c = self.config
        if c.futures == "uniform":
            return np.full(horizon, 1 / horizon)
        return geometric_weights(c.measure_discount, horizon)


def geometric_weights(discount: float, horizon: int) -> Float[np.ndarray, " time"]:
    """P(k = 1), P(k = 2), ... of k ~ Geometric(1 - discount)."""
    return (1 - discount) * discount ** np.arange(horizon)
