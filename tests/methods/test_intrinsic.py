"""What the methods on SAC have in common: two epochs of each in a maze, their configs, and what is refused."""

import dataclasses
import inspect
import re
from pathlib import Path
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import leads
from leads.config import fields
from leads.data.episodes import Episodes
from leads.data.replay import Replay
from leads.errors import UserError
from leads.methods import METHODS
from leads.methods.intrinsic import Intrinsic
from leads.methods.method import targets_of
from leads.rollouts.on_device import rollout
from leads.tasks import make_task
from leads.tasks.task import seen_in_box

INTRINSIC = [name for name in METHODS if issubclass(METHODS.find(name), Intrinsic)]
TASK = make_task("maze-u")
KEYS = jax.random.split(jax.random.key(0), 3)


@pytest.fixture(scope="module")
def collected() -> list[Episodes]:
    """Two epochs of actions at random."""
    collect = jax.jit(lambda key: rollout(TASK, lambda s, skill, noise: jnp.tanh(noise), 3, 2, "white", key))
    return [collect(key) for key in KEYS[1:]]


@pytest.fixture(scope="module", params=INTRINSIC)
def epochs(small, collected, request) -> SimpleNamespace:
    """A method, its compiled update, the states before and after two epochs, and what came with them."""
    method, traces = small(request.param), []
    assert isinstance(method, Intrinsic)

    @jax.jit
    def update(state, episodes, key):
        traces.append(1)
        return method.update(state, episodes, key)

    states, metrics = [method.init(KEYS[0])], []
    for episodes, key in zip(collected, KEYS[1:], strict=True):
        state, numbers = update(states[-1], episodes, key)
        states.append(state)
        metrics.append(numbers)
    return SimpleNamespace(
        method=method, update=update, traces=traces, states=states, episodes=collected, metrics=metrics
    )


def same(one, other) -> bool:
    return all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))


def test_two_epochs_change_all_that_is_learnt_and_keep_it_finite(epochs):
    for old, new in zip(epochs.states, epochs.states[1:], strict=False):
        for part in ("model", "replay"):
            assert not same(getattr(old, part), getattr(new, part)), part
        for part in ("actor", "critics", "targets"):
            assert not same(getattr(old.sac, part), getattr(new.sac, part)), part
        assert same(old.skills, new.skills)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves((epochs.states, epochs.metrics)))
    assert {"reward", "q", "entropy", "temperature"} < set(epochs.metrics[0])


def test_an_epoch_is_compiled_once(epochs):
    assert len(epochs.traces) == 1
    assert jax.tree.map(jnp.shape, epochs.states[0]) == jax.tree.map(jnp.shape, epochs.states[2])


def test_every_epoch_is_kept_with_the_skills_that_it_was_collected_with(epochs):
    replay, n = jax.tree.map(np.asarray, epochs.states[1].replay), int(epochs.episodes[0].samples())
    assert replay.written == n
    lengths = np.asarray(epochs.episodes[0].lengths)
    np.testing.assert_array_equal(replay.kept.z[:n], np.repeat(epochs.states[0].drawn, lengths.sum(1), axis=0))
    assert replay.kept.terminal.sum() == np.sum(epochs.episodes[0].terminated)
    assert epochs.states[2].replay.written == n + epochs.episodes[1].samples()


def test_there_is_a_gradient_step_for_so_many_samples(epochs):
    counts = [(0, 0)] + [
        (int(state.sac.actor.optimiser[0].count), int(state.model.optimiser[0].count)) for state in epochs.states[1:]
    ]
    for before, after, episodes in zip(counts, counts[1:], epochs.episodes, strict=False):
        steps = int(episodes.samples()) // epochs.method.config.samples_per_step
        assert steps > 2
        assert after == (before[0] + steps, before[1] + steps)


def test_rewards_are_made_up_anew_when_transitions_are_used(epochs):
    """Another model, and all else the same: nothing of a reward was kept."""
    state = epochs.states[1]
    other = eqx.tree_at(lambda s: s.model, state, epochs.method.init(KEYS[2]).model)
    _, metrics = epochs.update(other, epochs.episodes[1], KEYS[2])
    assert float(metrics["reward"]) != pytest.approx(float(epochs.metrics[1]["reward"]), rel=1e-3)


