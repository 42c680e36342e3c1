"""A run as reports see it: what was run (an entry), where (a setting), and what came of it (a result)."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any

from leads.errors import UserError
from leads.methods import METHODS, OURS
from leads.report.style import short
from leads.tasks import make_task
from leads.tasks.task import Task
from leads.training import checkpoint
from leads.training.metrics import METRICS, Metric
from leads.training.run import Run
from leads.training.snapshots import Snapshot

PAPER: dict[str, Any] = json.loads(resources.files("leads.report.study").joinpath("paper.json").read_text())
PAPER_RUNS = 5
"""Seeds of the paper."""
COVERAGE = METRICS["coverage"]
"""The metric that the paper publishes."""
SPENT = ("cpu_seconds", "wall_seconds")
COST = (*SPENT, "peak_rss_mb")
FAR_ENOUGH = 0.8
"""Share of a number of samples that a run needs to be compared there."""
SPELT_OUT = 3
"""Options of a variant that its title has room for."""
LONGEST = 40
"""Letters of options that the name of a setting has room for."""


@dataclass(frozen=True)
class Entry:
    """A method with the options that are not as it ships."""

    method: str
    changed: str = "{}"
    """As JSON, sorted by name."""
    called: str = field(default="", compare=False)
    """Its title where one is chosen by hand."""

    @property
    def options(self) -> dict[str, Any]:
        """The changed options by name."""
        return json.loads(self.changed)

    @property
    def learns(self) -> bool:
        """False for a control."""
        return getattr(class_of(self.method), "learns", True)

    @property
    def title(self) -> str:
        """The method's title; of one that cannot be imported any more, the name of its class."""
        class_name, shown = re.split("[:.]", self.method)[-1], spelt_out(self.options)
        title = getattr(class_of(self.method), "title", class_name)
        rest = f" and {len(shown) - SPELT_OUT} more" if len(shown) > SPELT_OUT else ""
        return self.called or (f"{title} ({', '.join(shown[:SPELT_OUT])}{rest})" if shown else title)


SHIPPED = Entry(OURS)
"""LEADS as it ships, which is compared with all others."""


@cache
def class_of(method: str) -> Any:
    """The class of a method; None if it cannot be imported any more."""
    try:
        return METHODS.find(method)
    except UserError:
        return None


def spelt_out(options: Mapping[str, Any]) -> list[str]:
    """Options for people: noise white, scale 1."""
    one = lambda value: f"{value:g}" if isinstance(value, float) else str(value)
    text = lambda value: ",".join(map(str, value)) if isinstance(value, list) else one(value)
    return [f"{name} {text(value)}" for name, value in options.items()]


@dataclass(frozen=True)
class Setting:
    """What runs have to share to be compared: task, options and budget."""

    task: str
    options: str
    """Of the task, as JSON, sorted by name."""
    samples: int
    """The budget."""
    name: str = field(default="", compare=False)
    """Of the task with its options."""
    own: bool = False
    """Whether the task was handed over in Python."""
    called: str = field(default="", compare=False)
    """Its title where one is chosen by hand."""

    @property
    def budget(self) -> int | None:
        """The paper's, if it has the task."""
        return None if self.own else PAPER["budgets_samples"].get(self.task)

    @property
    def title(self) -> str:
        """With the samples if they are not the paper's."""
        others = "" if self.samples == self.budget else f", {short(self.samples)} samples"
        return self.called or self.name + others

    @property
    def published(self) -> dict[str, list[float]]:
        """(mean, standard deviation) of the paper's relative coverage in percent by method, if it has the task."""
        if self.own or json.loads(self.options).get("on_wall", "terminate") != "terminate":
            return {}
        return {method: of[self.task] for method, of in PAPER["coverage"].items() if self.task in of}

    @property
    def is_papers(self) -> bool:
        """Whether the paper has the task with as many samples."""
        return bool(self.published) and self.budget == self.samples

    def at(self, samples: int) -> "Setting":
        """The same task with another budget."""
        return replace(self, samples=samples, called="")

    def make_task(self) -> Task | None:
        """The task, made once; None if only Python can make it again."""
        return None if self.own else _task(self.task, self.options)


