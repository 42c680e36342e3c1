"""States as networks see them: scaled by the mean and spread of all that was visited."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.data.episodes import Episodes
from leads.data.running_statistics import SMALLEST, RunningStatistics
from leads.data.scaling import LARGEST, Scaling
from leads.tasks import make_task
from leads.tasks.task import Task

SCALES = np.array([1.0, 1e-2, 50.0, 1e3])
CENTRES = np.array([0.0, 3.0, -200.0, 1e4])


def task(start=(0.5, 3.0, 1.0, 9e3), **changes) -> Task:
    """A task whose numbers are of all sizes; only its start is used."""
    return replace(make_task("maze-easy"), start=np.float32(start), one_scale=False, **changes)


def random_episodes(rng, n_skill=2, n_episode=3, horizon=20, shift=0.0) -> Episodes:
    """Episodes of random lengths, with rubbish behind their ends, which should not be looked at."""
    lengths = rng.integers(1, horizon + 1, (n_skill, n_episode))
    states = CENTRES + SCALES * (shift + rng.normal(size=(n_skill, n_episode, horizon + 1, 4)))
    behind = np.arange(horizon + 1) > lengths[..., None]
    states = np.where(behind[..., None], 1e30, states)
    return Episodes(
        states=jnp.asarray(states, jnp.float32),
        actions=jnp.zeros((n_skill, n_episode, horizon, 1)),
        lengths=jnp.asarray(lengths, jnp.int32),
        terminated=jnp.ones((n_skill, n_episode), bool),
    )


see = jax.jit(lambda scaling, episodes: scaling.updated(episodes))


def real_states(episodes: Episodes) -> np.ndarray:
    """The states that real steps end in, one after the other, in double precision."""
    states, lengths = np.asarray(episodes.states, np.float64), np.asarray(episodes.lengths)
    return np.concatenate([states[i][1 : lengths[i] + 1] for i in np.ndindex(*lengths.shape)])


def test_mean_and_variance_are_those_of_all_real_states_of_all_batches():
    rng = np.random.default_rng(0)
    batches = [random_episodes(rng, shift=shift) for shift in (0, 2, -1, 0)]
    scaling, visited = Scaling.of(task()), np.empty((0, 4))
    for episodes in batches:
        scaling, visited = see(scaling, episodes), np.concatenate([visited, real_states(episodes)])
        assert scaling.statistics.mean == pytest.approx(visited.mean(0), rel=1e-6, abs=1e-5)
        assert scaling.statistics.variance == pytest.approx(visited.var(0), rel=2e-4)
        assert scaling.statistics.count == len(visited)
    seen = scaling(jnp.asarray(visited, jnp.float32))
    assert np.mean(seen, 0) == pytest.approx(np.zeros(4), abs=1e-2)
    assert np.std(seen, 0) == pytest.approx(np.ones(4), abs=1e-2)


def test_after_the_first_batch_nothing_is_left_of_the_start():
    episodes = random_episodes(np.random.default_rng(1))
    one, other = (see(Scaling.of(task(start)), episodes) for start in ((0, 3, -200, 1e4), (7, 3.1, -100, 8e3)))
    assert one.statistics.mean == pytest.approx(np.asarray(other.statistics.mean), rel=1e-6, abs=1e-4)
    assert one.statistics.variance == pytest.approx(np.asarray(other.statistics.variance), rel=2e-4)
    assert one.statistics.count == other.statistics.count == len(real_states(episodes))


def test_before_anything_was_visited_the_start_is_nought_and_a_unit_is_one():
    scaling = Scaling.of(task())
    states = task().start + np.float32([[0, 0, 0, 0], [1, -1, 2, 0.5]])
    assert np.asarray(scaling(states)) == pytest.approx(np.array([[0, 0, 0, 0], [1, -1, 2, 0.5]]), abs=1e-6)


def test_what_does_not_vary_is_not_blown_up():
    states = np.zeros((1, 1, 101, 2), np.float32)
    states[..., 1] = 5 + 1e-5 * np.sin(np.arange(101))
    episodes = Episodes(jnp.asarray(states), jnp.zeros((1, 1, 100, 1)), jnp.full((1, 1), 100), jnp.zeros((1, 1), bool))
    scaling = Scaling.of(task((0, 5))).updated(episodes)
    scaled = np.asarray(scaling(jnp.asarray([[0.0, 5.0], [SMALLEST / 2, 5 + SMALLEST]])))
    assert scaled == pytest.approx(np.array([[0, 0], [0.5, 1]]), abs=0.02)


def test_scaled_states_are_clipped():
    scaling = Scaling(RunningStatistics(jnp.asarray([1.0, 1.0]), jnp.asarray([4.0, 4.0]), jnp.asarray(9.0)))
    assert scaling(jnp.asarray([[1.0, 3.0], [21.0, 21.5], [1e20, -jnp.inf]])).tolist() == [
        [0, 1],
        [LARGEST, LARGEST],
        [LARGEST, -LARGEST],
    ]


def test_of_a_task_of_one_scale_states_stay_as_they_are():
    maze = make_task("maze-hard")
    assert maze.one_scale
    scaling = Scaling.of(maze)
    assert jax.tree.leaves(scaling) == []
    assert scaling.updated(random_episodes(np.random.default_rng(0))) is scaling
    states = jnp.asarray([[0.25, -0.5], [1e9, -1e9]])
    assert scaling(states) is states