def test_sac_gets_scaled_states_the_scaled_reward_of_the_model_as_it_was_and_what_the_method_takes_to_follow(
    small, monkeypatch
):
    """By RND, for which the start follows a terminal state; what SAC and the reward are given is caught."""
    method, given = (
        small("rnd", dataclasses.replace(TASK, one_scale=False), reward_scale=3.0, model_learning_rate=0.1),
        {},
    )
    monkeypatch.setattr(
        method.sac, "update", lambda sac, experience, key: (sac, given.update(experience=experience) or {})
    )
    monkeypatch.setattr(method, "reward", lambda model, batch, key: given.update(model=model) or jnp.arange(32.0))
    state = jax.jit(method.init)(KEYS[0])
    rng = np.random.default_rng(0)
    s, next_s = jnp.asarray(rng.uniform(-1, 1, size=(2, 1200, 2)), jnp.float32)
    kept = dataclasses.replace(state.replay.kept, s=s, next_s=next_s, terminal=jnp.arange(1200) % 3 == 0)
    state = dataclasses.replace(state, replay=Replay(kept, jnp.int32(1200)))

    @jax.jit
    def step(state, key):
        after, _ = method._step(state, key)
        return after.model.model, given["model"], given["experience"]

    model, rewarded_by, experience = step(state, KEYS[1])
    index = np.asarray(state.replay.draw(32, jax.random.split(KEYS[1], 4)[0])[0])
    ended = np.asarray(kept.terminal)[index]
    assert 0 < ended.sum() < 32
    np.testing.assert_array_equal(experience.r, 3 * np.arange(32))
    np.testing.assert_allclose(experience.s, s[index] - TASK.start, atol=1e-6)  # before anything was visited
    follows = np.where(ended[:, None], TASK.start, next_s[index])
    np.testing.assert_allclose(experience.next_s, follows - TASK.start, atol=1e-6)
    assert not np.any(experience.terminal)
    assert same(rewarded_by, state.model.model) and not same(model, state.model.model)


def test_only_collecting_is_loud(small):
    quiet, loud = small("diayn"), small("diayn", noise_scale=2.0)
    state, at, noise = quiet.init(KEYS[0]), (jnp.zeros(2), jnp.int32(1)), jnp.asarray([0.3, -0.2])
    np.testing.assert_array_equal(loud.explore(state, *at, noise), quiet.explore(state, *at, 2 * noise))
    np.testing.assert_array_equal(loud.act(state, *at, noise), quiet.act(state, *at, noise))
    assert not np.array_equal(quiet.act(state, *at, noise), quiet.act(state, *at, 2 * noise))


def test_networks_see_states_scaled_by_all_that_was_visited(small, collected):
    """Where entries are not of one scale; epoch after epoch."""
    method = small("diayn", dataclasses.replace(TASK, one_scale=False))
    state, update = method.init(KEYS[0]), jax.jit(method.update)
    by_hand = state.scaling
    for episodes, key in zip(collected, KEYS[1:], strict=True):
        state, _ = update(state, episodes, key)
        by_hand = by_hand.updated(episodes)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4), state.scaling, by_hand)


def test_the_learnt_skill_acts_by_its_number(epochs):
    method, state = epochs.method, epochs.states[2]
    s = jnp.zeros((3, 2))
    actions = np.asarray(method.act(state, s, jnp.arange(3), jnp.zeros((3, 2))))
    assert np.all(np.abs(actions) <= 1)
    assert (len(np.unique(actions, axis=0)) == 1) == (method.skill_size == 0)
    assert targets_of(method, state) is None


def test_the_learnt_skill_can_be_the_averaged_policy_and_exploring_is_done_by_the_last(small, collected):
    method = small("diayn", policy_average=0.5)
    state, _ = jax.jit(method.update)(method.init(KEYS[0]), collected[0], KEYS[1])
    at = jnp.zeros(2), jnp.int32(1), jnp.zeros(2)
    as_learnt = eqx.tree_at(lambda s: s.sac.actor.model, state, state.sac.average)
    np.testing.assert_array_equal(method.act(state, *at), method.explore(as_learnt, *at))
    assert not np.array_equal(method.act(state, *at), method.explore(state, *at))


def test_few_samples_are_one_gradient_step(epochs):
    first = dataclasses.replace(epochs.episodes[0], lengths=jnp.eye(3, 2, dtype=jnp.int32))
    state, _ = epochs.update(epochs.states[0], first, KEYS[2])
    assert state.replay.written == 2
    assert state.sac.critics.optimiser[0].count == state.model.optimiser[0].count == 1


def test_the_model_sees_the_features_in_their_unit_or_the_whole_scaled_state(small):
    features = {"features": lambda s: s[..., 1:], **seen_in_box(low=[0.0], high=[4.0])}
    task = dataclasses.replace(TASK, **features, one_scale=False)
    s = jnp.asarray([[0.3, 1.0], [-0.2, 4.0]])
    features, whole = (small("diayn", task, model_of=what) for what in ("features", "state"))
    assert (features.feature_size, whole.feature_size) == (1, 2)
    state = whole.init(KEYS[0])
    assert (features.init(KEYS[0]).model.model.weights[0].shape[0], state.model.model.weights[0].shape[0]) == (1, 2)
    np.testing.assert_allclose(features.features(state, s), [[-0.5], [1.0]], atol=1e-6)
    np.testing.assert_allclose(whole.features(state, s), s - TASK.start, atol=1e-6)  # before anything was visited


