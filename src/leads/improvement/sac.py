"""Soft actor-critic: one policy for all skills, taught by any reward (Haarnoja et al. 2018, arXiv:1812.05905)."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from leads.nn import squashed_gaussian
from leads.nn.networks import MLP, Actor


@dataclass(frozen=True)
class SacConfig:
    """What SAC leaves to choose."""

    actor_hidden: tuple[int, ...] = (256, 256)
    """Hidden layers of the policy (published: 256,256)."""
    critic_hidden: tuple[int, ...] = (256, 256)
    """Hidden layers of both critics (published: 256,256)."""
    learning_rate: float = 3e-4
    """Adam's rate for the policy and the critics (published: 3e-4)."""
    temperature_learning_rate: float = 1e-3
    """Adam's rate for the temperature (published: 3e-4, with many more steps in which to find it)."""
    batch_size: int = 256
    """Transitions a gradient step (published: 256)."""
    discount: float = 0.99
    """Gamma (published: .99)."""
    tau: float = 5e-3
    """Tau, how far the target critics follow the critics in a step (published: 5e-3)."""
    temperature: float | None = None
    """Weight of the policy's entropy; if not given, learnt for an entropy of -|A|/2 nats (published: learnt, -|A|)."""
    first_temperature: float = 0.3
    """The learnt temperature in the beginning (METRA: .01; with less than .3 a policy is soon sure of its way)."""


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

    actor: Actor
    critics: MLP
    """Two Q(s, a, z), stacked."""
    targets: MLP
    """The critics as they were, on average, some time ago."""
    log_temperature: Float[Array, ""]
    actor_optimiser: optax.OptState
    critics_optimiser: optax.OptState
    temperature_optimiser: optax.OptState


class Sac:
    """Pure functions of the state."""

    def __init__(self, config: SacConfig, state_size: int, action_size: int, skill_size: int):
        self.config, self.sizes = config, (state_size, action_size, skill_size)
        self.target_entropy = -action_size / 2
        self.optimiser = optax.adam(config.learning_rate)
        self.temperature_optimiser = optax.adam(config.temperature_learning_rate)

    def init(self, key: PRNGKeyArray) -> SacState:
        c, (state_size, action_size, skill_size) = self.config, self.sizes
        actor_key, critics_key = jax.random.split(key)
        actor = Actor(actor_key, state_size, skill_size, action_size, c.actor_hidden)
        sizes = (state_size + action_size + skill_size, *c.critic_hidden, 1)
        critics = jax.vmap(lambda key: MLP(key, sizes))(jax.random.split(critics_key))
        log_temperature = jnp.log(jnp.float32(c.first_temperature if c.temperature is None else c.temperature))
        return SacState(
            actor=actor,
            critics=critics,
            targets=critics,
            log_temperature=log_temperature,
            actor_optimiser=self.optimiser.init(eqx.filter(actor, eqx.is_array)),
            critics_optimiser=self.optimiser.init(eqx.filter(critics, eqx.is_array)),
            temperature_optimiser=self.temperature_optimiser.init(log_temperature),
        )

    def critics_loss(self, critics: MLP, state: SacState, batch: Experience, key: PRNGKeyArray):
        """Squared error of both critics against r + gamma (min Q' - temperature log pi); nothing follows the end."""
        noise = jax.random.normal(key, batch.a.shape)
        mean, log_std = state.actor(batch.next_s, batch.z)
        next_a = squashed_gaussian.sample(mean, log_std, noise)
        entropy = -jnp.exp(state.log_temperature) * squashed_gaussian.log_prob(mean, log_std, noise)
        later = jnp.min(values(state.targets, batch.next_s, next_a, batch.z), axis=0) + entropy
        target = jax.lax.stop_gradient(batch.r + self.config.discount * jnp.where(batch.terminal, 0.0, later))
        q = values(critics, batch.s, batch.a, batch.z)
        return jnp.mean(jnp.sum((q - target) ** 2, axis=0)), {"q": jnp.mean(q)}

    def actor_loss(self, actor: Actor, state: SacState, batch: Experience, key: PRNGKeyArray):
        """temperature log pi - min Q, of fresh actions."""
        noise = jax.random.normal(key, batch.a.shape)
        mean, log_std = actor(batch.s, batch.z)
        log_pi = squashed_gaussian.log_prob(mean, log_std, noise)
        q = jnp.min(values(state.critics, batch.s, squashed_gaussian.sample(mean, log_std, noise), batch.z), axis=0)
        return jnp.mean(jnp.exp(state.log_temperature) * log_pi - q), {"entropy": -jnp.mean(log_pi)}

    def update(self, state: SacState, batch: Experience, key: PRNGKeyArray):
        """A gradient step on the critics, the policy and, unless it is fixed, the temperature."""
        critics_key, actor_key = jax.random.split(key)
        gradient, critic_metrics = jax.grad(self.critics_loss, has_aux=True)(state.critics, state, batch, critics_key)
        critics, critics_optimiser = self._step(state.critics, gradient, state.critics_optimiser)
        follow = lambda old, new: old + self.config.tau * (new - old)
        state = eqx.tree_at(
            lambda s: (s.critics, s.targets, s.critics_optimiser),
            state,
            (critics, jax.tree.map(follow, state.targets, critics), critics_optimiser),
        )
        gradient, actor_metrics = jax.grad(self.actor_loss, has_aux=True)(state.actor, state, batch, actor_key)
        actor, actor_optimiser = self._step(state.actor, gradient, state.actor_optimiser)
        state = eqx.tree_at(lambda s: (s.actor, s.actor_optimiser), state, (actor, actor_optimiser))
        metrics = critic_metrics | actor_metrics | {"temperature": jnp.exp(state.log_temperature)}
        if self.config.temperature is None:
            surplus = actor_metrics["entropy"] - self.target_entropy  # the gradient of log_temperature * surplus
            change, optimiser = self.temperature_optimiser.update(surplus, state.temperature_optimiser)
            learnt = eqx.apply_updates(state.log_temperature, change)
            state = eqx.tree_at(lambda s: (s.log_temperature, s.temperature_optimiser), state, (learnt, optimiser))
        return state, metrics

    def _step(self, weights, gradient, optimiser: optax.OptState):
        change, optimiser = self.optimiser.update(gradient, optimiser)
        return eqx.apply_updates(weights, change), optimiser


def values(
    critics: MLP,
    s: Float[Array, "batch state"],
    a: Float[Array, "batch action"],
    z: Float[Array, "batch skill_size"],
) -> Float[Array, "critic batch"]:
    """Q of both critics."""
    return jax.vmap(lambda critic: critic(jnp.concatenate([s, a, z], axis=-1))[..., 0])(critics)
