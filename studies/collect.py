"""Adds the finished runs below some directories to results/: one row of runs.csv each, a thinned curve in curves.csv,
and the skills at the end, as snapshots have them, in skills.jsonl.

    leads benchmark paper --out runs/paper
    python studies/collect.py runs/paper

Directories are TASK/METHOD[-VARIANT]/seed-N, as `leads benchmark` makes them. A run replaces its older row, unless that
one went on for clearly longer. Whatever is not taken is named. The published tables are of the suites paper, noises,
below, ablation and slide.
"""

import argparse
import csv
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from leads.errors import UserError
from leads.report.study.read import COLUMNS, CURVE_COLUMNS, KEY, Row, key, read_skills, read_study, rows
from leads.report.study.result import Result

RESULTS = Path(__file__).parent / "results"
POINTS = 100
"""Points kept of a run's curve."""
SHORTER = 0.9
"""A run with less than this share of the samples of another is shorter; epochs end a little later or sooner."""


def row_of(result: Result, commit: str) -> Row:
    about = {"task_options": result.setting.options, "changed": result.entry.changed, "budget": result.setting.samples}
    return result.numbers | about | {"variant": variant(result), "commit": commit}


def thinned(log: list[Row]) -> list[Row]:
    return [*log[: -1 : max(len(log) // POINTS, 1)], log[-1]]


def variant(result: Result) -> str:
    """From the name of its directory, if it is one of a benchmark's; runs of other settings need a variant."""
    directory = Path(result.place)
    method, _, name = directory.parent.name.partition("-")
    if (method, directory.name) != (result.entry.method, f"seed-{result.seed}"):
        raise UserError("its directory is not METHOD[-VARIANT]/seed-N")
    if result.entry.options and not name:
        raise UserError(f"it is not as the method ships ({result.entry.title}), and no variant")
    return name


def write(path: Path, columns: Sequence[str], new: list[Row], by: Sequence[str] = KEY) -> None:
    """Puts new rows, with numbers of at most four decimals, in the place of those of the same runs."""
    which = lambda row: tuple(str(row[name]) for name in by)
    replaced = set(map(which, new))
    table = [*(row for row in rows(path) if which(row) not in replaced), *new]
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()} for row in table)


def head() -> str:
    describe = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(describe, capture_output=True, text=True, cwd=RESULTS.parent).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--commit", default=head(), help="of the code that made the runs (default: this)")
    arguments = parser.parse_args()
    known = {key(row): int(row["samples"]) for row in rows(RESULTS / "runs.csv")}
    new: dict[tuple[str, ...], tuple[Row, Result]] = {}
    for study in map(read_study, arguments.directories):
        for line in (*study.left_out, *(f"{result.place} is not finished" for result in study.unfinished)):
            print(line)
        for result in study.results:
            try:
                row = row_of(result, arguments.commit)
                if row["samples"] < SHORTER * known.get(key(row), 0):
                    raise UserError(f"the tables have it with {known[key(row)]:,} samples")
            except UserError as error:
                print(f"{result.place} is not taken: {error}")
                continue
            known[key(row)], new[key(row)] = row["samples"], (row, result)
    found = [({name: row[name] for name in KEY}, result) for row, result in new.values()]
    lines = [line for line in read_skills(RESULTS) if key(line) not in new]
    lines += [which | {"skills": last.line()} for which, result in found for last in result.snapshots[-1:]]
    (RESULTS / "skills.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write(
        RESULTS / "curves.csv", CURVE_COLUMNS, [which | line for which, result in found for line in thinned(result.log)]
    )
    write(RESULTS / "runs.csv", COLUMNS, [row for row, _ in new.values()])
    print(f"{len(new)} runs taken")


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"collect: {error}", file=sys.stderr)
        sys.exit(2)
