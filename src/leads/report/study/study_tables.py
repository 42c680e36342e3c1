"""The tables of a study: Table 1 beside the paper's, all numbers, tests between methods, aggregates, cost."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import mean

import numpy as np

from leads.methods import METHODS
from leads.report.study.statistics import (
    CONFIDENCE,
    SIGNIFICANT,
    Scores,
    improvement,
    interval,
    iqm,
    welch,
    welch_of_published,
)
from leads.report.study.study import BOTH, PAPER, PAPER_RUNS, Entry, Setting, Study
from leads.report.study.tables import MEAN_PARTS, Cell, Column, Table, compared, mean_cell, mean_std, number, word

TITLES = {
    "coverage": "coverage %",
    "coverage_fine": "fine coverage %",
    "skill_coverage": "skill coverage %",
    "distinctness": "distinctness",
    BOTH: "skill coverage % times distinctness",
}
"""The numbers in tables."""
JUDGED = ("coverage_fine", BOTH)
"""In what LEADS is to be the best of all."""
RANKED = ("coverage", "skill_coverage", BOTH)
"""Numbers that are aggregated over tasks."""
INTERVAL = f"{CONFIDENCE:.0%} interval"


def study_tables(study: Study) -> list[Table]:
    """All tables, the most important first."""
    return [
        first(study),
        table_1(study),
        numbers(study),
        tests(study),
        *(aggregate(study, name) for name in RANKED),
        cost(study),
    ]


def digits(name: str) -> int:
    return 2 if name == "distinctness" else 1


def named(name: str) -> str:
    """A number in a sentence."""
    return TITLES[name].replace(" %", "")


def in_files(name: str) -> str:
    """A number in the name of a file."""
    return name.replace(" ", "_")


def table_1(study: Study) -> Table:
    """The paper's Table 1 with ours beside it."""
    columns, rows = [Column("method")], [[word(entry.title)] for entry in study.entries]
    parts, in_paper = (*MEAN_PARTS, "bold"), set[str]()
    for setting in study.settings:
        published, best = published_best(setting), best_entry(study, setting)
        if setting.published and setting.task not in in_paper:
            in_paper.add(setting.task)
            columns.append(Column(f"{setting.paper_title}: paper", parts))
            for entry, row in zip(study.entries, rows, strict=True):
                numbers = None if entry.fields else setting.published.get(entry.method)
                row.append(_with_rule(_published_cell(numbers, entry.method == published)))
        columns.append(Column(f"{setting.title}: ours", parts))
        for entry, row in zip(study.entries, rows, strict=True):
            row.append(_with_rule(mean_cell(study.relative(setting, entry), 1, entry == best)))
    note = (
        "Relative coverage in percent of the largest of any run on the task: mean ± standard deviation (the paper's of "
        f"the population, ours of the sample). Bold: above every other method with p < {SIGNIFICANT:g} (Welch's test), "
        "in our runs also above all variants of other methods and the controls."
    )
    return Table("table1", "Table 1, final coverage", note, columns, rows)


def _with_rule(cell: Cell) -> Cell:
    """With a number that says whether it is bold."""
    return replace(cell, values=(*cell.values, int(cell.bold))) if cell.values else cell


def _published_cell(numbers: Sequence[float] | None, bold: bool) -> Cell:
    if numbers is None:
        return Cell("-")
    return Cell(f"{numbers[0]:.1f} ± {numbers[1]:.1f} (n = {PAPER_RUNS})", (*numbers, PAPER_RUNS), bold)


def best_entry(study: Study, setting: Setting) -> Entry | None:
    """The entry that is significantly above all of every other method; if several of one method are, the highest."""
    scored = {entry: study.values(setting, entry, "coverage") for entry in study.entries if study.of(setting, entry)}
    ahead = []
    for entry, ours in scored.items():
        others = [theirs for other, theirs in scored.items() if other.method != entry.method]
        if others and all(mean(ours) > mean(theirs) and _significant(welch(ours, theirs)) for theirs in others):
            ahead.append(entry)
    return max(ahead, key=lambda entry: mean(scored[entry]), default=None)


def published_best(setting: Setting) -> str | None:
    """The method that the same rule makes bold in the paper's numbers."""
    for method, ours in setting.published.items():
        others = [theirs for other, theirs in setting.published.items() if other != method]
        if all(ours[0] > them[0] and _significant(welch_of_published(ours, them, PAPER_RUNS)) for them in others):
            return method
    return None


def _significant(p: float | None) -> bool:
    return p is not None and p < SIGNIFICANT


