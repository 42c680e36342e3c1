"""Reads studies: from run directories, or from committed rows that say all that comparing their runs needs.

Rows are runs.csv, with one row per run, curves.csv with its thinned log, and skills.jsonl with its last snapshot.
"""

import csv
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import make_dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from leads.config.fields import Config, defaults, plain
from leads.config.registry import CannotImport
from leads.errors import UserError
from leads.methods import METHODS, shipped_settings
from leads.report.study.result import COST, COVERAGE, Entry, Result, Setting, Settings
from leads.report.study.study import Study
from leads.training.metrics import COMPUTED
from leads.training.run import Run
from leads.training.run_config import RunConfig
from leads.training.snapshots import Snapshot, snapshots

KEY = ("method", "variant", "task", "on_wall", "seed")
"""What tells rows of runs apart in all three files."""
NUMBERS = ("samples", *COMPUTED, *COST)
COLUMNS = (*KEY, "task_options", "changed", "budget", *NUMBERS, "commit")
CURVE_COLUMNS = (*KEY, "samples", *(metric.name for metric in COMPUTED.values() if metric.tabled))

Row = dict[str, Any]


def read_study(directory: Path) -> Study:
    """All runs below a directory; what cannot be used is left out, and named."""
    results: dict[tuple[Setting, Entry, int], Result] = {}
    unfinished, left_out, settings, first_options = [], [], Settings(), {}
    for path in _run_directories(directory):
        try:
            run = _opened(path)
            finished = run.is_finished
            result = _result(run, finished, settings, first_options)
        except (UserError, ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            left_out.append(f"{path} cannot be read: {error}")
            continue
        key = result.setting, result.entry, result.seed
        if not finished:
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
        below[:] = [] if real in known else sorted(below)
        if "config.json" in files and real not in known:
            yield Path(path)
        known.add(real)


def _opened(path: Path) -> Run:
    """A run; if its method or a part of it cannot be imported any more, its options have to do."""
    run = Run.open(path)
    try:
        run.config  # noqa: B018 (read here, where what is wrong with it can be told apart)
    except UserError as error:
        if not isinstance(error.__cause__, CannotImport):
            raise
        data = json.loads((path / "config.json").read_text())
        options = make_dataclass("Options", [(name, Any) for name in data["method_options"]])
        run.__dict__["config"] = RunConfig.of_json(data, config=options(**data["method_options"]))
    return run


def _result(run: Run, finished: bool, settings: Settings, first_options: dict[str, Row]) -> Result:
    """A run with all that a report needs of it, which may be damaged."""
    config, log = run.config, run.metrics()
    numbers = run.summary() if finished else (log[-1] if log else {"samples": 0})
    if finished:
        _check(numbers, log)
    setting = settings.find(config.task, config.task_options, config.samples, config.own_task)
    entry = _entry(run, first_options)
    return Result(setting, entry, config.seed, numbers, log, snapshots(run), config.metrics, run=run)


def _entry(run: Run, first_options: dict[str, Row]) -> Entry:
    """The method with the options that differ from those it ships with on the task.

    Options of a method that cannot be imported are compared with those of its first run.
    """
    config, options = run.config, plain(run.config.method_config)
    if isinstance(config.method_config, Config):
        usual = defaults(METHODS.find(config.method).Config, options)
        task = "" if config.own_task else config.task
        usual |= shipped_settings(config.method, task, config.step_cost, options)
    else:
        usual = first_options.setdefault(config.method, options)
    options, usual = json.loads(json.dumps([options, usual]))
    changed = {name: value for name, value in options.items() if value != usual.get(name)}
    return Entry(config.method, json.dumps(changed, sort_keys=True))


def _check(summary: Row, log: list[Row]) -> None:
    """Refuses a finished run without what every run has, or without part of its log."""
    for name in ("samples", COVERAGE.name, *COST):
        if not isfinite(summary[name]):
            raise ValueError(f"{name} is {summary[name]}")
    last = log[-1]["samples"] if log else 0
    if last < summary["samples"]:
        raise ValueError(f"its metrics end at {last:,} of {summary['samples']:,} samples")


def read_rows(directory: Path) -> Study:
    """The study that rows in a directory tell of."""
    logs, settings, results = defaultdict(list), Settings(), []
    for row in rows(directory / "curves.csv"):
        logs[key(row)].append(_numbers(row))
    skills = {key(line): [Snapshot.of_line(line["skills"])] for line in read_skills(directory)}
    for row in rows(directory / "runs.csv"):
        setting = settings.find(row["task"], json.loads(row["task_options"]), int(row["budget"]))
        entry, kept = Entry(row["method"], row["changed"]), skills.get(key(row), [])
        numbers, log = _numbers(row), logs[key(row)]
        results.append(Result(setting, entry, int(row["seed"]), numbers, log, kept, variant=row["variant"]))
    return Study(results)


def rows(path: Path) -> list[Row]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def read_skills(directory: Path) -> list[Row]:
    """The lines of skills.jsonl."""
    return [json.loads(line) for line in (directory / "skills.jsonl").read_text().splitlines()]


def key(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in KEY)


def _numbers(row: Row) -> Row:
    """Those of a row as a log has them; what is not known is null."""
    return {name: json.loads(row[name]) if row[name] else None for name in NUMBERS if name in row}
