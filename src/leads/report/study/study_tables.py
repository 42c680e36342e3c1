"""The tables of a report, and the columns that they and others are made of."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import mean
from typing import Any

import numpy as np

from leads.report.study import tables
from leads.report.study.first import first, table_1
from leads.report.study.result import COVERAGE, SHIPPED, Entry, Setting
from leads.report.study.statistics import CONFIDENCE, Scores, improvement, interval, iqm, welch
from leads.report.study.study import Study
from leads.report.study.tables import (
    MEAN,
    METHOD,
    TASK,
    Cell,
    Column,
    Table,
    listed,
    mean_cell,
    number,
    where_known,
    word,
)
from leads.training.metrics import Metric

INTERVAL = f"{CONFIDENCE:.0%} interval"


def places(study: Study, as_shipped: bool = False) -> list[tuple[Study, Setting, Entry]]:
    """Every setting with every entry that has runs there; `as_shipped`: and with methods as they ship, runs or not."""
    pairs = [(setting, entry) for setting in study.settings for entry in study.entries]
    return [(study, *pair) for pair in pairs if study.of(*pair) or (as_shipped and not pair[1].options)]


def means(metric: Metric) -> Column:
    """Mean and deviation of a metric."""
    cell = lambda study, *place: mean_cell(study.values(*place, metric), metric.digits)
    return Column(metric.label, where_known(metric, cell), MEAN)


def tested(metric: Metric) -> Column:
    """Welch's test of the entry of a row against the other one in it."""

    def cell(study: Study, setting: Setting, *pair: Entry) -> Cell:
        ours, theirs = (study.values(setting, entry, metric) for entry in pair)
        p, words = welch(ours, theirs), tables.compared(ours, theirs)
        if p is None:
            return Cell(words)
        n = len(ours), len(theirs)
        return Cell(f"{words} (n = {n[0]}, {n[1]})", (p, mean(ours) - mean(theirs), *n))

    return Column(metric.label, where_known(metric, cell), ("p", "difference", "n", "n of the other"))


def _missing_seeds(study: Study, setting: Setting, entry: Entry) -> Cell:
    missing = study.missing(setting, entry)
    which = ", ".join(map(str, missing)) or "none"
    return Cell(which, (len(missing), which))


def _cost(title: str, of: Callable[[dict[str, Any]], float], digits: int = 0) -> Column:
    """Mean of what the numbers of runs say that they cost."""
    cell = lambda study, *place: mean_cell([float(of(run.numbers)) for run in study.of(*place)], digits)
    return Column(title, cell, MEAN)


def _memory(study: Study, setting: Setting, entry: Entry) -> Cell:
    return number(max((run.numbers["peak_rss_mb"] for run in study.of(setting, entry)), default=None), "{:.0f}")


RELATIVE = Column("relative coverage %", lambda study, *place: mean_cell(study.relative(*place), 1), MEAN)
SEEDS = Column("seeds", lambda study, *place: number(len(study.of(*place))))
MISSING_SEEDS = Column("missing seeds", _missing_seeds, ("number", "which"))
CPU = _cost("CPU seconds", lambda numbers: numbers["cpu_seconds"])
WALL = _cost("wall seconds", lambda numbers: numbers["wall_seconds"])
RATE = _cost("CPU seconds per 100,000 samples", lambda numbers: 1e5 * numbers["cpu_seconds"] / numbers["samples"], 1)
MEMORY = Column("largest peak memory, MB", _memory)


def study_tables(study: Study) -> list[Table]:
    """All tables, the most important first."""
    aggregates = [aggregate(study, metric) for metric in study.ranked]
    return [first(study), table_1(study), numbers(study), tests(study), *aggregates, cost(study)]


def numbers(study: Study) -> Table:
    """Every metric of every method on every task."""
    note = (
        "Coverage: cells that training visited; skill coverage: cells that the learnt skills reach by themselves; "
        "distinctness: how much a cell tells of the skill, from 0 to 1. Controls learn nothing. "
        "Missing seeds are those that other runs on the task have."
    )
    shown = [TASK, METHOD, *map(means, study.tabled), RELATIVE, MISSING_SEEDS]
    return listed(shown, places(study, as_shipped=True), "numbers", "All numbers", note, 1)


def cost(study: Study) -> Table:
    shown = [TASK, METHOD, CPU, WALL, RATE, MEMORY]
    return listed(shown, places(study, as_shipped=True), "cost", "Cost", "Of one run.", 1)


