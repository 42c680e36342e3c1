"""Numbers that are not finite stop a run by name; the last good checkpoint stays, and the run can go on from it."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import leads
from leads.methods.diayn import Diayn
from leads.training import checkpoint

SMALL = {"n_skill": 2, "n_episode": 1, "actor_hidden": (8,), "critic_hidden": (8,), "model_hidden": (8,)}
SMALL |= {"batch_size": 16, "replay_size": 2_000, "samples_per_step": 100}
TINY = {"n_skill": 2, "n_episode": 1, "actor_hidden": (8,), "measure_hidden": (8,), "measure_steps": 2}
TINY |= {"policy_steps": 2, "td_steps": 1, "n_targets": 4, "archive_size": 32, "archive_admit": 16}


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
    message = r"^epoch \d+: state.sac.critics.model.weights\[1\] is not finite \(NaN or infinity\); "
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
        ({"method": "diayn", "learning_rate": 1e38}, r"^epoch \d+: (state|episodes)\..* is not finite"),
        ({"method": "diayn", "reward_scale": 1e38}, r"^epoch \d+: (state|episodes)\..* is not finite"),
        ({"method": "leads", "entropy": 1e38}, r"^epoch \d+: (state|episodes)\..* is not finite"),
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
