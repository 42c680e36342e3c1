"""Adds the finished runs below some directories to results/runs.csv, a row each, and thinned curves to curves.csv.

    leads benchmark paper --out runs/paper
    python benchmarks/collect.py runs/paper

Directories are TASK/METHOD[-VARIANT]/seed-N, as `leads benchmark` makes them. What the tables have of the same run
with no more samples is replaced; the rest stays. The published tables are of the suites paper, noises, ablation, slide.
"""

import argparse
import csv
import subprocess
from pathlib import Path
from typing import Any

from leads.training.run import Run

RESULTS = Path(__file__).parent / "results"
RUN = ["method", "variant", "task", "on_wall", "seed"]
"""What tells runs apart."""
NUMBERS = ["samples", "coverage", "coverage_fine", "skill_coverage", "distinctness"]
COLUMNS = [*RUN, *NUMBERS, "reach", "cpu_seconds", "wall_seconds", "peak_rss_mb", "commit"]
CURVE_COLUMNS = [*RUN, *NUMBERS]
POINTS = 50
"""Points kept of a run's curve."""

Rows = list[dict[str, Any]]


def collected(directory: Path, commit: str) -> tuple[Rows, dict[str, Any]]:
    """(curve, row) of a run."""
    run = Run.open(directory)
    row = run.summary() | {"variant": directory.parent.name.partition("-")[2], "commit": commit}
    metrics = run.metrics()
    every = max(len(metrics) // POINTS, 1)
    return [row | line for line in (*metrics[:-1:every], metrics[-1])], row


def rows(path: Path) -> Rows:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in RUN)


def write(path: Path, columns: list[str], new: Rows) -> None:
    """Puts new rows in the place of those of the same runs."""
    replaced = {key(row) for row in new}
    save(path, columns, [*(row for row in rows(path) if key(row) not in replaced), *new])


def save(path: Path, columns: list[str], table: Rows) -> None:
    """Writes a table with numbers of at most four decimals."""
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
    finished = [path.parent for below in arguments.directories for path in sorted(below.rglob("summary.json"))]
    known = {key(row): int(row["samples"]) for row in rows(RESULTS / "runs.csv")}
    new: dict[tuple[str, ...], tuple[Rows, dict[str, Any]]] = {}
    for directory in finished:
        curve, row = collected(directory, arguments.commit)
        if row["samples"] >= known.get(key(row), 0):
            known[key(row)] = row["samples"]
            new[key(row)] = curve, row
    write(RESULTS / "curves.csv", CURVE_COLUMNS, [line for curve, _ in new.values() for line in curve])
    write(RESULTS / "runs.csv", COLUMNS, [row for _, row in new.values()])
    print(f"{len(finished)} runs, {len(new)} of them new or longer")


if __name__ == "__main__":
    main()
