"""Runs a study and adds a row for every run to results/runs.csv and its thinned curve to results/curves.csv.

    python benchmarks/study.py mazes       LEADS and the controls on the three mazes, seeds 0 to 4
    python benchmarks/study.py methods     the seven other methods on the three mazes, seeds 0 to 4
    python benchmarks/study.py noises      the same and LEADS with the noise that is not their default
    python benchmarks/study.py ablation    variants of LEADS on maze-hard
    python benchmarks/study.py robots      LEADS and the controls on Fetch and the finger, seeds 0 to 4
    python benchmarks/study.py slide       variants of LEADS on fetch-slide

Runs that have their row already are not done again, so a study that was stopped goes on where it was.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from leads.training.run import Run

RESULTS = Path(__file__).parent / "results"
RUN = ["method", "variant", "task", "on_wall", "seed"]
"""What tells runs apart."""
NUMBERS = ["samples", "coverage", "coverage_fine", "skill_coverage", "distinctness"]
COLUMNS = [*RUN, *NUMBERS, "reach", "cpu_seconds", "wall_seconds", "peak_rss_mb", "commit"]
CURVE_COLUMNS = [*RUN, *NUMBERS]
POINTS = 50
"""Points kept of a run's curve."""
MAZES = ("maze-easy", "maze-u", "maze-hard")
ROBOTS = ("fetch-slide", "finger", "fetch-reach")
LOUD = ("finger", "fetch-reach")
"""Robots on which LEADS collects with louder noise."""
BASELINES = ("metra", "csd", "lsd", "diayn", "smm", "rnd", "ngu")
SEEDS = (0, 1, 2, 3, 4)
CONTROLS = (("random", "", ""), ("random", "white", "--noise white"), ("random", "loud", "--scale 1"))
"""(method, variant, options) of those that learn nothing."""

PAPER = (
    "--measure classifier --measure-hidden 256,128 --measure-batch 1024 --futures geometric --after-end absorb "
    "--marginal epoch --td-cap 1e9 --uncertainty literal --candidates epoch --n-archive 1 --history-decay 1 --offset 1 "
    "--policy-steps 16 --policy-batch 1024 --td-steps 1 --policy-average 0 "
    "--entropy .05 --target-entropy 0 --noise white --n-episode 16"
)
"""Every published value."""
VARIANTS = {
    "paper": PAPER,
    "bounded": "--uncertainty bounded --n-archive 1",
    "entropy-recipe": "--entropy .02 --target-entropy .2",
    "absorb": "--after-end absorb",
    "marginal-epoch": "--marginal epoch",
    "offset-1": "--offset 1",
    "white": "--noise white",
    "geometric": "--futures geometric",
    "lower-bound-diversity": "--objective lower_bound_diversity",
    "lower-bound": "--objective lower_bound",
    "literal": "--uncertainty literal --n-archive 1",
    "last-policy": "--policy-average 0",
    "classifier": "--measure classifier --measure-hidden 256,128",
}
"""What the ablation changes, one idea at a time but for `paper`."""
SLIDE_VARIANTS = {
    "one-target": "--n-together 1",
    "no-memory": "--memory 1",
    "neither": "--n-together 1 --memory 1",
    "long-epochs": "--n-episode 8",
    "many-targets": "--n-together 32",
    "whole-state": "--measure-of state",
}
"""What the ablation on fetch-slide changes of that task's settings."""


@dataclass(frozen=True)
class Job:
    method: str
    variant: str
    task: str
    on_wall: str
    seed: int
    samples: int | None
    """None: the task's budget."""
    options: str = ""

    def key(self) -> tuple[str, ...]:
        return tuple(str(x) for x in (self.method, self.variant, self.task, self.on_wall, self.seed))


def mazes(samples: int | None) -> list[Job]:
    return [
        Job(method, variant, task, "terminate", seed, samples, options)
        for method, variant, options in (("leads", "", ""), *CONTROLS)
        for seed in SEEDS
        for task in reversed(MAZES)
    ]


def methods(samples: int | None) -> list[Job]:
    return [
        Job(method, "", task, "terminate", seed, samples)
        for seed in SEEDS
        for task in reversed(MAZES)
        for method in BASELINES
    ]


