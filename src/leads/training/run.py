"""The run directory: the only place a run writes to, and all that loading, resuming and reporting need."""

import fcntl
import json
import math
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from leads.errors import UserError
from leads.training import checkpoint
from leads.training.run_config import RunConfig

FORMAT = 4
"""Version of the run directory's layout."""
EVERY_EPOCH = ("metrics.jsonl", "timing.jsonl")
"""Files with one line per epoch."""
LOGS = (*EVERY_EPOCH, "skills.jsonl")
"""Files that grow with the epochs."""
FILM = ("csv", "gif", "mp4")
"""What `leads skills` makes of a run: figures/skills*."""
OTHER_FORMAT = "it was written by another version of leads; use that version, or train again (docs/migration.md)"
VERSIONS_OF = ("leads", "jax", "jaxlib", "equinox", "optax", "numpy", "gymnasium", "mujoco")


class Run:
    """A run directory on disk."""

    def __init__(self, directory: Path, own: Mapping[str, Any] | None = None):
        """`own` are the method and parts of it that were handed over in Python and cannot be imported again."""
        self.directory, self.own = directory, {name: part for name, part in (own or {}).items() if part is not None}
        self.checkpoints = directory / "checkpoints"
        self.figures = directory / "figures"

    @classmethod
    def create(cls, directory: Path, config: RunConfig, own: Mapping[str, Any] | None = None) -> "Run":
        """A new run; a directory that holds anything already is left alone."""
        run = cls(directory, own)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            run.refuse_if_used()
            with run.lock():  # of two processes that came here together, one will find the other's config
                run.refuse_if_used()
                run._write_config(config)
        except OSError as error:
            raise run._cannot_be_written(error) from error
        return run

    def check_unused(self) -> None:
        """Refuses at once, and without a trace, a directory in which no run can begin."""
        try:
            if self.directory.exists():
                self.refuse_if_used()
        except OSError as error:
            raise self._cannot_be_written(error) from error

    def _cannot_be_written(self, error: OSError) -> UserError:
        return UserError(f"out: {self.directory} cannot be written ({error.strerror})")

    def refuse_if_used(self) -> None:
        """A directory in which a run can begin holds nothing."""
        begun = {".lock", "config.json.partial"}  # what a process killed right here leaves behind
        there = {path.name for path in self.directory.iterdir()} - begun
        if there:
            go_on = f", or continue it with --resume {self.directory}" if "config.json" in there else ""
            raise UserError(f"out: {self.directory} is not empty; choose another{go_on}")

    @classmethod
    def open(cls, directory: Path, own: Mapping[str, Any] | None = None) -> "Run":
        if not (directory / "config.json").is_file():
            raise UserError(f"{directory} is not a run directory: it has no config.json")
        return cls(directory, own)

    @cached_property
    def config(self) -> RunConfig:
        """Read and checked once; raises a UserError if it cannot be used."""
        path = self.directory / "config.json"
        try:
            data = json.loads(path.read_text())
            if data["format"] != FORMAT:
                raise UserError(OTHER_FORMAT)
            return RunConfig.of_json(data, self.own)
        except (ValueError, KeyError, TypeError, AttributeError, OSError, UserError) as error:
            raise UserError(f"{path} cannot be used: {error}") from error

    @property
    def is_finished(self) -> bool:
        return (self.directory / "summary.json").exists()

    def _write_config(self, config: RunConfig) -> None:
        data = {"format": FORMAT, **config.to_json(), "versions": versions()}
        checkpoint.write_whole(self.directory / "config.json", (json.dumps(data, indent=2) + "\n").encode())
        self.__dict__["config"] = config

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

    def rewind(self, epoch: int, config: RunConfig) -> None:
        """Makes it an unfinished run of this config that has come to `epoch`: forgets what is later.

        Later are lines of logs, also one cut short by a crash, and damaged checkpoints. If what is earlier is not all
        there, nothing is touched.
        """
        if epoch == 0 and self.is_finished:
            raise UserError(f"{self.directory} is finished and cannot go on: it has no checkpoint that is whole")
        logs = {name: [line for line in self.read_lines(name) if line["epoch"] <= epoch] for name in LOGS}
        for name in EVERY_EPOCH:
            if [line["epoch"] for line in logs[name]] != list(range(1, epoch + 1)):
                raise UserError(f"{self.directory / name} is damaged: it lacks some of the epochs 1 to {epoch}")
        self.forget_end()
        if config != self.config:
            self._write_config(config)
        for later in checkpoint.epochs(self.checkpoints):
            if later > epoch:
                checkpoint.remove(self.checkpoints, later)
        for name, lines in logs.items():
            text = "".join(json.dumps(line) + "\n" for line in lines)
            checkpoint.write_whole(self.directory / name, text.encode())

    def forget_end(self) -> None:
        """Removes the summary, and the films and tables of `leads skills`, which show how the skills were then."""
        films = (path for kind in FILM for path in self.figures.glob(f"skills*.{kind}"))
        for path in (self.directory / "summary.json", *films):
            path.unlink(missing_ok=True)

    def append(self, name: str, line: dict[str, Any]) -> None:
        with open(self.directory / name, "a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())  # so that no checkpoint is ever newer than the log

    def read_lines(self, name: str) -> list[dict[str, Any]]:
        """The lines of a log; the last one may have been cut short by a crash, and then does not count."""
        path = self.directory / name
        texts = path.read_text(errors="replace").splitlines() if path.exists() else []
        lines = []
        for number, text in enumerate(texts, 1):
            try:
                line = json.loads(text)
                lines += [line] if line["epoch"] > 0 else []
            except (ValueError, TypeError, KeyError) as error:
                if number < len(texts):
                    raise UserError(f"{path} is damaged: line {number} cannot be read") from error
        return lines

    def metrics(self) -> list[dict[str, Any]]:
        """One line per epoch; the same for every run of one config, however often it was interrupted."""
        return self.read_lines("metrics.jsonl")

    def summary(self) -> dict[str, Any]:
        path = self.directory / "summary.json"
        try:
            summary = json.loads(path.read_text())
            if not (summary["samples"] > 0 and summary["cpu_seconds"] >= 0):
                raise ValueError("its numbers are impossible")
            return summary
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise UserError(f"{path} cannot be used: {error}") from error

    def write_summary(self, summary: dict[str, Any]) -> None:
        text = json.dumps(summary | {"versions": versions()}, indent=2) + "\n"
        checkpoint.write_whole(self.directory / "summary.json", text.encode())


def versions() -> dict[str, str]:
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in VERSIONS_OF}


def plain(name: str, value: Any) -> float | None:
    """A metric as JSON has it: what is not a finite number becomes null."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise UserError(f"metrics: {name} is not a single number but of shape {np.shape(value)}") from error
    return number if math.isfinite(number) else None
