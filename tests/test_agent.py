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


def test_episodes_are_of_the_learnt_skills(tiny_run, monkeypatch):
    """Exploring is for learning only."""
    agent = leads.load(tiny_run)
    monkeypatch.setattr(agent.method, "explore", lambda *_: pytest.fail("it explores"))
    assert agent.episodes(2).states.shape[:2] == (agent.n_skill, 2)


def test_the_mean_action_is_the_default_and_repeats(tiny_run):
    agent, again = leads.load(tiny_run), leads.load(tiny_run)
    observation = np.asarray([0.1, -0.2])
    np.testing.assert_array_equal(agent.act(observation, 1), again.act(observation, 1))
    assert not np.array_equal(agent.act(observation, 1), agent.act(observation, 1, key=jax.random.key(0)))


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory):
    """An agent for Pendulum-v1, whose actions go from -2 to 2."""
    few = {"n_skill": 2, "n_episode": 1, "scale": 3.0, "horizon": 5}
    out = tmp_path_factory.mktemp("runs") / "pendulum"
    with leads.load(leads.train("gym:Pendulum-v1", "random", samples=10, out=out, **few)) as agent:
        yield agent


def test_actions_are_in_the_environments_own_range(pendulum):
    """So that a user's own environment and the task's do with them what was learnt."""
    own, made = gymnasium.make("Pendulum-v1"), pendulum.task.make()
    assert made.action_space == own.action_space
    observation, _ = own.reset(seed=0)
    np.testing.assert_array_equal(observation, made.reset()[0])
    largest = 0.0
    for t in range(5):
        key = jax.random.key(t)
        action, scaled = pendulum.act(observation, 1, key), pendulum.act_scaled(observation, 1, key)
        np.testing.assert_allclose(action, 2 * scaled, rtol=1e-6)
        assert own.action_space.contains(action) and np.all(np.abs(scaled) <= 1)
        observation, largest = own.step(action)[0], max(largest, abs(action[0]))
        np.testing.assert_array_equal(observation, made.step(action)[0])
    assert largest > 1
    own.close()
    made.close()


def test_a_rollout_is_what_its_scaled_actions_do_in_ones_own_environment(pendulum):
    episodes, environment = pendulum.episodes(1), gymnasium.make("Pendulum-v1")
    observation, _ = environment.reset(seed=0)
    path = [observation]
    for action in np.asarray(episodes.actions[1, 0]):
        path.append(environment.step(2 * action)[0])
    environment.close()
    np.testing.assert_allclose(episodes.states[1, 0], path, atol=1e-5)


def test_many_observations_at_once(tiny_agent):
    observations = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    skills = np.asarray([3, 0, 5, 5, 1])
    apart = [tiny_agent.act(s, int(z)) for s, z in zip(observations, skills, strict=True)]
    np.testing.assert_allclose(tiny_agent.act(observations, skills), apart, rtol=1e-5, atol=1e-6)
    alike = tiny_agent.act(observations, 4)
    assert alike.shape == (5, 2)
    np.testing.assert_allclose(alike[2], tiny_agent.act(observations[2], 4), rtol=1e-5, atol=1e-6)
    drawn = tiny_agent.act(np.zeros((5, 2)), 4, key=jax.random.key(0))
    assert len(np.unique(drawn, axis=0)) == 5, "each has noise of its own"
    assert tiny_agent.act(observations[:1], [2]).shape == (1, 2)


def test_observations_as_environments_give_them(tiny_agent):
    flat = tiny_agent.act([0.1, 0.2], 0)
    for same in (
        np.float64([0.1, 0.2]),
        {"observation": [0.1, 0.2], "goal": 3},
        [[0.1], [0.2]],
        jax.numpy.float32([0.1, 0.2]),
    ):
        np.testing.assert_array_equal(tiny_agent.act(same, np.int64(0)), flat)


@pytest.mark.parametrize("skill", [True, 1.0, 2.7, "1", -1, 6, None, [0, 1], np.float32(1), 10**30])
def test_a_skill_that_is_none_is_refused(skill, tiny_agent):
    for use in (tiny_agent.act, lambda s, z: tiny_agent.rollout(z), lambda s, z: tiny_agent.measure(s, s, z)):
        with pytest.raises(leads.UserError, match=r"^skill: .*(is unknown; allowed are 0 to 5|give one number)"):
            use(np.zeros(2), skill)


@pytest.mark.parametrize(
    "observation, message",
    [
        (np.zeros(3), r"its shape is \(3,\); give \(2,\) or \(n, 2\)"),
        (np.zeros((2, 4, 2)), r"its shape is \(2, 4, 2\); give"),
        (0.5, r"its shape is \(\); give"),
        ([0.0, np.nan], r"\[0.0, nan\] is not finite"),
        ("north", "'north' is not an array of numbers"),
        ({"goal": 1}, r"its shape is \(\); give"),
    ],
)
def test_an_observation_that_is_none_is_refused(observation, message, tiny_agent):
    with pytest.raises(leads.UserError, match=f"^observation: {message}"):
        tiny_agent.act(observation, 0)


@pytest.mark.parametrize(
    "use, message",
    [
        (lambda agent: agent.act(np.zeros(2), 0, key=3.5), "key: 3.5 is not a PRNG key; give jax.random.key"),
        (lambda agent: agent.rollout(0, episodes=2.5), "episodes: 2.5 is not a whole number"),
        (lambda agent: agent.rollout(0, episodes=0), "episodes: 0 is not allowed; give a number above 0"),
        (lambda agent: agent.rollout(0, seed="x"), "seed: 'x' is not a whole number"),
        (lambda agent: agent.episodes(10**9), r"episodes: 1000000000 needs \d.* TB of memory or more; there are \d"),
        (lambda agent: agent.episodes(2, noise="blue"), "noise: 'blue' is not one of pink, white, or none"),
        (lambda agent: agent.measure(np.zeros(3), np.zeros(2), 0), r"s1, s2: their shapes are \(3,\) and \(2,\); give"),
        (lambda agent: leads.load(3), "run_dir: 3 is not the path of a file or directory"),
        (lambda agent: leads.load(""), "run_dir: '' is not the path of a file or directory"),
    ],
)
def test_other_values_that_are_none_are_refused(use, message, tiny_agent):
    with pytest.raises(leads.UserError, match=f"^{message}"):
        use(tiny_agent)


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