def noises(samples: int | None) -> list[Job]:
    """The seven collect with white noise by default and with pink here, LEADS the other way round."""
    return [
        Job(method, noise, task, "terminate", seed, samples, f"--noise {noise}")
        for seed in SEEDS
        for task in reversed(MAZES)
        for method, noise in (("leads", "white"), *((method, "pink") for method in BASELINES))
    ]


def robots(samples: int | None) -> list[Job]:
    """Loud noise is a control where LEADS is loud too."""
    return [
        Job(method, variant, task, "", seed, samples, options)
        for seed in SEEDS
        for task in ROBOTS
        for method, variant, options in (("leads", "", ""), *(CONTROLS if task in LOUD else CONTROLS[:2]))
    ]


def ablation(samples: int | None) -> list[Job]:
    return _variants(VARIANTS, "maze-hard", "terminate", samples)


def slide(samples: int | None) -> list[Job]:
    return _variants(SLIDE_VARIANTS, "fetch-slide", "", samples)


def _variants(variants: dict[str, str], task: str, on_wall: str, samples: int | None) -> list[Job]:
    return [
        Job("leads", variant, task, on_wall, seed, samples, options)
        for seed in SEEDS[:2]
        for variant, options in variants.items()
    ]


NOISES_SAMPLES = 300_000
ABLATION_SAMPLES = {"maze-hard": 150_000, "fetch-slide": 48_000}
STUDIES = {
    "mazes": (mazes, None),
    "methods": (methods, None),
    "noises": (noises, NOISES_SAMPLES),
    "ablation": (ablation, ABLATION_SAMPLES["maze-hard"]),
    "robots": (robots, None),
    "slide": (slide, ABLATION_SAMPLES["fetch-slide"]),
}


def run(job: Job, keep: Path | None, commit: str) -> tuple[list[dict], dict]:
    """(curve, row) of one run, in a process of its own; one that was kept goes on where it was."""
    with tempfile.TemporaryDirectory() as scratch:
        out = (keep or Path(scratch)) / "--".join(job.key())
        command = [sys.executable, "-m", "leads", "train", "--no-figures"]
        command += ["--samples", str(job.samples)] if job.samples else []
        if (out / "config.json").exists():
            command += ["--resume", str(out)]
        else:
            command += ["--method", job.method, "--task", job.task, "--seed", str(job.seed), "--out", str(out)]
            command += [*job.options.split(), *(["--on-wall", job.on_wall] if job.on_wall else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
        directory = Run.open(out)
        row = directory.summary() | {"variant": job.variant, "commit": commit}
        metrics = directory.metrics()
    every = max(len(metrics) // POINTS, 1)
    return [row | line for line in (*metrics[:-1:every], metrics[-1])], row


def rows(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, columns: list[str], new: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = not path.exists()
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        if fresh:
            writer.writeheader()
        for row in new:
            values = {name: row[name] for name in columns}
            writer.writerow({k: round(v, 4) if isinstance(v, float) else v for k, v in values.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("--samples", type=int, help="samples of every run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at the same time")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the run directories in DIR")
    arguments = parser.parse_args()
    make, samples = STUDIES[arguments.study]
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=RESULTS.parent
    ).stdout.strip()
    table = RESULTS / "runs.csv"
    done = {tuple(row[c] for c in RUN) for row in rows(table)} if table.exists() else set()
    jobs = [job for job in make(arguments.samples or samples) if job.key() not in done]
    print(f"{len(jobs)} runs to do, {len(done)} in the table", flush=True)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for future in as_completed([pool.submit(run, job, arguments.keep, commit) for job in jobs]):
            try:
                curve, row = future.result()
            except RuntimeError as error:
                print(f"failed, start the study again to retry: {error}", flush=True)
                continue
            append(RESULTS / "curves.csv", CURVE_COLUMNS, curve)  # first, for a run with a row is not done again
            append(table, COLUMNS, [row])
            print({name: row[name] for name in COLUMNS}, flush=True)


if __name__ == "__main__":
    main()
