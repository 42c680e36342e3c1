"""The methods by name. A new method is one file here, its page in docs/methods and its line in METHODS."""

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


def make_method(name: str, config: Any, task: Task) -> Method:
    config_class(name)
    return METHODS[name][0](config, task)
