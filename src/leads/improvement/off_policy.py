"""SAC as LEADS's way to improve its policy: what the measure says of a place, and a pull towards one's own, as reward.

Taken together, targets are a value function:

    E_{s2 ~ delta(.|z)} m(s1, a, s2, z) = E_{s ~ p(.|s1, a, z)} [delta(s|z) / p(s)],

the normalised Q of the reward delta(s|z) / p(s). The gradient of m through one action is noise where many actions
decide together; replay and critics find a way all the same.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from leads.config.fields import Layers, NonNegative, Positive, at_least, at_most
from leads.data.episodes import Episodes
from leads.data.replay import Replay, Transitions, check_replay_size
from leads.errors import UserError
from leads.improvement.improvement import Gaussian, Improvement
from leads.improvement.pull import Aim, Division, divide, metric_loss
from leads.improvement.sac import Experience, Sac, SacConfig, SacState
from leads.nn.dual import Dual
from leads.nn.learner import Learner, take_steps
from leads.nn.networks import MLP
from leads.tasks.task import Task

if TYPE_CHECKING:
    from leads.methods.leads import Leads, LeadsState


@dataclass(frozen=True)
class OffPolicyConfig(SacConfig):
    """The numbers of SAC and of its reward."""

    samples_per_step: Positive[int] = 64
    """Samples collected per gradient step on SAC and on the metric phi."""
    replay_size: Positive[int] = 300_000
    """Transitions kept."""
    share_weight: NonNegative[float] = 1.0
    """Weight of share x novelty in the reward: whose a place is, times how new it is."""
    novelty_exponent: NonNegative[float] = 1.0
    """Exponent of novelty in share x novelty; 0: only whose a place is."""
    roam_weight: NonNegative[float] = 0.0
    """Weight of roaming in the reward, for states with velocities: share x how far a step goes on like the last."""
    pull_weight: NonNegative[float] = 1.0
    """Weight of the pull in the reward: steps by which a skill comes nearer to its aim."""
    pull: Aim = "beyond"
    """A skill's aim: the middle of its share, also of places beyond all that was visited, or without end."""
    together_samples: NonNegative[int] = 0
    """Samples with the pull `outward`, before `pull` decides: skills that go one way learn sooner how to go at all."""
    front_episodes: Annotated[float, at_least(1)] = 1.0
    """Episodes of a skill in front per episode of another, with pull `frontmost`; n_episode is the most."""
    beyond: Annotated[float, at_least(1), at_most(100)] = 1.5
    """How many times as far as visited places those are that nobody has visited and that a skill may be pulled to."""
    border: Annotated[float, at_least(0.001)] = 0.04
    """Width of the borders between skills' shares, relative to the farthest place that was visited."""
    metric_hidden: Layers = (128, 128)
    """Hidden layers of phi, the space in which a step of the world has length 1."""
    metric_size: Positive[int] = 6
    """Dimension of phi."""
    metric_learning_rate: Positive[float] = 1e-3
    """Learning rate of phi and the multiplier of its constraint."""
    metric_multiplier: Positive[float] = 30.0
    """Initial value of that multiplier (METRA: 30)."""

    def check(self) -> None:
        if self.share_weight == self.roam_weight == 0 and (self.pull == "none" or self.pull_weight == 0):
            raise UserError("share_weight: 0 is not allowed without roaming or a pull; nothing would be rewarded")


class OffPolicyState(eqx.Module):
    """What is learnt, and what from."""

    sac: SacState
    metric: Learner[Dual]
    replay: Replay


