"""How many episodes an epoch has."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
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
    each = episodes_begun(method(n_skill=6, n_episode=32, epoch_samples=wanted), None, length)  # type: ignore[arg-type]
    np.testing.assert_array_equal(each, [begun] * 6)


def test_a_method_without_such_an_option_begins_all():
    np.testing.assert_array_equal(episodes_begun(method(n_skill=6, n_episode=7), None, 3.0), [7] * 6)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "weights, n_episode, begun",
    [([4, 4, 1, 1, 1, 1], 4, [4, 4, 1, 1, 1, 1]), ([3] * 6, 4, [2] * 6), ([4, 1, 1, 1, 1, 1], 4, [4, 1, 1, 1, 1, 1])],
)
def test_a_method_may_collect_more_with_some_skills(weights, n_episode, begun):
    """As many episodes in all as n_episode allows, of each at least one."""
    divides = method(n_skill=6, n_episode=n_episode, epoch_samples=2400)
    divides.collects = lambda state: state
    np.testing.assert_array_equal(episodes_begun(divides, weights, 200.0), begun)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [[1, 1], [0] * 6, [1, 1, 1, 1, 1, float("nan")], [2, 1, 1, 1, 1, -1]])
def test_episodes_that_cannot_be_divided_so_are_refused(weights):
    divides = method(n_skill=6, n_episode=4)
    divides.collects = lambda state: state
    with pytest.raises(leads.UserError, match=r"method: collects gave .*; it must give 6 numbers above 0"):
        episodes_begun(divides, weights, 200.0)  # type: ignore[arg-type]


def test_short_episodes_are_divided_in_the_same_proportion():
    divides = method(n_skill=2, n_episode=8, epoch_samples=2400)
    divides.collects = lambda state: state
    np.testing.assert_array_equal(episodes_begun(divides, [4, 1], 10.0), [8, 2])  # type: ignore[arg-type]


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
