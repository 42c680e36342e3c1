"""One run of a suite: what it is, where it is below the benchmark's directory, and how a worker does it."""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leads.config.fields import plain
from leads.errors import UserError
from leads.training.run import Run
from leads.training.run_config import RunConfig
from leads.training.train import Report, resume, train

PATIENCE = 60
"""Seconds to wait for a run that another process holds."""


@dataclass(frozen=True)
class Job:
    """One run of a suite."""

    config: RunConfig
    variant: str = ""

    @property
    def kind(self) -> str:
        """What it shares with its other seeds."""
        method = self.config.method_in_paths
        return f"{self.config.task_in_paths}/{f'{method}-{self.variant}' if self.variant else method}"

    @property
    def name(self) -> str:
        return f"{self.kind}/seed-{self.config.seed}"

    @property
    def arguments(self) -> dict[str, Any]:
        """Those of `leads.train`, in plain values: a worker imports the method and the metrics itself."""
        c = self.config
        what = {"task": c.task, "method": c.method, "seed": c.seed, "samples": c.samples}
        return what | {"metrics": [metric.source for metric in c.metrics]} | c.task_options | plain(c.method_config)

    def directory(self, out: Path) -> Path:
        return out / self.name

    def log(self, out: Path) -> Path:
        return log_of(self.directory(out))

    def has_log(self, out: Path) -> bool:
        """Whether there is anything in it."""
        return self.log(out).is_file() and self.log(out).stat().st_size > 0


def log_of(run: Path) -> Path:
    """Where a run's errors are written: beside its directory, which may not exist yet."""
    return run.with_name(f"{run.name}.log")


def add_to_log(run: Path, text: str) -> None:
    """If it can be written."""
    with suppress(OSError):
        run.parent.mkdir(parents=True, exist_ok=True)
        with open(log_of(run), "a") as file:
            file.write(text + "\n")


def work(arguments: dict[str, Any], run: Path, checkpoint_every: int, report: Report = lambda metrics: None) -> None:
    """Begins the run of a job, given as its `arguments`, or continues it."""
    if not (run / "config.json").exists():
        train(out=run, checkpoint_every=checkpoint_every, report=report, **arguments)
        return
    for _ in range(PATIENCE):  # a process of a benchmark that was killed may hold its run for a moment longer
        try:
            with Run(run).lock():
                break
        except UserError:
            time.sleep(1)
    resume(run, arguments["samples"], checkpoint_every, report=report)
