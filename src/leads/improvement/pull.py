"""Which way a skill is pulled: through a space phi in which a step of the world is at most 1 long, to its own share.

A distance in phi is a number of steps, so progress towards a place is a reward at every step, near or far.
"""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from leads.data.archive import farthest_points
from leads.improvement.fair_division import fair_division
from leads.nn.dual import Dual
from leads.nn.networks import MLP

Aim = Literal["none", "middle", "beyond", "frontmost", "endless", "outward"]
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
    endless: Bool[Array, " skill"]
    """Whose aim is a direction without end."""

    def progress(
        self, x: Float[Array, "batch feature"], next_x: Float[Array, "batch feature"], skill: Int[Array, " batch"]
    ) -> Float[Array, " batch"]:
        """By how many steps a transition brings a skill nearer to its aim."""
        aim = self.aims[skill]
        return _length(self.phi(x) - aim) - _length(self.phi(next_x) - aim)

    def going_on(
        self,
        last_x: Float[Array, "batch feature"],
        x: Float[Array, "batch feature"],
        next_x: Float[Array, "batch feature"],
    ) -> Float[Array, " batch"]:
        """How far a transition goes on the way of the one before it: 1 for steps of length 1 straight on, -1 back."""
        last, at, following = map(self.phi, (last_x, x, next_x))
        return jnp.sum((at - last) * (following - at), axis=-1)


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
    that goes everywhere alike. To aim "beyond" or "outward", places that nobody has visited take part, see `_beyond`.
    To aim "frontmost", skills that go the same way keep their order.
    """
    novelty = 1 / (jnp.mean(density, axis=0) + SMALLEST_DENSITY)
    at, origin = phi(places), phi(start)
    visits = jnp.log(jnp.maximum(density - SMALLEST_DENSITY, 0.0) + 1e-9)
    away = _length(at - origin)
    reach = jnp.max(away)
    order = jnp.argsort(jnp.argsort(density @ away / jnp.sum(density, axis=1)))
    rank = 2 * order / max(len(density) - 1, 1) - 1 if aim == "frontmost" else jnp.zeros(len(density))

    def claims(where: Float[Array, "n latent"]) -> Float[Array, "skill n"]:
        closeness = -_squared_distances(where, at) / (2 * (width * reach) ** 2)
        claimed = jax.lax.map(lambda visits: jax.nn.logsumexp(visits + closeness, axis=1), visits)
        return claimed + KEEP_ORDER * rank[:, None] * _length(where - origin) / reach

    where, log_mass, log_novelty = at, jnp.zeros(len(at)), jnp.log(novelty)
    looks_beyond = aim in ("beyond", "outward")
    if looks_beyond:
        where, log_mass, log_novelty = _beyond(at, origin, log_novelty, further, reach)
    claimed = claims(where)
    log_share = fair_division(claimed, log_mass)
    middle = jax.nn.softmax(log_share + log_mass + AIM_AT_NEW * log_novelty, axis=1) @ where
    if looks_beyond:  # what the division asks of each skill holds for archived states as well
        handicap = jnp.mean(log_share - claimed - (log_share - claimed)[:1], axis=1, keepdims=True)
        log_share = jax.nn.log_softmax(claims(at) + handicap, axis=0)
    return Division(jnp.exp(log_share), novelty, phi, *_extended(middle, origin, aim))


def _beyond(
    at: Float[Array, "slot latent"],
    origin: Float[Array, " latent"],
    log_novelty: Float[Array, " slot"],
    further: float,
    reach: Float[Array, ""],
):
    """Places to divide, visited or not: (where in phi, log of how much each counts, log of how new it is).

    Those that nobody has visited are visited ones moved `further` away from the start, and as far to its other side:
    what was found on one side may be on the other. All together are spread evenly. One that nobody has visited counts
    less the more the visited place nearest to it was visited, as there may be no way on.
    """
    way = further * (at - origin)
    everywhere = jnp.concatenate([at, origin + way, origin - way])
    count = min(DIVIDED, len(everywhere))
    where = everywhere[farthest_points(everywhere, jnp.full(len(everywhere), jnp.inf), count)]
    distance = _squared_distances(where, at)
    near = jnp.argmin(distance, axis=1)
    new = jnp.minimum(jnp.sqrt(jnp.min(distance, axis=1)) / (NEW * reach), 1.0)
    log_mass = 0.5 * new * jnp.minimum(log_novelty[near], 0.0)
    return where, log_mass, (1 - new) * log_novelty[near] - new * jnp.log(SMALLEST_DENSITY)


def _extended(
    middle: Float[Array, "skill latent"], origin: Float[Array, " latent"], aim: Aim
) -> tuple[Float[Array, "skill latent"], Bool[Array, " skill"]]:
    """(aims, whose have no end): the middle of a share, or far beyond it for all or for whom no other is ahead of."""
    way = middle - origin
    length = _length(way)
    if aim in ("endless", "outward"):
        endless = jnp.ones(len(way), bool)
    elif aim == "frontmost":
        along = way @ (way / length[:, None]).T  # [other, mine]: how far others are along my way
        endless = jnp.max(jnp.where(jnp.eye(len(way), dtype=bool), -jnp.inf, along), axis=0) <= length
    else:
        endless = jnp.zeros(len(way), bool)
    return origin + jnp.where(endless, ENDLESS, 1.0)[:, None] * way, endless


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
DIVIDED = 256
"""Places that are divided among the skills when those take part that nobody has visited."""
NEW = 0.1
"""Distance from all that was visited, relative to the farthest visited place, from which a place is wholly new."""
AIM_AT_NEW = 0.5
"""Exponent of novelty in the weight that a place has in the middle of a share."""
ENDLESS = 50.0
"""How many times as far as the middle of its share an aim without end is: in effect a direction."""
KEEP_ORDER = 5.0
"""By how much the claim on the farthest place is raised for the skill that goes farthest, and lowered for that which
stays nearest, in logs: skills that go the same way have nearly equal claims, and are spaced one behind the other."""
SPREAD, SLACK = 10.0, 1e-3
"""Steps apart that are worth as much as the constraint's multiplier, and how far inside it phi is pushed no further."""
