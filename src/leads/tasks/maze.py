"""Mazes: a point with a velocity among wall segments in the square [-1, 1]^2 (the paper's Easy, U and Hard)."""

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shorten
from typing import Any, get_args

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from leads.errors import UserError
from leads.tasks import OnWall
from leads.tasks.task import Dynamics, StepCost, Task, seen_in_box

STEP = 0.05
"""Distance of one step at velocity 1."""
HORIZON = 200
SKIN = 1e-5
"""Half the thickness of a wall: no way comes nearer, so that rounding (about 1e-7) never lets one through."""
BORDER = ((-1, -1, 1, -1), (1, -1, 1, 1), (1, 1, -1, 1), (-1, 1, -1, -1))


@dataclass(frozen=True)
class Maze:
    """Where an agent starts and the wall segments (x1, y1, x2, y2) inside the square, whose border is always a wall."""

    start: tuple[float, float]
    walls: tuple[tuple[float, float, float, float], ...] = ()

    def __post_init__(self):
        if not _is_sequence(self.walls):
            raise UserError(f"walls: {shorten(self.walls)} is not a list of walls [x1, y1, x2, y2]")
        start = _coordinates("start", self.start, ("x", "y"))
        walls = tuple(_coordinates(f"walls[{i}]", w, ("x1", "y1", "x2", "y2")) for i, w in enumerate(self.walls))
        for i, wall in enumerate(walls):
            if wall[:2] == wall[2:]:
                raise UserError(f"walls[{i}]: {list(wall)} has no length")
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "walls", walls)
        here = np.asarray(start, np.float32)
        if blocked(here, here, self.segments().astype(np.float32)):
            raise UserError(f"start: {list(start)} lies on a wall")

    def segments(self) -> np.ndarray:
        """All walls with the border, as an array [wall, 4]."""
        return np.asarray([*self.walls, *BORDER], dtype=np.float64)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict))


def _coordinates(field: str, values: Any, names: tuple[str, ...]) -> Any:
    """`values` as a tuple of floats, one for each of `names`, all of them in the square."""
    values = list(values) if _is_sequence(values) else values
    if not isinstance(values, list) or len(values) != len(names):
        raise UserError(f"{field}: {shorten(values)} is not of the form [{', '.join(names)}]")
    for value in values:
        is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        if not is_number or not -1 <= value <= 1:
            raise UserError(f"{field}: {shorten(value)} is not a coordinate; allowed are numbers from -1 to 1")
    return tuple(float(value) for value in values)


AnyArray = Any
"""An array of JAX or NumPy."""
Numbers = Float[AnyArray, "#wall"]
Points = Float[AnyArray, "2 #wall"]
"""Points or vectors, one for each wall: x in the first row and y in the second."""


def blocked(
    here: Float[AnyArray, "2"], there: Float[AnyArray, "2"], walls: Float[AnyArray, "wall 4"]
) -> Bool[AnyArray, ""]:
    """Whether the straight way from `here` to `there` comes within SKIN of a wall; for JAX and NumPy arrays alike.

    The nearest points of two segments: begin where their lines cross, kept on the way; go to the nearest point of the
    wall, and from there to the nearest point of the way.
    """
    here, way = here[:, None], (there - here)[:, None]
    begin, along = walls[:, :2].T, (walls[:, 2:] - walls[:, :2]).T
    share = _cross(begin - here, along) / _nonzero(_cross(way, along))
    on_way = here + _times(share.clip(0, 1), way)
    on_wall = _nearest(on_way, begin, along)
    on_way = _nearest(on_wall, here, way)
    gap = on_way - on_wall
    return ~(_dot(gap, gap) > SKIN**2).all()  # this way round, so that a way that is not a number is blocked


def _nearest(point: Points, begin: Points, along: Points) -> Points:
    """The point of the segment from `begin` to `begin + along` that is nearest to `point`."""
    share = _dot(point - begin, along) / _nonzero(_dot(along, along))
    return begin + _times(share.clip(0, 1), along)


def _nonzero(x: Numbers) -> Numbers:
    return x + (x == 0)


def _dot(a: Points, b: Points) -> Numbers:
    return _times(a[0], b[0]) + _times(a[1], b[1])


def _cross(a: Points, b: Points) -> Numbers:
    return _times(a[0], b[1]) - _times(a[1], b[0])


