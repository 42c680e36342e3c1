"""The colours of action noise: variance, spectrum and repeatability."""

from typing import get_args

import jax
import numpy as np
import pytest
import scipy.signal
import scipy.stats

from leads.rollouts.noise import Colour, coloured_noise

COLOURS = get_args(Colour)


@pytest.mark.parametrize("time", [2, 49, 200], ids=lambda time: f"time={time}")
@pytest.mark.parametrize("colour", COLOURS)
def test_unit_variance_at_every_step(colour, time):
    noise = np.asarray(coloured_noise(jax.random.key(0), colour, (3000, time, 2)))
    assert noise.shape == (3000, time, 2) and noise.dtype == np.float32
    samples = np.moveaxis(noise, 1, 0).reshape(time, -1)
    count = samples.shape[1]
    # a Gaussian sample's variance has the standard deviation sqrt(2/n) about 1, its mean 1/sqrt(n) about 0
    assert np.max(np.abs(np.var(samples, axis=1) - 1)) < 4.5 * np.sqrt(2 / count)
    assert np.max(np.abs(np.mean(samples, axis=1))) < 4.5 / np.sqrt(count)


@pytest.mark.parametrize("colour", COLOURS)
def test_is_gaussian(colour):
    noise = np.asarray(coloured_noise(jax.random.key(1), colour, (2000, 20, 1)))
    for step in (0, 7, 19):
        assert scipy.stats.kstest(noise[:, step, 0], "norm").pvalue > 1e-3


@pytest.mark.parametrize("time", [127, 200], ids=lambda time: f"time={time}")
@pytest.mark.parametrize(("colour", "slope"), [("white", 0.0), ("pink", -1.0)])
def test_power_falls_with_the_slope_of_its_colour(colour, slope, time):
    noise = np.asarray(coloured_noise(jax.random.key(2), colour, (1000, time, 2)))
    frequency, power = scipy.signal.periodogram(noise, axis=1, detrend=False)
    inside = (frequency > 0) & (frequency < 0.5)
    fit = scipy.stats.linregress(np.log(frequency[inside]), np.log(np.mean(power, axis=(0, 2))[inside]))
    assert abs(fit.slope - slope) < 0.02


def test_independent_between_episodes_and_action_dimensions():
    noise = np.asarray(coloured_noise(jax.random.key(3), "pink", (4, 2000, 10, 3)))
    series = np.moveaxis(noise, 1, -1)[:, 5]  # [skill, action, episode] at one time
    correlation = np.corrcoef(series.reshape(12, -1))
    assert np.max(np.abs(correlation - np.eye(12))) < 4.5 / np.sqrt(2000)
    episodes = np.corrcoef(noise[0, ::2, 5, 0], noise[0, 1::2, 5, 0])[0, 1]
    assert abs(episodes) < 4.5 / np.sqrt(1000)


def test_pink_noise_remembers_and_white_does_not():
    """Correlation of neighbours: the cosine transform of the spectrum, computed by hand."""
    time = 64
    frequency = np.fft.rfftfreq(time)
    power = 1 / np.maximum(frequency, frequency[1])
    twice = np.where((frequency == 0) | (frequency == 0.5), 1, 2)
    expected = np.sum(twice * power * np.cos(2 * np.pi * frequency)) / np.sum(twice * power)
    for colour, value in (("pink", expected), ("white", 0.0)):
        noise = np.asarray(coloured_noise(jax.random.key(4), colour, (2000, time, 1)))
        assert abs(np.mean(noise[:, 1:] * noise[:, :-1]) - value) < 0.03


def test_mixed_is_pink_in_every_other_episode():
    time = 200
    noise = np.asarray(coloured_noise(jax.random.key(5), "mixed", (4, 500, time, 1)))
    frequency, power = scipy.signal.periodogram(noise, axis=2, detrend=False)
    inside = (frequency > 0) & (frequency < 0.5)
    for first, slope in ((0, -1.0), (1, 0.0)):
        mean = np.mean(power[:, first::2], axis=(0, 1, 3))[inside]
        assert abs(scipy.stats.linregress(np.log(frequency[inside]), np.log(mean)).slope - slope) < 0.03


@pytest.mark.parametrize("colour", COLOURS)
def test_determined_by_its_key(colour):
    one, again, other = (np.asarray(coloured_noise(jax.random.key(seed), colour, (5, 30, 2))) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, again)
    assert not np.any(one == other)
