"""Anybody's environments as tasks: their states, actions, start and episodes, and one clear line for what cannot be."""

import dataclasses
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Tuple
from gymnasium.wrappers import FlattenObservation, TimeLimit

from leads.errors import UserError
from leads.rollouts import on_host
from leads.tasks import make_task
from leads.tasks.gymnasium import BUDGET, HORIZON, START_SEED, environment_task

ACTIONS = Box(np.float32([-0.2, 0.2]), np.float32([0.9, 0.7]))
"""Bounds of which the middle and half the range, rounded, do not add up to the ends."""


class Boat(gymnasium.Env):
    """Begins anywhere, goes where it is sent and notes what was asked of it; its last entry tells the time."""

    observation_space: Any = Box(np.float32([-2, -3, 0]), np.float32([2, 3, 50]))
    action_space: Any = ACTIONS

    def __init__(self, ends_at: int = 1000, render_mode: str | None = None):
        self.ends_at, self.render_mode = ends_at, render_mode
        self.seeds, self.given, self.closed = [], [], False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.place, self.time = self.np_random.uniform(-0.5, 0.5, 2), 0
        return self.observation(), {"options": options}

    def step(self, action):
        assert self.action_space.contains(action)
        self.given.append(action.copy())
        self.place = self.place + 0.1 * action
        self.time += 1
        return self.observation(), 5.0, self.time >= self.ends_at, False, {"time": self.time}

    def observation(self) -> Any:
        return np.float32([*self.place, self.time])

    def close(self):
        self.closed = True


