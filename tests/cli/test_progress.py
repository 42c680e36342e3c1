"""What training and benchmarks show while they run: all metrics that are headlines."""

import csv
import io
from pathlib import Path
from statistics import mean

import pytest
from rich.console import Console

from leads.benchmark.standing import Costs, Standing
from leads.benchmark.suites import load
from leads.cli import progress as module
from leads.cli.progress import BenchmarkProgress, Progress, clock
from leads.training.metrics import HEADLINE

LINE = {"epoch": 3, "samples": 1500, "budget": 3000, "samples_per_second": 1234.5, "seconds_left": 61.2}
METRICS = {"coverage": 41.0, "skill_coverage": None, "distinctness": 0.256}


def test_plain_lines_now_and_then_and_at_the_end(capsys, monkeypatch):
    now = 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    with Progress() as progress:
        progress(LINE | METRICS)
        now = 105.0
        progress(LINE | METRICS | {"epoch": 4})
        progress(LINE | METRICS | {"epoch": 5, "samples": 3000, "seconds_left": 0.0, "skill_coverage": 30.4})
    assert capsys.readouterr().out.splitlines() == [
        "epoch 3  samples 1,500  coverage 41 %  skill coverage -  distinctness 0.26  samples/s 1,234  left 1:01",
        "epoch 5  samples 3,000  coverage 41 %  skill coverage 30 %  distinctness 0.26  samples/s 1,234  left 0:00",
    ]


def test_the_start_names_the_run_and_what_there_is_to_know(random_run, capsys):
    with Progress() as progress:
        progress({"run": str(random_run), "epoch": 0, "note": "mind the step"})
    assert progress.run == str(random_run) and progress.headline == HEADLINE
    lines = [f"run {random_run}", "mind the step", "compiling; the first epoch takes longer"]
    assert capsys.readouterr().out.splitlines() == lines


def test_a_terminal_shows_a_bar_and_a_table():
    console = Console(file=io.StringIO(), width=120)
    console.print(module._table(Progress()._columns(LINE | METRICS), LINE))
    bar, names, values = console.file.getvalue().splitlines()
    assert bar.strip() and names.split()[:3] == ["epoch", "samples", "coverage"]
    assert values.split()[:4] == ["3", "1,500", "41", "%"]


def test_long_times_have_hours():
    assert [clock(seconds) for seconds in (59.6, 3599, 3600, 262_861)] == ["1:00", "59:59", "1:00:00", "73:01:01"]


@pytest.fixture
def jobs(tmp_path):
    file = tmp_path / "suite.toml"
    file.write_text('[[runs]]\nmethods = ["leads"]\ntasks = ["maze-u"]\nseeds = [0, 1, 2]\nsamples = 1000\n')
    return load(str(file))


@pytest.fixture
def costs(jobs) -> Costs:
    """Every job costs 100 seconds."""
    costs = Costs()
    costs.known[jobs[0].kind] = 0.1
    return costs


