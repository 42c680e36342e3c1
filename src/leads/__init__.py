"""LEADS: a set of different skills, learnt without any reward, that together explore everywhere."""

from leads.agent import Agent, load
from leads.errors import UserError
from leads.report.run.figures import write_figures
from leads.tasks import make_task
from leads.tasks.gymnasium import environment_task
from leads.tasks.maze import Maze
from leads.tasks.registration import register
from leads.tasks.task import Task
from leads.training.train import resume, train

__all__ = [
    "Agent",
    "Maze",
    "Task",
    "UserError",
    "environment_task",
    "load",
    "make_task",
    "resume",
    "train",
    "write_figures",
]

register()
