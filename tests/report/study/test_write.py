"""The whole report: its files, what is in them, and what it does without."""

import base64
import gzip
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from leads.cli import main
from leads.report.study.exhibits import exhibits
from leads.report.study.page import GRAIN
from leads.report.study.read import read_study
from leads.training.run import Run
from leads.training.snapshots import snapshots

RANKED = ["coverage", "skill_coverage", "skill_coverage_x_distinctness"]
TABLES = ["first", "table1", "numbers", "tests", *(f"aggregate_{name}" for name in RANKED), "cost"]


def element(html: str, name: str) -> str:
    found = re.search(rf'<script type="[^"]*" id="{name}">(.*?)</script>', html, re.DOTALL)
    assert found
    return found[1]


def unpacked(html: str, name: str) -> dict:
    return json.loads(gzip.decompress(base64.b64decode(element(html, name))))


def test_a_report_is_tables_figures_and_a_page(report):
    assert {path.name for path in (report / "tables").iterdir()} == {
        f"{name}.{kind}" for name in TABLES for kind in ("md", "tex", "csv")
    }
    settings = ("maze-u", "maze-hard", "fetch-slide")
    figures = {f"skills_{which}_{setting}" for which in ("best", "median") for setting in settings}
    figures |= {"coverage", *(f"profiles_{name}" for name in RANKED)}
    written = {path.name for path in (report / "figures").iterdir()}
    assert written == {f"{name}.{kind}" for name in figures for kind in ("png", "pdf")}
    assert (report / "index.html").stat().st_size > 50_000


def test_the_page_needs_nothing_else(report):
    html = (report / "index.html").read_text()
    assert not re.search(r"""(src|href)=["'](?!#|data:)""", html) and "@import" not in html and "url(" not in html
    assert "<!-- " not in html, "every part has found its place"
    assert all(f'id="table-{name}"' in html for name in TABLES)
    assert "METRA, seed 3: 900,000 of 1,000,000 samples" in html and "another version of leads" in html


def test_the_page_shows_the_paths_that_runs_remember(report, study_directory):
    html = (report / "index.html").read_text()
    data = json.loads(element(html, "data"))
    shown = list(exhibits(read_study(study_directory)))
    assert len(data["runs"]) == len(shown) == 27, "all but the one that remembers nothing and cannot be loaded"
    run, exhibit = unpacked(html, "run-0"), shown[0]
    assert data["settings"][data["runs"][0]["setting"]] == "maze-u" and run["view"]["names"] == ["x", "y"]
    assert [one["epoch"] for one in run["snapshots"]] == [1, 3, 10]
    last, kept = run["snapshots"][-1], exhibit.snapshots[-1]
    points = np.asarray(last["paths"]).reshape(kept.paths.shape).cumsum(axis=2) / GRAIN
    assert np.allclose(points, kept.paths, atol=1 / GRAIN)
    assert np.allclose(np.asarray(last["targets"]) / GRAIN, kept.targets, atol=1 / GRAIN)
    assert last["numbers"]["coverage"] == exhibit.result.log[-1]["coverage"]


def test_best_and_median_are_marked_once_a_method(report):
    runs = json.loads(element((report / "index.html").read_text(), "data"))["runs"]
    for which in ("best", "median"):
        cells = [(run["setting"], run["entry"]) for run in runs if run[which]]
        assert len(cells) == len(set(cells)) == 9


def test_the_same_runs_give_the_same_report(report, study_directory, tmp_path, capsys):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "skills_best_maze-gone.png").write_bytes(b"of an earlier report")
    main(["report", str(study_directory), "--out", str(tmp_path)])
    assert "no checkpoints in 28 of 28 runs: they have no maps and no new films" in capsys.readouterr().out
    assert not (tmp_path / "figures" / "skills_best_maze-gone.png").exists()
    for path in (tmp_path / "index.html", *(tmp_path / "tables").iterdir()):
        assert path.read_bytes() == (report / path.relative_to(tmp_path)).read_bytes()


def test_trained_runs_have_maps_also_if_they_remember_no_skills(tiny_run, tmp_path):
    forgetful = Path(shutil.copytree(tiny_run, tmp_path / "runs" / "one"))
    (forgetful / "skills.jsonl").unlink()
    (shown,) = exhibits(read_study(tmp_path / "runs"))
    assert [one.epoch for one in shown.snapshots] == [Run.open(tiny_run).metrics()[-1]["epoch"]]
    remembered = snapshots(Run.open(tiny_run))[-1]
    assert shown.snapshots[0].paths.shape == remembered.paths.shape and shown.maps is not None
    for values in (shown.maps.measure, shown.maps.uncertainty):
        assert values.shape == (6, 10_000) and values.min() == 0 and values.max() == 1
    main(["report", str(tmp_path / "runs"), "--out", str(tmp_path / "report")])
    maps = unpacked((tmp_path / "report" / "index.html").read_text(), "run-0")["maps"]
    levels = np.frombuffer(base64.b64decode(maps["measure"][2]), np.uint8)
    assert np.allclose(levels / 254, shown.maps.measure[2], atol=1 / 254)
    unseen = np.frombuffer(base64.b64decode(maps["uncertainty"][0]), np.uint8) == 255
    assert np.array_equal(unseen, np.ma.getmaskarray(shown.maps.uncertainty)[0]) and maps["points"] is None


def test_the_film_of_a_robot_is_in_the_page(report, study_directory):
    html = (report / "index.html").read_text()
    runs = json.loads(element(html, "data"))["runs"]
    films = [int(number) for number in re.findall(r'id="film-(\d+)"', html)]
    assert [(runs[i]["best"], runs[i]["seed"]) for i in films] == [(True, 2)]
    (film,) = study_directory.rglob("skills.mp4")
    assert base64.b64decode(element(html, f"film-{films[0]}")) == film.read_bytes()


def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, capsys):
    for directory in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(SystemExit) as stop:
            main(["report", str(directory), "--out", str(tmp_path / "report")])
        captured = capsys.readouterr()
        assert stop.value.code == 2 and captured.err == f"leads: {directory} has no finished run in it\n"
    assert not any(tmp_path.iterdir())


def test_an_unwritable_place_is_one_line(study_directory, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as stop:
        main(["report", str(study_directory), "--out", str(tmp_path / "file")])
    assert stop.value.code == 2 and "cannot be written" in capsys.readouterr().err


def test_films_are_made_of_robots_best_runs_that_have_none(opengl, finger_run, tmp_path, capsys):
    run = tmp_path / "runs" / "robot"
    shutil.copytree(finger_run, run)
    shutil.rmtree(run / "figures", ignore_errors=True)
    for _ in range(2):
        main(["report", str(tmp_path / "runs"), "--out", str(tmp_path / "report"), "--films"])
    assert capsys.readouterr().out.count(f"video {run / 'figures' / 'skills.mp4'}") == 1, "the second has it"
    html = (tmp_path / "report" / "index.html").read_text()
    assert base64.b64decode(element(html, "film-0")) == (run / "figures" / "skills.mp4").read_bytes()
