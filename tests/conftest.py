"""Runs that many tests look at, made once: training takes longer than looking."""

import ctypes
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import settings

import leads
from leads.config.fields import build, defaults
from leads.methods import METHODS
from leads.methods.intrinsic import Batch, Intrinsic
from leads.nn.learner import Learner
from leads.tasks import make_task
from leads.tasks.task import Task

# Tests compile far more than they compute, so the compiler takes no pains; the last bits are not those of a usual run.
# What it makes is kept, for all tests and for the processes that they start.
CACHE = tempfile.TemporaryDirectory(prefix="leads-tests-")
COMPILING = {
    "jax_disable_most_optimizations": True,
    "jax_compilation_cache_dir": CACHE.name,
    "jax_persistent_cache_min_compile_time_secs": 0.1,
}
for name, value in COMPILING.items():
    jax.config.update(name, value)
    os.environ[name.upper()] = str(value)
os.environ["XLA_FLAGS"] = (
    "--xla_cpu_multi_thread_eigen=false --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
)
os.environ["XDG_CACHE_HOME"] = CACHE.name

settings.register_profile("compiled", deadline=None)  # the first example waits for the compiler
settings.load_profile("compiled")

TINY = {
    "n_episode": 2,
    "actor_hidden": (16,),
    "measure_hidden": (16,),
    "measure_steps": 4,
    "measure_batch_size": 32,
    "policy_steps": 2,
    "policy_batch_size": 16,
    "td_steps": 1,
    "n_targets": 4,
    "archive_size": 64,
    "archive_admit": 32,
}
"""Fields of LEADS with which an epoch takes no time; what it learns is worth nothing."""

SMALL = {
    "n_skill": 3,
    "n_episode": 2,
    "actor_hidden": (8,),
    "critic_hidden": (8,),
    "model_hidden": (16,),
    "batch_size": 32,
    "replay_size": 1200,
    "samples_per_step": 40,
    "density_hidden": (16,),
    "density_code": 4,
    "n_feature": 8,
    "embedding_hidden": (8,),
    "embedding": 4,
}
"""Fields of the methods on SAC, each where a method has it, with which an epoch takes no time."""


ENOUGH_MB = 900
"""Memory above which a process of tests forgets its compiled programs, which are most of what it holds."""


@pytest.fixture(scope="module", autouse=True)
def bounded_memory() -> Iterator[None]:
    yield
    status = Path("/proc/self/status")
    if not status.exists() or int(status.read_text().split("VmRSS:")[1].split()[0]) > 1024 * ENOUGH_MB:
        jax.clear_caches()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # glibc would keep what was freed
            trim(0)


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of LEADS, of a few epochs; copy it before changing it."""
    out = tmp_path_factory.mktemp("runs") / "tiny"
    return leads.train(task="maze-u", samples=2000, out=out, **TINY)


@pytest.fixture(scope="session")
def tiny_agent(tiny_run: Path) -> leads.Agent:
    """The agent of `tiny_run`; copy it before changing it."""
    return leads.load(tiny_run)


@pytest.fixture(scope="session")
def random_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the no-learning control, which has neither measure nor targets."""
    out = tmp_path_factory.mktemp("runs") / "random"
    return leads.train(task="maze-easy", method="random", samples=2000, out=out, n_episode=2)


@pytest.fixture(scope="session")
def finger_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of LEADS on a robot, of a few epochs; copy it before changing it."""
    out = tmp_path_factory.mktemp("runs") / "finger"
    return leads.train(
        task="finger", samples=600, out=out, **TINY | {"n_skill": 3, "noise_scale": 1.0, "improve": "measure"}
    )


@pytest.fixture(scope="session")
def small():
    """Makes a method with small networks: small("metra", multiplier=1.0)."""
    maze = make_task("maze-u")

    def make(name: str, task: Task = maze, **fields) -> Intrinsic:
        method = METHODS.find(name)
        usual = {field: value for field, value in SMALL.items() if field in defaults(method.Config)}
        return method(build(method.Config, usual | fields), task)

    return make


@pytest.fixture(scope="session")
def model_batch():
    """Makes a batch as models see it from x', and from what else there is."""

    def make(next_x, x=None, z=None, a=None, earlier_x=None, is_earlier=None) -> Batch:
        n, size = next_x.shape
        given = {
            "x": jnp.zeros((n, size)) if x is None else x,
            "a": jnp.zeros((n, 2)) if a is None else a,
            "z": jnp.zeros((n, 0)) if z is None else z,
            "next_x": next_x,
            "earlier_x": jnp.zeros((n, 0, size)) if earlier_x is None else earlier_x,
            "is_earlier": jnp.zeros((n, 0)) if is_earlier is None else is_earlier,
        }
        return Batch(**{name: jnp.asarray(value, jnp.float32) for name, value in given.items()})

    return make


@pytest.fixture(scope="session")
def taught():
    """Teaches a method's model some steps on batches of `data`; (model, metrics of every step)."""

    def teach(method: Intrinsic, model: Any, data: Batch, steps: int) -> tuple[Any, dict[str, jax.Array]]:
        learner = Learner.of(model, method.config.model_learning_rate)

        def step(learner, key):
            drawn = jax.random.randint(key, (method.config.batch_size,), 0, len(data.x))
            return method.teach(learner, jax.tree.map(lambda x: x[drawn], data), key)

        keys = jax.random.split(jax.random.key(0), steps)
        learner, metrics = jax.jit(lambda learner, keys: jax.lax.scan(step, learner, keys))(learner, keys)
        return learner.model, metrics

    return teach