class Anchored(Boat):
    """Begins in one place."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.place = np.array([0.25, -0.25])
        return self.observation(), {}


class Picture(Anchored):
    """Sees a picture of 2 x 3 pixels, as whole numbers."""

    observation_space = Box(0, 255, (2, 3), np.uint8)

    def observation(self):
        return np.full((2, 3), self.time, np.uint8) + np.arange(6, dtype=np.uint8).reshape(2, 3)


class Wanting(Anchored):
    """Sees a dictionary with what it wants, in double precision."""

    observation_space = Dict(
        {
            "goal": Box(-9, 9, (2,), np.float64),
            "observation": Box(np.array([-1.0, -2]), np.array([1.0, 2]), dtype=np.float64),
        }
    )

    def observation(self):
        return {"goal": self.np_random.uniform(-9, 9, 2), "observation": self.place.copy()}


class Boundless(Boat):
    observation_space = Box(-np.inf, np.inf, (3,), np.float32)


def with_spaces(observation: Any = Boat.observation_space, action: Any = Boat.action_space) -> type[Boat]:
    return type("Odd", (Boat,), {"observation_space": observation, "action_space": action})


# States, actions and the start


def test_every_episode_begins_as_reset_with_one_seed_does_and_a_note_says_so():
    task = environment_task(Boat)
    expected, _ = Boat().reset(seed=START_SEED)
    assert np.array_equal(task.start, expected)
    assert task.note == "its starts differ from reset to reset; every episode here begins as reset(seed=0) does"
    environment = task.make()
    for seed in (None, 3, 4):
        state, info = environment.reset(seed=seed, options={"tide": 1})
        assert np.array_equal(state, task.start) and info == {"options": {"tide": 1}}
        environment.step(ACTIONS.high)
    assert environment.unwrapped.seeds == [START_SEED] * 3


def test_a_start_that_is_always_the_same_needs_no_note():
    task = environment_task(Anchored)
    assert task.note is None and task.start.tolist() == [0.25, -0.25, 0]


def test_a_start_that_no_seed_fixes_is_noted():
    class Adrift(Boat):
        random = np.random.default_rng(0)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.place = self.random.uniform(-0.5, 0.5, 2)
            return self.observation(), {}

    note = environment_task(Adrift).note
    assert note == "its starts differ even when reset is given the same seed; skills are taught as if they did not"


def test_actions_from_minus_one_to_one_reach_from_the_lower_to_the_upper_bound_and_no_further():
    task = environment_task(Boat)
    scaled = np.float32([[-1, -1], [1, 1], [0, 0], [0.5, -0.5], [7, -7], [np.inf, -np.inf]])
    given = task.environment_actions(scaled)
    assert given.dtype == np.float32
    assert np.array_equal(given, [task.environment_actions(one) for one in scaled])
    low, high = ACTIONS.low, ACTIONS.high
    assert np.array_equal(given[[0, 1, 4, 5]], [low, high, [high[0], low[1]], [high[0], low[1]]])
    assert given[2:4].tolist() == [pytest.approx([0.35, 0.45]), pytest.approx([0.625, 0.325])]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_never_leads_beyond_the_bounds(dtype):
    rng = np.random.default_rng(0)
    low = rng.uniform(-3, 3, 500).astype(dtype)
    high = (low + rng.uniform(0.01, 3, 500)).astype(dtype)
    assert np.any((high + low) / 2 + (high - low) / 2 > high)  # without care it does
    space = Box(low, high, dtype=dtype)
    task = dataclasses.replace(environment_task(Boat), action_size=500, action_space=space)
    given = [task.environment_actions(np.full(500, side, np.float32)) for side in (-1, 1)]
    assert all(action.dtype == dtype and space.contains(action) for action in given)
    assert np.allclose(given, [low, high], rtol=0, atol=1e-6)


def test_steps_are_the_environments_without_its_reward():
    task, original = environment_task(partial(Anchored, ends_at=3)), Anchored(ends_at=3)
    environment = task.make()
    assert environment.action_space == task.action_space == ACTIONS and task.action_size == 2
    assert environment.observation_space == Boat.observation_space
    environment.reset()
    original.reset()
    for t in range(3):
        state, reward, terminated, truncated, info = environment.step(np.float32([0.9, 0.2]))
        expected, *_ = original.step(task.environment_actions(np.float32([1, -1])))
        assert np.array_equal(state, expected) and state.dtype == np.float32
        assert (reward, terminated, truncated, info) == (0.0, t == 2, False, {"time": t + 1})


def test_pictures_are_laid_flat_in_single_precision():
    task = environment_task(Picture, features=(1, 4))
    assert task.start.tolist() == [0, 1, 2, 3, 4, 5] and task.start.dtype == np.float32
    environment = task.make()
    environment.reset()
    state, *_ = environment.step(ACTIONS.low)
    assert state.tolist() == [1, 2, 3, 4, 5, 6] and state.dtype == np.float32
    assert task.features(state).tolist() == [2, 5]
    assert (task.low.tolist(), task.high.tolist()) == ([0, 0], [255, 255])


def test_of_a_dictionary_the_observation_is_taken():
    task = environment_task(Wanting)
    assert task.start.tolist() == [0.25, -0.25] and task.start.dtype == np.float32
    assert (task.low.tolist(), task.high.tolist()) == ([-1, -2], [1, 2])
    assert task.note is None  # what it wants is random, what it sees is not
    environment = task.make()
    environment.reset()
    state, *_ = environment.step(np.float32([0.9, 0.2]))
    assert state.tolist() == pytest.approx([0.25 + 0.09, -0.25 + 0.02]) and state.dtype == np.float32


# What counts, and how long


def test_features_and_their_box():
    task = environment_task(Boat, features=(2, 0), low=(0, -1.5), high=(10, 1.5))
    assert task.features(jnp.asarray([[1.0, 2.0, 3.0]])).tolist() == [[3, 1]]
    assert task.feature_names == ("s[2]", "s[0]")
    assert (task.low.tolist(), task.high.tolist()) == ([0, -1.5], [10, 1.5])
    assert jax.jit(task.boxed_features)(jnp.asarray([1.5, 0.0, 5.0])).tolist() == [0, 1]
    assert (task.bins, task.fine_bins) == (10, 50) and environment_task(Boat).fine_bins == 20
    assert not task.one_scale and task.dynamics is None


def test_the_features_unit_is_the_one_given_or_to_be_measured():
    assert environment_task(Boat).unit is None
    assert np.asarray(environment_task(Boat, features=(2, 0), unit=(10, 0.5)).unit).tolist() == [10, 0.5]
    for wrong in ((1,), (1, 0), 2, "ab", ("a", "b")):
        with pytest.raises(UserError, match=r"^unit: .* is not allowed; give a length above 0 for each feature, 2"):
            environment_task(Boat, features=(2, 0), unit=wrong)


def test_by_default_everything_counts_within_the_spaces_bounds():
    task = environment_task(Boat)
    assert task.features(task.start).tolist() == task.start.tolist()
    assert (task.low.tolist(), task.high.tolist()) == ([-2, -3, 0], [2, 3, 50])
    half = environment_task(Boat, features=[1], low=[-1])
    assert (half.low.tolist(), half.high.tolist()) == ([-1], [3])
    numpy = environment_task(Boat, features=np.array([0, 1]), low=np.zeros(2), high=np.ones(2))
    assert (numpy.low.tolist(), numpy.high.tolist()) == ([0, 0], [1, 1])


@pytest.mark.parametrize(
    "make, horizon, expected",
    [
        (Boat, None, HORIZON),
        (Boat, 7, 7),
        (lambda: TimeLimit(Boat(), 30), None, 30),
        (lambda: FlattenObservation(TimeLimit(Boat(), 30)), None, 30),
        (lambda: TimeLimit(Boat(), 30), 7, 7),
        (lambda: gymnasium.make("Pendulum-v1"), None, 200),
        (lambda: gymnasium.make("MountainCarContinuous-v0"), None, 999),
    ],
)
def test_the_horizon_is_the_one_given_or_the_environments_own_limit_or_200(make, horizon, expected):
    assert environment_task(make, horizon=horizon).horizon == expected


def test_name_and_budget():
    assert (environment_task(Boat).name, environment_task(Boat).budget) == ("own", BUDGET)
    task = environment_task(Boat, name="lake", budget=1000)
    assert (task.name, task.budget) == ("lake", 1000)


def test_pictures_are_asked_of_who_takes_a_render_mode():
    assert environment_task(Boat).make().unwrapped.render_mode is None
    assert environment_task(Boat).make(render_mode="rgb_array").unwrapped.render_mode == "rgb_array"
    assert environment_task(lambda: Boat()).make(render_mode="rgb_array").unwrapped.render_mode is None


def test_what_was_made_to_look_at_it_is_closed():
    made = []
    task = environment_task(lambda: made.append(Boat()) or made[-1])
    assert [boat.closed for boat in made] == [True]
    task.make()
    assert [boat.closed for boat in made] == [True, False]


@pytest.mark.parametrize(
    "make, lengths, ends", [(partial(Boat, ends_at=3), 3, True), (lambda: TimeLimit(Boat(), 4), 4, False)]
)
def test_episodes_end_where_the_environment_ends_them(make, lengths, ends):
    task = environment_task(make, horizon=6)
    act = lambda s, skill, noise: jnp.ones((2, 3, 2))
    episodes = on_host.rollout(task, act, 2, 3, "white", jax.random.key(0), threads=2)
    assert np.array_equal(episodes.lengths, np.full((2, 3), lengths))
    assert np.array_equal(episodes.terminated, np.full((2, 3), ends))
    assert np.array_equal(episodes.states[:, :, 0], np.broadcast_to(task.start, (2, 3, 3)))
    assert episodes.states[1, 2, :, 2].tolist() == [min(t, lengths) for t in range(7)]
    assert episodes.states[0, 1, 3, :2].tolist() == pytest.approx(task.start[:2] + 0.3 * ACTIONS.high)


# By name

REACHER = {"features": (8, 9), "low": (-0.3, -0.3), "high": (0.3, 0.3)}
MAZE = "gym:gymnasium_robotics:PointMaze_UMaze-v3"


def episode(environment, actions) -> np.ndarray:
    """What an environment of Gymnasium's shows."""
    flat = lambda o: np.float32(o["observation"] if isinstance(o, dict) else o)
    return np.stack([flat(environment.reset(seed=START_SEED)[0]), *(flat(environment.step(a)[0]) for a in actions)])