def numbers(study: Study) -> Table:
    """Every number of every method on every task."""
    rows = []
    for setting, entry in shown(study):
        missing = study.missing(setting, entry)
        row = [word(setting.title), word(entry.title)]
        row += [mean_cell(study.values(setting, entry, name), digits(name)) for name in TITLES]
        which = ", ".join(map(str, missing)) or "none"
        row += [mean_cell(study.relative(setting, entry), 1), Cell(which, (len(missing), which))]
        rows.append(row)
    columns = [*(Column(title, MEAN_PARTS) for title in TITLES.values()), Column("relative coverage %", MEAN_PARTS)]
    note = (
        "Coverage: cells that training visited; skill coverage: cells that the learnt skills reach by themselves; "
        "distinctness: how much a cell tells of the skill, from 0 to 1. Controls learn nothing. "
        "Missing seeds are those that other runs on the task have."
    )
    columns = [Column("task"), Column("method"), *columns, Column("missing seeds", ("number", "which"))]
    return Table("numbers", "All numbers", note, columns, rows, named_by=1)


def shown(study: Study) -> list[tuple[Setting, Entry]]:
    """Every method in every setting, with or without runs, and variants where they have runs."""
    return [
        (setting, entry)
        for setting in study.settings
        for entry in study.entries
        if not entry.fields or study.of(setting, entry)
    ]


def tests(study: Study) -> Table:
    """Welch's tests of LEADS against everybody else, and of the best method against the next two."""
    rows, leads = [], Entry("leads")
    for setting in study.settings:
        found = [entry for entry in study.entries if study.of(setting, entry)]
        ranked = sorted(found, key=lambda entry: -mean(study.values(setting, entry, "coverage")))
        pairs = [(leads, other) for other in found if leads in found and other != leads]
        pairs += [(ranked[0], other) for other in ranked[1:3] if leads not in (ranked[0], other)]
        for ours, theirs in pairs:
            cells = [_test_cell(study, setting, ours, theirs, name) for name in TITLES]
            rows.append([word(setting.title), word(ours.title), word(theirs.title), *cells])
    columns = [
        Column("task"),
        Column("method"),
        Column("against"),
        *(Column(title, ("p", "difference", "n", "n of the other")) for title in TITLES.values()),
    ]
    note = (
        "Welch's two-sided t-test: LEADS against every other, and the highest coverage against the next two. Missing: "
        "fewer than two runs on a side. No correction for the number of tests is made."
    )
    return Table("tests", "Tests", note, columns, rows, named_by=2)


def _test_cell(study: Study, setting: Setting, ours: Entry, theirs: Entry, name: str) -> Cell:
    a, b = study.values(setting, ours, name), study.values(setting, theirs, name)
    p = welch(a, b)
    if p is None:
        return Cell(compared(a, b))
    return Cell(f"{compared(a, b)} (n = {len(a)}, {len(b)})", (p, mean(a) - mean(b), len(a), len(b)))


def aggregate(study: Study, name: str) -> Table:
    """Over settings: interquartile means, and how probably LEADS is better."""
    rows, leads = [], Entry("leads")
    for entry in study.entries:
        among = [setting for setting in study.contested if study.values(setting, entry, name)]
        scores = study.scores(entry, name, among)
        row = [word(entry.title), number(len(among), f"{len(among)} of {len(study.contested)}")]
        row.append(number(n := sum(map(len, scores)), str(n)))
        if scores:
            means = [float(of.mean()) for of in scores]
            row += [_interval_cell(iqm, scores), Cell(f"{mean(means):.3f}", (mean(means),))]
        else:
            row += [Cell("missing"), Cell("missing")]
        common = [setting for setting in among if study.values(setting, leads, name)]
        if entry == leads:
            row.append(Cell("-"))
        elif common:
            both = study.scores(leads, name, common), study.scores(entry, name, common)
            row.append(_interval_cell(improvement, *both))
        else:
            row.append(Cell("missing"))
        rows.append(row)
    parts = ("", "low", "high")
    columns = [
        *(Column("method"), Column("settings"), Column("runs")),
        *(Column(f"interquartile mean [{INTERVAL}]", parts), Column("mean")),
        Column(f"probability that LEADS is better [{INTERVAL}]", parts),
    ]
    note = (
        f"Of relative {named(name)}, from 0 to 1, in settings (a task with its options and samples) that at "
        "least two methods have runs of. The interquartile mean is over all runs, the mean over settings. Intervals by "
        "the stratified bootstrap over runs, if there are two or more in every setting. Methods with runs in different "
        "settings cannot be compared by their means; the probability is over settings that both have."
    )
    return Table(f"aggregate_{in_files(name)}", f"Over all settings, {named(name)}", note, columns, rows)


def _interval_cell(statistic: Callable[..., np.ndarray], *methods: Scores) -> Cell:
    """With its interval, which single runs do not have."""
    value = float(statistic(*methods))
    if min(len(runs) for scores in methods for runs in scores) < 2:
        return Cell(f"{value:.3f}", (value,))
    low, high = map(float, interval(statistic, *methods))
    return Cell(f"{value:.3f} [{low:.3f}, {high:.3f}]", (value, low, high))


