"""Who is first: the highest mean of every metric, and whether that is sure."""

from statistics import mean

from leads.methods import METHODS
from leads.report.study.entry import SHIPPED, Entry
from leads.report.study.result import COVERAGE
from leads.report.study.setting import PAPER, Setting
from leads.report.study.statistics import SIGNIFICANT, welch
from leads.report.study.study import Study
from leads.report.study.tables import MISSING, Cell, Column, Table, compared, mean_std, word
from leads.training.metrics import Metric


def first(study: Study) -> Table:
    """Who has the highest of every metric, setting by setting."""
    rows = []
    for setting in study.settings:
        found = {entry.method for entry in study.entries if study.of(setting, entry)}
        missing = [Entry(method).title for method in METHODS if method not in found]
        cells = [_holders_cell(study, setting, metric) for metric in study.tabled]
        rows.append([word(setting.title), *cells, word(_surely(study, setting)), word(", ".join(missing) or "none")])
    columns = [
        Column("task"),
        *(Column(metric.label, ("highest", "holders")) for metric in study.tabled),
        Column("significantly above all others in coverage"),
        Column("methods without runs"),
    ]
    note = (
        "The highest mean of every metric and who has it, variants of LEADS aside; means that read the same are ties. "
        "Bold: LEADS is among them, and others have runs. Controls learn nothing, but count: far-reaching noise is not "
        f"a set of skills. Significantly: p < {SIGNIFICANT:g} (Welch's test) against every other method and control."
    )
    return Table("first", "Who is first", note, columns, rows)


def headline(study: Study) -> str:
    """In how many settings LEADS as it ships has the highest mean of what it is judged by, ties included.

    Only settings count in which another method that learns has runs; there the controls are to be beaten too.
    """
    rivals = [entry for entry in study.entries if entry.learns and not entry.is_ours]
    beside_others = lambda setting: study.of(setting, SHIPPED) and any(study.of(setting, entry) for entry in rivals)
    here = [setting for setting in study.settings if beside_others(setting)]
    words = [] if here else ["this cannot be told without runs of LEADS as it ships beside other methods'"]
    for metric in study.judged if here else ():
        lost = [setting.title for setting in here if SHIPPED not in highest(study, setting, metric)]
        but = f" (not in {'; '.join(lost)})" if lost else ""
        among = f"{len(here) - len(lost)} of {len(here)} settings with other methods"
        words.append(f"highest {metric.title} in {among}{but}")
    unseen = [task for task in PAPER["budgets_samples"] if task not in {setting.task for setting in study.settings}]
    without = f" Tasks of the paper without runs: {', '.join(unseen)}." if unseen else ""
    return f"{', '.join(words)}.{without}"


def highest(study: Study, setting: Setting, metric: Metric) -> list[Entry]:
    """All with the highest mean; variants of LEADS do not count against it."""
    judged = [entry for entry in study.entries if not (entry.is_ours and entry.options)]
    return _tops({entry: of for entry in judged if (of := study.values(setting, entry, metric))}, metric)


def _tops(values: dict[Entry, list[float]], metric: Metric) -> list[Entry]:
    """All with the highest mean, in the digits that are shown."""
    means = {entry: round(mean(of), metric.digits) for entry, of in values.items()}
    return [entry for entry, value in means.items() if value == max(means.values())]


def against_the_best(study: Study) -> Table:
    """Who has the highest mean of every metric, and how the first entry compares with the best of the others."""
    columns = [Column("task"), *(Column(metric.label) for metric in study.tabled)]
    cell = lambda setting, metric: word(_against_the_best(study, setting, metric))
    rows = [[word(s.title), *(cell(s, metric) for metric in study.tabled)] for s in study.settings]
    return Table("", "", "", columns, rows)


def _against_the_best(study: Study, setting: Setting, metric: Metric) -> str:
    """Ties are told without a test."""
    values = {entry: of for entry in study.entries if (of := study.values(setting, entry, metric))}
    ours, others = study.entries[0], [entry for entry in values if entry != study.entries[0]]
    if ours not in values or not others:
        return MISSING
    rival, holders = max(others, key=lambda entry: mean(values[entry])), _tops(values, metric)
    test = compared(values[ours], values[rival])
    if holders == [ours]:
        return f"{ours.title}; {test.replace('above', f'above {rival.title}')}"
    names = ", ".join(entry.title for entry in holders)
    return names if ours in holders else f"{names}; {ours.title} is {test}"


def best_entry(study: Study, setting: Setting) -> Entry | None:
    """The entry whose coverage is significantly above that of every other method; of several, the highest."""
    scored = {entry: of for entry in study.entries if (of := study.values(setting, entry, COVERAGE))}
    ahead = []
    for entry, ours in scored.items():
        others = [theirs for other, theirs in scored.items() if other.method != entry.method]
        if others and all(mean(ours) > mean(theirs) and is_significant(welch(ours, theirs)) for theirs in others):
            ahead.append(entry)
    return max(ahead, key=lambda entry: mean(scored[entry]), default=None)


def is_significant(p: float | None) -> bool:
    return p is not None and p < SIGNIFICANT


def _surely(study: Study, setting: Setting) -> str:
    if setting not in study.contested:
        return "no other method to compare with" if study.largest(setting, COVERAGE) else "no finished run"
    best = best_entry(study, setting)
    if best is None and any(len(study.of(setting, entry)) == 1 for entry in study.entries):
        return "no test can be made: some methods have one run only"
    return "nobody" if best is None else best.title


def _holders_cell(study: Study, setting: Setting, metric: Metric) -> Cell:
    holders = highest(study, setting, metric)
    if not holders:
        return Cell(MISSING)
    values, titles = study.values(setting, holders[0], metric), ", ".join(entry.title for entry in holders)
    ours = SHIPPED in holders and setting in study.contested
    return Cell(f"{mean_std(values, metric.digits)}: {titles}", (mean(values), titles), ours)
