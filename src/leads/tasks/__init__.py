"""The tasks by name."""

import importlib
import os
from ctypes.util import find_library
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import farama_notifications

from leads.config.fields import build
from leads.errors import UserError
from leads.tasks.maze import MAZES, Maze, OnWall, maze_task, read_maze
from leads.tasks.task import Task

# Without a screen MuJoCo draws by EGL if that is there, and has to be told before it is first imported.
if "DISPLAY" not in os.environ:
    os.environ.setdefault("MUJOCO_GL", "egl" if find_library("EGL") else "disable")
# Gymnasium-Robotics would print a notice about environments that are not used here.
farama_notifications.notifications.pop("gymnasium_robotics", None)

ROBOTS = {
    "fetch-reach": ("fetch", "fetch_reach"),
    "fetch-slide": ("fetch", "fetch_slide"),
    "finger": ("finger", "finger_turn"),
    "hand": ("hand", "hand"),
    "half-cheetah": ("locomotion", "half_cheetah"),
    "ant": ("locomotion", "ant"),
    "humanoid": ("locomotion", "humanoid"),
}
"""The module and function of each; simulators are imported when they are needed, which takes seconds."""
TASKS = (*(f"maze-{name}" for name in MAZES), *ROBOTS)


@dataclass(frozen=True)
class TaskOptions:
    """What can be chosen of a task; each option belongs to one kind of task."""

    on_wall: OnWall | None = None
    """Mazes: what hitting a wall does to the episode, terminate (default) or stop (the agent stays, it goes on)."""
    maze: dict[str, Any] | None = None
    """maze:FILE.json: the maze itself, so that a run does not depend on the file it came from."""
    features: tuple[int, ...] | None = None
    """gym:ID: entries of the observation that count, one to three, like 0,1 (default: all, if they are so few)."""
    low: tuple[float, ...] | None = None
    """gym:ID: lower corner of the box in which coverage is counted (default: the observation space's bounds)."""
    high: tuple[float, ...] | None = None
    """gym:ID: upper corner of that box."""
    horizon: int | None = None
    """gym:ID: steps of an episode (default: the environment's own limit, or 200)."""


def make_task(name: str, **options: Any) -> Task:
    """The task called `name`: one of TASKS, `maze:FILE.json` for a maze of one's own, or `gym:ID`; see TaskOptions."""
    options = complete_options(name, options)
    if name.startswith("gym:"):
        from leads.tasks.gymnasium import gymnasium_task

        return gymnasium_task(name.removeprefix("gym:"), name, **options)
    if name in ROBOTS:
        module, function = ROBOTS[name]
        return getattr(importlib.import_module(f"leads.tasks.{module}"), function)()
    try:
        maze = Maze(**options["maze"]) if "maze" in options else MAZES[name.removeprefix("maze-")]
    except TypeError as error:
        raise UserError(f"maze: {options['maze']} is not a maze with start and walls") from error
    return maze_task(maze, name, options["on_wall"])


def complete_options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """`options` checked, with all that making the task again depends on."""
    given = {option: value for option, value in asdict(build(TaskOptions, options)).items() if value is not None}
    if name in ROBOTS:
        allowed = set()
    elif name.startswith("gym:"):
        allowed = {"features", "low", "high", "horizon"}
    elif name.startswith("maze:"):
        allowed = {"on_wall", "maze"}
    elif name in TASKS:
        allowed = {"on_wall"}
    else:
        raise UserError(f"task: {name!r} is unknown; allowed are {', '.join(TASKS)}, maze:FILE.json and gym:ID")
    for option in given:
        if option not in allowed:
            raise UserError(f"{option}: is not an option of {name}")
    if name.startswith("maze:") and "maze" not in given:
        given["maze"] = asdict(read_maze(Path(name.removeprefix("maze:"))))
    return ({"on_wall": "terminate"} if "on_wall" in allowed else {}) | given
