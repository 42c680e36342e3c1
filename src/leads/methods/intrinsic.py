"""SAC on a reward that a model makes up: what the methods that LEADS is compared with have in common.

Each of them says in its own file what its model is, how the model learns, and what it rewards.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from leads.config.fields import Layers, Positive
from leads.data.episodes import Episodes
from leads.data.replay import Replay, Transitions, check_replay_size
from leads.data.scaling import Scaling
from leads.improvement.sac import Experience, Sac, SacConfig, SacState
from leads.nn import squashed_gaussian
from leads.nn.learner import Learner, take_steps
from leads.rollouts.noise import Colour
from leads.tasks.task import StepCost, Task


@dataclass(frozen=True)
class IntrinsicConfig(SacConfig):
    """What these methods share."""

    n_skill: Positive[int] = 6
    """Number of skills, or of groups of episodes if the method has one policy (paper: 6)."""
    n_episode: Positive[int] = 8
    """Episodes per skill and epoch, at most."""
    epoch_samples: Positive[int] | None = None
    """Samples of an epoch, about: where episodes last long, fewer than n_episode are begun; none: always n_episode."""
    noise: Colour = "white"
    """Colour of the exploration noise (published: white)."""
    noise_scale: Positive[float] = 1.0
    """Scale of the exploration noise (published: 1)."""
    samples_per_step: Positive[int] = 64
    """Samples collected per gradient step on the model and on SAC (METRA on states: 32)."""
    replay_size: Positive[int] = 300_000
    """Transitions kept (METRA on states: 1,000,000)."""
    model_of: Literal["features", "state"] = "features"
    """What the model sees of a state: the task's features, or the whole state."""
    model_hidden: Layers = (128, 128)
    """Hidden layers of the model's networks, as of LEADS's measure."""
    model_learning_rate: Positive[float] = 3e-4
    """Learning rate of the model."""
    reward_scale: Positive[float] = 1.0
    """Scale of the rewards."""


class Batch(eqx.Module):
    """Transitions as a model sees them: x and next_x are features of s and s'."""

    x: Float[Array, "batch feature"]
    a: Float[Array, "batch action"]
    z: Float[Array, "batch skill_size"]
    next_x: Float[Array, "batch feature"]
    earlier_x: Float[Array, "batch earlier feature"]
    """Features of earlier states of the episode, the latest first; none for most methods."""
    is_earlier: Float[Array, "batch earlier"]
    """1 where there is such a state, 0 before the episode began."""


class IntrinsicState(eqx.Module):
    """All that such a method learns."""

    skills: Float[Array, "skill skill_size"]
    """z of each skill."""
    drawn: Float[Array, "skill skill_size"]
    """z of each group of episodes that is collected next."""
    sac: SacState
    model: Learner[Any]
    scaling: Scaling
    replay: Replay


