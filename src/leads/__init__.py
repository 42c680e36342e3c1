"""LEADS: a set of different skills, learnt without any reward, that together explore everywhere."""

from importlib import metadata
from typing import TYPE_CHECKING, Any

from leads.config.registry import imported
from leads.errors import UserError
from leads.tasks.registration import register

if TYPE_CHECKING:
    from leads.agent import Agent, load
    from leads.report.run.figures import write_figures
    from leads.tasks import make_task
    from leads.tasks.gymnasium import environment_task
    from leads.tasks.maze import Maze
    from leads.tasks.task import Dynamics, Task
    from leads.training.metrics import Metric
    from leads.training.train import resume, train

__all__ = [
    "Agent",
    "Dynamics",
    "Maze",
    "Metric",
    "Task",
    "UserError",
    "environment_task",
    "load",
    "make_task",
    "resume",
    "train",
    "write_figures",
]

_WHERE = {
    "Agent": "agent",
    "Dynamics": "tasks.task",
    "Maze": "tasks.maze",
    "Metric": "training.metrics",
    "Task": "tasks.task",
    "environment_task": "tasks.gymnasium",
    "load": "agent",
    "make_task": "tasks",
    "resume": "training.train",
    "train": "training.train",
    "write_figures": "report.run.figures",
}
"""Imported when first used: JAX and the simulators take seconds."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return metadata.version("leads")
    if name not in _WHERE:
        raise AttributeError(f"module 'leads' has no attribute {name!r}")
    return imported("leads", f"leads.{_WHERE[name]}:{name}")


register()
