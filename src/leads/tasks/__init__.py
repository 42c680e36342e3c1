"""The tasks by name. A new one is its own file and one line in TASKS."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from leads.config.fields import Config, Positive, build, shown
from leads.config.registry import imported
from leads.errors import UserError
from leads.tasks.task import StepCost, Task

OnWall = Literal["terminate", "stop"]
"""What hitting a wall does to an episode in a maze."""


@dataclass(frozen=True)
class Entry:
    """A task of the package; its module is imported when the task is made, which takes seconds for a simulator."""

    module: str
    make: str
    """Function that makes the task."""
    environment: str
    """Class of the Gymnasium environment `leads/CLASS-v0`."""
    horizon: int
    step_cost: StepCost
    options: tuple[str, ...] = ()
    """Those of TaskOptions that it takes."""


TASKS = {
    "maze-easy": Entry("maze", "named_maze", "MazeEasy", 200, "device", ("on_wall",)),
    "maze-u": Entry("maze", "named_maze", "MazeU", 200, "device", ("on_wall",)),
    "maze-hard": Entry("maze", "named_maze", "MazeHard", 200, "device", ("on_wall",)),
    "fetch-reach": Entry("fetch", "fetch_reach", "FetchReach", 200, "dear"),
    "fetch-slide": Entry("fetch", "fetch_slide", "FetchSlide", 50, "dear"),
    "finger": Entry("finger", "finger_turn", "Finger", 50, "cheap"),
    "hand": Entry("hand", "hand", "Hand", 50, "dear"),
    "half-cheetah": Entry("locomotion", "half_cheetah", "HalfCheetah", 200, "cheap"),
    "half-cheetah-paper": Entry("locomotion", "half_cheetah_paper", "HalfCheetahPaper", 500, "cheap"),
    "walker2d": Entry("locomotion", "walker2d", "Walker2d", 200, "cheap"),
    "hopper": Entry("locomotion", "hopper", "Hopper", 200, "cheap"),
    "ant": Entry("locomotion", "ant", "Ant", 200, "cheap"),
    "humanoid": Entry("locomotion", "humanoid", "Humanoid", 200, "cheap"),
}


@dataclass(frozen=True)
class TaskOptions(Config):
    """Options of tasks; each belongs to one kind of task."""

    on_wall: OnWall | None = None
    """Mazes: what hitting a wall does: terminate ends the episode (default), stop leaves the agent where it is."""
    maze: dict[str, Any] | None = None
    """maze:FILE.json: the maze itself, so that a run does not depend on the file it came from."""
    features: tuple[int, ...] | None = None
    """gym:ID: indices of the observation's entries that count, one to three, like 0,1 (default: all, if so few)."""
    low: tuple[float, ...] | None = None
    """gym:ID: lower corner of the box in which coverage is counted (default: the observation space's bounds)."""
    high: tuple[float, ...] | None = None
    """gym:ID: upper corner of that box."""
    unit: tuple[float, ...] | None = None
    """gym:ID: length of each feature that networks see as 1, like 2,.5 (default: their spread in the first epoch)."""
    horizon: Positive[int] | None = None
    """gym:ID: steps of an episode (default: the environment's own limit, or 200)."""


def make_task(name: str, **options: Any) -> Task:
    """The task called `name`: one of TASKS, `maze:FILE.json`, `gym:ID` or `MODULE:NAME`; see TaskOptions."""
    options = complete_options(name, options)
    if name in TASKS:
        entry = TASKS[name]
        make = imported("task", f"leads.tasks.{entry.module}:{entry.make}")
        return make(name=name, horizon=entry.horizon, step_cost=entry.step_cost, **options)
    if name.startswith("maze:"):
        return imported("task", "leads.tasks.maze:own_maze")(name=name, **options)
    if name.startswith("gym:"):
        return imported("task", "leads.tasks.gymnasium:gymnasium_task")(name.removeprefix("gym:"), name, **options)
    return _outside(name)


def _outside(name: str) -> Task:
    """What MODULE:NAME says: a task, or a function that makes one."""
    found = imported("task", name)
    try:
        task = found if isinstance(found, Task) else found()
    except TypeError as error:
        raise UserError(f"task: {name} cannot be called without arguments ({error})") from error
    if not isinstance(task, Task):
        raise UserError(f"task: {name} is neither a Task nor a function that makes one")
    return task


def step_cost(name: str) -> StepCost | None:
    """What a step costs, if that is known before the task is made."""
    if name.startswith("maze:"):
        return "device"
    return TASKS[name].step_cost if name in TASKS else None


def complete_options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """`options` checked, with all that making the task again depends on."""
    given = {option: value for option, value in asdict(build(TaskOptions, options)).items() if value is not None}
    allowed = _allowed(name)
    for option in given:
        if option not in allowed:
            raise UserError(f"{option}: is not an option of {name}")
    if name.startswith("maze:") and "maze" not in given:
        given["maze"] = asdict(imported("task", "leads.tasks.maze:read_maze")(Path(name.removeprefix("maze:"))))
    return ({"on_wall": "terminate"} if "on_wall" in allowed else {}) | given


def _allowed(name: Any) -> tuple[str, ...]:
    """The options of a kind of task."""
    kind, colon, _ = name.partition(":") if isinstance(name, str) else ("", "", "")
    if colon:
        return {"gym": ("features", "low", "high", "unit", "horizon"), "maze": ("on_wall", "maze")}.get(kind, ())
    if not isinstance(name, str) or name not in TASKS:
        others = "maze:FILE.json, gym:ID and MODULE:NAME"
        raise UserError(f"task: {shown(name)} is unknown; allowed are {', '.join(TASKS)}, {others}")
    return TASKS[name].options
