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
    places = ["device" if step_cost == "device" else "host", task]
    config, given = METHODS.find(method).Config, dict(options or {})
    chosen = _settings_on(places, _sections(method)) | given
    of_parts = [
        f"{METHODS.name_of(method)} --{name} {field.registry.name_of(chosen.get(name, field.default))}"
        for name, field in fields(config, chosen).items()
        if field.registry is not None
    ]
    settings = _settings_on(places, [*_sections(method), *of_parts])
    known = fields(config, settings | given)
    return {name: value for name, value in settings.items() if name in known}


def host_settings(method: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of every task that is stepped on the host, with the parts that `options` choose."""
    return shipped_settings(method, "", "cheap", options)


def shipped_parts(method: Any, task: str, step_cost: StepCost, options: Mapping[str, Any]) -> dict[str, Any]:
    """The parts among the shipped settings, such as how LEADS improves its policy on this task."""
    known = fields(METHODS.find(method).Config, options)
    settings = shipped_settings(method, task, step_cost, options)
    return {name: value for name, value in settings.items() if name in known and known[name].registry is not None}


@cache
def _all_settings() -> dict[str, dict[str, dict[str, Any]]]:
    return tomllib.loads(resources.files("leads.methods").joinpath("settings.toml").read_text())


def _sections(method: Any) -> list[str]:
    """Whose settings a method has: those of all methods on SAC, if it is one, and its own."""
    name = METHODS.name_of(method)
    return [getattr(METHODS.find(method), "family", name), name] if name in METHODS else []


def _settings_on(places: list[str], sections: list[str]) -> dict[str, Any]:
    """Merged, later ones before earlier ones; a place goes before a section."""
    merged: dict[str, Any] = {}
    for place in places:
        for section in sections:
            merged |= _all_settings().get(section, {}).get(place, {})
    return merged
