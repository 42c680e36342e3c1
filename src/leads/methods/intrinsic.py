"""SAC on a reward that a model makes up: what the methods that LEADS is compared with have in common.

Each of them says in its own file what its model is, how the model learns, and what it rewards.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from leads.config import limits
from leads.data.episodes import Episodes
from leads.data.replay import Replay, Transitions
from leads.data.scaling import Scaling
from leads.errors import UserError
from leads.improvement.sac import Experience, Sac, SacConfig, SacState
from leads.nn import squashed_gaussian
from leads.rollouts.noise import Colour
from leads.tasks.task import Task


@dataclass(frozen=True)
class IntrinsicConfig(SacConfig):
    """What these methods share."""

    n_skill: int = 6
    """Number of skills, or of groups of episodes if the method has one policy (paper: 6)."""
    n_episode: int = 8
    """Episodes per skill and epoch."""
    noise: Colour = "white"
    """Colour of the action noise while collecting (published: white)."""
    noise_scale: float = 1.0
    """By what the action noise is multiplied while collecting (published: 1)."""
    samples_per_step: int = 64
    """Samples collected for each gradient step on the model and on SAC (METRA on states: 32)."""
    replay_size: int = 300_000
    """Transitions kept (METRA on states: 1,000,000)."""
    model_of: Literal["features", "state"] = "features"
    """What of a state the model sees: the task's features, scaled to their box, or the whole state."""
    model_hidden: tuple[int, ...] = (128, 128)
    """Hidden layers of the model's networks, as of LEADS's measure."""
    model_learning_rate: float = 3e-4
    """Adam's rate for the model."""
    reward_scale: float = 1.0
    """By what rewards are multiplied."""

    def __post_init__(self):
        limits.above_zero(self, "n_skill", "n_episode", "samples_per_step", "replay_size", "batch_size", "reward_scale")
        limits.above_zero(
            self,
            "noise_scale",
            "learning_rate",
            "temperature_learning_rate",
            "model_learning_rate",
            "temperature",
            "first_temperature",
        )
        limits.between_zero_and_one(self, "discount", "tau")
        limits.sizes(self, "actor_hidden", "critic_hidden", "model_hidden")


class Batch(eqx.Module):
    """Transitions as a model sees them: x and next_x are what counts of s and s'."""

    x: Float[Array, "batch seen"]
    a: Float[Array, "batch action"]
    z: Float[Array, "batch skill_size"]
    next_x: Float[Array, "batch seen"]
    earlier_x: Float[Array, "batch earlier seen"]
    """What was seen in the same episode before, the last first; none for most methods."""
    is_earlier: Float[Array, "batch earlier"]
    """1 where there is such a thing, 0 before the episode began."""


class IntrinsicState(eqx.Module):
    """All that such a method learns."""

    skills: Float[Array, "skill skill_size"]
    """z of each skill."""
    drawn: Float[Array, "skill skill_size"]
    """z of each group of episodes that is collected next."""
    sac: SacState
    model: Any
    model_optimiser: optax.OptState
    scaling: Scaling
    replay: Replay