@pytest.mark.parametrize(
    "name, options, strength, horizon, size",
    [
        ("gym:Reacher-v5", REACHER, 1, 50, 10),
        ("gym:Swimmer-v5", REACHER | {"features": (0, 1)}, 1, 1000, 8),
        (MAZE, {"features": (0, 1), "low": (-2, -2), "high": (2, 2)}, 1, 300, 4),
        ("gym:Pendulum-v1", {}, 2, 200, 3),
    ],
)
def test_environments_by_name_step_as_gymnasium_makes_them(name, options, strength, horizon, size):
    task = make_task(name, **options)
    assert (task.name, task.horizon, task.state_size, task.budget) == (name, horizon, size, BUDGET)
    assert task.note is not None and "reset(seed=0)" in task.note
    actions = np.random.default_rng(0).uniform(-1, 1, (12, task.action_size)).astype(np.float32)
    theirs = episode(gymnasium.make(name.removeprefix("gym:")), strength * actions)
    ours, actions = task.make(), task.environment_actions(actions)
    for seed in (1, 2):
        states = [ours.reset(seed=seed)[0], *(ours.step(action)[0] for action in actions)]
        assert np.array_equal(states, theirs) and states[-1].dtype == np.float32
    assert np.array_equal(task.start, theirs[0])
    index = list(options.get("features", range(size)))
    assert np.array_equal(task.features(theirs), theirs[:, index])