def _times(a: Numbers, b: Numbers) -> Numbers:
    """a * b, rounded before anything else happens to it, so that every program steps alike to the last bit.

    Compilers may merge a product and the sum it goes into (FMA), here so and there not; they cannot through a clip. No
    product of differences of positions in the square comes near its bounds.
    """
    return (a * b).clip(-16, 16)


MAZES = {
    "easy": Maze(start=(0.0, 0.0)),
    "u": Maze(start=(-0.5, -0.5), walls=((0, -1, 0, 0),)),
    "hard": Maze(
        start=(-0.5, -0.5),
        walls=(
            (-0.25, -1, -0.25, -0.75),
            (-1, 0, -0.25, 0),
            (-0.25, 0, -0.25, -0.25),
            (-0.25, -0.25, 0.25, -0.25),
            (0.5, -0.5, 1, -0.5),
            (0.5, 0, 0.5, 1),
        ),
    ),
}


def move(
    s: Float[Array, "2"], a: Float[Array, "2"], walls: Float[AnyArray, "wall 4"]
) -> tuple[Float[Array, "2"], Bool[Array, ""]]:
    """One step: the new position, which is the old one at a wall, and whether there was a wall."""
    there = s + (STEP * a).clip(-STEP, STEP)  # clipped after the product, see _times
    hit = blocked(s, there, walls)
    return jnp.where(hit, s, there), hit


def maze_task(maze: Maze, name: str, on_wall: OnWall = "terminate", horizon: int = HORIZON) -> Task:
    """The maze as a task; hitting a wall leaves the agent where it was and ends the episode, or not (`stop`)."""
    if on_wall not in get_args(OnWall):
        raise UserError(f"on_wall: {on_wall!r} is unknown; allowed are {', '.join(get_args(OnWall))}")
    walls, start = maze.segments().astype(np.float32), np.asarray(maze.start, np.float32)

    def step(s: Float[Array, "2"], a: Float[Array, "2"]) -> tuple[Float[Array, "2"], Bool[Array, ""]]:
        there, hit = move(s, a, walls)
        return there, hit & (on_wall == "terminate")

    def make(render_mode: str | None = None):
        from gymnasium.wrappers import TimeLimit

        from leads.tasks.gymnasium_maze import MazeEnv

        return TimeLimit(MazeEnv(maze, on_wall=on_wall, render_mode=render_mode), horizon)

    return Task(
        name=name,
        start=start,
        action_size=2,
        horizon=horizon,
        budget=1_000_000,
        features=lambda s: s,
        **seen_in_box(low=(-1.0, -1.0), high=(1.0, 1.0)),
        make=make,
        step_cost="device",
        dynamics=Dynamics(reset=lambda key: jnp.asarray(start), step=step, observe=lambda s: s),
        walls=maze.segments(),
        one_scale=True,
        feature_names=("x", "y"),
    )


def named_maze(name: str, horizon: int, step_cost: StepCost, on_wall: OnWall) -> Task:
    """One of MAZES, as the task `maze-NAME`."""
    maze = MAZES[name.removeprefix("maze-")]
    return dataclasses.replace(maze_task(maze, name, on_wall, horizon), step_cost=step_cost)


def own_maze(name: str, maze: dict[str, Any], on_wall: OnWall) -> Task:
    """A user's maze, as its file has it."""
    try:
        return maze_task(Maze(**maze), name, on_wall)
    except TypeError as error:
        raise UserError(f"maze: {maze} is not a maze with start and walls") from error


def read_maze(path: Path) -> Maze:
    """A user's maze from a JSON file `{"start": [x, y], "walls": [[x1, y1, x2, y2], ...]}`."""
    try:
        if path.exists() and not path.is_file():  # reading a pipe would wait for ever
            raise UserError(f"maze file {path}: it is not a regular file")
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"maze file {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"maze file {path}: not JSON ({error})") from error
    if not isinstance(data, dict):
        raise UserError(f"maze file {path}: {shorten(data)} is not an object with 'start' and 'walls'")
    for key in ("start", "walls"):
        if key not in data:
            raise UserError(f"maze file {path}: {key!r} is missing")
    for key in data:
        if key not in ("start", "walls"):
            raise UserError(f"maze file {path}: {key!r} is unknown; allowed are 'start' and 'walls'")
    try:
        return Maze(start=data["start"], walls=data["walls"])
    except UserError as error:
        raise UserError(f"maze file {path}: {error}") from error
