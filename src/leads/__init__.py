"""LEADS: a set of different skills, learnt without any reward, that together explore everywhere."""

from leads.agent import Agent, load
from leads.errors import UserError
from leads.tasks import make_task
from leads.tasks.gymnasium_maze import register
from leads.tasks.maze import Maze
from leads.tasks.task import Task
from leads.training.train import resume, train

__all__ = ["Agent", "Maze", "Task", "UserError", "load", "make_task", "resume", "train"]

register()
