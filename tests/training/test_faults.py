"""Numbers that are not finite stop a run by name; the last good checkpoint stays, and the run can go on from it."""

import dataclasses

import equinox as eqx
import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

import leads
from leads.data.episodes import Episodes
from leads.methods.diayn import Diayn
from leads.training import checkpoint
from leads.training.faults import check_episodes, named

SMALL = {"n_skill": 2, "n_episode": 1, "actor_hidden": (8,), "critic_hidden": (8,), "model_hidden": (8,)}
SMALL |= {"batch_size": 16, "replay_size": 2_000, "samples_per_step": 100}
TINY = {"n_skill": 2, "n_episode": 1, "actor_hidden": (8,), "measure_hidden": (8,), "measure_steps": 2}
TINY |= {"policy_steps": 2, "td_steps": 1, "n_targets": 4, "archive_size": 32, "archive_admit": 16}

FAULT = (
    r"^epoch \d+: (state|metrics|method: its action|environment: its observation).* is not finite \(NaN or infinity\); "
)
"""What a numerical fault is told as."""


class Faulty(Diayn):
    """A method one of whose weights becomes infinite in the epoch of its fault."""

    fault = 10**9

    def update(self, state, episodes, key):
        after, metrics = super().update(state, episodes, key)
        broken = after.replay.written >= Faulty.fault
        weights = lambda s: s.sac.critics.model.weights[1]
        return eqx.tree_at(weights, after, jnp.where(broken, jnp.inf, weights(after))), metrics


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return leads.train("maze-u", Faulty, samples=3_000, out=tmp_path_factory.mktemp("runs") / "whole", **SMALL)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_fault_at_any_moment_keeps_the_last_good_checkpoint(whole, tmp_path, monkeypatch, seed):
    """After the fault is mended, the run ends as one that never had it."""
    at = int(np.random.default_rng(seed).integers(800, 2_500))
    monkeypatch.setattr(Faulty, "fault", at)
    message = r"^epoch \d+: state.sac.critics.model.weights\[1\] is not finite .*; the checkpoint of epoch \d+ is kept$"
    with pytest.raises(leads.UserError, match=message):
        leads.train("maze-u", Faulty, samples=3_000, out=tmp_path / "run", checkpoint_every=1, **SMALL)
    run = tmp_path / "run"
    metrics = (run / "metrics.jsonl").read_text().splitlines()
    assert checkpoint.epochs(run / "checkpoints")[-1] == len(metrics) > 0, "the epoch of the fault left nothing"
    monkeypatch.setattr(Faulty, "fault", 10**9)
    leads.resume(run, method=Faulty)
    assert (run / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"method": "diayn", "learning_rate": 1e38}, FAULT),
        ({"method": "diayn", "reward_scale": 1e38}, FAULT),
        ({"method": "leads", "entropy": 1e38}, FAULT),
        ({"method": "leads", "entropy": 1e300}, r"^entropy: 1e\+300 is not a finite number$"),
        ({"method": "leads", "noise_scale": 1e39}, r"^noise_scale: 1e\+39 is not a finite number$"),
        ({"method": "leads", "sharpness": -1.0}, r"^sharpness: -1.0 is not allowed; give a number above 0$"),
        ({"method": "leads", "measure_embedding": 0}, r"^measure_embedding: 0 is not allowed; give a number above 0$"),
    ],
)
def test_absurd_values_do_not_train_on(options, message, tmp_path):
    small = TINY if options["method"] == "leads" else SMALL
    with pytest.raises(leads.UserError, match=message):
        leads.train("maze-u", samples=20_000, out=tmp_path / "run", **small | options)


class Lossy(Diayn):
    """A method whose loss is not a number from the third epoch on, though its weights are."""

    def update(self, state, episodes, key):
        after, metrics = super().update(state, episodes, key)
        return after, metrics | {"loss": jnp.where(after.replay.written > 500, jnp.nan, 0.0)}


def test_a_loss_that_is_not_finite_stops_the_run(tmp_path):
    message = r"^epoch \d+: metrics\['loss'\] is not finite \(NaN or infinity\); the checkpoint of epoch \d+ is kept$"
    with pytest.raises(leads.UserError, match=message):
        leads.train("maze-u", Lossy, samples=3_000, out=tmp_path / "run", **SMALL)
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert checkpoint.epochs(tmp_path / "run" / "checkpoints")[-1] == len(lines) > 0


