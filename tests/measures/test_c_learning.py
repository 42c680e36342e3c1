"""C-Learning recovers the exact measure of a small chain, in every form, with either loss alone.

Five states and one that ends the episode, two actions and two skills, all one-hot. Tolerances: the error of f, averaged
over (s1, a, z) and weighted by p(s2) over s2, stays below .1 (Monte Carlo) or .06 (temporal differences), where f = 0
would be wrong by .5; the mass sum_s2 p(s2) exp f, 1 or about .76 where ended episodes vanish, is met within .05.
"""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from leads.data.episodes import Episodes, draw_batch
from leads.measures.c_learning import CLearning, CLearningConfig, monte_carlo_loss, temporal_difference_loss
from leads.measures.measure import MeasureBatch, Sizes
from leads.measures.tabular import log_ratio, successor_state_measure

N_STATE, N_ACTION, N_SKILL = 6, 2, 2
SIZES = Sizes(N_STATE, N_ACTION, N_SKILL, N_STATE)
TERMINAL = np.arange(N_STATE) == N_STATE - 1
DISCOUNT = 0.8
N_EPISODE, HORIZON = 2048, 128
MASS_TOLERANCE = 0.05
THOROUGHLY = {"xla_backend_optimization_level": 3, "xla_llvm_disable_expensive_passes": False}
"""How to compile what computes for longer than it takes to compile."""

FORMS = {"classifier": ((64, 64), 256), "factorised": ((64,), 128)}
"""Hidden layers of each form of the measure and the size of its batches; the factorised one makes all pairs of them."""


def estimator(form: str, after_end="absorb") -> CLearning:
    """C-Learning on the chain; on policy it learns by Monte Carlo alone."""
    numbers = {"measure_hidden": FORMS[form][0], "measure_embedding": 16, "mc_weight": 1.0, "td_cap": 1000.0}
    futures = {"measure_discount": DISCOUNT, "futures": "geometric", "after_end": after_end}
    return CLearning(CLearningConfig(measure_form=form, **numbers, **futures), SIZES)


class Chain:
    """P(s'|s,a), which ends the episode in about one step of fifteen, and the policies pi(a|s,z)."""

    def __init__(self):
        generator = np.random.default_rng(5)
        living = generator.dirichlet(np.full(N_STATE - 1, 0.15), size=(N_STATE, N_ACTION))
        living = 0.9 * living + 0.1 / (N_STATE - 1)  # no ratio is so small that its log is hard to learn
        ending = generator.uniform(0, 0.12, size=(N_STATE, N_ACTION, 1))
        self.transition = np.concatenate([(1 - ending) * living, ending], axis=-1)
        favourite = generator.integers(0, N_ACTION, size=N_STATE)
        likely = np.eye(N_ACTION)[np.stack([favourite, 1 - favourite])]
        self.skills = 0.15 + 0.7 * likely
        self.behaviour = np.full_like(self.skills, 0.5)

    def episodes(self, policy) -> Episodes:
        """Simulated episodes of pi[z,s,a] from random starts; nearly all reach the terminal state."""
        generator = np.random.default_rng(4)
        skill = np.arange(N_SKILL)[:, None]
        s = generator.integers(0, N_STATE - 1, size=(N_SKILL, N_EPISODE))
        states, actions = [s], []
        for _ in range(HORIZON):
            a = choose(policy[skill, s], generator)
            s = np.where(TERMINAL[s], s, choose(self.transition[s, a], generator))
            states.append(s)
            actions.append(a)
        ended = TERMINAL[np.stack(states, axis=-1)]
        return Episodes(
            states=jnp.asarray(np.eye(N_STATE, dtype=np.float32)[np.stack(states, axis=-1)]),
            actions=jnp.asarray(np.eye(N_ACTION, dtype=np.float32)[np.stack(actions, axis=-1)]),
            lengths=jnp.asarray(np.sum(~ended[..., :-1], axis=-1), jnp.int32),
            terminated=jnp.asarray(ended[..., -1]),
        )


