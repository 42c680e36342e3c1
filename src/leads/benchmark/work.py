"""What a worker of any engine does."""

import time
from pathlib import Path
from typing import Any

from leads.errors import UserError
from leads.training.run import Run
from leads.training.train import Report, resume, train

PATIENCE = 60
"""Seconds to wait for a run that another process holds."""


def work(
    arguments: dict[str, Any], directory: Path, checkpoint_every: int, report: Report = lambda metrics: None
) -> None:
    """Begins the run of a job, given as its `arguments`, or continues it."""
    if (directory / "config.json").exists():
        _wait_until_free(Run(directory))
        resume(directory, arguments["samples"], checkpoint_every, report=report)
    else:
        train(out=directory, checkpoint_every=checkpoint_every, report=report, **arguments)


def _wait_until_free(run: Run) -> None:
    """A process of a benchmark that was killed may hold its run for a moment longer."""
    for _ in range(PATIENCE):
        try:
            with run.lock():
                return
        except UserError:
            time.sleep(1)
