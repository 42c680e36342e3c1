"""What runs cost: known from those that are finished, guessed of the others."""

from pathlib import Path

from leads.benchmark.standing import Standing
from leads.benchmark.suites import Job
from leads.training.run import Run

LEARNING = {"leads": 4.5e-4, "random": 3e-6}
"""CPU seconds a sample in mazes, roughly, as studies/results/runs.csv has them."""
OTHER_LEARNING = 1.3e-4
"""Of methods on SAC, whose gradient steps come on top."""
GRADIENT_STEP = {"ngu": 2.2e-2}
OTHER_GRADIENT_STEP = 1.1e-2
SIMULATOR = {"fetch-reach": 1.3e-3, "fetch-slide": 1.7e-3, "hand": 1.7e-3, "finger": 1e-4}
"""What a simulator adds to that; evaluation is part of it."""
OTHER_SIMULATOR = 3e-4
LEADS_ON_HOST = 3e-3
"""What LEADS adds on simulators, where it learns more from each sample."""
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
        each = LEARNING.get(config.method, OTHER_LEARNING)
        if "samples_per_step" in config.fields:
            each += GRADIENT_STEP.get(config.method, OTHER_GRADIENT_STEP) / config.fields["samples_per_step"]
        if not config.task.startswith("maze"):
            each += SIMULATOR.get(config.task, OTHER_SIMULATOR) + LEADS_ON_HOST * (config.method == "leads")
        return COMPILING + config.samples * each

    def left(self, standing: Standing) -> float:
        """What is still to be done of a job."""
        return 0.0 if standing.state == "failed" else self.of(standing.job) * (1 - standing.part)
