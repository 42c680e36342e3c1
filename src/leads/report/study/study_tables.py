"""The tables of a report."""

from collections.abc import Callable
from statistics import mean

import numpy as np

from leads.report.study import columns
from leads.report.study.entry import SHIPPED, Entry
from leads.report.study.first import first
from leads.report.study.paper_table import table_1
from leads.report.study.result import COVERAGE
from leads.report.study.setting import Setting
from leads.report.study.statistics import CONFIDENCE, Scores, improvement, interval, iqm
from leads.report.study.study import Study
from leads.report.study.tables import MISSING, Cell, Column, Table, number, word
from leads.training.metrics import Metric

INTERVAL = f"{CONFIDENCE:.0%} interval"


def study_tables(study: Study) -> list[Table]:
    """All tables, the most important first."""
    return [
        first(study),
        table_1(study),
        numbers(study),
        tests(study),
        *(aggregate(study, metric) for metric in study.ranked),
        cost(study),
    ]


def numbers(study: Study) -> Table:
    """Every metric of every method on every task."""
    note = (
        "Coverage: cells that training visited; skill coverage: cells that the learnt skills reach by themselves; "
        "distinctness: how much a cell tells of the skill, from 0 to 1. Controls learn nothing. "
        "Missing seeds are those that other runs on the task have."
    )
    shown = [columns.TASK, columns.METHOD, *columns.means(study.tabled), columns.RELATIVE, columns.MISSING_SEEDS]
    return columns.listed(study, shown, _places(study), ("numbers", "All numbers", note))


def cost(study: Study) -> Table:
    return columns.listed(
        study,
        [columns.TASK, columns.METHOD, columns.CPU, columns.WALL, columns.RATE, columns.MEMORY],
        _places(study),
        ("cost", "Cost", "Of one run."),
    )


def _places(study: Study) -> list[tuple[Setting, Entry]]:
    """Every method in every setting, with or without runs, and variants where they have runs."""
    return [
        (setting, entry)
        for setting in study.settings
        for entry in study.entries
        if not entry.options or study.of(setting, entry)
    ]


def tests(study: Study) -> Table:
    """Welch's tests of LEADS against everybody else, and of the best method against the next two."""
    rows = []
    for setting in study.settings:
        found = [entry for entry in study.entries if study.of(setting, entry)]
        ranked = sorted(found, key=lambda entry: -mean(study.values(setting, entry, COVERAGE)))
        pairs = [(SHIPPED, other) for other in found if SHIPPED in found and other != SHIPPED]
        pairs += [(ranked[0], other) for other in ranked[1:3] if SHIPPED not in (ranked[0], other)]
        for pair in pairs:
            cells = [columns.tested(study, setting, pair, metric) for metric in study.tabled]
            rows.append([word(setting.title), *(word(entry.title) for entry in pair), *cells])
    head = [Column("task"), Column("method"), Column("against")]
    head += [Column(metric.label, columns.TEST_PARTS) for metric in study.tabled]
    note = (
        "Welch's two-sided t-test: LEADS against every other, and the highest coverage against the next two. Missing: "
        "fewer than two runs on a side. No correction for the number of tests is made."
    )
    return Table("tests", "Tests", note, head, rows, named_by=2)


def aggregate(study: Study, metric: Metric) -> Table:
    """Over settings: interquartile means, and how probably LEADS is better."""
    rows = []
    for entry in study.entries:
        among = [setting for setting in study.contested if study.values(setting, entry, metric)]
        scores = study.scores(entry, metric, among)
        n, means_of = sum(map(len, scores)), [float(of.mean()) for of in scores]
        row = [word(entry.title), number(len(among), f"{len(among)} of {len(study.contested)}"), number(n, str(n))]
        row.append(_interval_cell(iqm, scores) if scores else Cell(MISSING))
        row.append(Cell(f"{mean(means_of):.3f}", (mean(means_of),)) if scores else Cell(MISSING))
        rows.append([*row, _better_cell(study, entry, metric, among)])
    parts = ("", "low", "high")
    head = [
        *(Column("method"), Column("settings"), Column("runs")),
        *(Column(f"interquartile mean [{INTERVAL}]", parts), Column("mean")),
        Column(f"probability that LEADS is better [{INTERVAL}]", parts),
    ]
    note = (
        f"Of relative {metric.title}, from 0 to 1, in settings (a task with its options and samples) that at "
        "least two methods have runs of. The interquartile mean is over all runs, the mean over settings. Intervals by "
        "the stratified bootstrap over runs, if there are two or more in every setting. Methods with runs in different "
        "settings cannot be compared by their means; the probability is over settings that both have."
    )
    return Table(f"aggregate_{metric.file_name}", f"Over all settings, {metric.title}", note, head, rows)


def _better_cell(study: Study, entry: Entry, metric: Metric, among: list[Setting]) -> Cell:
    """The probability that LEADS is better, over the settings of `among` that it has too."""
    common = [setting for setting in among if study.values(setting, SHIPPED, metric)]
    if entry == SHIPPED:
        return Cell("-")
    return (
        _interval_cell(improvement, *(study.scores(e, metric, common) for e in (SHIPPED, entry)))
        if common
        else Cell(MISSING)
    )


def _interval_cell(statistic: Callable[..., np.ndarray], *methods: Scores) -> Cell:
    """With its interval, which single runs do not have."""
    value = float(statistic(*methods))
    if min(len(runs) for scores in methods for runs in scores) < 2:
        return Cell(f"{value:.3f}", (value,))
    low, high = map(float, interval(statistic, *methods))
    return Cell(f"{value:.3f} [{low:.3f}, {high:.3f}]", (value, low, high))
