"""What a run is: the same in memory and after config.json, and refused in one line where it is not clear."""

import dataclasses
import json

import numpy as np
import pytest

from leads.config.fields import Config, Positive, defaults
from leads.errors import UserError
from leads.methods.diayn import Diayn
from leads.methods.random import Random, RandomConfig
from leads.tasks import make_task
from leads.tasks.task import Task
from leads.training.run_config import RunConfig, run_config


def through_json(config: RunConfig, **own) -> RunConfig:
    return RunConfig.of_json(json.loads(json.dumps(config.to_json())), own)


@pytest.mark.parametrize(
    "task, options",
    [("maze-u", {"on_wall": "stop"}), ("gym:Pendulum-v1", {"features": (0, 1), "low": (-1, -1), "high": (1, 1)})],
)
def test_a_config_is_the_same_after_json(task, options):
    config, _ = run_config(task, "diayn", 3, 1_000, options | {"temperature": None})
    assert through_json(config) == config and config.method_config.temperature is None


def test_a_method_of_another_name_is_not_taken_for_the_runs_own():
    config, _ = run_config("maze-u", "random", 0, 1_000, {})
    with pytest.raises(UserError, match=r"^method: the run is of random, not of diayn$"):
        through_json(config, method=Diayn)


def test_a_task_for_a_run_that_makes_its_own_is_refused():
    config, task = run_config("maze-u", "random", 0, 1_000, {})
    with pytest.raises(UserError, match=r"^task: the run is of maze-u, which is made by its name; give none$"):
        config.make_task(task)


def test_a_task_of_ones_own_takes_no_settings_by_its_name():
    named_like = dataclasses.replace(make_task("finger"), name="hand")
    config, _ = run_config(named_like, "leads", 0, 1_000, {})
    assert config.own_task and config.method_config.n_skill == 6  # the hand has 12
    for wrong in (None, make_task("maze-u"), "hand"):
        with pytest.raises(UserError, match=r"^task: hand was made in Python; .* give it again as task=$"):
            config.make_task(wrong)


@dataclasses.dataclass(frozen=True)
class LongConfig(RandomConfig):
    horizon: Positive[int] = 5
    """The name of an option of tasks."""


class Long(Random):
    Config = LongConfig


def test_an_option_that_task_and_method_both_have_is_refused():
    with pytest.raises(UserError, match=r"^horizon: the method has an option of the name of a task's; rename it$"):
        run_config("maze-u", Long, 0, 1_000, {})


@dataclasses.dataclass(frozen=True)
class MadeConfig(Config):
    sizes: tuple[int, ...] = dataclasses.field(default_factory=lambda: (3, 4))
    """A default that is made."""


def test_a_default_that_is_made_is_a_default():
    assert defaults(MadeConfig) == {"sizes": (3, 4)}


def test_what_a_step_costs_follows_the_dynamics():
    maze = make_task("maze-u")
    assert dataclasses.replace(maze, step_cost=None).step_cost == "device"
    assert dataclasses.replace(maze, step_cost=None, dynamics=None).step_cost == "cheap"
    with pytest.raises(UserError, match=r"^step_cost: a task without dynamics is not stepped on the device"):
        dataclasses.replace(maze, dynamics=None)


def test_a_tasks_box_may_be_given_as_lists():
    given = {"name": "box", "start": [0.0], "action_size": 1, "horizon": 1, "budget": 1, "features": lambda s: s}
    task = Task(low=[-2.0], high=[2.0], **given)
    np.testing.assert_allclose(task.boxed_features(np.asarray([1.0])), [0.5])
