"""The archive: spread, bounded, and faithful about who visited what."""

import jax
import jax.numpy as jnp
import numpy as np

from leads.data.archive import Archive, farthest_points

SAME = lambda s: s
OFFER = jax.jit(
    lambda archive, new, admit: archive.offer(new, jnp.zeros(len(new), jnp.int32), SAME, admit), static_argnums=2
)


def test_farthest_points_agree_with_a_loop():
    points = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    chosen = [0]
    for _ in range(9):
        distance = ((points[:, None] - points[chosen]) ** 2).sum(-1).min(1)
        chosen.append(int(distance.argmax()))
    assert farthest_points(jnp.asarray(points), jnp.full(50, jnp.inf), 10).tolist() == chosen


def test_crowds_do_not_crowd_out_what_was_seen_once():
    crowd = np.random.default_rng(0).normal(0, 0.05, (400, 2))
    seen_once = np.asarray([[0.9, 0.9], [-0.8, 0.7]])
    states = jnp.asarray(np.concatenate([crowd, seen_once]), jnp.float32)
    archive = Archive.empty(30, jnp.zeros(2), 2)
    for _ in range(3):
        archive = OFFER(archive, states, 20)
    for _ in range(20):
        archive = OFFER(archive, states[:400], 20)
    gap = np.abs(np.asarray(archive.states)[:, None] - seen_once).max(-1).min(0)
    assert np.all(gap < 1e-6) and archive.states.shape == (30, 2)


def test_it_is_nearly_uniform_over_what_was_visited_though_visits_are_not():
    random = np.random.default_rng(0)
    archive = Archive.empty(200, jnp.zeros(1), 1)
    for _ in range(30):
        states = np.clip(random.normal(0, 0.35, (500, 1)), -1, 1).astype(np.float32)
        archive = OFFER(archive, jnp.asarray(states), 100)
    share, _ = np.histogram(np.asarray(archive.states), bins=4, range=(-1, 1))
    assert np.all(share > 35)  # 50 each if uniform; visits are 3, 47, 47, 3 percent


def test_a_new_state_inherits_from_its_neighbour_and_credits_its_finder():
    archive = Archive(jnp.asarray([[0.0], [1.0]]), jnp.asarray([[5.0, 0.0], [0.0, 7.0]]))
    grown = archive.offer(jnp.asarray([[3.0], [0.01]]), jnp.asarray([0, 1]), SAME, 1)
    slot = int(jnp.argmax(grown.states[:, 0]))
    assert grown.states[slot, 0] == 3.0 and grown.visits[slot].tolist() == [1.0, 7.0]
    assert int(grown.nearest(jnp.asarray([[2.6]]), SAME)[0]) == slot


def test_draws_are_uniform_over_the_slots():
    archive = Archive(jnp.arange(4.0)[:, None], jnp.zeros((4, 1)))
    drawn = np.asarray(archive.draw(4000, jax.random.key(0)))[:, 0]
    assert np.all(np.abs(np.bincount(drawn.astype(int)) - 1000) < 130)


def test_counts_are_of_real_visits_to_the_nearest_slot():
    """Skill 1 was near the last slot, and a step that did not happen is near the first; skill 2 was nowhere."""
    archive = Archive(jnp.asarray([[0.0], [1.0], [2.0]]), jnp.zeros((3, 3)))
    visited = jnp.asarray([[0.1], [0.9], [1.9], [2.4], [1.8], [0.1]])
    skill, real = jnp.asarray([0, 0, 1, 1, 1, 1]), jnp.asarray([True, True, True, True, True, False])
    counts = archive.counts(visited, skill, real, SAME)
    np.testing.assert_allclose(counts, [[1.5, 0, 0], [1.5, 0, 0], [0, 3, 0]])


def test_nearest_agrees_with_a_loop():
    slots, points = np.random.default_rng(1).normal(size=(2, 40, 3)).astype(np.float32)
    nearest = [int(((slots - point) ** 2).sum(-1).argmin()) for point in points]
    assert Archive(jnp.asarray(slots), jnp.zeros((40, 1))).nearest(jnp.asarray(points), SAME).tolist() == nearest
