"""Who is first: the highest mean of every metric, and whether that is sure; in the paper's numbers too."""

from dataclasses import replace
from statistics import mean

from leads.methods import METHODS
from leads.report.study.result import COVERAGE, PAPER, PAPER_RUNS, SHIPPED, Entry, Setting
from leads.report.study.statistics import SIGNIFICANT, welch, welch_of_published
from leads.report.study.study import Study
from leads.report.study.tables import (
    MISSING,
    TASK,
    Cell,
    Column,
    Table,
    compared,
    listed,
    mean_cell,
    mean_std,
    where_known,
    word,
)
from leads.report.style import short
from leads.training.metrics import Metric


def first(study: Study) -> Table:
    """Who has the highest of every metric, setting by setting."""

    def without_runs(study: Study, setting: Setting) -> Cell:
        found = {entry.method for entry in study.entries if study.of(setting, entry)}
        return word(", ".join(Entry(method).title for method in METHODS if method not in found) or "none")

    columns = [
        *(TASK, *map(_holders, study.tabled)),
        Column("significantly above all others in coverage", lambda *place: word(_surely(*place))),
        Column("methods without runs", without_runs),
    ]
    note = (
        "The highest mean of every metric and who has it, variants of LEADS aside; means that read the same are ties. "
        "Bold: LEADS is among them, and others have runs. Controls learn nothing, but count: far-reaching noise is not "
        f"a set of skills. Significantly: p < {SIGNIFICANT:g} (Welch's test) against every other method and control."
    )
    return listed(columns, [(study, setting) for setting in study.settings], "first", "Who is first", note)


def _holders(metric: Metric) -> Column:
    def cell(study: Study, setting: Setting) -> Cell:
        holders = highest(study, setting, metric)
        if not holders:
            return Cell(MISSING)
        values, titles = study.values(setting, holders[0], metric), ", ".join(entry.title for entry in holders)
        ours = SHIPPED in holders and setting in study.contested
        return Cell(f"{mean_std(values, metric.digits)}: {titles}", (mean(values), titles), ours)

    return Column(metric.label, where_known(metric, cell), ("highest", "holders"))


def _surely(study: Study, setting: Setting) -> str:
    if setting not in study.contested:
        return "no other method to compare with" if study.largest(setting, COVERAGE) else "no finished run"
    best = best_entry(study, setting)
    if best is None and any(len(study.of(setting, entry)) == 1 for entry in study.entries):
        return "no test can be made: some methods have one run only"
    return "nobody" if best is None else best.title


def headline(study: Study) -> str:
    """In how many settings LEADS as it ships has the highest mean of what it is judged by, ties included.

    Only settings count in which another method that learns has runs; there the controls are to be beaten too.
    """
    rivals = [entry for entry in study.entries if entry.learns and entry.method != SHIPPED.method]
    beside_others = lambda setting: study.of(setting, SHIPPED) and any(study.of(setting, entry) for entry in rivals)
    here = [setting for setting in study.settings if beside_others(setting)]
    words = [] if here else ["this cannot be told without runs of LEADS as it ships beside other methods'"]
    for metric in (metric for metric in study.metrics if metric.judged and here):
        lost = [setting.title for setting in here if SHIPPED not in highest(study, setting, metric)]
        but = f" (not in {'; '.join(lost)})" if lost else ""
        among = f"{len(here) - len(lost)} of {len(here)} settings with other methods"
        words.append(f"highest {metric.title} in {among}{but}")
    unseen = [task for task in PAPER["budgets_samples"] if task not in {setting.task for setting in study.settings}]
    without = f" Tasks of the paper without runs: {', '.join(unseen)}." if unseen else ""
    return f"{', '.join(words)}.{without}"


def highest(study: Study, setting: Setting, metric: Metric) -> list[Entry]:
    """All with the highest mean; variants of LEADS do not count against it."""
    judged = [entry for entry in study.entries if entry.method != SHIPPED.method or not entry.options]
    return _tops(_values(study, setting, metric, judged), metric)


def _values(study: Study, setting: Setting, metric: Metric, entries: list[Entry]) -> dict[Entry, list[float]]:
    """A metric by entry, of those that have it."""
    return {entry: of for entry in entries if (of := study.values(setting, entry, metric))}


