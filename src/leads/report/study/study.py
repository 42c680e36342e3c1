"""All runs below a directory, and who is compared with whom: the same task, options and samples, method by method."""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import resources
from itertools import count
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from leads.config.fields import defaults
from leads.errors import UserError
from leads.methods import METHODS, config_class, host_settings, settings
from leads.report.style import short
from leads.tasks import TASKS
from leads.tasks.task import Task
from leads.training.run import Run, RunConfig
from leads.training.snapshots import Snapshot, snapshots

PAPER: dict[str, Any] = json.loads(resources.files("leads.report.study").joinpath("paper.json").read_text())
PAPER_RUNS = 5
"""Seeds of the paper."""
NUMBERS = ("coverage", "coverage_fine", "skill_coverage", "distinctness")
"""What every result carries."""
BOTH = "skill_coverage x distinctness"
"""Far-reaching and distinct at once, run by run."""
NAMES = {"random": "control"}
COST = ("cpu_seconds", "wall_seconds", "peak_rss_mb")
SPELT_OUT = 3
"""Fields of a variant that its title has room for."""
SHORT = 40
"""Letters of options that the title of a setting has room for."""


@dataclass(frozen=True)
class Setting:
    """What runs have to share to be compared."""

    task: str
    options: str
    samples: int
    title: str = field(compare=False)

    @property
    def is_papers(self) -> bool:
        """Whether the paper has the task with as many samples."""
        return bool(self.published) and PAPER["budgets_samples"][self.task] == self.samples

    @property
    def paper_title(self) -> str:
        """The task as the paper has it, with its samples if ours are others."""
        if self.is_papers or not self.published:
            return self.title
        return f"{self.task}, {short(PAPER['budgets_samples'][self.task])} samples"

    @property
    def published(self) -> dict[str, list[float]]:
        """(mean, standard deviation) of the paper's relative coverage in percent by method, if it has the task."""
        found = {method: of[self.task] for method, of in PAPER["coverage"].items() if self.task in of}
        return found if json.loads(self.options).get("on_wall", "terminate") == "terminate" else {}


@dataclass(frozen=True)
class Entry:
    """A method with its defaults, or with some fields changed."""

    method: str
    changed: str = "{}"

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that are not as the method ships."""
        return json.loads(self.changed)

    @property
    def title(self) -> str:
        name = NAMES.get(self.method, self.method.upper())
        if not self.fields:
            return name
        shown = [f"{field} {_plain(value)}" for field, value in self.fields.items()]
        rest = len(shown) - SPELT_OUT
        return f"{name} ({', '.join(shown[:SPELT_OUT])}{f' and {rest} more' if rest > 0 else ''})"


@dataclass(frozen=True)
class Result:
    """A run and where it belongs."""

    run: Run
    setting: Setting
    entry: Entry
    config: RunConfig
    finished: bool
    numbers: dict[str, Any]
    """Its summary; of an unfinished run, the last line of its metrics, if there is one."""
    metrics: list[dict[str, Any]]
    """A line an epoch."""
    snapshots: list[Snapshot]
    """Its skills on the way; runs of older versions have none."""

    @property
    def seed(self) -> int:
        return self.config.seed

    def number(self, name: str) -> float | None:
        """Of its numbers, or their product."""
        if name != BOTH:
            return self.numbers.get(name)
        reached, apart = self.numbers.get("skill_coverage"), self.numbers.get("distinctness")
        return None if reached is None or apart is None else reached * apart

    def rank(self) -> tuple[float, ...]:
        """What orders the runs of a method: coverage, and where that is the same, fine coverage, then the product."""
        return self.numbers["coverage"], self.numbers["coverage_fine"], self.number(BOTH) or 0.0


@dataclass(frozen=True)
class Study:
    """The runs that a report is made from."""

    results: list[Result]
    """Finished runs, one for every setting, entry and seed."""
    unfinished: list[Result]
    left_out: list[str]
    """Why other directories do not count."""

    @cached_property
    def settings(self) -> list[Setting]:
        """The paper's tasks first, in its order."""
        order = [*PAPER["budgets_samples"], *TASKS]
        place = lambda setting: order.index(setting.task) if setting.task in order else len(order)
        found = {result.setting for result in (*self.results, *self.unfinished)}
        return sorted(found, key=lambda setting: (place(setting), setting.title))

    @cached_property
    def entries(self) -> list[Entry]:
        """Every method, also without runs, so that what is missing shows; then its variants."""
        found = {Entry(method) for method in METHODS} | {result.entry for result in self.results}
        order = list(METHODS)
        return sorted(found, key=lambda entry: (order.index(entry.method), entry.changed != "{}", entry.changed))

    def of(self, setting: Setting, entry: Entry) -> list[Result]:
        """Finished runs by seed."""
        return self._by_cell.get((setting, entry), [])

    @cached_property
    def _by_cell(self) -> dict[tuple[Setting, Entry], list[Result]]:
        cells: dict[tuple[Setting, Entry], list[Result]] = {}
        for result in sorted(self.results, key=lambda result: result.seed):
            cells.setdefault((result.setting, result.entry), []).append(result)
        return cells

    def values(self, setting: Setting, entry: Entry, number: str) -> list[float]:
        """A number of all finished runs that have it."""
        found = (result.number(number) for result in self.of(setting, entry))
        return [value for value in found if value is not None]

    def relative(self, setting: Setting, entry: Entry, number: str = "coverage") -> list[float]:
        """In percent of the largest of any run of any method here, as the paper has it."""
        largest = self.largest(setting, number)
        return [100 * value / largest if largest > 0 else 0.0 for value in self.values(setting, entry, number)]

    def largest(self, setting: Setting, number: str) -> float:
        """Of all finished runs of all methods."""
        return max((value for entry in self.entries for value in self.values(setting, entry, number)), default=0.0)

    def scores(self, entry: Entry, number: str, among: Iterable[Setting]) -> list[np.ndarray]:
        """Relative values from 0 to 1, an array a setting."""
        return [np.asarray(self.relative(setting, entry, number)) / 100 for setting in among]

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