def test_our_own_environments_by_name_are_our_tasks():
    task = make_task("gym:leads/MazeHard-v0")
    assert task.start.tolist() == make_task("maze-hard").start.tolist()
    assert (task.low.tolist(), task.high.tolist(), task.horizon) == ([-1, -1], [1, 1], 200)
    assert task.note is None


def test_a_horizon_beyond_the_environments_own_limit_is_kept():
    task = make_task("gym:Reacher-v5", **REACHER, horizon=60)
    environment = task.make()
    environment.reset()
    ends = [environment.step(np.zeros(2))[3] for _ in range(60)]
    assert task.horizon == 60 and not any(ends[:59])


@pytest.fixture
def registered():
    """Registers a class or function under an ID for the time of a test."""
    names = []

    def register(name: str, entry_point: Any) -> str:
        names.append(name)
        gymnasium.register(name, entry_point)
        return f"gym:{name}"

    yield register
    for name in names:
        del gymnasium.registry[name]


def test_a_registered_environment_need_not_know_of_render_modes(registered):
    class Plain(Anchored):
        def __init__(self):
            super().__init__()

    name = registered("Plain-v0", Plain)
    assert make_task(name).start.tolist() == [0.25, -0.25, 0]
    assert make_task(name).horizon == HORIZON


# What cannot be


