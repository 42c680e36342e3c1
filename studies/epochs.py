"""A run of any version of this library that goes on by one epoch whenever it is asked to, and tells its CPU time.

So two versions can take turns on one core. This file is also the program of the other process.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

NO_END = 10**9
"""Samples; the run is ended from outside, so no epoch has the evaluation of a last one in it."""


class Epochs:
    """The epochs of a run, in a process of its own; each is a dict of samples, coverage and CPU seconds."""

    def __init__(self, python: Path, **arguments: Any):
        """`arguments` are those of `leads.train`."""
        self.scratch = tempfile.TemporaryDirectory()
        given = {"out": str(Path(self.scratch.name) / "run"), "samples": NO_END, "checkpoint_every": NO_END} | arguments
        command = [python, __file__, json.dumps(given)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def next(self) -> dict[str, float]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the run has ended with exit code {self.process.wait()}")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
        self.scratch.cleanup()


def work(arguments: dict[str, Any]) -> None:
    """Trains with the version that this interpreter has, and waits for a line before every epoch."""
    import jax

    from leads.training import train  # here, as the other side of the pipe needs no JAX

    learning, asked, samples = [0.0], time.process_time(), 0
    phases = train.phases

    class Timed:
        """A compiled function that notes its CPU time; all else is asked of the function."""

        def __init__(self, compiled):
            self.compiled = compiled

        def __call__(self, *given):
            begin = time.process_time()
            result = jax.block_until_ready(self.compiled(*given))
            learning[0] = time.process_time() - begin
            return result

        def __getattr__(self, name):
            return getattr(self.compiled, name)

    def phases_with_timed_update(*given):
        return tuple(Timed(phase) if phase.__name__ == "update" else phase for phase in phases(*given))

    def tell(epoch: dict[str, Any]) -> None:
        nonlocal asked, samples
        if "samples" in epoch:
            line = {
                "samples": epoch["samples"] - samples,
                "all_samples": epoch["samples"],
                "coverage": epoch["coverage"],
                "seconds": time.process_time() - asked,
                "learning_seconds": learning[0],
                "seconds_since_start": time.process_time(),
            }
            print(json.dumps(line), flush=True)
            samples = epoch["samples"]
        sys.stdin.readline()
        asked = time.process_time()

    train.phases = phases_with_timed_update
    train.train(report=tell, **arguments)


if __name__ == "__main__":
    work(json.loads(sys.argv[1]))
