"""InfoNCE: the exact f is where its loss is least, at any batch size, and it comes there on chains of twelve states.

Tolerances: the error of f, averaged over (s1, a, z) and weighted by p(s2) over s2, stays below .16, where f = 0 would
be wrong by .49 to 1.46; the mass sum_s2 p(s2) exp f, 1 or less where ended episodes vanish, is met within .05.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.measures.infonce import InfoNCE, InfoNCEConfig, symmetric_loss
from leads.measures.measure import MeasureBatch, Sizes

SIZES = Sizes(6, 2, 2, 6)
LAW = np.array([[0.5, 0.2, 0.1, 0.2], [0.05, 0.1, 0.35, 0.5]])
"""Of the futures of two rows: three states, and nothing."""
P = np.array([0.2, 0.5, 0.3])


def estimator(sizes: Sizes, **options) -> InfoNCE:
    return InfoNCE(InfoNCEConfig(measure_hidden=(64,), measure_embedding=16, futures="geometric", **options), sizes)


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
@pytest.mark.parametrize("discount", [0.9, 0.98])
def test_recovers_the_exact_measure_on_policy(discount, after_end, make_chain):
    chain = make_chain(12, discount)
    learnt = estimator(chain.sizes, measure_discount=discount, after_end=after_end)
    chain.fit(learnt, True, batch_size=128, steps=900).assert_recovers(tolerance=0.16)


@pytest.mark.parametrize("vanish", [False, True])
def test_the_exact_f_is_the_minimum_of_the_loss_of_batches_of_two(vanish):
    """The expected loss, over all batches of two rows, two futures and two draws of p(s); it is convex in f."""
    law = LAW if vanish else LAW * [1, 1, 1, 0] / LAW[:, :3].sum(1, keepdims=True)
    cases = np.indices((2, 2, 4, 4, 3, 3)).reshape(3, 2, -1)
    x, future, marginal = np.moveaxis(cases, -1, 1)
    probability = np.prod(law[x, future] * P[marginal] / 2, axis=1)

    def expected(f, penalty):
        def loss(x, future, marginal):
            logits = f[x][:, marginal] - jnp.log(2)
            logits = jnp.concatenate([logits, f[x, 3:]], axis=1) if vanish else logits
            clamped = jnp.minimum(future, 2)  # as a future behind the end is
            return symmetric_loss(f[x][:, clamped], logits, future < 3, penalty)

        return jnp.sum(probability * jax.vmap(loss)(x, future, marginal))

    exact = jnp.asarray(np.log(np.maximum(law, 1e-9) / np.append(P, 1)), jnp.float32)
    loss = jax.jit(jax.value_and_grad(expected))
    least, gradient = loss(exact, 0.1)
    np.testing.assert_allclose(gradient, 0, atol=1e-6)
    noise = 0.1 * np.random.default_rng(0).normal(size=exact.shape)
    for other in (exact + 0.1, exact - 0.1, exact + noise, exact + noise[:, :1], exact + noise[:1]):
        assert loss(other, 0.1)[0] > least + 1e-4
    assert loss(exact + 0.1, 0.0)[0] == pytest.approx(float(loss(exact, 0.0)[0]), abs=1e-5), "a constant stays open"


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
def test_all_ways_to_ask_a_measure_agree(after_end, asked):
    measure = estimator(SIZES, after_end=after_end).init(jax.random.key(0))
    (s1, a, z, s2), f = asked(measure, SIZES)
    logits = measure.logits(s1, a, z, s2)
    np.testing.assert_allclose(logits[:, :5], f - np.log(5), rtol=1e-4, atol=1e-5)
    if after_end == "absorb":
        assert logits.shape == (5, 5)
    else:
        nothing = measure.phi(jnp.concatenate([s1, a, z], -1)) @ measure.nothing
        np.testing.assert_allclose(logits[:, 5], nothing, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("after_end, counts", [("absorb", True), ("vanish", False)])
def test_futures_behind_the_end_count_only_if_the_end_repeats(after_end, counts, make_batch):
    learnt, batch = estimator(SIZES, after_end=after_end), make_batch(SIZES)
    moved = eqx.tree_at(lambda b: b.future, batch, batch.future.at[2].add(1.0))
    measure, loss = learnt.init(jax.random.key(0)), jax.jit(lambda measure, batch: learnt.loss(measure, batch, True)[0])
    assert (abs(loss(measure, batch) - loss(measure, moved)) > 1e-4) == counts


def test_the_weights_of_futures_are_those_of_the_episodes():
    np.testing.assert_allclose(estimator(SIZES, measure_discount=0.5).future_weights(3), [0.5, 0.25, 0.125])
    uniform = InfoNCE(InfoNCEConfig(futures="uniform"), SIZES)
    np.testing.assert_allclose(uniform.future_weights(4), 0.25)


def test_a_measure_that_knows_nothing_of_far_places_still_learns():
    """Large features give a large mass at first, whose exponential would be infinite."""
    learner = InfoNCE(InfoNCEConfig(), Sizes(2, 1, 1, 2))
    measure = learner.init(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 5)
    far, yes = [1000 * jax.random.normal(key, (32, 2)) for key in keys], jnp.ones(32, bool)
    a, z = jnp.zeros((32, 1)), jnp.ones((32, 1))
    batch = MeasureBatch(far[0], a, z, far[1], a, far[2], far[3], far[4], yes, ~yes)
    loss, gradient = jax.value_and_grad(lambda measure: learner.loss(measure, batch, True)[0])(measure)
    assert np.isfinite(loss) and all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
