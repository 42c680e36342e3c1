"""The published study as run directories again, for `leads report` (`make study`).

    python benchmarks/published.py runs/published
    leads report runs/published --out docs/study

Of every run of the suites paper and noises with its task's whole budget that results/ has: its config, its thinned
curve, its summary and its last skills, if these were kept. There are no checkpoints, so nothing can go on from here.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from collect import COLUMNS, CURVE_COLUMNS, RESULTS, RUN, SHORTER, key, rows, skills

from leads.benchmark.suites import Job, load
from leads.errors import UserError
from leads.report.study import PAPER
from leads.training.run import Run

SUITES = ("paper", "noises")


def jobs() -> list[Job]:
    """The runs of the suites that have the paper's budgets."""
    budgets = PAPER["budgets_samples"]
    return [job for suite in SUITES for job in load(suite) if job.config.samples == budgets[job.config.task]]


def lay_out(out: Path) -> int:
    """Makes a directory of every published run; gives their number."""
    if out.exists() and any(out.iterdir()):
        raise UserError(f"{out} is not empty; choose another")
    summaries = {key(row): row for row in rows(RESULTS / "runs.csv")}
    last_skills = {key(line): line["skills"] for line in skills()}
    curves = defaultdict(list)
    for row in rows(RESULTS / "curves.csv"):
        curves[key(row)].append(row)
    found = 0
    for job in jobs():
        config = job.config
        which = key(
            {
                "method": config.method,
                "variant": job.variant,
                "task": config.task,
                "on_wall": config.options.get("on_wall", ""),
                "seed": config.seed,
            }
        )
        if which in summaries and int(summaries[which]["samples"]) >= SHORTER * config.samples:
            run = Run.create(job.directory(out), config)
            _write(run, numbers(summaries[which], COLUMNS), [numbers(row, CURVE_COLUMNS) for row in curves[which]])
            if which in last_skills:
                last = last_skills[which] | {"epoch": len(curves[which])}
                (run.directory / "skills.jsonl").write_text(json.dumps(last) + "\n")
            found += 1
    return found


def numbers(row: dict[str, str], columns: list[str]) -> dict[str, Any]:
    """A row of a CSV file as a line of a log; what is not known is null."""
    known = {name: row[name] for name in columns if name not in RUN and name != "commit"}
    return {name: json.loads(text) if text else None for name, text in known.items()}


def _write(run: Run, summary: dict[str, Any], curve: list[dict[str, Any]]) -> None:
    lines = [json.dumps({"epoch": epoch} | line) + "\n" for epoch, line in enumerate(curve, 1)]
    (run.directory / "metrics.jsonl").write_text("".join(lines))
    run.write_summary(summary)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="DIR")
    try:
        out = parser.parse_args().out
        print(f"{lay_out(out)} runs in {out}")
    except UserError as error:
        print(f"published: {error}", file=sys.stderr)
        sys.exit(2)
