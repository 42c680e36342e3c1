"""A toy task, method, estimator and metric from outside the package, made of the very snippets of docs/extending.md."""

import csv
import json
import re
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import leads
from leads.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
SNIPPETS = dict(re.findall(r'```\w+ title="([\w.]+)"\n(.*?)```', PAGE.read_text(), re.DOTALL))
MODULES = [name.removesuffix(".py") for name in SNIPPETS if name.endswith(".py")]
COMMANDS = re.findall(r"^leads .+$", PAGE.read_text(), re.MULTILINE)
TINY = {
    "n_episode": 2,
    "n_skill": 3,
    "measure_steps": 8,
    "measure_batch_size": 64,
    "policy_steps": 4,
    "archive_size": 64,
}
TINY |= {"policy_batch_size": 16, "td_steps": 1, "n_targets": 4, "archive_admit": 32, "actor_hidden": (16,)}


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the page's files."""
    directory = tmp_path_factory.mktemp("outside")
    for name, text in SNIPPETS.items():
        (directory / name).write_text(text)
    return directory


@pytest.fixture
def inside(outside: Path, monkeypatch: pytest.MonkeyPatch):
    """The page's files are in the current directory, where commands find modules, and are forgotten afterwards."""
    monkeypatch.chdir(outside)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield outside
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def modules(inside: Path):
    """The page's modules, importable as a user has them."""
    sys.path.insert(0, str(inside))
    return {name: __import__(name) for name in MODULES}


def stop_after(epoch: int):
    def stop(metrics):
        if metrics["epoch"] == epoch:
            raise KeyboardInterrupt

    return stop


