"""Many runs, and what they say of methods: settings by entries, each with its seeds."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from leads.methods import METHODS
from leads.report.study.result import COVERAGE, PAPER, Entry, Result, Setting
from leads.tasks import TASKS
from leads.training.metrics import METRICS, Metric


@dataclass(frozen=True)
class Study:
    """The runs that a report or a table is made from."""

    results: list[Result]
    """Finished runs, one for every setting, entry and seed."""
    unfinished: list[Result] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """Why other directories do not count."""
    chosen_settings: list[Setting] | None = None
    chosen_entries: list[Entry] | None = None

    @cached_property
    def settings(self) -> list[Setting]:
        """Those chosen, or all: the paper's tasks first, in its order."""
        if self.chosen_settings is not None:
            return self.chosen_settings
        order = [*PAPER["budgets_samples"], *TASKS]
        place = lambda setting: order.index(setting.task) if setting.task in order else len(order)
        found = {result.setting for result in (*self.results, *self.unfinished)}
        return sorted(found, key=lambda setting: (place(setting), setting.name, setting.title))

    @cached_property
    def entries(self) -> list[Entry]:
        """Those chosen, or every method, also without runs, so that what is missing shows; then its variants."""
        if self.chosen_entries is not None:
            return self.chosen_entries
        order = list(METHODS)
        place = lambda entry: order.index(entry.method) if entry.method in order else len(order)
        found = {*map(Entry, METHODS), *(result.entry for result in self.results)}
        return sorted(found, key=lambda entry: (place(entry), entry.method, entry.changed != "{}", entry.changed))

    @cached_property
    def metrics(self) -> list[Metric]:
        """Those that tasks here have, then those that some of these runs have from outside the package."""
        extra = {metric.name: metric for result in self.results for metric in result.extra}
        found = (METRICS | extra).values()
        shown = lambda metric: metric.everywhere or any(self.has(setting, metric) for setting in self.settings)
        return list(filter(shown, found))

    @property
    def tabled(self) -> list[Metric]:
        return [metric for metric in self.metrics if metric.tabled]

    @property
    def ranked(self) -> list[Metric]:
        return [metric for metric in self.metrics if metric.ranked]

    def only(self, settings: Iterable[Setting] | None = None, entries: Iterable[Entry] | None = None) -> "Study":
        """The study of some settings and entries alone, in this order and with the titles that they have here."""
        among = self.settings if settings is None else list(settings)
        who = None if entries is None else list(entries)
        belongs = lambda result: result.setting in among and (who is None or result.entry in who)
        results, unfinished = (list(filter(belongs, of)) for of in (self.results, self.unfinished))
        return Study(results, unfinished, self.left_out, among, who)

    def at(self, samples: int) -> "Study":
        """The study as if every budget had been `samples`, of the runs that got so far; of two, the longer counts."""
        by_budget = sorted(self.results, key=lambda result: result.setting.samples)
        then = [found for result in by_budget if (found := result.at(samples))]
        return Study(list({(result.setting, result.entry, result.seed): result for result in then}.values()))

    def of(self, setting: Setting, entry: Entry) -> list[Result]:
        """Finished runs by seed."""
        return self._by_cell.get((setting, entry), [])

    @cached_property
    def _by_cell(self) -> dict[tuple[Setting, Entry], list[Result]]:
        cells: dict[tuple[Setting, Entry], list[Result]] = {}
        for result in sorted(self.results, key=lambda result: result.seed):
            cells.setdefault((result.setting, result.entry), []).append(result)
        return cells

    def values(self, setting: Setting, entry: Entry, metric: Metric) -> list[float]:
        """A metric of all finished runs that have it."""
        found = (metric.of(result.numbers) for result in self.of(setting, entry))
        return [value for value in found if value is not None]

    def has(self, setting: Setting, metric: Metric) -> bool:
        """Whether the task has the metric at all, as far as its runs tell."""
        here = (result for result in self.results if result.setting == setting)
        return metric.everywhere or any(metric.of(result.numbers) is not None for result in here)

    def relative(self, setting: Setting, entry: Entry, metric: Metric = COVERAGE) -> list[float]:
        """In percent of the largest of any run of any method here, as the paper has it."""
        largest = self.largest(setting, metric)
        return [100 * value / largest if largest > 0 else 0.0 for value in self.values(setting, entry, metric)]

    def largest(self, setting: Setting, metric: Metric) -> float:
        """Of all finished runs of all methods."""
        return max((value for entry in self.entries for value in self.values(setting, entry, metric)), default=0.0)

    def scores(self, entry: Entry, metric: Metric, among: Iterable[Setting]) -> list[np.ndarray]:
        """Relative values from 0 to 1, one array per setting."""
        return [np.asarray(self.relative(setting, entry, metric)) / 100 for setting in among]

    def covered(self, entry: Entry) -> list[Setting]:
        """The settings that an entry has finished runs of."""
        return [setting for setting in self.settings if self.of(setting, entry)]

    @cached_property
    def contested(self) -> list[Setting]:
        """The settings that at least two methods have finished runs of: alone, anybody is the best."""
        methods = lambda setting: {result.entry.method for result in self.results if result.setting == setting}
        return [setting for setting in self.settings if len(methods(setting)) > 1]

    def missing(self, setting: Setting, entry: Entry) -> list[int]:
        """Seeds that some run in this setting has and the entry has not finished."""
        everyone = {r.seed for r in (*self.results, *self.unfinished) if r.setting == setting}
        return sorted(everyone - {result.seed for result in self.of(setting, entry)})

    def best(self, setting: Setting, entry: Entry) -> Result | None:
        """The run of the highest coverage, which the paper shows."""
        return max(self.of(setting, entry), key=Result.rank, default=None)

    def median(self, setting: Setting, entry: Entry) -> Result | None:
        """The run in the middle; of two, the lower."""
        ranked = sorted(self.of(setting, entry), key=Result.rank)
        return ranked[(len(ranked) - 1) // 2] if ranked else None
