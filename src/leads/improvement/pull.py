"""Which way a skill is pulled: through a space phi in which a step of the world is at most 1 long, to its own share.

A distance in phi is a number of steps, so progress towards a place is a reward at every step, near or far.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from leads.methods.targets import fair_division
from leads.nn.dual import Dual
from leads.nn.networks import MLP

Aim = Literal["none", "middle", "beyond", "frontmost", "endless"]
"""What a skill is pulled to; see `OffPolicyConfig.pull`."""


class Division(eqx.Module):
    """The fair division of all that was visited, as it stands for an epoch."""

    share: Float[Array, "skill slot"]
    """Of each archived state, whose it is; sums to 1 over the skills."""
    novelty: Float[Array, " slot"]
    """1 / the density of visits, all skills together: about 1 on average, at most 1 / SMALLEST_DENSITY."""
    phi: MLP
    aims: Float[Array, "skill latent"]
    """Where in phi each skill is pulled to."""

    def progress(
        self, x: Float[Array, "batch feature"], next_x: Float[Array, "batch feature"], skill: Int[Array, " batch"]
    ) -> Float[Array, " batch"]:
        """By how many steps a transition brings a skill nearer to its aim."""
        aim = self.aims[skill]
        return _length(self.phi(x) - aim) - _length(self.phi(next_x) - aim)


def divide(
    density: Float[Array, "skill slot"],
    width: float,
    aim: Aim,
    further: float,
    phi: MLP,
    places: Float[Array, "slot feature"],
    start: Float[Array, " feature"],
) -> Division:
    """Divides archived states among the skills by who visits what is near, and aims every skill at its share.

    A claim falls with the squared distance in phi, so shares are regions, of one size each by the fair division, with
    borders that are `width` wide, relative to the farthest place. `density` is 1 on average over the slots for a skill
    that goes everywhere alike. To aim "beyond", places that nobody has visited take part: every archived one moved
    `further` times as far away from the start, unless that is visited.
    """
    novelty = 1 / (jnp.mean(density, axis=0) + SMALLEST_DENSITY)
    at, origin = phi(places), phi(start)
    reach = jnp.max(_length(at - origin))
    everywhere, log_mass, log_novelty = at, jnp.zeros(len(at)), jnp.log(novelty)
    if aim == "beyond":
        away = origin + further * (at - origin)
        gap = jnp.sqrt(jnp.min(_squared_distances(away, at), axis=1))
        new = 2 * jnp.log(jnp.minimum(gap / (NEW * reach), 1.0) + 1e-6)
        everywhere = jnp.concatenate([at, away])
        log_mass = jnp.concatenate([log_mass, new])
        log_novelty = jnp.concatenate([log_novelty, jnp.full(len(at), -jnp.log(SMALLEST_DENSITY))])
    closeness = -_squared_distances(everywhere, at) / (2 * (width * reach) ** 2)
    claim = lambda density: jax.nn.logsumexp(jnp.log(density + 1e-9) + closeness, axis=1)
    log_share = fair_division(jax.lax.map(claim, jnp.maximum(density - SMALLEST_DENSITY, 0.0)), log_mass)
    middle = jax.nn.softmax(log_share + log_mass + AIM_AT_NEW * log_novelty, axis=1) @ everywhere
    return Division(jnp.exp(log_share[:, : len(at)]), novelty, phi, _extended(middle, origin, aim))


def _extended(
    middle: Float[Array, "skill latent"], origin: Float[Array, " latent"], aim: Aim
) -> Float[Array, "skill latent"]:
    """The aims: the middle of a share, or far beyond it for all or for those whom no other skill is ahead of."""
    way = middle - origin
    length = _length(way)
    if aim == "endless":
        endless = jnp.ones(len(way), bool)
    elif aim == "frontmost":
        along = way @ (way / length[:, None]).T  # [other, mine]: how far others are along my way
        endless = jnp.max(jnp.where(jnp.eye(len(way), dtype=bool), -jnp.inf, along), axis=0) <= length
    else:
        endless = jnp.zeros(len(way), bool)
    return origin + jnp.where(endless, ENDLESS, 1.0)[:, None] * way


def metric_loss(
    dual: Dual,
    x: Float[Array, "batch feature"],
    next_x: Float[Array, "batch feature"],
    elsewhere: Float[Array, "batch feature"],
):
    """phi holds places far apart while no step of the world is longer than 1: then distances are numbers of steps."""
    here = dual.phi(x)
    step = jnp.sum((dual.phi(next_x) - here) ** 2, axis=-1)
    far = _length(here - dual.phi(elsewhere))
    phi, multiplier = dual.losses(far / SPREAD, jnp.minimum(SLACK, 1 - step))
    return phi + multiplier, {"metric_step": jnp.mean(jnp.sqrt(step + 1e-12)), "metric_spread": jnp.mean(far)}


def _squared_distances(x: Float[Array, "n latent"], y: Float[Array, "m latent"]) -> Float[Array, "n m"]:
    return jnp.maximum(jnp.sum(x**2, -1)[:, None] - 2 * x @ y.T + jnp.sum(y**2, -1), 1e-6)


def _length(x: Float[Array, "*batch latent"]) -> Float[Array, "*batch"]:
    return jnp.sqrt(jnp.sum(x**2, axis=-1) + 1e-6)


SMALLEST_DENSITY = 0.01
"""Of visits, relative to going everywhere alike: below it all places are equally new and equally nobody's."""
NEW = 0.1
"""Distance from all that was visited, relative to the farthest visited place, from which a place is wholly new."""
AIM_AT_NEW = 0.5
"""Exponent of novelty in the weight that a place has in the middle of a share."""
ENDLESS = 50.0
"""How many times as far as the middle of its share an aim without end is: in effect a direction."""
SPREAD, SLACK = 10.0, 1e-3
"""Steps apart that are worth as much as the constraint's multiplier, and how far inside it phi is pushed no further."""