@cache
def _task(name: str, options: str) -> Task | None:
    try:
        return make_task(name, **json.loads(options))
    except UserError:
        return None


class Settings:
    """Gives settings their names: two files may hold mazes of one name."""

    def __init__(self):
        self.names: dict[str, Setting] = {}

    def find(self, task: str, options: dict[str, Any], samples: int, own: bool = False) -> Setting:
        """A maze of one's own is what is in its file, wherever the file is."""
        own_maze = task.startswith("maze:")
        name = Path(task.removeprefix("maze:")).stem if own_maze else task
        if options.get("on_wall") == "stop":
            name += ", walls stop"
        found = Setting("maze:" if own_maze else task, json.dumps(options, sort_keys=True), samples, name, own)
        free = (name for name in self._candidates(found) if self.names.setdefault(name, found).at(samples) == found)
        return replace(found, name=next(free))

    def _candidates(self, setting: Setting) -> Iterator[str]:
        """Its name, with what differs from the other setting of the name, or with a number."""
        yield setting.name
        ours, theirs = json.loads(setting.options), json.loads(self.names[setting.name].options)
        changed = ", ".join(spelt_out({name: value for name, value in ours.items() if theirs.get(name) != value}))
        if 0 < len(changed) <= LONGEST:
            yield f"{setting.name}, {changed}"
        yield from (f"{setting.name} ({number})" for number in count(2))


@dataclass(frozen=True)
class Result:
    """A run, read from its directory or from committed rows."""

    setting: Setting
    entry: Entry
    seed: int
    numbers: dict[str, Any]
    """Its summary; of an unfinished run, the last line of its log, if there is one."""
    log: list[dict[str, Any]]
    """One line per epoch, or fewer."""
    snapshots: list[Snapshot]
    """Its skills on the way; not every run remembers them."""
    extra: tuple[Metric, ...] = ()
    """Metrics from outside the package."""
    variant: str = ""
    """What committed rows call its options."""
    run: Run | None = None
    """Its directory; committed rows have none."""

    @property
    def place(self) -> str:
        """Where it is on disk, if it is there."""
        return "" if self.run is None else str(self.run.directory)

    @property
    def film(self) -> Path | None:
        """What `leads skills` has made."""
        film = None if self.run is None else self.run.figures / "skills.mp4"
        return film if film and film.is_file() else None

    @property
    def has_checkpoints(self) -> bool:
        return self.run is not None and bool(checkpoint.epochs(self.run.checkpoints))

    def rank(self) -> tuple[float, ...]:
        """What orders the runs of a method: coverage, and where that is the same, what methods are judged by."""
        judged = [metric for metric in METRICS.values() if metric.judged]
        return tuple(metric.of(self.numbers) or 0.0 for metric in (COVERAGE, *judged))

    def at(self, samples: int) -> "Result | None":
        """The run as it was at the evaluated epoch nearest to a number of samples, if it got that far.

        Its cost is taken in proportion.
        """
        of_skills = [metric for metric in METRICS.values() if metric.of_skills]
        evaluated = [line for line in self.log if any(metric.of(line) is not None for metric in of_skills)]
        far_enough = [line for line in evaluated if line["samples"] > FAR_ENOUGH * samples]
        if not far_enough:
            return None
        line = min(far_enough, key=lambda line: abs(line["samples"] - samples))
        share = line["samples"] / self.numbers["samples"]
        numbers = self.numbers | line | {name: share * self.numbers[name] for name in SPENT}
        log, kept = self.log[: self.log.index(line) + 1], [s for s in self.snapshots if s.samples <= line["samples"]]
        return replace(self, setting=self.setting.at(samples), numbers=numbers, log=log, snapshots=kept)
