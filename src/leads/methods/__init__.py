"""The methods by name. A new method is one file here, its page in docs/methods and its line in METHODS."""

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from leads.errors import UserError
from leads.methods.leads import Leads, LeadsConfig
from leads.methods.method import Method
from leads.methods.random import Random, RandomConfig
from leads.tasks.task import Task

METHODS: dict[str, tuple[type, type]] = {"leads": (Leads, LeadsConfig), "random": (Random, RandomConfig)}


def config_class(name: str) -> type:
    if name not in METHODS:
        raise UserError(f"method: {name!r} is unknown; allowed are {', '.join(METHODS)}")
    return METHODS[name][1]


@cache
def _all_settings() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(resources.files("leads.methods").joinpath("settings.toml").read_text())


def settings(method: str, task: Task) -> dict[str, Any]:
    """The fields of a method whose defaults are others on this task (settings.toml)."""
    of = _all_settings().get(method, {})
    return (of.get("simulated", {}) if task.step is None else {}) | of.get(task.name, {})


def make_method(name: str, config: Any, task: Task) -> Method:
    config_class(name)
    return METHODS[name][0](config, task)
