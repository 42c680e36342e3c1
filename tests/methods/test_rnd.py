"""RND: what it has seen is no news any more, its unit of reward in NumPy, and life after the end of an episode."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.data.episodes import Episodes
from leads.data.replay import Transitions

KEY = jax.random.key(0)
HORIZON = 6


@pytest.fixture(scope="module")
def rnd(small):
    fields = {"model_hidden": (32,), "n_feature": 16, "model_learning_rate": 2e-3, "batch_size": 64}
    return small("rnd", discount=0.8, fade=0.5, clip=2.0, **fields)


@pytest.fixture(scope="module")
def model(rnd):
    return jax.jit(rnd.init_model)(KEY)


@pytest.fixture(scope="module")
def after(rnd, model, model_batch, taught):
    """(model, metrics) after learning in one corner."""
    corner = np.random.default_rng(0).normal(size=(512, 2)) * 0.1 + 1
    return taught(rnd, model, model_batch(corner), 500)


def test_the_error_falls_where_it_was_and_stays_elsewhere(rnd, model, after):
    learnt, metrics = after
    places = jnp.asarray([[1.0, 1.0], [-1.0, -1.0], [-1.5, 1.0]])
    before, now = (np.asarray(m.novelty.error(places, 2.0)) for m in (model, learnt))
    assert now[0] < 0.02 * before[0]
    assert np.all(now[1:] > [0.9 * before[1], 0.4 * before[2]]), "the third place shares a coordinate with the corner"
    assert metrics["prediction_error"][-1] < 0.05 * metrics["prediction_error"][0]


def test_only_the_predictor_learns(model, after):
    learnt, _ = after
    for part in (lambda m: m.novelty.random, lambda m: m.novelty.statistics, lambda m: m.returns):
        jax.tree.map(np.testing.assert_array_equal, part(learnt), part(model))
    changed = jax.tree.map(lambda a, b: not np.array_equal(a, b), learnt.novelty.predictor, model.novelty.predictor)
    assert all(jax.tree.leaves(changed))


def error(model, x, mean, std) -> np.ndarray:
    """Mean squared error of the prediction from whitened, clipped x."""
    x = jnp.asarray(np.clip((x - mean) / std, -2, 2), jnp.float32)
    predicted, true = (
        np.asarray(network(x), np.float64) for network in (model.novelty.predictor, model.novelty.random)
    )
    return ((predicted - true) ** 2).mean(-1)


def epoch(seed: int) -> Episodes:
    """Episodes of different lengths, with rubbish behind their ends."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, HORIZON + 1, size=(3, 2))
    x = rng.normal(loc=seed, scale=[0.5, 2.0], size=(3, 2, HORIZON + 1, 2))
    x = np.where((np.arange(HORIZON + 1) > lengths[..., None])[..., None], 1e3, x)
    return Episodes(
        states=jnp.asarray(x, jnp.float32),
        actions=jnp.zeros((3, 2, HORIZON, 2)),
        lengths=jnp.asarray(lengths, jnp.int32),
        terminated=jnp.ones((3, 2), bool),
    )


def test_the_unit_of_reward_is_the_spread_of_discounted_sums(rnd, model, model_batch):
    """Two epochs; in the unit the first weighs half, in what the networks see all weigh the same."""
    visited, sums, weights = np.empty((0, 2)), [], []
    see = jax.jit(rnd.observe_episodes)
    for number in (0, 1):
        episodes = epoch(number)
        model = see(model, episodes.states, episodes)
        states, lengths = np.asarray(episodes.states, np.float64), np.asarray(episodes.lengths)
        visited = np.concatenate([visited] + [states[i][1 : lengths[i] + 1] for i in np.ndindex(3, 2)])
        mean, std = visited.mean(0), visited.std(0)
        for i in np.ndindex(3, 2):
            total = 0.0
            for r in error(model, states[i][1 : lengths[i] + 1], mean, std):
                total = 0.8 * total + r
                sums.append(total)
                weights.append([0.5, 1.0][number])
    middle = np.average(sums, weights=weights)
    unit = np.sqrt(np.average((sums - middle) ** 2, weights=weights))
    x = np.random.default_rng(5).normal(size=(10, 2))
    rewards = rnd.reward(model, model_batch(x), KEY)
    np.testing.assert_allclose(rewards, error(model, x, mean, std) / unit, rtol=1e-3)


def test_after_the_end_life_goes_on_at_the_start(rnd):
    """The reward is not episodic: nothing is terminal for SAC."""
    next_s = jnp.asarray([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    transitions = Transitions(
        s=jnp.ones((3, 2)), a=jnp.ones((3, 2)), z=jnp.ones((3, 0)), next_s=next_s,
        terminal=jnp.asarray([False, True, False]), time=jnp.arange(3),
    )  # fmt: skip
    after = rnd.afterwards(transitions)
    np.testing.assert_allclose(after.next_s, [[0.1, 0.2], rnd.task.start, [0.5, 0.6]])
    assert not np.any(after.terminal)
    np.testing.assert_array_equal(after.s, transitions.s)
