"""Suites: the runs of a study, as the combinations of methods, variants, tasks and seeds that a TOML file names."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

from leads.benchmark.job import Job
from leads.config.fields import Config, build
from leads.errors import UserError
from leads.training.run_config import run_config

SUITES = ("quick", "paper", "noises", "below", "ablation", "slide", "bodies", "parts")
"""Those that are shipped, as NAME.toml beside this file."""


@dataclass(frozen=True)
class Block(Config):
    """What a [[runs]] of a suite says."""

    methods: tuple[str, ...] = ()
    """Names, or `module:name`."""
    tasks: tuple[str, ...] = ()
    """Names, `maze:FILE.json`, `gym:ID` or `module:name`."""
    seeds: tuple[int, ...] = ()
    samples: int | None = None
    """None: each task's budget."""
    metrics: tuple[str, ...] = ()
    """`module:name` of metrics of your own."""
    options: dict[str, Any] = field(default_factory=dict)
    """Of the task and of the method, in all runs."""
    variants: dict[str, Any] = field(default_factory=dict)
    """Name -> options that make the variant; without any, the runs have no variant."""

    def check(self) -> None:
        for name in ("methods", "tasks", "seeds"):
            if not getattr(self, name):
                raise UserError(f"{name}: is missing in a [[runs]]")
        for variant, options in self.variants.items():
            if not re.fullmatch(r"[\w.-]+", variant) or not isinstance(options, dict):
                raise UserError(f"variants: {variant!r} is not a name with a table of options")


def load(suite: str) -> list[Job]:
    """The jobs of a shipped suite or of a file; all are checked, and none may occur twice."""
    try:
        jobs = [job for block in _blocks(suite) for job in _jobs(block)]
        for name, count in Counter(job.name for job in jobs).items():
            if count > 1:
                raise UserError(f"{name} occurs twice; make one of them a variant")
        return jobs
    except UserError as error:
        raise UserError(f"suite: {suite} cannot be used: {error}") from error


def _blocks(suite: str) -> list[Block]:
    """What a suite says; whether such runs exist is not checked yet."""
    path = resources.files("leads.benchmark.suites") / f"{suite}.toml" if suite in SUITES else Path(suite)
    if not path.is_file():
        raise UserError(f"it is neither a file nor one of {', '.join(SUITES)}")
    try:
        tables = tomllib.loads(path.read_text())
    except ValueError as error:
        raise UserError(f"it is not TOML: {error}") from error
    runs = tables.pop("runs", None)
    if tables or not isinstance(runs, list) or not runs or not all(isinstance(table, dict) for table in runs):
        raise UserError("it has to be made of [[runs]] and nothing else")
    return [build(Block, table) for table in runs]


def _jobs(block: Block) -> Iterator[Job]:
    variants = block.variants or {"": {}}
    for task, method, variant, seed in product(block.tasks, block.methods, variants, block.seeds):
        options = block.options | variants[variant]
        config, _ = run_config(task, method, seed, block.samples, options, block.metrics)
        yield Job(config, variant)
