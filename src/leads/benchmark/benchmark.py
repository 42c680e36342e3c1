"""The benchmark: does the runs of a suite that are missing, however often it is started."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol

from leads.benchmark.job import Job
from leads.benchmark.on_cores import OnCores
from leads.benchmark.on_ray import OnRay
from leads.benchmark.standing import Costs, Standing, check, standing
from leads.benchmark.suites import load
from leads.compilation import use_one_core
from leads.config.fields import Positive, checked
from leads.errors import UserError
from leads.training.run import Run

Report = Callable[[list[Standing], Costs], None]
"""Called about twice a second with the standing of all jobs."""
TRIES = 3
"""Attempts without progress after which a run is given up."""
LOOK_EVERY = 0.5
"""Seconds between two looks at the runs."""


class Engine(Protocol):
    """A place where jobs are done, each in a process of its own on one core, so that their run directories fill.

    `ended` waits at most so long for jobs to end and returns those that did, each with the reason if it failed.
    """

    def has_room(self) -> bool: ...
    def begin(self, job: Job) -> None: ...
    def ended(self, seconds: float) -> list[tuple[Job, str]]: ...
    def close(self) -> None: ...


def benchmark(
    suite: str,
    out: str | Path,
    engine: Literal["local", "ray"] = "local",
    processes: int | None = None,
    address: str | None = None,
    checkpoint_every: int = 10,
    report: Report = lambda standings, costs: None,
) -> list[Standing]:
    """Does the runs of a suite that are not done yet, each in a directory below `out`; returns how all of them stand.

    The local engine does `processes` runs at a time, by default one per core. `address` is that of a Ray cluster; by
    default one is started on this machine.
    """
    for name, value, of in (("processes", processes, "local"), ("address", address, "ray")):
        if value is not None and engine != of:
            raise UserError(f"{name}: is an option of the engine {of}, not of {engine}")
    checked("processes", Positive[int] | None, processes)
    checked("checkpoint_every", Positive[int], checkpoint_every)
    use_one_core()
    jobs, out = load(suite), Path(out).absolute()
    check(jobs, out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"out: {out} cannot be written ({error.strerror})") from error
    with Run(out).lock():
        on = OnCores(out, processes, checkpoint_every) if engine == "local" else OnRay(out, address, checkpoint_every)
        with closing(on):
            return _do(jobs, out, on, report)


def _do(jobs: list[Job], out: Path, engine: Engine, report: Report) -> list[Standing]:
    """Does all jobs, the longest first; one that fails TRIES times without progress is given up."""
    costs, tries, furthest = Costs(), Counter[str](), Counter[str]()
    stand = {job.name: standing(job, out) for job in jobs}
    for s in stand.values():
        if s.state == "done":
            costs.learn(s.job, out)
    report(list(stand.values()), costs)
    while any(s.state in ("waiting", "running") for s in stand.values()):
        ended = []
        while engine.has_room() and (waiting := [s for s in stand.values() if s.state == "waiting"]):
            longest = max(waiting, key=costs.left).job
            stand[longest.name] = standing(longest, out, running=True)
            try:
                engine.begin(longest)
            except OSError as error:
                ended.append((longest, f"it cannot begin: {error}"))
        ended += engine.ended(LOOK_EVERY)
        for s in stand.values():
            if s.state == "running":
                stand[s.job.name] = standing(s.job, out, running=True)
        for job, reason in ended:
            s = stand[job.name] = standing(job, out)
            if s.state == "done":
                costs.learn(job, out)
                continue
            tries[job.name] = 1 if s.samples > furthest[job.name] else tries[job.name] + 1
            furthest[job.name] = max(s.samples, furthest[job.name])
            stand[job.name] = replace(s, state="failed" if tries[job.name] == TRIES else "waiting", reason=reason)
        report(list(stand.values()), costs)
    return list(stand.values())
