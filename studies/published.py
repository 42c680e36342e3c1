"""Makes the report of the published study from results/, as `leads report` would from its runs (`make study`).

    python studies/published.py docs/study

The runs are those of the suites paper and noises with their task's whole budget. They are laid out again in a temporary
directory: the config that the suites give them today, the thinned curve, the summary, and the last skills if they were
kept. There are no checkpoints, so there are no maps and films.
"""

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from contextlib import chdir
from pathlib import Path
from typing import Any

from collect import COLUMNS, CURVE_COLUMNS, RESULTS, RUN, SHORTER, key, rows, skills

from leads.benchmark.suites import Job, load
from leads.errors import UserError
from leads.report.study.study import PAPER
from leads.report.study.write import write_report
from leads.training.run import Run

SUITES = ("paper", "noises")


def jobs() -> list[Job]:
    """The runs of the suites that have the paper's budgets."""
    budgets = PAPER["budgets_samples"]
    return [job for suite in SUITES for job in load(suite) if job.config.samples == budgets[job.config.task]]


def lay_out(out: Path) -> int:
    """Makes a directory of every published run; gives their number."""
    summaries = {key(row): row for row in rows(RESULTS / "runs.csv")}
    remembered = {key(line): line["skills"] for line in skills()}
    curves = defaultdict(list)
    for row in rows(RESULTS / "curves.csv"):
        curves[key(row)].append(numbers(row, CURVE_COLUMNS))
    found = 0
    for job in jobs():
        config = job.config
        about = {"method": config.method, "task": config.task, "seed": config.seed}
        about |= {"variant": job.variant, "on_wall": config.options.get("on_wall", "")}
        which = key(about)
        if which in summaries and int(summaries[which]["samples"]) >= SHORTER * config.samples:
            run = Run.create(job.directory(out), config)
            write(run, about | numbers(summaries[which], COLUMNS), curves[which], remembered.get(which))
            found += 1
    return found


def numbers(row: dict[str, str], columns: list[str]) -> dict[str, Any]:
    """A row of a CSV file as a line of a log; what is not known is null."""
    known = {name: row[name] for name in columns if name not in RUN and name != "commit"}
    return {name: json.loads(text) if text else None for name, text in known.items()}


def write(run: Run, summary: dict[str, Any], curve: list[dict[str, Any]], last: dict[str, Any] | None) -> None:
    """Epochs are counted as they were thinned, but for the last if that is known."""
    epochs = [*range(1, len(curve)), last["epoch"] if last else len(curve)]
    lines = [json.dumps({"epoch": epoch} | line) + "\n" for epoch, line in zip(epochs, curve, strict=True)]
    (run.directory / "metrics.jsonl").write_text("".join(lines))
    if last:
        (run.directory / "skills.jsonl").write_text(json.dumps(last) + "\n")
    run.write_summary(summary)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="REPORT")
    out = parser.parse_args().out.absolute()
    with tempfile.TemporaryDirectory() as directory, chdir(directory):  # the page names runs by where they are in it
        print(f"{lay_out(Path())} runs")
        for line in write_report(Path(), out):
            print(line)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"published: {error}", file=sys.stderr)
        sys.exit(2)