def assert_same(one: Path, other: Path) -> None:
    assert (one / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    ends = [np.load(sorted((run / "checkpoints").glob("*.npz"))[-1]) for run in (one, other)]
    assert all(np.array_equal(ends[0][name], ends[1][name]) for name in ends[0].files)


def test_objects_from_python_train_evaluate_and_resume(modules, tmp_path):
    """All parts that fit together, handed over as objects; a stopped run ends as one that was not."""
    parts = {"task": modules["my_task"].ice(), "method": modules["my_method"].Repel}
    metrics = [modules["my_metric"].straightness]
    run = leads.train(**parts, samples=6_000, out=tmp_path / "whole", metrics=metrics, n_episode=4)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["spread"] > 2 * lines[0]["spread"], "its skills drift apart"
    assert lines[-1]["distinctness"] > 0.5
    assert all(0 < line["straightness"] <= 1 for line in lines) and lines[-1]["straightness"] > 0.8
    with pytest.raises(KeyboardInterrupt):
        stopping = {"report": stop_after(4), "checkpoint_every": 3}
        leads.train(**parts, samples=6_000, out=tmp_path / "stopped", metrics=metrics, n_episode=4, **stopping)
    leads.resume(tmp_path / "stopped", metrics=metrics, **parts)
    assert_same(run, tmp_path / "stopped")
    with leads.load(run, **parts) as agent:
        paths = agent.rollout(skill=1, episodes=3)
    assert len({tuple(path[0]) for path in paths}) == 3, "starts are random"
    assert all(np.all(np.abs(path[0]) <= 0.05) for path in paths)


def test_what_exists_only_in_python_has_to_be_given_again(modules, tmp_path):
    task, only_here = (
        modules["my_task"].ice(),
        type("OnlyHere", (modules["my_method"].Repel,), {"__module__": "nowhere"}),
    )
    run = leads.train(task, only_here, samples=500, out=tmp_path / "run", n_episode=2)
    with pytest.raises(leads.UserError, match=r"method: nowhere:OnlyHere cannot be imported"):
        leads.load(run, task=task)
    with pytest.raises(leads.UserError, match=r"^task: ice was made in Python; .* give it again as task="):
        leads.load(run, method=only_here)
    assert leads.load(run, task=task, method=only_here).n_skill == 4


def test_an_estimator_from_outside_teaches_leads_and_is_calibrated(modules, tmp_path):
    """Also by the figures and the diagnosis, which ask any measure; mean exp f over its draws of p(s) is 1."""
    estimator = modules["my_measure"].InfoNce
    options = TINY | {"measure": estimator, "nce_hidden": (16,)}
    run = leads.train("maze-u", samples=1_500, out=tmp_path / "run", **options)
    agent = leads.load(run)
    assert agent.config.method_config.measure.name == "my_measure:InfoNce"
    measure = agent.state.measure.model
    z = agent.state.skills
    s1, a = jnp.tile(jnp.asarray(agent.task.start), (3, 1)), jnp.zeros((3, 2))
    f = measure.pairs(s1, a, z, measure.reference)
    np.testing.assert_allclose(jnp.mean(jnp.exp(f), axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(
        measure.log_ratio(s1, a, z, measure.reference[:3]), jnp.diag(f[:, :3]), rtol=1e-4, atol=1e-5
    )
    assert {path.stem for path in leads.write_figures(agent)} >= {"skills", "measure", "uncertainty"}
    assert agent.measure(agent.task.start, agent.task.start, skill=0) > 0


def test_every_snippet_of_the_page_is_used(outside):
    assert set(SNIPPETS) == {
        "my_task.py",
        "my_method.py",
        "my_measure.py",
        "my_improvement.py",
        "my_metric.py",
        "suite.toml",
    }


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("leads train")])
def test_the_pages_commands_train(line, inside, tmp_path, capsys):
    _, *words = line.split()
    tiny = ["--samples", "600", "--out", str(tmp_path / "run"), "--no-figures", "--n-episode", "1"]
    if not {"--method", "--improve"} & set(words):
        tiny += [
            word
            for name in ("measure_steps", "policy_steps", "td_steps")
            for word in (f"--{name.replace('_', '-')}", "1")
        ]
    main([*words, *tiny])
    assert "coverage" in capsys.readouterr().out
    config = json.loads((tmp_path / "run" / "config.json").read_text())
    named = [word for word in words if word.startswith("my_")]
    assert all(name in json.dumps(config) for name in named)


def test_a_suite_of_outside_parts_is_done_by_workers_and_reported(inside):
    """Method, task and metric appear in the tables and on the page."""
    for line in COMMANDS:
        if not line.startswith("leads train"):
            main(line.split()[1:])
    with open(inside / "report" / "tables" / "numbers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    ours = next(row for row in rows if row["method"].startswith("Repel"))
    assert 0 < float(ours["straightness mean"]) <= 1 and ours["straightness n"] == "2"
    page = (inside / "report" / "index.html").read_text()
    assert "Repel" in page and "straightness" in page and "ice" in page


def test_parts_of_a_method_that_exist_only_in_python_are_given_again(modules, tmp_path):
    only_here = type("OnlyHere", (modules["my_measure"].InfoNce,), {"__module__": "nowhere"})
    run = leads.train("maze-u", samples=600, out=tmp_path / "run", measure=only_here, **TINY)
    with pytest.raises(leads.UserError, match=r"measure: nowhere:OnlyHere cannot be imported"):
        leads.load(run)
    assert leads.load(run, measure=only_here).n_skill == 3
    leads.resume(run, samples=1_200, measure=only_here)
    from leads.report.study.read import read_study

    (result,) = read_study(tmp_path).results
    assert result.entry.title.startswith("LEADS")


def test_a_way_to_improve_from_outside_takes_a_task_on_the_host(modules, tmp_path):
    """Shipped settings of the package's own way are left out; the new way's options are its own."""
    run = leads.train("finger", samples=300, out=tmp_path / "run", improve=modules["my_improvement"].Greedy, n_skill=2)
    agent = leads.load(run)
    assert agent.config.method_config.improve.name == "my_improvement:Greedy"
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["distance"] < lines[0]["distance"] * 2 and "objective" not in lines[0]


def test_a_metric_that_exists_only_in_python_is_asked_for_before_anything_changes(modules, tmp_path):
    own = leads.Metric("own", "own", compute=lambda e: jnp.float32(1.0))
    run = leads.train("maze-u", "random", samples=500, out=tmp_path / "run", metrics=own, n_episode=1)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with pytest.raises(leads.UserError, match=r"^metrics: own has no compute here; give it again as metrics=$"):
        leads.resume(run, samples=5_000)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_keys_and_plain_numbers_in_a_methods_state_survive(modules, tmp_path):
    class Counting(modules["my_method"].Repel):
        def init(self, key):
            return super().init(key), {"epochs": 0, "key": key, "zeros": np.zeros(2)}

        def act(self, state, *rest):
            return super().act(state[0], *rest)

        explore = act

        def update(self, state, episodes, key):
            learnt, metrics = super().update(state[0], episodes, key)
            return (learnt, state[1] | {"epochs": state[1]["epochs"] + 1}), metrics | {"epoch": 99.0}

    run = leads.train("maze-easy", Counting, samples=1_000, out=tmp_path / "run", n_episode=1)
    state = leads.load(run, method=Counting).state[1]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert state["epochs"] == len(lines) == lines[-1]["epoch"]
    np.testing.assert_array_equal(
        jax.random.key_data(state["key"]), jax.random.key_data(jax.random.fold_in(jax.random.key(0), 0))
    )


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"measure": 5}, r"^measure: 5 cannot be used: it has no Config$"),
        ({"method": None}, r"^method: None cannot be used: it has no Config$"),
        ({"measure": "leads.methods.random:Random"}, r"^measure: .* cannot be used: it has no loss$"),
        ({"method": "./my_method.py:Repel"}, r"^method: ./my_method.py:Repel cannot be imported"),
        ({"task": "json:dumps"}, r"^task: json:dumps cannot be called without arguments"),
        ({"task": "math:pi"}, r"^task: math:pi cannot be called without arguments"),
        ({"checkpoint_every": 2.5}, r"^checkpoint_every: 2.5 is not a whole number$"),
        ({"metrics": [leads.Metric("samples", "samples", compute=len)]}, r"^metrics: samples is the name of another"),
        ({"metrics": [leads.Metric("half", "half", derive=len)]}, r"^metrics: half has no compute here"),
    ],
)
def test_wrong_parts_are_refused_before_anything_is_written(wrong, message, tmp_path):
    with pytest.raises(leads.UserError, match=message):
        leads.train(**{"task": "maze-u", "samples": 100, "out": tmp_path / "run"} | wrong)
    assert not (tmp_path / "run").exists()
