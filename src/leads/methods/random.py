"""The no-learning controls: actions are squashed noise and nothing is learnt, so nothing is due to a skill."""

from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from leads.config.fields import Config, Positive
from leads.data.episodes import Episodes
from leads.rollouts.noise import Colour
from leads.tasks.task import StepCost, Task


@dataclass(frozen=True)
class RandomConfig(Config):
    """The numbers of the controls."""

    noise: Colour = "pink"
    """Colour of the noise, in collection and in evaluation."""
    scale: Positive[float] = 0.3
    """Standard deviation of the noise before squashing: about that of a policy before it has learnt anything."""
    n_skill: Positive[int] = 6
    """Skills in name only: groups of episodes, so that the same numbers can be counted."""
    n_episode: Positive[int] = 64
    """Episodes per skill and epoch."""


class RandomState(eqx.Module):
    """Nothing is learnt."""


class Random:
    """a = tanh(scale * noise), whatever the state and the skill."""

    Config = RandomConfig
    title = "control"
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

    @staticmethod
    def seconds_per_sample(config: RandomConfig, step_cost: StepCost) -> float:
        return 3e-6
