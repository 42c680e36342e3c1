"""Tables with one row per entry and one column per setting."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import mean

from leads.report.study.entry import Entry
from leads.report.study.setting import Setting
from leads.report.study.study import Study
from leads.report.study.tables import Cell, Column, Table, mean_std, word
from leads.training.metrics import Metric


def in_short(study: Study, metrics: Sequence[Metric]) -> Table:
    """Means of several metrics in every cell."""

    def cell(setting: Setting, entry: Entry) -> Cell:
        found = ((metric, study.values(setting, entry, metric)) for metric in metrics)
        return word(" / ".join(replace(metric, unit="").text(mean(of) if of else None) for metric, of in found))

    return _side_by_side(study, cell)


def deviations(study: Study, metric: Metric) -> Table:
    """Mean and standard deviation of one metric."""
    cell = lambda setting, entry: word(mean_std(study.values(setting, entry, metric), metric.digits))
    return _side_by_side(study, cell)


def _side_by_side(study: Study, cell: Callable[[Setting, Entry], Cell]) -> Table:
    """LEADS is bold, and what was not run is a dash; entries without any run have no row."""
    shown = lambda setting, entry: cell(setting, entry) if study.of(setting, entry) else Cell("-")
    entries = [entry for entry in study.entries if study.covered(entry)]
    rows = [[replace(word(e.title), bold=e.is_ours), *(shown(s, e) for s in study.settings)] for e in entries]
    return Table("", "", "", [Column("method"), *(Column(setting.title) for setting in study.settings)], rows)
