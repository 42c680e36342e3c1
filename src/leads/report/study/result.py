"""A run as reports see it, read from its directory or from committed rows."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leads.report.study.entry import Entry
from leads.report.study.setting import Setting
from leads.training import checkpoint
from leads.training.metrics import METRICS, Metric
from leads.training.run import Run
from leads.training.snapshots import Snapshot

COVERAGE = METRICS["coverage"]
"""The metric that the paper publishes."""
SPENT = ("cpu_seconds", "wall_seconds")
"""What a run's time cost."""
COST = (*SPENT, "peak_rss_mb")
FAR_ENOUGH = 0.8
"""Share of a number of samples that a run needs to be compared there."""


@dataclass(frozen=True)
class Result:
    """A run and where it belongs."""

    setting: Setting
    entry: Entry
    seed: int
    numbers: dict[str, Any]
    """Its summary; of an unfinished run, the last line of its log, if there is one."""
    log: list[dict[str, Any]]
    """One line per epoch, or fewer."""
    snapshots: list[Snapshot] = field(default_factory=list)
    """Its skills on the way; not every run remembers them."""
    extra: tuple[Metric, ...] = ()
    """Metrics from outside the package."""
    variant: str = ""
    """What committed rows call its options."""
    finished: bool = True
    run: Run | None = None
    """Its directory; committed rows have none."""

    @property
    def place(self) -> str:
        """Where it is on disk, if it is there."""
        return "" if self.run is None else str(self.run.directory)

    @property
    def film(self) -> Path | None:
        """What `leads skills` has made."""
        film = None if self.run is None else self.run.figures / "skills.mp4"
        return film if film and film.is_file() else None

    @property
    def has_checkpoints(self) -> bool:
        return self.run is not None and bool(checkpoint.epochs(self.run.checkpoints))

    def rank(self) -> tuple[float, ...]:
        """What orders the runs of a method: coverage, and where that is the same, what methods are judged by."""
        judged = [metric for metric in METRICS.values() if metric.judged]
        return tuple(metric.of(self.numbers) or 0.0 for metric in (COVERAGE, *judged))

    def at(self, samples: int) -> "Result | None":
        """The run as it was at the evaluated epoch nearest to a number of samples, if it got that far.

        Its cost is taken in proportion.
        """
        evaluated = [line for line in self.log if _is_evaluated(line) and line["samples"] > FAR_ENOUGH * samples]
        if not evaluated:
            return None
        line = min(evaluated, key=lambda line: abs(line["samples"] - samples))
        share = line["samples"] / self.numbers["samples"]
        spent = {name: share * self.numbers[name] for name in SPENT}
        kept = [kept for kept in self.snapshots if kept.samples <= line["samples"]]
        log = self.log[: self.log.index(line) + 1]
        return replace(
            self, setting=self.setting.at(samples), numbers=self.numbers | line | spent, log=log, snapshots=kept
        )


def _is_evaluated(line: dict[str, Any]) -> bool:
    return any(metric.of(line) is not None for metric in METRICS.values() if metric.of_skills)
