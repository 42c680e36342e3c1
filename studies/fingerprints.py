"""Whether this version computes what an older one did, number by number (`python studies/fingerprints.py`).

Both do the same brief runs and a small benchmark with its report, each on one core of this machine. The older version
is installed below .fingerprints/ and its runs are kept there, so that only its first comparison waits for them.
Numbers that a version adds do not count as differences; numbers that it loses do.
"""

import argparse
import csv
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import metadata
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".fingerprints"
RESULT = ROOT / "studies" / "results" / "fingerprints.json"
TOLERANCE = 1e-5
"""Relative difference in the first epoch's metrics that rounding explains; every gradient step amplifies it."""
PACKAGES = ("leads", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium", "mujoco")

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
    seed: int = 0

    def directory(self, job: str) -> Path:
        """Of a job's runs; a job that is defined anew has another one."""
        definition = json.dumps([JOBS.get(job, SUITE), self.seed], sort_keys=True)
        digest = hashlib.sha256(definition.encode()).hexdigest()[:12]
        return self.home / "jobs" / f"{job.replace('/', '-')}-{digest}"

    def arguments(self, job: str) -> dict[str, Any]:
        """Of `leads.train`, in this version's names; the suite has its own."""
        given = JOBS.get(job, {}) | {"seed": self.seed}
        if self.is_old:
            return given
        named = {RENAMED.get(name, name): value for name, value in given.items()}
        return named | ({"measure": "c-learning"} if "measure" in given else {})

    def start(self, jobs: list[str]) -> subprocess.Popen:
        """Begins the jobs that are not done yet, in a process of its own."""
        todo = [job for job in jobs if not (self.directory(job) / "done").exists()]
        plan = [{"name": job, "directory": str(self.directory(job)), "arguments": self.arguments(job)} for job in todo]
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "plan.json").write_text(json.dumps(plan))
        environment = os.environ | {
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
            "JAX_COMPILATION_CACHE_DIR": str(self.home / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.5",
        }
        command = [self.python, __file__, "--work", self.home]
        return subprocess.Popen(command, env=environment, preexec_fn=lambda: os.sched_setaffinity(0, {self.core}))

    def error(self, job: str) -> str | None:
        """Why a job failed, in one line."""
        if (self.directory(job) / "done").exists():
            return None
        error = self.directory(job) / "error.txt"
        reason = _last_line(error.read_text()) if error.exists() else "its process ended"
        return f"{self.home.name}: {reason}"

    def runs(self, job: str) -> dict[str, Path]:
        """The run directories of a job by name."""
        runs = self.directory(job) / "runs"
        return {str(path.parent.relative_to(runs)): path.parent for path in sorted(runs.rglob("metrics.jsonl"))}

    def versions(self) -> dict[str, Any]:
        path = self.home / "versions.json"
        return {"commit": self.commit} | (json.loads(path.read_text()) if path.exists() else {})


# Running the jobs, in the interpreter of a side


def work(home: Path) -> None:
    """Does the jobs of plan.json with the version that this interpreter has; one that fails leaves an error.txt."""
    versions = {"python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}
    (home / "versions.json").write_text(json.dumps(versions))
    for job in json.loads((home / "plan.json").read_text()):
        directory, begin = Path(job["directory"]), time.monotonic()
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        try:
            if job["name"] == "suite":
                _benchmark_and_report(directory)
            else:
                _train(directory / "runs" / job["name"], job["arguments"])
            (directory / "done").touch()
            outcome = f"{time.monotonic() - begin:.0f} s"
        except (Exception, SystemExit):
            (directory / "error.txt").write_text(traceback.format_exc())
            outcome = "failed"
        print(f"{home.name:8} {job['name']:24} {outcome}", flush=True)


def _train(out: Path, arguments: dict[str, Any]) -> None:
    import leads  # here, so that a version that cannot be imported is a job that fails

    leads.train(out=out, **arguments)


def _benchmark_and_report(directory: Path) -> None:
    suite, runs, report = directory / "suite.toml", directory / "runs", directory / "report"
    suite.write_text(SUITE)
    for command in (["benchmark", suite, "--out", runs, "--processes", "1"], ["report", runs, "--out", report]):
        done = subprocess.run([sys.executable, "-m", "leads", *command], cwd=directory, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(_last_line(done.stderr))


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason was given"])[-1]


# Comparing


@dataclass(frozen=True)
class Difference:
    """Of two numbers, or the largest in two arrays, relative to the largest of their numbers that differ."""

    relative: float
    absolute: float
    name: str
    other_name: str | None = None
    """In the new version."""

    def __str__(self) -> str:
        return f"{self.relative:.1e} ({self.name})" if self.relative else "identical"


NONE = Difference(0.0, 0.0, "")


@dataclass(frozen=True)
class Comparison:
    """Of one run, if both sides have it."""

    run: str
    error: str | None = None
    epochs: int = 0
    first_epoch: Difference = NONE
    """The largest in the first epoch's metrics."""
    all_epochs: Difference = NONE
    added_metrics: tuple[str, ...] = ()
    """That only the new version has."""
    n_arrays: int = 0
    n_identical: int = 0
    arrays: tuple[Difference, ...] = ()
    """Of arrays without an identical one in the new version, each to its nearest; the largest first."""
    lost_arrays: tuple[str, ...] = ()
    """Of arrays for which the new version has none of the same shape and type left."""

    @property
    def is_same(self) -> bool:
        return self.error is None and self.first_epoch.relative <= TOLERANCE

    def line(self) -> str:
        if self.error is not None:
            return f"{self.run:24} failed: {self.error}"
        arrays = f"{self.n_identical} of {self.n_arrays}"
        largest = "identical"
        if self.arrays:
            worst = self.arrays[0]
            largest = f"{worst.absolute:.1e}, relative {worst.relative:.1e}: {worst.name} ~ {worst.other_name}"
        lost = f"; without a counterpart: {', '.join(self.lost_arrays)}" if self.lost_arrays else ""
        first, all_epochs = str(self.first_epoch), str(self.all_epochs)
        return f"{self.run:24} {self.epochs:6}  {first:26} {all_epochs:26} {arrays:11} {largest}{lost}"


HEAD = f"{'run':24} epochs  {'first epoch':26} {'all epochs':26} {'arrays':11} largest difference of arrays"


def compare(job: str, old: Side, new: Side) -> Iterator[Comparison]:
    """All runs of a job; one that fails has none."""
    error = old.error(job) or new.error(job)
    if error is not None:
        yield Comparison(job, error)
        return
    olds, news = old.runs(job), new.runs(job)
    for run, directory in olds.items():
        if run not in news:
            yield Comparison(run, "the new version has no such run")
            continue
        try:
            yield compare_runs(run, directory, news[run])
        except (OSError, ValueError, IndexError) as error:
            yield Comparison(run, f"it cannot be read: {error!r}")


def compare_runs(run: str, old: Path, new: Path) -> Comparison:
    metrics, added = compare_metrics(_metrics(old), _metrics(new))
    arrays, new_arrays = _arrays(old), _arrays(new)
    n_identical, differences, lost = compare_arrays(arrays, new_arrays)
    return Comparison(
        run=run,
        epochs=len(metrics),
        first_epoch=metrics[0],
        all_epochs=max(metrics, key=lambda difference: difference.relative),
        added_metrics=added,
        n_arrays=len(arrays),
        n_identical=n_identical,
        arrays=differences,
        lost_arrays=lost,
    )


def compare_metrics(old: list[dict], new: list[dict]) -> tuple[list[Difference], tuple[str, ...]]:
    """The largest difference of each epoch, and the metrics that only the new version has."""
    renamed = {name: RENAMED.get(name, name) for line in old for name in line}
    added = {name for line in new for name in line} - set(renamed.values())
    largest = []
    for theirs, ours in zip_longest(old, new, fillvalue={}):
        both = [_number_difference(name, theirs.get(name), ours.get(renamed[name])) for name in renamed]
        largest.append(max(both, key=lambda difference: difference.relative))
    return largest, tuple(sorted(added))


def _number_difference(name: str, old: float | None, new: float | None) -> Difference:
    """A number that only one side has differs as it would from 0."""
    if old == new:
        return Difference(0.0, 0.0, name)
    if old is None or new is None:
        return Difference(1.0, abs(old or new or 0.0), name)
    return Difference(abs(old - new) / max(abs(old), abs(new)), abs(old - new), name)


def compare_arrays(old: dict[str, np.ndarray], new: dict[str, np.ndarray]):
    """(number of identical arrays, differences of the others, names without a counterpart).

    Arrays are paired by what they hold, for the versions name them differently: each with an identical one as long as
    there are any, the rest with the nearest of the same shape and type that is left.
    """
    twins: dict[Any, list[str]] = defaultdict(list)
    for name, array in new.items():
        twins[_content(array)].append(name)
    rest = []
    for name, array in old.items():
        identical = twins[_content(array)]
        if identical:
            identical.pop()
        else:
            rest.append(name)
    left = [name for names in twins.values() for name in names]
    nearest = {name: _nearest(name, old[name], {other: new[other] for other in left}) for name in rest}
    differences = sorted(filter(None, nearest.values()), key=lambda difference: -difference.relative)
    lost = tuple(name for name, difference in nearest.items() if difference is None)
    return len(old) - len(rest), tuple(differences), lost


def _nearest(name: str, array: np.ndarray, others: dict[str, np.ndarray]) -> Difference | None:
    """The difference to the nearest array of the same shape and type, if there is one."""
    alike = {other: b for other, b in others.items() if (b.shape, b.dtype) == (array.shape, array.dtype)}
    differences = [_array_difference(name, array, other, b) for other, b in alike.items()]
    return min(differences, key=lambda difference: difference.absolute, default=None)


def _content(array: np.ndarray) -> tuple:
    return array.shape, array.dtype.str, hashlib.sha256(array.tobytes()).digest()


def _array_difference(name: str, old: np.ndarray, other_name: str, new: np.ndarray) -> Difference:
    a, b = old.astype(np.float64), new.astype(np.float64)
    differ = (a != b) & ~(np.isnan(a) & np.isnan(b))
    absolute = float(np.max(np.abs(a[differ] - b[differ]), initial=0.0))
    largest = float(np.max(np.abs([a[differ], b[differ]]), initial=0.0))
    return Difference(absolute / largest if absolute else 0.0, absolute, name, other_name)


def _metrics(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def _arrays(run: Path) -> dict[str, np.ndarray]:
    """Of the last checkpoint."""
    with np.load(sorted((run / "checkpoints").glob("*.npz"))[-1]) as file:
        return {name: file[name] for name in file.files}


@dataclass(frozen=True)
class TableComparison:
    """Of the numbers in a table of a report; in which column they are does not count, for titles may be new."""

    table: str
    n_common: int
    only_old: tuple[float, ...]
    only_new: tuple[float, ...]

    def line(self) -> str:
        only = f"only old {list(self.only_old)}, only new {list(self.only_new)}"
        outcome = only if self.only_old or self.only_new else "identical"
        return f"report {self.table:44} {self.n_common:3} numbers in common, {outcome}"


def compare_reports(old: Path, new: Path) -> Iterator[TableComparison]:
    for name in sorted({path.name for report in (old, new) for path in report.glob("tables/*.csv")} - {MEASURED}):
        theirs, ours = _numbers(old / "tables" / name), _numbers(new / "tables" / name)
        only_old, only_new = (tuple(sorted(only.elements())) for only in (theirs - ours, ours - theirs))
        yield TableComparison(name, (theirs & ours).total(), only_old, only_new)


def _numbers(table: Path) -> Counter[float]:
    numbers = Counter[float]()
    for row in csv.reader(io.StringIO(table.read_text() if table.exists() else "")):
        for cell in row:
            with suppress(ValueError):
                numbers[float(cell)] += 1
    return numbers


# The two sides


def install(commit: str) -> Path:
    """The interpreter of a virtual environment that has the version of a commit; made once."""
    home = CACHE / commit
    source, python = home / "source", home / "venv" / "bin" / "python"
    if not (home / "installed").exists():
        print(f"installing {commit} into {home}", flush=True)
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        shutil.rmtree(source, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(source, filter="data")
        subprocess.run([sys.executable, "-m", "venv", "--clear", home / "venv"], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--constraint", "constraints.txt", "."]
        subprocess.run(pip, cwd=source, check=True)
        (home / "installed").touch()
    return python


def git(*command: str) -> str:
    return subprocess.run(["git", *command], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", default="ede5743", metavar="REF", help="the older version (default ede5743, 0.3.0)")
    parser.add_argument("--old-python", type=Path, metavar="PATH", help="an interpreter that has it installed already")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="only jobs with this in their name; results/ is left alone"
    )
    parser.add_argument(
        "--again", type=int, metavar="SEED", help="the older version in place of this one: identical with 0 alone"
    )
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work)
        return

    commit = git("rev-parse", "--short=7", options.old)
    cores = sorted(os.sched_getaffinity(0))
    old = Side(commit, options.old_python or install(commit), CACHE / commit, cores[0], is_old=True)
    if options.again is None:
        new = Side(git("describe", "--always", "--dirty"), Path(sys.executable), CACHE / "new", cores[-1], is_old=False)
    else:
        new = Side(commit, old.python, CACHE / "again", cores[-1], is_old=True, seed=options.again)
    shutil.rmtree(new.home / "jobs", ignore_errors=True)
    jobs = [job for job in (*JOBS, "suite") if options.only in job]
    for process in [side.start(jobs) for side in (old, new)]:
        process.wait()

    print(f"\n{HEAD}")
    comparisons = []
    for job in jobs:
        for comparison in compare(job, old, new):
            comparisons.append(comparison)
            print(comparison.line(), flush=True)
    tables = []
    if "suite" in jobs:
        tables += compare_reports(*(side.directory("suite") / "report" for side in (old, new)))
    for table in tables:
        print(table.line())
    is_same = all(comparison.is_same for comparison in comparisons)
    verdict = "all runs agree" if is_same else "NOT all runs agree"
    print(f"{verdict} in the first epoch within {TOLERANCE:g}")
    if options.again is None and not options.only:
        sides = {"old": old.versions(), "new": new.versions()}
        found = {"runs": list(map(asdict, comparisons)), "report": list(map(asdict, tables))}
        RESULT.write_text(json.dumps({"same": is_same, **sides, **found}, indent=2) + "\n")
        print(f"written {RESULT}")
    sys.exit(not is_same)


if __name__ == "__main__":
    main()
