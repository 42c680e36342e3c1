"""What a benchmark tells while it goes on."""

import pytest

from leads.benchmark import progress as module
from leads.benchmark.costs import COMPILING, Costs
from leads.benchmark.progress import BenchmarkProgress
from leads.benchmark.standing import Standing
from leads.benchmark.suites import load


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
        half = [Standing(job, "running", 500, 40.0) for job in jobs[:2]]
        progress([*half, Standing(jobs[2], "waiting")], costs)
        now = 200.0
        done = [Standing(job, "done", 1003, 90.0) for job in jobs[:2]]
        progress([*done, Standing(jobs[2], "running")], costs)
        now = 201.0
        progress(
            [*(Standing(job, "done", 1003, 90.0) for job in jobs[:2]), Standing(jobs[2], "failed", 0, 0, "oh")], costs
        )
    assert capsys.readouterr().out.splitlines() == [
        "0 of 3 runs done, 0 running",
        "maze-u/leads/seed-0: goes on",
        "maze-u/leads/seed-1: goes on",
        "0 of 3 runs done, 2 running, 3:20 left",
        "  maze-u/leads/seed-0: 500 of 1,000 samples, coverage 40 %",
        "  maze-u/leads/seed-1: 500 of 1,000 samples, coverage 40 %",
        "maze-u/leads/seed-0: done, 1,003 of 1,000 samples, coverage 90 %",
        "maze-u/leads/seed-1: done, 1,003 of 1,000 samples, coverage 90 %",
        "maze-u/leads/seed-2: begins",
        "2 of 3 runs done, 1 running, 3:20 left",
        "  maze-u/leads/seed-2: 0 of 1,000 samples, coverage 0 %",
        "maze-u/leads/seed-2: failed, oh",
        "2 of 3 runs done, 0 running, 1 failed",
    ]


def test_a_run_that_goes_on_from_its_last_checkpoint_does_not_spoil_the_time_left(jobs, costs, monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    with BenchmarkProgress() as progress:
        progress([Standing(jobs[0], "waiting", 190, 10.0)], costs)
        progress([Standing(jobs[0], "running", 100, 10.0)], costs)
        now = 40.0
        progress([Standing(jobs[0], "running", 200, 20.0)], costs)
    assert "0 of 1 runs done, 1 running, 5:20 left" in capsys.readouterr().out


def test_costs_of_what_was_never_run_are_guessed(jobs):
    assert Costs().of(jobs[0]) == pytest.approx(COMPILING + 0.5)
