"""Columns of tables that have one row per setting and entry."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean

from leads.report.study.entry import Entry
from leads.report.study.setting import Setting
from leads.report.study.statistics import welch
from leads.report.study.study import Study
from leads.report.study.tables import MEAN_PARTS, Cell, Column, Table, compared, mean_cell, number, word
from leads.training.metrics import Metric


@dataclass(frozen=True)
class Shown:
    """What a column shows of an entry in a setting."""

    title: str
    cell: Callable[[Study, Setting, Entry], Cell]
    parts: tuple[str, ...] = ()
    """As in `Column`."""


def listed(
    study: Study,
    shown: Sequence[Shown],
    rows: Iterable[tuple[Setting, Entry]] | None = None,
    about: tuple[str, str, str] = ("", "", ""),
) -> Table:
    """One row for every setting and entry with runs, or for `rows`; `about` is the table's name, title and note."""
    rows = with_runs(study) if rows is None else rows
    cells = [[column.cell(study, *row) for column in shown] for row in rows]
    named_by = next((i for i, column in enumerate(shown) if column is METHOD), 0)
    return Table(*about, [Column(column.title, column.parts) for column in shown], cells, named_by)


def with_runs(study: Study) -> list[tuple[Setting, Entry]]:
    return [(setting, entry) for setting in study.settings for entry in study.entries if study.of(setting, entry)]


TASK = Shown("task", lambda study, setting, entry: word(setting.title))
METHOD = Shown("method", lambda study, setting, entry: word(entry.title))


def means(metrics: Iterable[Metric]) -> list[Shown]:
    """Mean and deviation of metrics."""
    cell = lambda of: lambda study, *place: mean_cell(study.values(*place, of), of.digits)
    return [Shown(metric.label, cell(metric), MEAN_PARTS) for metric in metrics]


RELATIVE = Shown("relative coverage %", lambda study, *place: mean_cell(study.relative(*place), 1), MEAN_PARTS)


def _seeds(study: Study, setting: Setting, entry: Entry) -> Cell:
    n = len(study.of(setting, entry))
    return number(n, str(n))


SEEDS = Shown("seeds", _seeds)


def _missing_seeds(study: Study, setting: Setting, entry: Entry) -> Cell:
    missing = study.missing(setting, entry)
    which = ", ".join(map(str, missing)) or "none"
    return Cell(which, (len(missing), which))


MISSING_SEEDS = Shown("missing seeds", _missing_seeds, ("number", "which"))


def _spent(title: str, name: str) -> Shown:
    cell = lambda study, *place: mean_cell([float(result.numbers[name]) for result in study.of(*place)], 0)
    return Shown(title, cell, MEAN_PARTS)


def _rate(study: Study, setting: Setting, entry: Entry) -> Cell:
    of = study.of(setting, entry)
    return mean_cell([1e5 * result.numbers["cpu_seconds"] / result.numbers["samples"] for result in of], 1)


def _memory(study: Study, setting: Setting, entry: Entry) -> Cell:
    largest = max((result.numbers["peak_rss_mb"] for result in study.of(setting, entry)), default=None)
    return number(largest, f"{largest or 0:.0f}")


CPU, WALL = _spent("CPU seconds", "cpu_seconds"), _spent("wall seconds", "wall_seconds")
RATE = Shown("CPU seconds per 100,000 samples", _rate, MEAN_PARTS)
MEMORY = Shown("largest peak memory, MB", _memory)


def against(ours: Entry, metrics: Iterable[Metric]) -> list[Shown]:
    """Welch's tests of an entry against that of the row."""
    cell = lambda of: lambda study, setting, entry: tested(study, setting, (ours, entry), of)
    return [Shown(metric.label, cell(metric), TEST_PARTS) for metric in metrics]


TEST_PARTS = ("p", "difference", "n", "n of the other")


def tested(study: Study, setting: Setting, pair: tuple[Entry, Entry], metric: Metric) -> Cell:
    """Welch's test between two entries."""
    ours, theirs = (study.values(setting, entry, metric) for entry in pair)
    p, words = welch(ours, theirs), compared(ours, theirs)
    if p is None:
        return Cell(words)
    return Cell(f"{words} (n = {len(ours)}, {len(theirs)})", (p, mean(ours) - mean(theirs), len(ours), len(theirs)))
