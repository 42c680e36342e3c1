"""The ring of transitions against a plain list of all that ever happened; every state tells its own origin."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from leads.data.episodes import Episodes
from leads.data.replay import Replay
from leads.tasks import make_task

N_SKILL, N_EPISODE, HORIZON = 2, 2, 5
MOST = N_SKILL * N_EPISODE * HORIZON
"""Steps of an epoch, at most, and so the size of the smallest ring."""
TASK = dataclasses.replace(make_task("maze-u"), start=np.zeros(4, np.float32), action_size=1, horizon=HORIZON)
SKILLS = jnp.asarray([[10.0, 11.0, 12.0], [20.0, 21.0, 22.0]])
SURPRISING = 1e-3
"""The p-value below which a law is rejected; keys are fixed, so a test that passes always does."""

add = jax.jit(Replay.add)
earlier = jax.jit(Replay.earlier, static_argnums=2)


def epoch_of(epoch: int, lengths, terminated) -> Episodes:
    """Episodes whose states are (epoch, skill, episode, time), with rubbish behind their ends."""
    skill, episode, time = np.indices((N_SKILL, N_EPISODE, HORIZON + 1))
    behind = time > np.reshape(lengths, (N_SKILL, N_EPISODE, 1))
    states = np.where(behind[..., None], -1, np.stack([np.full_like(time, epoch), skill, episode, time], axis=-1))
    return Episodes(
        states=jnp.asarray(states, jnp.float32),
        actions=jnp.asarray(states[:, :, :-1, 3:] / 10, jnp.float32),
        lengths=jnp.asarray(lengths, jnp.int32).reshape(N_SKILL, N_EPISODE),
        terminated=jnp.asarray(terminated).reshape(N_SKILL, N_EPISODE),
    )


def everything(epochs) -> list[tuple[tuple[int, int, int, int], bool]]:
    """(origin, terminal) of all steps that happened, in their order."""
    return [
        ((number, i // N_EPISODE, i % N_EPISODE, time), terminated[i] and time == lengths[i] - 1)
        for number, (lengths, terminated) in enumerate(epochs)
        for i in range(N_SKILL * N_EPISODE)
        for time in range(lengths[i])
    ]


def filled(epochs, size: int, skills=SKILLS) -> Replay:
    replay = Replay.empty(size, TASK, skills.shape[-1])
    for number, (lengths, terminated) in enumerate(epochs):
        replay = add(replay, epoch_of(number, lengths, terminated), skills)
    return replay


def at(size: int, written: int) -> list[int]:
    """Which step each place of the ring holds."""
    return [max(range(place, written, size)) for place in range(min(size, written))]


four = lambda element: st.lists(element, min_size=4, max_size=4)
histories = st.lists(st.tuples(four(st.integers(0, HORIZON)), four(st.booleans())), max_size=5)
LARGER = 2 * MOST + 3
sizes = st.sampled_from([MOST, LARGER])


@settings(max_examples=40)
@given(histories, sizes)
def test_the_last_real_steps_are_kept_in_order(epochs, size):
    steps, kept = everything(epochs), jax.tree.map(np.asarray, filled(epochs, size))
    assert kept.written == len(steps) and kept.size == size
    kept, here = kept.kept, at(size, len(steps))
    origins = np.asarray([steps[i][0] for i in here]).reshape(-1, 4).astype(int)
    there = slice(0, len(here))
    np.testing.assert_array_equal(kept.s[there], origins)
    np.testing.assert_array_equal(kept.next_s[there], origins + [0, 0, 0, 1])
    np.testing.assert_array_equal(kept.a[there], np.float32(origins[:, 3:] / 10))
    np.testing.assert_array_equal(kept.z[there], np.asarray(SKILLS)[origins[:, 1]])
    np.testing.assert_array_equal(kept.time[there], origins[:, 3])
    np.testing.assert_array_equal(kept.terminal[there], [steps[i][1] for i in here])
    assert not np.any(kept.s[len(here) :]), "nothing is written where nothing was to be kept"


@settings(max_examples=40)
@given(histories, sizes, st.sampled_from([1, HORIZON + 2]))
def test_earlier_steps_are_those_of_the_same_episode_that_are_still_there(epochs, size, most):
    steps, replay = everything(epochs), filled(epochs, size)
    here = at(size, len(steps))
    before, is_there = map(np.asarray, earlier(replay, jnp.arange(size), most))
    assert before.shape == is_there.shape == (size, most)
    states = np.asarray(replay.kept.s)
    for place, number in enumerate(here):
        epoch, skill, episode, time = steps[number][0]
        for back in range(1, most + 1):
            still_kept = number - back >= max(len(steps) - size, 0)
            assert is_there[place, back - 1] == (still_kept and steps[number - back][0][:3] == (epoch, skill, episode))
            if is_there[place, back - 1]:
                assert states[before[place, back - 1]].tolist() == [epoch, skill, episode, time - back]


def test_an_episode_that_the_horizon_cuts_off_is_not_over():
    """All four end with their last step, two by themselves: one of these with the very last one that there can be."""
    kept = filled([([HORIZON, HORIZON, 2, 2], [False, True, False, True])], MOST).kept
    last = np.asarray([4, 9, 11, 13])
    np.testing.assert_array_equal(np.flatnonzero(kept.terminal), last[[1, 3]])
    np.testing.assert_array_equal(kept.next_s[last, 3], [HORIZON, HORIZON, 2, 2])


@pytest.mark.parametrize("n_epoch", [1, 4])
def test_draws_are_uniform_over_what_was_written(n_epoch):
    """One epoch leaves the ring nearly empty, four have overwritten its beginning."""
    epochs = [([5, 1, 3, 4], [True, False, True, False])] * n_epoch
    replay = filled(epochs, LARGER)
    index, drawn = jax.jit(Replay.draw, static_argnums=1)(replay, 20_000, jax.random.key(0))
    counts = np.bincount(index, minlength=replay.size)
    n_kept = min(13 * n_epoch, replay.size)
    assert counts[n_kept:].sum() == 0
    assert scipy.stats.chisquare(counts[:n_kept]).pvalue > SURPRISING
    jax.tree.map(lambda some, every: np.testing.assert_array_equal(some, every[index]), drawn, replay.kept)


def test_without_skills_z_has_no_entries():
    replay = filled([([5, 1, 3, 4], [True] * 4)], MOST, skills=jnp.zeros((N_SKILL, 0)))
    _, drawn = replay.draw(6, jax.random.key(1))
    assert replay.written == 13
    assert replay.kept.z.shape == (MOST, 0) and drawn.z.shape == (6, 0) and drawn.s.shape == (6, 4)


def test_no_step_before_is_asked_for():
    before, is_there = Replay.empty(MOST, TASK, 0).earlier(jnp.arange(3), 0)
    assert before.shape == is_there.shape == (3, 0)
