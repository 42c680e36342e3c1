"""How programs are compiled: for one core, and kept between processes, so that only the first run waits for it."""

import os
from pathlib import Path

ONE_THREAD = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "PJRT_NPROC": "1"}
"""Environment variables with which XLA computes on one thread."""


def use_one_core() -> None:
    """A run uses one core, so that many runs fill a machine and compute the same on any number of cores.

    XLA reads this when JAX is first used: how many threads it has decides how it divides sums, and so the last bits.
    """
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)


def keep_compiled_programs() -> None:
    """Turns JAX's persistent compilation cache on, under the user's cache directory, unless it is on already."""
    import jax  # here, as `leads --help` does without it

    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        jax.config.update("jax_compilation_cache_dir", str(Path(home) / "leads"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