def choose(probabilities, generator):
    """One draw from each row."""
    below = np.cumsum(probabilities, axis=-1)[..., :-1]
    return np.sum(generator.random((*probabilities.shape[:-1], 1)) > below, axis=-1)


@pytest.fixture(scope="module")
def chain():
    return Chain()


@pytest.fixture(scope="module")
def on_policy(chain):
    return chain.episodes(chain.skills)


@pytest.fixture(scope="module")
def off_policy(chain):
    return chain.episodes(chain.behaviour)


def visits(episodes: Episodes):
    """p(s), the law of `draw`'s second answer: next states of real steps, all skills alike."""
    steps = np.asarray(episodes.steps())
    counts = np.einsum("zets,zet->zs", np.asarray(episodes.states)[:, :, 1:], steps)
    return np.mean(counts / counts.sum(-1, keepdims=True), axis=0)


def draw(episodes: Episodes, chain: Chain, size: int, key) -> MeasureBatch:
    """A batch with the skills' own next actions and, from as many other steps, states of the marginal p(s)."""
    batch_key, action_key = jax.random.split(key)
    both = draw_batch(episodes, 2 * size, DISCOUNT, "geometric", batch_key)
    batch = jax.tree.map(lambda x: x[:size], both)
    policy = jnp.asarray(chain.skills)[batch.skill, jnp.argmax(batch.next_s, axis=-1)]
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


def fit(form, is_on_policy, episodes, chain, after_end, steps):
    """The learnt f as an array [z, s1, a, s2]."""
    learnt = estimator(form, after_end)
    optimiser = optax.adam(optax.cosine_decay_schedule(5e-3, steps))

    @partial(jax.jit, compiler_options=THOROUGHLY)
    def train(measure, episodes):
        def step(carry, key):
            measure, state = carry
            batch = draw(episodes, chain, FORMS[form][1], key)
            gradient, _ = jax.grad(learnt.loss, has_aux=True)(measure, batch, is_on_policy)
            update, state = optimiser.update(gradient, state)
            return (learnt.after_step(optax.apply_updates(measure, update), batch), state), None

        keys = jax.random.split(jax.random.key(1), steps)
        return jax.lax.scan(step, (measure, optimiser.init(measure)), keys)[0][0]

    z, s1, a = np.indices((N_SKILL, N_STATE, N_ACTION)).reshape(3, -1)
    measure = train(learnt.init(jax.random.key(0)), episodes)
    f = measure.pairs(jnp.eye(N_STATE)[s1], jnp.eye(N_ACTION)[a], jnp.eye(N_SKILL)[z], jnp.eye(N_STATE))
    return np.asarray(f, np.float64).reshape(N_SKILL, N_STATE, N_ACTION, N_STATE)


def assert_recovers(f, chain, episodes, after_end, tolerance):
    exact = np.stack(
        [successor_state_measure(chain.transition, pi, DISCOUNT, TERMINAL, after_end) for pi in chain.skills]
    )[:, ~TERMINAL]
    f, marginal = f[:, ~TERMINAL], visits(episodes)
    exact_f = log_ratio(exact, marginal)
    assert np.mean(np.abs(exact_f) @ marginal) > 4.5 * tolerance, "the chain is too easy to tell anything"
    assert np.mean(np.abs(f - exact_f) @ marginal) < tolerance
    assert np.mean(np.abs(np.exp(f) @ marginal - exact.sum(-1))) < MASS_TOLERANCE


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
@pytest.mark.parametrize("form", FORMS)
def test_monte_carlo_recovers_the_exact_measure_on_policy(form, after_end, chain, on_policy):
    f = fit(form, True, on_policy, chain, after_end, steps=1500)
    assert_recovers(f, chain, on_policy, after_end, tolerance=0.1)


