"""How many episodes an epoch has."""

from itertools import pairwise
from types import SimpleNamespace

import pytest

import leads
from leads.training.epoch import episodes_begun
from leads.training.run import Run


def method(**config) -> SimpleNamespace:
    return SimpleNamespace(config=SimpleNamespace(**config))


@pytest.mark.parametrize(
    "wanted, length, begun",
    [(1200, 200.0, 1), (4800, 200.0, 4), (4800, 11.0, 32), (2400, 100.0, 4), (100, 200.0, 1), (None, 200.0, 32)],
)
def test_episodes_follow_from_samples_and_lengths(wanted, length, begun):
    assert episodes_begun(method(n_skill=6, n_episode=32, epoch_samples=wanted), length) == begun  # type: ignore[arg-type]


def test_a_method_without_such_an_option_begins_all():
    assert episodes_begun(method(n_skill=6, n_episode=7), 3.0) == 7  # type: ignore[arg-type]


def test_epochs_have_about_the_samples_that_are_asked_for(tmp_path):
    """After the first, which knows no lengths; a wall ends an episode that noise alone steers after about 40 steps."""
    options = {"n_skill": 2, "n_episode": 32, "epoch_samples": 600, "batch_size": 8, "actor_hidden": (8,)}
    options |= {"critic_hidden": (8,), "model_hidden": (8,), "replay_size": 12_800, "samples_per_step": 600}
    run = Run.open(leads.train("maze-u", "diayn", samples=4000, out=tmp_path / "run", **options))
    samples = [line["samples"] for line in run.metrics()]
    epochs = [after - before for before, after in pairwise(samples)]
    assert len(epochs) > 3 and all(300 < epoch < 1200 for epoch in epochs), epochs
    lengths = [line["episode_length"] for line in run.metrics()]
    assert all(5 < length < 200 for length in lengths), lengths
