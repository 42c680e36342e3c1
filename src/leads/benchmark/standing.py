"""How far the jobs of a suite are, read from their run directories."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from leads.benchmark.job import Job
from leads.errors import UserError
from leads.training.run import Run
from leads.training.run_config import RunConfig

TAIL = 16_384
"""Bytes at the end of a log in which its last line is looked for."""


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
    directory = job.directory(out)
    last = _last_line(directory / "metrics.jsonl")
    state = "running" if running else "done" if _is_done(job, directory) else "waiting"
    return Standing(job, state, last.get("samples", 0), last)


def _is_done(job: Job, directory: Path) -> bool:
    return Run(directory).is_finished and Run.open(directory).config.samples == job.config.samples


def _last_line(path: Path) -> dict[str, Any]:
    """The newest line of a log that is whole; empty if there is none."""
    if not path.exists():
        return {}
    with open(path, "rb") as file:
        file.seek(max(path.stat().st_size - TAIL, 0))
        for line in reversed(file.read().splitlines()):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict) and "samples" in found:
                return found
    return {}


def check(jobs: list[Job], out: Path) -> None:
    """Refuses runs that are there with other options than the suite gives them, or with more samples."""
    for job in jobs:
        directory = job.directory(out)
        if not (directory / "config.json").exists():
            continue
        config = Run.open(directory).config
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
    """All that makes a run what it is, but for its samples, as JSON has it."""
    values = json.loads(json.dumps(config.to_json()))
    options = values.pop("task_options") | values.pop("method_options")
    metrics = [metric["name"] for metric in values.pop("metrics")]
    del values["samples"]
    return values | options | {"metrics": metrics}
