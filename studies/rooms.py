"""Whether the skills of runs in the Hard maze live in all of its rooms.

    leads benchmark studies/rooms.toml --out runs/rooms
    python studies/rooms.py runs/rooms/maze-hard/leads/seed-*

A skill lives in a room if at least 30 % of its fresh episodes end there. Writes results/rooms.json.
"""

import argparse
from pathlib import Path

import numpy as np
from measured import signed, write

import leads
from leads.training.train import EVALUATION_EPISODES

ROOMS = {
    "start": lambda x, y: (x < -0.25) & (y < 0),
    "top left": lambda x, y: (x < 0.5) & (y > 0.05),
    "top right": lambda x, y: (x > 0.5) & (y > 0),
    "bottom": lambda x, y: (x > -0.2) & (y < -0.5),
}
ENOUGH = 0.3
"""Share of a skill's episodes that end in a room it lives in."""


def lived_in(ends: np.ndarray) -> dict[str, int]:
    """Skills that live in each room, from where their episodes end, [skill, episode, 2]."""
    x, y = np.moveaxis(ends, -1, 0)
    return {room: int(np.sum(np.mean(inside(x, y), axis=1) >= ENOUGH)) for room, inside in ROOMS.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run_dirs", type=Path, nargs="+", metavar="RUN_DIR")
    rows = []
    for run_dir in parser.parse_args().run_dirs:
        with leads.load(run_dir) as agent:
            rooms = lived_in(np.asarray(agent.episodes(EVALUATION_EPISODES).states[:, :, -1]))
            numbers = agent.run.summary()
        kept = ("seed", "samples", "coverage", "skill_coverage", "distinctness", "cpu_seconds")
        rows.append({name: numbers[name] for name in kept} | {"skills in room": rooms})
        print(rows[-1], flush=True)
    full = sum(min(row["skills in room"].values()) > 0 for row in rows)
    print(f"{full} of {len(rows)} runs have a skill in every room")
    write("rooms", signed("python studies/rooms.py", {"runs": rows, "all rooms": full}))


if __name__ == "__main__":
    main()
