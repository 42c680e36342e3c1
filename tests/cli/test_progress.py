"""What training shows: a column for every metric that is a headline."""

import io

from rich.console import Console

from leads.cli import progress as module
from leads.cli.progress import Progress, clock
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