def test_lines_of_runs_and_the_time_left(jobs, costs, monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    with BenchmarkProgress() as progress:
        progress([Standing(job, "waiting") for job in jobs], costs)
        now = 100.0  # half of two jobs, at half the speed of the machine on which costs were learnt
        half = [Standing(job, "running", 500, {"coverage": 40.0}) for job in jobs[:2]]
        progress([*half, Standing(jobs[2], "waiting")], costs)
        now = 200.0
        numbers = {"coverage": 90.0, "distinctness": 0.5}
        done = [Standing(job, "done", 1003, numbers) for job in jobs[:2]]
        progress([*done, Standing(jobs[2], "running")], costs)
        now = 201.0
        progress([*done, Standing(jobs[2], "failed", reason="oh")], costs)
    assert capsys.readouterr().out.splitlines() == [
        "0 of 3 runs done, 0 running",
        "maze-u/leads/seed-0: continues",
        "maze-u/leads/seed-1: continues",
        "0 of 3 runs done, 2 running, 3:20 left",
        "  maze-u/leads/seed-0: 500 of 1,000 samples, coverage 40 %",
        "  maze-u/leads/seed-1: 500 of 1,000 samples, coverage 40 %",
        "maze-u/leads/seed-0: done, 1,003 samples, coverage 90 %, distinctness 0.50",
        "maze-u/leads/seed-1: done, 1,003 samples, coverage 90 %, distinctness 0.50",
        "maze-u/leads/seed-2: begins",
        "2 of 3 runs done, 1 running, 3:20 left",
        "  maze-u/leads/seed-2: 0 of 1,000 samples",
        "maze-u/leads/seed-2: failed: oh",
        "2 of 3 runs done, 0 running, 1 failed",
    ]


def test_a_run_that_continues_from_its_last_checkpoint_does_not_spoil_the_time_left(jobs, costs, monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    with BenchmarkProgress() as progress:
        progress([Standing(jobs[0], "waiting", 190, {"coverage": 10.0})], costs)
        progress([Standing(jobs[0], "running", 100, {"coverage": 10.0})], costs)
        now = 40.0
        progress([Standing(jobs[0], "running", 200, {"coverage": 20.0})], costs)
    assert "0 of 1 runs done, 1 running, 5:20 left" in capsys.readouterr().out


def test_a_run_without_progress_is_told(jobs, costs, monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    with BenchmarkProgress() as progress:
        for now, samples in ((0.0, 100), (500.0, 200), (1000.0, 200), (1101.0, 200), (1700.0, 300)):  # noqa: B007
            progress([Standing(jobs[0], "running", samples, {"coverage": 10.0})], costs)
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert ["no progress" in line for line in shown] == [False, False, False, True, False]
    assert shown[3] == "  maze-u/leads/seed-0: 200 of 1,000 samples, coverage 10 %, no progress for 10:01"


def published_costs() -> dict[tuple[str, str], float]:
    """Mean CPU seconds per sample of every method, as it ships, on every task."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in csv.DictReader((Path(__file__).parents[2] / "studies/results/runs.csv").read_text().splitlines()):
        if row["variant"] == "":
            each = float(row["cpu_seconds"]) / float(row["samples"])
            found.setdefault((row["method"], row["task"]), []).append(each)
    return {key: mean(each) for key, each in found.items()}


def test_costs_of_what_was_never_run_are_guessed_well(tmp_path):
    for (method, task), known in published_costs().items():
        file = tmp_path / "suite.toml"
        file.write_text(f'[[runs]]\nmethods = ["{method}"]\ntasks = ["{task}"]\nseeds = [0]\nsamples = 1_000_000\n')
        guess = Costs().of(load(str(file))[0])
        assert guess == pytest.approx(1e6 * known, rel=0.6, abs=60), (method, task)


def test_a_terminal_shows_a_bar_for_all_and_for_each_run(jobs, costs):
    standings = [Standing(jobs[0], "running", 500, {"coverage": 40.0}), *(Standing(job, "waiting") for job in jobs[1:])]
    console = Console(file=io.StringIO(), width=120)
    console.print(module._bars("1 running", standings, [(standings[0], "500 of 1,000 samples")], costs))
    everything, run = console.file.getvalue().splitlines()
    assert everything.startswith("all ") and everything.rstrip().endswith("1 running")
    assert run.startswith("maze-u/leads/seed-0 ") and run.rstrip().endswith("500 of 1,000 samples")


def test_between_evaluations_the_last_known_numbers_are_shown_with_their_epoch():
    progress = Progress()
    assert progress._columns(LINE | METRICS)["skill coverage"] == "-"
    progress._columns(LINE | METRICS | {"epoch": 4, "skill_coverage": 30.4})
    later = progress._columns(LINE | {"epoch": 9, "coverage": 44.0, "skill_coverage": None, "distinctness": None})
    assert later["coverage"] == "44 %"
    assert (later["skill coverage"], later["distinctness"]) == ("30 % (epoch 4)", "0.26 (epoch 4)")
