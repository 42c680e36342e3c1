"""The paper's way to improve the policy: the gradient of G through the measure of one action."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from leads.config.fields import Config, Decay, Layers, NonNegative, Positive
from leads.data.episodes import Episodes, draw_steps
from leads.improvement.improvement import Gaussian, Improvement
from leads.nn import squashed_gaussian
from leads.nn.learner import Learner, follow
from leads.nn.networks import Actor

if TYPE_CHECKING:
    from leads.methods.leads import Leads, LeadsState


@dataclass(frozen=True)
class ThroughMeasureConfig(Config):
    """The numbers of the policy's updates."""

    actor_hidden: Layers = (256, 256)
    """Hidden layers of the policy (paper: 256,256)."""
    objective: Literal["leads", "lower_bound", "lower_bound_diversity"] = "leads"
    """eq:objective_function, or the earlier bounds eq:lower_bound, eq:lower_bound_diversity (paper: leads)."""
    n_together: Positive[int] = 1
    """Targets per state of an update: it is enough to be at one of them (paper: 1)."""
    offset: Positive[float] = 30.0
    """The number beside the sum in the denominator of the objective; G saturates once m is far above it (paper: 1)."""
    policy_steps: Positive[int] = 64
    """Gradient steps on the policy per epoch (paper: 16)."""
    policy_batch_size: Positive[int] = 128
    """Batch size of the policy's updates, in states, each with the actions of every skill (paper: 1024)."""
    policy_learning_rate: Positive[float] = 5e-4
    """Learning rate of the policy (paper: 5e-4)."""
    policy_average: Decay[float] = 0.99
    """Decay per step of the moving average of the weights that is the learnt skill; 0: the last weights (paper: 0)."""
    td_steps: NonNegative[int] = 4
    """Off-policy steps on the measure after each step on the policy (paper: 1)."""
    entropy: float = 0.005
    """Lambda_h, weight of the action entropy (paper: .05)."""
    target_entropy: float = 0.05
    """Weight of the action entropy at the targets, so that a skill wanders there (paper: 0)."""


class Policy(eqx.Module):
    """What is learnt."""

    actor: Learner[Actor]
    average: Actor
    """Exponential moving average of the actor's weights."""


class ThroughMeasure(Improvement):
    """max E[G + lambda_h H] by the reparametrised action, with the measure kept up to date after each step."""

    Config = ThroughMeasureConfig
    config: ThroughMeasureConfig

    def init(self, key: PRNGKeyArray) -> Policy:
        c, task = self.config, self.task
        actor = Actor(key, task.state_size, self.skill_size, task.action_size, c.actor_hidden)
        return Policy(Learner.of(actor, c.policy_learning_rate), actor)

    def policy(self, policy: Policy, s, z) -> Gaussian:
        return policy.actor.model(s, z)

    def skill(self, policy: Policy, s, z) -> Gaussian:
        return policy.average(s, z)

    def objective(self, actor: Actor, leads: "Leads", state: "LeadsState", episodes: Episodes, key: PRNGKeyArray):
        """eq:objective_function (or an earlier bound) with entropy, to be maximised; and what it is made of."""
        c = self.config
        n_skill, n_targets = state.targets.shape[:2]
        keys = jax.random.split(key, 5)
        skill = jax.random.randint(keys[0], (c.policy_batch_size,), 0, n_skill)
        s1 = episodes.states[skill, *draw_steps(episodes, skill, keys[1])]
        if c.objective == "leads":
            drawn = jax.random.randint(keys[2], (c.policy_batch_size, c.n_together), 0, n_targets)
            s2 = state.targets[skill[:, None], drawn]
        else:
            s2 = episodes.states[skill, *draw_steps(episodes, skill, keys[2])][:, None]
        everyone = (c.policy_batch_size, n_skill)
        s = jnp.broadcast_to(state.scaling(s1)[:, None], (*everyone, s1.shape[-1]))
        z = jnp.broadcast_to(state.skills, (*everyone, self.skill_size))
        mean, log_std = actor(s, z)
        noise = jax.random.normal(keys[3], mean.shape)
        action = squashed_gaussian.sample(mean, log_std, noise)
        inputs = s[:, :, None], action[:, :, None], z[:, :, None], leads.features(state, s2)[:, None]
        f = state.measure.model.log_ratio(*inputs)
        f = jax.nn.logsumexp(f, axis=2) - jnp.log(f.shape[2])
        own = jnp.take_along_axis(f, skill[:, None], axis=1)
        beside = jnp.concatenate([f, jnp.full_like(own, jnp.log(c.offset))], axis=1)
        g = jnp.mean(own[:, 0] - (0.0 if c.objective == "lower_bound" else jax.nn.logsumexp(beside, axis=1)))
        entropy = -jnp.mean(squashed_gaussian.log_prob(mean, log_std, noise))
        there = actor(state.scaling(s2[:, 0]), state.skills[skill])
        target_entropy = -jnp.mean(squashed_gaussian.log_prob(*there, jax.random.normal(keys[4], there[0].shape)))
        objective = g + c.entropy * entropy + c.target_entropy * target_entropy
        return objective, {"objective": g, "entropy": entropy, "target_entropy": target_entropy}

    def improve(self, leads: "Leads", state: "LeadsState", episodes: Episodes, recent: Episodes, key: PRNGKeyArray):
        c = self.config

        def step(state: "LeadsState", key: PRNGKeyArray):
            policy_key, measure_key = jax.random.split(key)
            actor, metrics = state.policy.actor.ascend(self.objective, leads, state, episodes, policy_key)
            average = follow(state.policy.average, actor.model, 1 - c.policy_average)
            state = eqx.tree_at(lambda s: s.policy, state, Policy(actor, average))
            return leads.measure_steps(state, recent, c.td_steps, False, measure_key)[0], metrics

        state, metrics = jax.lax.scan(step, state, jax.random.split(key, c.policy_steps))
        return state, jax.tree.map(jnp.mean, metrics)
