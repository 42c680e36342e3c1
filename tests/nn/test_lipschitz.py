"""Spectral normalisation: norms against NumPy's, and no distance that is stretched."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leads.nn.lipschitz import LipschitzMLP

SIZES = (3, 16, 16, 2)

iterated = jax.jit(LipschitzMLP.iterated)


def often_iterated(f: LipschitzMLP) -> LipschitzMLP:
    for _ in range(100):
        f = iterated(f)
    return f


@pytest.fixture(scope="module")
def fresh() -> LipschitzMLP:
    """With weights so large that an ordinary network would stretch distances a hundredfold."""
    made = jax.jit(LipschitzMLP, static_argnums=1)(jax.random.key(0), SIZES)
    return eqx.tree_at(lambda f: f.network.weights, made, tuple(5 * w for w in made.network.weights))


@pytest.fixture(scope="module")
def known(fresh) -> LipschitzMLP:
    return often_iterated(fresh)


def stretches(f, scale: float = 1.0) -> np.ndarray:
    """|f(x) - f(y)| / |x - y| of random pairs, near ones and far ones."""
    rng = np.random.default_rng(0)
    x = scale * rng.normal(size=(4000, SIZES[0]))
    y = x + scale * rng.normal(size=x.shape) * 10.0 ** rng.uniform(-2, 1, size=(len(x), 1))
    x, y = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)
    return np.linalg.norm(np.asarray(f(x)) - np.asarray(f(y)), axis=-1) / np.linalg.norm(x - y, axis=-1)


def test_norms_are_the_spectral_norms(known):
    expected = [np.linalg.norm(w, 2) for w in known.network.weights]
    np.testing.assert_allclose(known.norms(), expected, rtol=1e-3)


def test_norms_only_grow_and_stay_below_the_truth(fresh):
    """Why a norm that is not known well lets the network stretch a little, and never makes it shrink too much."""
    estimates = []
    for _ in range(10):
        estimates.append(np.asarray(fresh.norms()))
        fresh = iterated(fresh)
    assert np.all(np.diff(estimates, axis=0) >= -1e-5)
    assert np.all(estimates[-1] <= np.asarray([np.linalg.norm(w, 2) for w in fresh.network.weights]) * (1 + 1e-5))


def test_iterating_several_times_is_iterating_again_and_again(fresh):
    at_once, one_by_one = fresh.iterated(3), iterated(iterated(iterated(fresh)))
    np.testing.assert_allclose(at_once.norms(), one_by_one.norms(), rtol=1e-5)
    assert not np.allclose(at_once.norms(), fresh.norms(), rtol=1e-2)


@pytest.mark.parametrize("scale", [0.1, 1.0, 100.0])
def test_no_distance_is_stretched(known, scale):
    assert np.max(stretches(known.network)) > 20
    assert np.max(stretches(known, scale)) <= 1.005


def test_a_single_layer_keeps_the_distance_along_its_first_direction():
    """The bound is met: nothing shrinks more than it has to."""
    f = often_iterated(jax.jit(LipschitzMLP, static_argnums=1)(jax.random.key(1), (4, 3)))
    along = np.linalg.svd(np.asarray(f.network.weights[0]))[0][:, 0]
    assert np.linalg.norm(f(jnp.asarray(along)) - f(jnp.zeros(4))) == pytest.approx(1, abs=1e-3)


def test_one_power_iteration_a_gradient_step_is_enough(known):
    """The loss pulls at the bound, and Adam at a rate that is a hundred times the usual one."""
    optimiser = optax.adam(1e-2)
    x = jnp.asarray(np.random.default_rng(1).normal(size=(64, 2, SIZES[0])), jnp.float32)
    loss = lambda f: -jnp.mean((f(x[:, 0]) - f(x[:, 1])) ** 2)

    def step(so_far, _):
        f, state = so_far
        change, state = optimiser.update(jax.grad(loss)(f), state)
        f = eqx.apply_updates(f, change).iterated()
        return (f, state), loss(f)

    (f, _), losses = jax.jit(lambda f: jax.lax.scan(step, (f, optimiser.init(f)), length=150))(known)
    assert losses[-1] < 2 * losses[0], "it has learnt to stretch as far as it may"
    assert np.max(stretches(f)) <= 1.03
    np.testing.assert_allclose(f.norms(), [np.linalg.norm(w, 2) for w in f.network.weights], rtol=0.03)


def test_gradients_know_that_weights_are_divided_by_their_norm(known):
    """A layer times a number is the same layer, so that the loss does not change along the weights themselves."""
    x = jnp.asarray(np.random.default_rng(2).normal(size=(32, SIZES[0])), jnp.float32)
    gradient = jax.jit(jax.grad(lambda f: jnp.sum(f(x) ** 2)))(known)
    for w, g in zip(known.network.weights, gradient.network.weights, strict=True):
        assert float(np.sum(w * g)) == pytest.approx(0, abs=float(1e-3 * np.linalg.norm(w) * np.linalg.norm(g)))
    assert not np.any(np.concatenate(gradient.directions)), "directions are followed, not learnt"
