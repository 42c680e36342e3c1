"""A fair division of states among skills by entropic optimal transport."""

import jax
from jaxtyping import Array, Float


def fair_division(
    claims: Float[Array, "skill state"], log_mass: Float[Array, " state"] | float = 0.0
) -> Float[Array, "skill state"]:
    """log of each skill's share of each state by entropic transport (Sinkhorn), `claims` being the logs of its kernel.

    Every state is given away whole, and every skill gets as much mass as any other.
    """

    def divide(plan: Float[Array, "skill state"], _):
        plan = plan - jax.nn.logsumexp(plan + log_mass, axis=1, keepdims=True)
        return plan - jax.nn.logsumexp(plan, axis=0, keepdims=True), None

    return jax.lax.scan(divide, claims, length=SINKHORN_ITERATIONS)[0]


SINKHORN_ITERATIONS = 100
