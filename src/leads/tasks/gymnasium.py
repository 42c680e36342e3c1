"""Anybody's Gymnasium environment as a task: box observations, box actions, and which entries to count."""

import importlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import gymnasium
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Dict

from leads.config.fields import shown
from leads.errors import UserError, in_a_line
from leads.tasks.task import Task

T = TypeVar("T")

START_SEED = 0
"""Every episode begins as reset(seed=START_SEED) does."""
HORIZON = 200
"""Steps of an episode, for an environment that names no limit of its own."""
BUDGET = 200_000


class FixedStart(gymnasium.Wrapper):
    """Flat float32 states, no reward, and one and the same start for every episode; actions are the environment's."""

    def __init__(self, environment: gymnasium.Env):
        super().__init__(environment)
        observation, action = _observation(environment.observation_space), environment.action_space
        if not isinstance(observation, Box):
            kind = _kind(environment.observation_space)
            raise UserError(
                f"task: its observations are {kind}; they must be a Box, or a Dict whose 'observation' is one"
            )
        if not isinstance(action, Box) or len(action.shape) != 1:
            raise UserError(f"task: its actions are {_kind(action)}; they must be a Box of one axis")
        if not np.isfinite([action.low, action.high]).all():
            raise UserError("task: its actions have no bounds; wrap it so that they have")
        size = int(np.prod(observation.shape))
        low, high = (np.asarray(x, np.float32).reshape(-1) for x in (observation.low, observation.high))
        self.box = Box(low, high, (size,), np.float32)
        self.observation_space, self.actions = self.box, action

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        observation, info = self.env.reset(seed=START_SEED, options=options)
        return self._flat(observation), info

    def step(self, action: np.ndarray):
        observation, _, terminated, truncated, info = self.env.step(action)
        return self._flat(observation), 0.0, terminated, truncated, info

    @staticmethod
    def _flat(observation: Any) -> np.ndarray:
        if isinstance(observation, dict):
            observation = observation["observation"]
        return np.asarray(observation, np.float32).reshape(-1)


def _observation(space: gymnasium.Space) -> gymnasium.Space | None:
    """Of a dictionary, what is called `observation`."""
    return space.spaces.get("observation") if isinstance(space, Dict) else space


def _kind(space: Any) -> str:
    if isinstance(space, Dict):
        return f"a Dict of {', '.join(space.spaces)}"
    return f"a {type(space).__name__}"


def environment_task(
    make: Callable[..., gymnasium.Env],
    features: Sequence[int] | None = None,
    low: Sequence[float] | None = None,
    high: Sequence[float] | None = None,
    horizon: int | None = None,
    budget: int = BUDGET,
    name: str = "own",
    unit: Sequence[float] | None = None,
) -> Task:
    """The task of exploring the environments that `make` makes.

    `features` are the entries of the observation that count (by default all, if they are three at most), `low` and
    `high` the box of them in which coverage is counted (by default the observation space's bounds), `horizon` the
    steps of an episode (by default the environment's own limit, or 200), and `unit` the length of each feature that
    networks see as 1 (by default its spread in a run's first epoch). Videos need a `make` that takes `render_mode`.
    """
    if not callable(make):
        raise UserError(f"make: {shown(make)} is not a function that makes an environment")
    takes_mode = "render_mode" in inspect.signature(make).parameters
    rendered = lambda render_mode=None: FixedStart(make(render_mode=render_mode) if takes_mode else make())
    environment = _tried("make", rendered)
    try:
        start, again, other = _tried("reset", lambda: _starts(environment))
        space, actions = environment.box, environment.actions
        limited = environment.has_wrapper_attr("_max_episode_steps")
        limit = environment.get_wrapper_attr("_max_episode_steps") if limited else None
    finally:
        environment.close()
    size = len(space.low)
    for observed in (start, again, other):
        if observed.shape != (size,) or not np.isfinite(observed).all():
            raise UserError(f"task: reset gives {shown(observed.tolist())}; {size} finite numbers are needed")
    if features is None and size > 3:
        raise UserError(f"features: say which of the {size} entries of the observation count, like 0,1")
    index = tuple(range(size)) if features is None else tuple(np.atleast_1d(features).tolist())
    known = all(isinstance(i, int) and 0 <= i < size for i in index)
    if not 1 <= len(index) <= 3 or not known or len(set(index)) < len(index):
        numbers = f"one to three different numbers from 0 to {size - 1}"
        raise UserError(f"features: {list(index)} is not allowed; give {numbers}")
    lower = _corner("low", space.low[list(index)] if low is None else low, index)
    upper = _corner("high", space.high[list(index)] if high is None else high, index)
    if not (lower < upper).all():
        raise UserError(f"low: {lower.tolist()} is not below high, {upper.tolist()}")
    steps = next((given for given in (horizon, limit) if given is not None), HORIZON)
    _check_above_0("horizon", steps)
    _check_above_0("budget", budget)
    note = None
    if not np.array_equal(start, again):
        note = "its starts differ even when reset is given the same seed; skills are taught as if they did not"
    elif not np.array_equal(start, other):
        note = f"its starts differ from reset to reset; every episode here begins as reset(seed={START_SEED}) does"
    return Task(
        name=name,
        start=start,
        action_size=len(actions.low),
        action_space=actions,
        horizon=steps,
        budget=budget,
        features=lambda s: s[..., jnp.asarray(index)],
        low=lower,
        high=upper,
        unit=unit,
        feature_names=tuple(f"s[{i}]" for i in index),
        make=rendered,
        fine_bins=50 if len(index) < 3 else 20,
        note=note,
    )


def _tried(what: str, doing: Callable[[], T]) -> T:
    """The result of what an environment does, which may raise errors of its own."""
    try:
        return doing()
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"task: its {what} fails ({in_a_line(error)})") from error


def _starts(environment: FixedStart) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two as every episode begins, and one of another seed."""
    start, again = environment.reset()[0], environment.reset()[0]
    return start, again, environment._flat(environment.env.reset(seed=START_SEED + 1)[0])


def _corner(side: str, values: Any, index: tuple[int, ...]) -> np.ndarray:
    """A corner of the features' box, checked."""
    try:
        corner = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        corner = np.empty(0)
    if corner.shape != (len(index),):
        raise UserError(f"{side}: {values!r} is not allowed; give a number for each of features {list(index)}")
    if not np.isfinite(corner).all():
        raise UserError(f"{side}: say where the features' box ends, like -1,-1; {corner.tolist()} is no end")
    return corner


def _check_above_0(option: str, value: Any) -> None:
    if not isinstance(value, int | np.integer) or value < 1:
        raise UserError(f"{option}: {value!r} is not allowed; give a whole number above 0")


def gymnasium_task(identifier: str, name: str, horizon: int | None = None, **options: Any) -> Task:
    """The task of exploring `gymnasium.make(identifier)`, which may be `MODULE:ID` for an ID that MODULE registers."""

    def make(render_mode: str | None = None) -> gymnasium.Env:
        # only if it is asked for: not every environment has such an option
        mode: dict[str, Any] = {} if render_mode is None else {"render_mode": render_mode}
        return gymnasium.make(identifier, max_episode_steps=horizon, **mode)

    if horizon is not None:
        _check_above_0("horizon", horizon)
    try:
        module, colon, _ = identifier.rpartition(":")
        if colon:
            importlib.import_module(module)
        make().close()
    except Exception as error:  # environments have errors of their own
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"task: gymnasium.make({identifier!r}) fails: {reason}") from error
    return environment_task(make, horizon=horizon, name=name, **options)
