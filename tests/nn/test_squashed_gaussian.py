"""The tanh-squashed Gaussian against SciPy, integration and the derivative known by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from leads.nn import squashed_gaussian

MODERATE = [(0.0, 0.0), (0.7, -1.0), (-1.5, 0.5), (2.0, -2.0)]
EXTREME = [(30.0, 0.0), (-30.0, 2.0), (80.0, -5.0), (-80.0, -5.0)]


def row(*numbers):
    """One action of one dimension a number."""
    return jnp.asarray(numbers, jnp.float32)[:, None]


def test_sample_is_the_tanh_of_a_gaussian():
    mean, log_std, noise = np.random.default_rng(0).normal(size=(3, 10, 2)).astype(np.float32)
    np.testing.assert_allclose(
        squashed_gaussian.sample(mean, log_std, noise), np.tanh(mean + np.exp(log_std) * noise), rtol=1e-5
    )


@pytest.mark.parametrize(("mean", "log_std"), MODERATE)
def test_log_prob_is_the_density_of_the_action(mean, log_std):
    """p(a) = N(atanh a) / (1 - a^2), in float64."""
    noise = np.linspace(-2.5, 2.5, 21, dtype=np.float32)
    std = np.exp(log_std)
    a = np.tanh(mean + std * noise.astype(np.float64))
    expected = scipy.stats.norm.logpdf(np.arctanh(a), mean, std) - np.log1p(-(a**2))
    actual = squashed_gaussian.log_prob(jnp.full((21, 1), mean), jnp.full((21, 1), log_std), row(*noise))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("mean", "log_std"), MODERATE[:3])
def test_density_integrates_to_one_and_to_the_mean_of_samples(mean, log_std):
    # the midpoints of cells do without a = -1 and a = 1, where the density has its limits
    cells = 200_000
    a = (np.arange(cells) + 0.5) * 2 / cells - 1
    noise = ((np.arctanh(a) - mean) / np.exp(log_std)).astype(np.float32)
    log_prob = squashed_gaussian.log_prob(
        jnp.full((cells, 1), mean), jnp.full((cells, 1), log_std), jnp.asarray(noise)[:, None]
    )
    density = np.exp(np.asarray(log_prob, np.float64))
    assert np.sum(density) * 2 / cells == pytest.approx(1, abs=2e-3)
    expected = scipy.integrate.quad(lambda x: np.tanh(mean + np.exp(log_std) * x) * scipy.stats.norm.pdf(x), -9, 9)[0]
    assert np.sum(a * density) * 2 / cells == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(("mean", "log_std"), EXTREME)
def test_log_prob_where_tanh_rounds_to_one(mean, log_std):
    """log(1 - tanh(x)^2) = log 4 - 2|x| - 2 log(1 + exp(-2|x|)), evaluated by NumPy in float64."""
    noise = np.asarray([-3.0, 0.0, 0.5, 3.0])
    x = np.abs(mean + np.exp(log_std) * noise)
    expected = scipy.stats.norm.logpdf(noise) - log_std - (np.log(4) - 2 * x - 2 * np.log1p(np.exp(-2 * x)))
    actual = squashed_gaussian.log_prob(jnp.full((4, 1), mean), jnp.full((4, 1), log_std), row(*noise))
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_log_prob_of_independent_dimensions_adds_up():
    mean, log_std, noise = jnp.asarray(np.random.default_rng(1).normal(size=(3, 4, 5, 3)), jnp.float32)
    each = squashed_gaussian.log_prob(mean[..., None], log_std[..., None], noise[..., None])
    assert each.shape == (4, 5, 3)
    np.testing.assert_allclose(squashed_gaussian.log_prob(mean, log_std, noise), jnp.sum(each, -1), rtol=1e-5)


@pytest.mark.parametrize(("mean", "log_std"), MODERATE + EXTREME)
def test_gradients(mean, log_std):
    """With x = mean + std noise: d/dmean = 2 tanh x and d/dlog_std = -1 + 2 tanh(x) std noise, finite everywhere."""
    noise = np.asarray([-3.0, -0.2, 0.0, 3.0])
    gradient = jax.vmap(jax.grad(lambda m, s, n: squashed_gaussian.log_prob(m[None], s[None], n[None]), argnums=(0, 1)))
    by_mean, by_log_std = gradient(jnp.full(4, mean), jnp.full(4, log_std), jnp.asarray(noise, jnp.float32))
    x = mean + np.exp(log_std) * noise
    np.testing.assert_allclose(by_mean, 2 * np.tanh(x), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(by_log_std, -1 + 2 * np.tanh(x) * np.exp(log_std) * noise, rtol=1e-4, atol=1e-5)
