"""LEADS: learning diverse skills through successor state measures (Algorithm 1 of the paper)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from leads.data.archive import Archive
from leads.data.episodes import Episodes, draw_batch, draw_steps
from leads.data.scaling import Scaling
from leads.measures.c_learning import monte_carlo_loss, temporal_difference_loss
from leads.measures.classifier import Classifier
from leads.measures.factorised import Factorised
from leads.measures.measure import Measure
from leads.methods import targets
from leads.methods.leads_config import LeadsConfig
from leads.nn import squashed_gaussian
from leads.nn.networks import Actor
from leads.rollouts.noise import Colour
from leads.tasks.task import Task


class LeadsState(eqx.Module):
    """All that LEADS learns."""

    skills: Float[Array, "skill skill_size"]
    """Orthonormal skill vectors z."""
    actor: Actor
    average: Actor
    """The actor averaged over its last steps, which wavers less; what the skills are when they are not learning."""
    measure: Measure
    actor_optimiser: optax.OptState
    measure_optimiser: optax.OptState
    targets: Float[Array, "skill archive state"]
    """Where delta(s|z) puts its mass; the first of each skill is s_t^z, the argmax of u."""
    scaling: Scaling
    memory: Episodes
    """Episodes of the epochs before, the newest first, as many as `memory` wants besides this one's."""
    archive: Archive
    """The history: how much each skill has visited states spread over all that was visited."""


