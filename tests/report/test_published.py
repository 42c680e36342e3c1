"""benchmarks/published.py: the published results as runs that `leads report` can read."""

import csv
import json
from pathlib import Path

import pytest

from leads.errors import UserError
from leads.report.exhibits import exhibits
from leads.report.study import NUMBERS, PAPER, Entry, Study, read_study

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
            assert result.numbers[name] == result.number(name) == float(row[name]), (row, name)
        assert result.metrics[-1]["samples"] == int(row["samples"])
        assert result.metrics[-1]["coverage"] == float(row["coverage"])


def test_skills_that_were_kept_can_be_looked_at(study):
    kept = [json.loads(line) for line in (BENCHMARKS / "results" / "skills.jsonl").read_text().splitlines()]
    known = {(line["method"], line["variant"], line["task"], str(line["seed"])) for line in kept}
    whole = {(row["method"], row["variant"], row["task"], row["seed"]) for row in WHOLE}
    shown = list(exhibits(study))
    assert len(shown) == len(known & whole)
    for exhibit in shown:
        [last] = exhibit.snapshots
        assert last.samples == exhibit.result.numbers["samples"]
        assert last.epoch == exhibit.result.metrics[-1]["epoch"]


def test_nothing_is_written_over(published, laid_out):
    with pytest.raises(UserError, match="is not empty; choose another"):
        published.lay_out(laid_out)
