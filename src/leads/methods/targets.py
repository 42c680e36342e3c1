"""Where skills should go next: uncertainty measures u_t(s, z) of candidate states, and delta(s|z) made from them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from leads.improvement.fair_division import fair_division


def literal(
    from_start: Float[Array, "skill state"],
    from_target: Float[Array, "skill state"],
    history: Float[Array, " state"],
) -> Float[Array, "skill state"]:
    """eq:measure as printed. All are logs: f_t(s0, s, z), f_t(s_{t-1}^z, s, z), sum_k sum_z' m_k(s0, s, z')."""
    novelty = from_start - history
    return novelty + _sum_over_others(from_target, jnp.subtract) + _sum_over_others(from_start, jnp.subtract)


def bounded(
    from_start: Float[Array, "skill state"],
    from_target: Float[Array, "skill state"],
    history: Float[Array, " state"],
    separation_weight: float,
    repulsion_weight: float,
    novelty_weight: float,
    floor: float,
    sharpness: float,
) -> Float[Array, "skill state"]:
    """eq:measure with every measure scaled to [0, 1] over the candidates and every log ratio bounded.

    A classifier's logits run far below zero where it has no data, so ten literal log ratios drown the one
    of novelty; here separation (from s0), repulsion (from the last targets) and novelty weigh what they are told.
    """
    ratio = lambda p, q: jnp.log((p + floor) / (sharpness * q + floor))
    start, target, past = (
        _unit(jnp.exp(f - jnp.max(f, -1, keepdims=True))) for f in (from_start, from_target, history)
    )
    return (
        separation_weight * _unit(_sum_over_others(start, ratio))
        + repulsion_weight * _unit(_sum_over_others(target, ratio))
        + novelty_weight * _unit(ratio(start, past))
    )


def balanced(
    visits: Float[Array, "skill state"], from_start: Float[Array, "skill state"], contrast: float, reachable: float
) -> Float[Array, "skill state"]:
    """The log of a fair division of the candidates among the skills, where a skill can get to.

    `visits`, log sum_{k<=t} m_k(s0, s, z), says whose a state is. Candidates that are spread evenly over all that was
    ever visited are divided into regions of one size, so a room that one skill has found makes others move up.
    Of its region, a skill is sent where m_t(s0, s, z) is not far below `reachable`: elsewhere f has nothing to say.
    """
    return fair_division(contrast * visits) - jax.nn.softplus(jnp.log(reachable) - from_start)


def _sum_over_others(f: Float[Array, "skill state"], compare) -> Float[Array, "skill state"]:
    """sum over z' != z of compare(f_z, f_z')."""
    every = compare(f[:, None], f[None])
    return jnp.sum(jnp.where(jnp.eye(len(f), dtype=bool)[..., None], 0.0, every), axis=1)


def _unit(x: Float[Array, "*batch state"]) -> Float[Array, "*batch state"]:
    low, high = jnp.min(x, -1, keepdims=True), jnp.max(x, -1, keepdims=True)
    return (x - low) / jnp.maximum(high - low, 1e-8)
