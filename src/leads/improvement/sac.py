"""Soft actor-critic: one policy for all skills, taught by any reward (Haarnoja et al. 2018, arXiv:1812.05905)."""

from dataclasses import dataclass
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from leads.config.fields import Config, Decay, Fraction, Layers, Limit, Positive
from leads.nn import squashed_gaussian
from leads.nn.learner import Learner, follow
from leads.nn.networks import MLP, Actor

BELOW_UNIFORM = Limit("a number up to 0.69, the entropy of uniform actions", lambda value: value <= 0.69)


@dataclass(frozen=True)
class SacConfig(Config):
    """The numbers of SAC."""

    actor_hidden: Layers = (256, 256)
    """Hidden layers of the policy (published: 256,256)."""
    critic_hidden: Layers = (256, 256)
    """Hidden layers of both critics (published: 256,256)."""
    learning_rate: Positive[float] = 3e-4
    """Learning rate of actor and critics (published: 3e-4)."""
    temperature_learning_rate: Positive[float] = 1e-3
    """Learning rate of the temperature (published: 3e-4, with many more steps in which to find it)."""
    batch_size: Positive[int] = 256
    """Batch size of the updates (published: 256)."""
    discount: Fraction[float] = 0.99
    """Gamma (published: .99)."""
    actor_every: Positive[int] = 1
    """Gradient steps on the critics per step on actor and temperature (published: 1; TD3: 2)."""
    tau: Fraction[float] = 5e-3
    """Rate at which the target critics follow the critics (published: 5e-3)."""
    temperature: Positive[float] | None = None
    """Weight of the policy's entropy; none: learnt for the entropy below (published: learnt)."""
    wanted_entropy: Annotated[float, BELOW_UNIFORM] = -0.5
    """Entropy per action, in nats, for which the temperature is learnt; uniform actions have .69 (published: -1)."""
    first_temperature: Positive[float] = 0.3
    """Initial value of the learnt temperature (METRA: .01; with less than .3 a policy soon narrows)."""
    policy_average: Decay[float] = 0.0
    """Decay per step of the moving average of the weights that is the learnt skill; 0: the last weights (published)."""


class Experience(eqx.Module):
    """What a gradient step learns from; states are scaled, and z is how networks see a skill."""

    s: Float[Array, "batch state"]
    a: Float[Array, "batch action"]
    z: Float[Array, "batch skill_size"]
    r: Float[Array, " batch"]
    next_s: Float[Array, "batch state"]
    terminal: Bool[Array, " batch"]


class SacState(eqx.Module):
    """All that SAC learns."""

    actor: Learner[Actor]
    average: Actor | None
    """Moving average of the actor's weights; None where the last weights are the skill."""
    critics: Learner[MLP]
    """Two Q(s, a, z), stacked."""
    targets: MLP
    """Slow copy of the critics, for their targets."""
    log_temperature: Learner[Float[Array, ""]]
    steps: Int[Array, ""]
    """Gradient steps so far."""
    entropy: Float[Array, ""]
    """Of the policy at its last step."""

    @property
    def skill(self) -> Actor:
        """The policy as it is evaluated and used."""
        return self.actor.model if self.average is None else self.average


