"""A study from run directories."""

import json
import os
from collections.abc import Iterator
from dataclasses import make_dataclass
from math import isfinite
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from leads.config.fields import plain
from leads.errors import UserError
from leads.report.study.entry import Entry, changed_entry, class_of, entry_of
from leads.report.study.result import COST, COVERAGE, Result
from leads.report.study.setting import Setting, Settings
from leads.report.study.study import Study
from leads.training.run import Run
from leads.training.run_config import RunConfig
from leads.training.snapshots import snapshots


def read_study(directory: Path) -> Study:
    """All runs below a directory; what cannot be used is left out, and named."""
    results: dict[tuple[Setting, Entry, int], Result] = {}
    unfinished, left_out, reader = [], [], _Reader()
    for path in _run_directories(directory):
        try:
            result = reader.result(_opened(path))
        except (UserError, ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            left_out.append(f"{path} cannot be read: {error}")
            continue
        key = result.setting, result.entry, result.seed
        if not result.finished:
            unfinished.append(result)
        elif key in results:
            left_out.append(f"{path} repeats {results[key].place}")
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


def _opened(path: Path) -> Run:
    """A run; if its method cannot be imported any more, as when it stood in a script, its options have to do."""
    config = json.loads((path / "config.json").read_text())
    if class_of(config["method"]) is not None:
        return Run.open(path)
    options = make_dataclass("Options", [(name, Any) for name in config["method_options"]])
    return Run.open(path, SimpleNamespace(Config=options))


class _Reader:
    """Reads runs one after the other: the titles of later ones depend on those before."""

    def __init__(self):
        self.settings = Settings()
        self.first_options: dict[str, dict[str, Any]] = {}

    def result(self, run: Run) -> Result:
        """A run with all that a report needs of it, which may be damaged."""
        config, finished, log = run.config, run.is_finished, run.metrics()
        numbers = run.summary() if finished else (log[-1] if log else {"samples": 0})
        if finished:
            _check(numbers, log)
        return Result(
            self.settings.find(config.task, config.task_options, config.samples, config.own_task),
            *(self._entry(run, config), config.seed, numbers, log, snapshots(run)),
            extra=config.metrics,
            finished=finished,
            run=run,
        )

    def _entry(self, run: Run, config: RunConfig) -> Entry:
        """Options of a method that cannot be imported are compared with those of its first run."""
        if run.method is None:
            return entry_of(config)
        options = plain(config.method_config)
        return changed_entry(config.method, options, self.first_options.setdefault(config.method, options))


def _check(summary: dict[str, Any], log: list[dict[str, Any]]) -> None:
    """Refuses a finished run without what every run has, or without part of its log."""
    for name in ("samples", COVERAGE.name, *COST):
        if not isfinite(summary[name]):
            raise ValueError(f"{name} is {summary[name]}")
    last = log[-1]["samples"] if log else 0
    if last < summary["samples"]:
        raise ValueError(f"its metrics end at {last:,} of {summary['samples']:,} samples")
