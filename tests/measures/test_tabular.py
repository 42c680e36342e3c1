"""The oracle itself, against the sum that defines it, against simulation and against chains solved by hand."""

import numpy as np
import pytest

from leads.measures.tabular import log_ratio, successor_state_measure

DISCOUNT = 0.8
N_STATE, N_ACTION = 6, 3
TERMINAL = np.arange(N_STATE) >= 4


@pytest.fixture(scope="module")
def chain():
    generator = np.random.default_rng(0)
    transition = generator.dirichlet(np.full(N_STATE, 0.5), size=(N_STATE, N_ACTION))
    policy = generator.dirichlet(np.ones(N_ACTION), size=N_STATE)
    return transition, policy


def summed(transition, policy, terminal, after_end):
    """The definition, term by term, moving laws of states one step at a time."""
    total = np.zeros_like(transition)
    for s1 in range(N_STATE):
        for a in range(N_ACTION):
            law = np.eye(N_STATE)[s1]
            for k in range(1, 200):
                moving = np.where(terminal, 0.0, law)
                staying = law - moving if after_end == "absorb" else np.zeros(N_STATE)
                action = np.tile(np.eye(N_ACTION)[a], (N_STATE, 1)) if k == 1 else policy
                law = staying + np.einsum("s,sa,sat->t", moving, action, transition)
                total[s1, a] += (1 - DISCOUNT) * DISCOUNT ** (k - 1) * law
    return total


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
@pytest.mark.parametrize("terminal", [np.zeros(N_STATE, bool), TERMINAL], ids=["endless", "terminals"])
def test_equals_the_sum_over_steps(chain, terminal, after_end):
    exact = successor_state_measure(*chain, DISCOUNT, terminal, after_end)
    np.testing.assert_allclose(exact, summed(*chain, terminal, after_end), atol=1e-12)


def test_no_terminal_mask_means_no_terminal_state(chain):
    exact = successor_state_measure(*chain, DISCOUNT)
    np.testing.assert_array_equal(exact, successor_state_measure(*chain, DISCOUNT, np.zeros(N_STATE, bool), "vanish"))


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
def test_equals_frequencies_of_simulated_futures(chain, after_end):
    transition, policy = chain
    generator = np.random.default_rng(1)
    s1, a, count = 1, 2, 100_000
    ahead = generator.geometric(1 - DISCOUNT, size=count)
    s = np.full(count, s1)
    exists = np.ones(count, bool)
    for k in range(1, ahead.max() + 1):
        going = k <= ahead
        ended = TERMINAL[s] & going
        exists &= ~ended if after_end == "vanish" else True
        action = np.full(count, a) if k == 1 else choose(policy[s], generator)
        s = np.where(going & ~ended, choose(transition[s, action], generator), s)
    frequency = np.bincount(s[exists], minlength=N_STATE) / count
    exact = successor_state_measure(transition, policy, DISCOUNT, TERMINAL, after_end)[s1, a]
    np.testing.assert_array_less(np.abs(frequency - exact), 4.5 * np.sqrt(exact * (1 - exact) / count) + 1e-12)


def choose(probabilities, generator):
    """One draw from each row."""
    return np.sum(generator.random((len(probabilities), 1)) > np.cumsum(probabilities, axis=1)[:, :-1], axis=1)


def test_row_mass(chain):
    transition, policy = chain
    absorb = successor_state_measure(*chain, DISCOUNT, TERMINAL, "absorb")
    np.testing.assert_allclose(absorb.sum(-1), 1, atol=1e-12)
    # E[discount^T] solves its own one-step equation: 1 at the end, discounted by one step before it
    alive = ~TERMINAL
    under_policy = np.einsum("sa,sat->st", policy, transition)[alive]
    factor = np.ones(N_STATE)
    for _ in range(300):
        factor[alive] = DISCOUNT * under_policy @ factor
    expected = 1 - DISCOUNT * transition @ factor
    vanish = successor_state_measure(*chain, DISCOUNT, TERMINAL, "vanish")
    np.testing.assert_allclose(vanish.sum(-1)[alive], expected[alive], atol=1e-12)
    assert vanish.sum(-1)[alive].max() < 0.9
    np.testing.assert_array_equal(vanish[TERMINAL], 0)


def test_corridor_by_hand():
    """0 -> 1 -> 2, where 2 is terminal: 1 is one step ahead of 0 and 2 two steps."""
    transition = np.asarray([[[0, 1, 0]], [[0, 0, 1]], [[1, 0, 0]]], float)
    policy = np.ones((3, 1))
    end = np.asarray([False, False, True])
    absorb = successor_state_measure(transition, policy, 0.9, end, "absorb")[:, 0]
    vanish = successor_state_measure(transition, policy, 0.9, end, "vanish")[:, 0]
    np.testing.assert_allclose(absorb, [[0, 0.1, 0.9], [0, 0, 1], [0, 0, 1]], atol=1e-15)
    np.testing.assert_allclose(vanish, [[0, 0.1, 0.09], [0, 0, 0.1], [0, 0, 0]], atol=1e-15)


def test_log_ratio():
    measure, marginal = np.asarray([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]), np.asarray([0.25, 0.5, 0.25])
    f = log_ratio(measure, marginal)
    np.testing.assert_allclose(f, [[np.log(2), 0, -np.inf], [np.log(0.4), np.log(0.4), np.log(2.8)]], atol=1e-15)
    with pytest.raises(ValueError, match=r"\[2\]"):
        log_ratio(measure, np.asarray([0.5, 0.5, 0.0]))
