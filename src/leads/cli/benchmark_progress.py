"""Live progress of a benchmark: one line per running run, and one for all of them."""

import time

from rich.progress_bar import ProgressBar
from rich.table import Table

from leads.benchmark.costs import Costs
from leads.benchmark.standing import Standing
from leads.cli.progress import Display, clock
from leads.training.metrics import HEADLINE, headline

SILENT = 600.0
"""Seconds without a new epoch after which a run's line says so; it may hang."""
EVERY_EPOCH = [metric for metric in HEADLINE if not metric.of_skills]
"""Metrics that are known after every epoch."""


class BenchmarkProgress(Display):
    """Call it with the standing of all jobs."""

    def __init__(self):
        super().__init__(plain_every=30.0)
        self.first: dict[str, Standing] = {}
        self.before: dict[str, Standing] = {}
        self.news: dict[str, float] = {}
        """When each run last made progress."""
        self.begun = time.monotonic()
        self.most_at_once = 1

    def __call__(self, standings: list[Standing], costs: Costs) -> None:
        self.first = self.first or {s.job.name: s for s in standings}
        for s in standings:
            if s.part < self.first[s.job.name].part:  # it continues from its last checkpoint
                self.first[s.job.name] = s
            before = self.before.get(s.job.name, self.first[s.job.name])
            if before.state != s.state:
                self.say(f"{s.job.name}: {_event(s)}")
            if (before.state, before.samples) != (s.state, s.samples):
                self.news[s.job.name] = time.monotonic()
        self.before = {s.job.name: s for s in standings}
        running = [s for s in standings if s.state == "running"]
        self.most_at_once = max(self.most_at_once, len(running))
        line, told = self._line(standings, costs), [(s, _numbers(s) + self._silence(s)) for s in running]
        self.show(
            lambda: _table(line, standings, told, costs),
            lambda: "\n".join([line, *(f"  {s.job.name}: {text}" for s, text in told)]),
            now=all(s.state in ("done", "failed") for s in standings),
        )

    def _line(self, standings: list[Standing], costs: Costs) -> str:
        count = lambda state: sum(s.state == state for s in standings)
        parts = [f"{count('done')} of {len(standings)} runs done", f"{count('running')} running"]
        if count("failed"):
            parts.append(f"{count('failed')} failed")
        left = self._seconds_left(standings, costs)
        return ", ".join([*parts, *([] if left is None else [f"{clock(left)} left"])])

    def _silence(self, s: Standing) -> str:
        silent = time.monotonic() - self.news.get(s.job.name, self.begun)
        return f", no progress for {clock(silent)}" if silent > SILENT else ""

    def _seconds_left(self, standings: list[Standing], costs: Costs) -> float | None:
        """From the cost of what was done so far; the longest run may be the last one alone."""
        gained = sum(costs.of(s.job) * (s.part - self.first[s.job.name].part) for s in standings)
        left = [costs.left(s) for s in standings]
        if gained <= 0 or not any(left):
            return None
        seconds_for_one = (time.monotonic() - self.begun) / gained
        return seconds_for_one * max(sum(left), max(left) * self.most_at_once)


def _event(s: Standing) -> str:
    if s.state == "running":
        return "continues" if s.samples else "begins"
    return {
        "done": f"done, {s.samples:,} samples, {headline(s.metrics)}",
        "failed": f"failed: {s.reason}",
        "waiting": f"will be retried: {s.reason}",
    }[s.state]


def _numbers(s: Standing) -> str:
    known = {metric.name: s.metrics.get(metric.name) for metric in EVERY_EPOCH}
    return ", ".join(filter(None, [f"{s.samples:,} of {s.job.config.samples:,} samples", headline(known)]))


def _table(line: str, standings: list[Standing], running: list[tuple[Standing, str]], costs: Costs) -> Table:
    table = Table.grid(padding=(0, 2))
    total, left = sum(costs.of(s.job) for s in standings), sum(map(costs.left, standings))
    table.add_row("all", ProgressBar(total=total, completed=total - left, width=30), line)
    for s, text in running:
        table.add_row(s.job.name, ProgressBar(total=1.0, completed=s.part, width=30), text)
    return table