class OffPolicy(Improvement):
    """SAC on a reward that is made up for every batch:

    r = share(z|s') (share_weight novelty(s')^b + roam_weight going on) + pull_weight progress towards the aim.
    """

    Config = OffPolicyConfig
    config: OffPolicyConfig

    def __init__(self, config: OffPolicyConfig, task: Task, skill_size: int):
        super().__init__(config, task, skill_size)
        self.sac = Sac(config, task.state_size, task.action_size, skill_size)

    def init(self, key: PRNGKeyArray) -> OffPolicyState:
        c, task = self.config, self.task
        sac_key, metric_key = jax.random.split(key)
        phi = MLP(metric_key, (task.network_feature_size, *c.metric_hidden, c.metric_size))
        return OffPolicyState(
            sac=self.sac.init(sac_key),
            metric=Learner.of(Dual.of(phi, c.metric_multiplier), c.metric_learning_rate),
            replay=Replay.empty(c.replay_size, task, self.skill_size),
        )

    def policy(self, policy: OffPolicyState, s, z) -> Gaussian:
        return policy.sac.actor.model(s, z)

    def skill(self, policy: OffPolicyState, s, z) -> Gaussian:
        return policy.sac.skill(s, z)

    def improve(self, leads: "Leads", state: "LeadsState", episodes: Episodes, recent: Episodes, key: PRNGKeyArray):
        """One gradient step on phi and on SAC per `samples_per_step` samples of the epoch."""
        c = self.config
        check_replay_size(c.replay_size, episodes.actions[..., 0].size)
        replay = state.policy.replay.add(episodes, state.skills)
        division = self.divide(leads, state, replay.written)

        def step(learnt: tuple[SacState, Learner[Dual]], key: PRNGKeyArray):
            sac, metric = learnt
            keys = jax.random.split(key, 3)
            index, drawn = replay.draw(c.batch_size, keys[0])
            before, is_there = replay.earlier(index, 1)
            places = drawn.s, drawn.next_s, jnp.where(is_there, replay.kept.s[before[:, 0]], drawn.s)
            x, next_x, last_x = map(state.scaling.features, places)
            elsewhere = state.scaling.features(state.archive.draw(c.batch_size, keys[1]))
            metric, of_metric = metric.step(metric_loss, x, next_x, elsewhere)
            r, of_reward = self.reward(state, division, drawn, last_x, x, next_x)
            scaled = state.scaling(drawn.s), state.scaling(drawn.next_s)
            experience = Experience(scaled[0], drawn.a, drawn.z, r, scaled[1], drawn.terminal)
            sac, of_sac = self.sac.update(sac, experience, keys[2])
            return (sac, metric), of_sac | of_metric | of_reward

        steps = jnp.maximum(episodes.samples() // c.samples_per_step, 1)
        (sac, metric), metrics = take_steps(step, (state.policy.sac, state.policy.metric), steps, key)
        parted = division.endless & (replay.written > c.together_samples)
        after = OffPolicyState(sac, metric, replay), jnp.where(parted, jnp.float32(c.front_episodes), jnp.float32(1))
        return eqx.tree_at(lambda s: (s.policy, s.episodes), state, after), metrics

    def divide(self, leads: "Leads", state: "LeadsState", samples: Int[Array, ""]) -> Division:
        """Whose archived states are and where skills are pulled to, by all visits of `samples` so far."""
        c = self.config
        places, start = state.scaling.features(state.archive.states), state.scaling.features(leads.start)
        density, phi = leads.density(state).T, state.policy.metric.model.phi
        by_aim = lambda aim: divide(density, c.border, aim, c.beyond, phi, places, start)
        if not c.together_samples:
            return by_aim(c.pull)
        together = samples <= c.together_samples
        return jax.lax.cond(together, lambda: by_aim("outward"), lambda: by_aim(c.pull))

    def reward(self, state: "LeadsState", division: Division, drawn: Transitions, last_x, x, next_x):
        """r of transitions and the means of its parts; x and next_x are the places of s and s', last_x the one before.

        At the start, last_x is x.
        """
        c = self.config
        skill = jnp.argmax(drawn.z @ state.skills.T, axis=-1)
        own = share = roam = pull = jnp.zeros(len(skill))
        if c.share_weight > 0 or c.roam_weight > 0:
            slot = state.archive.nearest(drawn.next_s, state.scaling.features)
            own = division.share[skill, slot]
            share = own * division.novelty[slot] ** c.novelty_exponent
        if c.roam_weight > 0:
            roam = own * division.going_on(last_x, x, next_x)
        if c.pull != "none":
            pull = division.progress(x, next_x, skill)
        r = c.share_weight * share + c.roam_weight * roam + c.pull_weight * pull
        parts = {"share_reward": share, "roam_reward": roam, "pull_reward": pull}
        return r, {"reward": jnp.mean(r)} | {name: jnp.mean(part) for name, part in parts.items()}
