"""Suites: the runs of a study, as the combinations of methods, variants, tasks and seeds that a TOML file names."""

import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from leads.config.fields import build
from leads.errors import UserError
from leads.training.run import RunConfig, run_config

SUITES = ("quick", "paper", "noises", "below", "ablation", "slide")
"""Those that are shipped, as NAME.toml beside this file."""


@dataclass(frozen=True)
class Block:
    """What a [[runs]] of a suite says."""

    methods: tuple[str, ...]
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    samples: int | None = None
    """None: each task's budget."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of the task and of the method, in all runs."""
    variants: dict[str, Any] = field(default_factory=dict)
    """Name -> options that make the variant; without any, the runs have no variant."""


@dataclass(frozen=True)
class Job:
    """One run of a suite."""

    config: RunConfig
    variant: str = ""

    @property
    def kind(self) -> str:
        """What it shares with its other seeds."""
        method = f"{self.config.method}-{self.variant}" if self.variant else self.config.method
        return f"{self.config.task_in_paths}/{method}"

    @property
    def name(self) -> str:
        return f"{self.kind}/seed-{self.config.seed}"

    def directory(self, out: Path) -> Path:
        """Of its run."""
        return out / self.name

    def log(self, out: Path) -> Path:
        """Where it says what went wrong; beside the directory, which may not be there yet."""
        return out / f"{self.name}.log"

    def has_log(self, out: Path) -> bool:
        """Whether there is anything to read in it."""
        return self.log(out).is_file() and self.log(out).stat().st_size > 0

    def say(self, out: Path, text: str) -> None:
        """Adds to the log, if that can be written."""
        with suppress(OSError):
            self.log(out).parent.mkdir(parents=True, exist_ok=True)
            with open(self.log(out), "a") as file:
                file.write(text + "\n")


def load(suite: str) -> list[Job]:
    """The jobs of a shipped suite or of a file; all are checked, and none may be there twice."""
    try:
        jobs = [job for block in blocks(suite) for job in _jobs(block)]
        names = [job.name for job in jobs]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UserError(f"{twice} is there twice; make one of them a variant")
        return jobs
    except UserError as error:
        raise UserError(f"suite: {suite} cannot be used: {error}") from error


def blocks(suite: str) -> list[Block]:
    """What a suite says, before it is known whether such runs can be."""
    try:
        tables = tomllib.loads(_text(suite))
    except ValueError as error:
        raise UserError(f"it is not TOML: {error}") from error
    runs = tables.pop("runs", None)
    if tables or not isinstance(runs, list) or not runs or not all(isinstance(table, dict) for table in runs):
        raise UserError("it has to be made of [[runs]] and nothing else")
    return [_block(table) for table in runs]


def _text(suite: str) -> str:
    if suite in SUITES:
        return resources.files("leads.benchmark.suites").joinpath(f"{suite}.toml").read_text()
    path = Path(suite)
    if not path.is_file():
        raise UserError(f"it is neither a file nor one of {', '.join(SUITES)}")
    return path.read_text()


def _block(table: dict[str, Any]) -> Block:
    for name in ("methods", "tasks", "seeds"):
        if not table.get(name):
            raise UserError(f"{name}: is missing in a [[runs]]")
    block = build(Block, table)
    for variant, options in block.variants.items():
        if not re.fullmatch(r"[\w.-]+", variant) or not isinstance(options, dict):
            raise UserError(f"variants: {variant!r} is not a name with a table of options")
    return block


def _jobs(block: Block) -> list[Job]:
    jobs = []
    variants = block.variants or {"": {}}
    for task, method, variant, seed in product(block.tasks, block.methods, variants, block.seeds):
        config, _ = run_config(task, method, seed, block.samples, block.options | variants[variant])
        jobs.append(Job(config, variant))
    return jobs
