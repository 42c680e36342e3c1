import dataclasses
import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import leads
from leads.cli import main
from leads.report.run import diagnosis
from leads.report.run.agreement import FLOOR, diagnose


@pytest.mark.parametrize(("still", "expected"), [(0, (1, 2)), (1, (0, 2)), (2, (0, 1))])
def test_the_features_that_spread_most_are_shown(still, expected):
    grid = np.ones((4, 4, 4))
    grid[tuple(slice(1, None) if axis == still else slice(None) for axis in range(3))] = 0
    task = SimpleNamespace(grid_axes=(0, 1, 2), bins=4)
    visited = np.stack(2 * [(grid / grid.sum()).reshape(-1)])
    assert diagnosis.widest_features(task, visited) == expected
    np.testing.assert_allclose(diagnosis._projected(task, visited, expected), np.full((2, 4, 4), 1 / 16))


def run_command(run: Path, *options: str) -> dict:
    main(["diagnose", str(run), "--episodes", "3", *options])
    out = Path(options[1]) if options else run / "figures"
    assert {path.name for path in out.iterdir()} == {"diagnosis.json", "diagnosis.png", "diagnosis.pdf"}
    height, width, _ = np.asarray(Image.open(out / "diagnosis.png").convert("RGB")).shape
    assert 400 < height < 1500 and 700 < width < 2000
    return json.loads((out / "diagnosis.json").read_text())


def test_diagnosis_from_the_command_line(tiny_run, tmp_path, capsys):
    said = run_command(tiny_run, "--out", str(tmp_path / "here"))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 6 + 1 + 2 and lines[0].split()[:2] == ["skill", "correlation"]
    assert said["cells"] == 100 and said["episodes"] == 3 and said["floor"] == FLOOR
    assert [row["skill"] for row in said["skills"]] == list(range(6))
    for row in said["skills"]:
        assert 0 <= row["total_variation"] <= 1
        assert row["correlation"] is None or -1 <= row["correlation"] <= 1
    mean = np.mean([row["total_variation"] for row in said["skills"]])
    assert said["mean"]["total_variation"] == pytest.approx(mean, abs=1e-4)
    assert f"{mean:.2f}" in lines[7]


def test_diagnosis_of_a_robot_with_three_features(finger_run, tmp_path):
    run = Path(shutil.copytree(finger_run, tmp_path / "run", ignore=shutil.ignore_patterns("figures")))
    said = run_command(run)
    assert said["cells"] == 1000 and len(said["skills"]) == 3


def test_the_picture_has_both_densities_of_every_skill(agent):
    found = diagnose(agent, 3)
    rows = found.rows()
    figure = diagnosis.diagnosis_figure(agent, found, rows, rows[0])
    assert f"total variation {rows[0]['total_variation']:.2f}" in figure.texts[0].get_text()
    *pictures, _ = figure.axes
    for skill, (above, below) in enumerate(zip(pictures[::2], pictures[1::2], strict=True)):
        assert above.get_title() == f"skill {skill}"
        assert f"TV {rows[skill]['total_variation']:.2f}" in below.get_title()
        for axes, shares in ((above, found.learnt), (below, found.visited)):
            image = np.ma.filled(axes.images[0].get_array(), 0)
            shown = np.where(shares[skill] < FLOOR, 0, shares[skill])
            np.testing.assert_allclose(image.T.reshape(-1), shown)


def test_a_single_feature_is_drawn_as_a_strip(agent):
    agent.task = dataclasses.replace(agent.task, walls=None, counted=(0,))
    found = diagnose(agent, 2)
    rows = found.rows()
    figure = diagnosis.diagnosis_figure(agent, found, rows, rows[0])
    figure.canvas.draw()
    np.testing.assert_array_equal(figure.axes[1].images[0].get_array().shape, (1, 10))


def test_a_method_without_a_measure_is_a_user_error(random_run, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["diagnose", str(random_run), "--out", str(tmp_path / "out")])
    assert stop.value.code == 2
    assert capsys.readouterr().err == "leads: method: random learns no measure that could be diagnosed; leads does\n"
    assert not (tmp_path / "out").exists()


def test_no_episodes_are_a_user_error(agent, tmp_path):
    with pytest.raises(leads.UserError, match="episodes: 0"):
        diagnosis.write_diagnosis(agent, tmp_path, 0)


def test_diagnosis_of_no_run_is_a_user_error(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["diagnose", str(tmp_path)])
    assert stop.value.code == 2 and "not a run directory" in capsys.readouterr().err


def test_skills_without_a_correlation_do_not_count_in_the_mean():
    assert diagnosis._mean([None, None]) is None and diagnosis._mean([None, 0.5]) == 0.5
