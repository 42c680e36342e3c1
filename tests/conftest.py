"""Runs that many tests look at, made once: training takes longer than looking."""

from pathlib import Path

import pytest

import leads

TINY = {
    "n_episode": 2,
    "actor_hidden": (16,),
    "measure_hidden": (16,),
    "measure_steps": 4,
    "measure_batch": 32,
    "policy_steps": 2,
    "policy_batch": 16,
    "td_steps": 1,
    "n_archive": 4,
    "archive_size": 64,
    "archive_admit": 32,
}
"""Fields of LEADS with which an epoch takes no time; what it learns is worth nothing."""


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of LEADS, of a few epochs; copy it before changing it."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    return leads.train(task="maze-u", samples=2000, out=out, **TINY)


@pytest.fixture(scope="session")
def random_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the no-learning control, which has neither measure nor targets."""
    out = tmp_path_factory.mktemp("runs") / "random"
    return leads.train(task="maze-easy", method="random", samples=2000, out=out, n_episode=2)
