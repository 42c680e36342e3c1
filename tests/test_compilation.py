"""How programs are compiled, in a process of its own, as XLA reads it once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

THREADS = """
import os
from leads.compilation import use_one_core
use_one_core()
import jax
jax.jit(lambda x: x @ x)(jax.numpy.ones((64, 64))).block_until_ready()
tasks = os.listdir("/proc/self/task")
print(sum("XLAEigen" in open(f"/proc/self/task/{task}/comm").read() for task in tasks))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells of threads")
def test_a_run_computes_on_one_thread_however_many_cores_there_are():
    """Runs with more threads would divide sums in another way, and end with other bits."""
    without = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "PJRT_NPROC")}
    done = subprocess.run([sys.executable, "-c", THREADS], env=without, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
