"""studies/collect.py decides which published rows are replaced."""

import csv
import json
import sys
from pathlib import Path

import pytest

from leads.errors import UserError
from leads.report.study.read import read_rows, read_study
from leads.report.study.result import Entry


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.fixture
def collect(monkeypatch, tmp_path):
    """Collects the runs below a directory into tables of its own; gives coverage by method and samples."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "studies")
    import collect

    monkeypatch.setattr(collect, "RESULTS", tmp_path)
    for name, columns in (("runs.csv", collect.COLUMNS), ("curves.csv", collect.CURVE_COLUMNS)):
        (tmp_path / name).write_text(",".join(columns) + "\n")
    (tmp_path / "skills.jsonl").touch()

    def run(directory: Path) -> dict[tuple[str, str], float]:
        monkeypatch.setattr(sys, "argv", ["collect.py", str(directory), "--commit", "abc"])
        collect.main()
        rows = table(tmp_path / "runs.csv")
        assert {row["commit"] for row in rows} <= {"abc"}
        return {(row["method"], row["samples"]): float(row["coverage"]) for row in rows}

    return run


@pytest.fixture
def write(write_run, tmp_path):
    """Writes a run where a benchmark would have put it."""

    def write(study: str, method: str = "leads", seed: int = 0, variant: str = "", **numbers) -> Path:
        made = write_run(tmp_path / "made" / study, "maze-u", method, seed, **numbers)
        place = tmp_path / study / "maze-u" / f"{method}-{variant}".rstrip("-") / f"seed-{seed}"
        place.parent.mkdir(parents=True, exist_ok=True)
        return made.rename(place)

    return write


def test_a_run_replaces_itself_unless_it_is_shorter(collect, write, tmp_path, capsys):
    write("first", coverage=80.0, samples=300_000)
    write("first", "metra", coverage=50.0, samples=300_000)
    assert collect(tmp_path / "first") == {("leads", "300000"): 80.0, ("metra", "300000"): 50.0}
    curve = table(tmp_path / "curves.csv")
    assert [row["samples"] for row in curve if row["method"] == "leads"][-1] == "300000"
    write("longer", coverage=90.0)
    assert collect(tmp_path / "longer") == {("leads", "1000000"): 90.0, ("metra", "300000"): 50.0}
    capsys.readouterr()
    assert collect(tmp_path / "first") == {("leads", "1000000"): 90.0, ("metra", "300000"): 50.0}
    assert "is not taken: the tables have it with 1,000,000 samples" in capsys.readouterr().out


def test_rows_tell_the_same_study_as_the_runs(collect, write, tmp_path):
    for seed in (0, 1):
        write("study", seed=seed, coverage=80.0 + seed)
        write("study", "metra", seed, coverage=60.0 + seed, samples=300_000)
        write("study", "csd", seed, variant="hot", coverage=50.0, first_temperature=0.5, on_wall="stop")
    collect(tmp_path / "study")
    runs, rows = read_study(tmp_path / "study"), read_rows(tmp_path)
    assert rows.settings == runs.settings and [s.title for s in rows.settings] == [s.title for s in runs.settings]
    assert rows.entries == runs.entries and Entry("csd", '{"first_temperature": 0.5}') in rows.entries
    for setting in runs.settings:
        for entry in runs.entries:
            of_runs, of_rows = runs.of(setting, entry), rows.of(setting, entry)
            assert [result.seed for result in of_rows] == [result.seed for result in of_runs]
            for metric in runs.tabled:
                assert rows.values(setting, entry, metric) == pytest.approx(runs.values(setting, entry, metric))
            for one, other in zip(of_rows, of_runs, strict=True):
                assert one.snapshots[-1].line() == other.snapshots[-1].line() and one.run is None
                assert one.variant == ("hot" if entry.options else "")


def test_numbers_that_only_some_tasks_have_are_kept_beside_rows_of_before(collect, write, tmp_path):
    """Also where the tables were written when nobody knew of these numbers."""
    write("before")
    collect(tmp_path / "before")
    for name in ("runs.csv", "curves.csv"):
        rows = table(tmp_path / name)
        with open(tmp_path / name, "w", newline="") as file:
            writer = csv.DictWriter(file, [c for c in rows[0] if not c.endswith("_1m")], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    [result] = read_rows(tmp_path).results
    assert result.numbers["coverage"] == 90.0 and "cells_1m" not in result.numbers
    write("new", "metra", numbers={"cells_1m": 41.0, "distinctness_1m": 0.25})
    collect(tmp_path / "new")
    by_method = {result.entry.method: result for result in read_rows(tmp_path).results}
    assert by_method["metra"].numbers["cells_1m"] == by_method["metra"].log[-1]["cells_1m"] == 41.0
    assert by_method["metra"].numbers["distinctness_1m"] == 0.25 and by_method["leads"].numbers["cells_1m"] is None


def test_skills_at_the_end_are_kept_and_replaced_with_the_run(collect, write, tmp_path):
    def kept() -> dict[str, dict]:
        lines = (tmp_path / "skills.jsonl").read_text().splitlines()
        return {line["method"]: line["skills"] for line in map(json.loads, lines)}

    run = write("first", samples=300_000)
    write("first", "metra", samples=300_000)
    collect(tmp_path / "first")
    last = json.loads((run / "skills.jsonl").read_text().splitlines()[-1])
    assert kept()["leads"] == last and kept().keys() == {"leads", "metra"}
    write("longer", remembers=False)
    collect(tmp_path / "longer")
    assert kept().keys() == {"metra"}, "those of the shorter run are not the longer one's"


def test_rows_of_other_runs_stay(collect, tmp_path):
    from collect import write

    by, path = ["task", "noise"], tmp_path / "noise.csv"
    path.write_text("task,noise,reached\nfinger,pink,1\nfinger,white,2\n")
    write(path, ["task", "noise", "reached"], [{"task": "finger", "noise": "pink", "reached": 3.14159}], by)
    assert [tuple(row.values()) for row in table(path)] == [("finger", "white", "2"), ("finger", "pink", "3.1416")]


def test_whatever_is_not_taken_is_named(collect, write, write_run, tmp_path, capsys):
    write("study")
    unfinished = write("study", seed=1, finished=False)
    elsewhere = write_run(tmp_path / "study", "maze-u", "metra")
    changed = write("study", "csd", n_skill=8)
    assert list(collect(tmp_path / "study")) == [("leads", "1000000")]
    said = capsys.readouterr().out
    assert f"{unfinished} is not finished" in said and "1 runs taken" in said
    assert f"{elsewhere} is not taken: its directory is not METHOD[-VARIANT]/seed-N" in said
    assert f"{changed} is not taken: it is not as the method ships" in said


def test_without_a_finished_run_nothing_is_written(collect, write, tmp_path):
    write("study", finished=False)
    before = (tmp_path / "runs.csv").read_text()
    with pytest.raises(UserError, match="has no finished run in it"):
        collect(tmp_path / "study")
    assert (tmp_path / "runs.csv").read_text() == before
