"""What a successor state measure is: the log ratio f(s1, a, s2, z) = log p(s2 | s1, a, z) / p(s2)."""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import Array, Float


class Measure(eqx.Module):
    """A network that estimates f; m = exp(f) is never formed where a log will do.

    What it sees of s2 may be less than the state, such as the features that count.
    """

    @abstractmethod
    def log_ratio(
        self,
        s1: Float[Array, "*#batch state"],
        a: Float[Array, "*#batch action"],
        z: Float[Array, "*#batch skill"],
        s2: Float[Array, "*#batch seen"],
    ) -> Float[Array, "*batch"]:
        """f row by row; rows broadcast."""

    @abstractmethod
    def pairs(
        self,
        s1: Float[Array, "n state"],
        a: Float[Array, "n action"],
        z: Float[Array, "n skill"],
        s2: Float[Array, "m seen"],
    ) -> Float[Array, "n m"]:
        """f of every (s1, a, z) with every s2."""

    @abstractmethod
    def logits(
        self,
        s1: Float[Array, "batch state"],
        a: Float[Array, "batch action"],
        z: Float[Array, "batch skill"],
        positives: tuple[Float[Array, "batch seen"], ...],
        marginal: Float[Array, "batch seen"],
    ) -> tuple[tuple[Float[Array, " batch"], ...], Float[Array, "batch negatives"]]:
        """f row by row with each of `positives`, and with as many draws s2 ~ p(s) as are cheap for this form."""
