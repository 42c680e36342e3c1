"""Networks against their formulas in NumPy."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.nn.networks import LOG_STD_MAX, LOG_STD_MIN, MLP, Actor


def dense(network: MLP, x):
    """The formula of an MLP, in float64."""
    *hidden, last = zip(network.weights, network.biases, strict=True)
    for weight, bias in hidden:
        x = np.maximum(x @ np.asarray(weight, np.float64) + np.asarray(bias, np.float64), 0)
    return x @ np.asarray(last[0], np.float64) + np.asarray(last[1], np.float64)


def with_random_biases(network: MLP) -> MLP:
    """Biases begin at zero, where a test would not see them missing."""
    generator = np.random.default_rng(0)
    leaves, structure = jax.tree.flatten(network)
    return jax.tree.unflatten(
        structure, [jnp.asarray(generator.normal(size=x.shape), jnp.float32) if x.ndim == 1 else x for x in leaves]
    )


@pytest.mark.parametrize("sizes", [(3, 2), (4, 16, 8, 5)])
@pytest.mark.parametrize("leading", [(), (7,), (2, 3)])
def test_mlp(sizes, leading):
    network = with_random_biases(MLP(jax.random.key(0), sizes))
    x = np.random.default_rng(1).normal(size=(*leading, sizes[0]))
    np.testing.assert_allclose(network(jnp.asarray(x, jnp.float32)), dense(network, x), rtol=1e-4, atol=1e-5)


def test_mlp_begins_uniform_within_one_over_the_root_of_its_inputs():
    sizes = (64, 256, 32)
    network = MLP(jax.random.key(0), sizes)
    for weight, bias, (inputs, outputs) in zip(network.weights, network.biases, pairwise(sizes), strict=True):
        bound = inputs**-0.5
        assert weight.shape == (inputs, outputs)
        assert 0.99 * bound < np.max(np.abs(weight)) <= bound
        assert np.std(weight) == pytest.approx(bound / np.sqrt(3), rel=0.02)
        np.testing.assert_array_equal(bias, np.zeros(outputs))
    assert abs(np.corrcoef(network.weights[0].ravel()[:8192], network.weights[1].ravel())[0, 1]) < 0.05


def test_every_leaf_is_an_array():
    """What lets networks be stacked, scanned and saved as they are."""
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(Actor(jax.random.key(0), 2, 3, 1, (8,))))


def test_actor():
    actor = Actor(jax.random.key(0), state_size=2, skill_size=3, action_size=2, hidden=(16, 8))
    s, z = np.random.default_rng(2).normal(size=(5, 4, 2)), np.random.default_rng(3).normal(size=(5, 4, 3))
    mean, log_std = actor(jnp.asarray(s, jnp.float32), jnp.asarray(z, jnp.float32))
    head = dense(actor.network, np.concatenate([s, z], axis=-1))
    np.testing.assert_allclose(mean, head[..., :2], rtol=1e-4, atol=1e-5)
    middle, half = (LOG_STD_MAX + LOG_STD_MIN) / 2, (LOG_STD_MAX - LOG_STD_MIN) / 2
    np.testing.assert_allclose(log_std, middle + half * np.tanh(head[..., 2:]), rtol=1e-4, atol=1e-5)


def test_actor_keeps_its_log_standard_deviation_within_bounds():
    actor = Actor(jax.random.key(0), state_size=2, skill_size=3, action_size=2, hidden=(16,))
    s = jnp.asarray(np.random.default_rng(4).normal(size=(200, 2)) * 1e6, jnp.float32)
    mean, log_std = actor(s, jnp.zeros((200, 3)))
    assert np.all((log_std >= LOG_STD_MIN) & (log_std <= LOG_STD_MAX))
    # inputs so large drive it onto both bounds, and the mean, which has none, far away
    assert np.min(log_std) == pytest.approx(LOG_STD_MIN) and np.max(log_std) == pytest.approx(LOG_STD_MAX)
    assert np.max(np.abs(mean)) > 1e4
