"""What training leaves behind, ready to use."""

from pathlib import Path
from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.methods.method import LearnsMeasure, targets_of
from leads.rollouts import rollout
from leads.rollouts.noise import Colour
from leads.tasks.task import Task
from leads.training.run import Run
from leads.training.train import initial_state


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

    def act(self, observation: np.ndarray, skill: int, key=None) -> np.ndarray:
        """The skill's action in [-1, 1]: its mean, or with a PRNG key a draw from its distribution."""
        self._check(skill)
        size = self.task.action_size
        noise = jnp.zeros(size) if key is None else jax.random.normal(key, (size,))
        return np.asarray(self._act(self.state, jnp.asarray(observation, jnp.float32), jnp.int32(skill), noise))

    def rollout(self, skill: int, episodes: int = 1, seed: int = 0) -> list[np.ndarray]:
        """Paths of fresh episodes of a skill, each an array [time, state] from the start to its true end."""
        self._check(skill)
        rolled = self.episodes(episodes, seed)
        return [
            np.asarray(states[: length + 1])
            for states, length in zip(rolled.states[skill], rolled.lengths[skill], strict=True)
        ]

    def episodes(self, n_episode: int, seed: int = 0, noise: Colour | None = None) -> Episodes:
        """Fresh episodes of all skills, as evaluation makes them, or with noise of another colour."""
        size = n_episode, noise
        if size not in self._rollouts:  # each is compiled, which takes seconds
            self._rollouts[size] = rollout.evaluation(self.task, self.method, n_episode, noise)
        return self._rollouts[size](self.state, jax.random.key(seed))

    def targets(self) -> Float[Array, "skill state"] | None:
        """The state each skill is sent to, of a method that has such a thing."""
        return targets_of(self.method, self.state)

    def measure(
        self, s1: Float[Array, " state"], s2: Float[Array, "*n state"], skill: int, log: bool = False
    ) -> np.ndarray:
        """m(s1, s2, z): how much likelier than by chance the skill, now in s1, comes by s2 (or its log, f)."""
        self._check(skill)
        if not isinstance(self.method, LearnsMeasure):
            raise UserError(f"method {self.config.method} learns no measure")
        s1, s2 = jnp.asarray(s1, jnp.float32), jnp.asarray(s2, jnp.float32)
        f = self.method.log_measure(self.state, s1, s2.reshape(-1, s2.shape[-1]))[skill].reshape(s2.shape[:-1])
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

    def _check(self, skill: int) -> None:
        if not 0 <= skill < self.n_skill:
            raise UserError(f"skill: {skill} is unknown; allowed are 0 to {self.n_skill - 1}")


def load(run_dir: str | Path, task: Task | None = None, method: Any = None, **parts: Any) -> Agent:
    """The agent that a run directory holds.

    What exists only in Python has to be given again: a `task`, a `method`, or parts of it such as `measure`.
    """
    return Agent(Run.open(Path(run_dir), {"method": method} | parts), task)