def refusal(make: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(UserError) as raised:
        make(*arguments, **options)
    message = str(raised.value)
    assert "\n" not in message and len(message) < 200
    return message


of_one_axis = "they must be a Box of one axis"
box_or_dict = "they must be a Box, or a Dict whose 'observation' is one"


@pytest.mark.parametrize(
    "spaces, message",
    [
        ({"action": Discrete(3)}, f"actions are a Discrete; {of_one_axis}"),
        ({"action": MultiBinary(3)}, f"actions are a MultiBinary; {of_one_axis}"),
        ({"action": Box(-1, 1, (2, 2))}, f"actions are a Box; {of_one_axis}"),
        ({"action": Box(-1, 1, ())}, f"actions are a Box; {of_one_axis}"),
        ({"action": Dict({"go": ACTIONS})}, f"actions are a Dict of go; {of_one_axis}"),
        ({"action": Box(-1, np.inf, (2,))}, "actions have no bounds; wrap it so that they have"),
        ({"observation": Discrete(3)}, f"observations are a Discrete; {box_or_dict}"),
        ({"observation": Tuple([ACTIONS])}, f"observations are a Tuple; {box_or_dict}"),
        ({"observation": Dict({"goal": ACTIONS, "x": ACTIONS})}, f"observations are a Dict of goal, x; {box_or_dict}"),
        ({"observation": Dict({"observation": Discrete(3)})}, f"observations are a Dict of observation; {box_or_dict}"),
    ],
)
def test_other_spaces_are_refused(spaces, message):
    assert refusal(environment_task, with_spaces(**spaces)) == f"task: its {message}"


up_to_2 = "is not allowed; give one to three different numbers from 0 to 2"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"features": (3,)}, f"features: [3] {up_to_2}"),
        ({"features": (-1,)}, f"features: [-1] {up_to_2}"),
        ({"features": ()}, f"features: [] {up_to_2}"),
        ({"features": (0, 1, 2, 0)}, f"features: [0, 1, 2, 0] {up_to_2}"),
        ({"features": (1, 1)}, f"features: [1, 1] {up_to_2}"),
        ({"features": (0.5,)}, f"features: [0.5] {up_to_2}"),
        ({"features": ("x",)}, f"features: ['x'] {up_to_2}"),
        ({"low": (0, 0)}, "low: (0, 0) is not allowed; give a number for each of features [0, 1, 2]"),
        ({"high": 1.0}, "high: 1.0 is not allowed; give a number for each of features [0, 1, 2]"),
        ({"high": (1, 1, 1, 1)}, "high: (1, 1, 1, 1) is not allowed; give a number for each of features [0, 1, 2]"),
        ({"low": ("a", 0, 0)}, "low: ('a', 0, 0) is not allowed; give a number for each of features [0, 1, 2]"),
        ({"low": (np.nan, 0, 0)}, "low: say where the features' box ends, like -1,-1; [nan, 0.0, 0.0] is no end"),
        ({"high": (9, 9, np.inf)}, "high: say where the features' box ends, like -1,-1; [9.0, 9.0, inf] is no end"),
        ({"low": (0, 0, 0), "high": (1, 0, 1)}, "low: [0.0, 0.0, 0.0] is not below high, [1.0, 0.0, 1.0]"),
        ({"low": (0, 9, 0)}, "low: [0.0, 9.0, 0.0] is not below high, [2.0, 3.0, 50.0]"),
        ({"horizon": 0}, "horizon: 0 is not allowed; give a whole number above 0"),
        ({"horizon": -5}, "horizon: -5 is not allowed; give a whole number above 0"),
        ({"horizon": 2.5}, "horizon: 2.5 is not allowed; give a whole number above 0"),
        ({"budget": 0}, "budget: 0 is not allowed; give a whole number above 0"),
    ],
)
def test_bad_options_are_one_line_that_names_them(options, message):
    assert refusal(environment_task, Boat, **options) == message


