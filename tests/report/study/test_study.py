"""What a report reads: damaged runs are named and left out, and what may be compared is found to be."""

import json
from pathlib import Path

import pytest

from leads.report.study.from_runs import read_study
from leads.report.study.write import file_names
from leads.training.run import Run


def change(path: Path, **numbers) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | numbers))


DAMAGE = {
    "empty summary": lambda run: (run / "summary.json").write_text("{}"),
    "summary of another kind": lambda run: (run / "summary.json").write_text("[]"),
    "summary that is a directory": lambda run: [(run / "summary.json").unlink(), (run / "summary.json").mkdir()],
    "no coverage": lambda run: change(run / "summary.json", coverage=None),
    "metrics cut off": lambda run: (run / "metrics.jsonl").write_text((run / "metrics.jsonl").read_text()[:500]),
    "metrics of another kind": lambda run: (run / "metrics.jsonl").write_text("[1]\n"),
    "metrics that are no text": lambda run: (run / "metrics.jsonl").write_bytes(b"\xff\xfe"),
    "skills of another kind": lambda run: (run / "skills.jsonl").write_text('{"epoch": 1}\n'),
    "config of another kind": lambda run: (run / "config.json").write_text("[]"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_run_is_named_and_the_report_does_without(damage, write_run, tmp_path):
    write_run(tmp_path, seed=0)
    damaged = write_run(tmp_path, seed=1)
    damage(damaged)
    study = read_study(tmp_path)
    assert [result.seed for result in study.results] == [0]
    assert len(study.left_out) == 1 and str(damaged) in study.left_out[0]


def test_a_run_that_ends_while_it_is_read_counts_next_time(write_run, tmp_path, monkeypatch):
    write_run(tmp_path, seed=0)
    ending = Run.open(write_run(tmp_path, seed=1, finished=False))

    def end(run: Run) -> list:
        if run.directory == ending.directory:
            ending.write_summary({"samples": 1_000_000, "cpu_seconds": 1.0})
        return []

    monkeypatch.setattr("leads.report.study.from_runs.snapshots", end)
    study = read_study(tmp_path)
    assert ending.is_finished
    assert [result.seed for result in study.results] == [0] and [result.seed for result in study.unfinished] == [1]


def test_runs_behind_links_count_once(write_run, tmp_path):
    real = write_run(tmp_path / "elsewhere", seed=0)
    below = tmp_path / "study"
    below.mkdir()
    (below / "linked").symlink_to(real)
    (below / "again").symlink_to(below)
    study = read_study(below)
    assert len(study.results) == 1 and not study.left_out


def test_a_run_on_a_task_of_ones_own_with_shipped_settings_is_no_variant(write_run, tmp_path):
    config = write_run(tmp_path, "fetch-slide", samples=1000) / "config.json"
    change(config, task="mine", own_task=True)
    assert Run.open(config.parent).config.method_config.memory == 8, "as on every task that is stepped on the host"
    (result,) = read_study(tmp_path).results
    assert result.entry.title == "LEADS"


def test_a_maze_is_what_is_in_its_file(write_run, tmp_path):
    """Two paths to one maze are one setting; another maze of the same name is another."""
    for i, wall in enumerate((0.5, 0.5, 0.6)):
        maze = tmp_path / f"{i}" / "rooms.json"
        maze.parent.mkdir()
        maze.write_text(json.dumps({"start": [0, 0], "walls": [[wall, -1, wall, 0]]}))
        run = write_run(tmp_path / "runs", "maze-u", seed=i)
        options = {"on_wall": "terminate", "maze": json.loads(maze.read_text())}
        change(run / "config.json", task=f"maze:{maze}", task_options=options)
    study = read_study(tmp_path / "runs")
    assert [setting.title for setting in study.settings] == ["rooms (2), 1M samples", "rooms, 1M samples"]
    assert [len([r for r in study.results if r.setting == setting]) for setting in study.settings] == [1, 2]


def test_settings_of_one_task_are_told_apart_by_their_options(write_run, tmp_path):
    for seed, bins in enumerate((10, 20)):
        run = write_run(tmp_path, "maze-u", seed=seed)
        change(run / "config.json", task_options={"on_wall": "terminate", "bins": bins})
    titles = [setting.title for setting in read_study(tmp_path).settings]
    assert titles == ["maze-u", "maze-u, bins 20"]


def test_every_setting_has_a_file_of_its_own():
    assert file_names(["maze-u", "Maze U!", "maze-u, 50k samples"]) == ["maze-u", "maze-u_2", "maze-u-50k-samples"]