class Leads:
    """The method; its functions are pure and get and give the state."""

    learns = True
    evaluation_noise: Colour = "white"

    def __init__(self, config: LeadsConfig, task: Task):
        self.config, self.task, self.noise = config, task, config.noise
        self.start = jnp.asarray(task.start)
        self.actor_optimiser = optax.adam(config.policy_learning_rate)
        self.measure_optimiser = optax.adam(config.measure_learning_rate)

    def init(self, key: PRNGKeyArray) -> LeadsState:
        c, task = self.config, self.task
        skill_key, actor_key, measure_key = jax.random.split(key, 3)
        actor = Actor(actor_key, task.state_size, c.skill_size, task.action_size, c.actor_hidden)
        seen = len(task.low) if c.measure_of == "features" else task.state_size
        sizes = task.state_size, task.action_size, c.skill_size, seen, c.measure_hidden
        if c.measure == "factorised":
            measure = Factorised(measure_key, *sizes, c.measure_embedding)
        else:
            measure = Classifier(measure_key, *sizes)
        return LeadsState(
            skills=jax.random.orthogonal(skill_key, c.skill_size)[: c.n_skill],
            actor=actor,
            average=actor,
            measure=measure,
            actor_optimiser=self.actor_optimiser.init(eqx.filter(actor, eqx.is_array)),
            measure_optimiser=self.measure_optimiser.init(eqx.filter(measure, eqx.is_array)),
            targets=jnp.broadcast_to(self.start, (c.n_skill, c.n_targets, task.state_size)),
            scaling=Scaling.of(task),
            memory=Episodes.none(c.n_skill, (c.memory - 1) * c.n_episode, task),
            archive=Archive.empty(c.archive_size, self.start, c.n_skill),
        )

    def act(self, state: LeadsState, s, skill, noise):
        return squashed_gaussian.sample(*state.average(state.scaling(s), state.skills[skill]), noise)

    def explore(self, state: LeadsState, s, skill, noise):
        loud = self.config.noise_scale * noise
        return squashed_gaussian.sample(*state.actor(state.scaling(s), state.skills[skill]), loud)

    def seen(self, state: LeadsState, s2: Float[Array, "*batch state"]) -> Float[Array, "*batch seen"]:
        """What of s2 the measure sees."""
        return self.task.scaled_features(s2) if self.config.measure_of == "features" else state.scaling(s2)

    def targets(self, state: LeadsState) -> Float[Array, "skill state"]:
        """s_t^z, the target of every skill."""
        return state.targets[:, 0]

    def update(self, state: LeadsState, episodes: Episodes, key: PRNGKeyArray):
        """Phases 2 to 4 of an epoch of Algorithm 1; phase 1, collecting, gave `episodes`, which are D_z."""
        keys = jax.random.split(key, 3)
        state = eqx.tree_at(lambda s: s.scaling, state, state.scaling.seen(episodes), is_leaf=lambda x: x is None)
        state = self._archive(state, episodes)
        recent = jax.tree.map(lambda new, old: jnp.concatenate([new, old], axis=1), episodes, state.memory)
        state, fitted = self._fit_measure(state, recent, keys[0])
        visits = self.visits(state)
        state = self._choose_targets(state, episodes, keys[1])
        state, improved = self._improve_policy(state, episodes, recent, keys[2])
        memory = jax.tree.map(lambda x, old: x[:, : old.shape[1]], recent, state.memory)
        return eqx.tree_at(lambda s: (s.archive.visits, s.memory), state, (visits, memory)), fitted | improved

    # The history

    def _archive(self, state: LeadsState, episodes: Episodes) -> LeadsState:
        """Offers all states of the epoch to the archive."""
        c = self.config
        seen = episodes.states[:, :, 1:].reshape(-1, len(self.start))
        skill = jnp.repeat(jnp.arange(c.n_skill), len(seen) // c.n_skill)
        archive = state.archive.offer(seen, skill, self.task.scaled_features, c.archive_admit)
        return eqx.tree_at(lambda s: s.archive, state, archive)

    def visits(self, state: LeadsState) -> Float[Array, "slot skill"]:
        """sum_{k<=t} m_k(s0, s, z) of archived states, discounted by age: past epochs and this epoch's measure."""
        now = jnp.exp(jnp.minimum(self.log_measure(state, self.start, state.archive.states), LARGEST_LOG_VISIT))
        return self.config.history_decay * state.archive.visits + now.T

    # Phase 2: fit the measure

    def measure_loss(self, measure: Measure, state: LeadsState, episodes: Episodes, on_policy: bool, key: PRNGKeyArray):
        """C-Learning: lambda MC + (1 - lambda) TD while the data are on-policy, TD alone when they no longer are."""
        c = self.config
        keys = jax.random.split(key, 3)
        batch = draw_batch(episodes, c.measure_batch_size, c.discount, c.futures, keys[0])
        z, s, next_s = state.skills[batch.skill], state.scaling(batch.s), state.scaling(batch.next_s)
        next_a = squashed_gaussian.sample(*state.actor(next_s, z), jax.random.normal(keys[1], batch.a.shape))
        marginal = self.seen(state, self._draw_marginal(state, episodes, keys[2]))
        positives = (batch.next_s, batch.future_s) if on_policy else (batch.next_s,)
        positives = tuple(self.seen(state, s2) for s2 in positives)
        (following, *future), negative = measure.logits(s, batch.a, z, positives, marginal)
        _, later = state.measure.logits(next_s, next_a, z, (), marginal)
        loss = temporal_difference_loss(following, negative, later, batch.terminal, c.discount, c.after_end, c.td_cap)
        if on_policy:
            monte_carlo = monte_carlo_loss(future[0], negative, batch.future_is_real, c.after_end)
            loss = c.mc_weight * monte_carlo + (1 - c.mc_weight) * loss
        return loss

    def _draw_marginal(self, state: LeadsState, episodes: Episodes, key: PRNGKeyArray) -> Float[Array, "batch state"]:
        """s- ~ p(s)."""
        c = self.config
        if c.marginal == "archive":
            return state.archive.draw(c.measure_batch_size, key)
        skill_key, step_key = jax.random.split(key)
        skill = jax.random.randint(skill_key, (c.measure_batch_size,), 0, c.n_skill)
        episode, time = draw_steps(episodes, skill, step_key)
        return episodes.states[skill, episode, time + 1]

    def _measure_step(self, state: LeadsState, episodes: Episodes, on_policy: bool, key: PRNGKeyArray):
        loss, gradient = jax.value_and_grad(self.measure_loss)(state.measure, state, episodes, on_policy, key)
        change, optimiser = self.measure_optimiser.update(gradient, state.measure_optimiser)
        measure = eqx.apply_updates(state.measure, change)
        return eqx.tree_at(lambda s: (s.measure, s.measure_optimiser), state, (measure, optimiser)), loss

    def _fit_measure(self, state: LeadsState, episodes: Episodes, key: PRNGKeyArray):
        step = lambda state, key: self._measure_step(state, episodes, True, key)
        state, losses = jax.lax.scan(step, state, jax.random.split(key, self.config.measure_steps))
        return state, {"measure_loss": jnp.mean(losses)}

    # Phase 3: choose targets

    def log_measure(
        self, state: LeadsState, s1: Float[Array, "*skill state"], s2: Float[Array, "n state"]
    ) -> Float[Array, "skill n"]:
        """f(s1, s2, z) with every skill's mean action; s1 is one state, or one for each skill."""
        s1 = state.scaling(jnp.broadcast_to(s1, (self.config.n_skill, self.task.state_size)))
        mean, log_std = state.actor(s1, state.skills)
        action = squashed_gaussian.sample(mean, log_std, jnp.zeros_like(mean))
        return state.measure.pairs(s1, action, state.skills, self.seen(state, s2))

    def uncertainty(self, state: LeadsState, s: Float[Array, "n state"]) -> Float[Array, "skill n"]:
        """u_t(s, z) of candidate states."""
        c, archive = self.config, state.archive
        nearest = archive.nearest(s, self.task.scaled_features)
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

    # Phase 4: improve the policy

    def objective(self, actor: Actor, state: LeadsState, episodes: Episodes, key: PRNGKeyArray):
        """eq:objective_function (or an earlier bound) with entropy, to be maximised; and what it is made of."""
        c = self.config
        keys = jax.random.split(key, 5)
        skill = jax.random.randint(keys[0], (c.policy_batch_size,), 0, c.n_skill)
        s1 = episodes.states[skill, *draw_steps(episodes, skill, keys[1])]
        if c.objective == "leads":
            drawn = jax.random.randint(keys[2], (c.policy_batch_size, c.n_together), 0, c.n_targets)
            s2 = state.targets[skill[:, None], drawn]
        else:
            s2 = episodes.states[skill, *draw_steps(episodes, skill, keys[2])][:, None]
        everyone = (c.policy_batch_size, c.n_skill)
        s = jnp.broadcast_to(state.scaling(s1)[:, None], (*everyone, s1.shape[-1]))
        z = jnp.broadcast_to(state.skills, (*everyone, c.skill_size))
        mean, log_std = actor(s, z)
        noise = jax.random.normal(keys[3], mean.shape)
        action = squashed_gaussian.sample(mean, log_std, noise)
        f = state.measure.log_ratio(s[:, :, None], action[:, :, None], z[:, :, None], self.seen(state, s2)[:, None])
        f = jax.nn.logsumexp(f, axis=2) - jnp.log(f.shape[2])
        own = jnp.take_along_axis(f, skill[:, None], axis=1)
        beside = jnp.concatenate([f, jnp.full_like(own, jnp.log(c.offset))], axis=1)
        g = jnp.mean(own[:, 0] - (0.0 if c.objective == "lower_bound" else jax.nn.logsumexp(beside, axis=1)))
        entropy = -jnp.mean(squashed_gaussian.log_prob(mean, log_std, noise))
        there = actor(state.scaling(s2[:, 0]), state.skills[skill])
        target_entropy = -jnp.mean(squashed_gaussian.log_prob(*there, jax.random.normal(keys[4], there[0].shape)))
        objective = g + c.entropy * entropy + c.target_entropy * target_entropy
        return objective, {"objective": g, "entropy": entropy, "target_entropy": target_entropy}

    def _improve_policy(self, state: LeadsState, episodes: Episodes, recent: Episodes, key: PRNGKeyArray):
        c = self.config

        def step(state: LeadsState, key: PRNGKeyArray):
            keys = jax.random.split(key, 1 + c.td_steps)
            gradient, metrics = jax.grad(self.objective, has_aux=True)(state.actor, state, episodes, keys[0])
            descent = jax.tree.map(jnp.negative, gradient)
            change, optimiser = self.actor_optimiser.update(descent, state.actor_optimiser)
            actor = eqx.apply_updates(state.actor, change)
            mix = lambda old, new: c.policy_average * old + (1 - c.policy_average) * new
            average = jax.tree.map(mix, state.average, actor)
            state = eqx.tree_at(lambda s: (s.actor, s.average, s.actor_optimiser), state, (actor, average, optimiser))
            off_policy = lambda state, key: self._measure_step(state, recent, False, key)
            return jax.lax.scan(off_policy, state, keys[1:])[0], metrics

        state, metrics = jax.lax.scan(step, state, jax.random.split(key, c.policy_steps))
        return state, jax.tree.map(jnp.mean, metrics)


LARGEST_LOG_VISIT = 5.0
"""A logit that ran away must not decide the history alone."""
SMALLEST_VISIT = 1e-12
"""Keeps the log of visits finite."""
