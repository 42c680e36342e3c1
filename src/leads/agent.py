"""What training leaves behind, ready to use."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.methods.leads import Leads
from leads.rollouts.noise import Colour
from leads.tasks.task import Task
from leads.training.run import Run
from leads.training.train import Rollout, evaluation_rollout, initial_state


class Agent:
    """The skills of a run: act with one, roll one out, ask where one leads."""

    def __init__(self, run: Run, task: Task | None = None):
        config = run.config()
        self.run = run
        self.task = config.make_task(task)
        self.method = config.make_method(self.task)
        self.n_skill: int = self.method.config.n_skill
        self.epoch, state = run.restore(initial_state(self.task, self.method, jax.random.key(config.seed)))
        if self.epoch == 0:
            raise UserError(f"{run.directory} has no checkpoint yet")
        self.state = state.method
        self.visited_fine = np.asarray(state.visited_fine)
        self._act = jax.jit(self.method.act)
        self._rollouts: dict[tuple[int, Colour | None], Rollout] = {}

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
            self._rollouts[size] = evaluation_rollout(self.task, self.method, n_episode, noise)
        return self._rollouts[size](self.state, jax.random.key(seed))

    def measure(
        self, s1: Float[Array, " state"], s2: Float[Array, "*n state"], skill: int, log: bool = False
    ) -> np.ndarray:
        """m(s1, s2, z): how much likelier than by chance the skill, now in s1, comes by s2 (or its log, f)."""
        self._check(skill)
        if not isinstance(self.method, Leads):
            raise UserError(f"method {self.run.config().method} learns no measure")
        s1, s2 = jnp.asarray(s1, jnp.float32), jnp.asarray(s2, jnp.float32)
        f = self.method.log_measure(self.state, s1, s2.reshape(-1, s2.shape[-1]))[skill].reshape(s2.shape[:-1])
        return np.asarray(f if log else jnp.exp(f))

    def _check(self, skill: int) -> None:
        if not 0 <= skill < self.n_skill:
            raise UserError(f"skill: {skill} is unknown; allowed are 0 to {self.n_skill - 1}")


def load(run_dir: str | Path, task: Task | None = None) -> Agent:
    """The agent that a run directory holds; a `task` that was made in Python has to be given again."""
    return Agent(Run.open(Path(run_dir)), task)
