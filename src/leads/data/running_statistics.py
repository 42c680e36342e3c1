"""Running mean and variance."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

SMALLEST = 1e-3
"""Standard deviation below which an entry counts as constant and is not magnified."""


class RunningStatistics(eqx.Module):
    """Per entry, over real values only."""

    mean: Float[Array, " entry"]
    variance: Float[Array, " entry"]
    count: Float[Array, ""]

    @classmethod
    def around(cls, mean: Float[Array, " entry"]) -> "RunningStatistics":
        """Before any value."""
        return cls(jnp.asarray(mean), jnp.ones(jnp.shape(mean)), jnp.zeros(()))

    def updated(self, values: Float[Array, "*batch entry"], real: Bool[Array, "*batch"]) -> "RunningStatistics":
        """After the real ones of `values` (the parallel form of Welford's update)."""
        axes = tuple(range(values.ndim - 1))
        real = real[..., None]
        values = jnp.where(real, values, self.mean) - self.mean
        count = jnp.sum(real).astype(jnp.float32)
        shift = jnp.sum(values, axes) / count
        variance = jnp.sum(jnp.where(real, values - shift, 0.0) ** 2, axes) / count
        share = count / (self.count + count)
        return RunningStatistics(
            mean=self.mean + share * shift,
            variance=(1 - share) * self.variance + share * variance + share * (1 - share) * shift**2,
            count=self.count + count,
        )

    def faded(self, share: float) -> "RunningStatistics":
        """With the weight of all earlier values multiplied by `share`."""
        return RunningStatistics(self.mean, self.variance, share * self.count)

    def standardised(self, values: Float[Array, "*batch entry"]) -> Float[Array, "*batch entry"]:
        """Values of mean 0 and standard deviation 1."""
        return (values - self.mean) / jnp.maximum(jnp.sqrt(self.variance), SMALLEST)

    def whitened(self, values: Float[Array, "*batch entry"], largest: float) -> Float[Array, "*batch entry"]:
        """Standardised values, clipped to +-`largest`."""
        return jnp.clip(self.standardised(values), -largest, largest)
