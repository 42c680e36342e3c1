"""NGU: the episodic reward against nearest neighbours by brute force, its life-long factor, its inverse dynamics."""

from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leads.data.episodes import Episodes
from leads.data.replay import Replay
from leads.data.scaling import Scaling

KEY = jax.random.key(0)
EPSILON, CLUSTER, CONSTANT = 1e-2, 0.05, 0.1


@pytest.fixture(scope="module")
def ngu(small):
    kernel = {"kernel_epsilon": EPSILON, "kernel_cluster": CLUSTER, "kernel_constant": CONSTANT, "most_similar": 1.5}
    return small("ngu", neighbours=4, most_novel=3.0, clip=2.0, model_learning_rate=3e-3, **kernel)


@pytest.fixture(scope="module")
def model(ngu):
    return jax.jit(ngu.init_model)(KEY)


@pytest.fixture(scope="module")
def episodic(ngu):
    return jax.jit(ngu.episodic)


@pytest.fixture(scope="module")
def reward(ngu):
    return jax.jit(ngu.reward)


def brute_force(distances, is_there, k=4, most_similar=1.5) -> np.ndarray:
    """r_episode of each row, from its k nearest and the mean of all rows' k nearest."""
    nearest = [np.sort(row[there])[:k] for row, there in zip(np.asarray(distances, np.float64), is_there, strict=True)]
    mean = max(np.mean(np.concatenate(nearest)), 1e-12)
    rewards = []
    for row in nearest:
        kernels = [EPSILON / (max(d / mean - CLUSTER, 0) + EPSILON) for d in row]
        similarity = np.sqrt(np.sum(kernels)) + CONSTANT
        rewards.append(0.0 if similarity > most_similar else 1 / similarity)
    return np.asarray(rewards)


distances = arrays(np.float32, (5, 7), elements=st.floats(0, 9, width=32).map(lambda d: round(d, 1)))
masks = arrays(bool, (5, 7)).map(lambda mask: mask | (np.arange(7) == 0))
"""As in an episode: the state that a step begins in is always there, earlier ones may be fewer than k."""


@settings(max_examples=60)
@given(distances, masks)
def test_the_episodic_reward_is_that_of_the_nearest_states(episodic, distances, is_there):
    expected = brute_force(distances, is_there)
    actual = np.asarray(episodic(distances, is_there))
    # where the similarity is within rounding of its bound either answer will do
    at_bound = np.isclose(brute_force(distances, is_there, most_similar=np.inf), 1 / 1.5, rtol=1e-4)
    np.testing.assert_allclose(actual[~at_bound], expected[~at_bound], rtol=1e-3)


@pytest.mark.parametrize("n, reward", [(1, 1 / 1.001), (60, 1 / (np.sqrt(60) + 0.001)), (64, 0.0), (80, 0.0)])
def test_so_many_identical_states_leave_no_reward(small, n, reward):
    """Each of the n kernels is 1, so that the similarity is sqrt(n) + c; above 8 there is nothing to be had."""
    published = small("ngu", neighbours=100, kernel_constant=1e-3, most_similar=8.0)
    there = jnp.broadcast_to(jnp.arange(90) < n, (3, 90))
    np.testing.assert_allclose(published.episodic(jnp.zeros((3, 90)), there), np.full(3, reward), rtol=1e-5)


def test_a_state_at_the_mean_distance_of_its_neighbours(small):
    """K = 1e-4 / (1 - .008 + 1e-4), ten times: r = 1 / (sqrt(10 K) + 1e-3)."""
    published = small("ngu", neighbours=10)
    reward = published.episodic(jnp.full((3, 90), 3.0), jnp.ones((3, 90), bool))
    np.testing.assert_allclose(reward, np.full(3, 1 / (np.sqrt(10 * 1e-4 / 0.9921) + 1e-3)), rtol=1e-4)


def batch_of(model_batch, n=5, before=6):
    rng = np.random.default_rng(0)
    is_earlier = np.arange(before) < rng.integers(0, before + 1, size=(n, 1))
    earlier = np.where(is_earlier[..., None], rng.normal(size=(n, before, 2)), 1e3)
    x, next_x = rng.normal(size=(2, n, 2))
    return model_batch(next_x, x=x, a=rng.uniform(-1, 1, size=(n, 2)), earlier_x=earlier, is_earlier=is_earlier)


def test_the_reward_compares_where_a_step_ends_with_all_before_in_the_embedding(reward, model, model_batch):
    """With a spread of errors so large that the life-long factor is 1 for all that is below their mean."""
    batch = batch_of(model_batch)
    model = eqx.tree_at(lambda m: m.errors.mean, model, jnp.asarray([1e3]))
    embed = lambda x: np.asarray(model.embedding(x), np.float64)
    memory = embed(jnp.concatenate([batch.x[:, None], batch.earlier_x], axis=1))
    squared = ((embed(batch.next_x)[:, None] - memory) ** 2).sum(-1)
    there = np.concatenate([np.ones((5, 1), bool), np.asarray(batch.is_earlier) > 0], axis=1)
    assert there.sum(1).min() < 4 < there.sum(1).max()
    np.testing.assert_allclose(reward(model, batch, KEY), brute_force(squared, there), rtol=1e-3)


