"""States as networks see them: scaled by the mean and spread of all that was visited."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.data.episodes import Episodes
from leads.data.running_statistics import SMALLEST, RunningStatistics
from leads.data.scaling import LINEAR, SETTLED, Scaling
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


def test_far_states_stay_apart_and_grow_with_the_logarithm_only():
    """The map of (s - 1) / 2 by hand; its slope at 10, where the logarithm begins, is 1 from both sides."""
    statistics = RunningStatistics(jnp.asarray([1.0]), jnp.asarray([4.0]), jnp.asarray(9.0))
    scaling = Scaling(task(), statistics, None)
    seen = lambda x: np.asarray(scaling(jnp.asarray(x)[:, None] * 2 + 1))[:, 0]
    near = np.linspace(-LINEAR, LINEAR, 41, dtype=np.float32)
    np.testing.assert_array_equal(seen(near), near)
    assert seen([150.0, -150.0, 1e20]) == pytest.approx(
        [10 + 10 * np.log(15), -10 - 10 * np.log(15), 10 + 190 * np.log(10)]
    )
    far = seen(np.linspace(-200, 200, 4001, dtype=np.float32))
    assert np.all(np.diff(far) > 0) and np.diff(far).max() < 0.11
    slope = jax.vmap(jax.grad(lambda x: scaling(2 * x[None] + 1)[0]))(jnp.asarray([9.99, 10.01, -10.01, 150.0]))
    np.testing.assert_allclose(slope, [1, 1, 1, 1 / 15], rtol=2e-3)


def test_what_scales_states_settles_and_far_places_do_not_shrink():
    rng = np.random.default_rng(2)
    scaling = Scaling.of(task())
    while scaling.statistics.count < SETTLED:
        before, scaling = scaling, see(scaling, random_episodes(rng, n_skill=30, horizon=100))
    assert before.statistics.count < SETTLED <= scaling.statistics.count < SETTLED + 9000
    assert not np.array_equal(before.statistics.mean, scaling.statistics.mean)
    later = see(scaling, random_episodes(rng, shift=100.0))
    jax.tree.map(np.testing.assert_array_equal, later.statistics, scaling.statistics)


def test_of_a_task_of_one_scale_states_stay_as_they_are():
    maze = make_task("maze-hard")
    assert maze.one_scale
    scaling = Scaling.of(maze).updated(random_episodes(np.random.default_rng(0)))
    assert jax.tree.leaves(scaling) == []
    states = jnp.asarray([[0.25, -0.5], [1e9, -1e9]])
    assert scaling(states) is states
    np.testing.assert_array_equal(scaling.features(states), states)


# Features


def episodes_of(states: np.ndarray, lengths: list[int]) -> Episodes:
    """One skill's episodes."""
    n_episode, time, _ = states.shape
    none = jnp.zeros((1, n_episode, time - 1, 1))
    lengths_ = jnp.asarray([lengths], jnp.int32)
    return Episodes(jnp.asarray(states[None], jnp.float32), none, lengths_, jnp.zeros((1, n_episode), bool))


def walk(rng, spread=(3.0, 0.02), steps=50) -> Episodes:
    """Two episodes, one of which ends early, with rubbish behind its end."""
    states = 5 + np.asarray(spread) * rng.normal(size=(2, steps + 1, 2))
    states[1, 31:] = 1e9
    return episodes_of(states, [steps, 30])


@pytest.mark.parametrize("one_scale", [True, False])
def test_without_a_unit_it_is_the_spread_in_the_first_epoch_and_then_kept(one_scale):
    rng = np.random.default_rng(3)
    unscaled = replace(task((1.0, 2.0), unit=None, centre=None), one_scale=one_scale)
    scaling, first = Scaling.of(unscaled), walk(rng)
    np.testing.assert_array_equal(scaling.unit, [1, 1])
    measured = see(scaling, first)
    np.testing.assert_allclose(measured.unit, real_states(first).std(0), rtol=1e-4)
    again = see(measured, walk(rng, spread=(100.0, 100.0)))
    np.testing.assert_array_equal(again.unit, measured.unit)
    at = np.float32([[1.0, 2.0], [4.0, 2.5]])
    np.testing.assert_allclose(again.features(at), (at - [1, 2]) / np.asarray(measured.unit), rtol=1e-6)


def test_a_feature_that_hardly_varies_is_not_magnified():
    first = walk(np.random.default_rng(4), spread=(2.0, 1e-4))
    measured = see(Scaling.of(task((5.0, 5.0), unit=None, centre=None)), first)
    np.testing.assert_allclose(measured.unit, [real_states(first)[:, 0].std(), 1.0], rtol=1e-4)


def test_a_unit_of_the_tasks_own_is_no_part_of_the_state_and_stays():
    own = task((1.0, 2.0), unit=(4.0, 0.5), centre=None)
    scaling = see(Scaling.of(own), walk(np.random.default_rng(5)))
    assert scaling.measured is None and scaling.unit.tolist() == [4, 0.5]
    np.testing.assert_allclose(scaling.features(np.float32([3.0, 2.25])), [0.5, 0.5])
    middle = see(Scaling.of(replace(own, centre=(3.0, 3.0))), walk(np.random.default_rng(5)))
    np.testing.assert_allclose(middle.features(np.float32([3.0, 2.5])), [0, -1])


def test_of_an_angle_networks_see_the_cosine_and_sine():
    """By hand, behind the other features; a small turn by the unit is a step of 1, and a whole turn no step at all."""
    turning = task((0.0, 0.0), unit=(0.1, 2.0), centre=None, periodic=(0,))
    assert (turning.feature_size, turning.network_feature_size) == (2, 3)
    seen = Scaling.of(turning).features
    at = np.float32([[np.pi / 3, 4.0], [-np.pi, 0.0], [np.pi, 0.0]])
    np.testing.assert_allclose(seen(at), [[2, 5, 5 * 3**0.5], [0, -10, 0], [0, -10, 0]], atol=1e-5)
    step = seen(np.float32([1.01, 0])) - seen(np.float32([1.0, 0]))
    assert float(jnp.linalg.norm(step)) == pytest.approx(0.1, rel=1e-3)


def test_the_spread_of_an_angle_is_that_on_the_circle():
    """Of points by -pi and pi, which are near each other, as of points by 0."""
    rng, spreads = np.random.default_rng(6), []
    unscaled = task((0.0, 0.0), unit=None, centre=None, periodic=(1,))
    noise = 0.05 * rng.normal(size=(2, 41, 2))
    for around in (0.0, np.pi):
        states = noise + [0.0, around]
        states[..., 1] = np.arctan2(np.sin(states[..., 1]), np.cos(states[..., 1]))
        spreads.append(np.asarray(see(Scaling.of(unscaled), episodes_of(states, [40, 40])).unit))
    np.testing.assert_allclose(spreads[0], spreads[1], rtol=1e-4)
    np.testing.assert_allclose(spreads[0], noise[:, 1:].reshape(-1, 2).std(0), rtol=5e-3)
