"""LEADS: its objective against numbers written out in NumPy, its skills, its history, the flatness of its cost."""

import dataclasses
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leads.config.fields import build
from leads.errors import UserError
from leads.methods.leads import Leads
from leads.methods.leads_config import LeadsConfig
from leads.nn import squashed_gaussian
from leads.rollouts.on_device import rollout
from leads.tasks import make_task

TASK = make_task("maze-u")
SMALL = {
    "n_episode": 3, "actor_hidden": (16,), "measure_hidden": (16,), "measure_steps": 3, "measure_batch_size": 32,
    "policy_steps": 2, "policy_batch_size": 24, "td_steps": 1, "archive_size": 48, "archive_admit": 24, "n_targets": 8,
}  # fmt: skip


@cache
def made(**changes):
    """(method, state, episodes) of a small LEADS."""
    method = Leads(build(LeadsConfig, SMALL | changes), TASK)

    @jax.jit
    def make():
        state = method.init(jax.random.key(0))
        act = jax.tree_util.Partial(method.act, state)
        return state, rollout(TASK, act, method.config.n_skill, 3, "pink", jax.random.key(1))

    return method, *make()


def test_skills_are_orthonormal_and_drawn_by_the_seed():
    method, state, _ = made()
    np.testing.assert_allclose(state.skills @ state.skills.T, np.eye(6), atol=1e-5)
    assert not np.allclose(state.skills, method.init(jax.random.key(1)).skills)


def test_the_learnt_skill_is_the_policy_averaged_over_its_steps():
    """One step an epoch, so that the average can be followed by hand; exploring is done by the last policy."""
    method, state, episodes = made(policy_steps=1, policy_average=0.75)
    by_hand, update = state.policy.actor.model.network.weights[0], jax.jit(method.update)
    for key in jax.random.split(jax.random.key(7), 3):
        state, _ = update(state, episodes, key)
        by_hand = 0.75 * by_hand + 0.25 * state.policy.actor.model.network.weights[0]
        np.testing.assert_allclose(state.policy.average.network.weights[0], by_hand, rtol=1e-5, atol=1e-7)
    at = jnp.zeros(2), jnp.int32(1), jnp.zeros(2)
    as_learnt = eqx.tree_at(lambda s: s.policy.actor.model, state, state.policy.average)
    np.testing.assert_array_equal(method.act(state, *at), method.explore(as_learnt, *at))
    assert not np.array_equal(method.act(state, *at), method.explore(state, *at))


def test_only_collecting_is_loud():
    (quiet, state, _), (loud, _, _) = made(), made(noise_scale=2.0)
    s, z, noise = jnp.zeros(2), jnp.int32(1), jnp.asarray([0.3, -0.2])
    np.testing.assert_array_equal(loud.explore(state, s, z, noise), quiet.explore(state, s, z, 2 * noise))
    np.testing.assert_array_equal(loud.act(state, s, z, noise), quiet.act(state, s, z, noise))


def test_noise_moves_the_learnt_skill_too():
    method, state, _ = made()
    s, z = jnp.zeros(2), jnp.int32(1)
    mean, log_std = method.improvement.skill(state.policy, s, state.skills[1])
    for noise in ([0.0, 0.0], [1.0, -2.0]):
        expected = np.tanh(mean + np.exp(log_std) * np.asarray(noise))
        np.testing.assert_allclose(method.act(state, s, z, jnp.asarray(noise)), expected, rtol=1e-5, atol=1e-6)


def test_networks_see_states_scaled_by_all_that_was_visited():
    """Where entries are not of one scale; epoch after epoch."""
    _, _, episodes = made()
    method = Leads(build(LeadsConfig, SMALL), dataclasses.replace(TASK, one_scale=False))
    state, update = method.init(jax.random.key(0)), jax.jit(method.update)
    by_hand = state.scaling
    for shift in (0.0, 5.0):
        epoch = eqx.tree_at(lambda e: e.states, episodes, episodes.states + shift)
        state, _ = update(state, epoch, jax.random.key(1))
        by_hand = by_hand.updated(epoch)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4), state.scaling, by_hand)


