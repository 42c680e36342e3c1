"""The examples run as a reader would run them, and say what the documentation says."""

import re
import runpy
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

import leads

EXAMPLES = Path(__file__).parents[1] / "examples"
SMALL = {"actor_hidden": (16,), "measure_hidden": (16,), "measure_steps": 4, "policy_steps": 2, "td_steps": 1}


@pytest.fixture(scope="module")
def mutual_information():
    return runpy.run_path(str(EXAMPLES / "mutual_information.py"))


def test_two_sets_of_skills_tie_in_mutual_information_and_differ_in_coverage(mutual_information):
    results = mutual_information["compare"]()
    assert results["Z1"] == (pytest.approx(np.log(4), abs=1e-12), 4, 16)
    assert results["Z2"] == (pytest.approx(np.log(4), abs=1e-12), 8, 16)


def test_mutual_information_is_entropy_less_conditional_entropy(mutual_information):
    counts = np.random.default_rng(0).integers(0, 5, size=(3, 16)) * np.asarray([[1], [2], [7]])
    given_skill = counts / counts.sum(axis=1, keepdims=True)
    expected = scipy.stats.entropy(given_skill.mean(axis=0)) - np.mean(scipy.stats.entropy(given_skill, axis=1))
    assert mutual_information["mutual_information"](counts) == pytest.approx(expected, abs=1e-12)


def test_mutual_information_of_skills_that_are_one(mutual_information):
    assert mutual_information["mutual_information"](np.ones((4, 16))) == pytest.approx(0, abs=1e-12)


def test_mutual_information_example_prints_grids_and_table():
    command = [sys.executable, str(EXAMPLES / "mutual_information.py")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert (
        "  . . . .      x . . o\n  . x o .      . x o .\n  . ^ # .      . ^ # .\n  . . . .      ^ . . #\n" in run.stdout
    )
    table = re.findall(r"^(Z\d) +([\d.]+) +([\d.]+) +(\d+) of (\d+)$", run.stdout, re.MULTILINE)
    assert table == [("Z1", "1.3863", "1.0000", "4", "16"), ("Z2", "1.3863", "1.0000", "8", "16")]


@pytest.fixture
def run_example(monkeypatch, capsys):
    """Runs an example with its arguments as a program, in this process; what it prints."""

    def run(name: str, *arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_use_a_skill_follows_every_skill(run_example, tiny_run):
    """On a run that is there already; on the maze that the run was of."""
    shown = run_example("use_a_skill.py", str(tiny_run))
    assert re.findall(r"^skill (\d): +\d+ steps to \([+-]\d\.\d\d, [+-]\d\.\d\d\)", shown, re.MULTILINE) == list(
        "012345"
    )


def test_own_environment_teaches_its_boat_skills(run_example, tmp_path, monkeypatch):
    """With networks that learn nothing, but fast."""
    monkeypatch.setattr(leads, "train", partial(leads.train, **SMALL))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shown = run_example("own_environment.py", "2000")
    assert "the lake: its starts differ from reset to reset" in shown
    assert len(re.findall(r"^skill \d goes to \([+-]\d\.\d\d, [+-]\d\.\d\d\)$", shown, re.MULTILINE)) == 6
    assert {Path(path).stem for path in re.findall(r"^figure (.*)$", shown, re.MULTILINE)} >= {
        "skills", "skills_features", "coverage", "measure", "uncertainty"
    }  # fmt: skip
