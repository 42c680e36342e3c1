"""What numbers of a config may be: each function names the first one that is not, its value and what is allowed."""

from typing import Any

from leads.errors import UserError


def above_zero(config: Any, *names: str) -> None:
    _require(config, names, lambda value: value > 0, "a number above 0")


def from_zero(config: Any, *names: str) -> None:
    _require(config, names, lambda value: value >= 0, "a number from 0")


def between_zero_and_one(config: Any, *names: str) -> None:
    _require(config, names, lambda value: 0 < value < 1, "a number between 0 and 1")


def share(config: Any, *names: str) -> None:
    _require(config, names, lambda value: 0 <= value <= 1, "a number from 0 to 1")


def sizes(config: Any, *names: str) -> None:
    """Of the layers of a network."""
    _require(config, names, lambda value: bool(value) and min(value) > 0, "sizes above 0")


def _require(config: Any, names: tuple[str, ...], is_allowed: Any, allowed: str) -> None:
    for name in names:
        value = getattr(config, name)
        if value is not None and not is_allowed(value):
            raise UserError(f"{name}: {value} is not allowed; give {allowed}")
