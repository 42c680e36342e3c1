"""Which steps and futures are drawn: every state is its own (skill, episode, time), so that a draw tells its origin."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from leads.data.episodes import Episodes, draw_batch, draw_steps

HORIZON = 8
LENGTHS = np.asarray([[8, 3, 1, 8], [2, 8, 5, 8]])
TERMINATED = np.asarray([[False, True, True, True], [True, False, True, True]])
SIZE = 40_000
SURPRISING = 1e-3
"""The p-value below which a law is rejected; keys are fixed, so a test that passes always does."""


@pytest.fixture(scope="module")
def episodes() -> Episodes:
    skill, episode, time = np.indices((*LENGTHS.shape, HORIZON + 1))
    states = np.stack([skill, episode, np.minimum(time, LENGTHS[..., None])], axis=-1)
    return Episodes(
        states=jnp.asarray(states, jnp.float32),
        actions=jnp.asarray(time[:, :, :HORIZON, None], jnp.float32),
        lengths=jnp.asarray(LENGTHS, jnp.int32),
        terminated=jnp.asarray(TERMINATED),
    )


drawn = jax.jit(draw_batch, static_argnums=(1, 2, 3))


def origins(episodes: Episodes, discount: float, futures: str):
    """(skill, episode, time), the time of the future state and the batch itself, as NumPy arrays."""
    batch = jax.tree.map(np.asarray, drawn(episodes, SIZE, discount, futures, jax.random.key(0)))
    skill, episode, time = batch.s.astype(int).T
    np.testing.assert_array_equal(skill, batch.skill)
    np.testing.assert_array_equal(batch.future_s[:, :2], batch.s[:, :2])
    return (skill, episode, time), batch.future_s[:, 2].astype(int), batch


def test_steps_and_samples(episodes):
    assert episodes.horizon == HORIZON
    assert int(episodes.samples()) == LENGTHS.sum()
    np.testing.assert_array_equal(episodes.steps().sum(-1), LENGTHS)
    np.testing.assert_array_equal(episodes.steps()[0, 1], [True] * 3 + [False] * 5)


@pytest.mark.parametrize("skill", [0, 1])
def test_draw_steps_is_uniform_over_the_real_steps_of_a_skill(episodes, skill):
    episode, time = draw_steps(episodes, jnp.full(SIZE, skill), jax.random.key(1))
    counts = np.zeros((LENGTHS.shape[1], HORIZON))
    np.add.at(counts, (np.asarray(episode), np.asarray(time)), 1)
    real = np.asarray(episodes.steps())[skill]
    assert counts[~real].sum() == 0
    assert scipy.stats.chisquare(counts[real]).pvalue > SURPRISING


def test_draw_steps_skips_episodes_without_steps():
    lengths = jnp.asarray([[0, 2, 0, 1, 0]])
    empty = Episodes(jnp.zeros((1, 5, 3, 1)), jnp.zeros((1, 5, 2, 1)), lengths, lengths > 0)
    episode, time = draw_steps(empty, jnp.zeros(3000, int), jax.random.key(2))
    drawn, counts = np.unique(np.stack([episode, time]), axis=1, return_counts=True)
    np.testing.assert_array_equal(drawn, [[1, 1, 3], [0, 1, 0]])
    assert scipy.stats.chisquare(counts).pvalue > SURPRISING


def test_batch_draws_skills_and_their_steps_alike(episodes):
    (skill, episode, time), _, _ = origins(episodes, 0.7, "geometric")
    real = np.asarray(episodes.steps())
    counts = np.zeros(real.shape)
    np.add.at(counts, (skill, episode, time), 1)
    expected = np.broadcast_to(SIZE / 2 / LENGTHS.sum(1)[:, None, None], real.shape)
    assert scipy.stats.chisquare(counts[real], expected[real]).pvalue > SURPRISING


def test_batch_is_a_transition(episodes):
    (skill, episode, time), _, batch = origins(episodes, 0.7, "geometric")
    np.testing.assert_array_equal(batch.a[:, 0], time)
    np.testing.assert_array_equal(batch.next_s, np.stack([skill, episode, time + 1], axis=-1))


def test_terminal_marks_only_the_last_step_of_terminated_episodes(episodes):
    (skill, episode, time), _, batch = origins(episodes, 0.7, "geometric")
    last = time == LENGTHS[skill, episode] - 1
    np.testing.assert_array_equal(batch.terminal, last & TERMINATED[skill, episode])
    assert np.any(last & ~batch.terminal)


@pytest.mark.parametrize("discount", [0.5, 0.9])
def test_geometric_futures(discount):
    """On one endless episode, seen from its beginning, the law of k is Geometric(1 - discount)."""
    horizon = 400
    time = jnp.arange(horizon + 1.0)[None, None, :, None]
    endless = Episodes(time, time[:, :, :-1], jnp.full((1, 1), horizon), jnp.zeros((1, 1), bool))
    batch = drawn(endless, SIZE, discount, "geometric", jax.random.key(3))
    ahead = np.asarray(batch.future_s - batch.s)[:, 0].astype(int)
    ahead = ahead[np.asarray(batch.s)[:, 0] < horizon - 100]  # from where clamping is beyond all probability
    longest = int(np.ceil(np.log(20 / len(ahead)) / np.log(discount)))  # the tail is one class of 20 or so
    observed = np.bincount(np.minimum(ahead, longest), minlength=longest + 1)
    assert observed[0] == 0
    law = scipy.stats.geom(1 - discount)
    expected = len(ahead) * np.append(law.pmf(np.arange(1, longest)), law.sf(longest - 1))
    assert scipy.stats.chisquare(observed[1:], expected).pvalue > SURPRISING


def test_geometric_futures_clamp_to_the_last_state(episodes):
    discount = 0.7
    (skill, episode, time), future, batch = origins(episodes, discount, "geometric")
    left, terminated = LENGTHS[skill, episode] - time, TERMINATED[skill, episode]
    assert np.all((future > time) & (future - time <= left))
    assert np.all(batch.future_is_real[~terminated])
    assert np.all(future[~batch.future_is_real] == LENGTHS[skill, episode][~batch.future_is_real])
    for steps in range(1, HORIZON):
        here = terminated & (left == steps)
        # beyond the end with k > steps; at the last state, really or by clamping, with k >= steps
        assert_frequency(~batch.future_is_real[here], discount**steps)
        assert_frequency((future - time)[here] == steps, discount ** (steps - 1))


def test_geometric_futures_behind_an_end_at_the_horizon_are_not_real(episodes):
    """The one case that test leaves out: first steps of episodes that terminated with their very last step."""
    discount = 0.7
    (skill, episode, time), _, batch = origins(episodes, discount, "geometric")
    here = TERMINATED[skill, episode] & (LENGTHS[skill, episode] == HORIZON) & (time == 0)
    assert_frequency(~batch.future_is_real[here], discount**HORIZON)


def assert_frequency(hits, probability):
    """Within 4.5 standard deviations of a binomial law."""
    deviation = np.sqrt(probability * (1 - probability) / len(hits))
    assert abs(np.mean(hits) - probability) <= 4.5 * deviation


@pytest.mark.parametrize(("skill", "episode"), list(np.ndindex(LENGTHS.shape)))
def test_uniform_futures(episodes, skill, episode):
    """t+k has the uniform law over t+1 to the horizon; where that is behind a terminal state it is not real."""
    (skills, episode_s, time), future, batch = origins(episodes, 0.7, "uniform")
    here = (skills == skill) & (episode_s == episode)
    length = LENGTHS[skill, episode]
    for t in range(length):
        at = here & (time == t)
        real = batch.future_is_real[at]
        if not TERMINATED[skill, episode]:
            assert np.all(real)
        assert np.all(future[at][~real] == length)
        # real futures by their time, and one class for all that is behind the end
        observed = np.append(np.bincount(future[at][real], minlength=length + 1)[t + 1 :], np.sum(~real))
        expected = np.append(np.ones(length - t), HORIZON - length) * at.sum() / (HORIZON - t)
        assert np.all(observed[expected == 0] == 0)
        assert (
            np.sum(expected > 0) == 1
            or scipy.stats.chisquare(observed[expected > 0], expected[expected > 0]).pvalue > SURPRISING
        )


def test_some_rows_begin_at_the_start(episodes):
    """All episodes alike, however long; futures begin where a row does, and other rows are as they would be without."""
    batch = draw_batch(episodes, SIZE, 0.9, "uniform", jax.random.key(0), SIZE // 4)
    usual = draw_batch(episodes, SIZE, 0.9, "uniform", jax.random.key(0))
    first = jax.tree.map(lambda x: np.asarray(x[: SIZE // 4]), batch)
    assert not np.any(first.s[:, 2]) and np.all(first.next_s[:, 2] == 1) and np.all(first.future_s[:, 2] >= 1)
    counts = np.bincount(first.s[first.skill == 1][:, 1].astype(int))
    assert scipy.stats.chisquare(counts).pvalue > SURPRISING
    np.testing.assert_array_equal(batch.s[SIZE // 4 :], usual.s[SIZE // 4 :])
