"""Configs: frozen dataclasses whose fields carry their limits and their line of documentation.

The same rules hold for values from Python, the command line, TOML and JSON: `none` is None, NumPy's scalars are
numbers, lists are tuples, and a wrong value is one line that names the field and what is allowed.
"""

import ast
import dataclasses
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from leads.config.registry import Registry
from leads.errors import UserError


@dataclass(frozen=True)
class Limit:
    """What a value may be, in words and as a test."""

    allowed: str
    holds: Callable[[Any], bool]


T = TypeVar("T")
Positive = Annotated[T, Limit("a number above 0", lambda value: value > 0)]
NonNegative = Annotated[T, Limit("a number from 0", lambda value: value >= 0)]
Share = Annotated[T, Limit("a number from 0 to 1", lambda value: 0 <= value <= 1)]
Fraction = Annotated[T, Limit("a number between 0 and 1", lambda value: 0 < value < 1)]
Decay = Annotated[T, Limit("a number from 0 to below 1", lambda value: 0 <= value < 1)]
Layers = Annotated[tuple[int, ...], Limit("sizes above 0", lambda sizes: bool(sizes) and min(sizes) > 0)]
"""Sizes of the hidden layers of a network."""


def at_least(least: float) -> Limit:
    return Limit(f"a number from {least:g}", lambda value: value >= least)


@dataclass(frozen=True)
class Config:
    """Values are checked when it is made; what fields have to do with each other is checked by `check`."""

    def __post_init__(self):
        for name, kind in _kinds(type(self)).items():
            object.__setattr__(self, name, checked(name, kind, getattr(self, name)))
        self.check()

    def check(self) -> None:
        """Refuses values that do not go together."""


@dataclass(frozen=True)
class Chosen:
    """A part that is chosen by name, with options of its own."""

    name: str
    part: Any
    """The class; it has a `Config` and is made from one."""
    config: Any

    def make(self, *arguments: Any) -> Any:
        return self.part(self.config, *arguments)


def choose(registry: Registry, name: str) -> Any:
    """A field of a config that holds a part: by default the one of this name, as it ships."""
    return dataclasses.field(
        default_factory=lambda: _chosen(registry, name, {}), metadata={"registry": registry, "default": name}
    )


def _chosen(registry: Registry, part: Any, options: dict[str, Any]) -> Chosen:
    found = registry.find(part)
    return Chosen(part if isinstance(part, str) else registry.name_of(part), found, found.Config(**options))


@dataclass(frozen=True)
class Field:
    """A field as users see it."""

    kind: Any
    default: Any
    doc: str
    registry: Registry | None = None
    """What a part is chosen from."""


def fields(cls: type, given: Mapping[str, Any] | None = None) -> dict[str, Field]:
    """All fields by name, with those of the parts that `given` chooses."""
    given = given or {}
    documents, kinds, found = docs(cls), _kinds(cls), {}
    for field in dataclasses.fields(cls):
        registry = field.metadata.get("registry")
        default = field.metadata["default"] if registry else field.default
        kind = str if registry else kinds[field.name]
        found[field.name] = Field(kind, default, documents.get(field.name, ""), registry)
        if registry:
            found |= fields(registry.find(_part_of(given.get(field.name, default))).Config, given)
    return found


def _part_of(value: Any) -> Any:
    return value.part if isinstance(value, Chosen) else value


def build(cls: type[T], given: Mapping[str, Any]) -> T:
    """A config from plain values, those of its parts among them."""
    known = fields(cls, given)
    for name in given:
        if name not in known:
            raise UserError(f"{name}: unknown field; allowed are {', '.join(known)}")
    values = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        registry = field.metadata.get("registry")
        if registry:
            part = given.get(field.name, field.metadata["default"])
            own = fields(registry.find(_part_of(part)).Config, given)
            options = {name: value for name, value in given.items() if name in own}
            values[field.name] = (
                part if isinstance(part, Chosen) and not options else _chosen(registry, _part_of(part), options)
            )
        elif field.name in given:
            values[field.name] = given[field.name]
    return cls(**values)


def plain(config: Any) -> dict[str, Any]:
    """The values that `build` makes a config from."""
    values = {}
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        values |= {field.name: value.name} | plain(value.config) if isinstance(value, Chosen) else {field.name: value}
    return values


