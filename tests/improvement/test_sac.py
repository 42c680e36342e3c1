"""SAC: its losses against formulas in NumPy and SciPy, its temperature, and problems whose answers are known."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from leads.improvement.sac import Experience, Sac, SacConfig, SacState, values
from leads.nn.networks import LOG_STD_MAX, LOG_STD_MIN

N, STATE, ACTION, SKILL = 64, 3, 2, 2
SMALL = SacConfig(actor_hidden=(8,), critic_hidden=(8,), discount=0.9, first_temperature=0.2)
KEY = jax.random.key(3)


@pytest.fixture(scope="module")
def sac() -> Sac:
    return Sac(SMALL, STATE, ACTION, SKILL)


@pytest.fixture(scope="module")
def state(sac) -> SacState:
    """With target critics that are not the critics, as after some training."""
    init = jax.jit(sac.init)
    return eqx.tree_at(lambda s: s.targets, init(jax.random.key(0)), init(jax.random.key(1)).critics.model)


@pytest.fixture(scope="module")
def update(sac):
    return jax.jit(sac.update)


@pytest.fixture(scope="module")
def batch() -> Experience:
    rng = np.random.default_rng(0)
    s, next_s = rng.normal(size=(2, N, STATE))
    a, z, r = rng.uniform(-1, 1, size=(N, ACTION)), np.eye(SKILL)[rng.integers(0, SKILL, N)], rng.normal(size=N)
    numbers = [jnp.asarray(x, jnp.float32) for x in (s, a, z, r, next_s)]
    return Experience(*numbers, terminal=jnp.asarray(rng.random(N) < 0.5))


def drawn(actor, s, z):
    """(actions, their log density by SciPy) of the noise that KEY gives."""
    noise = np.asarray(jax.random.normal(KEY, (N, ACTION)), np.float64)
    mean, log_std = (np.asarray(x, np.float64) for x in actor(s, z))
    before = mean + np.exp(log_std) * noise
    a = np.tanh(before)
    log_pi = scipy.stats.norm.logpdf(before, mean, np.exp(log_std)) - np.log1p(-(a**2))
    return a, log_pi.sum(-1)


def q(critics, i: int, s, a, z):
    """Q of one critic."""
    one = jax.tree.map(lambda x: x[i], critics)
    return np.asarray(one(jnp.concatenate([s, jnp.asarray(a, jnp.float32), z], axis=-1)))[:, 0].astype(np.float64)


def test_critics_learn_the_reward_and_what_follows_unless_it_was_the_end(sac, state, batch):
    next_a, log_pi = drawn(state.actor.model, batch.next_s, batch.z)
    later = np.minimum(*(q(state.targets, i, batch.next_s, next_a, batch.z) for i in (0, 1))) - 0.2 * log_pi
    target = np.asarray(batch.r) + np.where(batch.terminal, 0, 0.9 * later)
    expected = sum(np.mean((q(state.critics.model, i, batch.s, batch.a, batch.z) - target) ** 2) for i in (0, 1))
    loss, metrics = sac.critics_loss(state.critics.model, state, batch, KEY)
    assert 0 < np.sum(batch.terminal) < N
    assert float(loss) == pytest.approx(expected, rel=1e-4)
    mean = np.mean([q(state.critics.model, i, batch.s, batch.a, batch.z) for i in (0, 1)])
    assert float(metrics["q"]) == pytest.approx(mean, rel=1e-4)


@pytest.mark.parametrize("end, bootstraps", [(True, False), (False, True)])
def test_what_follows_counts_only_without_an_end(sac, state, batch, end, bootstraps):
    """An episode that was only cut off is not over: its last transition comes with terminal = False."""
    batch = dataclasses.replace(batch, terminal=jnp.full(N, end))
    elsewhere = dataclasses.replace(batch, next_s=batch.next_s + 1)
    one, other = (sac.critics_loss(state.critics.model, state, b, KEY)[0] for b in (batch, elsewhere))
    assert (one != other) == bootstraps


def test_the_actor_weighs_its_entropy_against_the_lower_critic(sac, state, batch):
    a, log_pi = drawn(state.actor.model, batch.s, batch.z)
    lower = np.minimum(*(q(state.critics.model, i, batch.s, a, batch.z) for i in (0, 1)))
    loss, metrics = sac.actor_loss(state.actor.model, state, batch, KEY)
    assert float(loss) == pytest.approx(np.mean(0.2 * log_pi - lower), rel=1e-4)
    assert float(metrics["entropy"]) == pytest.approx(-np.mean(log_pi), rel=1e-4)


def with_spread(state: SacState, log_std: float) -> SacState:
    """With a policy of mean 0 and this log standard deviation in every state."""
    share = 2 * (log_std - LOG_STD_MIN) / (LOG_STD_MAX - LOG_STD_MIN) - 1
    bias = jnp.asarray([0.0] * ACTION + [np.arctanh(share)] * ACTION)
    last = lambda s: (s.actor.model.network.weights[-1], s.actor.model.network.biases[-1])
    return eqx.tree_at(last, state, (jnp.zeros_like(state.actor.model.network.weights[-1]), bias))


@pytest.mark.parametrize("above, direction", [(-0.5, 1), (0.5, -1)])
def test_the_temperature_rises_below_the_target_entropy_and_falls_above(update, state, batch, above, direction):
    """The target is -|A|/2 nats; a narrow Gaussian's entropy is known, and tanh is nearly the identity there."""
    log_std = -0.5 + above - 0.5 * np.log(2 * np.pi * np.e)
    learnt, metrics = update(with_spread(state, log_std), batch, KEY)
    assert float(metrics["entropy"]) == pytest.approx(ACTION * (-0.5 + above), abs=0.4)
    assert float(metrics["temperature"]) == pytest.approx(0.2)
    # Adam's first step is as long as its rate
    assert float(learnt.log_temperature.model) == pytest.approx(
        np.log(0.2) + direction * SMALL.temperature_learning_rate, abs=1e-6
    )


