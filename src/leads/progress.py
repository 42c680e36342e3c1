"""Live progress of a run: a line that renews itself in a terminal, plain lines elsewhere."""

import time
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

PLAIN_EVERY = 10.0
"""Seconds between lines where the output is not a terminal."""


class Progress:
    """Call it with every epoch's metrics."""

    def __init__(self):
        self.console = Console()
        self.live = Live(console=self.console, auto_refresh=False) if self.console.is_terminal else None
        self.run: str | None = None
        """The run directory, once there is one."""
        self.last_line = float("-inf")

    def __enter__(self) -> "Progress":
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def __call__(self, metrics: dict[str, Any]) -> None:
        if "run" in metrics:
            self.run = metrics["run"]
            lines = [f"run {self.run}", metrics["note"], "compiling; the first epoch takes longer"]
            self.console.print("\n".join(filter(None, lines)), soft_wrap=True, highlight=False)
            return
        finished = metrics["samples"] >= metrics["budget"]
        if self.live is not None:
            self.live.update(self._table(metrics), refresh=True)
        elif finished or time.monotonic() - self.last_line >= PLAIN_EVERY:
            self.last_line = time.monotonic()
            print("  ".join(f"{name} {text}" for name, text in _columns(metrics).items()), flush=True)

    def _table(self, metrics: dict[str, Any]) -> Table:
        columns = _columns(metrics)
        table = Table(*columns, box=None, pad_edge=False, header_style="bold")
        table.add_row(*columns.values())
        outer = Table.grid()
        outer.add_row(ProgressBar(total=metrics["budget"], completed=min(metrics["samples"], metrics["budget"])))
        outer.add_row(table)
        return outer


def _columns(metrics: dict[str, Any]) -> dict[str, str]:
    minutes, seconds = divmod(round(metrics["seconds_left"]), 60)
    return {
        "epoch": str(metrics["epoch"]),
        "samples": f"{metrics['samples']:,}",
        "coverage": f"{metrics['coverage']:.0f}%",
        "skill coverage": "-" if metrics["skill_coverage"] is None else f"{metrics['skill_coverage']:.0f}%",
        "distinctness": "-" if metrics["distinctness"] is None else f"{metrics['distinctness']:.2f}",
        "samples/s": f"{metrics['samples_per_second']:,.0f}",
        "left": f"{minutes}:{seconds:02d}",
    }
