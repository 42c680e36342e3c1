"""The published study: committed rows read as the same kind of study that run directories are."""

import csv
import json
from pathlib import Path

import pytest

from leads.report.study.exhibits import exhibits
from leads.report.study.read import NUMBERS
from leads.report.study.result import PAPER, Entry
from leads.report.study.study import Study
from leads.report.study.study_tables import study_tables

STUDIES = Path(__file__).parents[2] / "studies"
RUNS = list(csv.DictReader((STUDIES / "results" / "runs.csv").read_text().splitlines()))
BUDGETS = PAPER["budgets_samples"]
WHOLE = [row for row in RUNS if row["task"] in BUDGETS and int(row["samples"]) >= 0.9 * BUDGETS[row["task"]]]
"""All rows of whole budgets: the suites that publish others stop sooner, or are of tasks that the paper has not."""


@pytest.fixture(scope="module")
def study() -> Study:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(STUDIES)
        import published

        return published.published()


def test_every_run_of_a_whole_budget_is_there_with_its_numbers(study):
    assert not study.unfinished and not study.left_out and len(study.results) == len(WHOLE)
    assert [setting.title for setting in study.settings] == list(PAPER["budgets_samples"])
    variants = {"": "{}", "white": '{"noise": "white"}', "loud": '{"scale": 1.0}', "measure": '{"improve": "measure"}'}
    for row in WHOLE:
        setting = next(setting for setting in study.settings if setting.task == row["task"])
        of = study.of(setting, Entry(row["method"], variants[row["variant"]]))
        [result] = [result for result in of if result.seed == int(row["seed"])]
        for name in (name for name in NUMBERS if name in row):
            assert result.numbers[name] == (float(row[name]) if row[name] else None), (row, name)
        assert result.log[-1]["samples"] == int(row["samples"])
        assert result.log[-1]["coverage"] == float(row["coverage"])


def test_skills_that_were_kept_can_be_looked_at(study):
    kept = [json.loads(line) for line in (STUDIES / "results" / "skills.jsonl").read_text().splitlines()]
    known = {(line["method"], line["variant"], line["task"], str(line["seed"])): line["skills"] for line in kept}
    whole = {(row["method"], row["variant"], row["task"], row["seed"]) for row in WHOLE}
    shown = list(exhibits(study))
    assert len(shown) == len(known.keys() & whole)
    for exhibit in shown:
        [last], result = exhibit.snapshots, exhibit.result
        assert last.samples == result.log[-1]["samples"] == result.numbers["samples"]
        assert not result.has_checkpoints and result.film is None and exhibit.maps is None


def test_the_report_in_docs_is_of_these_results(study):
    for table in study_tables(study):
        there = (STUDIES.parent / "docs" / "study" / "tables" / f"{table.name}.csv").read_text()
        assert there == table.csv(), f"{table.name}: make study was not run"
