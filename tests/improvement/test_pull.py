"""The metric against numbers of steps, and the fair division's aims on a line, where they can be written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.improvement.pull import ENDLESS, SMALLEST_DENSITY, divide, metric_loss
from leads.nn.dual import Dual
from leads.nn.learner import Learner, take_steps
from leads.nn.networks import MLP

LINE = jnp.linspace(-1, 1, 40)[:, None]
START = jnp.zeros(1)


def identity(scale: float = 10.0) -> MLP:
    """phi(x) = scale x, without a hidden layer."""
    return jax.tree.map(lambda w: jnp.full_like(w, scale if w.ndim == 2 else 0), MLP(jax.random.key(0), (1, 1)))


def lefts_and_rights() -> np.ndarray:
    """Two skills that visit the two halves of the line, each twice as much as going everywhere alike."""
    left = np.where(np.asarray(LINE)[:, 0] < 0, 2.0, 0.0)
    return np.stack([left, left[::-1]])


@pytest.fixture(scope="module")
def learnt():
    """phi of a line of twenty cells, on which a step goes one cell to either side."""
    places = lambda cell: jnp.stack([cell / 10 - 1, jnp.zeros_like(cell)], -1)

    def step(dual, key):
        keys = jax.random.split(key, 3)
        cell = jax.random.randint(keys[0], (128,), 0, 21).astype(jnp.float32)
        after = jnp.clip(cell + jax.random.choice(keys[1], jnp.array([-1.0, 1.0]), (128,)), 0, 20)
        elsewhere = jax.random.randint(keys[2], (128,), 0, 21).astype(jnp.float32)
        return dual.step(metric_loss, places(cell), places(after), places(elsewhere))

    dual = Learner.of(Dual.of(MLP(jax.random.key(0), (2, 32, 3)), 30.0), 3e-3)
    dual, _ = jax.jit(lambda dual: take_steps(step, dual, 3000, jax.random.key(1)))(dual)
    return np.asarray(dual.model.phi(places(jnp.arange(21.0))))


def test_a_step_of_the_world_is_one_long(learnt):
    lengths = np.linalg.norm(np.diff(learnt, axis=0), axis=-1)
    assert lengths.min() > 0.7 and lengths.max() < 1.25, lengths


def test_distances_are_numbers_of_steps(learnt):
    """The straightest map: no two places are nearer than the way between them, by more than a tenth."""
    steps = np.abs(np.subtract.outer(np.arange(21), np.arange(21)))
    distance = np.linalg.norm(learnt[:, None] - learnt[None], axis=-1)
    assert np.all(distance[steps > 4] > 0.75 * steps[steps > 4])
    assert np.all(distance < 1.25 * steps + 0.1)


def test_each_place_is_given_away_whole_and_fairly():
    """Even if one skill has visited everything more than the other."""
    density = lefts_and_rights() * np.array([[5.0], [1.0]])
    share = divide(jnp.asarray(density), 0.05, "middle", 1.5, identity(), LINE, START).share
    np.testing.assert_allclose(share.sum(0), 1, rtol=1e-5)
    np.testing.assert_allclose(share.sum(1), 20, rtol=2e-2)


def test_novelty_is_one_over_the_density_of_all():
    density = lefts_and_rights() * 3
    novelty = divide(jnp.asarray(density), 0.05, "middle", 1.5, identity(), LINE, START).novelty
    np.testing.assert_allclose(novelty, 1 / (density.mean(0) + SMALLEST_DENSITY), rtol=1e-5)


def test_the_aim_is_the_middle_of_the_share():
    """Evenly visited halves: their middles, in phi."""
    aims = divide(jnp.asarray(lefts_and_rights()), 0.05, "middle", 1.5, identity(10.0), LINE, START).aims
    np.testing.assert_allclose(aims, [[-5.0], [5.0]], atol=0.3)


def test_new_places_weigh_more():
    density = lefts_and_rights()
    density[0, 0] = 0.02
    aims = divide(jnp.asarray(density), 0.05, "middle", 1.5, identity(10.0), LINE, START).aims
    assert aims[0, 0] < -5.8 and abs(aims[1, 0] - 5) < 0.3


def test_places_beyond_all_that_was_visited_draw_the_skills_outwards():
    """Half as far again, so up to 15: halves of that line have their middles at 7.5, and new places weigh more."""
    aims = divide(jnp.asarray(lefts_and_rights()), 0.1, "beyond", 1.5, identity(10.0), LINE, START).aims
    assert -13 < aims[0, 0] < -7.5 and 7.5 < aims[1, 0] < 13


def test_who_comes_last_on_one_side_is_sent_to_the_other():
    """Three skills one behind the other on the way from 0 to 10: thirds of the line from -15 to 15."""
    at = np.asarray(LINE)[:, 0]
    density = np.stack([np.where((at >= low) & (at < low + 0.7), 3.0, 0.0) for low in (-1, -0.3, 0.4)])
    places = (LINE + 1) / 2
    aims = np.asarray(divide(jnp.asarray(density), 0.1, "beyond", 1.5, identity(10.0), places, START).aims)[:, 0]
    np.testing.assert_allclose(aims, [-10, 0, 12], atol=3)


def test_where_there_is_no_way_on_little_is_left_to_divide():
    """The same, but the last skill has stood at the end of its way for long: it is called back."""
    at = np.asarray(LINE)[:, 0]
    density = np.stack([np.where((at >= low) & (at < low + 0.7), 3.0, 0.0) for low in (-1, -0.3, 0.4)])
    density[2] = np.where(at > 0.95, 100.0, 0.0)
    places = (LINE + 1) / 2
    aims = np.asarray(divide(jnp.asarray(density), 0.1, "beyond", 1.5, identity(10.0), places, START).aims)[:, 0]
    assert aims[2] < 8, aims


def test_an_aim_without_end_is_a_direction():
    way = divide(jnp.asarray(lefts_and_rights()), 0.05, "middle", 1.5, identity(), LINE, START).aims
    endless = divide(jnp.asarray(lefts_and_rights()), 0.05, "endless", 1.5, identity(), LINE, START).aims
    np.testing.assert_allclose(endless, ENDLESS * way, rtol=1e-4)


@pytest.mark.parametrize(
    "aim, whose", [("middle", [0, 0]), ("endless", [1, 1]), ("outward", [1, 1]), ("frontmost", [1, 1])]
)
def test_it_is_known_whose_aim_has_no_end(aim, whose):
    division = divide(jnp.asarray(lefts_and_rights()), 0.05, aim, 1.5, identity(), LINE, START)
    np.testing.assert_array_equal(division.endless, whose)


def test_only_who_is_ahead_is_pulled_without_end():
    at = np.asarray(LINE)[:, 0]
    density = np.stack([np.where((at >= low) & (at < low + 0.7), 3.0, 0.0) for low in (-1, -0.3, 0.4)])
    places = (LINE + 1) / 2
    middle, front = (
        divide(jnp.asarray(density), 0.05, aim, 1.5, identity(), places, START) for aim in ("middle", "frontmost")
    )
    np.testing.assert_array_equal(front.endless, [False, False, True])
    np.testing.assert_allclose(front.aims[:2], middle.aims[:2], rtol=1e-2)
    np.testing.assert_allclose(front.aims[2], ENDLESS * middle.aims[2], rtol=1e-2)


@pytest.mark.parametrize("farther", [0.99, 0.9, 0.7])
def test_who_goes_a_little_farther_stays_in_front(farther):
    """Whatever its number; both visit all of their way evenly."""
    places = (LINE + 1) / 2
    density = jnp.stack([jnp.ones(40), jnp.where(places[:, 0] <= farther, 1 / farther, 0.0)])
    for skills in ([0, 1], [1, 0]):
        division = divide(density[jnp.asarray(skills)], 0.05, "frontmost", 1.5, identity(), places, START)
        np.testing.assert_array_equal(division.endless, np.asarray(skills) == 0)


def test_of_skills_that_go_the_same_way_alike_one_is_in_front():
    """Three that visit all of the line from 0 to 10 evenly: each has a third of it, in their order."""
    density, places = jnp.ones((3, 40)), (LINE + 1) / 2
    aims = lambda aim: np.asarray(divide(density, 0.05, aim, 1.5, identity(), places, START).aims)[:, 0]
    np.testing.assert_allclose(aims("middle"), [5, 5, 5], atol=1e-2)
    near, middle, far = aims("frontmost")
    assert near < 4.2 and 4.2 < middle < 5.8 and far > 5.8 * ENDLESS


def test_outward_is_beyond_without_end_for_everyone():
    """Of two on the right the nearer one is pulled on as well."""
    at = np.asarray(LINE)[:, 0]
    between = lambda low, high: np.where((at >= low) & (at <= high), 3.0, 0.0)
    density = jnp.asarray(np.stack([between(-1, 0), between(0, 0.5), between(0.5, 1)]))
    aims = lambda aim: divide(density, 0.1, aim, 1.5, identity(), LINE, START).aims[:, 0]
    np.testing.assert_allclose(aims("outward") / aims("beyond"), [ENDLESS] * 3, rtol=1e-4)


def test_progress_is_the_way_towards_ones_own_aim():
    """It adds up over a path to how much nearer its end is, and is a loss for the other skill."""
    division = divide(jnp.asarray(lefts_and_rights()), 0.05, "middle", 1.5, identity(10.0), LINE, START)
    path = jnp.linspace(0, -0.4, 9)[:, None]
    own, other = (division.progress(path[:-1], path[1:], jnp.full(8, z)) for z in (0, 1))
    np.testing.assert_allclose(own.sum(), 4, atol=1e-2)
    np.testing.assert_allclose(other.sum(), -4, atol=1e-2)


def test_going_on_is_the_part_of_a_step_that_lies_on_the_way_of_the_last():
    """Straight on, back, standing still, and after standing; phi is ten times the place."""
    division = divide(jnp.asarray(lefts_and_rights()), 0.05, "middle", 1.5, identity(10.0), LINE, START)
    last, at, after = jnp.asarray([[0.0, 0.0, 0.0, 0.1], [0.1, 0.1, 0.1, 0.1], [0.15, 0.05, 0.1, 0.2]])[..., None]
    np.testing.assert_allclose(division.going_on(last, at, after), [0.5, -0.5, 0, 0], atol=1e-5)
