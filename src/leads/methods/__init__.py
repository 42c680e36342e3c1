"""The methods by name. A new method is one file here, its page in docs/methods and its line in METHODS."""

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from leads.errors import UserError
from leads.improvement.sac import SacConfig
from leads.methods.csd import Csd, CsdConfig
from leads.methods.diayn import Diayn, DiaynConfig
from leads.methods.leads import Leads
from leads.methods.leads_config import LeadsConfig
from leads.methods.lsd import Lsd, LsdConfig
from leads.methods.method import Method
from leads.methods.metra import Metra, MetraConfig
from leads.methods.ngu import Ngu, NguConfig
from leads.methods.random import Random, RandomConfig
from leads.methods.rnd import Rnd, RndConfig
from leads.methods.smm import Smm, SmmConfig
from leads.tasks.task import Task

METHODS: dict[str, tuple[type, type]] = {
    "leads": (Leads, LeadsConfig),
    "rnd": (Rnd, RndConfig),
    "diayn": (Diayn, DiaynConfig),
    "smm": (Smm, SmmConfig),
    "ngu": (Ngu, NguConfig),
    "lsd": (Lsd, LsdConfig),
    "csd": (Csd, CsdConfig),
    "metra": (Metra, MetraConfig),
    "random": (Random, RandomConfig),
}


def config_class(name: str) -> type:
    if name not in METHODS:
        raise UserError(f"method: {name!r} is unknown; allowed are {', '.join(METHODS)}")
    return METHODS[name][1]


@cache
def _all_settings() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(resources.files("leads.methods").joinpath("settings.toml").read_text())


def settings(method: str, task: Task) -> dict[str, Any]:
    """The fields of a method whose defaults are others on this task (settings.toml)."""
    return (host_settings(method) if task.step is None else {}) | _settings_on(task.name, method)


def host_settings(method: str) -> dict[str, Any]:
    """Of these, the ones of every task that is stepped on the host."""
    return _settings_on("host", method)


def _settings_on(where: str, method: str) -> dict[str, Any]:
    """Those of all methods on SAC, if it is one, and its own."""
    shared = _all_settings()["sac"] if issubclass(config_class(method), SacConfig) else {}
    return shared.get(where, {}) | _all_settings().get(method, {}).get(where, {})


def make_method(name: str, config: Any, task: Task) -> Method:
    config_class(name)
    return METHODS[name][0](config, task)
