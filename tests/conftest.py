"""Runs that many tests look at, made once: training takes longer than looking."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
import pytest
from hypothesis import settings

import leads

# Programs are compiled once for all tests, also for those that run the command line (which has its cache below this).
CACHE = tempfile.TemporaryDirectory(prefix="leads-tests-")
os.environ["XDG_CACHE_HOME"] = CACHE.name
jax.config.update("jax_compilation_cache_dir", CACHE.name)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)

settings.register_profile("compiled", deadline=None)  # the first example waits for the compiler
settings.load_profile("compiled")

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


@contextmanager
def _quick_compilation() -> Iterator[None]:
    """Halves the time of so short a run, most of which is compiling; its last bits are not those of a usual run."""
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", False)
        jax.clear_caches()  # or a usual run in this process would use small programs that were compiled so


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of LEADS, of a few epochs; copy it before changing it."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    with _quick_compilation():
        return leads.train(task="maze-u", samples=2000, out=out, **TINY)


@pytest.fixture(scope="session")
def tiny_agent(tiny_run: Path) -> leads.Agent:
    """The agent of `tiny_run`; copy it before changing it."""
    return leads.load(tiny_run)


@pytest.fixture(scope="session")
def random_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the no-learning control, which has neither measure nor targets."""
    out = tmp_path_factory.mktemp("runs") / "random"
    with _quick_compilation():
        return leads.train(task="maze-easy", method="random", samples=2000, out=out, n_episode=2)


@pytest.fixture(scope="session")
def finger_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of LEADS on a robot, of a few epochs; copy it before changing it."""
    out = tmp_path_factory.mktemp("runs") / "finger"
    with _quick_compilation():
        return leads.train(task="finger", samples=600, out=out, **TINY | {"n_skill": 3})