class Sac:
    """Pure functions of the state."""

    def __init__(self, config: SacConfig, state_size: int, action_size: int, skill_size: int):
        self.config, self.sizes = config, (state_size, action_size, skill_size)
        self.target_entropy = config.wanted_entropy * action_size

    def init(self, key: PRNGKeyArray) -> SacState:
        c, (state_size, action_size, skill_size) = self.config, self.sizes
        actor_key, critics_key = jax.random.split(key)
        actor = Actor(actor_key, state_size, skill_size, action_size, c.actor_hidden)
        sizes = (state_size + action_size + skill_size, *c.critic_hidden, 1)
        critics = jax.vmap(lambda key: MLP(key, sizes))(jax.random.split(critics_key))
        log_temperature = jnp.log(jnp.float32(c.first_temperature if c.temperature is None else c.temperature))
        return SacState(
            actor=Learner.of(actor, c.learning_rate),
            average=actor if c.policy_average else None,
            critics=Learner.of(critics, c.learning_rate),
            targets=critics,
            log_temperature=Learner.of(log_temperature, c.temperature_learning_rate),
            steps=jnp.int32(0),
            entropy=jnp.float32(0),
        )

    def critics_loss(self, critics: MLP, state: SacState, batch: Experience, key: PRNGKeyArray):
        """Squared error of both critics against r + gamma (min Q' - temperature log pi); nothing follows the end."""
        noise = jax.random.normal(key, batch.a.shape)
        mean, log_std = state.actor.model(batch.next_s, batch.z)
        next_a = squashed_gaussian.sample(mean, log_std, noise)
        entropy = -jnp.exp(state.log_temperature.model) * squashed_gaussian.log_prob(mean, log_std, noise)
        later = jnp.min(values(state.targets, batch.next_s, next_a, batch.z), axis=0) + entropy
        target = jax.lax.stop_gradient(batch.r + self.config.discount * jnp.where(batch.terminal, 0.0, later))
        q = values(critics, batch.s, batch.a, batch.z)
        return jnp.mean(jnp.sum((q - target) ** 2, axis=0)), {"q": jnp.mean(q)}

    def actor_loss(self, actor: Actor, state: SacState, batch: Experience, key: PRNGKeyArray):
        """temperature log pi - min Q, of fresh actions."""
        noise = jax.random.normal(key, batch.a.shape)
        mean, log_std = actor(batch.s, batch.z)
        log_pi = squashed_gaussian.log_prob(mean, log_std, noise)
        q = jnp.min(
            values(state.critics.model, batch.s, squashed_gaussian.sample(mean, log_std, noise), batch.z), axis=0
        )
        return jnp.mean(jnp.exp(state.log_temperature.model) * log_pi - q), {"entropy": -jnp.mean(log_pi)}

    def temperature_loss(self, log_temperature: Float[Array, ""], entropy: Float[Array, ""]):
        """Falls with the temperature where the entropy is above its target, and rises with it elsewhere."""
        return log_temperature * jax.lax.stop_gradient(entropy - self.target_entropy), {}

    def update(self, state: SacState, batch: Experience, key: PRNGKeyArray):
        """A gradient step on the critics and, every so many steps, on the policy and its temperature."""
        critics_key, actor_key = jax.random.split(key)
        temperature = jnp.exp(state.log_temperature.model)
        critics, metrics = state.critics.step(self.critics_loss, state, batch, critics_key)
        targets = follow(state.targets, critics.model, self.config.tau)
        state = eqx.tree_at(lambda s: (s.critics, s.targets, s.steps), state, (critics, targets, state.steps + 1))
        improve, stay = lambda: self._improve_actor(state, batch, actor_key), lambda: _of_actor(state)
        every = self.config.actor_every
        actor = improve() if every == 1 else jax.lax.cond(state.steps % every == 1, improve, stay)
        state = eqx.tree_at(_of_actor, state, actor)
        if state.average is not None:
            average = follow(state.average, state.actor.model, 1 - self.config.policy_average)
            state = eqx.tree_at(lambda s: s.average, state, average)
        return state, metrics | {"entropy": state.entropy, "temperature": temperature}

    def _improve_actor(self, state: SacState, batch: Experience, key: PRNGKeyArray) -> tuple:
        """A gradient step on the policy and, unless it is fixed, the temperature."""
        actor, metrics = state.actor.step(self.actor_loss, state, batch, key)
        log_temperature = state.log_temperature
        if self.config.temperature is None:
            log_temperature, _ = log_temperature.step(self.temperature_loss, metrics["entropy"])
        return actor, log_temperature, metrics["entropy"]


def _of_actor(state: SacState) -> tuple:
    """What a step on the actor changes."""
    return state.actor, state.log_temperature, state.entropy


def values(
    critics: MLP,
    s: Float[Array, "batch state"],
    a: Float[Array, "batch action"],
    z: Float[Array, "batch skill_size"],
) -> Float[Array, "critic batch"]:
    """Q of both critics."""
    return jax.vmap(lambda critic: critic(jnp.concatenate([s, a, z], axis=-1))[..., 0])(critics)
