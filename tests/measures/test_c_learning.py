"""C-Learning recovers the exact measure of a small chain, in every form, with either loss alone.

Five states and one that ends the episode, two actions and two skills, all one-hot. Tolerances: the error of f, averaged
over (s1, a, z) and weighted by p(s2) over s2, stays below .1 (Monte Carlo) or .06 (temporal differences), where f = 0
would be wrong by .5; the mass sum_s2 p(s2) exp f, 1 or about .76 where ended episodes vanish, is met within .05.
Twin and target networks are held to what stands with their test.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.measures.c_learning import (
    CLearning,
    CLearningConfig,
    Factorised,
    monte_carlo_loss,
    temporal_difference_loss,
)
from leads.measures.measure import Followed, Sizes

DISCOUNT = 0.8
SIZES = Sizes(6, 2, 2, 6)
FORMS = {"classifier": ((64, 64), 256), "factorised": ((64,), 128)}
"""Hidden layers of each form of the measure and the size of its batches; the factorised one makes all pairs of them."""


def estimator(form: str, sizes: Sizes, after_end="absorb", **options) -> CLearning:
    """C-Learning on the chain; on policy it learns by Monte Carlo alone."""
    numbers = {"measure_hidden": FORMS[form][0], "measure_embedding": 16, "mc_weight": 1.0, "td_cap": 1000.0}
    futures = {"measure_discount": DISCOUNT, "futures": "geometric", "after_end": after_end}
    return CLearning(CLearningConfig(**{"measure_form": form} | numbers | futures | options), sizes)


@pytest.fixture(scope="module")
def chain(make_chain):
    return make_chain(6, DISCOUNT)


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
@pytest.mark.parametrize("form", FORMS)
def test_monte_carlo_recovers_the_exact_measure_on_policy(form, after_end, chain):
    learnt = estimator(form, chain.sizes, after_end)
    chain.fit(learnt, True, FORMS[form][1], steps=1500).assert_recovers(tolerance=0.1)


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
@pytest.mark.parametrize("form", FORMS)
def test_temporal_difference_recovers_the_exact_measure_off_policy(form, after_end, chain):
    learnt = estimator(form, chain.sizes, after_end)
    chain.fit(learnt, False, FORMS[form][1], steps=1000).assert_recovers(tolerance=0.06)


def test_cap_bounds_what_follows():
    """The loss of one row by hand, with w = exp 5 cut to 10."""
    following, marginal, later = jnp.asarray([0.5]), jnp.asarray([[-0.3]]), jnp.asarray([[5.0]])
    loss = temporal_difference_loss(following, marginal, later, jnp.asarray([False]), DISCOUNT, "absorb", cap=10.0)
    positive, negative, bootstrapped = np.log1p(np.exp([-0.5, -0.3, 0.3]))
    assert float(loss) == pytest.approx((1 - DISCOUNT) * positive + negative + DISCOUNT * 10 * bootstrapped, rel=1e-6)


def test_on_policy_monte_carlo_has_its_weight_and_temporal_differences_the_rest(chain):
    """Of a measure with large numbers, for which the two losses differ."""
    learnt = estimator("factorised", chain.sizes, mc_weight=0.8)

    @jax.jit
    def losses(episodes):
        measure = jax.tree.map(lambda weight: 3 * weight, learnt.init(jax.random.key(0)))
        batch = chain.draw(episodes, 32, jax.random.key(1))
        [future], negative = measure.logits(batch.s, batch.a, batch.z, (batch.future,), batch.marginal)
        monte_carlo = monte_carlo_loss(future, negative, batch.future_is_real, "absorb")
        return monte_carlo, *(learnt.loss(measure, batch, is_on_policy)[0] for is_on_policy in (False, True))

    monte_carlo, rest, both = map(float, losses(chain.on_policy))
    assert abs(monte_carlo - rest) > 0.1
    assert both == pytest.approx(0.8 * monte_carlo + 0.2 * rest, rel=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_all_ways_to_ask_a_measure_agree(form, asked):
    """`pairs` and `logits` hold the numbers that `log_ratio` gives row by row."""
    measure = estimator(form, SIZES).init(jax.random.key(0))
    (s1, a, z, s2), single = asked(measure, SIZES)
    positive, negative = measure.logits(s1, a, z, (s2, s1), s2)
    np.testing.assert_allclose(positive[0], np.diag(single), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(positive[1], measure.log_ratio(s1, a, z, s1), rtol=1e-4, atol=1e-5)
    expected = single if negative.shape == (5, 5) else jnp.diag(single)[:, None]
    np.testing.assert_allclose(negative, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("discount, after_end, tolerance", [(0.9, "absorb", 0.13), (0.98, "vanish", 0.17)])
def test_twin_and_target_networks_recover_the_exact_measure_off_policy(discount, after_end, tolerance, make_chain):
    """Twelve states, where f = 0 would be wrong by .58 and by 1.39; the smaller w makes f somewhat too small."""
    chain = make_chain(12, discount)
    options = {"measure_discount": discount, "measure_twin": True, "measure_tau": 0.1}
    fit = chain.fit(estimator("factorised", chain.sizes, after_end, **options), False, 96, steps=700)
    fit.assert_recovers(tolerance)


def test_w_is_that_of_the_smaller_target_and_both_twins_learn(make_batch):
    learnt = estimator("factorised", SIZES, measure_twin=True, measure_tau=0.25)
    made, other = (learnt.init(jax.random.key(seed)) for seed in (0, 1))
    measure, batch = Followed(made.online, other.online), make_batch(SIZES)
    later = [twin.pairs(batch.next_s, batch.next_a, batch.z, batch.marginal) for twin in measure.target.networks]
    expected = 0.0
    for twin in measure.online.networks:
        following = twin.log_ratio(batch.s, batch.a, batch.z, batch.next)
        negative = twin.pairs(batch.s, batch.a, batch.z, batch.marginal)
        rest = batch.terminal, DISCOUNT, "absorb", 1000.0
        expected += temporal_difference_loss(following, negative, jnp.minimum(*later), *rest)
    loss, gradient = jax.jit(jax.value_and_grad(lambda measure: learnt.loss(measure, batch, False)[0]))(measure)
    assert float(loss) == pytest.approx(float(expected), rel=1e-5)
    assert all(np.abs(twin.phi.weights[0]).max() > 0 for twin in gradient.online.networks)
    assert all(np.abs(leaf).max() == 0 for leaf in jax.tree.leaves(gradient.target))

    after = learnt.after_step(measure, batch)
    online, target = (twins.networks[0].phi.weights[0] for twins in (measure.online, measure.target))
    expected = 0.25 * online + 0.75 * target
    np.testing.assert_allclose(after.target.networks[0].phi.weights[0], expected, rtol=1e-4, atol=1e-7)
    np.testing.assert_array_equal(after.online.networks[0].phi.weights[0], online)


def test_f_of_twins_is_their_mean(asked):
    measure = estimator("factorised", SIZES, measure_twin=True, measure_tau=0.25).init(jax.random.key(0))
    rows, f = asked(measure, SIZES)
    first, second = (twin.pairs(*rows) for twin in measure.online.networks)
    assert np.abs(first - second).max() > 0.01
    np.testing.assert_allclose(f, (first + second) / 2, rtol=1e-4, atol=1e-5)


def test_without_options_there_is_one_network_and_no_target():
    learnt = estimator("factorised", SIZES)
    measure = learnt.init(jax.random.key(0))
    assert isinstance(measure, Factorised)
    assert learnt.after_step(measure, None) is measure


def test_the_weights_of_futures_are_those_of_the_losses():
    """Half uniform over the horizon, half geometric."""
    half = CLearning(CLearningConfig(mc_weight=0.5, futures="uniform", measure_discount=0.8), Sizes(1, 1, 1, 1))
    np.testing.assert_allclose(half.future_weights(4), 0.5 / 4 + 0.5 * 0.2 * np.array([1, 0.8, 0.64, 0.512]))
