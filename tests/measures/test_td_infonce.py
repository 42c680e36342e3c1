"""TD-InfoNCE comes to the exact f of chains of twelve states, on policy and off, and it is where its loss is least.

Tolerances of the error of f, averaged over (s1, a, z) and weighted by p(s2) over s2, stand with each chain, beside the
error of f = 0; the mass sum_s2 p(s2) exp f, 1 or less where ended episodes vanish, is met within .05.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.measures.measure import Followed, Sizes
from leads.measures.tabular import successor_state_measure
from leads.measures.td_infonce import TDInfoNCE, TDInfoNCEConfig, temporal_difference_loss

SIZES = Sizes(6, 2, 2, 6)


def estimator(sizes: Sizes, **options) -> TDInfoNCE:
    return TDInfoNCE(TDInfoNCEConfig(measure_hidden=(64,), measure_embedding=16, **options), sizes)


@pytest.mark.parametrize(
    "on_policy, discount, after_end, tolerance, options",
    [
        (True, 0.9, "vanish", 0.12, {}),  # f = 0 is wrong by .49
        (False, 0.9, "absorb", 0.12, {}),  # .58
        (False, 0.98, "absorb", 0.3, {}),  # 1.46; the softmax makes f too flat
        (False, 0.98, "absorb", 0.22, {"td_weights": "exp"}),
        (False, 0.98, "vanish", 0.2, {"measure_unit_norm": True}),  # 1.39
    ],
)
def test_recovers_the_exact_measure(on_policy, discount, after_end, tolerance, options, make_chain):
    chain = make_chain(12, discount)
    learnt = estimator(chain.sizes, measure_discount=discount, after_end=after_end, measure_tau=0.1, **options)
    chain.fit(learnt, on_policy, batch_size=96, steps=700).assert_recovers(tolerance)


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
def test_the_exact_f_is_the_minimum_of_the_loss_of_batches_of_two(after_end):
    """The expected loss, over all batches of two transitions and two draws of p(s), with exact weights."""
    p, terminal, discount = np.array([0.2, 0.5, 0.3]), np.array([False, False, True]), 0.9
    transition = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [1.0, 0.0, 0.0]])
    measure = successor_state_measure(transition[:, None], np.ones((3, 1)), discount, terminal, after_end)[:, 0]
    measure[terminal] = 0.2  # a state that nothing is learnt from, so that nothing may be asked of it
    share = np.concatenate([measure, 1 - measure.sum(1, keepdims=True)], axis=1)  # the last: of nothing
    exact = jnp.asarray(np.log(np.maximum(share, 1e-9) / np.append(p, 1)), jnp.float32)
    cases = np.indices((2, 2, 3, 3, 3, 3)).reshape(3, 2, -1)
    x, following, marginal = np.moveaxis(cases, -1, 1)
    probability = np.prod(transition[x, following] * p[marginal] / 2, axis=1)

    def logits(f, x, marginal):
        shares = f[x][:, marginal] - jnp.log(2)
        return jnp.concatenate([shares, f[x, 3:]], axis=1) if after_end == "vanish" else shares

    def expected(f):
        def loss(x, following, marginal):
            weights = jnp.exp(logits(exact, following, marginal))
            rest = following == 2, discount, after_end, 0.1
            return temporal_difference_loss(f[x, following], logits(f, x, marginal), weights, *rest)

        return jnp.sum(probability * jax.vmap(loss)(x, following, marginal))

    loss = jax.jit(jax.value_and_grad(expected))
    least, gradient = loss(exact)
    np.testing.assert_allclose(gradient, 0, atol=1e-6)
    noise = 0.3 * np.random.default_rng(0).normal(size=exact.shape)
    for other in (exact + 0.1, exact - 0.1, exact + noise, exact + noise[:, :1], exact + noise[:1]):
        assert loss(other)[0] > least + 1e-4


@pytest.mark.parametrize("unit_norm", [False, True])
def test_all_ways_to_ask_a_measure_agree(unit_norm, asked):
    measure = estimator(SIZES, measure_unit_norm=unit_norm).init(jax.random.key(0))
    (s1, a, z, s2), f = asked(measure, SIZES)
    phi, psi = measure.online.phi(jnp.concatenate([s1, a, z], -1)), measure.online.psi(s2)
    lengths = np.linalg.norm(phi, axis=1)[:, None] * np.linalg.norm(psi, axis=1) / 4  # 4: from an embedding of 16
    np.testing.assert_allclose(f, phi @ psi.T / (lengths if unit_norm else 1), rtol=1e-4, atol=1e-5)


def test_what_follows_is_asked_of_the_target_network(make_batch):
    """A target network of its own changes the loss, but learns nothing, and follows by tau."""
    learnt, batch = estimator(SIZES, measure_tau=0.25), make_batch(SIZES)
    made, other = (learnt.init(jax.random.key(seed)) for seed in (0, 1))
    measure = Followed(made.online, other.online)
    loss = jax.jit(jax.value_and_grad(lambda measure: learnt.loss(measure, batch, True)[0]))
    (value, gradient), (own, _) = loss(measure), loss(made)
    assert abs(value - own) > 1e-4
    assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(gradient.target)) == 0
    after = learnt.after_step(measure, batch)
    online, target = (network.psi.weights[0] for network in (measure.online, measure.target))
    np.testing.assert_allclose(after.target.psi.weights[0], 0.25 * online + 0.75 * target, rtol=1e-4)
    np.testing.assert_array_equal(after.online.psi.weights[0], online)


def test_the_weights_of_futures_are_geometric_whatever_the_episodes_give():
    weights = estimator(SIZES, futures="uniform", measure_discount=0.5).future_weights(3)
    np.testing.assert_allclose(weights, [0.5, 0.25, 0.125])