def test_without_averaging_the_learnt_skill_is_the_last_policy():
    method, state, episodes = made(policy_average=0.0)
    state, _ = jax.jit(method.update)(state, episodes, jax.random.key(7))
    jax.tree.map(np.testing.assert_array_equal, state.policy.average, state.policy.actor.model)


@pytest.mark.parametrize("offset, together", [(1.0, 1), (30.0, 3)])
@pytest.mark.parametrize("objective", ["leads", "lower_bound", "lower_bound_diversity"])
def test_the_objective_is_the_printed_one(objective, offset, together):
    """G by NumPy from m = exp f of every skill's action, for the very draws that the method makes."""
    numbers = {"offset": offset, "entropy": 0.3, "target_entropy": 0.7}
    method, state, episodes = made(objective=objective, n_together=together, **numbers)
    targets = jax.random.uniform(jax.random.key(5), state.targets.shape, minval=-1.0)
    state = eqx.tree_at(lambda s: s.targets, state, targets)
    caught = {}

    class Spy(type(state.measure.model)):
        def log_ratio(self, s1, a, z, s2):
            caught.update(s1=s1, a=a, z=z, s2=s2, f=super().log_ratio(s1, a, z, s2))
            return caught["f"]

    spy = object.__new__(Spy)
    for field in dataclasses.fields(state.measure.model):
        object.__setattr__(spy, field.name, getattr(state.measure.model, field.name))
    spied = eqx.tree_at(lambda s: s.measure.model, state, spy)
    total, parts = method.improvement.objective(state.policy.actor.model, method, spied, episodes, jax.random.key(3))

    skill = np.asarray(jax.random.randint(jax.random.split(jax.random.key(3), 5)[0], (24,), 0, 6))
    assert caught["f"].shape == (24, 6, together if objective == "leads" else 1)
    m = np.exp(np.asarray(caught["f"], np.float64)).mean(2)
    own = m[np.arange(24), skill]
    g = np.log(own) if objective == "lower_bound" else np.log(own / (offset + m.sum(1)))
    assert float(parts["objective"]) == pytest.approx(g.mean(), abs=1e-4)
    assert float(total) == pytest.approx(
        g.mean() + 0.3 * float(parts["entropy"]) + 0.7 * float(parts["target_entropy"]), abs=1e-4
    )
    source = targets if objective == "leads" else episodes.states
    for z, places in zip(skill, np.asarray(caught["s2"])[:, 0], strict=True):
        for s2 in places:
            assert np.any(np.all(np.isclose(np.asarray(source[z]).reshape(-1, 2), s2), axis=1))


def test_the_memory_holds_the_last_epochs_and_the_measure_learns_from_them():
    method, state, episodes = made(memory=3)
    forgetful, forgotten, _ = made(memory=1)
    assert not np.any(state.memory.lengths) and forgotten.memory.lengths.shape == (6, 0)
    epochs = [eqx.tree_at(lambda e: e.states, episodes, episodes.states + shift) for shift in (0.0, 0.1, 0.2)]
    same, update, forget = [], jax.jit(method.update), jax.jit(forgetful.update)
    for epoch, key in zip(epochs, jax.random.split(jax.random.key(2), 3), strict=True):
        state, _ = update(state, epoch, key)
        forgotten, _ = forget(forgotten, epoch, key)
        same.append(np.allclose(*(s.measure.model.phi.weights[0] for s in (state, forgotten)), rtol=1e-4, atol=1e-6))
    assert same == [True, False, False]  # the first epoch has nothing to remember
    np.testing.assert_array_equal(state.memory.states, np.concatenate([epochs[2].states, epochs[1].states], axis=1))


