"""The colours of action noise: variance, spectrum and repeatability."""

from functools import cache
from typing import get_args

import jax
import numpy as np
import pytest
import scipy.signal
import scipy.stats

from leads.rollouts.noise import Colour, coloured_noise

COLOURS = get_args(Colour)
CASES = [("white", 200), ("pink", 200), ("pink", 127), ("pink", 2)]
"""Even and odd numbers of steps differ in the highest frequency; two are the fewest that have a spectrum."""
SKILLS, EPISODES, ACTIONS = 2, 1500, 2
draw = jax.jit(coloured_noise, static_argnums=(1, 2))


@cache
def noise_of(colour: Colour, time: int) -> np.ndarray:
    """[skill, episode, time, action], drawn once for all tests that look at it."""
    return np.asarray(draw(jax.random.key(0), colour, (SKILLS, EPISODES, time, ACTIONS)))


@pytest.mark.parametrize(("colour", "time"), CASES)
def test_unit_variance_at_every_step(colour, time):
    noise = noise_of(colour, time)
    assert noise.shape == (SKILLS, EPISODES, time, ACTIONS) and noise.dtype == np.float32
    samples = np.moveaxis(noise, 2, 0).reshape(time, -1)
    # a Gaussian sample's variance has the standard deviation sqrt(2/n) about 1, its mean 1/sqrt(n) about 0
    assert np.max(np.abs(np.var(samples, axis=1) - 1)) < 4.5 * np.sqrt(2 / samples.shape[1])
    assert np.max(np.abs(np.mean(samples, axis=1))) < 4.5 / np.sqrt(samples.shape[1])


@pytest.mark.parametrize("colour", COLOURS)
def test_is_gaussian(colour):
    for step in (0, 70, 199):
        assert scipy.stats.kstest(noise_of(colour, 200)[0, :, step, 0], "norm").pvalue > 1e-3


@pytest.mark.parametrize(("colour", "time", "slope"), [("white", 200, 0), ("pink", 200, -1), ("pink", 127, -1)])
def test_power_falls_with_the_slope_of_its_colour(colour, time, slope):
    """log power against log frequency."""
    frequency, power = scipy.signal.periodogram(noise_of(colour, time), axis=2, detrend=False)
    inside = (frequency > 0) & (frequency < 0.5)
    fit = scipy.stats.linregress(np.log(frequency[inside]), np.log(np.mean(power, axis=(0, 1, 3))[inside]))
    assert abs(fit.slope - slope) < 0.02


@pytest.mark.parametrize("colour", COLOURS)
def test_independent_between_skills_and_episodes_and_action_dimensions(colour):
    for time in (0, 100):
        now = noise_of(colour, 200)[:, :, time]
        # one series over pairs of episodes for each skill, action dimension and place in the pair
        series = np.moveaxis(now.reshape(SKILLS, EPISODES // 2, 2 * ACTIONS), 1, 2).reshape(-1, EPISODES // 2)
        correlation = np.corrcoef(series)
        assert len(correlation) == 8
        assert np.max(np.abs(correlation - np.eye(8))) < 4.5 / np.sqrt(EPISODES // 2)


def test_pink_noise_remembers_and_white_does_not():
    """Correlation of neighbours: the cosine transform of the spectrum, by hand."""
    frequency = np.fft.rfftfreq(200)
    power = 1 / np.maximum(frequency, frequency[1])
    twice = np.where((frequency == 0) | (frequency == 0.5), 1, 2)
    expected = np.sum(twice * power * np.cos(2 * np.pi * frequency)) / np.sum(twice * power)
    assert expected > 0.7
    for colour, value in (("pink", expected), ("white", 0.0)):
        noise = noise_of(colour, 200)
        assert abs(np.mean(noise[:, :, 1:] * noise[:, :, :-1]) - value) < 0.02


@pytest.mark.parametrize("colour", COLOURS)
def test_determined_by_its_key(colour):
    shape = (SKILLS, EPISODES, 200, ACTIONS)
    again, other = (np.asarray(draw(jax.random.key(seed), colour, shape)) for seed in (0, 1))
    np.testing.assert_array_equal(noise_of(colour, 200), again)
    assert np.mean(again == other) < 1e-4
