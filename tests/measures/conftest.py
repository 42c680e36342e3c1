"""Small chains whose measure is known exactly, and how well an estimator comes to it."""

from functools import cache, cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leads.data.episodes import Episodes, draw_batch
from leads.measures.measure import AfterEnd, Estimator, Measure, MeasureBatch, Sizes
from leads.measures.tabular import log_ratio, successor_state_measure

N_ACTION, N_SKILL = 2, 2
N_EPISODE, HORIZON = 2048, 128
THOROUGHLY = {"xla_backend_optimization_level": 3, "xla_llvm_disable_expensive_passes": False}
"""How to compile what computes for longer than it takes to compile."""


class Fit(NamedTuple):
    """How a learnt measure compares with the exact one, from states that do not end the episode."""

    f: np.ndarray
    """The learnt one, [z, s1, a, s2]."""
    exact: np.ndarray
    error: float
    """Of f, averaged over (s1, a, z) and weighted by p(s2) over s2."""
    naive: float
    """The same error of f = 0."""
    mass_error: float
    """Of sum_s2 p(s2) exp f, averaged over (s1, a, z)."""

    def assert_recovers(self, tolerance: float) -> None:
        """f within `tolerance`, and its mass within .05."""
        assert self.naive > 3 * tolerance, "the chain is too easy to tell anything"
        assert self.error < tolerance
        assert self.mass_error < 0.05


class Chain:
    """States of which the last ends the episode, in about one step of fifteen, and policies pi(a|s,z); all one-hot."""

    def __init__(self, n_state: int, discount: float):
        self.n_state, self.discount = n_state, discount
        self.sizes = Sizes(n_state, N_ACTION, N_SKILL, n_state)
        self.terminal = np.arange(n_state) == n_state - 1
        generator = np.random.default_rng(5)
        living = generator.dirichlet(np.full(n_state - 1, 0.15), size=(n_state, N_ACTION))
        living = 0.9 * living + 0.1 / (n_state - 1)  # no ratio is so small that its log is hard to learn
        ending = generator.uniform(0, 0.12, size=(n_state, N_ACTION, 1))
        self.transition = np.concatenate([(1 - ending) * living, ending], axis=-1)
        favourite = generator.integers(0, N_ACTION, size=n_state)
        likely = np.eye(N_ACTION)[np.stack([favourite, 1 - favourite])]
        self.skills = 0.15 + 0.7 * likely

    @cached_property
    def on_policy(self) -> Episodes:
        return self.episodes(self.skills)

    @cached_property
    def off_policy(self) -> Episodes:
        return self.episodes(np.full_like(self.skills, 0.5))

    def episodes(self, policy) -> Episodes:
        """Simulated episodes of pi[z,s,a] from random starts; nearly all reach the terminal state."""
        generator = np.random.default_rng(4)
        skill = np.arange(N_SKILL)[:, None]
        s = generator.integers(0, self.n_state - 1, size=(N_SKILL, N_EPISODE))
        states, actions = [s], []
        for _ in range(HORIZON):
            a = choose(policy[skill, s], generator)
            s = np.where(self.terminal[s], s, choose(self.transition[s, a], generator))
            states.append(s)
            actions.append(a)
        ended = self.terminal[np.stack(states, axis=-1)]
        return Episodes(
            states=jnp.asarray(np.eye(self.n_state, dtype=np.float32)[np.stack(states, axis=-1)]),
            actions=jnp.asarray(np.eye(N_ACTION, dtype=np.float32)[np.stack(actions, axis=-1)]),
            lengths=jnp.asarray(np.sum(~ended[..., :-1], axis=-1), jnp.int32),
            terminated=jnp.asarray(ended[..., -1]),
        )

    def draw(self, episodes: Episodes, size: int, key) -> MeasureBatch:
        """A batch with the skills' own next actions and, from as many other steps, states of the marginal p(s)."""
        batch_key, action_key = jax.random.split(key)
        both = draw_batch(episodes, 2 * size, self.discount, "geometric", batch_key)
        batch = jax.tree.map(lambda x: x[:size], both)
        policy = jnp.asarray(self.skills)[batch.skill, jnp.argmax(batch.next_s, axis=-1)]
        return MeasureBatch(
            s=batch.s,
            a=batch.a,
            z=jnp.eye(N_SKILL)[batch.skill],
            next_s=batch.next_s,
            next_a=jnp.eye(N_ACTION)[jax.random.categorical(action_key, jnp.log(policy))],
            next=batch.next_s,
            future=batch.future_s,
            marginal=both.next_s[size:],
            future_is_real=batch.future_is_real,
            terminal=batch.terminal,
        )

    def exact(self, after_end: AfterEnd):
        """p(s2|s1,a,z) as an array [z, s1, a, s2]."""
        arguments = self.discount, self.terminal, after_end
        return np.stack([successor_state_measure(self.transition, pi, *arguments) for pi in self.skills])

    def fit(self, estimator: Estimator, on_policy: bool, batch_size: int, steps: int) -> Fit:
        """What the estimator learns from episodes of the skills, or of another policy."""
        optimiser = optax.adam(optax.cosine_decay_schedule(5e-3, steps))

        @partial(jax.jit, compiler_options=THOROUGHLY)
        def train(measure, episodes):
            def step(carry, key):
                measure, state = carry
                batch = self.draw(episodes, batch_size, key)
                gradient, _ = jax.grad(estimator.loss, has_aux=True)(measure, batch, on_policy)
                update, state = optimiser.update(gradient, state)
                return (estimator.after_step(optax.apply_updates(measure, update), batch), state), None

            keys = jax.random.split(jax.random.key(1), steps)
            return jax.lax.scan(step, (measure, optimiser.init(measure)), keys)[0][0]

        episodes = self.on_policy if on_policy else self.off_policy
        measure = train(estimator.init(jax.random.key(0)), episodes)
        z, s1, a = np.indices((N_SKILL, self.n_state, N_ACTION)).reshape(3, -1)
        s2 = jnp.eye(self.n_state)
        f = measure.pairs(s2[s1], jnp.eye(N_ACTION)[a], jnp.eye(N_SKILL)[z], s2)
        f = np.asarray(f, np.float64).reshape(N_SKILL, self.n_state, N_ACTION, self.n_state)[:, ~self.terminal]
        exact, marginal = self.exact(estimator.config.after_end)[:, ~self.terminal], visits(episodes)
        exact_f = log_ratio(exact, marginal)
        error, naive = (float(np.mean(np.abs(wrong) @ marginal)) for wrong in (f - exact_f, exact_f))
        mass = np.exp(f) @ marginal - exact.sum(-1)
        return Fit(f, exact_f, error, naive, float(np.mean(np.abs(mass))))


