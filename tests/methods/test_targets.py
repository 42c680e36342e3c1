"""u and delta against formulas written out in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leads.methods import targets

RANDOM = np.random.default_rng(0)
FROM_START, FROM_TARGET = RANDOM.normal(0, 3, (4, 30)), RANDOM.normal(0, 3, (4, 30))
HISTORY = RANDOM.normal(0, 3, 30)
BALANCED = jax.jit(targets.balanced)


def test_literal_is_the_printed_sum():
    m, n, past = np.exp(FROM_START), np.exp(FROM_TARGET), np.exp(HISTORY)
    expected = np.zeros((4, 30))
    for z in range(4):
        expected[z] = np.log(m[z] / past)
        for other in set(range(4)) - {z}:
            expected[z] += np.log(n[z] / n[other]) + np.log(m[z] / m[other])
    u = targets.literal(jnp.asarray(FROM_START), jnp.asarray(FROM_TARGET), jnp.asarray(HISTORY))
    np.testing.assert_allclose(u, expected, rtol=1e-4, atol=1e-4)


def test_bounded_is_three_terms_between_zero_and_one():
    unit = lambda x: (x - x.min(-1, keepdims=True)) / np.ptp(x, axis=-1, keepdims=True)
    ratio = lambda p, q: np.log((p + 0.1) / (100 * q + 0.1))
    m, n, past = unit(np.exp(FROM_START)), unit(np.exp(FROM_TARGET)), unit(np.exp(HISTORY))
    others = lambda p: np.stack([sum(ratio(p[z], p[o]) for o in range(4) if o != z) for z in range(4)])
    expected = unit(others(m)) + 2 * unit(others(n)) + 3 * unit(ratio(m, past))
    logs = (jnp.asarray(x) for x in (FROM_START, FROM_TARGET, HISTORY))
    np.testing.assert_allclose(targets.bounded(*logs, 1.0, 2.0, 3.0, 0.1, 100.0), expected, atol=1e-3)


def test_literal_follows_runaway_logits_and_bounded_does_not():
    """Why there is a bounded u: a state that no skill has data on wins by its logits, not by being new."""
    start = jnp.log(jnp.asarray([[1.0, 0.5, 1e-9], [1e-3, 0.5, 1e-21]]))
    history = jnp.log(jnp.asarray([5.0, 0.01, 5.0]))
    assert jnp.argmax(targets.literal(start, start, history)[0]) == 2
    assert jnp.argmax(targets.bounded(start, start, history, 1.0, 0.0, 2.0, 0.1, 100.0)[0]) == 1


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.floats(0.1, 5.0))
def test_balanced_divides_every_state_and_gives_every_skill_the_same(seed, contrast):
    visits = jnp.asarray(np.random.default_rng(seed).normal(0, 1, (5, 60)), jnp.float32)
    share = np.exp(BALANCED(visits, jnp.full((5, 60), 50.0), contrast, 0.02))
    np.testing.assert_allclose(share.sum(0), 1, atol=1e-4)  # every state is given away whole
    assert share.sum(1) == pytest.approx(12, rel=0.15)  # 60 states for 5 skills
    owner, likes = share.argmax(0), np.asarray(visits).argmax(0)
    assert np.mean(owner == likes) > 0.4  # mostly to those who visit them, far above chance


def test_balanced_moves_skills_up_when_one_has_found_a_room():
    visits = np.full((2, 40), -5.0)
    visits[0, :30] = 0.0  # skill 0 owns three quarters, skill 1 the rest; states 20 to 29 lie between
    visits[1, 20:] = -1.0
    share = np.exp(targets.balanced(jnp.asarray(visits), jnp.zeros((2, 40)), 5.0, 1e-9))
    assert share[0, :20].min() > 0.9 and share[1, 20:].min() > 0.9


def test_balanced_sends_for_what_can_be_reached():
    now = jnp.log(jnp.asarray([[1.0, 1.0, 1e-6, 1e-6]] * 2))
    u = targets.balanced(jnp.asarray([[0.0, -9.0, 0.0, -9.0], [-9.0, 0.0, -9.0, 0.0]]), now, 1.0, 0.02)
    assert u[0, 0] > u[0, 2] + 5 and u[1, 1] > u[1, 3] + 5
