"""A loaded run is the trained one."""

import gymnasium
import jax
import numpy as np
import pytest

import leads


class Still(gymnasium.Env):
    """Stays where it is, and counts how many of its kind are open."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    n_open = 0

    def __init__(self, render_mode=None):
        type(self).n_open += 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 0.0, False, False, {}

    def close(self):
        type(self).n_open -= 1


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


def test_targets_are_those_of_a_method_that_has_them(tiny_run, random_run):
    agent = leads.load(tiny_run)
    np.testing.assert_array_equal(agent.targets(), agent.state.targets[:, 0])
    assert leads.load(random_run).targets() is None


def test_a_loaded_run_has_its_config_and_what_training_visited(tiny_run):
    agent = leads.load(tiny_run)
    last = agent.run.metrics()[-1]
    assert (agent.config.task, agent.config.method, agent.config.seed) == ("maze-u", "leads", 0)
    assert 100 * agent.visited.mean() == pytest.approx(last["coverage"])
    assert 100 * agent.visited_fine.mean() == pytest.approx(last["coverage_fine"], abs=1e-4)


def test_environments_are_closed_with_the_agent(tmp_path):
    task = leads.environment_task(Still, horizon=4, name="still")
    few = {"n_skill": 2, "n_episode": 1}
    run = leads.train(task, "random", samples=8, out=tmp_path / "run", **few)
    assert Still.n_open == 0
    with leads.load(run, task) as agent:
        agent.rollout(0, episodes=3)
        agent.rollout(1, episodes=3)
        assert Still.n_open == 2 * 3, "the second rollout has those of the first"
    assert Still.n_open == 0
    assert len(agent.rollout(0)) == 1, "it can still be used"
    agent.close()
    assert Still.n_open == 0