def test_numbers_that_are_not_known_do_not_stop_a_run(tmp_path):
    """Reach of a method without targets is not a number by design, as are those of one's own that are not known."""
    unknown = leads.Metric("depth", "depth", compute=lambda evaluation: jnp.float32(jnp.nan))
    few = {"n_skill": 2, "n_episode": 1}
    run = leads.train("maze-u", "random", samples=500, out=tmp_path / "run", metrics=[unknown], **few)
    last = leads.load(run).run.metrics()[-1]
    assert last["reach"] is None and last["depth"] is None and last["coverage"] > 0


def test_a_task_on_the_device_that_leaves_the_numbers_is_named_with_its_step(tmp_path):
    task = leads.make_task("maze-easy")
    assert task.dynamics is not None
    away = lambda s, a: (s + jnp.where(jnp.abs(s[0]) + jnp.abs(s[1]) < 0.29, 0.1, jnp.inf), jnp.bool_(False))
    lost = dataclasses.replace(task, name="lost", dynamics=dataclasses.replace(task.dynamics, step=away))
    message = r"^epoch 1: environment: its observation at step 3 of an episode is not .*; there is no checkpoint yet$"
    with pytest.raises(leads.UserError, match=message):
        leads.train(lost, "random", samples=500, out=tmp_path / "run", n_skill=2, n_episode=1)


def test_actions_on_the_device_that_are_not_finite_are_named_with_their_step():
    actions = np.zeros((2, 3, 5, 2))
    actions[1, 0, 3, 1] = np.inf
    episodes = Episodes(jnp.zeros((2, 3, 6, 2)), jnp.asarray(actions), jnp.full((2, 3), 5), jnp.zeros((2, 3), bool))
    with pytest.raises(leads.UserError, match=r"^method: its action at step 4 of an episode is not finite"):
        check_episodes(episodes)
    begun = dataclasses.replace(episodes, states=episodes.states.at[0, 0, 0, 0].set(jnp.nan))
    with pytest.raises(leads.UserError, match=r"^environment: its observation at reset is not finite"):
        check_episodes(begun)


class Raft(gymnasium.Env):
    """Drifts where it is pushed, until its fault: a step of any raft, counted over all of them."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    steps, fault, raises = 0, 10**9, False

    def reset(self, *, seed=None, options=None):
        self.place = np.zeros(2, np.float32)
        return self.place.copy(), {}

    def step(self, action):
        Raft.steps += 1
        if Raft.steps == Raft.fault and Raft.raises:
            raise RuntimeError("the raft sinks")
        self.place = np.clip(self.place + 0.1 * action, -1, 1).astype(np.float32)
        return self.place * (np.nan if Raft.steps == Raft.fault else 1), 0.0, False, False, {}


HORIZON = 10


@pytest.fixture(scope="module")
def drifted(tmp_path_factory):
    task = leads.environment_task(Raft, horizon=HORIZON, name="raft")
    out = tmp_path_factory.mktemp("runs") / "drifted"
    return leads.train(task, "diayn", samples=200, out=out, **SMALL)


@pytest.mark.parametrize("seed, raises", [(0, False), (1, True), (2, False)])
def test_an_environment_that_fails_at_any_step_is_named_with_it(drifted, tmp_path, monkeypatch, seed, raises):
    """After it is mended, the run goes on from the epoch before and ends as one that never failed."""
    at = int(np.random.default_rng(seed).integers(25, 180))
    monkeypatch.setattr(Raft, "steps", 0)
    monkeypatch.setattr(Raft, "fault", at)
    monkeypatch.setattr(Raft, "raises", raises)
    task, run = leads.environment_task(Raft, horizon=HORIZON, name="raft"), tmp_path / "run"
    failed = r"failed \(RuntimeError: the raft sinks\)"
    what = f"step \\d+ of an episode {failed}" if raises else r"its observation at step \d+ of an episode is not finite"
    with pytest.raises(
        leads.UserError, match=rf"^epoch \d+: environment: {what}.*; the checkpoint of epoch \d+ is kept$"
    ):
        leads.train(task, "diayn", samples=200, out=run, **SMALL)
    finished = len((run / "metrics.jsonl").read_text().splitlines())
    assert checkpoint.epochs(run / "checkpoints")[-1] == finished > 0, "no finished epoch is lost"
    monkeypatch.setattr(Raft, "fault", 10**9)
    leads.resume(run, task=task)
    assert (run / "metrics.jsonl").read_bytes() == (drifted / "metrics.jsonl").read_bytes()


def test_lack_of_memory_on_the_way_is_a_fault_too():
    assert named(MemoryError()) == "there was not enough memory"
    assert named(RuntimeError("RESOURCE_EXHAUSTED: 5 bytes")) == "there was not enough memory"
    assert named(RuntimeError("something else")) is None and named(KeyboardInterrupt()) is None
