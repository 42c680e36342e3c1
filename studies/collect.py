"""Adds the finished runs below some directories to results/: a row of runs.csv each, a thinned curve in curves.csv, and
the skills at the end, as snapshots have them, in skills.jsonl.

    leads benchmark paper --out runs/paper
    python studies/collect.py runs/paper

Directories are TASK/METHOD[-VARIANT]/seed-N, as `leads benchmark` makes them. What the tables have of the same run is
replaced, unless it went on for clearly longer. Whatever is not taken is named. The published tables are of the suites
paper, noises, below, ablation and slide.
"""

import argparse
import csv
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leads.errors import UserError
from leads.report.study.study import Result, read_study

RESULTS = Path(__file__).parent / "results"
RUN = ["method", "variant", "task", "on_wall", "seed"]
"""What tells runs apart."""
NUMBERS = ["samples", "coverage", "coverage_fine", "skill_coverage", "distinctness"]
COLUMNS = [*RUN, *NUMBERS, "reach", "cpu_seconds", "wall_seconds", "peak_rss_mb", "commit"]
CURVE_COLUMNS = [*RUN, *NUMBERS]
POINTS = 100
"""Points kept of a run's curve."""
SHORTER = 0.9
"""A run with less than this share of the samples of another is shorter; epochs end a little later or sooner."""

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Collected:
    """What the tables keep of a run."""

    row: dict[str, Any]
    curve: Rows
    skills: Rows
    """One line, or none of a run that does not remember them."""


def collected(result: Result, commit: str) -> Collected:
    row = result.numbers | {"variant": variant(result), "commit": commit}
    every = max(len(result.metrics) // POINTS, 1)
    which = {name: row[name] for name in RUN}
    return Collected(
        row=row,
        curve=[row | line for line in (*result.metrics[:-1:every], result.metrics[-1])],
        skills=[which | {"skills": last.line()} for last in result.snapshots[-1:]],
    )


def variant(result: Result) -> str:
    """What its directory is called after, if it is one of a benchmark's; runs of other settings need a variant."""
    directory, config = result.run.directory, result.config
    method, _, name = directory.parent.name.partition("-")
    if (method, directory.name) != (config.method, f"seed-{config.seed}"):
        raise UserError("its directory is not METHOD[-VARIANT]/seed-N")
    if result.entry.fields and not name:
        raise UserError(f"it is not as the method ships ({result.entry.title}), and no variant")
    return name


def rows(path: Path) -> Rows:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def skills() -> Rows:
    """The lines of skills.jsonl: what tells a run apart, and its last snapshot."""
    return [json.loads(line) for line in (RESULTS / "skills.jsonl").read_text().splitlines()]


def key(row: dict[str, Any], by: list[str] = RUN) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in by)


def write(path: Path, columns: list[str], new: Rows, by: list[str] = RUN) -> None:
    """Puts new rows, with numbers of at most four decimals, in the place of those of the same runs."""
    replaced = {key(row, by) for row in new}
    table = [*(row for row in rows(path) if key(row, by) not in replaced), *new]
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
    new: dict[tuple[str, ...], Collected] = {}
    for study in map(read_study, arguments.directories):
        for line in (*study.left_out, *(f"{result.run.directory} is not finished" for result in study.unfinished)):
            print(line)
        for result in study.results:
            try:
                run = collected(result, arguments.commit)
                which, samples = key(run.row), run.row["samples"]
                if samples < SHORTER * known.get(which, 0):
                    raise UserError(f"the tables have it with {known[which]:,} samples")
            except UserError as error:
                print(f"{result.run.directory} is not taken: {error}")
                continue
            known[which], new[which] = samples, run
    write(RESULTS / "curves.csv", CURVE_COLUMNS, [line for run in new.values() for line in run.curve])
    lines = [line for line in skills() if key(line) not in new] + [line for run in new.values() for line in run.skills]
    (RESULTS / "skills.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write(RESULTS / "runs.csv", COLUMNS, [run.row for run in new.values()])
    print(f"{len(new)} runs taken")


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"collect: {error}", file=sys.stderr)
        sys.exit(2)
