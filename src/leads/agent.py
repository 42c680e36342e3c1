"""What training leaves behind, ready to use."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leads.config.fields import Positive, checked, shown
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.methods.method import LearnsMeasure, targets_of
from leads.rollouts import rollout
from leads.rollouts.noise import Colour
from leads.tasks.task import Task
from leads.training.epoch import initial_state
from leads.training.memory import check_episodes
from leads.training.run import Run
from leads.training.run_config import check_seed


class Agent:
    """The skills of a run: act with one, roll one out, ask where one leads.

    It keeps environments between rollouts; `close` it, or use it as a context manager, to close them.
    """

    def __init__(self, run: Run, task: Task | None = None):
        self.run, self.config = run, run.config
        self.task = self.config.make_task(task)
        self.method = self.config.make_method(self.task, run.own.get("method"))
        self.n_skill: int = self.method.config.n_skill
        self.epoch, state = run.restore(initial_state(self.task, self.method, jax.random.key(self.config.seed)))
        if self.epoch == 0:
            raise UserError(f"{run.directory} has no checkpoint yet")
        self.state = state.method
        self.visited, self.visited_fine = np.asarray(state.visited), np.asarray(state.visited_fine)
        self._act = jax.jit(self.method.act)
        self._rollouts: dict[tuple[int, Colour | None], rollout.Rollout] = {}

    def act(self, observation: Any, skill: int | np.ndarray, key: Any = None) -> np.ndarray:
        """The skill's action as the environment takes it: its mean, or with a PRNG key a draw from its distribution.

        Of observations [n, state] it gives actions [n, action], of one skill or of one for each.
        """
        return self.task.environment_actions(self.act_scaled(observation, skill, key))

    def act_scaled(self, observation: Any, skill: int | np.ndarray, key: Any = None) -> np.ndarray:
        """The same action in [-1, 1], as `Episodes` and methods have it."""
        states = self._observed(observation)
        skills, shape = self._skills(skill, states.shape[:-1]), (*states.shape[:-1], self.task.action_size)
        noise = jnp.zeros(shape) if key is None else _draw(key, shape)
        return np.asarray(self._act(self.state, jnp.asarray(states), jnp.asarray(skills), noise))

    def rollout(self, skill: int, episodes: int = 1, seed: int = 0) -> list[np.ndarray]:
        """Paths of fresh episodes of a skill, each an array [time, state] from the start to its true end."""
        self._skills(skill, ())
        rolled = self.episodes(episodes, seed)
        return [
            np.asarray(states[: length + 1])
            for states, length in zip(rolled.states[skill], rolled.lengths[skill], strict=True)
        ]

    def episodes(self, n_episode: int, seed: int = 0, noise: Colour | None = None) -> Episodes:
        """Fresh episodes of all skills, as evaluation makes them, or with noise of another colour."""
        size = checked("episodes", Positive[int], n_episode), checked("noise", Colour | None, noise)
        key = jax.random.key(check_seed(seed))
        if size not in self._rollouts:  # each is compiled, which takes seconds
            check_episodes("episodes", self.task, self.n_skill, size[0])
            self._rollouts[size] = rollout.evaluation(self.task, self.method, *size)
        return self._rollouts[size](self.state, key)

    def targets(self) -> Float[Array, "skill state"] | None:
        """The state each skill is sent to, of a method that has such a thing."""
        return targets_of(self.method, self.state)

    def measure(
        self, s1: Float[Array, " state"], s2: Float[Array, "*n state"], skill: int, log: bool = False
    ) -> np.ndarray:
        """m(s1, s2, z): how much likelier than by chance the skill, now in s1, comes by s2 (or its log, f)."""
        self._skills(skill, ())
        if not isinstance(self.method, LearnsMeasure):
            raise UserError(f"method {self.config.method} learns no measure")
        start, states, size = _numbers("s1", s1), _numbers("s2", s2), self.task.state_size
        if start.shape != (size,) or states.shape[-1:] != (size,):
            raise UserError(
                f"s1, s2: their shapes are {start.shape} and {states.shape}; give ({size},) and (..., {size})"
            )
        f = self.method.log_measure(self.state, jnp.asarray(start), jnp.asarray(states.reshape(-1, size)))[skill]
        f = f.reshape(states.shape[:-1])
        return np.asarray(f if log else jnp.exp(f))

    def close(self) -> None:
        """Closes the environments of its rollouts; it can still be used, and makes new ones."""
        for rolled in self._rollouts.values():
            rolled.close()
        self._rollouts.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _observed(self, observation: Any) -> Float[np.ndarray, "*n state"]:
        """One state or many, as the environment gives them: flat or not, or in a dictionary."""
        states, size = _numbers("observation", observation), self.task.state_size
        if states.size == size and states.shape != (1, size):
            states = states.reshape(size)
        if states.ndim not in (1, 2) or states.shape[-1] != size:
            raise UserError(f"observation: its shape is {states.shape}; give ({size},) or (n, {size})")
        if not np.isfinite(states).all():
            raise UserError(f"observation: {shown(states.tolist())} is not finite")
        return states

    def _skills(self, skill: Any, many: tuple[int, ...]) -> np.ndarray:
        """One for each of `many` observations."""
        skills = np.asarray(skill)
        if skills.shape not in ((), many):
            raise UserError(f"skill: its shape is {skills.shape}; give one number, or one for each observation")
        if skills.dtype.kind not in "iu" or np.any((skills < 0) | (skills >= self.n_skill)):
            raise UserError(f"skill: {shown(skill)} is unknown; allowed are 0 to {self.n_skill - 1}")
        return np.broadcast_to(skills.astype(np.int32), many)


def _numbers(name: str, values: Any) -> Float[np.ndarray, "*n"]:
    values = values.get("observation") if isinstance(values, Mapping) else values
    try:
        return np.asarray(values, np.float32)
    except (TypeError, ValueError) as error:
        raise UserError(f"{name}: {shown(values)} is not an array of numbers") from error


def _draw(key: Any, shape: tuple[int, ...]) -> Array:
    try:
        return jax.random.normal(key, shape)
    except (TypeError, ValueError) as error:
        raise UserError(f"key: {shown(key)} is not a PRNG key; give jax.random.key(0)") from error


def load(run_dir: str | Path, task: Task | None = None, method: Any = None, **parts: Any) -> Agent:
    """The agent that a run directory holds.

    What exists only in Python has to be given again: a `task`, a `method`, or parts of it such as `measure`.
    """
    return Agent(Run.open(checked("run_dir", Path, run_dir), {"method": method} | parts), task)
