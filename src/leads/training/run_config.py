"""What a run is: enough to do it again. Checked once, when it is made or read."""

from dataclasses import dataclass, replace
from typing import Any

from leads.config.fields import build, checked, fields, plain
from leads.errors import UserError
from leads.methods import METHODS, configure
from leads.methods.method import Method
from leads.tasks import TaskOptions, complete_options, make_task, step_cost
from leads.tasks.task import StepCost, Task
from leads.training.metrics import Metric, find_metrics

MOST_SAMPLES = 2_000_000_000
"""Samples are counted in 32 bits."""


@dataclass(frozen=True)
class RunConfig:
    """A task, a method with its config, a seed and a budget."""

    task: str
    task_options: dict[str, Any]
    """What making the task again depends on."""
    step_cost: StepCost
    method: str
    """A name, or `module:name` of a method outside the package."""
    method_config: Any
    seed: int
    samples: int
    metrics: tuple[Metric, ...] = ()
    """Those from outside the package."""
    own_task: bool = False
    """Whether the task was handed over in Python, and has to be given again to go on."""

    @property
    def task_in_paths(self) -> str:
        """The task's name as part of a file's."""
        return self.task.split(":")[-1].replace("/", "-").removesuffix(".json")

    @property
    def method_in_paths(self) -> str:
        return self.method.split(":")[-1]

    def make_task(self, own: Task | None = None) -> Task:
        if not self.own_task:
            return make_task(self.task, **self.task_options)
        if own is None:
            raise UserError(f"task: {self.task} was made in Python; go on there, and give it again as task=")
        return own

    def make_method(self, task: Task, own: Any = None) -> Method:
        return METHODS.find(own or self.method)(self.method_config, task)

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "task_options": self.task_options,
            "step_cost": self.step_cost,
            "method": self.method,
            "method_options": plain(self.method_config),
            "seed": self.seed,
            "samples": self.samples,
            "metrics": [metric.description() for metric in self.metrics],
            "own_task": self.own_task,
        }

    @classmethod
    def of_json(cls, data: dict[str, Any], method: Any = None) -> "RunConfig":
        """Raises KeyError, TypeError or UserError for what is no config."""
        return cls(
            task=checked("task", str, data["task"]),
            task_options=checked("task_options", dict, data["task_options"]),
            step_cost=checked("step_cost", StepCost, data["step_cost"]),
            method=checked("method", str, data["method"]),
            method_config=build(METHODS.find(method or data["method"]).Config, data["method_options"]),
            seed=checked("seed", int, data["seed"]),
            samples=checked("samples", int, data["samples"]),
            metrics=find_metrics(data["metrics"]),
            own_task=checked("own_task", bool, data["own_task"]),
        )

    def longer(self, samples: int | None) -> "RunConfig":
        """With a larger budget, or as it is."""
        if samples is None:
            return self
        samples = check_samples(samples)
        if samples < self.samples:
            raise UserError(f"samples: {samples} is not allowed; the run has {self.samples}")
        return replace(self, samples=samples)


def run_config(
    task: str | Task,
    method: Any,
    seed: int,
    samples: int | None,
    options: dict[str, Any],
    metrics: Any = (),
) -> tuple[RunConfig, Task]:
    """Checks what a user asked for and completes it; `options` are those of the task and of the method."""
    of_task = {name: value for name, value in options.items() if name in fields(TaskOptions)}
    of_method = {name: value for name, value in options.items() if name not in of_task}
    name = METHODS.name_of(METHODS.find(method))
    seed = checked("seed", int, seed)
    if not 0 <= seed < 2**32:
        raise UserError(f"seed: {seed} is not allowed; give a number from 0 to {2**32 - 1}")
    samples = None if samples is None else check_samples(samples)
    extra = find_metrics(metrics)
    if isinstance(task, Task):
        if of_task:
            raise UserError(f"{min(of_task)}: is chosen where the task is made, not here")
        made, cost = task, task.step_cost
        config = configure(method, task.name, cost, of_method)
    else:
        of_task = complete_options(task, of_task)
        cost = step_cost(task)
        made = None if cost else make_task(task, **of_task)
        config = configure(method, task, cost or made.step_cost, of_method)  # type: ignore[union-attr]
        made = made or make_task(task, **of_task)  # after the config, as it can take seconds
    return RunConfig(
        task=task if isinstance(task, str) else task.name,
        task_options=of_task,
        step_cost=made.step_cost,
        method=name,
        method_config=config,
        seed=seed,
        samples=made.budget if samples is None else samples,
        metrics=extra,
        own_task=made is task,
    ), made


def check_samples(samples: Any) -> int:
    samples = checked("samples", int, samples)
    if not 0 < samples <= MOST_SAMPLES:
        raise UserError(f"samples: {samples} is not allowed; give a number from 1 to {MOST_SAMPLES:,}")
    return samples
