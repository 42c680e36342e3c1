"""A bounded memory of states spread evenly over all that was ever visited, and of how much each skill visited them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray


class Archive(eqx.Module):
    states: Float[Array, "slot state"]
    visits: Float[Array, "slot skill"]
    """Discounted sum over past epochs k of m_k(s0, s, z)."""

    @classmethod
    def empty(cls, slots: int, start: Float[Array, " state"], n_skill: int) -> "Archive":
        """Full of copies of the start, which make room for the first states offered."""
        return cls(jnp.broadcast_to(start, (slots, len(start))), jnp.zeros((slots, n_skill)))

    def offer(self, new: Float[Array, "new state"], skill: Int[Array, " new"], features, admit: int) -> "Archive":
        """Takes in the `admit` new states farthest from all it has, and of all keeps those farthest from each other.

        A state taken in inherits the visits of its nearest neighbour and one visit by the skill that found it.
        """
        slots, n_skill = self.visits.shape
        distance, nearest = _nearest(features(new), features(self.states))
        found = farthest_points(features(new), distance, admit)
        visits = self.visits[nearest[found]] + jax.nn.one_hot(skill[found], n_skill)
        states, visits = jnp.concatenate([self.states, new[found]]), jnp.concatenate([self.visits, visits])
        keep = farthest_points(features(states), jnp.full(len(states), jnp.inf), slots)
        return Archive(states[keep], visits[keep])

    def nearest(self, s: Float[Array, "n state"], features) -> Int[Array, " n"]:
        """The slot whose state is nearest."""
        return _nearest(features(s), features(self.states))[1]

    def draw(self, count: int, key: PRNGKeyArray) -> Float[Array, "count state"]:
        return self.states[jax.random.randint(key, (count,), 0, len(self.states))]


def farthest_points(
    points: Float[Array, "n feature"], distance: Float[Array, " n"], count: int
) -> Int[Array, " count"]:
    """Farthest-point sampling: each next index is the point farthest from what was there and all chosen before it."""

    def choose(distance, _):
        pick = jnp.argmax(distance)
        return jnp.minimum(distance, jnp.sum((points - points[pick]) ** 2, axis=-1)), pick

    return jax.lax.scan(choose, distance, length=count)[1]


def _nearest(points: Float[Array, "n feature"], others: Float[Array, "m feature"]) -> tuple[Array, Array]:
    """Squared distance to, and index of, the nearest of `others`."""
    squared = jnp.sum(points**2, -1)[:, None] - 2 * points @ others.T + jnp.sum(others**2, -1)
    return jnp.maximum(jnp.min(squared, axis=1), 0.0), jnp.argmin(squared, axis=1)
