"""Live progress of a run: a table that is updated in a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from leads.training.metrics import HEADLINE
from leads.training.run import Run


class Display:
    """A table that is updated in a terminal; elsewhere lines that are printed now and then."""

    def __init__(self, plain_every: float):
        self.console = Console()
        self.live = Live(console=self.console, auto_refresh=False) if self.console.is_terminal else None
        self.plain_every, self.last_plain = plain_every, float("-inf")

    def __enter__(self) -> Self:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def say(self, text: str) -> None:
        """Prints lines that stay."""
        self.console.print(text, soft_wrap=True, highlight=False, markup=False)

    def show(self, table: Callable[[], Table], plain: Callable[[], str], now: bool = False) -> None:
        """The table in a terminal; elsewhere the plain lines, at most every `plain_every` seconds, or now."""
        if self.live is not None:
            self.live.update(table(), refresh=True)
        elif now or time.monotonic() - self.last_plain >= self.plain_every:
            self.last_plain = time.monotonic()
            print(plain(), flush=True)


class Progress(Display):
    """Call it with every epoch's metrics."""

    def __init__(self):
        super().__init__(plain_every=10.0)
        self.run: str | None = None
        """The run directory, once there is one."""
        self.headline = HEADLINE

    def __call__(self, metrics: dict[str, Any]) -> None:
        if "run" in metrics:
            self.run = metrics["run"]
            own = Run.open(Path(metrics["run"])).config.metrics
            self.headline = [*HEADLINE, *(metric for metric in own if metric.headline)]
            lines = [f"run {self.run}", metrics["note"], "compiling; the first epoch takes longer"]
            self.say("\n".join(filter(None, lines)))
            return
        columns = self._columns(metrics)
        line = lambda: "  ".join(f"{name} {text}" for name, text in columns.items())
        self.show(lambda: _table(columns, metrics), line, now=metrics["samples"] >= metrics["budget"])

    def _columns(self, metrics: dict[str, Any]) -> dict[str, str]:
        return {
            "epoch": str(metrics["epoch"]),
            "samples": f"{metrics['samples']:,}",
            **{metric.title: metric.text(metric.of(metrics)) for metric in self.headline},
            "samples/s": f"{metrics['samples_per_second']:,.0f}",
            "left": clock(metrics["seconds_left"]),
        }


def _table(columns: dict[str, str], metrics: dict[str, Any]) -> Table:
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    table.add_row(*columns.values())
    outer = Table.grid()
    outer.add_row(ProgressBar(total=metrics["budget"], completed=min(metrics["samples"], metrics["budget"])))
    outer.add_row(table)
    return outer


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours if there are any."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
