"""Statistics that forget and whiten, against NumPy; their mean and variance over batches are tested with Scaling."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leads.data.running_statistics import SMALLEST, RunningStatistics

BATCHES = [
    np.random.default_rng(seed).normal(loc=[seed, 3.0, -seed], scale=[1.0, 0.1, 5.0], size=(size, 3))
    for seed, size in enumerate((40, 10, 25))
]


@jax.jit
def seen_one_after_the_other(share) -> RunningStatistics:
    """Every batch has large values behind it that are not real."""
    statistics = RunningStatistics.around(jnp.full(3, 7.0))
    for values in BATCHES:
        padded = jnp.pad(jnp.asarray(values, jnp.float32), ((0, 5), (0, 0)), constant_values=1e3)
        statistics = statistics.faded(share).updated(padded, jnp.arange(len(padded)) < len(values))
    return statistics


@settings(max_examples=30)
@given(st.floats(0.0, 1.0, width=32))
def test_after_fading_old_values_weigh_a_share_of_what_they_did(share):
    """The newest weigh 1, those before `share`, those before these its square: a weighted mean and variance."""
    statistics = seen_one_after_the_other(share)
    weights = np.concatenate([np.full(len(values), share ** (2 - i)) for i, values in enumerate(BATCHES)])
    every = np.concatenate(BATCHES)
    mean = np.average(every, axis=0, weights=weights)
    assert statistics.count == pytest.approx(weights.sum(), rel=1e-5)
    assert np.asarray(statistics.mean) == pytest.approx(mean, rel=1e-4, abs=1e-4)
    assert np.asarray(statistics.variance) == pytest.approx(
        np.average((every - mean) ** 2, axis=0, weights=weights), rel=1e-3
    )


def test_fading_alone_changes_neither_mean_nor_variance():
    seen = seen_one_after_the_other(1.0)
    faded = seen.faded(0.2)
    np.testing.assert_array_equal(faded.mean, seen.mean)
    np.testing.assert_array_equal(faded.variance, seen.variance)
    assert seen.count == 75 and faded.count == pytest.approx(15)


@pytest.mark.parametrize("largest", [0.5, 2.0, 100.0])
def test_whitened_values_have_mean_0_and_deviation_1_up_to_a_bound(largest):
    every = np.concatenate(BATCHES)
    statistics = RunningStatistics(jnp.asarray(every.mean(0)), jnp.asarray(every.var(0)), jnp.asarray(75.0))
    expected = np.clip((every - every.mean(0)) / every.std(0), -largest, largest)
    np.testing.assert_allclose(statistics.whitened(jnp.asarray(every), largest), expected, rtol=1e-4, atol=1e-5)
    assert np.max(np.abs(expected)) == largest or largest == 100.0


def test_values_that_do_not_vary_are_whitened_by_the_smallest_spread():
    still = RunningStatistics(jnp.asarray([2.0]), jnp.asarray([0.0]), jnp.asarray(9.0))
    assert np.asarray(still.whitened(jnp.asarray([[2.0], [2 + SMALLEST]]), 5.0)) == pytest.approx(
        np.asarray([[0], [1]]), abs=1e-3
    )
