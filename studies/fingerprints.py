"""Whether this version computes what an older one did, number by number (`python studies/fingerprints.py`).

Both do the same brief runs and a small benchmark with its report, each on one core of this machine. The older version
is installed below .fingerprints/ and its runs are kept there, so that only its first comparison waits for them.
Numbers that a version adds do not count as differences; numbers that it loses do.
"""

import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from installed import CACHE, OLD, ROOT, git, install

RESULT = ROOT / "studies" / "results" / "fingerprints.json"
TOLERANCE = 1e-5
"""Relative difference in the first epoch's metrics that rounding explains; every gradient step amplifies it."""

RENAMED = {
    "measure": "measure_form",
    "measure_rate": "measure_learning_rate",
    "policy_rate": "policy_learning_rate",
    "model_rate": "model_learning_rate",
    "temperature_rate": "temperature_learning_rate",
    "target_rate": "tau",
    "n_archive": "n_targets",
    "measure_batch": "measure_batch_size",
    "policy_batch": "policy_batch_size",
    "loudness": "noise_scale",
    "rate": "learning_rate",
    "batch": "batch_size",
    "replay": "replay_size",
}
"""Old name -> new name, of options and of metrics; jobs are written in the old names."""

SMALL = {"n_skill": 3, "n_episode": 2}
SMALL_SAC = SMALL | {"actor_hidden": [32, 32], "critic_hidden": [32, 32], "model_hidden": [32, 32], "replay": 4000}
OTHER_SAC = {"loudness": 1.5, "rate": 1e-3, "temperature_rate": 2e-3, "model_rate": 2e-3, "target_rate": 0.01}
SMALL_LEADS = SMALL | {"actor_hidden": [32, 32], "measure_hidden": [32, 32], "measure_steps": 32, "policy_steps": 8}
OTHER_MEASURE = {"measure_rate": 1e-3, "measure_batch": 64, "memory": 2}
OTHER_LEADS = OTHER_MEASURE | {"loudness": 1.5, "policy_rate": 1e-3, "policy_batch": 32, "n_archive": 64}
PUBLISHED_MEASURE = {"measure": "classifier", "measure_of": "state", "futures": "geometric", "after_end": "absorb"}
PUBLISHED_TARGETS = {"uncertainty": "literal", "candidates": "epoch", "n_archive": 1, "history_decay": 1}
PUBLISHED_LEADS = PUBLISHED_MEASURE | PUBLISHED_TARGETS | {"marginal": "epoch", "policy_average": 0, "noise": "white"}
BOUNDED_LEADS = {"measure": "factorised", "uncertainty": "bounded", "objective": "lower_bound_diversity"}
ON_SAC = ("rnd", "diayn", "smm", "ngu", "lsd", "csd", "metra")

MAZE, FINGER = {"task": "maze-u", "samples": 3000}, {"task": "finger", "samples": 1000}
JOBS: dict[str, dict[str, Any]] = {
    "maze-u/leads": {**MAZE, "method": "leads", **SMALL_LEADS, **OTHER_LEADS},
    "maze-u/leads-published": {**MAZE, "method": "leads", **SMALL_LEADS, **PUBLISHED_LEADS},
    "maze-u/leads-bounded": {**MAZE, "method": "leads", **SMALL_LEADS, **BOUNDED_LEADS, "on_wall": "stop"},
    **{f"maze-u/{name}": {**MAZE, "method": name, **SMALL_SAC, **OTHER_SAC, "batch": 64} for name in ON_SAC},
    "maze-u/random": {**MAZE, "method": "random", **SMALL, "scale": 0.5},
    "maze-u/leads-default": {"task": "maze-u", "samples": 30_000, "method": "leads"},
    "maze-u/metra-default": {"task": "maze-u", "samples": 20_000, "method": "metra"},
    "finger/leads": {**FINGER, "method": "leads", **SMALL_LEADS},
    **{f"finger/{name}": {**FINGER, "method": name, **SMALL_SAC, "model_of": "state"} for name in ON_SAC},
    "finger/random": {**FINGER, "method": "random", **SMALL},
}
"""Name -> arguments of `leads.train`. What a job does not give is left to the version's defaults, so it is compared."""
SUITE = """
[[runs]]
methods = ["leads", "diayn"]
tasks = ["maze-easy"]
seeds = [0, 1]
samples = 12_000
"""
MEASURED = "cost.csv"
"""The one table of a report whose numbers are never the same twice."""


@dataclass(frozen=True)
class Side:
    """One of the two versions."""

    commit: str
    python: Path
    home: Path
    """Where its runs and its compiled programs are."""
    core: int
    """The only one that it uses: how many there are changes how XLA rounds."""
    is_old: bool
    """Whether its options have the old names."""

    def arguments(self, job: str) -> dict[str, Any]:
        """Of `leads.train`, in this version's names."""
        given = JOBS.get(job, {"suite": SUITE})
        if self.is_old or job not in JOBS:
            return given
        named = {RENAMED.get(name, name): value for name, value in given.items()}
        return named | ({"measure": "c-learning"} if "measure" in given else {})

    def start(self, jobs: list[str]) -> subprocess.Popen:
        """Begins the jobs that are not done yet, in a process of its own."""
        plan = {job: self.arguments(job) for job in jobs if not self.is_done(job)}
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "plan.json").write_text(json.dumps(plan))
        environment = os.environ | {
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
            "JAX_COMPILATION_CACHE_DIR": str(self.home / "compiled"),
        }
        command = [self.python, __file__, "--work", self.home]
        return subprocess.Popen(command, env=environment, preexec_fn=lambda: os.sched_setaffinity(0, {self.core}))

    def is_done(self, job: str) -> bool:
        done = self.home / "jobs" / job / "done"
        return done.exists() and json.loads(done.read_text()) == self.arguments(job)

    def runs(self, job: str) -> dict[str, Path]:
        """The run directories of a job by name."""
        runs = self.home / "jobs" / job / "runs"
        return {str(path.parent.relative_to(runs)): path.parent for path in sorted(runs.rglob("metrics.jsonl"))}


