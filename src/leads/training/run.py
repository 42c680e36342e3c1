"""The run directory: the only place a run writes to, and all that loading, resuming and reporting need."""

import fcntl
import json
import math
import os
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
MOST_SAMPLES = 2_000_000_000
"""Samples are counted in 32 bits."""
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
            return maze_task(Maze(**self.maze), self.task, self.on_wall)
        return make_task(self.task, self.on_wall)

    def make_method(self, task: Task) -> Method:
        return make_method(self.method, build(config_class(self.method), self.fields), task)


def run_config(
    task: str, method: str, seed: int, samples: int | None, on_wall: OnWall, fields: dict[str, Any]
) -> RunConfig:
    """Checks what a user asked for and completes it."""
    config = build(config_class(method), fields)
    made = make_task(task, on_wall)
    if samples is not None and not 0 < samples <= MOST_SAMPLES:
        raise UserError(f"samples: {samples} is not allowed; give a number from 1 to {MOST_SAMPLES:,}")
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
        run = cls(directory)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            run._refuse_if_used()
            with run.lock():  # of two processes that came here together, one will find the other's config
                run._refuse_if_used()
                data = {"format": FORMAT, **asdict(config), "versions": versions()}
                checkpoint.write_whole(directory / "config.json", (json.dumps(data, indent=2) + "\n").encode())
        except OSError as error:
            raise UserError(f"out: {directory} cannot be written ({error.strerror})") from error
        return run

    def _refuse_if_used(self) -> None:
        begun = {".lock", "config.json.partial"}  # what a process killed right here leaves behind
        if {path.name for path in self.directory.iterdir()} - begun:
            raise UserError(
                f"out: {self.directory} is not empty; choose another, or continue it with --resume {self.directory}"
            )

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
                raise UserError("it was written by another version of leads")
            data.pop("versions")
            config = build(RunConfig, data)
            config.make_method(config.make_task())
            return config
        except (ValueError, KeyError, TypeError, AttributeError, OSError, UserError) as error:
            raise UserError(f"{path} cannot be used: {error}") from error

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
        epochs = checkpoint.epochs(self.checkpoints)
        for epoch in reversed(epochs):
            try:
                return epoch, checkpoint.restore(self.checkpoints, epoch, like)
            except checkpoint.DamagedCheckpoint as error:
                instead = "no other is there" if epoch == epochs[0] else "using the one before"
                print(f"leads: {error}; {instead}", file=sys.stderr)
        return 0, like

    def rewind(self, epoch: int) -> None:
        """Forgets every line of the logs after `epoch`, also one cut short by a crash."""
        if epoch == 0:
            (self.directory / "summary.json").unlink(missing_ok=True)
        for name in ("metrics.jsonl", "timing.jsonl"):
            lines = [line for line in self.read_lines(name) if line["epoch"] <= epoch]
            text = "".join(json.dumps(line) + "\n" for line in lines)
            checkpoint.write_whole(self.directory / name, text.encode())

    def append(self, name: str, line: dict[str, Any]) -> None:
        with open(self.directory / name, "a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())  # so that no checkpoint is ever newer than the log

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
    """A metric as JSON has it: what is not a finite number becomes null."""
    number = float(value)
    return number if math.isfinite(number) else None