def test_what_the_environment_does_not_tell_has_to_be_said():
    assert (
        refusal(environment_task, Picture) == "features: say which of the 6 entries of the observation count, like 0,1"
    )
    assert refusal(environment_task, Boundless).startswith("low: say where the features' box ends, like -1,-1;")
    assert refusal(environment_task, Boundless, low=(0, 0, 0)).startswith("high: say where the features' box ends")
    assert environment_task(Boundless, low=(0, 0, 0), high=(1, 1, 1)).high.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "name, message",
    [
        ("gym:Nothing-v0", "task: gymnasium.make('Nothing-v0') fails: Environment `Nothing` doesn't exist."),
        ("gym:", "task: gymnasium.make('') fails: Malformed environment ID"),
        ("gym:no such", "task: gymnasium.make('no such') fails: Malformed environment ID"),
        ("gym::Reacher-v5", "task: gymnasium.make(':Reacher-v5') fails: Empty module name"),
        ("gym:.near:X-v0", "task: gymnasium.make('.near:X-v0') fails: "),
        ("gym:no_module:X-v0", "task: gymnasium.make('no_module:X-v0') fails: No module named 'no_module'"),
        ("gym:json:X-v0", "task: gymnasium.make('json:X-v0') fails: Environment `X` doesn't exist."),
        ("gym:Reacher-v99", "task: gymnasium.make('Reacher-v99') fails: Environment version `v99`"),
        ("gym:leads/Maze-v0", "task: gymnasium.make('leads/Maze-v0') fails: MazeEnv.__init__() missing 1 required"),
        ("gym:CartPole-v1", "task: its actions are a Discrete; they must be a Box of one axis"),
        ("gym:FrozenLake-v1", f"task: its observations are a Discrete; {box_or_dict}"),
        ("gym:Reacher-v5", "features: say which of the 10 entries of the observation count, like 0,1"),
    ],
)
def test_names_that_lead_nowhere(name, message):
    with pytest.raises(UserError) as raised:
        make_task(name)
    assert str(raised.value).startswith(message) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"features": (0, 10)}, "features: [0, 10] is not allowed; give one to three different numbers from 0 to 9"),
        ({"features": (0, 1)}, "low: say where the features' box ends"),
        (REACHER | {"low": (-1,)}, "low: (-1.0,) is not allowed; give a number for each of features [8, 9]"),
        (REACHER | {"low": (0.3, 0)}, "low: [0.3, 0.0] is not below high, [0.3, 0.3]"),
        (REACHER | {"low": (0, np.inf)}, "low: (0, inf) is not numbers with commas between them"),
        (REACHER | {"high": (0, np.nan)}, "high: (0, nan) is not numbers with commas between them"),
        (REACHER | {"features": (4, 5.5)}, "features: (4, 5.5) is not numbers with commas between them"),
        (REACHER | {"horizon": 0}, "horizon: 0 is not allowed; give a number above 0"),
        (REACHER | {"horizon": -1}, "horizon: -1 is not allowed; give a number above 0"),
        (REACHER | {"horizon": 2**31}, "horizon: 2147483648 is not allowed; give a number up to 2,147,483,647"),
        (REACHER | {"horizon": "long"}, "horizon: 'long' is not a whole number"),
    ],
)
def test_bad_options_of_a_named_environment(options, message):
    assert refusal(make_task, "gym:Reacher-v5", **options).startswith(message)


class Broken(Boat):
    """Does not begin, or not as it should."""

    first: Any = None

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if self.first is None:
            raise OSError("the harbour is\nclosed")
        return self.first, {}


@pytest.mark.parametrize(
    "first, message",
    [
        (None, "task: its reset fails (OSError: the harbour is)"),
        (np.float32([0, np.nan, 0]), "task: reset gives [0.0, nan, 0.0]; 3 finite numbers are needed"),
        (np.zeros(4, np.float32), "task: reset gives [0.0, 0.0, 0.0, 0.0]; 3 finite numbers are needed"),
        ("high tide", "task: its reset fails (ValueError: could not convert string to float: 'high tide')"),
    ],
)
def test_an_environment_that_cannot_begin_is_named(first, message, monkeypatch):
    monkeypatch.setattr(Broken, "first", first)
    assert refusal(environment_task, Broken) == message


def test_what_makes_no_environment_is_named():
    def fails():
        raise RuntimeError("no water")

    assert refusal(environment_task, 3) == "make: 3 is not a function that makes an environment"
    assert refusal(environment_task, fails) == "task: its make fails (RuntimeError: no water)"


def test_an_environment_that_fails_without_a_word(registered):
    def fails():
        raise RuntimeError

    name = registered("Silent-v0", fails)
    assert refusal(make_task, name) == "task: gymnasium.make('Silent-v0') fails: RuntimeError"
