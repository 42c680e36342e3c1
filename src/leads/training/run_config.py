"""What a run is: enough to do it again. Checked once, when it is made or read."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from leads.config.fields import build, checked, fields, plain, shown
from leads.errors import UserError
from leads.methods import METHODS, configure
from leads.methods.method import Method
from leads.tasks import TaskOptions, complete_options, make_task, step_cost
from leads.tasks.task import StepCost, Task
from leads.training.metrics import Metric, check_computable, find_metrics

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
            if own is not None:
                raise UserError(f"task: the run is of {self.task}, which is made by its name; give none")
            return make_task(self.task, **self.task_options)
        if not isinstance(own, Task) or own.name != self.task:
            raise UserError(f"task: {self.task} was made in Python; go on there, and give it again as task=")
        return own

    def make_method(self, task: Task, own: Any = None) -> Method:
        return METHODS.find(own or self.method)(self.method_config, task)

    def to_json(self) -> dict[str, Any]:
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        data["method_options"] = plain(data.pop("method_config"))
        return data | {"metrics": [metric.description() for metric in self.metrics]}

    @classmethod
    def of_json(cls, data: dict[str, Any], own: Mapping[str, Any] | None = None, config: Any = None) -> "RunConfig":
        """`own` are the method and parts of it that exist only in Python; `config` stands in for the method's.

        Raises KeyError, TypeError or UserError for what is no config.
        """
        parts = dict(own or {})
        method = parts.pop("method", data["method"])
        if config is None:
            if METHODS.name_of(method) != data["method"]:
                raise UserError(f"method: the run is of {data['method']}, not of {METHODS.name_of(method)}")
            config = build(METHODS.find(method).Config, data["method_options"] | parts)
        made = {"method_config": config, "metrics": find_metrics(data["metrics"])}
        others = {name: kind for name, kind in get_type_hints(cls).items() if name not in made}
        return cls(**made, **{name: checked(name, kind, data[name]) for name, kind in others.items()})

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
    twice = fields(METHODS.find(method).Config, options).keys() & fields(TaskOptions).keys()
    if twice:
        raise UserError(f"{min(twice)}: the method has an option of the name of a task's; rename it")
    of_task = {name: value for name, value in options.items() if name in fields(TaskOptions)}
    of_method = {name: value for name, value in options.items() if name not in of_task}
    name = METHODS.name_of(method)
    seed = check_seed(seed)
    samples = None if samples is None else check_samples(samples)
    extra = find_metrics(metrics)
    check_computable(extra)
    own = task if isinstance(task, Task) else None
    if own and of_task:
        raise UserError(f"{min(of_task)}: is chosen where the task is made, not here")
    named: Any = own.name if own else task
    of_task = {} if own else complete_options(named, of_task)
    known = None if own else step_cost(named)  # if so the task is made last, as it can take seconds
    made = own or (None if known else make_task(named, **of_task))
    cost = made.step_cost if made else known or "cheap"
    config = configure(method, "" if own else named, cost, of_method)  # a task of one's own has no settings by name
    made = made or make_task(named, **of_task)
    budget = made.budget if samples is None else samples
    of_task = json.loads(json.dumps(of_task))  # as config.json has them
    return RunConfig(named, of_task, cost, name, config, seed, budget, extra, own is not None), made


def check_seed(seed: Any) -> int:
    seed = checked("seed", int, seed)
    if not 0 <= seed < 2**32:
        raise UserError(f"seed: {shown(seed)} is not allowed; give a number from 0 to {2**32 - 1}")
    return seed


def check_samples(samples: Any) -> int:
    samples = checked("samples", int, samples)
    if not 0 < samples <= MOST_SAMPLES:
        raise UserError(f"samples: {shown(samples)} is not allowed; give a number from 1 to {MOST_SAMPLES:,}")
    return samples