@pytest.mark.parametrize("name", METHODS)
def test_every_field_has_its_line(name):
    for field, about in fields.fields(METHODS.find(name).Config).items():
        assert re.fullmatch(r"\S[^\n]+\.", about.doc), (field, about.doc)


@pytest.mark.parametrize("name", INTRINSIC)
def test_a_method_is_short_to_read(name):
    """Its own file, and all those that it builds on."""
    method = METHODS.find(name)
    every = {*method.__mro__, *method.Config.__mro__}
    files = {inspect.getfile(c) for c in every if c.__module__.startswith("leads.")}
    assert len(files) >= 3
    assert all(len(Path(file).read_text().splitlines()) <= 350 for file in files)


@pytest.mark.parametrize("name", INTRINSIC)
def test_noise_while_collecting_can_be_pink(small, name):
    assert small(name).noise == "white"
    assert small(name, noise="pink").noise == "pink"


def test_a_replay_that_does_not_hold_an_epoch_is_refused(small):
    """3 skills with 2 episodes of 200 steps."""
    assert small("rnd", replay_size=1200).config.replay_size == 1200
    with pytest.raises(UserError, match=r"^replay_size: 1199 is not allowed; give at least an epoch's samples, 1200$"):
        small("rnd", replay_size=1199)


EVERYWHERE = [
    {"n_skill": 0}, {"n_episode": 0}, {"samples_per_step": 0}, {"replay_size": 0}, {"batch_size": -1},
    {"learning_rate": 0.0}, {"model_learning_rate": -1e-3}, {"reward_scale": 0.0}, {"discount": 0.0}, {"discount": 1.0},
    {"tau": 1.5},
    {"actor_hidden": ()}, {"critic_hidden": (8, 0)}, {"model_hidden": (-1,)}, {"temperature": 0.0},
    {"temperature_learning_rate": 0.0}, {"first_temperature": -0.1}, {"noise": "blue"}, {"model_of": "pictures"},
]  # fmt: skip
OWN = [
    ("smm", {"density_hidden": ()}), ("smm", {"density_hidden": (8, 0)}), ("smm", {"density_code": 0}),
    ("smm", {"density_beta": -1.0}), ("rnd", {"n_feature": 0}), ("rnd", {"fade": -0.1}), ("rnd", {"fade": 1.5}),
    ("rnd", {"clip": 0.0}), ("ngu", {"fade": 2.0}), ("ngu", {"embedding_hidden": (0,)}), ("ngu", {"embedding": 0}),
    ("ngu", {"neighbours": 0}), ("ngu", {"kernel_epsilon": 0.0}), ("ngu", {"kernel_constant": -1.0}),
    ("ngu", {"most_novel": 0.5}), ("lsd", {"power_iterations": 0}), ("lsd", {"skills": "round"}),
    ("csd", {"multiplier": 0.0}), ("csd", {"slack": -1.0}), ("metra", {"multiplier": -3.0}),
    ("metra", {"slack": -1.0}), ("metra", {"n_skill": 1}), ("metra", {"direction_size": 1}),
]  # fmt: skip


@pytest.mark.parametrize(
    "name, changes",
    [("diayn", changes) for changes in EVERYWHERE] + OWN,
    ids=lambda value: value if isinstance(value, str) else "-".join(f"{k}={v}" for k, v in value.items()),
)
def test_impossible_values_are_refused_in_one_line(small, name, changes):
    (field,) = changes
    with pytest.raises(UserError, match=rf"^{field}: ") as refused:
        small(name, **changes)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["csd", "ngu"])
def test_a_run_stopped_and_resumed_ends_the_same(name, tmp_path):
    """The replay, the model with its multiplier or statistics, and all optimisers are part of a checkpoint."""
    small = {"n_episode": 2, "actor_hidden": (8,), "critic_hidden": (8,), "model_hidden": (8,), "batch_size": 16}
    options = {"method": name, "samples": 9_000, "checkpoint_every": 2, "replay_size": 5_000, **small}
    whole, stopped = leads.train("maze-u", out=tmp_path / "whole", **options), tmp_path / "stopped"

    def stop(metrics):
        if metrics["epoch"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leads.train("maze-u", out=stopped, report=stop, **options)
    leads.resume(stopped)
    assert (stopped / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    ends = [np.load(sorted((run / "checkpoints").glob("*.npz"))[-1]) for run in (whole, stopped)]
    assert len(ends[0].files) > 50 and all(np.array_equal(*(end[field] for end in ends)) for field in ends[0].files)
