"""A job of a suite as any engine does it."""

import time
from pathlib import Path

from leads.benchmark.suites import Job
from leads.errors import UserError
from leads.training.run import Run
from leads.training.train import Report, resume, train

PATIENCE = 60
"""Seconds to wait for a run that another process holds."""


def work(job: Job, directory: Path, checkpoint_every: int, report: Report = lambda metrics: None) -> None:
    """Begins the run of a job, or continues it."""
    c = job.config
    if (directory / "config.json").exists():
        _wait_until_free(Run(directory))
        resume(directory, c.samples, checkpoint_every, report=report)
    else:
        train(c.task, c.method, c.seed, c.samples, directory, checkpoint_every, report=report, **c.options, **c.fields)


def _wait_until_free(run: Run) -> None:
    """A process of a benchmark that was killed may hold its run for a moment longer."""
    for _ in range(PATIENCE):
        try:
            with run.lock():
                return
        except UserError:
            time.sleep(1)
