"""What the small studies share: one thread for XLA, timing side by side, and the files in results/."""

import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
from collect import RESULTS

from leads.training.run import versions

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"  # it is read when JAX first computes
ROUNDS = 7

Program = Callable[[], object]


def seconds(programs: dict[str, Program], clock: Callable = time.process_time) -> dict[str, float]:
    """Median seconds of each program, all timed in turn in each round; CPU seconds, or those of another clock."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    for program in programs.values():
        jax.block_until_ready(program())
    for _ in range(ROUNDS):
        for name, program in programs.items():
            begin = clock()
            jax.block_until_ready(program())
            times[name].append(clock() - begin)
    return {name: statistics.median(values) for name, values in times.items()}


def signed(command: str, found: dict[str, Any]) -> dict[str, Any]:
    """What was found, with the command and the versions that found it."""
    return {"command": command, **found, "versions": versions()}


def write_numbers(name: str, numbers: dict[str, float], digits: int) -> None:
    """Shows and writes what `make bench` has measured."""
    for what, value in numbers.items():
        print(f"  {what:40} {value:,.{digits}f}")
    write(name, signed("make bench", {what: round(value, digits) for what, value in numbers.items()}))


def write(name: str, result: dict[str, Any]) -> None:
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written {path}")
