"""SAC as a way to improve LEADS's policy: its reward by hand, what it learns from, and what it refuses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import leads
from leads.config.fields import build
from leads.data.episodes import Episodes
from leads.data.replay import Transitions
from leads.improvement.pull import Division
from leads.methods.leads import Leads
from leads.methods.leads_config import LeadsConfig
from leads.nn.networks import MLP
from leads.rollouts.on_device import rollout
from leads.tasks import make_task

MAZE = make_task("maze-u")
SMALL = {
    "improve": "sac", "n_skill": 2, "n_episode": 2, "actor_hidden": (8,), "critic_hidden": (8,), "metric_hidden": (8,),
    "measure_hidden": (8,), "measure_steps": 2, "measure_batch_size": 16, "n_targets": 4, "archive_size": 32,
    "archive_admit": 16, "batch_size": 16, "samples_per_step": 20, "replay_size": 1000,
}  # fmt: skip


def method(**options) -> Leads:
    return Leads(build(LeadsConfig, SMALL | options), MAZE)


def explored(learner: Leads, state, key=1):
    explore = jax.tree_util.Partial(learner.explore, state)
    return rollout(MAZE, explore, 2, 2, learner.noise, jax.random.key(key))


def test_the_reward_is_share_times_novelty_going_on_and_progress_towards_the_aim():
    """Two archived places; phi is the place itself, and skill 1 is pulled to the right; one step begins its episode."""
    learner = method(share_weight=2.0, novelty_exponent=0.5, roam_weight=5.0, pull_weight=3.0)
    state = learner.init(jax.random.key(0))
    places = jnp.zeros((32, 2)).at[1:].set(0.5)
    state = eqx.tree_at(lambda s: s.archive.states, state, places)
    phi = jax.tree.map(lambda w: jnp.eye(2) if w.ndim == 2 else jnp.zeros(2), MLP(jax.random.key(0), (2, 2)))
    share = jnp.zeros((2, 32)).at[1].set(jnp.where(jnp.arange(32) == 0, 0.25, 0.75))
    novelty = jnp.where(jnp.arange(32) == 0, 4.0, 9.0)
    division = Division(share, novelty, phi, jnp.array([[0.0, 0.0], [10.0, 0.0]]), jnp.zeros(2, bool))
    s, next_s = jnp.array([[0.0, 0.1], [0.1, 0.2]]), jnp.array([[0.1, 0.1], [0.6, 0.5]])
    drawn = Transitions(s, jnp.zeros((2, 2)), state.skills[jnp.array([1, 1])], next_s, jnp.zeros(2, bool), jnp.zeros(2))
    last_s = jnp.array([[0.0, 0.1], [0.0, 0.4]])
    r, metrics = learner.improvement.reward(state, division, drawn, last_s, s, next_s)
    nearer = lambda a, b: np.linalg.norm(np.subtract(a, (10, 0))) - np.linalg.norm(np.subtract(b, (10, 0)))
    expected = [
        2 * 0.25 * 2 + 3 * nearer((0, 0.1), (0.1, 0.1)),
        2 * 0.75 * 3 + 3 * nearer((0.1, 0.2), (0.6, 0.5)) + 5 * 0.75 * (0.1 * 0.5 - 0.2 * 0.3),
    ]
    np.testing.assert_allclose(r, expected, rtol=1e-3)
    np.testing.assert_allclose(metrics["reward"], np.mean(expected), rtol=1e-3)


def test_every_sample_is_kept_with_its_skill_and_steps_follow_the_samples():
    learner = method()
    state = learner.init(jax.random.key(0))
    episodes = explored(learner, state)
    after, _ = jax.jit(learner.update)(state, episodes, jax.random.key(2))
    samples = int(episodes.samples())
    assert int(after.policy.replay.written) == samples
    assert int(after.policy.sac.steps) == samples // 20
    z = np.asarray(after.policy.replay.kept.z[:samples])
    lengths = np.asarray(episodes.lengths.sum(1))
    np.testing.assert_array_equal(z, np.repeat(np.asarray(state.skills), lengths, axis=0))


@pytest.mark.parametrize("visits", ["measure", "count"])
def test_an_epoch_is_the_same_twice_and_finite(visits):
    learner = method(visits=visits)
    state = learner.init(jax.random.key(0))
    update = jax.jit(learner.update)
    once, twice = (update(state, explored(learner, state), jax.random.key(2)) for _ in range(2))
    assert all(map(np.array_equal, *map(jax.tree.leaves, (once, twice))))
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(once))


def test_the_learnt_skill_is_the_averaged_policy_and_exploring_is_done_by_the_last():
    learner = method(policy_average=0.5)
    state = learner.init(jax.random.key(0))
    state, _ = jax.jit(learner.update)(state, explored(learner, state), jax.random.key(2))
    at = jnp.zeros(2), jnp.int32(1), jnp.zeros(2)
    as_learnt = eqx.tree_at(lambda s: s.policy.sac.actor.model, state, state.policy.sac.average)
    np.testing.assert_array_equal(learner.act(state, *at), learner.explore(as_learnt, *at))
    assert not np.array_equal(learner.act(state, *at), learner.explore(state, *at))


def test_a_step_knows_the_one_before_it_in_its_episode():
    """Two episodes of three steps on a line, of one skill that owns every place: the mean of what going on gives."""
    learner = method(share_weight=0.0, roam_weight=1.0, pull="none", n_skill=1, batch_size=2000)
    state = learner.init(jax.random.key(0))
    x = jnp.zeros((4, 2)).at[:, 0].set(jnp.array([0.0, 1.0, 3.0, 6.0]))
    states = jnp.zeros((1, 2, 201, 2)).at[0, :, :4].set(x)
    episodes = Episodes(states, jnp.zeros((1, 2, 200, 2)), jnp.full((1, 2), 3), jnp.zeros((1, 2), bool))
    _, metrics = learner.improvement.improve(learner, state, episodes, episodes, jax.random.key(2))
    way = np.diff(state.policy.metric.model.phi(state.scaling.features(x)), axis=0)
    expected = np.mean([0, way[0] @ way[1], way[1] @ way[2]])
    np.testing.assert_allclose(metrics["roam_reward"], expected, rtol=0.1)


def test_more_is_collected_with_skills_pulled_without_end_once_they_have_parted():
    learner = method(pull="endless", front_episodes=3.0, together_samples=500)
    state = learner.init(jax.random.key(0))
    np.testing.assert_array_equal(learner.collects(state), [1, 1])
    update, seen = jax.jit(learner.update), []
    for epoch in range(6):
        state, _ = update(state, explored(learner, state, epoch), jax.random.key(epoch))
        seen.append((int(state.policy.replay.written) > 500, *np.asarray(learner.collects(state)).tolist()))
    assert {row[0] for row in seen} == {False, True}
    assert all(row[1:] == ((3, 3) if row[0] else (1, 1)) for row in seen), seen


def test_more_is_collected_only_with_those_in_front():
    """Two skills on one way, of whom one goes half as far."""
    learner = method(pull="frontmost", front_episodes=3.0, visits="count", archive_admit=32)
    state = learner.init(jax.random.key(0))
    states = jnp.zeros((2, 2, 201, 2)).at[0, ..., 0].set(jnp.linspace(0, 0.4, 201))
    states = states.at[1, ..., 0].set(jnp.linspace(0, 0.2, 201)) + learner.start
    episodes = Episodes(states, jnp.zeros((2, 2, 200, 2)), jnp.full((2, 2), 200), jnp.zeros((2, 2), bool))
    state, _ = jax.jit(learner.update)(state, episodes, jax.random.key(2))
    np.testing.assert_array_equal(learner.collects(state), [3, 1])


@pytest.mark.parametrize("pull", ["frontmost", "none"])
def test_a_state_is_of_the_same_types_after_an_epoch_so_nothing_is_compiled_twice(pull):
    learner = method(pull=pull, policy_average=0.9)
    state = jax.tree.map(jnp.asarray, learner.init(jax.random.key(0)))
    after, _ = jax.jit(learner.update)(state, explored(learner, state), jax.random.key(2))
    types = lambda state: [(x.shape, x.dtype, x.weak_type) for x in jax.tree.leaves(state)]
    assert types(after) == types(state)


def test_skills_are_together_for_the_first_samples():
    """Up to `together_samples` every skill is pulled ahead, then as `pull` says."""
    aims = lambda samples, **options: method(**options).improvement.divide(learner, state, jnp.int32(samples)).aims
    learner = method()
    state = learner.init(jax.random.key(0))
    state, _ = jax.jit(learner.update)(state, explored(learner, state), jax.random.key(2))
    outward, middle = aims(1, pull="outward"), aims(1, pull="middle")
    assert np.abs(outward - middle).max() > 1e-3
    later = {"pull": "middle", "together_samples": 100}
    np.testing.assert_allclose(aims(100, **later), outward, rtol=1e-4)
    np.testing.assert_allclose(aims(101, **later), middle, rtol=1e-4)


def test_counted_visits_are_one_on_average_over_the_archive():
    """In the first epoch there is no history; only steps that really happened count."""
    learner = method(visits="count")
    state = learner.init(jax.random.key(0))
    after, _ = jax.jit(learner.update)(state, explored(learner, state), jax.random.key(2))
    inherited = 1.0  # a state that was taken in has the visit of who found it
    visits = np.asarray(after.archive.visits)
    assert (visits.mean(0) >= 1).all() and (visits.mean(0) <= 1 + inherited).all()


def test_without_a_pull_only_the_share_is_rewarded():
    learner = method(pull="none")
    state = learner.init(jax.random.key(0))
    _, metrics = jax.jit(learner.update)(state, explored(learner, state), jax.random.key(2))
    assert metrics["pull_reward"] == 0 and metrics["reward"] == metrics["share_reward"] > 0


def test_a_replay_smaller_than_an_epoch_is_refused(tmp_path):
    with pytest.raises(leads.UserError, match="replay_size: 100 is not allowed; give at least an epoch's samples, 800"):
        leads.train("maze-u", samples=100, out=tmp_path / "run", **SMALL | {"replay_size": 100})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("more", [{}, {"pull": "frontmost", "front_episodes": 2, "policy_average": 0.9}])
def test_a_resumed_run_ends_in_the_same_bits(more, tmp_path):
    whole = leads.train("maze-u", samples=600, out=tmp_path / "whole", **SMALL | more)
    part = leads.train("maze-u", samples=200, out=tmp_path / "part", **SMALL | more)
    leads.resume(part, samples=600)
    read = lambda run: (run / "metrics.jsonl").read_text()
    assert read(whole) == read(part)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"wanted_entropy": 0.7}, "wanted_entropy: 0.7 is not allowed; give a number up to 0.69"),
        ({"border": 1e-20}, "border: 1e-20 is not allowed; give a number from 0.001"),
        ({"beyond": 1e20}, "beyond: 1e.20 is not allowed; give a number up to 100"),
        ({"beyond": 0.5}, "beyond: 0.5 is not allowed; give a number from 1"),
        ({"epoch_samples": 0}, "epoch_samples: 0 is not allowed; give a number above 0"),
        ({"from_start": 1.5}, "from_start: 1.5 is not allowed; give a number from 0 to 1"),
        ({"share_weight": 0, "pull": "none"}, "share_weight: 0 is not allowed without roaming or a pull"),
        ({"share_weight": 0, "pull_weight": 0, "pull": "beyond"}, "share_weight: 0 is not allowed without"),
    ],
)
def test_values_that_would_teach_nothing_are_refused(options, message):
    with pytest.raises(leads.UserError, match=message):
        method(**options)


def test_every_batch_of_the_measure_has_its_share_of_starts():
    """Though batches are drawn together."""
    learner = method(from_start=0.5)
    state = learner.init(jax.random.key(0))
    batch = learner._draw(state, explored(learner, state), 2, jax.random.key(3))
    at_start = np.all(np.isclose(batch.s, learner.start), axis=-1)
    assert at_start.shape == (2, 16) and np.all(at_start[:, :8]) and at_start[:, 8:].mean() < 0.5
