"""What a report reads: damaged runs are named and left out, and what may be compared is found to be."""

import base64
import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from leads.report.study.curves import curve
from leads.report.study.exhibits import exhibits
from leads.report.study.page import page
from leads.report.study.read import read_study
from leads.report.study.result import SHIPPED, Entry
from leads.report.study.study_tables import in_short, numbers, study_tables
from leads.report.study.write import file_names
from leads.training.metrics import METRICS, Metric
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

    monkeypatch.setattr("leads.report.study.read.snapshots", end)
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
    config = write_run(tmp_path, "half-cheetah-paper", samples=1000) / "config.json"
    change(config, task="mine", own_task=True)
    assert Run.open(config.parent).config.method_config.memory == 8, "as on every task that is stepped on the host"
    (result,) = read_study(tmp_path).results
    assert result.entry.title == "LEADS"


def test_a_task_of_ones_own_is_not_the_papers_of_the_same_name(write_run, tmp_path):
    runs = [write_run(tmp_path, "finger", seed=seed, samples=100_000) for seed in (0, 1)]
    change(runs[1] / "config.json", own_task=True)
    papers, own = sorted(read_study(tmp_path).settings, key=lambda setting: setting.own)
    assert (
        papers.is_papers and not own.published and (papers.title, own.title) == ("finger", "finger (2), 100k samples")
    )
    assert own.make_task() is None


def test_methods_that_cannot_be_imported_any_more_are_told_apart(write_run, tmp_path):
    """As when a method stood in a script: the options of its first run count as shipped."""
    for seed, n_skill in enumerate((6, 6, 8)):
        run = write_run(tmp_path, method="random", seed=seed, n_skill=n_skill, coverage=50.0)
        change(run / "config.json", method="__main__:Outer.Mine")
    study = read_study(tmp_path)
    assert [entry.title for entry in study.entries][-2:] == ["Mine", "Mine (n_skill 8)"] and not study.left_out
    assert all(entry.learns for entry in study.entries[-2:])


def test_a_report_does_without_maps_of_a_method_that_cannot_be_imported(tiny_run, tmp_path):
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    change(run / "config.json", method="__main__:Mine")
    [shown] = exhibits(read_study(tmp_path))
    assert shown.result.has_checkpoints and shown.snapshots and shown.maps is None
    (run / "skills.jsonl").unlink()
    assert not list(exhibits(read_study(tmp_path)))


def test_a_run_without_a_newer_metric_is_shown_as_missing(write_run, tmp_path):
    for seed in (0, 1):
        write_run(tmp_path, seed=seed)
        run = write_run(tmp_path, method="metra", seed=seed)
        for name in ("summary.json", "metrics.jsonl"):
            text = (run / name).read_text()
            (run / name).write_text(re.sub(r'"distinctness": [\d.]+,', "", text))
    study = read_study(tmp_path)
    [setting] = study.settings
    assert not study.left_out and len(study.of(setting, Entry("metra"))) == 2
    table = {row[1].text: [cell.text for cell in row] for row in numbers(study).rows}
    assert table["METRA"][3:7] == ["81.0 ± 0.0 (n = 2)", "45.0 ± 0.0 (n = 2)", "missing", "missing"]
    assert table["LEADS"][5:7] == ["0.50 ± 0.00 (n = 2)", "22.5 ± 0.0 (n = 2)"]
    assert study.best(setting, Entry("metra")) is not None


def test_metrics_of_ones_own_are_shown_like_the_others(write_run, tmp_path):
    depth = Metric("depth", "depth", "m", digits=2, largest=40.0, ranked=True, compute=lambda evaluation: 0.0)
    for seed in (0, 1):
        write_run(tmp_path, seed=seed, extra=(depth,), coverage=90.0)
        write_run(tmp_path, method="metra", seed=seed)
    study = read_study(tmp_path)
    [setting] = study.settings
    assert study.metrics[-1] == depth and depth in study.ranked
    cells = {row[1].text: row[-3].text for row in numbers(study).rows}
    assert numbers(study).columns[-3].title == "depth m"
    assert cells["LEADS"] == "30.00 ± 0.00 (n = 2)" and cells["METRA"] == "missing"
    drawn = curve(study.of(setting, SHIPPED), depth)
    assert (
        drawn is not None
        and drawn.mean[-1] == pytest.approx(30)
        and curve(study.of(setting, Entry("metra")), depth) is None
    )
    html = page(study, study_tables(study), list(exhibits(study)))
    assert '"depth":{"title":"depth","unit":"m","label":"depth m","largest":40.0}' in html
    packed = re.findall(r'id="run-0">(.*?)</script>', html)
    snapshots = json.loads(gzip.decompress(base64.b64decode(packed[0])))["snapshots"]
    assert snapshots[-1]["numbers"]["depth"] == 30.0


