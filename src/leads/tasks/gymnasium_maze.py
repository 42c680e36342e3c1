"""The mazes as Gymnasium environments, "leads/MazeHard-v0" or "leads/Maze-v0" with `maze=` one's own."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import gymnasium
import jax
import numpy as np
from gymnasium.error import ResetNeeded
from PIL import Image, ImageDraw

from leads.errors import UserError
from leads.tasks import OnWall
from leads.tasks.maze import MAZES, Maze, maze_task

SIZE = 400
"""Width and height of a picture."""
SMOOTH = 4
"""Pictures are drawn so many times larger, and shrunk."""
MARGIN = 0.06
"""Of the square, around it in a picture."""
FLOOR, GROUND, WALL, START, AGENT = "#ffffff", "#e9ecf1", "#2e3440", "#2a9d8f", "#e4572e"
TRACE = ((200, 219, 240), (36, 90, 160))
"""Colours of the way that the agent came, from its beginning to now."""


class MazeEnv(gymnasium.Env[np.ndarray, np.ndarray]):
    """A point with a velocity in a maze; there is no reward. It steps as the maze's JAX task does, to the last bit."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 (as Gymnasium declares it)

    def __init__(self, maze: Maze | str, on_wall: OnWall = "terminate", render_mode: str | None = None):
        if isinstance(maze, str):
            if maze not in MAZES:
                raise UserError(f"maze: {maze!r} is unknown; allowed are {', '.join(MAZES)} and a Maze")
            maze = MAZES[maze]
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UserError(f"render_mode: {render_mode!r} is unknown; allowed are rgb_array and None")
        self.maze, self.on_wall, self.render_mode = maze, on_wall, render_mode
        self.observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self.action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self._step = _compiled_step(maze, on_wall)
        self._trace: list[np.ndarray] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._trace = [np.asarray(self.maze.start, np.float32)]
        return self._trace[-1].copy(), {}

    def step(self, action: np.ndarray):
        if not self._trace:
            raise ResetNeeded("call reset before step")
        s, terminal = self._step(self._trace[-1], np.asarray(action, np.float32).reshape(2))
        self._trace.append(np.asarray(s))
        return self._trace[-1].copy(), 0.0, bool(terminal), False, {}

    def render(self):
        """A picture of the maze, its start, and the agent with the way it came in this episode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() draws nothing without render_mode='rgb_array'")
            return None
        if not self._trace:
            raise ResetNeeded("call reset before render")
        picture = _empty_maze(self.maze).copy()
        draw = ImageDraw.Draw(picture)
        points = [_pixel(s.tolist()) for s in self._trace]
        share = np.linspace(0, 1, len(points) - 1)[:, None]
        colours = np.rint((1 - share) * TRACE[0] + share * TRACE[1]).astype(int).tolist()
        for a, b, colour in zip(points, points[1:], colours, strict=False):
            _stroke(draw, a, b, 1.5, tuple(colour))
        _disc(draw, points[-1], 8, FLOOR)
        _disc(draw, points[-1], 6.5, AGENT)
        return np.array(picture.reduce(SMOOTH))


@lru_cache(maxsize=64)
def _compiled_step(maze: Maze, on_wall: OnWall):
    """One compiled step for all environments of a maze."""
    dynamics = maze_task(maze, "maze", on_wall).dynamics
    assert dynamics is not None
    return jax.jit(dynamics.step)


@lru_cache(maxsize=16)
def _empty_maze(maze: Maze) -> Image.Image:
    picture = Image.new("RGB", (SIZE * SMOOTH, SIZE * SMOOTH), GROUND)
    draw = ImageDraw.Draw(picture)
    draw.rectangle((*_pixel((-1, 1)), *_pixel((1, -1))), fill=FLOOR)
    _disc(draw, _pixel(maze.start), 8, START)
    _disc(draw, _pixel(maze.start), 5.5, FLOOR)
    for x1, y1, x2, y2 in maze.segments():
        _stroke(draw, _pixel((x1, y1)), _pixel((x2, y2)), 2.5, WALL)
    return picture


Pixel = tuple[int, int]
Colour = str | tuple[int, ...]


def _pixel(point: Sequence[float]) -> Pixel:
    """Where a point of the maze is in the large picture."""
    x, y = point
    scale = SIZE * SMOOTH / (2 * (1 + MARGIN))
    return round((x + 1 + MARGIN) * scale), round((1 + MARGIN - y) * scale)


def _stroke(draw: ImageDraw.ImageDraw, begin: Pixel, end: Pixel, radius: float, colour: Colour) -> None:
    """A line with round ends; Pillow centres lines of odd width only."""
    draw.line((*begin, *end), fill=colour, width=round(2 * radius * SMOOTH) + 1)
    _disc(draw, begin, radius, colour)
    _disc(draw, end, radius, colour)


def _disc(draw: ImageDraw.ImageDraw, centre: Pixel, radius: float, colour: Colour) -> None:
    draw.circle(centre, radius * SMOOTH, fill=colour)