# Running the jobs, in the interpreter of a side


def work(home: Path) -> None:
    """Does the jobs of plan.json with the version that this interpreter has; one that fails leaves an error.txt."""
    for job, arguments in json.loads((home / "plan.json").read_text()).items():
        directory = home / "jobs" / job
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        try:
            if job == "suite":
                _benchmark_and_report(directory)
            else:
                import leads  # here, so that a version that cannot be imported is a job that fails

                leads.train(out=directory / "runs" / job, **arguments)
            (directory / "done").write_text(json.dumps(arguments))
        except (Exception, SystemExit):
            (directory / "error.txt").write_text(traceback.format_exc())
        print(f"{home.name}: {job}", flush=True)


def _benchmark_and_report(directory: Path) -> None:
    suite, runs, report = directory / "suite.toml", directory / "runs", directory / "report"
    suite.write_text(SUITE)
    for command in (["benchmark", suite, "--out", runs, "--processes", "1"], ["report", runs, "--out", report]):
        subprocess.run([sys.executable, "-m", "leads", *command], cwd=directory, check=True, capture_output=True)


# Comparing


def compare(job: str, old: Side, new: Side) -> Iterator[dict[str, Any]]:
    """One row per run of a job; one that failed has no numbers."""
    failed = [side.home.name for side in (old, new) if not side.is_done(job)]
    if failed:
        yield {"run": job, "failed": f"see jobs/{job}/error.txt of {', '.join(failed)}"}
        return
    for run, theirs in old.runs(job).items():
        ours = new.runs(job)[run]
        largest = [_largest(*lines) for lines in zip_longest(_metrics(theirs), _metrics(ours), fillvalue={})]
        identical, arrays = _identical_arrays(theirs, ours)
        row = {"run": run, "epochs": len(largest), "first_epoch": largest[0], "all_epochs": max(largest)}
        yield row | {"arrays": arrays, "identical_arrays": identical}


def _largest(old: dict[str, Any], new: dict[str, Any]) -> float:
    """The largest relative difference of an epoch's metrics; one that only the new version has does not count."""
    differences = [0.0]
    for name, theirs in old.items():
        ours = new.get(RENAMED.get(name, name))
        if ours != theirs:
            missing = ours is None or theirs is None
            differences.append(1.0 if missing else abs(ours - theirs) / max(abs(ours), abs(theirs)))
    return max(differences)


def _identical_arrays(old: Path, new: Path) -> tuple[int, int]:
    """(how many arrays of the last checkpoint are there to the bit, of how many); their names may be others."""
    contents = []
    for run in (old, new):
        with np.load(sorted((run / "checkpoints").glob("*.npz"))[-1]) as file:
            contents.append(
                Counter((file[name].shape, file[name].dtype.str, file[name].tobytes()) for name in file.files)
            )
    return (contents[0] & contents[1]).total(), contents[0].total()


def _metrics(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def compare_reports(old: Path, new: Path) -> Iterator[dict[str, Any]]:
    """Numbers of each table that only one side has, in whatever column: titles may be new."""
    for name in sorted({path.name for path in old.glob("tables/*.csv")} - {MEASURED}):
        theirs, ours = (_numbers(report / "tables" / name) for report in (old, new))
        yield {"table": name, "numbers": theirs.total(), "lost": sorted((theirs - ours).elements())}


def _numbers(table: Path) -> Counter[float]:
    cells = [cell for row in csv.reader(io.StringIO(table.read_text())) for cell in row]
    return Counter(float(cell) for cell in cells if cell.replace(".", "", 1).removeprefix("-").isdigit())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", default=OLD, metavar="REF", help=f"the older version (default {OLD}, 0.3.0)")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return

    commit, cores = git("rev-parse", "--short=7", options.old), sorted(os.sched_getaffinity(0))
    old = Side(commit, install(commit), CACHE / commit, cores[0], is_old=True)
    new = Side(git("describe", "--always", "--dirty"), Path(sys.executable), CACHE / "new", cores[-1], is_old=False)
    shutil.rmtree(new.home / "jobs", ignore_errors=True)
    jobs = [*JOBS, "suite"]
    for process in [side.start(jobs) for side in (old, new)]:
        process.wait()
    rows = [row for job in jobs for row in compare(job, old, new)]
    tables = list(compare_reports(*(side.home / "jobs" / "suite" / "report" for side in (old, new))))
    for row in (*rows, *tables):
        print(json.dumps(row))
    same = all("failed" not in row and row["first_epoch"] <= TOLERANCE for row in rows)
    print(f"{'all' if same else 'NOT all'} runs agree in the first epoch within {TOLERANCE:g}")
    RESULT.write_text(
        json.dumps({"same": same, "old": old.commit, "new": new.commit, "runs": rows, "report": tables}, indent=1)
    )
    sys.exit(not same)


if __name__ == "__main__":
    main()
