"""The tasks by name."""

from pathlib import Path

from leads.errors import UserError
from leads.tasks.maze import MAZES, OnWall, maze_task, read_maze
from leads.tasks.task import Task

TASKS = tuple(f"maze-{name}" for name in MAZES)


def make_task(name: str, on_wall: OnWall = "terminate") -> Task:
    """The task called `name`: one of TASKS, or `maze:FILE.json` for a maze of one's own."""
    if name.startswith("maze:"):
        return maze_task(read_maze(Path(name.removeprefix("maze:"))), name, on_wall)
    if name not in TASKS:
        raise UserError(f"task: {name!r} is unknown; allowed are {', '.join(TASKS)} and maze:FILE.json")
    return maze_task(MAZES[name.removeprefix("maze-")], name, on_wall)