def test_a_policy_step_raises_the_objective():
    method, state, episodes = made(policy_batch_size=256, entropy=0.0, target_entropy=0.0)
    state = eqx.tree_at(lambda s: s.targets, state, jnp.full_like(state.targets, 0.5))
    arguments = method, state, episodes, jax.random.key(3)

    @jax.jit
    def before_and_after():
        value = lambda actor: method.improvement.objective(actor, *arguments)[1]["objective"]
        better, _ = state.policy.actor.ascend(method.improvement.objective, *arguments)
        return value(state.policy.actor.model), value(better.model)

    before, after = before_and_after()
    assert after > before


@pytest.mark.parametrize("form", ["classifier", "factorised"])
@pytest.mark.parametrize("uncertainty", ["balanced", "bounded", "literal"])
def test_targets_are_candidates_and_the_first_is_the_best(uncertainty, form):
    method, state, episodes = made(uncertainty=uncertainty, measure_form=form)
    state = method._archive(state, episodes)
    chosen = method._choose_targets(state, episodes, jax.random.key(4))
    u = np.asarray(method.uncertainty(state, state.archive.states))
    best = np.asarray(state.archive.states)[u.argmax(1)]
    np.testing.assert_array_equal(np.asarray(method.targets(chosen)), best)
    known = {tuple(s) for s in np.asarray(state.archive.states).tolist()}
    assert all(tuple(s) in known for s in np.asarray(chosen.targets).reshape(-1, 2).tolist())


def test_candidates_of_this_epoch_belong_to_their_skill():
    method, state, episodes = made(uncertainty="bounded", candidates="epoch")
    chosen = method._choose_targets(method._archive(state, episodes), episodes, jax.random.key(4))
    for z in range(6):
        own = np.asarray(episodes.states[z]).reshape(-1, 2)
        assert all(np.any(np.all(own == s, axis=1)) for s in np.asarray(chosen.targets[z]))


def test_the_history_is_the_discounted_sum_of_past_measures():
    method, state, episodes = made(history_decay=0.5)
    state = method._archive(state, episodes)
    now = np.exp(np.asarray(method.log_measure(state, method.start, state.archive.states))).T
    np.testing.assert_allclose(method.visits(state), 0.5 * np.asarray(state.archive.visits) + now, rtol=1e-5)


def test_log_measure_uses_the_mean_action():
    method, state, _ = made()
    s2 = jnp.asarray([[0.1, 0.2], [0.3, -0.4]])
    mean, log_std = state.policy.actor.model(method.start, state.skills[2])
    a = squashed_gaussian.sample(mean, log_std, jnp.zeros(2))
    expected = [float(state.measure.model.log_ratio(method.start, a, state.skills[2], s)) for s in s2]
    np.testing.assert_allclose(method.log_measure(state, method.start, s2)[2], expected, rtol=1e-4)


def test_cost_does_not_grow_with_the_epoch():
    """State and program keep their size: the history is a bounded archive, so epoch 100 runs what epoch 5 ran."""
    method, state, episodes = made()
    traces = []

    @jax.jit
    def update(state, key):
        traces.append(1)
        return method.update(state, episodes, key)[0]

    shapes = jax.tree.map(jnp.shape, state)
    for epoch in range(12):
        state = update(state, jax.random.key(epoch))
    assert jax.tree.map(jnp.shape, state) == shapes
    assert len(traces) == 1
    assert all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in jax.tree.leaves(state))


@pytest.mark.parametrize(
    "changes",
    [
        {"n_skill": 0}, {"n_skill": 30}, {"measure_learning_rate": 0.0}, {"measure_discount": 1.0},
        {"mc_weight": 1.5}, {"td_steps": -1}, {"offset": -1.0}, {"uncertainty": "literal", "n_targets": 5000},
    ],
)  # fmt: skip
def test_impossible_configs_are_refused(changes):
    with pytest.raises(UserError, match=r"is not allowed"):
        build(LeadsConfig, changes)
