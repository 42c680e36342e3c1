"""The no-learning controls: actions are squashed noise and nothing is learnt, so nothing is due to a skill."""

from dataclasses import dataclass
from typing import Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from leads.rollouts.episodes import Episodes
from leads.tasks.task import Task


@dataclass(frozen=True)
class RandomConfig:
    """What the controls leave to choose."""

    noise: Literal["pink", "white"] = "pink"
    """Colour of the action noise, while collecting and while evaluating."""
    n_skill: int = 6
    """Skills in name only: groups of episodes, so that the same numbers can be counted."""
    n_episode: int = 16
    """Episodes per skill and epoch."""


class RandomState(eqx.Module):
    """Nothing is learnt."""


class Random:
    """a = tanh(noise), whatever the state and the skill."""

    def __init__(self, config: RandomConfig, task: Task):
        self.config, self.task = config, task
        self.noise = self.evaluation_noise = config.noise

    def init(self, key: PRNGKeyArray) -> RandomState:
        return RandomState()

    def act(self, state: RandomState, s, skill, noise):
        return jnp.tanh(noise)

    def update(self, state: RandomState, episodes: Episodes, key: PRNGKeyArray):
        return state, {}

    def targets(self, state: RandomState) -> None:
        return None
