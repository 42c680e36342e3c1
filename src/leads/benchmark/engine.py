"""What an engine is: a place where runs are done."""

from typing import Protocol

from leads.benchmark.job import Job


class Engine(Protocol):
    """Does jobs, each in a process of its own on one core, so that their run directories fill."""

    def has_room(self) -> bool:
        """Whether one more job can begin now."""
        ...

    def begin(self, job: Job) -> None: ...

    def ended(self, seconds: float) -> list[tuple[Job, str]]:
        """Waits at most so long for jobs to end; returns those that did, each with the reason if it failed."""
        ...

    def close(self) -> None:
        """Stops all jobs."""
        ...
