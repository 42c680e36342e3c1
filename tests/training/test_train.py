"""Runs: what they write, that they repeat, and that nothing that happens to them changes how they end."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import leads
from leads.cli import main
from leads.training import checkpoint
from leads.training.run import Run

TINY = {
    "n_episode": 2, "measure_steps": 4, "policy_steps": 3, "td_steps": 1, "archive_size": 60, "archive_admit": 20,
    "actor_hidden": (16,), "measure_hidden": (16,), "measure_batch_size": 32, "policy_batch_size": 16, "n_targets": 8,
}  # fmt: skip
written = lambda value: ",".join(map(str, value)) if isinstance(value, tuple) else value
OPTIONS = [f"--{name.replace('_', '-')}={written(value)}" for name, value in TINY.items()]


def arrays(run: Path) -> dict[str, bytes]:
    newest = checkpoint.epochs(run / "checkpoints")[-1]
    with np.load(run / "checkpoints" / f"epoch-{newest:06d}.npz") as file:
        return {name: file[name].tobytes() for name in file.files}


def assert_same_end(one: Path, other: Path, logs: tuple[str, ...] = ("metrics.jsonl", "skills.jsonl")) -> None:
    for name in logs:
        assert (one / name).read_bytes() == (other / name).read_bytes()
    assert arrays(one) == arrays(other)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "leads", "train", *arguments]


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run that nothing disturbed."""
    out = tmp_path_factory.mktemp("whole") / "run"
    return leads.train("maze-u", samples=9_000, out=out, checkpoint_every=2, **TINY)


def test_a_run_writes_what_it_promises(whole):
    run = Run.open(whole)
    metrics, summary, config = run.metrics(), run.summary(), json.loads((whole / "config.json").read_text())
    assert [line["epoch"] for line in metrics] == list(range(1, len(metrics) + 1))
    assert metrics[-2]["samples"] < 9_000 <= metrics[-1]["samples"]
    keys = {"method", "task", "seed", "samples", "coverage", "coverage_fine", "skill_coverage", "distinctness", "reach"}
    assert keys | {"wall_seconds", "cpu_seconds", "peak_rss_mb", "versions"} <= set(summary)
    assert all(summary[name] == metrics[-1][name] for name in keys - {"method", "task", "seed"})
    assert config["method_options"]["n_episode"] == 2 and config["method_options"]["n_skill"] == 6
    assert np.all(np.diff([line["coverage"] for line in metrics]) >= 0)


def test_the_same_seed_repeats_and_another_does_not(whole, tmp_path):
    again = leads.train("maze-u", samples=9_000, out=tmp_path / "again", checkpoint_every=5, **TINY)
    other = leads.train("maze-u", samples=9_000, out=tmp_path / "other", seed=1, **TINY)
    assert_same_end(again, whole)
    assert arrays(other) != arrays(whole)


def test_kill_9_at_any_moment_and_resume_ends_the_same(whole, tmp_path):
    out = tmp_path / "killed"
    process = subprocess.Popen(
        command("--task=maze-u", "--samples=9000", f"--out={out}", "--checkpoint-every=2", "--no-figures", *OPTIONS),
        stdout=subprocess.DEVNULL,
    )
    while not (out / "metrics.jsonl").exists() or len((out / "metrics.jsonl").read_text().splitlines()) < 5:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "summary.json").exists()
    main(["train", f"--resume={out}", "--no-figures"])
    assert_same_end(out, whole)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """By number of epochs: a run that was stopped by Ctrl-C when it had reported so many."""

    @cache
    def stop(after: int) -> Path:
        def report(metrics):
            if metrics["epoch"] == after:
                raise KeyboardInterrupt

        out = tmp_path_factory.mktemp("stopped") / "run"
        with pytest.raises(KeyboardInterrupt):
            leads.train("maze-u", samples=9_000, out=out, checkpoint_every=2, report=report, **TINY)
        return out

    return stop


@pytest.fixture
def interrupted(stopped, tmp_path):
    """A copy of such a run, to be changed."""
    return lambda after: Path(shutil.copytree(stopped(after), tmp_path / "run"))


def test_damaged_checkpoint_is_named_and_the_one_before_used(whole, interrupted, capsys):
    run = interrupted(5)
    newest = run / "checkpoints" / "epoch-000005.npz"
    newest.write_bytes(newest.read_bytes()[:100])
    with open(run / "metrics.jsonl", "a") as file:
        file.write('{"epoch": 6, "cut off')
    leads.resume(run)
    assert capsys.readouterr().err.count("\n") == 1
    assert_same_end(run, whole)


def test_a_run_killed_before_its_first_checkpoint_starts_over(whole, interrupted):
    run = interrupted(1)
    shutil.rmtree(run / "checkpoints")
    leads.resume(run)
    assert_same_end(run, whole)


