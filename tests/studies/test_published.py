"""studies/published.py: the published results as runs that `leads report` can read."""

import csv
import json
from pathlib import Path

import pytest

from leads.report.study.exhibits import exhibits, has_checkpoints
from leads.report.study.study import NUMBERS, PAPER, Entry, Study, read_study
from leads.report.study.study_tables import study_tables
from leads.training.run import Run

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
RUNS = list(csv.DictReader((BENCHMARKS / "results" / "runs.csv").read_text().splitlines()))
WHOLE = [row for row in RUNS if int(row["samples"]) >= 0.9 * PAPER["budgets_samples"][row["task"]]]
"""All rows of whole budgets: the suites that publish others stop sooner."""


@pytest.fixture(scope="module")
def published():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        import published

        yield published


@pytest.fixture(scope="module")
def laid_out(published, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("published")
    assert published.lay_out(out) == len(WHOLE)
    return out


@pytest.fixture(scope="module")
def study(laid_out) -> Study:
    return read_study(laid_out)


def test_every_run_of_a_whole_budget_is_there_with_its_numbers(study):
    assert not study.unfinished and not study.left_out and len(study.results) == len(WHOLE)
    assert [setting.title for setting in study.settings] == list(PAPER["budgets_samples"])
    variants = {"": "{}", "white": '{"noise": "white"}', "loud": '{"scale": 1.0}'}
    for row in WHOLE:
        setting = next(setting for setting in study.settings if setting.task == row["task"])
        of = study.of(setting, Entry(row["method"], variants[row["variant"]]))
        [result] = [result for result in of if result.seed == int(row["seed"])]
        for name in ("samples", *NUMBERS, "cpu_seconds"):
            assert result.numbers[name] == float(row[name]), (row, name)
        assert result.metrics[-1]["samples"] == int(row["samples"])
        assert result.metrics[-1]["coverage"] == float(row["coverage"])


def test_skills_that_were_kept_can_be_looked_at(study):
    kept = [json.loads(line) for line in (BENCHMARKS / "results" / "skills.jsonl").read_text().splitlines()]
    known = {(line["method"], line["variant"], line["task"], str(line["seed"])): line["skills"] for line in kept}
    whole = {(row["method"], row["variant"], row["task"], row["seed"]) for row in WHOLE}
    shown = list(exhibits(study))
    assert len(shown) == len(known.keys() & whole)
    for exhibit in shown:
        [last], end = exhibit.snapshots, exhibit.result.metrics[-1]
        assert last.samples == end["samples"] == exhibit.result.numbers["samples"] and last.epoch == end["epoch"]
        assert not has_checkpoints(exhibit.result)


def test_the_last_epoch_is_that_of_the_skills(published, write_run, tmp_path):
    made = Run.open(write_run(tmp_path / "made"))
    [*_, last] = made.read_lines("skills.jsonl")
    thinned = [{name: line[name] for name in ("samples", *NUMBERS)} for line in made.metrics()[1::4]]
    run = Run.create(tmp_path / "laid", made.config())
    published.write(run, made.summary(), thinned, last)
    assert [line["epoch"] for line in run.metrics()] == [1, 2, 10] and run.read_lines("skills.jsonl") == [last]
    without = Run.create(tmp_path / "without", made.config())
    published.write(without, made.summary(), thinned, None)
    assert [line["epoch"] for line in without.metrics()] == [1, 2, 3] and not without.read_lines("skills.jsonl")


def test_the_report_in_docs_is_of_these_results(study):
    for table in study_tables(study):
        there = (BENCHMARKS.parent / "docs" / "study" / "tables" / f"{table.name}.csv").read_text()
        assert there == table.csv(), f"{table.name}: make study was not run"
