"""Where methods are compared: runs of the same task, options and budget."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from itertools import count
from pathlib import Path
from typing import Any

from leads.errors import UserError
from leads.report.study.entry import spelt_out
from leads.report.style import short
from leads.tasks import make_task
from leads.tasks.task import Task

PAPER: dict[str, Any] = json.loads(resources.files("leads.report.study").joinpath("paper.json").read_text())
PAPER_RUNS = 5
"""Seeds of the paper."""
LONGEST = 40
"""Letters of options that the name of a setting has room for."""


@dataclass(frozen=True)
class Setting:
    """What runs have to share to be compared."""

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
        return self.called or (
            self.name if self.samples == self.budget else f"{self.name}, {short(self.samples)} samples"
        )

    @property
    def is_papers(self) -> bool:
        """Whether the paper has the task with as many samples."""
        return bool(self.published) and self.budget == self.samples

    @property
    def paper_title(self) -> str:
        """The task as the paper has it, with its samples if ours are others."""
        if self.is_papers or not self.published:
            return self.title
        return f"{self.task}, {short(PAPER['budgets_samples'][self.task])} samples"

    @property
    def published(self) -> dict[str, list[float]]:
        """(mean, standard deviation) of the paper's relative coverage in percent by method, if it has the task."""
        if self.own or json.loads(self.options).get("on_wall", "terminate") != "terminate":
            return {}
        return {method: of[self.task] for method, of in PAPER["coverage"].items() if self.task in of}

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