def read_study(directory: Path) -> Study:
    """All runs below a directory; what cannot be used is left out, and named."""
    results: dict[tuple[Setting, Entry, int], Result] = {}
    unfinished, left_out, titles = [], [], {}
    for path in _run_directories(directory):
        try:
            result = _result(Run.open(path), titles)
        except (UserError, ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            left_out.append(f"{path} cannot be read: {error}")
            continue
        key = result.setting, result.entry, result.seed
        if not result.finished:
            unfinished.append(result)
        elif key in results:
            left_out.append(f"{path} repeats {results[key].run.directory}")
        else:
            results[key] = result
    if not results:
        raise UserError(f"{directory} has no finished run in it")
    return Study(list(results.values()), unfinished, left_out)


def _run_directories(directory: Path) -> Iterator[Path]:
    """Those with a config.json, also behind links, each once."""
    known = set()
    for path, below, files in os.walk(directory, followlinks=True):
        real = os.path.realpath(path)
        if real in known:
            below.clear()
            continue
        known.add(real)
        below.sort()
        if "config.json" in files:
            yield Path(path)


def _result(run: Run, titles: dict[str, Setting]) -> Result:
    """A run with all that a report needs of it, which may be damaged."""
    config, finished = run.config(), run.is_finished
    metrics = run.metrics()
    numbers = run.summary() if finished else (metrics[-1] if metrics else {"samples": 0})
    if finished:
        _check(numbers, metrics)
    setting = _titled(_setting(config), titles)
    return Result(run, setting, _entry(config), config, finished, numbers, metrics, snapshots(run))


def _check(summary: dict[str, Any], metrics: list[dict[str, Any]]) -> None:
    """Refuses a finished run that lacks numbers or part of its log."""
    for name in ("samples", "coverage", "coverage_fine", *COST):
        if not isfinite(summary[name]):
            raise ValueError(f"{name} is {summary[name]}")
    if not all(name in line for line in (summary, *metrics) for name in NUMBERS):
        raise ValueError("its metrics lack numbers")
    last = metrics[-1]["samples"] if metrics else 0
    if last < summary["samples"]:
        raise ValueError(f"its metrics end at {last:,} of {summary['samples']:,} samples")


def _setting(config: RunConfig) -> Setting:
    """A maze is what is in its file, wherever the file is."""
    options = json.dumps(config.options, sort_keys=True)
    own_maze = config.task.startswith("maze:")
    title = Path(config.task.removeprefix("maze:")).stem if own_maze else config.task
    if config.options.get("on_wall") == "stop":
        title += ", walls stop"
    if config.samples != PAPER["budgets_samples"].get(config.task):
        title += f", {short(config.samples)} samples"
    return Setting("maze:" if own_maze else config.task, options, config.samples, title)


def _titled(setting: Setting, titles: dict[str, Setting]) -> Setting:
    """The setting with a title that is its own: two files may hold mazes of one name."""
    for title in _titles(setting, titles):
        if titles.setdefault(title, setting) == setting:
            return replace(setting, title=title)
    raise AssertionError("there are always more titles")


def _titles(setting: Setting, titles: dict[str, Setting]) -> Iterator[str]:
    """Its name, with what is different from the other setting of the name, or with a number."""
    yield from (title for title, other in titles.items() if other == setting)
    yield setting.title
    ours, theirs = json.loads(setting.options), json.loads(titles[setting.title].options)
    changed = ", ".join(f"{name} {_plain(value)}" for name, value in ours.items() if theirs.get(name) != value)
    if 0 < len(changed) <= SHORT:
        yield f"{setting.title}, {changed}"
    yield from (f"{setting.title} ({number})" for number in count(2))


def _entry(config: RunConfig) -> Entry:
    """A task that cannot be made here may have been stepped by JAX or on the host: the nearer settings are meant."""
    task, usual = task_of(config), defaults(config_class(config.method))
    shipped = [{}, host_settings(config.method)] if task is None else [settings(config.method, task)]
    changes = [_changed(config.fields, usual | of) for of in shipped]
    return Entry(config.method, json.dumps(min(changes, key=len), sort_keys=True))


def _changed(fields: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if json.dumps(value) != json.dumps(usual.get(name))}


def task_of(config: RunConfig) -> Task | None:
    """The task of a run, made once; None if only Python can make it again."""
    return None if config.own_task else _task(config.task, json.dumps(config.options, sort_keys=True))


@cache
def _task(name: str, options: str) -> Task | None:
    try:
        return RunConfig(name, json.loads(options), "", 0, 0, {}).make_task()
    except UserError:
        return None


def _plain(value: Any) -> str:
    return (
        ",".join(map(str, value))
        if isinstance(value, list)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