def test_what_only_some_tasks_have_is_a_column_where_it_is_known_and_a_dash_elsewhere(write_run, tmp_path):
    for seed in (0, 1):
        for method in ("leads", "metra"):
            write_run(tmp_path / "maze", method=method, seed=seed)
            in_metres = {"cells_1m": 40.0 + seed, "distinctness_1m": 0.5}
            write_run(tmp_path / "body", "hopper", method, seed, samples=10_000, numbers=in_metres)
    titles = ["1 m cells", "1 m distinctness", "1 m cells x distinctness"]
    of = lambda table: [column.title for column in table.columns if column.title.startswith("1 m")]
    for where, expected in (("maze", []), ("body", titles), (".", titles)):
        study = read_study(tmp_path / where)
        tables = {table.name: table for table in study_tables(study)}
        assert [of(tables[name]) for name in ("numbers", "first", "tests")] == [expected] * 3
        html = page(study, list(tables.values()), list(exhibits(study)))
        assert ('"cells_1m":{"title":"1 m cells","unit":"","label":"1 m cells","largest":null}' in html) == bool(
            expected
        )
    rows = {(row[0].text, row[1].text): [cell.text for cell in row[7:10]] for row in tables["numbers"].rows}
    assert rows["hopper, 10k samples", "LEADS"] == ["40.5 ± 0.7 (n = 2)", "0.50 ± 0.00 (n = 2)", "20.2 ± 0.4 (n = 2)"]
    assert rows["maze-u", "LEADS"] == ["-", "-", "-"] and rows["hopper, 10k samples", "CSD"] == ["missing"] * 3


def test_a_study_at_a_number_of_samples(write_run, tmp_path):
    """Runs of different budgets are compared where both have been; those that did not get so far are not."""
    write_run(tmp_path, seed=0, coverage=90.0)
    write_run(tmp_path, method="metra", seed=0, coverage=80.0, samples=300_000)
    write_run(tmp_path, method="csd", seed=0, coverage=80.0, samples=200_000)
    study = read_study(tmp_path)
    then = study.at(310_000)
    [setting] = then.settings
    assert setting.title == "maze-u, 310k samples" and len(study.settings) == 3
    [ours], [theirs] = then.of(setting, SHIPPED), then.of(setting, Entry("metra"))
    assert not then.of(setting, Entry("csd"))
    assert ours.numbers["samples"] == 300_000 and ours.numbers["coverage"] == ours.log[-1]["coverage"] != 90.0
    assert ours.numbers["cpu_seconds"] == pytest.approx(30) and theirs.numbers["cpu_seconds"] == 100
    assert [kept.samples for kept in ours.snapshots] == [100_000, 300_000]
    assert theirs.numbers["coverage"] == 80.0


def test_only_evaluated_epochs_count_at_a_number_of_samples(write_run, tmp_path):
    run = write_run(tmp_path)
    lines = list(map(json.loads, (run / "metrics.jsonl").read_text().splitlines()))
    skills = {name: None for name, metric in METRICS.items() if metric.of_skills}
    lines[4] |= skills
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    [result] = read_study(tmp_path).at(500_000).results
    assert result.numbers["samples"] == 600_000, "400,000 is not far enough"


def test_a_part_of_a_study_has_its_own_order_and_titles(study_directory):
    study = read_study(study_directory)
    hard, u = (next(s for s in study.settings if s.title == title) for title in ("maze-hard", "maze-u"))
    some = study.only([hard, replace(u, called="U")], [Entry("random", called="noise"), SHIPPED])
    assert [setting.title for setting in some.settings] == ["maze-hard", "U"]
    assert [entry.title for entry in some.entries] == ["noise", "LEADS"] and len(some.results) == 12
    assert some.largest(u, METRICS["coverage"]) == 91 and not some.of(u, Entry("metra"))
    assert [row[0].text for row in in_short(some, study.ranked).rows] == ["noise", "LEADS"]


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
    assert [setting.title for setting in study.settings] == ["rooms, 1M samples", "rooms (2), 1M samples"]
    assert [len([r for r in study.results if r.setting == setting]) for setting in study.settings] == [2, 1]


def test_settings_of_one_task_are_told_apart_by_their_options(write_run, tmp_path):
    for seed, bins in enumerate((10, 20)):
        run = write_run(tmp_path, "maze-u", seed=seed)
        change(run / "config.json", task_options={"on_wall": "terminate", "bins": bins})
    titles = [setting.title for setting in read_study(tmp_path).settings]
    assert titles == ["maze-u", "maze-u, bins 20"]


def test_every_setting_has_a_file_of_its_own():
    assert file_names(["maze-u", "Maze U!", "maze-u, 50k samples"]) == ["maze-u", "maze-u_2", "maze-u-50k-samples"]
