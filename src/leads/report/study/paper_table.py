"""The paper's Table 1 with ours beside it."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import mean

from leads.report.study.entry import Entry
from leads.report.study.first import best_entry, is_significant
from leads.report.study.setting import PAPER_RUNS, Setting
from leads.report.study.statistics import SIGNIFICANT, welch_of_published
from leads.report.study.study import Study
from leads.report.study.tables import MEAN_PARTS, Cell, Column, Table, mean_cell, word


def table_1(study: Study) -> Table:
    columns, rows = [Column("method")], [[word(entry.title)] for entry in study.entries]
    parts, in_paper = (*MEAN_PARTS, "bold"), set[str]()
    for setting in study.settings:
        published, best = published_best(setting), best_entry(study, setting)
        if setting.published and setting.task not in in_paper:
            in_paper.add(setting.task)
            columns.append(Column(f"{setting.paper_title}: paper", parts))
            for entry, row in zip(study.entries, rows, strict=True):
                row.append(_with_rule(_published_cell(_published(setting, entry), entry.method == published)))
        columns.append(Column(f"{setting.title}: ours", parts))
        for entry, row in zip(study.entries, rows, strict=True):
            row.append(_with_rule(_our_cell(study, setting, entry, entry == best)))
    note = (
        "Relative coverage in percent of the largest of any run on the task: mean ± standard deviation (the paper's of "
        f"the population, ours of the sample). Bold: above every other method with p < {SIGNIFICANT:g} (Welch's test), "
        "in our runs also above all variants of other methods and the controls. Below: our mean is less than the "
        "paper's minus its standard deviation."
    )
    return Table("table1", "Table 1, final coverage", note, columns, rows)


def published_best(setting: Setting) -> str | None:
    """The method that the same rule makes bold in the paper's numbers."""
    for method, ours in setting.published.items():
        others = [theirs for other, theirs in setting.published.items() if other != method]
        if all(ours[0] > them[0] and is_significant(welch_of_published(ours, them, PAPER_RUNS)) for them in others):
            return method
    return None


def _published(setting: Setting, entry: Entry) -> list[float] | None:
    return None if entry.options else setting.published.get(entry.method)


def _published_cell(numbers: Sequence[float] | None, bold: bool) -> Cell:
    if numbers is None:
        return Cell("-")
    return Cell(f"{numbers[0]:.1f} ± {numbers[1]:.1f} (n = {PAPER_RUNS})", (*numbers, PAPER_RUNS), bold)


def _our_cell(study: Study, setting: Setting, entry: Entry, bold: bool) -> Cell:
    ours, theirs = study.relative(setting, entry), _published(setting, entry) if setting.is_papers else None
    is_below = ours and theirs and mean(ours) < theirs[0] - theirs[1]
    return mean_cell(ours, 1, bold, "(n = {n}, below)" if is_below else "(n = {n})")


def _with_rule(cell: Cell) -> Cell:
    """With a number that says whether it is bold."""
    return replace(cell, values=(*cell.values, int(cell.bold))) if cell.values else cell
