"""What runs cost: known from those that are finished, guessed of the others."""

from pathlib import Path

from leads.benchmark.standing import Standing
from leads.benchmark.suites import Job
from leads.training.run import Run

LEARNING = {"leads": 5e-4, "random": 3e-6}
"""CPU seconds a sample in mazes, roughly."""
OTHER_LEARNING = 4e-4
SIMULATOR = {"fetch-reach": 2e-3, "fetch-slide": 2e-3, "hand": 2e-3, "finger": 5e-4}
"""What a simulator adds to that."""
COMPILING = 15.0
"""CPU seconds a run that is the first of its kind, roughly."""


class Costs:
    """CPU seconds of jobs."""

    def __init__(self):
        self.known: dict[str, float] = {}
        """Kind of a job -> seconds a sample."""

    def learn(self, job: Job, out: Path) -> None:
        """Takes a finished job as an example."""
        summary = Run.open(job.directory(out)).summary()
        self.known[job.kind] = summary["cpu_seconds"] / summary["samples"]

    def of(self, job: Job) -> float:
        """The whole job."""
        config = job.config
        if job.kind in self.known:
            return config.samples * self.known[job.kind]
        each = LEARNING.get(config.method, OTHER_LEARNING) + SIMULATOR.get(config.task, 0.0)
        return COMPILING + config.samples * each

    def left(self, standing: Standing) -> float:
        """What is still to be done of a job."""
        return 0.0 if standing.state == "failed" else self.of(standing.job) * (1 - standing.part)
