"""Runs on the host's simulators, interrupted and resumed, end as if nothing had happened; also on one's own task."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import leads
from leads.methods.diayn import Diayn, DiaynConfig
from leads.methods.random import Random, RandomConfig
from leads.tasks import make_task
from leads.training import checkpoint
from leads.training.run import Run
from leads.training.train import evaluations

TINY = {"n_skill": 3, "n_episode": 2, "measure_steps": 4, "archive_size": 64, "archive_admit": 32}
TINY |= {"improve": "measure", "policy_steps": 2}
"""With which an epoch takes no time; what it learns is worth nothing."""


class Boat(gymnasium.Env):
    """Begins anywhere on a lake and is lost beyond its shore."""

    observation_space: Any = gymnasium.spaces.Box(-2, 2, (2,), np.float64)
    action_space: Any = gymnasium.spaces.Box(-0.5, 1.5, (2,), np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1, 1, 2)
        return self.place.copy(), {}

    def step(self, action):
        self.place = self.place + 0.2 * action
        return self.place.copy(), 0.0, bool(np.abs(self.place).max() > 2), False, {}


def lake() -> leads.Task:
    return leads.environment_task(Boat, horizon=20, name="lake")


def train(out: Path, task: Any, samples: int, stop_after: int | None = None, threads: int = 1) -> Path:
    """A run; with `stop_after`, stopped by Ctrl-C when it had reported so many epochs."""

    def report(metrics):
        if metrics["epoch"] == stop_after:
            raise KeyboardInterrupt

    every = {"checkpoint_every": 2, "threads": threads, "report": report}
    if stop_after is None:
        return leads.train(task, samples=samples, out=out, **every, **TINY)
    with pytest.raises(KeyboardInterrupt):
        leads.train(task, samples=samples, out=out, **every, **TINY)
    return out


def arrays(run: Path) -> dict[str, np.ndarray]:
    newest = checkpoint.epochs(run / "checkpoints")[-1]
    with np.load(run / "checkpoints" / f"epoch-{newest:06d}.npz") as file:
        return {name: file[name] for name in file.files}


def assert_same_end(one: Path, other: Path) -> None:
    assert (one / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    theirs = arrays(other)
    assert {name: value.tobytes() for name, value in arrays(one).items()} == {
        name: value.tobytes() for name, value in theirs.items()
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """Five epochs with the finger, which nothing disturbed."""
    return train(tmp_path_factory.mktemp("whole") / "run", "finger", 1500)


@pytest.fixture(scope="module")
def stopped_on_the_lake(tmp_path_factory) -> Path:
    return train(tmp_path_factory.mktemp("lake") / "run", lake(), 500, stop_after=3)


def test_a_run_with_a_robot_writes_what_it_promises(whole):
    metrics, config = Run.open(whole).metrics(), json.loads((whole / "config.json").read_text())
    assert [line["samples"] for line in metrics] == [300, 600, 900, 1200, 1500]  # 3 skills, 2 episodes of 50 steps
    assert all(line["episode_length"] == 50 and 0 < line["coverage_fine"] < line["coverage"] < 50 for line in metrics)
    evaluated = [line["skill_coverage"] for line in metrics]
    assert evaluated[:4] == [None] * 4 and 0 < evaluated[4] < 50  # so few samples are evaluated at the end only
    assert config["task"] == "finger" and config["task_options"] == {} and not config["own_task"]
    assert config["method_options"]["target_entropy"] == 0.1  # the finger's own default
    assert "mujoco" in config["versions"]


def test_evaluation_takes_a_third_of_the_simulators_steps_at_most():
    """3 skills have 20 episodes of 50 steps each, so that 6,000 samples are learnt from for 3,000 of evaluation."""
    finger, maze = make_task("finger"), make_task("maze-u")
    method = Diayn(DiaynConfig(n_skill=3), finger)
    due = evaluations(finger, method, budget=20_000)
    epochs = [(before, before + 300) for before in range(0, 20_000, 300)]
    assert [after for before, after in epochs if due(before, after)] == [6_000, 12_000, 18_000, 20_100]
    assert all(evaluations(maze, method, budget=20_000)(*epoch) for epoch in epochs)
    control = evaluations(finger, Random(RandomConfig(), finger), budget=20_000)
    assert [after for before, after in epochs if control(before, after)] == [20_100]  # always the same, so once


def test_what_was_visited_scales_what_networks_see(whole):
    scaling = {name: value for name, value in arrays(whole).items() if "scaling" in name}
    assert sorted(value.shape for value in scaling.values()) == [(), (14,), (14,)]
    assert max(value.item() for value in scaling.values() if value.shape == ()) == 1500


def test_a_robots_run_stopped_and_resumed_by_more_threads_ends_the_same(whole, tmp_path):
    run = train(tmp_path / "run", "finger", 1500, stop_after=3)
    assert checkpoint.epochs(run / "checkpoints") == [2, 3] and len(Run.open(run).metrics()) == 3
    leads.resume(run, threads=2)
    assert_same_end(run, whole)


def test_the_robots_agent_acts_and_rolls_out(whole):
    agent = leads.load(whole)
    paths = agent.rollout(skill=1, episodes=2)
    assert [path.shape for path in paths] == [(51, 14)] * 2
    assert all(np.array_equal(path[0], agent.task.start) for path in paths)
    environment = gymnasium.make("leads/Finger-v0")
    observation, _ = environment.reset()
    assert environment.action_space.contains(agent.act(observation, skill=1))


def test_ones_own_task_has_to_be_given_again(stopped_on_the_lake):
    config = json.loads((stopped_on_the_lake / "config.json").read_text())
    assert config["task"] == "lake" and config["own_task"]
    for go_on in (leads.resume, leads.load):
        with pytest.raises(leads.UserError) as raised:
            go_on(stopped_on_the_lake)
        assert str(raised.value) == "task: lake was made in Python; go on there, and give it again as task="
    assert len(Run.open(stopped_on_the_lake).metrics()) == 3  # and nothing is lost


def test_another_task_of_ones_own_does_not_cost_the_run(stopped_on_the_lake):
    before = arrays(stopped_on_the_lake)
    other = leads.environment_task(Boat, features=(0,), horizon=20, name="lake")
    with pytest.raises(leads.UserError, match="not of this run's config"):
        leads.resume(stopped_on_the_lake, task=other)
    assert list(before) == list(arrays(stopped_on_the_lake)) and len(Run.open(stopped_on_the_lake).metrics()) == 3


def test_a_run_on_ones_own_task_stopped_and_resumed_ends_the_same(stopped_on_the_lake, tmp_path):
    undisturbed, notes = tmp_path / "undisturbed", []
    train(undisturbed, lake(), 500)
    leads.resume(stopped_on_the_lake, task=lake(), report=notes.append)
    assert notes[0]["epoch"] == 3 and notes[0]["note"].startswith("its starts differ from reset to reset")
    assert_same_end(stopped_on_the_lake, undisturbed)
    agent = leads.load(undisturbed, lake())
    assert np.array_equal(agent.rollout(skill=0)[0][0], Boat().reset(seed=0)[0].astype(np.float32))


def test_options_of_ones_own_task_are_chosen_where_it_is_made(tmp_path):
    with pytest.raises(leads.UserError, match=r"^horizon: is chosen where the task is made, not here$"):
        leads.train(lake(), out=tmp_path / "run", horizon=5)
    assert not (tmp_path / "run").exists()


def test_threads_have_to_be_some(tmp_path):
    for threads in (0, -1):
        with pytest.raises(leads.UserError, match=rf"^threads: {threads} is not allowed; give a number above 0$"):
            leads.train("finger", out=tmp_path / "run", threads=threads)
    assert not (tmp_path / "run").exists()