def test_target_critics_follow_the_critics(update, state, batch):
    learnt, _ = update(state, batch, KEY)
    share = SMALL.tau
    for old, critic, new in zip(
        *map(jax.tree.leaves, (state.targets, learnt.critics.model, learnt.targets)), strict=True
    ):
        np.testing.assert_allclose(
            new, (1 - share) * np.asarray(old) + share * np.asarray(critic), rtol=1e-5, atol=1e-7
        )
    assert not np.array_equal(learnt.critics.model.weights[0], state.critics.model.weights[0])
    assert not np.array_equal(state.critics.model.weights[0][0], state.critics.model.weights[0][1]), (
        "two critics, not one twice"
    )


@pytest.fixture(scope="module")
def solved() -> SacState:
    """At s = -1 the reward is -(a - z/2)^2, and that was the end; at 0 it is 1 for ever, at 1 it is 1 and the end."""
    quick = {"learning_rate": 5e-3, "batch_size": 64, "discount": 0.5, "tau": 0.05, "temperature": 1e-3}
    sac = Sac(SacConfig(actor_hidden=(32,), critic_hidden=(32,), **quick), state_size=1, action_size=1, skill_size=1)
    rng = np.random.default_rng(0)
    a, z = rng.uniform(-1, 1, size=(2048, 1)), rng.choice([-1.0, 1.0], size=(2048, 1))
    s = rng.choice([-1, 0, 1], size=(2048, 1), p=[0.5, 0.25, 0.25])
    numbers = (s, a, z, np.where(s == -1, -((a - z / 2) ** 2), 1)[:, 0], s)
    data = Experience(*(jnp.asarray(x, jnp.float32) for x in numbers), terminal=jnp.asarray(s[:, 0] != 0))

    def step(state, key):
        index = jax.random.randint(key, (64,), 0, 2048)
        return sac.update(state, jax.tree.map(lambda x: x[index], data), key)

    keys = jax.random.split(jax.random.key(0), 500)
    return jax.jit(lambda keys: jax.lax.scan(step, sac.init(jax.random.key(1)), keys)[0])(keys)


def test_the_best_action_of_each_skill_is_found(solved):
    mean, _ = solved.actor.model(jnp.full((2, 1), -1.0), jnp.asarray([[-1.0], [1.0]]))
    np.testing.assert_allclose(np.tanh(mean)[:, 0], [-0.5, 0.5], atol=0.1)


def test_a_step_that_goes_on_is_worth_all_that_follows_and_one_that_ends_its_reward(solved):
    """1 / (1 - .5), and 1; the entropy's share in it is within the tolerance."""
    worth = values(solved.critics.model, jnp.asarray([[0.0], [1.0]]), jnp.zeros((2, 1)), jnp.ones((2, 1)))
    np.testing.assert_allclose(worth, [[2, 1], [2, 1]], atol=0.1)


def test_a_given_temperature_stays(solved):
    assert float(solved.log_temperature.model) == pytest.approx(np.log(1e-3))
    assert solved.actor.optimiser[0].count == 500 and solved.log_temperature.optimiser[0].count == 0


def test_the_usual_target_entropy_is_half_a_nat_below_zero_for_each_action():
    assert Sac(SMALL, STATE, 6, SKILL).target_entropy == -3


def test_the_actor_may_step_less_often_than_the_critics(state, batch):
    """With actor_every=2, the first and the third step change actor and temperature; all change the critics."""
    update = jax.jit(Sac(dataclasses.replace(SMALL, actor_every=2), STATE, ACTION, SKILL).update)
    moved = []
    for step in range(4):
        learnt, metrics = update(state, batch, jax.random.fold_in(KEY, step))
        parts = lambda s: (s.critics.model, s.targets, s.actor.model, s.log_temperature.model)
        pairs = zip(parts(state), parts(learnt), strict=True)
        moved.append([not eqx.tree_equal(old, new) for old, new in pairs])
        assert np.isfinite(metrics["entropy"]) and metrics["entropy"] != 0.0  # of the last step of the actor
        state = learnt
    assert moved == [[True, True, True, True], [True, True, False, False]] * 2


def test_the_learnt_skill_can_be_the_policy_averaged_over_its_steps(state, batch):
    sac = Sac(dataclasses.replace(SMALL, policy_average=0.75), STATE, ACTION, SKILL)
    learnt, update = sac.init(KEY), jax.jit(sac.update)
    by_hand = learnt.actor.model.network.weights[0]
    for step in range(3):
        learnt, _ = update(learnt, batch, jax.random.fold_in(KEY, step))
        by_hand = 0.75 * by_hand + 0.25 * learnt.actor.model.network.weights[0]
        np.testing.assert_allclose(learnt.skill.network.weights[0], by_hand, rtol=1e-5, atol=1e-7)
    assert state.average is None and state.skill is state.actor.model  # by default it is the last policy