def _tops(values: dict[Entry, list[float]], metric: Metric) -> list[Entry]:
    """All with the highest mean, in the digits that are shown."""
    means = {entry: round(mean(of), metric.digits) for entry, of in values.items()}
    return [entry for entry, value in means.items() if value == max(means.values())]


def against_the_best(study: Study) -> Table:
    """Who has the highest mean of every metric, and how the first entry compares with the best of the others."""
    return listed([TASK, *map(against_best, study.tabled)], [(study, setting) for setting in study.settings])


def against_best(metric: Metric) -> Column:
    """Ties are told without a test."""

    def text(study: Study, setting: Setting) -> str:
        values, ours = _values(study, setting, metric, study.entries), study.entries[0]
        others = [entry for entry in values if entry != ours]
        if ours not in values or not others:
            return MISSING
        rival, holders = max(others, key=lambda entry: mean(values[entry])), _tops(values, metric)
        test = compared(values[ours], values[rival])
        if holders == [ours]:
            return f"{ours.title}; {test.replace('above', f'above {rival.title}')}"
        names = ", ".join(entry.title for entry in holders)
        return names if ours in holders else f"{names}; {ours.title} is {test}"

    return Column(metric.label, where_known(metric, lambda study, setting, *_: word(text(study, setting))))


def best_entry(study: Study, setting: Setting) -> Entry | None:
    """The entry whose coverage is significantly above that of every other method; of several, the highest."""
    scored, ahead = _values(study, setting, COVERAGE, study.entries), []
    for entry, ours in scored.items():
        others = [theirs for other, theirs in scored.items() if other.method != entry.method]
        if others and all(mean(ours) > mean(theirs) and is_significant(welch(ours, theirs)) for theirs in others):
            ahead.append(entry)
    return max(ahead, key=lambda entry: mean(scored[entry]), default=None)


def published_best(setting: Setting) -> str | None:
    """The method that the same rule makes bold in the paper's numbers."""
    for method, ours in setting.published.items():
        others = [theirs for other, theirs in setting.published.items() if other != method]
        if all(ours[0] > them[0] and is_significant(welch_of_published(ours, them, PAPER_RUNS)) for them in others):
            return method
    return None


def is_significant(p: float | None) -> bool:
    return p is not None and p < SIGNIFICANT


def table_1(study: Study) -> Table:
    """The paper's Table 1 with ours beside it."""
    columns = [Column("method", lambda entry: word(entry.title))]
    in_paper = {setting.task: setting for setting in reversed(study.settings) if setting.published}
    for setting in study.settings:
        columns += [_papers(setting)] if in_paper.get(setting.task) == setting else []
        columns.append(_ours(study, setting))
    note = (
        "Relative coverage in percent of the largest of any run on the task: mean ± standard deviation (the paper's of "
        f"the population, ours of the sample). Bold: above every other method with p < {SIGNIFICANT:g} (Welch's test), "
        "in our runs also above all variants of other methods and the controls. Below: our mean is less than the "
        "paper's minus its standard deviation."
    )
    return listed(columns, [(entry,) for entry in study.entries], "table1", "Table 1, final coverage", note)


TABLE_1_PARTS = ("mean", "std", "n", "bold")


def _papers(setting: Setting) -> Column:
    """The paper's numbers, named by its samples if ours are others."""
    best = published_best(setting)

    def cell(entry: Entry) -> Cell:
        if entry.options or entry.method not in setting.published:
            return Cell("-")
        (mean, std), bold = setting.published[entry.method], entry.method == best
        return Cell(f"{mean:.1f} ± {std:.1f} (n = {PAPER_RUNS})", (mean, std, PAPER_RUNS, int(bold)), bold)

    title = setting.title if setting.is_papers else f"{setting.task}, {short(setting.budget or 0)} samples"
    return Column(f"{title}: paper", cell, TABLE_1_PARTS)


def _ours(study: Study, setting: Setting) -> Column:
    best = best_entry(study, setting)

    def cell(entry: Entry) -> Cell:
        ours, papers = study.relative(setting, entry), setting.is_papers and not entry.options
        theirs = setting.published.get(entry.method) if papers else None
        is_below = ours and theirs and mean(ours) < theirs[0] - theirs[1]
        shown = mean_cell(ours, 1, entry == best, ", below" if is_below else "")
        return replace(shown, values=(*shown.values, int(shown.bold))) if ours else shown

    return Column(f"{setting.title}: ours", cell, TABLE_1_PARTS)
