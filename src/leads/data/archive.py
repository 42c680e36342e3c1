"""A bounded memory of states spread evenly over all that was ever visited, and of how much each skill visited them."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


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
        distance = jnp.min(_squared_distances(features(new), features(self.states)), axis=1)
        found = farthest_points(features(new), distance, admit)
        visits = self.visits[self.nearest(new[found], features)] + jax.nn.one_hot(skill[found], n_skill)
        states, visits = jnp.concatenate([self.states, new[found]]), jnp.concatenate([self.visits, visits])
        keep = farthest_points(features(states), jnp.full(len(states), jnp.inf), slots)
        return Archive(states[keep], visits[keep])

    def counts(
        self, visited: Float[Array, "n state"], skill: Int[Array, " n"], real: Bool[Array, " n"], features
    ) -> Float[Array, "slot skill"]:
        """How often each skill was nearest to each slot, only real visits counted, 1 on average over the slots."""
        slot = self.nearest(visited, features)
        counts = jnp.zeros_like(self.visits).at[slot, skill].add(real.astype(jnp.float32))
        return counts / jnp.maximum(jnp.mean(counts, axis=0), 1e-9)

    def nearest(self, s: Float[Array, "n state"], features) -> Int[Array, " n"]:
        """The slot whose state is nearest."""
        distance = _squared_distances(features(self.states), features(s))
        index = jnp.arange(len(distance), dtype=jnp.float32)[:, None]  # two plain reductions are faster than an argmin
        return jnp.max(jnp.where(distance <= jnp.min(distance, axis=0), index, 0.0), axis=0).astype(jnp.int32)

    def draw(self, count: int, key: PRNGKeyArray) -> Float[Array, "count state"]:
        return self.states[jax.random.randint(key, (count,), 0, len(self.states))]


def farthest_points(
    points: Float[Array, "n feature"], distance: Float[Array, " n"], count: int
) -> Int[Array, " count"]:
    """Farthest-point sampling: each next index is the point farthest from what was there and all chosen before it."""
    # in rows, of whose columns all but one are only asked for their largest distance: an argmax over all is slow
    padding = -len(points) % ROW
    rows = [jnp.pad(feature, (0, padding)).reshape(-1, ROW) for feature in points.T]
    distance = jnp.pad(distance, (0, padding), constant_values=-jnp.inf).reshape(-1, ROW)

    def choose(distance, _):
        column = jnp.argmax(jnp.max(distance, axis=0))
        row = jnp.argmax(distance[:, column])
        away = sum((feature - feature[row, column]) ** 2 for feature in rows)
        return jnp.minimum(distance, away), row * ROW + column

    return jax.lax.scan(choose, distance, length=count)[1]


ROW = 128


def _squared_distances(points: Float[Array, "n feature"], others: Float[Array, "m feature"]) -> Float[Array, "n m"]:
    return jnp.sum(points**2, -1)[:, None] - 2 * points @ others.T + jnp.sum(others**2, -1)
