"""The run directory: the only place a run writes to, and all that loading, resuming and reporting need."""

import fcntl
import json
import math
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from leads.errors import UserError
from leads.fields import build
from leads.methods import config_class, make_method
from leads.methods.method import Method
from leads.tasks import make_task
from leads.tasks.maze import Maze, OnWall, maze_task, read_maze
from leads.tasks.task import Task
from leads.training import checkpoint

FORMAT = 1
"""Version of the run directory's layout."""
VERSIONS_OF = ("leads", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium")


@dataclass(frozen=True)
class RunConfig:
    """What a run is: enough to do it again."""

    task: str
    on_wall: OnWall
    method: str
    seed: int
    samples: int
    fields: dict[str, Any]
    """The method's config."""
    maze: dict[str, Any] | None = None
    """A user's maze itself, so that the run does not depend on the file it came from."""

    def make_task(self) -> Task:
        if self.maze is not None:
            walls = tuple(tuple(wall) for wall in self.maze["walls"])
            return maze_task(Maze(tuple(self.maze["start"]), walls), self.task, self.on_wall)
        return make_task(self.task, self.on_wall)

    def make_method(self, task: Task) -> Method:
        return make_method(self.method, build(config_class(self.method), self.fields), task)


def run_config(
    task: str, method: str, seed: int, samples: int | None, on_wall: OnWall, fields: dict[str, Any]
) -> RunConfig:
    """Checks what a user asked for and completes it."""
    config = build(config_class(method), fields)
    made = make_task(task, on_wall)
    if samples is not None and samples <= 0:
        raise UserError(f"samples: {samples} is not allowed; give a number above 0")
    if not 0 <= seed < 2**32:
        raise UserError(f"seed: {seed} is not allowed; give a number from 0 to {2**32 - 1}")
    maze = asdict(read_maze(Path(task.removeprefix("maze:")))) if task.startswith("maze:") else None
    return RunConfig(task, on_wall, method, seed, made.budget if samples is None else samples, asdict(config), maze)


class Run:
    """A run directory on disk."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.checkpoints = directory / "checkpoints"
        self.figures = directory / "figures"

    @classmethod
    def create(cls, directory: Path, config: RunConfig) -> "Run":
        """A new run; a directory that holds anything already is left alone."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if any(directory.iterdir()):
                raise UserError(
                    f"out: {directory} is not empty; choose another, or continue it with --resume {directory}"
                )
            data = {"format": FORMAT, **asdict(config), "versions": versions()}
            checkpoint.write_whole(directory / "config.json", (json.dumps(data, indent=2) + "\n").encode())
        except OSError as error:
            raise UserError(f"out: {directory} cannot be written ({error.strerror})") from error
        return cls(directory)

    @classmethod
    def open(cls, directory: Path) -> "Run":
        if not (directory / "config.json").is_file():
            raise UserError(f"{directory} is not a run directory: it has no config.json")
        return cls(directory)

    def config(self) -> RunConfig:
        path = self.directory / "config.json"
        try:
            data = json.loads(path.read_text())
            if data.pop("format") != FORMAT:
                raise UserError(f"{path}: written by another version of leads")
            data.pop("versions")
            return RunConfig(**data)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} is damaged ({error})") from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the directory for this process; the lock ends with the process, however it ends."""
        with open(self.directory / ".lock", "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise UserError(f"{self.directory} is in use by another process") from error
            yield

    def restore(self, like: Any) -> tuple[int, Any]:
        """(epoch, state) of the newest checkpoint that is whole; damaged ones are named on stderr and passed over."""
        for epoch in reversed(checkpoint.epochs(self.checkpoints)):
            try:
                return epoch, checkpoint.restore(self.checkpoints, epoch, like)
            except checkpoint.DamagedCheckpoint as error:
                print(f"leads: {error}; using the one before", file=sys.stderr)
        return 0, like

    def rewind(self, epoch: int) -> None:
        """Forgets every line of the logs after `epoch`, also one cut short by a crash."""
        for name in ("metrics.jsonl", "timing.jsonl"):
            lines = [line for line in self.read_lines(name) if line["epoch"] <= epoch]
            text = "".join(json.dumps(line) + "\n" for line in lines)
            checkpoint.write_whole(self.directory / name, text.encode())

    def append(self, name: str, line: dict[str, Any]) -> None:
        with open(self.directory / name, "a") as file:
            file.write(json.dumps(line) + "\n")

    def read_lines(self, name: str) -> list[dict[str, Any]]:
        path = self.directory / name
        lines = []
        for text in path.read_text().splitlines() if path.exists() else ():
            try:
                lines.append(json.loads(text))
            except ValueError:
                break
        return lines

    def metrics(self) -> list[dict[str, Any]]:
        """A line an epoch; the same for every run of one config, however often it was interrupted."""
        return self.read_lines("metrics.jsonl")

    def summary(self) -> dict[str, Any]:
        return json.loads((self.directory / "summary.json").read_text())

    def write_summary(self, summary: dict[str, Any]) -> None:
        text = json.dumps(summary | {"versions": versions()}, indent=2) + "\n"
        checkpoint.write_whole(self.directory / "summary.json", text.encode())


def versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in VERSIONS_OF}


def plain(value: Any) -> float | None:
    """A metric as JSON has it: not-a-number becomes null."""
    number = float(value)
    return None if math.isnan(number) else number
