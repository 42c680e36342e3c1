"""What runs cost: known from finished ones, guessed for the others."""

from pathlib import Path

from leads.benchmark.job import Job
from leads.benchmark.standing import Standing
from leads.methods import METHODS
from leads.training.run import Run
from leads.training.run_config import RunConfig

LEARNING = 3e-4
"""CPU seconds per sample of a method that does not say its own, roughly."""
STEP = {"device": 0.0, "cheap": 1.2e-4, "dear": 1.5e-3}
"""CPU seconds that a simulator adds per sample, evaluation among them; roughly those of studies/results/runs.csv."""
COMPILING = 15.0
"""CPU seconds of the first run of its kind, roughly."""


class Costs:
    """CPU seconds of jobs."""

    def __init__(self):
        self.known: dict[str, float] = {}
        """Kind of a job -> seconds per sample."""

    def learn(self, job: Job, out: Path) -> None:
        """Takes a finished job as an example."""
        summary = Run.open(job.directory(out)).summary()
        self.known[job.kind] = summary["cpu_seconds"] / summary["samples"]

    def of(self, job: Job) -> float:
        """The whole job."""
        if job.kind in self.known:
            return job.config.samples * self.known[job.kind]
        return COMPILING + job.config.samples * _guess(job.config)

    def left(self, standing: Standing) -> float:
        """What is still to be done of a job."""
        return 0.0 if standing.state == "failed" else self.of(standing.job) * (1 - standing.part)


def _guess(config: RunConfig) -> float:
    """Seconds per sample."""
    own = getattr(METHODS.find(config.method), "seconds_per_sample", None)
    learning = LEARNING if own is None else own(config.method_config, config.step_cost)
    return learning + STEP[config.step_cost]
