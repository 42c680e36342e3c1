"""LEADS: learning diverse skills through successor state measures (Algorithm 1 of the paper)."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from leads.data.archive import Archive
from leads.data.episodes import Episodes, draw_batch, draw_steps
from leads.data.scaling import Scaling
from leads.improvement.improvement import Improvement
from leads.measures.measure import AfterEnd, Estimator, Measure, MeasureBatch, Sizes
from leads.methods import targets
from leads.methods.leads_config import LeadsConfig
from leads.nn import squashed_gaussian
from leads.nn.learner import Learner
from leads.rollouts.noise import Colour
from leads.tasks.task import StepCost, Task


class LeadsState(eqx.Module):
    """All that LEADS learns."""

    skills: Float[Array, "skill skill_size"]
    """Orthonormal skill vectors z."""
    policy: Any
    """What the way to improve it has learnt."""
    measure: Learner[Measure]
    targets: Float[Array, "skill target state"]
    """Where delta(s|z) puts its mass; the first of each skill is s_t^z, the argmax of u."""
    scaling: Scaling
    memory: Episodes
    """Episodes of earlier epochs, newest first: `memory` - 1 epochs."""
    archive: Archive
    """The history: how much each skill has visited states spread over all that was visited."""
    episodes: Float[Array, " skill"]
    """Of each skill in the next epoch, relative to those of the others."""


class Leads:
    """The method; its functions are pure and get and give the state."""

    Config = LeadsConfig
    title = "LEADS"
    learns = True
    evaluation_noise: Colour = "white"

    def __init__(self, config: LeadsConfig, task: Task):
        config.check_on(task)
        self.config, self.task, self.noise = config, task, config.noise
        self.start = jnp.asarray(task.start)
        feature_size = task.network_feature_size if config.measure_of == "features" else task.state_size
        sizes = Sizes(task.state_size, task.action_size, config.skill_size, feature_size)
        self.estimator: Estimator = config.measure.make(sizes)
        self.improvement: Improvement = config.improve.make(task, config.skill_size)

    @staticmethod
    def seconds_per_sample(config: LeadsConfig, step_cost: StepCost) -> float:
        if per_step := getattr(config.improve.config, "samples_per_step", None):
            return 2e-4 + 7e-3 / per_step
        return 4.5e-4 if step_cost == "device" else 3.5e-3

    def init(self, key: PRNGKeyArray) -> LeadsState:
        c, task = self.config, self.task
        skill_key, actor_key, measure_key = jax.random.split(key, 3)
        return LeadsState(
            skills=jax.random.orthogonal(skill_key, c.skill_size)[: c.n_skill],
            policy=self.improvement.init(actor_key),
            measure=Learner.of(self.estimator.init(measure_key), c.measure_learning_rate),
            targets=jnp.broadcast_to(self.start, (c.n_skill, c.n_targets, task.state_size)),
            scaling=Scaling.of(task),
            memory=Episodes.none(c.n_skill, (c.memory - 1) * c.n_episode, task),
            archive=Archive.empty(c.archive_size, self.start, c.n_skill),
            episodes=jnp.ones(c.n_skill),
        )

    def act(self, state: LeadsState, s, skill, noise):
        gaussian = self.improvement.skill(state.policy, state.scaling(s), state.skills[skill])
        return squashed_gaussian.sample(*gaussian, noise)

    def explore(self, state: LeadsState, s, skill, noise):
        gaussian = self.improvement.policy(state.policy, state.scaling(s), state.skills[skill])
        return squashed_gaussian.sample(*gaussian, self.config.noise_scale * noise)

    def collects(self, state: LeadsState) -> Float[Array, " skill"]:
        """Episodes of each skill, relative to those of the others."""
        return state.episodes

    def features(self, state: LeadsState, s2: Float[Array, "*batch state"]) -> Float[Array, "*batch feature"]:
        """What the measure sees of s2."""
        return state.scaling.features(s2) if self.config.measure_of == "features" else state.scaling(s2)

    def targets(self, state: LeadsState) -> Float[Array, "skill state"]:
        """s_t^z, the target of every skill."""
        return state.targets[:, 0]

    def update(self, state: LeadsState, episodes: Episodes, key: PRNGKeyArray):
        """Phases 2 to 4 of an epoch of Algorithm 1; phase 1, collecting, gave `episodes`, which are D_z."""
        keys = jax.random.split(key, 3)
        state = eqx.tree_at(lambda s: s.scaling, state, state.scaling.updated(episodes), is_leaf=lambda x: x is None)
        state = self._archive(state, episodes)
        recent = jax.tree.map(lambda new, old: jnp.concatenate([new, old], axis=1), episodes, state.memory)
        state, fitted = self._fit_measure(state, recent, keys[0])
        visits = self.visits(state)
        state = self._choose_targets(state, episodes, keys[1])
        state, improved = self.improvement.improve(self, state, episodes, recent, keys[2])
        memory = jax.tree.map(lambda x, old: x[:, : old.shape[1]], recent, state.memory)
        return eqx.tree_at(lambda s: (s.archive.visits, s.memory), state, (visits, memory)), fitted | improved

    # The history

    def _archive(self, state: LeadsState, episodes: Episodes) -> LeadsState:
        """Offers all states of the epoch to the archive."""
        c = self.config
        begun = episodes.lengths[:, :, None, None] > 0
        visited = jnp.where(begun, episodes.states[:, :, 1:], self.start).reshape(-1, len(self.start))
        skill = jnp.repeat(jnp.arange(c.n_skill), len(visited) // c.n_skill)
        archive = state.archive.offer(visited, skill, state.scaling.features, c.archive_admit)
        if c.visits == "count":
            seen = archive.counts(visited, skill, episodes.steps().reshape(-1), state.scaling.features)
            archive = Archive(archive.states, c.history_decay * archive.visits + seen)
        return eqx.tree_at(lambda s: s.archive, state, archive)

    def visits(self, state: LeadsState) -> Float[Array, "slot skill"]:
        """sum_{k<=t} m_k(s0, s, z) of archived states, discounted by age: past epochs and this epoch's measure."""
        if self.config.visits == "count":
            return state.archive.visits
        now = jnp.exp(jnp.minimum(self.log_measure(state, self.start, state.archive.states), LARGEST_LOG_VISIT))
        return self.config.history_decay * state.archive.visits + now.T

    def density(self, state: LeadsState) -> Float[Array, "slot skill"]:
        """Visits as a density, 1 on average over the archive for every skill."""
        visits = self.visits(state)
        return visits / (jnp.mean(visits, axis=0) + SMALLEST_VISIT)

    # Phase 2: fit the measure

    def _draw(self, state: LeadsState, episodes: Episodes, steps: int, key: PRNGKeyArray) -> MeasureBatch:
        """What `steps` steps on the measure learn from, [step, batch, ...]: one pass of the policy for all of them."""
        c, measure = self.config, self.config.measure.config
        keys, size = jax.random.split(key, 3), steps * self.config.measure_batch_size
        n_start = round(c.from_start * c.measure_batch_size)
        batch = draw_batch(episodes, size, measure.measure_discount, measure.futures, keys[0], steps * n_start)
        batch = jax.tree.map(lambda x: _dealt(x, steps, n_start), batch) if n_start else batch
        z, next_s = state.skills[batch.skill], state.scaling(batch.next_s)
        gaussian = self.improvement.policy(state.policy, next_s, z)
        drawn = MeasureBatch(
            s=state.scaling(batch.s),
            a=batch.a,
            z=z,
            next_s=next_s,
            next_a=squashed_gaussian.sample(*gaussian, jax.random.normal(keys[1], batch.a.shape)),
            next=self.features(state, batch.next_s),
            future=self.features(state, batch.future_s),
            marginal=self.features(state, self._draw_marginal(state, episodes, size, keys[2])),
            future_is_real=batch.future_is_real,
            terminal=batch.terminal,
        )
        return jax.tree.map(lambda x: x.reshape(steps, c.measure_batch_size, *x.shape[1:]), drawn)

    def _draw_marginal(
        self, state: LeadsState, episodes: Episodes, size: int, key: PRNGKeyArray
    ) -> Float[Array, "size state"]:
        """s- ~ p(s)."""
        if self.config.marginal == "archive":
            return state.archive.draw(size, key)
        skill_key, step_key = jax.random.split(key)
        skill = jax.random.randint(skill_key, (size,), 0, self.config.n_skill)
        episode, time = draw_steps(episodes, skill, step_key)
        return episodes.states[skill, episode, time + 1]

    def measure_steps(self, state: LeadsState, episodes: Episodes, steps: int, on_policy: bool, key: PRNGKeyArray):
        """Gradient steps on the measure while the policy stands still: (state, metrics of every step)."""

        def step(measure: Learner[Measure], batch: MeasureBatch):
            measure, metrics = measure.step(self.estimator.loss, batch, on_policy)
            return measure.with_model(self.estimator.after_step(measure.model, batch)), metrics

        measure, metrics = jax.lax.scan(step, state.measure, self._draw(state, episodes, steps, key))
        return eqx.tree_at(lambda s: s.measure, state, measure), metrics

    def _fit_measure(self, state: LeadsState, episodes: Episodes, key: PRNGKeyArray):
        steps = self.config.measure_steps
        together = math.gcd(steps, DRAWN_TOGETHER)
        some = lambda state, key: self.measure_steps(state, episodes, together, True, key)
        state, metrics = jax.lax.scan(some, state, jax.random.split(key, steps // together))
        return state, jax.tree.map(jnp.mean, metrics)

    # What can be asked of the measure

    def landmarks(self, state: LeadsState) -> Float[Array, "slot state"]:
        """The archive."""
        return state.archive.states

    def marginal(self, state: LeadsState, collect: Callable[[], Episodes], key: PRNGKeyArray):
        """The archive whole, or draws from fresh episodes of all skills alike."""
        if self.config.marginal == "archive":
            return state.archive.states
        episodes, skill = collect(), jnp.arange(MARGINAL_DRAWS) % self.config.n_skill
        episode, time = draw_steps(episodes, skill, key)
        return episodes.states[skill, episode, time + 1]

    def future_weights(self, horizon: int) -> Float[np.ndarray, " time"]:
        return self.estimator.future_weights(horizon)

    @property
    def after_end(self) -> AfterEnd:
        return self.config.measure.config.after_end

    # Phase 3: choose targets

    def log_measure(
        self, state: LeadsState, s1: Float[Array, "*skill state"], s2: Float[Array, "n state"]
    ) -> Float[Array, "skill n"]:
        """f(s1, s2, z) with every skill's mean action; s1 is one state, or one for each skill."""
        s1 = state.scaling(jnp.broadcast_to(s1, (self.config.n_skill, self.task.state_size)))
        mean, log_std = self.improvement.policy(state.policy, s1, state.skills)
        action = squashed_gaussian.sample(mean, log_std, jnp.zeros_like(mean))
        return state.measure.model.pairs(s1, action, state.skills, self.features(state, s2))

    def uncertainty(self, state: LeadsState, s: Float[Array, "n state"]) -> Float[Array, "skill n"]:
        """u_t(s, z) of candidate states."""
        c, archive = self.config, state.archive
        nearest = archive.nearest(s, state.scaling.features)
        if c.uncertainty == "balanced":
            now = self.log_measure(state, self.start, archive.states)
            visits = jnp.log(self.visits(state) + SMALLEST_VISIT).T
            return targets.balanced(visits, now, c.contrast, c.reachable)[:, nearest]
        from_start = self.log_measure(state, self.start, s)
        from_target = self.log_measure(state, self.targets(state), s)
        history = jnp.log(jnp.sum(archive.visits, axis=1) + 1.0)[nearest]  # + 1: no place is infinitely new
        if c.uncertainty == "literal":
            return targets.literal(from_start, from_target, history)
        weights = c.separation_weight, c.repulsion_weight, c.novelty_weight
        return targets.bounded(from_start, from_target, history, *weights, c.floor, c.sharpness)

    def _choose_targets(self, state: LeadsState, episodes: Episodes, key: PRNGKeyArray) -> LeadsState:
        c = self.config
        draw_key, target_key = jax.random.split(key)
        if c.uncertainty == "balanced":
            pool = state.archive.states
            u = self.uncertainty(state, pool)
            chosen = jax.random.categorical(target_key, u[:, None], shape=(c.n_skill, c.n_targets))
            chosen = chosen.at[:, 0].set(jnp.argmax(u, axis=1))
        else:
            pool, allowed = self._candidates(state, episodes, draw_key)
            u = jnp.where(allowed, self.uncertainty(state, pool), -jnp.inf)
            _, chosen = jax.lax.top_k(u, c.n_targets)
        return eqx.tree_at(lambda s: s.targets, state, pool[chosen])

    def _candidates(self, state: LeadsState, episodes: Episodes, key: PRNGKeyArray):
        """States that may become targets, and which skill may have which: all archived ones, or each its own of D_z."""
        c = self.config
        if c.candidates == "archive":
            return state.archive.states, True
        skill = jnp.repeat(jnp.arange(c.n_skill), c.archive_size // c.n_skill)
        episode, time = draw_steps(episodes, skill, key)
        return episodes.states[skill, episode, time + 1], skill == jnp.arange(c.n_skill)[:, None]


def _dealt(rows: Float[Array, "size *entry"], steps: int, n_start: int) -> Float[Array, "size *entry"]:
    """In an order in which each of `steps` batches has `n_start` of the rows that come first of all."""
    each = [part.reshape(steps, len(part) // steps, *rows.shape[1:]) for part in jnp.split(rows, [steps * n_start])]
    return jnp.concatenate(each, axis=1).reshape(rows.shape)


DRAWN_TOGETHER = 16
"""Batches of the measure that are drawn at once, if the number of its steps can be divided so."""
MARGINAL_DRAWS = 8192
"""States drawn from the skills' own marginal, where that is what the measure is relative to."""
LARGEST_LOG_VISIT = 5.0
"""A logit that ran away must not decide the history alone."""
SMALLEST_VISIT = 1e-12
"""Keeps the log of visits finite."""