def cost(study: Study) -> Table:
    """What the runs cost."""
    rows = []
    for setting, entry in shown(study):
        of = study.of(setting, entry)
        memory = [result.numbers["peak_rss_mb"] for result in of]
        rate = [1e5 * result.numbers["cpu_seconds"] / result.numbers["samples"] for result in of]
        row = [word(setting.title), word(entry.title)]
        row += [
            mean_cell([float(result.numbers[name]) for result in of], 0) for name in ("cpu_seconds", "wall_seconds")
        ]
        rows.append([*row, mean_cell(rate, 1), number(max(memory, default=None), f"{max(memory, default=0):.0f}")])
    columns = ["CPU seconds", "wall seconds", "CPU seconds per 100,000 samples"]
    return Table(
        *("cost", "Cost", "Of one run."),
        [
            Column("task"),
            Column("method"),
            *(Column(title, MEAN_PARTS) for title in columns),
            Column("largest peak memory, MB"),
        ],
        rows,
        named_by=1,
    )


def headline(study: Study) -> str:
    """In how many settings LEADS as it ships has the highest mean of what it is judged by, ties included.

    Only settings count in which another method that learns has runs; there the controls are to be beaten too.
    """
    leads, among = Entry("leads"), judged_entries(study)
    rivals = [entry for entry in among if entry.method not in ("leads", "random")]
    beside_others = lambda setting: study.of(setting, leads) and any(study.of(setting, entry) for entry in rivals)
    here = [setting for setting in study.settings if beside_others(setting)]
    words = [] if here else ["this cannot be told without runs of LEADS as it ships beside other methods'"]
    for name in JUDGED if here else ():
        lost = [setting.title for setting in here if leads not in _highest(study, setting, name)]
        but = f" (not in {'; '.join(lost)})" if lost else ""
        words.append(
            f"highest {named(name)} in {len(here) - len(lost)} of {len(here)} settings with other methods{but}"
        )
    unseen = [task for task in PAPER["budgets_samples"] if task not in {setting.task for setting in study.settings}]
    without = f" Tasks of the paper without runs: {', '.join(unseen)}." if unseen else ""
    return f"{', '.join(words)}.{without}"


def judged_entries(study: Study) -> list[Entry]:
    """All but LEADS's variants, which do not count against it."""
    return [entry for entry in study.entries if entry.method != "leads" or not entry.fields]


def first(study: Study) -> Table:
    """Who has the highest of every number, setting by setting."""
    rows = []
    for setting in study.settings:
        found = {entry.method for entry in study.entries if study.of(setting, entry)}
        missing = [Entry(method).title for method in METHODS if method not in found]
        cells = [_holders_cell(study, setting, name) for name in TITLES]
        rows.append([word(setting.title), *cells, word(_surely(study, setting)), word(", ".join(missing) or "none")])
    columns = [
        Column("task"),
        *(Column(title, ("highest", "holders")) for title in TITLES.values()),
        Column("significantly above all others in coverage"),
        Column("methods without runs"),
    ]
    note = (
        "The highest mean of every number and whose it is, variants of LEADS aside; means that read the same are ties. "
        "Bold: LEADS is among them, and others have runs. Controls learn nothing, but count: far-reaching noise is not "
        f"a set of skills. Significantly: p < {SIGNIFICANT:g} (Welch's test) against every other method and control."
    )
    return Table("first", "Who is first", note, columns, rows)


def _surely(study: Study, setting: Setting) -> str:
    if setting not in study.contested:
        return "no other method to compare with" if study.largest(setting, "coverage") else "no finished run"
    best = best_entry(study, setting)
    if best is None and any(len(study.of(setting, entry)) == 1 for entry in study.entries):
        return "no test can be made: some methods have one run only"
    return "nobody" if best is None else best.title


def _holders_cell(study: Study, setting: Setting, name: str) -> Cell:
    holders = _highest(study, setting, name)
    if not holders:
        return Cell("missing")
    values, titles = study.values(setting, holders[0], name), ", ".join(entry.title for entry in holders)
    ours = Entry("leads") in holders and setting in study.contested
    return Cell(f"{mean_std(values, digits(name))}: {titles}", (mean(values), titles), ours)


def _highest(study: Study, setting: Setting, name: str) -> list[Entry]:
    """All with the highest mean, in the digits that are shown."""
    found = {entry: study.values(setting, entry, name) for entry in judged_entries(study)}
    means = {entry: round(mean(of), digits(name)) for entry, of in found.items() if of}
    return [entry for entry, value in means.items() if value == max(means.values())]
