"""The distance is a quasimetric whatever its numbers, and comes to the exact f of chains of twelve states.

Tolerances: the error of f, averaged over (s1, a, z) and weighted by p(s2) over s2, stays below .18, where f = 0 would
be wrong by .58 and 1.39; the mass sum_s2 p(s2) exp f is met within .05.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.stats import spearmanr

from leads.measures.infonce import InfoNCEConfig
from leads.measures.measure import Sizes
from leads.measures.metric import Metric, quasimetric

points = arrays.arrays(np.float32, (3, 7), elements=st.floats(-100, 100, width=32))


@given(points)
def test_it_is_a_quasimetric(points):
    """Not negative, 0 from a point to itself, and no way over a third point is shorter."""
    d = np.asarray(quasimetric(jnp.asarray(points)[:, None], jnp.asarray(points)[None]))
    assert np.all(d >= 0)
    assert np.all(np.diag(d) == 0)
    assert np.all(d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-3)


def test_it_counts_one_half_both_ways_and_the_other_one_way():
    x, y = jnp.array([3.0, 4.0, 1.0, 5.0]), jnp.array([0.0, 0.0, 2.0, 2.0])
    assert float(quasimetric(x, y)) == 5 + 3
    assert float(quasimetric(y, x)) == 5 + 1
    assert np.all(np.isfinite(jax.grad(quasimetric)(x, x)))


def test_f_is_what_is_left_of_c(asked):
    sizes = Sizes(6, 2, 2, 6)
    measure = Metric(InfoNCEConfig(measure_hidden=(16,), measure_embedding=8), sizes).init(jax.random.key(0))
    (s1, a, z, s2), f = asked(measure, sizes)
    phi, psi = measure.phi(jnp.concatenate([s1, a, z], -1)), measure.psi(s2)
    np.testing.assert_allclose(f, psi[:, 8] - quasimetric(phi[:, None], psi[None, :, :8]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("discount, after_end", [(0.9, "absorb"), (0.98, "vanish")])
def test_recovers_the_exact_measure_on_policy_and_its_order(discount, after_end, make_chain):
    chain = make_chain(12, discount)
    futures = {"measure_discount": discount, "futures": "geometric", "after_end": after_end}
    learnt = Metric(InfoNCEConfig(measure_hidden=(64,), measure_embedding=16, **futures), chain.sizes)
    fit = chain.fit(learnt, True, batch_size=96, steps=700)
    fit.assert_recovers(tolerance=0.18)
    assert spearmanr(fit.f.ravel(), fit.exact.ravel()).statistic > 0.7
