"""Runs that do not fit are refused by the option that asks for too much, before anything is written."""

import os

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import leads
from leads.cli import main
from leads.methods import METHODS, configure
from leads.tasks import TASKS
from leads.training import memory
from leads.training.memory import available, in_bytes

TOO_MUCH = {
    "n_episode: 1000000000 needs": "--n-episode 1000000000",
    "measure_batch_size: 10000000000 is not allowed; give a number up to 2,147,": "--measure-batch-size 10000000000",
    "measure_batch_size: 1000000000 needs": "--measure-batch-size 1000000000",
    "archive_size: 1000000000 needs": "--archive-size 1000000000",
    "memory: 10000000 needs": "--memory 10000000",
    "policy_steps: 1000000000000 is not allowed; give a number up to": "--policy-steps 1000000000000",
    "actor_hidden: (1000000, 1000000) needs": "--actor-hidden 1000000,1000000",
    "skill_size: 1000000 needs": "--skill-size 1000000",
    "n_targets: 2000000000 needs": "--n-targets 2000000000",
    "policy_batch_size: 2000000000 needs": "--policy-batch-size 2000000000",
    "batch_size: 2000000000 needs": "--method metra --batch-size 2000000000",
    "replay_size: 2000000000 needs": "--method metra --replay-size 2000000000",
    "n_episode: 2000000000 needs": "--method random --n-episode 2000000000",
    "horizon: 2000000000 needs": "--task gym:Pendulum-v1 --method random --horizon 2000000000",
    "n_episode: 20000000 needs": "--task gym:Pendulum-v1 --method random --n-episode 20000000 --horizon 1",
    "n_episode: 300000 needs": "--task finger --method random --n-episode 300000",
}


@pytest.mark.parametrize("message", TOO_MUCH)
def test_too_much_is_refused_at_once(message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["train", *TOO_MUCH[message].split()])
    error = capsys.readouterr().err
    assert stop.value.code == 2 and error.count("\n") == 1 and error.startswith(f"leads: {message}")
    if message.endswith("needs"):
        assert " B of memory or more; there are " in error.replace("GB", "B").replace("TB", "B")
    assert not list(tmp_path.iterdir()), "nothing is written"


def test_a_run_of_usual_size_on_a_machine_that_is_too_small(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1e6)
    with pytest.raises(
        leads.UserError, match=r"^memory: the run needs \d+\.\d MB of memory or more; there are 1.0 MB$"
    ):
        leads.train("maze-u", out=tmp_path / "run")
    assert not list(tmp_path.iterdir())


def test_what_is_told_is_no_more_than_an_update_takes():
    """A run must not be refused that would fit: the compiler's own number is not below the estimate."""
    task = leads.make_task("maze-u")
    method = METHODS.find("leads")(
        configure("leads", "maze-u", "device", {"measure_steps": 2, "policy_steps": 2}), task
    )
    update, _ = memory.phases(task, method)
    needed = memory._needed(task, method, update)
    key = jax.eval_shape(lambda: jax.random.key(0))
    state = jax.eval_shape(lambda key: memory.initial_state(task, method, key), key)
    episodes = jax.eval_shape(lambda: memory.Episodes.none(6, 16, task))
    analysis = update.lower(state, episodes, key).compile().memory_analysis()
    taken = analysis.argument_size_in_bytes + analysis.output_size_in_bytes + analysis.temp_size_in_bytes
    both = memory._of_episodes(task, 6, 16) + memory._of_episodes(task, 6, 20)
    assert 0.1 * taken < needed - both <= taken


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("task", TASKS)
def test_all_shipped_settings_still_build(task, method):
    """Also those whose limits depend on the task."""
    config = configure(method, task, TASKS[task].step_cost, {})
    METHODS.find(method)(config, leads.make_task(task))


def test_a_short_task_of_ones_own_builds_with_the_defaults():
    class Still(gymnasium.Env):
        observation_space = action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)

        def reset(self, *, seed=None, options=None):
            return np.zeros(2, np.float32), {}

    task = leads.environment_task(Still, horizon=2)
    METHODS.find("leads")(configure("leads", "", "cheap", {}), task)


def test_a_loop_is_counted_with_what_it_takes_and_gives():
    def program(x):
        return jax.lax.scan(lambda carry, y: (carry + y, 2 * y), x, jnp.zeros((1000, 10)))[1][0]

    taken = 4 * (10 + 1000 * 10 + 10 + 1000 * 10)
    assert memory._of_program(jax.make_jaxpr(program)(jnp.zeros(10))) == taken


def test_memory_that_is_there_is_a_part_of_all():
    assert 1e6 < available() <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert [in_bytes(x) for x in (1.5e6, 2.04e9, 3e12, 5e15)] == ["1.5 MB", "2.0 GB", "3.0 TB", "5,000 TB"]
    assert in_bytes(float("inf")) == "more than can be counted"
