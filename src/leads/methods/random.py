"""The no-learning controls: actions are squashed noise and nothing is learnt, so nothing is due to a skill."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from leads.config import limits
from leads.data.episodes import Episodes
from leads.rollouts.noise import Colour
from leads.tasks.task import Task


@dataclass(frozen=True)
class RandomConfig:
    """What the controls leave to choose."""

    noise: Colour = "pink"
    """Colour of the action noise, while collecting and while evaluating."""
    scale: float = 0.3
    """Standard deviation of the noise before squashing: about that of a policy before it has learnt anything."""
    n_skill: int = 6
    """Skills in name only: groups of episodes, so that the same numbers can be counted."""
    n_episode: int = 64
    """Episodes per skill and epoch."""

    def __post_init__(self):
        limits.above_zero(self, "scale", "n_skill", "n_episode")


class RandomState(eqx.Module):
    """Nothing is learnt."""


class Random:
    """a = tanh(scale * noise), whatever the state and the skill."""

    learns = False

    def __init__(self, config: RandomConfig, task: Task):
        self.config, self.task = config, task
        self.noise = self.evaluation_noise = config.noise

    def init(self, key: PRNGKeyArray) -> RandomState:
        return RandomState()

    def act(self, state: RandomState, s, skill, noise):
        return jnp.tanh(self.config.scale * noise)

    explore = act

    def update(self, state: RandomState, episodes: Episodes, key: PRNGKeyArray):
        return state, {}

    def targets(self, state: RandomState) -> None:
        return None