class Intrinsic:
    """A method's skeleton; its functions are pure and get and give the state."""

    learns = True
    evaluation_noise: Colour = "white"
    config: Any
    earlier = 0
    """Steps before a transition that the reward looks at."""

    def __init__(self, config: IntrinsicConfig, task: Task):
        self.config, self.task, self.noise = config, task, config.noise
        self.seen_size = len(task.low) if config.model_of == "features" else task.state_size
        self.sac = Sac(config, task.state_size, task.action_size, self.skill_size)
        self.model_optimiser = optax.adam(config.model_learning_rate)
        most = config.n_skill * config.n_episode * task.horizon
        if config.replay_size < most:
            raise UserError(
                f"replay_size: {config.replay_size} is not allowed; give at least an epoch's samples, {most}"
            )

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

    def see(self, model: Any, x: Float[Array, "skill episode time1 seen"], episodes: Episodes) -> Any:
        """The model after a look at freshly collected episodes."""
        return model

    def afterwards(self, transitions: Transitions) -> Transitions:
        """What SAC takes to follow each transition."""
        return transitions

    # What all do

    def init(self, key: PRNGKeyArray) -> IntrinsicState:
        skill_key, sac_key, model_key = jax.random.split(key, 3)
        model = self.init_model(model_key)
        skills = self.draw_skills(skill_key)
        return IntrinsicState(
            skills=skills,
            drawn=skills,
            sac=self.sac.init(sac_key),
            model=model,
            model_optimiser=self.model_optimiser.init(model),
            scaling=Scaling.of(self.task),
            replay=Replay.empty(self.config.replay_size, self.task, self.skill_size),
        )

    def act(self, state: IntrinsicState, s, skill, noise):
        return squashed_gaussian.sample(*state.sac.actor(state.scaling(s), state.skills[skill]), noise)

    def explore(self, state: IntrinsicState, s, skill, noise):
        loud = self.config.noise_scale * noise
        return squashed_gaussian.sample(*state.sac.actor(state.scaling(s), state.drawn[skill]), loud)

    def targets(self, state: IntrinsicState) -> None:
        return None

    def seen(self, state: IntrinsicState, s: Float[Array, "*batch state"]) -> Float[Array, "*batch seen"]:
        """What of a state the model sees."""
        return self.task.scaled_features(s) if self.config.model_of == "features" else state.scaling(s)

    def update(self, state: IntrinsicState, episodes: Episodes, key: PRNGKeyArray):
        """Keeps the episodes, then teaches model and policy from all that is kept."""
        draw_key, learn_key = jax.random.split(key)
        state = eqx.tree_at(
            lambda s: (s.drawn, s.scaling, s.replay),
            state,
            (self.draw_skills(draw_key), state.scaling.seen(episodes), state.replay.add(episodes, state.drawn)),
            is_leaf=lambda x: x is None,
        )
        model = self.see(state.model, self.seen(state, episodes.states), episodes)
        state = eqx.tree_at(lambda s: s.model, state, model)
        steps = jnp.maximum(episodes.samples() // self.config.samples_per_step, 1)

        def step(i, so_far):
            learnt, sums = so_far
            learnt, metrics = self._step(eqx.tree_at(_learnt, state, learnt), jax.random.fold_in(learn_key, i))
            return _learnt(learnt), jax.tree.map(jnp.add, sums, metrics)

        shapes = jax.eval_shape(self._step, state, learn_key)[1]
        nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        learnt, sums = jax.lax.fori_loop(0, steps, step, (_learnt(state), nothing))
        return eqx.tree_at(_learnt, state, learnt), jax.tree.map(lambda total: total / steps, sums)

    def _step(self, state: IntrinsicState, key: PRNGKeyArray):
        """One gradient step on the model, one on SAC with the reward of the new model."""
        keys = jax.random.split(key, 4)
        index, transitions = state.replay.draw(self.config.batch_size, keys[0])
        batch = self._batch(state, index, transitions)
        state, model_metrics = self.teach(state, batch, keys[1])
        r = self.config.reward_scale * self.reward(state.model, batch, keys[2])
        after = self.afterwards(transitions)
        scaled = state.scaling(after.s), state.scaling(after.next_s)
        experience = Experience(scaled[0], after.a, after.z, r, scaled[1], after.terminal)
        sac, metrics = self.sac.update(state.sac, experience, keys[3])
        return eqx.tree_at(lambda s: s.sac, state, sac), metrics | model_metrics | {"reward": jnp.mean(r)}

    def teach(self, state: IntrinsicState, batch: Batch, key: PRNGKeyArray):
        """One gradient step on the model."""
        gradient, metrics = jax.grad(self.model_loss, has_aux=True)(state.model, batch, key)
        change, optimiser = self.model_optimiser.update(gradient, state.model_optimiser)
        model = eqx.apply_updates(state.model, change)
        return eqx.tree_at(lambda s: (s.model, s.model_optimiser), state, (model, optimiser)), metrics

    def _batch(self, state: IntrinsicState, index: Int[Array, " batch"], transitions: Transitions) -> Batch:
        before, is_there = state.replay.earlier(index, self.earlier)
        return Batch(
            x=self.seen(state, transitions.s),
            a=transitions.a,
            z=transitions.z,
            next_x=self.seen(state, transitions.next_s),
            earlier_x=self.seen(state, state.replay.kept.s[before]),
            is_earlier=is_there.astype(jnp.float32),
        )


def _learnt(state: IntrinsicState) -> tuple:
    """What a gradient step changes; the rest, above all the replay, stays as it is."""
    return state.sac, state.model, state.model_optimiser
