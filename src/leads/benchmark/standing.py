"""How far the jobs of a suite are, read from their run directories, and what they cost."""

import json
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from leads.benchmark.job import Job
from leads.errors import UserError
from leads.methods import METHODS
from leads.training.run import Run
from leads.training.run_config import RunConfig

TAIL = 16_384
"""Bytes at the end of a log in which its last line is looked for."""
LEARNING = 3e-4
"""CPU seconds per sample of a method that does not say its own, roughly."""
STEP = {"device": 0.0, "cheap": 1.2e-4, "dear": 1.5e-3}
"""CPU seconds that a simulator adds per sample, evaluation among them; roughly those of studies/results/runs.csv."""
COMPILING = 15.0
"""CPU seconds of the first run of its kind, roughly."""


@dataclass(frozen=True)
class Standing:
    """How far a job is."""

    job: Job
    state: Literal["waiting", "running", "done", "failed"]
    samples: int = 0
    metrics: dict[str, Any] = field(default_factory=dict)
    """Those of its last epoch."""
    reason: str = ""
    """Why it failed, or failed before."""

    @property
    def part(self) -> float:
        """Of the job that is done."""
        return 1.0 if self.state == "done" else min(self.samples / self.job.config.samples, 1.0)


def standing(job: Job, out: Path, running: bool = False) -> Standing:
    """How far a job is that is running or not."""
    run = Run(job.directory(out))
    last = _last_line(run.directory / "metrics.jsonl")
    done = not running and run.is_finished and run.config.samples == job.config.samples
    state = "running" if running else "done" if done else "waiting"
    return Standing(job, state, last.get("samples", 0), last)


def _last_line(path: Path) -> dict[str, Any]:
    """The newest line of a log that is whole; empty if there is none."""
    if not path.exists():
        return {}
    with open(path, "rb") as file:
        file.seek(max(path.stat().st_size - TAIL, 0))
        for line in reversed(file.read().splitlines()):
            with suppress(ValueError):
                found = json.loads(line)
                if isinstance(found, dict) and "samples" in found:
                    return found
    return {}


def check(jobs: list[Job], out: Path) -> None:
    """Refuses runs that are there with other options than the suite gives them, or with more samples."""
    for job in jobs:
        run = Run(job.directory(out))
        if not (run.directory / "config.json").exists():
            continue
        there, said = _values(run.config), _values(job.config)
        begun, instead = f"out: the run in {run.directory} has", "choose another --out or"
        for name in said | there:
            has, says = there.get(name), said.get(name)
            if has != says:
                raise UserError(f"{begun} {name} {has}, but the suite says {says}; {instead} make it a variant")
        has, says = run.config.samples, job.config.samples
        if has > says:
            raise UserError(f"{begun} {has} samples, but the suite says {says}; {instead} more samples")


def _values(config: RunConfig) -> dict[str, Any]:
    """All that makes a run what it is, but for its samples, as JSON has it."""
    values = json.loads(json.dumps(config.to_json()))
    options = values.pop("task_options") | values.pop("method_options")
    return values | options | {"metrics": [metric["name"] for metric in values["metrics"]], "samples": None}


@dataclass
class Costs:
    """CPU seconds of jobs: known from finished ones, guessed for the others."""

    known: dict[str, float] = field(default_factory=dict)
    """Kind of a job -> seconds per sample."""

    def learn(self, job: Job, out: Path) -> None:
        """Takes a finished job as an example."""
        summary = Run.open(job.directory(out)).summary()
        self.known[job.kind] = summary["cpu_seconds"] / summary["samples"]

    def of(self, job: Job) -> float:
        """The whole job."""
        config = job.config
        if job.kind in self.known:
            return config.samples * self.known[job.kind]
        learning = getattr(METHODS.find(config.method), "seconds_per_sample", lambda *_: LEARNING)
        each = learning(config.method_config, config.step_cost) + STEP[config.step_cost]
        return COMPILING + config.samples * each

    def left(self, s: Standing) -> float:
        """What is still to be done of a job."""
        return 0.0 if s.state == "failed" else self.of(s.job) * (1 - s.part)
