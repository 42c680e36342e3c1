"""How far the jobs of a suite are, as their run directories tell it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from leads.benchmark.suites import Job
from leads.config.fields import build
from leads.errors import UserError
from leads.methods import config_class
from leads.training.run import Run, RunConfig

TAIL = 16_384
"""Bytes at the end of a log in which its last line is looked for."""


@dataclass(frozen=True)
class Standing:
    """How far a job is."""

    job: Job
    state: Literal["waiting", "running", "done", "failed"]
    samples: int = 0
    coverage: float = 0.0
    reason: str = ""
    """Why it failed, or failed before."""

    @property
    def part(self) -> float:
        """Of the job that is done."""
        return 1.0 if self.state == "done" else min(self.samples / self.job.config.samples, 1.0)


def standing(job: Job, out: Path, running: bool = False) -> Standing:
    """How far a job is that is running or not."""
    directory = job.directory(out)
    last = _last_line(directory / "metrics.jsonl")
    numbers = (last["samples"], last["coverage"]) if last else (0, 0.0)
    if running:
        return Standing(job, "running", *numbers)
    return Standing(job, "done" if _is_done(job, directory) else "waiting", *numbers)


def _is_done(job: Job, directory: Path) -> bool:
    return Run(directory).is_finished and Run.open(directory).config().samples == job.config.samples


def _last_line(path: Path) -> dict[str, Any] | None:
    """The newest line of a log that is whole."""
    if not path.exists():
        return None
    with open(path, "rb") as file:
        file.seek(max(path.stat().st_size - TAIL, 0))
        for line in reversed(file.read().splitlines()):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict) and {"samples", "coverage"} <= found.keys():
                return found
    return None


def check(jobs: list[Job], out: Path) -> None:
    """That the runs which are there are those that the suite says, of no more samples."""
    for job in jobs:
        directory = job.directory(out)
        if not (directory / "config.json").exists():
            continue
        config = Run.open(directory).config()
        there, said = _values(config), _values(job.config)
        for name in said | there:
            if there.get(name) != said.get(name):
                raise UserError(
                    f"out: the run in {directory} has {name} {there.get(name)}, but the suite says {said.get(name)}; "
                    "choose another --out or make it a variant"
                )
        if config.samples > job.config.samples:
            raise UserError(
                f"out: the run in {directory} has {config.samples} samples, but the suite says {job.config.samples}; "
                "choose another --out or more samples"
            )


def _values(config: RunConfig) -> dict[str, Any]:
    """All but the samples that makes a run what it is, as JSON has it."""
    fields = asdict(build(config_class(config.method), config.fields))
    values = {"task": config.task, "method": config.method, "seed": config.seed} | config.options | fields
    return json.loads(json.dumps(values))