class Intrinsic:
    """A method's skeleton; its functions are pure and get and give the state."""

    Config: type[IntrinsicConfig]
    title: str
    family = "sac"
    """Whose settings it shares (settings.toml)."""
    seconds_per_step = 7e-3
    """CPU seconds of a gradient step, roughly."""
    learns = True
    evaluation_noise: Colour = "white"
    config: Any
    earlier = 0
    """Steps before a transition that the reward looks at."""

    def __init__(self, config: IntrinsicConfig, task: Task):
        self.config, self.task, self.noise = config, task, config.noise
        self.feature_size = task.network_feature_size if config.model_of == "features" else task.state_size
        self.sac = Sac(config, task.state_size, task.action_size, self.skill_size)
        check_replay_size(config.replay_size, config.n_skill * config.n_episode * task.horizon)

    @classmethod
    def seconds_per_sample(cls, config: IntrinsicConfig, step_cost: StepCost) -> float:
        return 1.3e-4 + cls.seconds_per_step / config.samples_per_step

    # What a method says

    @property
    def skill_size(self) -> int:
        """Size of z: skills are numbers written as one-hot vectors; 0 for a method with one policy."""
        return self.config.n_skill

    def draw_skills(self, key: PRNGKeyArray) -> Float[Array, "skill skill_size"]:
        """z of the skills to collect with."""
        return jnp.eye(self.config.n_skill, self.skill_size)

    @abstractmethod
    def init_model(self, key: PRNGKeyArray) -> Any:
        """The model; a pytree of floating-point arrays."""

    @abstractmethod
    def model_loss(self, model: Any, batch: Batch, key: PRNGKeyArray) -> tuple[Float[Array, ""], dict[str, Array]]:
        """(loss, metrics); what is not to be learnt hides behind stop_gradient."""

    @abstractmethod
    def reward(self, model: Any, batch: Batch, key: PRNGKeyArray) -> Float[Array, " batch"]:
        """r of transitions, made up anew whenever they are used."""

    def observe_episodes(self, model: Any, x: Float[Array, "skill episode time1 feature"], episodes: Episodes) -> Any:
        """The model with its statistics updated by freshly collected episodes."""
        return model

    def afterwards(self, transitions: Transitions) -> Transitions:
        """What SAC takes to follow each transition."""
        return transitions

    # What all do

    def init(self, key: PRNGKeyArray) -> IntrinsicState:
        skill_key, sac_key, model_key = jax.random.split(key, 3)
        skills = self.draw_skills(skill_key)
        return IntrinsicState(
            skills=skills,
            drawn=skills,
            sac=self.sac.init(sac_key),
            model=Learner.of(self.init_model(model_key), self.config.model_learning_rate),
            scaling=Scaling.of(self.task),
            replay=Replay.empty(self.config.replay_size, self.task, self.skill_size),
        )

    def act(self, state: IntrinsicState, s, skill, noise):
        return squashed_gaussian.sample(*state.sac.skill(state.scaling(s), state.skills[skill]), noise)

    def explore(self, state: IntrinsicState, s, skill, noise):
        scaled = self.config.noise_scale * noise
        return squashed_gaussian.sample(*state.sac.actor.model(state.scaling(s), state.drawn[skill]), scaled)

    def features(self, state: IntrinsicState, s: Float[Array, "*batch state"]) -> Float[Array, "*batch feature"]:
        """What the model sees of a state."""
        return state.scaling.features(s) if self.config.model_of == "features" else state.scaling(s)

    def update(self, state: IntrinsicState, episodes: Episodes, key: PRNGKeyArray):
        """Keeps the episodes, then teaches model and policy from all that is kept."""
        draw_key, learn_key = jax.random.split(key)
        state = eqx.tree_at(
            lambda s: (s.drawn, s.scaling, s.replay),
            state,
            (self.draw_skills(draw_key), state.scaling.updated(episodes), state.replay.add(episodes, state.drawn)),
            is_leaf=lambda x: x is None,
        )
        model = self.observe_episodes(state.model.model, self.features(state, episodes.states), episodes)
        state = eqx.tree_at(lambda s: s.model.model, state, model)
        steps = jnp.maximum(episodes.samples() // self.config.samples_per_step, 1)

        def step(learnt, key):
            stepped, metrics = self._step(eqx.tree_at(_learnt, state, learnt), key)
            return _learnt(stepped), metrics

        learnt, metrics = take_steps(step, _learnt(state), steps, learn_key)
        return eqx.tree_at(_learnt, state, learnt), metrics

    def _step(self, state: IntrinsicState, key: PRNGKeyArray):
        """One gradient step on SAC, one on the model; the reward is the model's before, so that both share its pass."""
        keys = jax.random.split(key, 4)
        index, transitions = state.replay.draw(self.config.batch_size, keys[0])
        batch = self._batch(state, index, transitions)
        model, model_metrics = self.teach(state.model, batch, keys[1])
        r = self.config.reward_scale * self.reward(state.model.model, batch, keys[2])
        after = self.afterwards(transitions)
        scaled = state.scaling(after.s), state.scaling(after.next_s)
        experience = Experience(scaled[0], after.a, after.z, r, scaled[1], after.terminal)
        sac, metrics = self.sac.update(state.sac, experience, keys[3])
        metrics = metrics | model_metrics | {"reward": jnp.mean(r)}
        return eqx.tree_at(lambda s: (s.sac, s.model), state, (sac, model)), metrics

    def teach(self, model: Learner[Any], batch: Batch, key: PRNGKeyArray):
        """One gradient step on the model: (model, metrics)."""
        return model.step(self.model_loss, batch, key)

    def _batch(self, state: IntrinsicState, index: Int[Array, " batch"], transitions: Transitions) -> Batch:
        before, is_there = state.replay.earlier(index, self.earlier)
        return Batch(
            x=self.features(state, transitions.s),
            a=transitions.a,
            z=transitions.z,
            next_x=self.features(state, transitions.next_s),
            earlier_x=self.features(state, state.replay.kept.s[before]),
            is_earlier=is_there.astype(jnp.float32),
        )


def _learnt(state: IntrinsicState) -> tuple:
    """What a gradient step changes; the rest, above all the replay, stays as it is."""
    return state.sac, state.model