def defaults(cls: type, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {name: field.default for name, field in fields(cls, given).items()}


def parse(name: str, kind: Any, text: str) -> Any:
    """A value from the command line; tuples are written 256,128."""
    if text == "none" and _allows_none(kind):
        return None
    bare = _bare(kind)
    try:
        if get_origin(bare) is tuple:
            return checked(name, kind, tuple(get_args(bare)[0](part) for part in text.split(",")))
        if bare is bool:
            return checked(name, kind, {"true": True, "false": False}.get(text, text))
        return checked(name, kind, bare(text) if bare in (int, float) else text)
    except ValueError as error:
        raise UserError(f"{name}: {text!r} is not {described(kind)}") from error


def placeholder(kind: Any) -> str:
    """What stands for a value in the help of the command line: N, X,..., {pink,white}."""
    bare = _bare(kind)
    if get_origin(bare) is tuple:
        return f"{placeholder(get_args(bare)[0])},..."
    words = ("true", "false") if bare is bool else get_args(bare) if get_origin(bare) is Literal else ()
    return f"{{{','.join(words)}}}" if words else {int: "N", float: "X"}.get(bare, "NAME")


def is_word(kind: Any) -> bool:
    """Whether a value can be written in one word of the command line."""
    return get_origin(_bare(kind)) is not dict


def checked(name: str, kind: Any, value: Any) -> Any:
    """The value as its kind has it, or an error that says what is allowed."""
    if isinstance(value, Chosen):
        return value
    if value is None or (isinstance(value, str) and value == "none" and _allows_none(kind)):
        if _allows_none(kind):
            return None
        raise UserError(f"{name}: none is not {described(kind)}")
    value = value.item() if isinstance(value, np.generic) else value
    fitted = _fitted(_bare(kind), value)
    if fitted is _MISFIT:
        raise UserError(f"{name}: {value!r} is not {described(kind)}")
    for limit in _limits(kind):
        if not limit.holds(fitted):
            raise UserError(f"{name}: {value} is not allowed; give {limit.allowed}")
    return fitted


_MISFIT = object()


def _fitted(kind: Any, value: Any) -> Any:
    """The value as `kind` has it, or _MISFIT."""
    if get_origin(kind) is Literal:
        return value if value in get_args(kind) else _MISFIT
    if get_origin(kind) is tuple:
        if not isinstance(value, (tuple, list, np.ndarray)):
            return _MISFIT
        of = _bare(get_args(kind)[0])
        parts = tuple(_fitted(of, part.item() if isinstance(part, np.generic) else part) for part in value)
        return _MISFIT if _MISFIT in parts else parts
    if kind is float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return float(value) if is_number and -_LARGEST <= value <= _LARGEST else _MISFIT
    if kind is int:
        return value if isinstance(value, int) and not isinstance(value, bool) else _MISFIT
    if kind is Any:
        return value
    return value if isinstance(value, get_origin(kind) or kind) else _MISFIT


_LARGEST = np.finfo(float).max.item()


def described(kind: Any) -> str:
    """A kind in words."""
    bare = _bare(kind)
    if get_origin(bare) is Literal:
        words = "one of " + ", ".join(map(str, get_args(bare)))
    elif get_origin(bare) is tuple:
        words = "a list of names" if get_args(bare)[0] is str else "numbers with commas between them"
    else:
        named = {int: "a whole number", float: "a finite number", bool: "true or false", str: "a name"}
        words = named.get(bare, str(bare))
    return f"{words}, or none" if _allows_none(kind) else words


@cache
def _kinds(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _options(kind: Any) -> list[Any]:
    """The alternatives of a union, or the kind alone."""
    return list(get_args(kind)) if get_origin(kind) in (Union, types.UnionType) else [kind]


def _allows_none(kind: Any) -> bool:
    return type(None) in _options(kind)


def _given(kind: Any) -> Any:
    """Of `X | None`, X."""
    return next(option for option in _options(kind) if option is not type(None))


def _bare(kind: Any) -> Any:
    """Without limits."""
    given = _given(kind)
    return get_args(given)[0] if get_origin(given) is Annotated else given


def _limits(kind: Any) -> list[Limit]:
    given = _given(kind)
    return (
        [extra for extra in get_args(given)[1:] if isinstance(extra, Limit)] if get_origin(given) is Annotated else []
    )


@cache
def docs(cls: type) -> dict[str, str]:
    """The string literal under each field of a dataclass, its own and those that it inherits."""
    found = {}
    for ancestor in reversed(cls.__mro__[:-1]):
        try:
            source = inspect.getsource(ancestor)
        except (OSError, TypeError):  # a class that was typed into an interpreter
            continue
        body = ast.parse(inspect.cleandoc(source)).body[0].body  # type: ignore[attr-defined]
        for field, below in pairwise(body):
            text = below.value if isinstance(below, ast.Expr) else None
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Constant):
                found[field.target.id] = inspect.cleandoc(text.value)  # type: ignore[union-attr]
    return found