def choose(probabilities, generator):
    """One draw from each row."""
    below = np.cumsum(probabilities, axis=-1)[..., :-1]
    return np.sum(generator.random((*probabilities.shape[:-1], 1)) > below, axis=-1)


def visits(episodes: Episodes):
    """p(s), the law of a batch's marginal: next states of real steps, all skills alike."""
    steps = np.asarray(episodes.steps())
    counts = np.einsum("zets,zet->zs", np.asarray(episodes.states)[:, :, 1:], steps)
    return np.mean(counts / counts.sum(-1, keepdims=True), axis=0)


@pytest.fixture(scope="session")
def make_chain():
    """Makes a chain from its number of states and a discount, each once."""
    return cache(Chain)


@pytest.fixture(scope="session")
def asked():
    """Asks a measure in every way there is, which have to agree: (s1, a, z, s2) and f of all their pairs."""

    def ask(measure: Measure, sizes: Sizes):
        generator = np.random.default_rng(0)
        widths = sizes.state, sizes.action, sizes.skill, sizes.feature
        s1, a, z, s2 = (jnp.asarray(generator.normal(size=(5, width)), jnp.float32) for width in widths)
        single = jnp.stack([measure.log_ratio(s1, a, z, jnp.broadcast_to(s, s2.shape)) for s in s2], axis=1)
        np.testing.assert_allclose(measure.pairs(s1, a, z, s2), single, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(measure.log_ratio(s1, a, z, s2), np.diag(single), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(measure.log_ratio(s1, a, z, s2[:1]), single[:, 0], rtol=1e-4, atol=1e-5)
        return (s1, a, z, s2), single

    return ask


@pytest.fixture(scope="session")
def make_batch():
    """Makes a batch of five rows of noise, of which the third has no real future and a terminal next state."""

    def make(sizes: Sizes) -> MeasureBatch:
        generator = np.random.default_rng(0)
        widths = {"s": sizes.state, "a": sizes.action, "z": sizes.skill, "next_s": sizes.state, "next_a": sizes.action}
        widths |= dict.fromkeys(("next", "future", "marginal"), sizes.feature)
        drawn = {name: jnp.asarray(generator.normal(size=(5, width)), jnp.float32) for name, width in widths.items()}
        return MeasureBatch(**drawn, future_is_real=jnp.arange(5) != 2, terminal=jnp.arange(5) == 2)

    return make
