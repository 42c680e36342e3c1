"""The methods by name. A new one is its own file, its page in docs/methods and one line here."""

import tomllib
from collections.abc import Mapping
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
    return build(METHODS.find(method).Config, shipped_settings(method, task, step_cost, options) | options)


def shipped_settings(
    method: Any, task: str, step_cost: StepCost, options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Options of a method whose defaults are others on this task (settings.toml).

    Those of a part that `options` replaces by another are left out.
    """
    on_host = {} if step_cost == "device" else host_settings(method)
    known = fields(METHODS.find(method).Config, options)
    return {name: value for name, value in (on_host | _settings_on(task, method)).items() if name in known}


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
