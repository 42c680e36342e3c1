"""What checkpoints and reports cost (part of `make bench`)."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
from measured import seconds, write_part

import leads
from leads.config.fields import build
from leads.methods import METHODS
from leads.tasks import make_task
from leads.training import checkpoint
from leads.training.train import initial_state

RUNS = (50, 200)
"""In a report; a study has more of them by having more seeds."""
STUDY = [(task, method) for task in ("maze-easy", "maze-u") for method in ("leads", "random")]
METHODS_SAVED = ("leads", "metra")
"""One without a replay and one with 300,000 transitions."""
REPORT = """
import sys, time
from leads.cli import main
from leads.training.timing import peak_rss_mb
main(["report", *sys.argv[1:]])
print(time.process_time(), peak_rss_mb())
"""


def checkpoints(directory: Path) -> dict[str, dict[str, float]]:
    """CPU and wall time of saving and of restoring, and the size."""
    task, found = make_task("maze-hard"), {}
    for name in METHODS_SAVED:
        method = METHODS.find(name)
        state = initial_state(task, method(build(method.Config, {}), task), jax.random.key(0))
        place = directory / name
        programs = {
            "save": lambda place=place, state=state: checkpoint.save(place, 1, state),
            "restore": lambda place=place, state=state: checkpoint.restore(place, 1, state),
        }
        cpu, wall = (seconds(programs, clock) for clock in (time.process_time, time.monotonic))
        size = sum(path.stat().st_size for path in place.iterdir())
        found[f"checkpoint {name}"] = {"megabytes": size / 1e6}
        found[f"checkpoint {name}"] |= {f"{what}_cpu_seconds": value for what, value in cpu.items()}
        found[f"checkpoint {name}"] |= {f"{what}_wall_seconds": value for what, value in wall.items()}
    return found


def reports(directory: Path) -> dict[str, dict[str, float]]:
    """CPU time and memory of `leads report` on copies of small runs, as if with other seeds."""
    for task, method in STUDY:
        leads.train(task, method, samples=10_000, out=directory / "originals" / task / method)
    found = {}
    for count in RUNS:
        runs = directory / f"{count}-runs"
        for number in range(count):
            (task, method), seed = STUDY[number % len(STUDY)], number // len(STUDY)
            copy_with_seed(directory / "originals" / task / method, runs / task / method / f"seed-{seed}", seed)
        command = [sys.executable, "-c", REPORT, str(runs), "--out", str(directory / f"{count}-report")]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        cpu, memory = map(float, said.splitlines()[-1].split())
        found[f"report of {count} runs"] = {"cpu_seconds": cpu, "peak_rss_mb": memory}
    return found


def copy_with_seed(run: Path, copy: Path, seed: int) -> None:
    shutil.copytree(run, copy)
    for name in ("config.json", "summary.json"):
        path = copy / name
        path.write_text(json.dumps(json.loads(path.read_text()) | {"seed": seed}))


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        write_part("files", checkpoints(Path(scratch)) | reports(Path(scratch)))


if __name__ == "__main__":
    main()
