"""A study from committed rows: runs.csv, with one row per run, curves.csv with its thinned log, and skills.jsonl.

A row says all that comparing a run needs: its task with options, its budget, its method with changed options.
"""

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from leads.report.study.entry import Entry
from leads.report.study.result import COST, Result
from leads.report.study.setting import Settings
from leads.report.study.study import Study
from leads.training.metrics import COMPUTED
from leads.training.snapshots import Snapshot

KEY = ("method", "variant", "task", "on_wall", "seed")
"""What tells runs apart in all three files."""
ABOUT = ("task_options", "changed", "budget")
NUMBERS = ("samples", *COMPUTED, *COST)
COLUMNS = (*KEY, *ABOUT, *NUMBERS, "commit")
CURVE_COLUMNS = (*KEY, "samples", *(metric.name for metric in COMPUTED.values() if metric.tabled))

Row = dict[str, Any]


def row_of(result: Result, variant: str, commit: str) -> Row:
    """A run as a row of runs.csv; its summary has the rest of what tells it apart."""
    about = {"task_options": result.setting.options, "changed": result.entry.changed, "budget": result.setting.samples}
    return result.numbers | about | {"variant": variant, "commit": commit}


def read_rows(directory: Path) -> Study:
    """The study that rows in a directory tell of."""
    logs, skills, settings = defaultdict(list), {}, Settings()
    for row in rows(directory / "curves.csv"):
        logs[key(row)].append(_numbers(row))
    for line in read_skills(directory):
        skills[key(line)] = [Snapshot.of_line(line["skills"])]
    return Study(
        [_result(row, settings, logs[key(row)], skills.get(key(row), [])) for row in rows(directory / "runs.csv")]
    )


def _result(row: Row, settings: Settings, log: list[Row], skills: list[Snapshot]) -> Result:
    setting = settings.find(row["task"], json.loads(row["task_options"]), int(row["budget"]))
    entry = Entry(row["method"], row["changed"])
    return Result(setting, entry, int(row["seed"]), _numbers(row), log, skills, variant=row["variant"])


def rows(path: Path) -> list[Row]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def read_skills(directory: Path) -> list[Row]:
    """The lines of skills.jsonl: what tells a run apart, and its last snapshot."""
    return [json.loads(line) for line in (directory / "skills.jsonl").read_text().splitlines()]


def key(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in KEY)


def _numbers(row: Row) -> Row:
    """Those of a row as a log has them; what is not known is null."""
    return {name: json.loads(row[name]) if row[name] else None for name in NUMBERS if name in row}
