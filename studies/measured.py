"""What the small studies share: one thread for XLA, timing side by side, and the files in results/."""

import json
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
from collect import RESULTS

from leads.compilation import use_one_core
from leads.training.run import versions

use_one_core()  # it is read when JAX first computes
ROUNDS = 7

Program = Callable[[], object]
Clock = Callable[[], float]


def rounds(
    programs: Mapping[str, Program], clock: Clock = time.process_time, count: int = ROUNDS
) -> dict[str, list[float]]:
    """Seconds of each program in each round, all timed in turn; CPU seconds, or those of another clock."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    for program in programs.values():
        jax.block_until_ready(program())
    for _ in range(count):
        for name, program in programs.items():
            begin = clock()
            jax.block_until_ready(program())
            times[name].append(clock() - begin)
    return times


def seconds(programs: Mapping[str, Program], clock: Clock = time.process_time) -> dict[str, float]:
    """Median seconds of each program."""
    return {name: statistics.median(values) for name, values in rounds(programs, clock).items()}


def spread(values: list[float], against: list[float]) -> dict[str, float]:
    """Ratio of two programs' times: the median of the rounds, the least and the most."""
    ratios = [value / other for value, other in zip(values, against, strict=True)]
    return {"median": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}


def signed(command: str, found: dict[str, Any]) -> dict[str, Any]:
    """What was found, with the command and the versions that found it."""
    return {"command": command, **found, "versions": versions()}


def commit() -> str:
    """Of the code; results do not count as changes to it, as every part of a study adds some."""
    git = lambda *command: subprocess.run(
        ["git", *command], cwd=RESULTS.parents[1], check=True, capture_output=True, text=True
    ).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!studies/results")
    return git("rev-parse", "--short=7", "HEAD") + ("-dirty" if changed else "")


def processor() -> str:
    """Its name, as the machine gives it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))


def write_part(part: str, numbers: dict[str, Any]) -> None:
    """Shows one part of `make bench` and puts it into speed.json; the other parts stay as they were measured."""
    path = RESULTS / "speed.json"
    found = signed(f"python studies/speed.py {part}", rounded(numbers))
    print(json.dumps(found, indent=2))
    parts = json.loads(path.read_text()) if path.exists() else {}
    write("speed", parts | {part: {"commit": commit(), "processor": processor()} | found})


def rounded(value: Any) -> Any:
    """With four digits: nothing measured here is known any better."""
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [rounded(inner) for inner in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def write_numbers(name: str, numbers: dict[str, float], digits: int) -> None:
    """Shows and writes what `make bench` has measured."""
    for what, value in numbers.items():
        print(f"  {what:40} {value:,.{digits}f}")
    write(name, signed("make bench", {what: round(value, digits) for what, value in numbers.items()}))


def write(name: str, result: dict[str, Any]) -> None:
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(f"written {path}")
