"""Who is compared: a method as it ships, or with some options changed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from leads.config.fields import defaults, plain
from leads.errors import UserError
from leads.methods import METHODS, OURS, shipped_settings
from leads.training.run_config import RunConfig

SPELT_OUT = 3
"""Options of a variant that its title has room for."""


@dataclass(frozen=True)
class Entry:
    """A method with the options that are not as it ships."""

    method: str
    changed: str = "{}"
    """As JSON, sorted by name."""
    called: str = field(default="", compare=False)
    """Its title where one is chosen by hand."""

    @property
    def options(self) -> dict[str, Any]:
        """The changed options by name."""
        return json.loads(self.changed)

    @property
    def is_ours(self) -> bool:
        return self.method == OURS

    @property
    def learns(self) -> bool:
        """False for a control."""
        return getattr(class_of(self.method), "learns", True)

    @property
    def title(self) -> str:
        """The method's title; of one that cannot be imported any more, the name of its class."""
        if self.called:
            return self.called
        class_name = self.method.split(":")[-1].split(".")[-1]
        title, shown = getattr(class_of(self.method), "title", class_name), spelt_out(self.options)
        if not shown:
            return title
        rest = len(shown) - SPELT_OUT
        return f"{title} ({', '.join(shown[:SPELT_OUT])}{f' and {rest} more' if rest > 0 else ''})"


SHIPPED = Entry(OURS)
"""LEADS as it ships, which is compared with all others."""


@cache
def class_of(method: str) -> Any:
    """The class of a method; None if it cannot be imported any more."""
    try:
        return METHODS.find(method)
    except UserError:
        return None


def entry_of(config: RunConfig) -> Entry:
    """The method of a run, with the options that differ from those it ships with on the task."""
    options = plain(config.method_config)
    shipped = shipped_settings(config.method, config.task, config.step_cost)
    return changed_entry(config.method, options, defaults(METHODS.find(config.method).Config, options) | shipped)


def changed_entry(method: str, options: Mapping[str, Any], usual: Mapping[str, Any]) -> Entry:
    given, usual = (json.loads(json.dumps(values)) for values in (options, usual))
    changed = {name: value for name, value in given.items() if value != usual.get(name)}
    return Entry(method, json.dumps(changed, sort_keys=True))


def spelt_out(options: Mapping[str, Any]) -> list[str]:
    """Options for people: noise white, scale 1."""
    return [f"{name} {_text(value)}" for name, value in options.items()]


def as_typed(options: Mapping[str, Any]) -> str:
    """Options as those of `leads train`: --noise white --scale 1."""
    return " ".join(f"--{name.replace('_', '-')} {_text(value)}" for name, value in options.items())


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
