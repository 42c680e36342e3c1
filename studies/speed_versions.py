"""CPU seconds of version 0.3.0 and of this one, epoch by epoch in turn (part of `make bench`).

Ratios are of epochs: LEADS takes as many gradient steps in an epoch whatever its samples, and in a maze, where versions
go different ways, a ratio of seconds per sample would be one of lengths of episodes as well.
"""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from epochs import Epochs
from installed import OLD, install
from measured import spread, write_part

RUNS = {
    "metra half-cheetah-paper": (
        {"task": "half-cheetah", "method": "metra", "n_episode": 1},
        {"task": "half-cheetah-paper"},
        3,
    ),
    "leads maze-hard": ({"task": "maze-hard", "method": "leads"}, {}, 6),
    "leads fetch-slide": ({"task": "fetch-slide", "method": "leads"}, {}, 6),
}
"""Name -> (arguments of `leads.train`, those that this version has otherwise or besides, epochs).

None reaches the first evaluation on the host.
"""
OLD_STEPS = {"measure_steps": 256, "measure_batch_size": 256}
"""What 0.3.0 ships, in mazes too: with it, both versions do the same gradient steps, and only the code differs."""
RUNS["leads maze-hard, same steps"] = (RUNS["leads maze-hard"][0], OLD_STEPS, 6)
COMPILING = 2
"""Epochs at the start of a run that are left out: they compile."""


def side_by_side(arguments: dict, of_new: dict, epochs: int, old: Path) -> dict[str, Any]:
    """What both versions cost, and new over old: the whole of it, and learning alone."""
    with ExitStack() as opened:
        sides = {
            "old": opened.enter_context(Epochs(old, **arguments)),
            "new": opened.enter_context(Epochs(Path(sys.executable), **arguments | of_new)),
        }
        lines = [{name: side.next() for name, side in sides.items()} for _ in range(COMPILING + epochs)][COMPILING:]
    found = {"samples": {name: sum(line[name]["samples"] for line in lines) for name in sides}}
    for what in ("seconds", "learning_seconds"):
        taken = {name: [line[name][what] for line in lines] for name in sides}
        found |= {f"{name}_{what}_per_sample": sum(taken[name]) / found["samples"][name] for name in sides}
        found[f"{what}_new_over_old"] = spread(taken["new"], taken["old"])
    found["per_sample_new_over_old"] = found["new_seconds_per_sample"] / found["old_seconds_per_sample"]
    return found


def main() -> None:
    old = install(OLD)
    write_part("versions", {name: side_by_side(*run, old) for name, run in RUNS.items()})


if __name__ == "__main__":
    main()
