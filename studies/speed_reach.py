"""CPU seconds and samples that LEADS needs for 90 % of maze-hard, seed 0 (part of `make bench`)."""

import sys
from pathlib import Path

from epochs import Epochs
from measured import write_part

ENOUGH = 90.0
MOST_SAMPLES = 400_000
"""A run that has not got there by then counts as one that does not."""
RUNS = {"as shipped": {}, "walls that stop": {"on_wall": "stop", "n_episode": 4}}
"""Name -> arguments of `leads.train`."""


def reach(**arguments) -> dict[str, float | None]:
    """Seconds count from the process's start, imports included; another process has compiled the programs before."""
    with Epochs(Path(sys.executable), task="maze-hard", **arguments) as first:
        first.next()
    with Epochs(Path(sys.executable), task="maze-hard", **arguments) as run:
        while (epoch := run.next())["all_samples"] < MOST_SAMPLES:
            if epoch["coverage"] >= ENOUGH:
                return {"samples": epoch["all_samples"], "cpu_seconds": epoch["seconds_since_start"]}
    return {"samples": None, "cpu_seconds": None}


if __name__ == "__main__":
    write_part("reach", {name: reach(**arguments) for name, arguments in RUNS.items()})
