"""Learning under a constraint by dual descent: a map of states and the multiplier of what it must obey."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from leads.nn.networks import MLP


class Dual(eqx.Module):
    """phi maximises a gain within a constraint; the multiplier lambda prices the constraint."""

    phi: MLP
    log_multiplier: Float[Array, ""]

    @classmethod
    def of(cls, phi: MLP, multiplier: float) -> "Dual":
        """Before the first step."""
        return cls(phi, jnp.log(jnp.float32(multiplier)))

    def losses(self, gain: Float[Array, " batch"], room: Float[Array, " batch"]):
        """phi: -(gain + lambda room), room being positive where the constraint holds; lambda rises elsewhere."""
        phi = -jnp.mean(gain + jax.lax.stop_gradient(jnp.exp(self.log_multiplier)) * room)
        return phi, self.log_multiplier * jax.lax.stop_gradient(jnp.mean(room))
