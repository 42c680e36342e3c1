"""A loaded run is the trained one."""

import gymnasium
import jax
import numpy as np
import pytest

import leads


def test_rollouts_follow_the_policy_through_the_gymnasium_environment(tiny_run):
    """With its own noise drawn again, each action of `act` moves the environment along the rollout's path."""
    agent = leads.load(tiny_run)
    environment = gymnasium.make("leads/MazeU-v0")
    s, _ = environment.reset()
    for t in range(20):
        a = agent.act(s, skill=3, key=jax.random.key(t))
        assert a.shape == (2,) and np.all(np.abs(a) <= 1)
        s, _, terminated, _, _ = environment.step(a)
        if terminated:
            break
    paths = agent.rollout(3, episodes=4)
    assert len(paths) == 4
    for path in paths:
        np.testing.assert_array_equal(path[0], agent.task.start)
        assert np.all(np.abs(np.diff(path, axis=0)) <= 0.05 + 1e-6) and 2 <= len(path) <= 201


def test_the_mean_action_is_the_default_and_repeats(tiny_run):
    agent, again = leads.load(tiny_run), leads.load(tiny_run)
    observation = np.asarray([0.1, -0.2])
    np.testing.assert_array_equal(agent.act(observation, 1), again.act(observation, 1))
    assert not np.array_equal(agent.act(observation, 1), agent.act(observation, 1, key=jax.random.key(0)))


def test_measure_is_the_exponential_of_its_log_and_takes_many_states(tiny_run):
    agent = leads.load(tiny_run)
    grid = np.random.default_rng(0).uniform(-1, 1, (3, 5, 2))
    m, f = (agent.measure(agent.task.start, grid, 2, log=log) for log in (False, True))
    assert m.shape == (3, 5)
    np.testing.assert_allclose(m, np.exp(f), rtol=1e-5)
    one = agent.measure(agent.task.start, grid[1, 2], 2)
    assert one.shape == () and one == pytest.approx(m[1, 2], rel=1e-5)


def test_what_is_not_there_is_refused(tiny_run, random_run, tmp_path):
    with pytest.raises(leads.UserError, match="skill: 6 is unknown"):
        leads.load(tiny_run).rollout(6)
    with pytest.raises(leads.UserError, match="learns no measure"):
        leads.load(random_run).measure(np.zeros(2), np.zeros(2), 0)
    with pytest.raises(leads.UserError, match="not a run directory"):
        leads.load(tmp_path)
