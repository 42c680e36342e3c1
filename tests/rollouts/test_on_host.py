from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit
from jax.tree_util import Partial

from leads.errors import UserError
from leads.nn import squashed_gaussian
from leads.nn.networks import Actor
from leads.rollouts import on_device, on_host
from leads.tasks import make_task
from leads.tasks.task import Task

SPEED = jnp.asarray([1.0, 0.75, 0.5])


class Line(gymnasium.Env):
    """Walks along a line until 3; notes what was asked of it."""

    def __init__(self):
        self.observation_space = gymnasium.spaces.Box(0, 4, (1,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
        self.steps, self.seeds, self.closed = 0, [], False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.x = 0.0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        assert self.x < 3, "stepped after its end"
        self.x += float(action[0])
        self.steps += 1
        action[:] = 0  # some environments scribble on what they are given
        return np.float32([self.x]), 1.0, self.x >= 3, False, {}

    def close(self):
        self.closed = True


@dataclass
class Lines:
    """A task of lines that remembers its environments."""

    limit: int = 100

    def __post_init__(self):
        self.made: list[Line] = []

    def make(self) -> gymnasium.Env:
        self.made.append(Line())
        return TimeLimit(self.made[-1], self.limit)

    def task(self) -> Task:
        return Task(
            name="line",
            start=np.zeros(1, np.float32),
            action_size=1,
            horizon=4,
            budget=1,
            features=lambda s: s,
            low=np.zeros(1),
            high=np.full(1, 4.0),
            make=self.make,
        )


def constant_speed(s, skill, noise):
    return SPEED[skill][..., None]


def test_lengths_ends_and_padding():
    lines = Lines()
    episodes = on_host.rollout(lines.task(), constant_speed, 3, 2, "white", jax.random.key(0))
    for episode in (0, 1):
        states = episodes.states[:, episode, :, 0].tolist()
        assert states == [[0, 1, 2, 3, 3], [0, 0.75, 1.5, 2.25, 3], [0, 0.5, 1, 1.5, 2]]
        assert episodes.actions[:, episode, :, 0].tolist() == [[1.0] * 4, [0.75] * 4, [0.5] * 4]
        assert episodes.lengths[:, episode].tolist() == [3, 4, 4]
        assert episodes.terminated[:, episode].tolist() == [True, True, False]
    # finished environments are not stepped, and those made here are closed
    assert [line.steps for line in lines.made] == [3, 3, 4, 4, 4, 4]
    assert all(line.closed for line in lines.made)


def test_the_environments_own_time_limit_is_no_termination():
    episodes = on_host.rollout(Lines(limit=2).task(), constant_speed, 3, 1, "white", jax.random.key(0))
    assert episodes.states[:, 0, :, 0].tolist() == [[0, 1, 2, 2, 2], [0, 0.75, 1.5, 1.5, 1.5], [0, 0.5, 1, 1, 1]]
    assert episodes.lengths.tolist() == [[2]] * 3
    assert not np.any(episodes.terminated)
    # both at once is a termination
    assert on_host.rollout(Lines(limit=3).task(), constant_speed, 1, 1, "white", jax.random.key(0)).terminated


def test_seeds_come_from_the_key():
    def seeds(key):
        lines = Lines()
        on_host.rollout(lines.task(), constant_speed, 3, 2, "white", jax.random.key(key))
        return [line.seeds for line in lines.made]

    assert seeds(0) == seeds(0) != seeds(1)
    assert len({seed for [seed] in seeds(0)}) == 6


def test_environments_are_used_again_by_who_keeps_them():
    lines = Lines()
    task = lines.task()
    kept = [task.make() for _ in range(6)]
    once, again = (
        on_host.rollout(task, constant_speed, 3, 2, "white", jax.random.key(0), environments=kept) for _ in range(2)
    )
    assert np.array_equal(once.states, again.states) and np.array_equal(once.lengths, again.lengths)
    assert len(lines.made) == 6 and not any(line.closed for line in lines.made)


def test_one_call_of_the_policy_a_step_and_one_compilation_for_all(monkeypatch):
    traces, calls, actions = [], [], on_host._actions

    def act(speed, s, skill, noise):
        traces.append(s.shape)
        return speed[skill][..., None]

    monkeypatch.setattr(on_host, "_actions", lambda *arguments: calls.append(1) or actions(*arguments))
    task = Lines().task()
    for factor in (1.0, 0.5):
        episodes = on_host.rollout(task, Partial(act, factor * SPEED), 3, 2, "white", jax.random.key(0))
        assert episodes.actions[0, 0, 0] == factor
    assert len(calls) == 2 * task.horizon
    assert traces == [(3, 2, 1)]


@pytest.mark.parametrize("on_wall, colour", [("terminate", "pink"), ("stop", "white")])
def test_a_maze_on_the_host_is_the_maze_on_the_device_to_the_last_bit(on_wall, colour):
    task, key = make_task("maze-hard", on_wall=on_wall), jax.random.key(7)

    def act(actor, s, skill, noise):
        return squashed_gaussian.sample(*actor(s, jax.nn.one_hot(skill, 3)), 3 * noise)

    policy = Partial(act, Actor(jax.random.key(1), 2, 3, 2, (32, 32)))
    device = jax.jit(lambda policy, key: on_device.rollout(task, policy, 3, 4, colour, key))(policy, key)
    host = on_host.rollout(replace(task, dynamics=None, step_cost="cheap"), policy, 3, 4, colour, key)
    for on_host_leaf, on_device_leaf in zip(jax.tree.leaves(host), jax.tree.leaves(device), strict=True):
        assert on_host_leaf.dtype == on_device_leaf.dtype and on_host_leaf.shape == on_device_leaf.shape
        assert np.array_equal(on_host_leaf, on_device_leaf)
    assert np.any(device.terminated) == (on_wall == "terminate")


# Threads


def wild(actor, s, skill, noise):
    return squashed_gaussian.sample(*actor(s, jax.nn.one_hot(skill, 3)), 2 * noise)


def rolled_out_by(threads: int, task: Task, actor: Actor, **options) -> dict[str, np.ndarray]:
    episodes = on_host.rollout(task, Partial(wild, actor), 3, 3, "white", jax.random.key(5), threads=threads, **options)
    return {name: np.asarray(value) for name, value in vars(episodes).items()}


@pytest.mark.parametrize("name", ["finger", "fetch-reach"])
def test_robots_stepped_by_any_number_of_threads_give_the_same_episodes(name):
    task = replace(make_task(name), horizon=8)
    actor = Actor(jax.random.key(1), task.state_size, 3, task.action_size, (16,))
    alone = rolled_out_by(1, task, actor)
    assert len(np.unique(alone["states"][:, :, -1].reshape(9, -1), axis=0)) == 9  # no two episodes are alike
    assert np.array_equal(alone["states"][:, :, 0], np.broadcast_to(task.start, (3, 3, task.state_size)))
    kept = [task.make() for _ in range(9)]
    for threads in (2, 3, 3, 20):
        together = rolled_out_by(threads, task, actor, environments=kept)
        assert all(np.array_equal(together[field], alone[field]) for field in alone)


def test_episodes_that_end_early_are_the_same_with_threads():
    for threads in (1, 2, 3):
        lines = Lines()
        episodes = on_host.rollout(lines.task(), constant_speed, 3, 2, "white", jax.random.key(0), threads=threads)
        assert episodes.lengths.tolist() == [[3, 3], [4, 4], [4, 4]]
        assert episodes.terminated.tolist() == [[True, True], [True, True], [False, False]]
        assert [line.steps for line in lines.made] == [3, 3, 4, 4, 4, 4]
        assert all(line.closed and len(line.seeds) == 1 for line in lines.made)


def test_what_goes_wrong_in_a_thread_is_not_lost():
    lines = Lines()

    class Broken(Line):
        def step(self, action):
            raise RuntimeError("out of paper")

    task = replace(lines.task(), make=Broken)
    with pytest.raises(UserError, match=r"^environment: step \d+ of an episode failed \(RuntimeError: out of paper\)$"):
        on_host.rollout(task, constant_speed, 3, 2, "white", jax.random.key(0), threads=2)


def test_an_observation_that_is_not_finite_is_named_with_its_step():
    lines = Lines()

    class Cracked(Line):
        def step(self, action):
            state, *rest = super().step(action)
            return (state if self.steps < 3 else state * np.nan), *rest

    task = replace(lines.task(), make=Cracked)
    with pytest.raises(
        UserError, match=r"^environment: its observation at step 3 of an episode is not finite \(NaN or infinity\)$"
    ):
        on_host.rollout(task, constant_speed, 3, 2, "white", jax.random.key(0))


class Faulty(Line):
    """Begins as its class says."""

    first: Any = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if isinstance(self.first, Exception):
            raise self.first
        return self.first, {}


@pytest.mark.parametrize(
    "first, message",
    [
        (RuntimeError("out of ink"), r"environment: reset failed \(RuntimeError: out of ink\)"),
        (np.float32([np.nan]), r"environment: its observation at reset is not finite \(NaN or infinity\)"),
        (
            np.zeros(2),
            r"environment: reset failed \(ValueError: an observation of shape \(2,\) was given; \(1,\) is .*",
        ),
        (np.float32(0), r"environment: reset failed \(ValueError: an observation of shape \(\) was given; .*"),
    ],
)
def test_a_reset_that_fails_is_named(first, message, monkeypatch):
    monkeypatch.setattr(Faulty, "first", first)
    with pytest.raises(UserError, match=f"^{message}$"):
        on_host.rollout(replace(Lines().task(), make=Faulty), constant_speed, 3, 2, "white", jax.random.key(0))


def test_an_observation_of_another_size_is_not_stretched():
    class Shrunk(Line):
        def step(self, action):
            state, *rest = super().step(action)
            return state[0], *rest

    with pytest.raises(UserError, match=r"^environment: step 1 of an episode failed \(ValueError: .* shape \(\) was"):
        on_host.rollout(replace(Lines().task(), make=Shrunk), constant_speed, 3, 2, "white", jax.random.key(0))


def test_an_action_that_is_not_finite_never_reaches_an_environment():
    lines = Lines()

    def act(s, skill, noise):
        return jnp.where(s > 1.2, jnp.nan, SPEED[skill][..., None])

    with pytest.raises(
        UserError, match=r"^method: its action at step 3 of an episode is not finite \(NaN or infinity\)$"
    ):
        on_host.rollout(lines.task(), act, 3, 2, "white", jax.random.key(0))
    assert [line.steps for line in lines.made] == [2] * 6 and all(line.closed for line in lines.made)


def test_if_one_environment_cannot_be_made_none_stays_open():
    lines = Lines()

    def make():
        if len(lines.made) == 4:
            raise OSError("no paper left")
        return lines.make()

    with pytest.raises(UserError, match=r"^environment: making it failed \(OSError: no paper left\)$"):
        on_host.rollout(replace(lines.task(), make=make), constant_speed, 3, 2, "white", jax.random.key(0))
    assert len(lines.made) == 4 and all(line.closed for line in lines.made)


class Strong(Line):
    """Takes actions from 0 to 4, in double precision."""

    def __init__(self):
        super().__init__()
        self.action_space = gymnasium.spaces.Box(0, 4, (1,), np.float64)


def test_environments_get_actions_in_their_own_range_and_episodes_keep_them_scaled():
    space = gymnasium.spaces.Box(0, 4, (1,), np.float64)
    task = replace(Lines().task(), make=Strong, action_space=space)
    act = lambda s, skill, noise: SPEED[skill][..., None] - 1
    episodes = on_host.rollout(task, act, 3, 1, "white", jax.random.key(0))
    assert episodes.states[:, 0, :, 0].tolist() == [[0, 2, 4, 4, 4], [0, 1.5, 3, 3, 3], [0, 1, 2, 3, 3]]
    assert episodes.actions[:, 0, 0, 0].tolist() == [0, -0.25, -0.5]


def test_a_task_that_says_another_action_space_than_its_environment_has_is_refused():
    with pytest.raises(
        UserError, match=r"^task: its environment takes actions of Box\(0.0, 4.0, .*, but its .* is Box\(-1"
    ):
        on_host.rollout(replace(Lines().task(), make=Strong), constant_speed, 3, 1, "white", jax.random.key(0))
