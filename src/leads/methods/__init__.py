"""The methods by name. A new one is its own file, its page in docs/methods and one line here."""

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from leads.config.fields import build, fields
from leads.config.registry import Registry
from leads.tasks.task import StepCost

METHODS = Registry(
    "method",
    ("title", "learns", "init", "act", "explore", "update"),
    {
        "leads": "leads.methods.leads:Leads",
        "rnd": "leads.methods.rnd:Rnd",
        "diayn": "leads.methods.diayn:Diayn",
        "smm": "leads.methods.smm:Smm",
        "ngu": "leads.methods.ngu:Ngu",
        "lsd": "leads.methods.lsd:Lsd",
        "csd": "leads.methods.csd:Csd",
        "metra": "leads.methods.metra:Metra",
        "random": "leads.methods.random:Random",
    },
)
OURS = "leads"
"""The method that studies compare with all others."""


def configure(method: Any, task: str, step_cost: StepCost, options: dict[str, Any]) -> Any:
    """The config of a method, by name or itself, on a task: its defaults there, changed by `options`."""
    config = METHODS.find(method).Config
    known = fields(config, options)  # a part from outside lacks some of the options that are shipped
    shipped = {name: value for name, value in shipped_settings(method, task, step_cost).items() if name in known}
    return build(config, shipped | options)


def shipped_settings(method: Any, task: str, step_cost: StepCost) -> dict[str, Any]:
    """Options of a method whose defaults are others on this task (settings.toml)."""
    on_host = {} if step_cost == "device" else host_settings(method)
    return on_host | _settings_on(task, method)


def host_settings(method: Any) -> dict[str, Any]:
    """Those of every task that is stepped on the host."""
    return _settings_on("host", method)


@cache
def _all_settings() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(resources.files("leads.methods").joinpath("settings.toml").read_text())


def _settings_on(where: str, method: Any) -> dict[str, Any]:
    """Those of all methods on SAC, if it is one, and its own."""
    name = METHODS.name_of(method)
    if name not in METHODS:
        return {}
    family = getattr(METHODS.find(method), "family", name)
    return _all_settings().get(family, {}).get(where, {}) | _all_settings().get(name, {}).get(where, {})