@pytest.mark.parametrize("after", [1, 3])
def test_an_interruption_costs_no_finished_epoch(whole, interrupted, after):
    run = interrupted(after)
    assert checkpoint.epochs(run / "checkpoints")[-1] == after
    agent = leads.load(run)
    assert agent.epoch == after and agent.act(agent.task.start, 0).shape == (2,)
    leads.resume(run)
    assert_same_end(run, whole)


def test_ctrl_c_twice_within_a_moment_is_as_clean_as_once(whole, tmp_path):
    out = tmp_path / "run"
    process = subprocess.Popen(
        command(
            "--task=maze-u", "--samples=900000", f"--out={out}", "--checkpoint-every=1000", "--no-figures", *OPTIONS
        ),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (out / "metrics.jsonl").exists() or len((out / "metrics.jsonl").read_text().splitlines()) < 3:
        assert process.poll() is None, "the run ended before it could be interrupted"
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert error == f"leads: continue with: leads train --resume {out}\nleads: interrupted\n"
    finished = len((out / "metrics.jsonl").read_text().splitlines())
    assert finished - 1 <= checkpoint.epochs(out / "checkpoints")[-1] <= finished


BAD_IN_PYTHON = {
    "checkpoint_every: 2.5 is not a whole number": {"checkpoint_every": 2.5},
    "threads: 1.5 is not a whole number": {"threads": 1.5},
    "threads: 2000 is not allowed; give a number up to 1,024": {"threads": 2000},
    "report: 3 is not a function; give one that takes a dict, or None": {"report": 3},
    "policy_learning_rate: 1000": {"policy_learning_rate": 10**400},
    "policy_learning_rate: a number with thousands of digits is not a finite number": {
        "policy_learning_rate": 10**5000
    },
    "seed: 'x' is not a whole number": {"seed": "x"},
    "seed: none is not a whole number": {"seed": None},
    "samples: 'many' is not a whole number": {"samples": "many"},
    "samples: True is not a whole number": {"samples": True},
    "out: 3 is not the path of a file or directory": {"out": 3},
    "out: '' is not the path of a file or directory": {"out": ""},
    r"out: 'a\x00b' is not the path of a file or directory": {"out": "a\0b"},
    "task: 3 is unknown; allowed are maze-easy": {"task": 3},
    "task: None is unknown; allowed are maze-easy": {"task": None},
    "method: None cannot be used: it has no Config": {"method": None},
    "method: 3 cannot be used: it has no Config": {"method": 3},
    "metrics: 3 is not a list of metrics": {"metrics": 3},
    "metrics: 3 is not a Metric": {"metrics": [3]},
    "on_wall: 3 is not one of terminate, stop, or none": {"on_wall": 3},
    "n_skill: none is not a whole number": {"n_skill": None},
    "replay_size: 10 is not allowed; give at least an epoch's samples": {"method": "diayn", "replay_size": 10},
    "archive_admit: 20000 is not allowed; give at most the states of an epoch, 19200": {"archive_admit": 20_000},
}


@pytest.mark.parametrize("message", BAD_IN_PYTHON)
def test_from_python_a_bad_value_is_a_user_error_and_nothing_is_written(message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(leads.UserError) as refused:
        leads.train(**BAD_IN_PYTHON[message])
    assert str(refused.value).startswith(message) and "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_a_bad_value_for_a_run_that_goes_on_changes_nothing(whole):
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*")}
    for options, message in (
        ({"checkpoint_every": 2.5}, "^checkpoint_every: 2.5 is"),
        ({"samples": "many"}, "^samples: 'many' is"),
        ({"report": "loud"}, "^report: 'loud' is"),
        ({"metrics": 3}, "^metrics: 3 is"),
        ({"task": 3}, "^task: the run is of maze-u, which is made by its name; give none"),
    ):
        with pytest.raises(leads.UserError, match=message):
            leads.resume(whole, **options)
    with pytest.raises(leads.UserError, match=r"^directory: 3 is not the path"):
        leads.resume(3)
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*")} == before


def test_none_reports_nothing(tmp_path, capsys):
    leads.train("maze-u", "random", samples=100, out=tmp_path / "run", n_skill=1, n_episode=1, report=None)
    assert capsys.readouterr() == ("", "")


def test_a_run_whose_checkpoints_are_all_damaged_starts_over_and_says_so(whole, interrupted, capsys):
    run = interrupted(5)
    for path in (run / "checkpoints").glob("*.npz"):
        path.write_bytes(b"")
    leads.resume(run)
    assert "no other is there" in capsys.readouterr().err
    assert_same_end(run, whole)


def test_a_changed_config_does_not_cost_the_run(whole, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole, run)
    config = json.loads((run / "config.json").read_text())
    for change in ({"actor_hidden": [7]}, {"actor_hidden": "wide"}, {"colour": 1}):
        (run / "config.json").write_text(json.dumps(config | {"method_options": config["method_options"] | change}))
        with pytest.raises(leads.UserError, match=r"config\.json"):
            leads.resume(run, samples=12_000)
    for change in (
        {"samples": "many"},
        {"method_options": 3},
        {"task_options": 3},
        {"method": "magic"},
        {"format": 99},
    ):
        (run / "config.json").write_text(json.dumps(config | change))
        with pytest.raises(leads.UserError, match=r"config\.json cannot be used"):
            leads.resume(run)
    assert (run / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()


def test_a_process_killed_while_making_the_directory_leaves_it_usable(tmp_path):
    (tmp_path / "config.json.partial").write_text("{")
    (tmp_path / ".lock").write_text("")
    leads.train("maze-u", method="random", samples=100, out=tmp_path)


def test_resuming_a_finished_run_changes_nothing(whole):
    before = (whole / "metrics.jsonl").read_bytes(), arrays(whole)
    leads.resume(whole)
    assert before == ((whole / "metrics.jsonl").read_bytes(), arrays(whole))


def test_a_finished_run_without_checkpoints_is_kept(whole, tmp_path):
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    shutil.rmtree(run / "checkpoints")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    leads.resume(run)
    with pytest.raises(leads.UserError, match="is finished and cannot go on: it has no checkpoint that is whole"):
        leads.resume(run, samples=12_000)
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


DAMAGE = {
    "a bad line": lambda lines: [*lines[:2], b"{", *lines[3:]],
    "a line that says nothing": lambda lines: [*lines[:2], b"[1]", *lines[3:]],
    "a line that is no text": lambda lines: [*lines[:2], b"\xff\xfe", *lines[3:]],
    "a line less": lambda lines: [*lines[:2], *lines[3:]],
    "no end": lambda lines: lines[:2],
    "nothing": lambda lines: [],
}


@pytest.mark.parametrize("name", ["metrics.jsonl", "timing.jsonl"])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_log_is_named_and_nothing_is_changed(whole, tmp_path, name, damage):
    run = Path(shutil.copytree(whole, tmp_path / "run"))
    (run / name).write_bytes(b"".join(line + b"\n" for line in damage((run / name).read_bytes().splitlines())))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(leads.UserError, match=rf"{name} is damaged"):
        leads.resume(run, samples=12_000)
    assert before == {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_damaged_checkpoints_do_not_stay_in_the_way_of_new_ones(whole, interrupted):
    run = interrupted(5)
    for path in (run / "checkpoints").glob("*.npz"):
        path.write_bytes(b"")

    def stop(metrics):
        if metrics["epoch"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leads.resume(run, checkpoint_every=2, report=stop)
    assert checkpoint.epochs(run / "checkpoints") == [2, 3]
    leads.resume(run)
    assert_same_end(run, whole)


def test_a_finished_run_can_go_on_to_more_samples(whole, tmp_path):
    run = leads.train("maze-u", samples=4_000, out=tmp_path / "run", checkpoint_every=3, **TINY)
    with pytest.raises(leads.UserError, match=r"samples: 3999 is not allowed; the run has 4000"):
        leads.resume(run, samples=3_999)
    with pytest.raises(leads.UserError, match="samples: 0"):
        leads.resume(run, samples=0)
    old_end = Run.open(run).metrics()[-1]["epoch"]
    figures = run / "figures"
    figures.mkdir(exist_ok=True)
    for name in ("skills.mp4", "skills_pink.csv", "skills.png"):
        (figures / name).touch()
    leads.resume(run, samples=9_000)
    assert [path.name for path in figures.iterdir()] == ["skills.png"], "no film shows skills that are no more"
    assert_same_end(run, whole, ("metrics.jsonl",))
    remembered = [[line["epoch"] for line in Run.open(path).read_lines("skills.jsonl")] for path in (run, whole)]
    assert remembered[0] == sorted({*remembered[1], old_end})
    assert Run.open(run).summary()["samples"] == Run.open(whole).summary()["samples"]
    assert Run.open(run).config == Run.open(whole).config


def test_two_processes_on_one_directory_are_refused(interrupted):
    run = interrupted(1)
    with Run.open(run).lock(), pytest.raises(leads.UserError, match="in use by another process"):
        leads.resume(run)


def test_a_directory_with_something_in_it_is_refused_and_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(leads.UserError, match="not empty"):
        leads.train("maze-u", samples=1_000, out=tmp_path, **TINY)
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_users_maze_is_kept_in_the_run(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text('{"start": [0.5, 0.5], "walls": [[0, -1, 0, 1]]}')
    run = leads.train(f"maze:{file}", samples=1_000, out=tmp_path / "run", **TINY)
    file.unlink()
    agent = leads.load(run)
    assert agent.task.start.tolist() == [0.5, 0.5]
    assert all(np.all(path[:, 0] > 0) for path in agent.rollout(0, episodes=3))


def test_controls_carry_the_same_numbers(tmp_path):
    run = leads.train("maze-easy", method="random", samples=4_000, out=tmp_path / "run", noise="white")
    summary = Run.open(run).summary()
    assert summary["reach"] is None and 0 < summary["distinctness"] < 0.3 and summary["skill_coverage"] > 5