@pytest.mark.parametrize("alpha, factor", [(-2.0, 1.0), (0.9, 1.0), (1.7, 1.7), (2.9, 2.9), (40.0, 3.0)])
def test_what_is_new_in_life_counts_up_to_a_bound(reward, model, model_batch, alpha, factor):
    """alpha = 1 + (error - mean) / std, clipped to [1, L]; mean and std are set so that alpha is as given."""
    batch = batch_of(model_batch)
    error = float(model.novelty.error(batch.next_x, 2.0)[0])
    statistics = lambda m: (m.errors.mean, m.errors.variance)
    of = lambda mean: eqx.tree_at(statistics, model, (jnp.asarray([mean]), jnp.asarray([0.25])))
    plain = float(reward(of(error + 1e3), batch, KEY)[0])
    assert plain > 0
    assert float(reward(of(error - 0.5 * (alpha - 1)), batch, KEY)[0]) == pytest.approx(factor * plain, rel=1e-3)


def test_actions_can_be_told_from_the_embeddings_of_s_and_next_s(ngu, model, model_batch, taught):
    rng = np.random.default_rng(1)
    x, a = rng.uniform(-1, 1, size=(2, 2048, 2))
    data = model_batch(x + 0.5 * a, x=x, a=a)
    learnt, metrics = taught(ngu, model, data, 600)
    _, now = ngu.model_loss(learnt, data, KEY)
    assert float(metrics["inverse_error"][0]) > 0.3  # that of no idea, the variance of a, is 1/3
    assert float(now["inverse_error"]) < 0.05
    pair = jnp.concatenate([learnt.embedding(data.x), learnt.embedding(data.next_x)], axis=-1)
    told = np.asarray(learnt.inverse(pair))
    assert float(now["inverse_error"]) == pytest.approx(np.mean((told - a) ** 2), rel=1e-3)
    jax.tree.map(np.testing.assert_array_equal, learnt.novelty.random, model.novelty.random)


@pytest.fixture(scope="module")
def walked(ngu):
    """A replay of short episodes whose states tell episode and time."""
    horizon = ngu.task.horizon
    episode, time = np.indices((6, horizon + 1)).reshape(2, 3, 2, horizon + 1)
    episodes = Episodes(
        states=jnp.asarray(np.stack([episode / 10, time / 1000], axis=-1), jnp.float32),
        actions=jnp.zeros((3, 2, horizon, 2)),
        lengths=jnp.asarray([[4, 1], [7, 3], [2, 5]], jnp.int32),
        terminated=jnp.asarray([[True, True], [False, True], [True, False]]),
    )
    return jax.jit(Replay.add)(Replay.empty(1200, ngu.task, 0), episodes, jnp.zeros((3, 0)))


def test_the_memory_is_that_of_the_episode_so_far(ngu, walked):
    index = jnp.arange(22)
    transitions = jax.tree.map(lambda kept: kept[index], walked.kept)
    state = lambda replay: SimpleNamespace(replay=replay, scaling=Scaling.of(ngu.task))
    batch = jax.jit(lambda replay: ngu._batch(state(replay), index, transitions))(walked)
    batch = jax.tree.map(np.asarray, batch)
    assert batch.earlier_x.shape == (22, ngu.task.horizon - 1, 2)
    for x, earlier, there in zip(batch.x, batch.earlier_x, batch.is_earlier, strict=True):
        time = round(x[1] * 1000)
        assert there.sum() == time
        np.testing.assert_allclose(
            earlier[there > 0], [[x[0], t / 1000] for t in range(time)][::-1] or np.empty((0, 2))
        )


def test_an_episode_that_ended_is_over(ngu, walked):
    """The reward is episodic: SAC is told of the end."""
    after = ngu.afterwards(walked.kept)
    np.testing.assert_array_equal(np.flatnonzero(after.terminal), [3, 4, 14, 16])
    np.testing.assert_array_equal(after.next_s, walked.kept.next_s)


def test_mean_and_spread_of_the_error_are_those_of_what_was_visited(ngu, model):
    """With rubbish behind the ends, which does not count."""
    rng = np.random.default_rng(3)
    x = jnp.asarray(rng.normal(size=(3, 2, 6, 2)), jnp.float32)
    lengths = np.asarray([[5, 1], [2, 3], [4, 5]])
    episodes = Episodes(x, jnp.zeros((3, 2, 5, 2)), jnp.asarray(lengths), jnp.ones((3, 2), bool))
    model = jax.jit(ngu.observe_episodes)(model, x, episodes)
    visited = np.concatenate([np.asarray(x)[i][1 : lengths[i] + 1] for i in np.ndindex(3, 2)])
    whitened = jnp.asarray(np.clip((visited - visited.mean(0)) / visited.std(0), -2, 2))
    error = np.mean(
        (np.asarray(model.novelty.predictor(whitened)) - np.asarray(model.novelty.random(whitened))) ** 2, -1
    )
    assert float(model.errors.mean[0]) == pytest.approx(error.mean(), rel=1e-3)
    assert float(model.errors.variance[0]) == pytest.approx(error.var(), rel=1e-3)
