"""Live progress of a run and of a benchmark: a table that is updated in a terminal, plain lines elsewhere."""

import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from leads.benchmark.standing import Costs, Standing
from leads.training.metrics import HEADLINE, headline
from leads.training.run import Run

SILENT = 600.0
"""Seconds without a new epoch after which a run's line says so; it may hang."""


class Display(ExitStack):
    """A table that is updated in a terminal; elsewhere lines that are printed now and then."""

    def __init__(self, plain_every: float):
        super().__init__()
        self.live = Live(console=Console(), auto_refresh=False)
        self.plain_every, self.last_plain = plain_every, float("-inf")

    def __enter__(self) -> Self:
        if self.live.console.is_terminal:
            self.enter_context(self.live)
        return self

    def say(self, text: str) -> None:
        """Prints lines that stay."""
        self.live.console.print(text, soft_wrap=True, highlight=False, markup=False)

    def show(self, table: Table, plain: str, now: bool) -> None:
        """The table in a terminal; elsewhere the plain lines, at most every `plain_every` seconds, or now."""
        if self.live.is_started:
            self.live.update(table, refresh=True)
        elif now or time.monotonic() - self.last_plain >= self.plain_every:
            self.last_plain = time.monotonic()
            print(plain, flush=True)


class Progress(Display):
    """Call it with every epoch's metrics."""

    def __init__(self):
        super().__init__(plain_every=10.0)
        self.run: str | None = None
        """The run directory, once there is one."""
        self.headline = HEADLINE
        self.known: dict[str, tuple[int, str]] = {}
        """The last known value of each headline metric, with its epoch: not every epoch evaluates skills."""

    def __call__(self, metrics: dict[str, Any]) -> None:
        if "run" in metrics:
            self.run = metrics["run"]
            own = Run.open(Path(metrics["run"])).config.metrics
            self.headline = [*HEADLINE, *(metric for metric in own if metric.headline)]
            lines = [f"run {self.run}", metrics["note"], "compiling; the first epoch takes longer"]
            self.say("\n".join(filter(None, lines)))
            return
        columns = self._columns(metrics)
        line = "  ".join(f"{name} {text}" for name, text in columns.items())
        self.show(_table(columns, metrics), line, now=metrics["samples"] >= metrics["budget"])

    def _columns(self, metrics: dict[str, Any]) -> dict[str, str]:
        shown, now = {}, metrics["epoch"]
        for metric in self.headline:
            if metric.of(metrics) is not None:
                self.known[metric.name] = now, metric.text(metric.of(metrics))
            epoch, text = self.known.get(metric.name, (now, "-"))
            shown[metric.title] = text if epoch == now else f"{text} (epoch {epoch})"
        return {
            "epoch": str(now),
            "samples": f"{metrics['samples']:,}",
            **shown,
            "samples/s": f"{metrics['samples_per_second']:,.0f}",
            "left": clock(metrics["seconds_left"]),
        }


def _table(columns: dict[str, str], metrics: dict[str, Any]) -> Table:
    outer, table = Table.grid(), Table(*columns, box=None, pad_edge=False, header_style="bold")
    table.add_row(*columns.values())
    outer.add_row(ProgressBar(metrics["budget"], min(metrics["samples"], metrics["budget"])))
    outer.add_row(table)
    return outer


class BenchmarkProgress(Display):
    """Call it with the standing of all jobs: one line for all, and one for each run that is running."""

    def __init__(self):
        super().__init__(plain_every=30.0)
        self.first: dict[str, Standing] = {}
        self.before: dict[str, Standing] = {}
        self.news: dict[str, float] = {}
        """When each run last made progress."""
        self.begun = time.monotonic()
        self.most_at_once = 1

    def __call__(self, standings: list[Standing], costs: Costs) -> None:
        for s in standings:
            first = self.first.setdefault(s.job.name, s)
            before = self.before.get(s.job.name, first)
            if s.part < first.part:  # it continues from its last checkpoint
                self.first[s.job.name] = s
            if before.state != s.state:
                self.say(f"{s.job.name}: {_event(s)}")
            if (before.state, before.samples) != (s.state, s.samples):
                self.news[s.job.name] = time.monotonic()
        self.before = {s.job.name: s for s in standings}
        running = [s for s in standings if s.state == "running"]
        self.most_at_once = max(self.most_at_once, len(running))
        line, told = self._line(standings, costs), [(s, self._numbers(s)) for s in running]
        plain = "\n".join([line, *(f"  {s.job.name}: {text}" for s, text in told)])
        now = all(s.state in ("done", "failed") for s in standings)
        self.show(_bars(line, standings, told, costs), plain, now)

    def _line(self, standings: list[Standing], costs: Costs) -> str:
        count = Counter(s.state for s in standings)
        parts = [f"{count['done']} of {len(standings)} runs done", f"{count['running']} running"]
        if count["failed"]:
            parts.append(f"{count['failed']} failed")
        gained = sum(costs.of(s.job) * (s.part - self.first[s.job.name].part) for s in standings)
        left = [costs.left(s) for s in standings]
        if gained > 0 and any(left):
            seconds_for_one = (time.monotonic() - self.begun) / gained
            longest = max(left) * self.most_at_once  # it may be the last one alone
            parts.append(f"{clock(seconds_for_one * max(sum(left), longest))} left")
        return ", ".join(parts)

    def _numbers(self, s: Standing) -> str:
        known = {metric.name: s.metrics.get(metric.name) for metric in HEADLINE if not metric.of_skills}
        silent = time.monotonic() - self.news.get(s.job.name, self.begun)
        silence = f"no progress for {clock(silent)}" if silent > SILENT else ""
        samples = f"{s.samples:,} of {s.job.config.samples:,} samples"
        return ", ".join(filter(None, [samples, headline(known), silence]))


def _event(s: Standing) -> str:
    return {
        "running": "continues" if s.samples else "begins",
        "done": f"done, {s.samples:,} samples, {headline(s.metrics)}",
        "failed": f"failed: {s.reason}",
        "waiting": f"will be retried: {s.reason}",
    }[s.state]


def _bars(line: str, standings: list[Standing], running: list[tuple[Standing, str]], costs: Costs) -> Table:
    table = Table.grid(padding=(0, 2))
    total, left = sum(costs.of(s.job) for s in standings), sum(map(costs.left, standings))
    table.add_row("all", ProgressBar(total, total - left, width=30), line)
    for s, text in running:
        table.add_row(s.job.name, ProgressBar(1.0, s.part, width=30), text)
    return table


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours if there are any."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