@pytest.mark.parametrize("after_end", ["absorb", "vanish"])
@pytest.mark.parametrize("form", FORMS)
def test_temporal_difference_recovers_the_exact_measure_off_policy(form, after_end, chain, off_policy):
    f = fit(form, False, off_policy, chain, after_end, steps=1000)
    assert_recovers(f, chain, off_policy, after_end, tolerance=0.06)


def test_cap_bounds_what_follows():
    """The loss of one row by hand, with w = exp 5 cut to 10."""
    following, marginal, later = jnp.asarray([0.5]), jnp.asarray([[-0.3]]), jnp.asarray([[5.0]])
    loss = temporal_difference_loss(following, marginal, later, jnp.asarray([False]), DISCOUNT, "absorb", cap=10.0)
    positive, negative, bootstrapped = np.log1p(np.exp([-0.5, -0.3, 0.3]))
    assert float(loss) == pytest.approx((1 - DISCOUNT) * positive + negative + DISCOUNT * 10 * bootstrapped, rel=1e-6)


def test_on_policy_monte_carlo_has_its_weight_and_temporal_differences_the_rest(chain, on_policy):
    """Of a measure with large numbers, for which the two losses differ."""
    learnt = CLearning(dataclasses.replace(estimator("factorised").config, mc_weight=0.8), SIZES)

    @jax.jit
    def losses(episodes):
        measure = jax.tree.map(lambda weight: 3 * weight, learnt.init(jax.random.key(0)))
        batch = draw(episodes, chain, 32, jax.random.key(1))
        [future], negative = measure.logits(batch.s, batch.a, batch.z, (batch.future,), batch.marginal)
        monte_carlo = monte_carlo_loss(future, negative, batch.future_is_real, "absorb")
        return monte_carlo, *(learnt.loss(measure, batch, is_on_policy)[0] for is_on_policy in (False, True))

    monte_carlo, rest, both = map(float, losses(on_policy))
    assert abs(monte_carlo - rest) > 0.1
    assert both == pytest.approx(0.8 * monte_carlo + 0.2 * rest, rel=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_all_ways_to_ask_a_measure_agree(form):
    """`pairs` and `logits` hold the numbers that `log_ratio` gives row by row."""
    measure = estimator(form).init(jax.random.key(0))
    generator = np.random.default_rng(0)
    sizes = N_STATE, N_ACTION, N_SKILL, N_STATE, N_STATE
    s1, a, z, s2, marginal = (jnp.asarray(generator.normal(size=(5, size)), jnp.float32) for size in sizes)
    single = jnp.stack([measure.log_ratio(s1, a, z, jnp.broadcast_to(s, s2.shape)) for s in s2], axis=1)
    np.testing.assert_allclose(measure.pairs(s1, a, z, s2), single, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(measure.log_ratio(s1, a, z, s2), np.diag(single), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(measure.log_ratio(s1, a, z, s2[:1]), single[:, 0], rtol=1e-4, atol=1e-5)
    positive, negative = measure.logits(s1, a, z, (s2, s1), marginal)
    np.testing.assert_allclose(positive[0], np.diag(single), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(positive[1], measure.log_ratio(s1, a, z, s1), rtol=1e-4, atol=1e-5)
    every = measure.pairs(s1, a, z, marginal)
    expected = every if negative.shape == (5, 5) else jnp.diag(every)[:, None]
    np.testing.assert_allclose(negative, expected, rtol=1e-4, atol=1e-5)


def test_the_weights_of_futures_are_those_of_the_losses():
    """Half uniform over the horizon, half geometric."""
    half = CLearning(CLearningConfig(mc_weight=0.5, futures="uniform", measure_discount=0.8), Sizes(1, 1, 1, 1))
    np.testing.assert_allclose(half.future_weights(4), 0.5 / 4 + 0.5 * 0.2 * np.array([1, 0.8, 0.64, 0.512]))