def tests(study: Study) -> Table:
    """Welch's tests of LEADS against everybody else, and of the best method against the next two."""
    rows = []
    for setting in study.settings:
        found = [entry for entry in study.entries if study.of(setting, entry)]
        ranked = sorted(found, key=lambda entry: -mean(study.values(setting, entry, COVERAGE)))
        pairs = [(SHIPPED, other) for other in found if SHIPPED in found and other != SHIPPED]
        pairs += [(ranked[0], other) for other in ranked[1:3] if SHIPPED not in (ranked[0], other)]
        rows += [(study, setting, *pair) for pair in pairs]
    note = (
        "Welch's two-sided t-test: LEADS against every other, and the highest coverage against the next two. Missing: "
        "fewer than two runs on a side. No correction for the number of tests is made."
    )
    return listed([TASK, METHOD, tables.AGAINST, *map(tested, study.tabled)], rows, "tests", "Tests", note, 2)


def aggregate(study: Study, metric: Metric) -> Table:
    """Over settings: interquartile means, and how probably LEADS is better."""
    among = lambda entry: [setting for setting in study.contested if study.values(setting, entry, metric)]
    rows = [(entry, among(entry), study.scores(entry, metric, among(entry))) for entry in study.entries]
    average = lambda scores: mean(float(of.mean()) for of in scores) if scores else None
    better = lambda entry, among, _: _better_cell(study, entry, metric, among)
    parts = ("", "low", "high")
    head = [
        Column("method", lambda entry, among, scores: word(entry.title)),
        Column("settings", lambda entry, among, _: number(len(among), f"{{}} of {len(study.contested)}")),
        Column("runs", lambda entry, among, scores: number(sum(map(len, scores)))),
        Column(f"interquartile mean [{INTERVAL}]", lambda entry, among, scores: _interval_cell(iqm, scores), parts),
        Column("mean", lambda entry, among, scores: number(average(scores), "{:.3f}")),
        Column(f"probability that LEADS is better [{INTERVAL}]", better, parts),
    ]
    note = (
        f"Of relative {metric.title}, from 0 to 1, in settings (a task with its options and samples) that at "
        "least two methods have runs of. The interquartile mean is over all runs, the mean over settings. Intervals by "
        "the stratified bootstrap over runs, if there are two or more in every setting. Methods with runs in different "
        "settings cannot be compared by their means; the probability is over settings that both have."
    )
    return listed(head, rows, f"aggregate_{metric.file_name}", f"Over all settings, {metric.title}", note)


def _better_cell(study: Study, entry: Entry, metric: Metric, among: list[Setting]) -> Cell:
    """The probability that LEADS is better, over the settings of `among` that it has too."""
    common = [setting for setting in among if study.values(setting, SHIPPED, metric)]
    both = [study.scores(one, metric, common) for one in (SHIPPED, entry)]
    return Cell("-") if entry == SHIPPED else _interval_cell(improvement, *both)


def _interval_cell(statistic: Callable[..., np.ndarray], *methods: Scores) -> Cell:
    """With its interval, which single runs do not have."""
    if not methods[0]:
        return Cell(tables.MISSING)
    value = float(statistic(*methods))
    if min(len(runs) for scores in methods for runs in scores) < 2:
        return number(value, "{:.3f}")
    low, high = map(float, interval(statistic, *methods))
    return Cell(f"{value:.3f} [{low:.3f}, {high:.3f}]", (value, low, high))


def in_short(study: Study, metrics: Sequence[Metric]) -> Table:
    """Means of several metrics, one column per setting."""

    def text(setting: Setting, entry: Entry) -> str:
        found = ((metric, study.values(setting, entry, metric)) for metric in metrics)
        return " / ".join(replace(metric, unit="").text(mean(of) if of else None) for metric, of in found)

    return _side_by_side(study, text)


def deviations(study: Study, metric: Metric) -> Table:
    """Mean and standard deviation of one metric, one column per setting."""
    return _side_by_side(study, lambda s, entry: tables.mean_std(study.values(s, entry, metric), metric.digits))


def _side_by_side(study: Study, text: Callable[[Setting, Entry], str]) -> Table:
    """LEADS is bold, and what was not run is a dash; entries without any run have no row."""
    name = Column("method", lambda entry: replace(word(entry.title), bold=entry.method == SHIPPED.method))
    shown = lambda setting: lambda entry: word(text(setting, entry) if study.of(setting, entry) else "-")
    columns = [name, *(Column(setting.title, shown(setting)) for setting in study.settings)]
    return listed(columns, [(entry,) for entry in study.entries if study.covered(entry)])
