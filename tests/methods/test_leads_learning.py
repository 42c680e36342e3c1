"""LEADS learns: its updates bring f to the exact measure of a chain, its policy up G, its history along.

Six states in a row, the last of which ends the episode; actions above 0 go right, but one step in ten slips the other
way. The policy hardly changes, so that the exact measure of every skill is known.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from leads.config.fields import build
from leads.data.episodes import Episodes
from leads.measures.tabular import successor_state_measure
from leads.methods.leads import Leads
from leads.methods.leads_config import LeadsConfig
from leads.rollouts.on_device import rollout
from leads.tasks.task import Dynamics, Task, seen_in_box

N_STATE, N_SKILL, DISCOUNT, SLIP = 6, 2, 0.8, 0.1
TERMINAL = np.arange(N_STATE) == N_STATE - 1
STATES = jnp.eye(N_STATE)


def reset(key):
    at_key, key = jax.random.split(key)
    return jax.random.randint(at_key, (), 0, N_STATE - 1), key


def step(simulator, action):
    at, key = simulator
    slip_key, key = jax.random.split(key)
    right = (action[0] > 0) ^ (jax.random.uniform(slip_key) < SLIP)
    at = jnp.maximum(at + jnp.where(right, 1, -1), 0)
    return (at, key), at == N_STATE - 1


CHAIN = Task(
    name="chain", start=np.eye(N_STATE, dtype=np.float32)[2], action_size=1, horizon=60, budget=1, features=lambda s: s,
    **seen_in_box(low=np.zeros(N_STATE), high=np.ones(N_STATE)), one_scale=True,
    dynamics=Dynamics(reset, step, lambda simulator: STATES[simulator[0]]),
)  # fmt: skip
SKETCH = {
    "n_skill": N_SKILL, "skill_size": 2, "n_episode": 64, "noise": "white", "marginal": "epoch", "n_targets": 8,
    "archive_size": 16, "archive_admit": 8, "measure_hidden": (32,), "measure_embedding": 16,
    "measure_batch_size": 128, "measure_learning_rate": 2e-3, "measure_discount": DISCOUNT, "futures": "geometric",
    "actor_hidden": (16,), "policy_batch_size": 16, "policy_learning_rate": 1e-12,
}  # fmt: skip
LOSSES = {
    "monte carlo": {"mc_weight": 1.0, "measure_steps": 160, "td_steps": 0, "policy_steps": 1},
    "temporal differences": {
        "mc_weight": 0.0, "measure_steps": 1, "td_steps": 8, "policy_steps": 20, "noise_scale": 2.0,
    },
    "both": {"mc_weight": 0.5, "measure_steps": 80, "td_steps": 8, "policy_steps": 10},
    "infonce": {"measure": "infonce", "measure_steps": 160, "td_steps": 0, "policy_steps": 1},
    "td-infonce": {
        "measure": "td-infonce", "measure_tau": 0.1, "measure_steps": 1, "td_steps": 8, "policy_steps": 20,
        "noise_scale": 2.0,
    },
}  # fmt: skip
"""By what the measure learns; without Monte Carlo, and with louder exploration, all but one step is off policy."""


def oracle(method: Leads, state, after_end) -> np.ndarray:
    """p(s2|s1,z) of every skill's mean action, from the law of the policy's actions."""
    transition = np.zeros((N_STATE, 2, N_STATE))
    for at in range(N_STATE):
        for right in (0, 1):
            transition[at, right, min(at + 1, N_STATE - 1)] += 1 - SLIP if right else SLIP
            transition[at, right, max(at - 1, 0)] += SLIP if right else 1 - SLIP
    exact = []
    for z in state.skills:
        mean, log_std = method.improvement.policy(state.policy, STATES, jnp.broadcast_to(z, (N_STATE, 2)))
        mean, std = np.asarray(mean)[:, 0], np.exp(np.asarray(log_std))[:, 0]
        right = scipy.stats.norm.cdf(mean / std)
        measure = successor_state_measure(transition, np.stack([1 - right, right], -1), DISCOUNT, TERMINAL, after_end)
        exact.append(measure[np.arange(N_STATE), (mean > 0).astype(int)])
    return np.stack(exact)


def collected(method: Leads, state, n_episode: int, key) -> Episodes:
    explore = jax.tree_util.Partial(method.explore, state)
    return rollout(method.task, explore, method.config.n_skill, n_episode, method.noise, key)


def marginal(episodes: Episodes) -> np.ndarray:
    """p(s): states after real steps, all skills alike."""
    counts = np.einsum("zets,zet->zs", np.asarray(episodes.states)[:, :, 1:], np.asarray(episodes.steps()))
    return np.mean(counts / counts.sum(-1, keepdims=True), axis=0)


def decided(state, by: float = 2.0):
    """With a policy that is surer of its actions, and so skills that differ more."""
    louder = jax.tree.map(lambda weight: by * weight, state.policy.actor.model)
    return eqx.tree_at(lambda s: s.policy.actor.model, state, louder)


@pytest.mark.parametrize(
    "losses, after_end",
    [
        ("monte carlo", "absorb"), ("temporal differences", "vanish"), ("both", "vanish"),
        ("infonce", "vanish"), ("td-infonce", "vanish"),
    ],
)  # fmt: skip
def test_updates_bring_f_to_the_exact_measure(losses, after_end):
    """p exp f is a law of s2, and half the sum of its differences from the exact one is how far it is from it."""
    method = Leads(build(LeadsConfig, SKETCH | LOSSES[losses] | {"after_end": after_end}), CHAIN)

    @jax.jit
    def learn(key):
        def epoch(state, key):
            collect_key, update_key = jax.random.split(key)
            episodes = collected(method, state, method.config.n_episode, collect_key)
            return method.update(state, episodes, update_key)[0], None

        return jax.lax.scan(epoch, decided(method.init(jax.random.key(1))), jax.random.split(key, 15))[0]

    @jax.jit
    def asked(state, key):
        f = jax.vmap(lambda s1: method.log_measure(state, s1, STATES), out_axes=1)(STATES)
        return f, collected(method, state, 512, key)

    state = learn(jax.random.key(2))
    exact = oracle(method, state, after_end)[:, ~TERMINAL]
    f, episodes = asked(state, jax.random.key(3))
    p = marginal(episodes)
    far = lambda law: 0.5 * np.abs(law - exact).sum(-1).mean()
    assert min(far(p), far(exact[::-1])) > 0.3, "neither knowing nothing nor taking one skill for the other is near"
    assert far(p * np.exp(f[:, ~TERMINAL])) < 0.15


def test_next_actions_are_drawn_where_the_step_led():
    """By a policy so sure of its actions that they tell at which state it was asked."""
    method = Leads(build(LeadsConfig, SKETCH), CHAIN)

    @jax.jit
    def likely(key):
        state = decided(method.init(jax.random.key(2)), by=8.0)
        episodes = collected(method, state, method.config.n_episode, key)
        batch = jax.tree.map(lambda x: x[0], method._draw(state, episodes, 1, key))
        shares = []
        for s in (batch.s, batch.next_s):
            mean, log_std = method.improvement.policy(state.policy, s, batch.z)
            least, most = (jnp.tanh(mean + sign * 5 * jnp.exp(log_std)) for sign in (-1, 1))
            shares.append(jnp.mean((least <= batch.next_a) & (batch.next_a <= most)))
        return shares

    before, after = likely(jax.random.key(5))
    assert before < 0.9 and after == 1


def test_improving_the_policy_raises_g():
    """Step by step, with targets and measure as they are after an epoch; G is at most 0."""
    learning = {"policy_learning_rate": 5e-3, "policy_batch_size": 256, "policy_steps": 1, "td_steps": 0}
    numbers = SKETCH | {"measure_steps": 400, "entropy": 0.0, "target_entropy": 0.0, "offset": 1.0} | learning
    method = Leads(build(LeadsConfig, numbers), CHAIN)

    @jax.jit
    def values(key):
        state = method.init(key)
        episodes = collected(method, state, method.config.n_episode, key)
        state, _ = method.update(state, episodes, key)
        improve = lambda state, key: method.improvement.improve(method, state, episodes, episodes, key)
        return jax.lax.scan(improve, state, jax.random.split(key, 200))[1]["objective"]

    g = np.asarray(values(jax.random.key(4)))
    assert g[:20].mean() + 0.1 < g[-20:].mean() < 0


def test_the_measures_loss_falls_from_update_to_update():
    """On the same episodes, from its value without any knowledge: log 2 for the positives and for the negatives."""
    method = Leads(build(LeadsConfig, SKETCH | LOSSES["monte carlo"] | {"measure_steps": 40}), CHAIN)
    state = decided(method.init(jax.random.key(6)))
    episodes, update = collected(method, state, method.config.n_episode, jax.random.key(7)), jax.jit(method.update)
    losses = []
    for key in jax.random.split(jax.random.key(8), 4):
        state, metrics = update(state, episodes, key)
        losses.append(float(metrics["measure_loss"]))
    assert 2 * np.log(2) > losses[0] > losses[1] + 0.05 and losses[3] < losses[0] - 0.1, losses


def test_the_history_is_kept_from_epoch_to_epoch():
    """After every update: what was there, or was inherited, times the decay, and the measure of that epoch."""
    method = Leads(build(LeadsConfig, SKETCH | LOSSES["monte carlo"] | {"history_decay": 0.5}), CHAIN)
    state = method.init(jax.random.key(8))
    collect = jax.jit(lambda state, key: collected(method, state, method.config.n_episode, key))
    update, ask = jax.jit(method.update), jax.jit(lambda state, s: method.log_measure(state, method.start, s))
    for key in jax.random.split(jax.random.key(9), 3):
        episodes = collect(state, key)
        visited = episodes.states[:, :, 1:].reshape(-1, N_STATE)
        skill = jnp.repeat(jnp.arange(N_SKILL), len(visited) // N_SKILL)
        offered = state.archive.offer(visited, skill, state.scaling.features, method.config.archive_admit)
        state, _ = update(state, episodes, key)
        now = np.exp(np.minimum(ask(state, state.archive.states), 5)).T
        np.testing.assert_array_equal(state.archive.states, offered.states)
        np.testing.assert_allclose(state.archive.visits, 0.5 * np.asarray(offered.visits) + now, rtol=1e-3, atol=1e-4)
    assert np.asarray(offered.visits).sum() > 1
