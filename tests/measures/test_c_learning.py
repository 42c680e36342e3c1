"""C-Learning recovers the exact measure of a small chain, in every form, with either loss alone.

Five states and one that ends the episode, two actions and two skills, all one-hot. Tolerances: the error of f, averaged
over (s1, a, z) and weighted by p(s2) over s2, stays below .1 (Monte Carlo) or .06 (temporal differences), where f = 0
would be wrong by .5; the mass sum_s2 p(s2) exp f, 1 or about .76 where ended episodes vanish, is met within .05.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.measures.c_learning import CLearning, CLearningConfig, temporal_difference_loss
from leads.measures.measure import Sizes

DISCOUNT = 0.8

FORMS = {"classifier": ((64, 64), 256), "factorised": ((64,), 128)}
"""Hidden layers of each form of the measure and the size of its batches; the factorised one makes all pairs of them."""


def estimator(form: str, sizes: Sizes, after_end="absorb", **options) -> CLearning:
    """C-Learning on the chain; on policy it learns by Monte Carlo alone."""
    numbers = {"measure_hidden": FORMS[form][0], "measure_embedding": 16, "mc_weight": 1.0, "td_cap": 1000.0}
    futures = {"measure_discount": DISCOUNT, "futures": "geometric", "after_end": after_end}
    return CLearning(CLearningConfig(measure_form=form, **numbers, **futures, **options), sizes)


@pytest.fixture(scope="module")
def chain(make_chain):
    return make_chain(6, DISCOUNT)


def assert_recovers(fit, tolerance):
    assert fit.naive > 4.5 * tolerance, "the chain is too easy to tell anything"
    assert fit.error < tolerance
    assert fit.mass_error < 0.05


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
@pytest.mark.parametrize("form", FORMS)
def test_monte_carlo_recovers_the_exact_measure_on_policy(form, after_end, chain):
    learnt = estimator(form, chain.sizes, after_end)
    assert_recovers(chain.fit(learnt, True, FORMS[form][1], steps=1500), tolerance=0.1)


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
@pytest.mark.parametrize("form", FORMS)
def test_temporal_difference_recovers_the_exact_measure_off_policy(form, after_end, chain):
    learnt = estimator(form, chain.sizes, after_end)
    assert_recovers(chain.fit(learnt, False, FORMS[form][1], steps=1000), tolerance=0.06)


def test_cap_bounds_what_follows():
    """The loss of one row by hand, with w = exp 5 cut to 10."""
    following, marginal, later = jnp.asarray([0.5]), jnp.asarray([[-0.3]]), jnp.asarray([[5.0]])
    loss = temporal_difference_loss(following, marginal, later, jnp.asarray([False]), DISCOUNT, "absorb", cap=10.0)
    positive, negative, bootstrapped = np.log1p(np.exp([-0.5, -0.3, 0.3]))
    assert float(loss) == pytest.approx((1 - DISCOUNT) * positive + negative + DISCOUNT * 10 * bootstrapped, rel=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_all_ways_to_ask_a_measure_agree(form):
    """`pairs` and `logits` hold the numbers that `log_ratio` gives row by row."""
    measure = estimator(form, Sizes(6, 2, 2, 6)).init(jax.random.key(0))
    generator = np.random.default_rng(0)
    s1, a, z, s2, marginal = (jnp.asarray(generator.normal(size=(5, size)), jnp.float32) for size in (6, 2, 2, 6, 6))
    single = jnp.stack([measure.log_ratio(s1, a, z, jnp.broadcast_to(s, s2.shape)) for s in s2], axis=1)
    np.testing.assert_allclose(measure.pairs(s1, a, z, s2), single, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(measure.log_ratio(s1, a, z, s2), np.diag(single), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(measure.log_ratio(s1, a, z, s2[:1]), single[:, 0], rtol=1e-4, atol=1e-5)
    positive, negative = measure.logits(s1, a, z, (s2, s1), marginal)
    np.testing.assert_allclose(positive[0], np.diag(single), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(positive[1], measure.log_ratio(s1, a, z, s1), rtol=1e-4, atol=1e-5)
    every = measure.pairs(s1, a, z, marginal)
    expected = every if negative.shape == (5, 5) else jnp.diag(every)[:, None]
    np.testing.assert_allclose(negative, expected, rtol=1e-4, atol=1e-5)


def test_the_weights_of_futures_are_those_of_the_losses():
    """Half uniform over the horizon, half geometric."""
    half = CLearning(CLearningConfig(mc_weight=0.5, futures="uniform", measure_discount=0.8), Sizes(1, 1, 1, 1))
    np.testing.assert_allclose(half.future_weights(4), 0.5 / 4 + 0.5 * 0.2 * np.array([1, 0.8, 0.64, 0.512]))
