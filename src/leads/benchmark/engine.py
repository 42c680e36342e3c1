"""What an engine is: a place where runs are done."""

from typing import Protocol

from leads.benchmark.suites import Job


class Engine(Protocol):
    """Does jobs, each in a process of its own on one core, so that their run directories fill."""

    def has_room(self) -> bool:
        """Whether one more job can begin now."""
        ...

    def begin(self, job: Job) -> None: ...

    def ended(self, seconds: float) -> list[tuple[Job, str]]:
        """Waits at most so long for jobs to end; those that did, and why if they failed."""
        ...

    def close(self) -> None:
        """Stops what is going on."""
        ...
