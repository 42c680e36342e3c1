"""Configs: frozen dataclasses whose fields carry their limits and their line of documentation.

The same rules hold for values from Python, the command line, TOML and JSON: `none` is None, NumPy's scalars are
numbers, lists are tuples, and a wrong value is one line that names the field and what is allowed.
"""

import ast
import dataclasses
import inspect
import textwrap
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from leads.config.registry import Registry
from leads.errors import UserError


@dataclass(frozen=True)
class Limit:
    """What a value may be, in words and as a test."""

    allowed: str
    holds: Callable[[Any], bool]


LARGEST = float(np.finfo(np.float32).max)
"""Networks compute in 32 bits, in which larger numbers are infinite."""
LONGEST = 80
"""Characters of a value in a message."""
MOST = 2**31 - 1
"""Sizes and steps are counted in 32 bits."""
COUNTABLE = Limit(f"a number up to {MOST:,}", lambda value: not isinstance(value, int) or value <= MOST)
T = TypeVar("T")
Positive = Annotated[T, Limit("a number above 0", lambda value: value > 0), COUNTABLE]
NonNegative = Annotated[T, Limit("a number from 0", lambda value: value >= 0), COUNTABLE]
Share = Annotated[T, Limit("a number from 0 to 1", lambda value: 0 <= value <= 1)]
Fraction = Annotated[T, Limit("a number between 0 and 1", lambda value: 0 < value < 1)]
Decay = Annotated[T, Limit("a number from 0 to below 1", lambda value: 0 <= value < 1)]
Layers = Annotated[
    tuple[int, ...],
    Limit("sizes above 0", lambda sizes: bool(sizes) and min(sizes) > 0),
    Limit(f"sizes up to {MOST:,}", lambda sizes: max(sizes) <= MOST),
]
"""Sizes of the hidden layers of a network."""


def at_least(least: float) -> Limit:
    return Limit(f"a number from {least:g}", lambda value: value >= least)


def at_most(most: int) -> Limit:
    return Limit(f"a number up to {most:,}", lambda value: value <= most)


@dataclass(frozen=True)
class Config:
    """Values are checked when it is made; what fields have to do with each other is checked by `check`."""

    def __post_init__(self):
        for name, kind in get_type_hints(type(self), include_extras=True).items():
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
    metadata = {"registry": registry, "default": name}
    return dataclasses.field(default_factory=lambda: _chosen(registry, name, {}), metadata=metadata)


def _chosen(registry: Registry, part: Any, given: Mapping[str, Any]) -> Chosen:
    """A part with those of the values that are its own."""
    found = registry.find(part)
    own = {name: given[name] for name in fields(found.Config, given) if name in given}
    return Chosen(registry.name_of(part), found, build(found.Config, own))


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
    kinds, found = get_type_hints(cls, include_extras=True), {}
    for field in dataclasses.fields(cls):
        doc, registry = docs(cls).get(field.name, ""), field.metadata.get("registry")
        if registry is None:
            own = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
            new = {field.name: Field(kinds[field.name], own, doc)}
        else:
            default = field.metadata["default"]
            part = registry.find((given or {}).get(field.name, default))
            new = {field.name: Field(str, default, doc, registry)} | fields(part.Config, given)
        if twice := found.keys() & new.keys():
            raise UserError(f"{min(twice)}: two parts have an option of this name; rename one")
        found |= new
    return found


def build(cls: type[T], given: Mapping[str, Any]) -> T:
    """A config from plain values, those of its parts among them."""
    known, values = fields(cls, given), {}
    for name in given:
        if name not in known:
            raise UserError(f"{name}: unknown field; allowed are {', '.join(known)}")
    for name in [field.name for field in dataclasses.fields(cls)]:  # type: ignore[arg-type]
        field = known[name]
        if field.registry is not None:
            values[name] = _chosen(field.registry, given.get(name, field.default), given)
        elif name in given:
            values[name] = given[name]
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
    bare, _, optional = _apart(kind)
    if text == "none" and optional:
        return None
    value: Any = {"true": True, "false": False}.get(text, text) if bare is bool else text
    with suppress(ValueError):  # what cannot be read is refused as it was written
        if get_origin(bare) is tuple:
            value = tuple(get_args(bare)[0](part) for part in text.split(","))
        elif bare in (int, float):
            value = bare(text)
    return checked(name, kind, value)


def placeholder(kind: Any) -> str:
    """What stands for a value in the help of the command line: N, X,..., {pink,white}; empty if it is no one word."""
    bare, *_ = _apart(kind)
    if get_origin(bare) is tuple:
        return f"{placeholder(get_args(bare)[0])},..."
    words = ("true", "false") if bare is bool else get_args(bare) if get_origin(bare) is Literal else ()
    return f"{{{','.join(words)}}}" if words else {int: "N", float: "X", dict: ""}.get(get_origin(bare) or bare, "NAME")


def checked(name: str, kind: Any, value: Any) -> Any:
    """The value as its kind has it, or an error that says what is allowed."""
    bare, limits, optional = _apart(kind)
    if optional and isinstance(value, str | None) and value in (None, "none"):
        return None
    value = value.item() if isinstance(value, np.generic) else value
    try:
        fitted = _fitted(bare, value)
    except ValueError as error:
        raise UserError(f"{name}: {'none' if value is None else shown(value)} is not {described(kind)}") from error
    for limit in limits:
        if not limit.holds(fitted):
            raise UserError(f"{name}: {shown(value)} is not allowed; give {limit.allowed}")
    return fitted


def shown(value: Any) -> str:
    """A value as a message shows it: in one line, and not longer than that."""
    with suppress(ValueError):  # Python does not write out whole numbers of thousands of digits
        text = " ".join(repr(value).split())
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
    return "a number with thousands of digits"


def _fitted(kind: Any, value: Any) -> Any:
    """The value as `kind` has it; a ValueError if it is of another."""
    origin = get_origin(kind) or kind
    if origin is tuple and isinstance(value, (tuple, list, np.ndarray)):
        of, *_ = _apart(get_args(kind)[0])
        return tuple(_fitted(of, part.item() if isinstance(part, np.generic) else part) for part in value)
    if kind is Path:
        return _path(value)
    if origin is Literal:
        fits = value in get_args(kind)
    elif kind is float:
        fits = type(value) in (int, float) and abs(value) <= LARGEST
    elif kind is int:
        fits = type(value) is int  # and not bool
    else:
        fits = kind is Any or isinstance(value, origin)
    if not fits:
        raise ValueError
    return float(value) if kind is float else value


def _path(value: Any) -> Path:
    """A ValueError for what names no file; an empty text would be the current directory."""
    if not isinstance(value, str | Path) or str(value) == "" or "\0" in str(value):
        raise ValueError
    return Path(value)


def described(kind: Any) -> str:
    """A kind in words."""
    bare, _, optional = _apart(kind)
    if get_origin(bare) is Literal:
        words = "one of " + ", ".join(map(str, get_args(bare)))
    elif get_origin(bare) is tuple:
        words = "a list of names" if get_args(bare)[0] is str else "numbers with commas between them"
    else:
        named = {int: "a whole number", float: "a finite number", bool: "true or false", str: "a name"}
        named |= {Path: "the path of a file or directory", dict: "a table of names and values"}
        words = named.get(get_origin(bare) or bare, str(bare))
    return f"{words}, or none" if optional else words


def _apart(kind: Any) -> tuple[Any, list[Limit], bool]:
    """Of `Annotated[X, *limits] | None`: X, the limits, and whether none is allowed."""
    options = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else [kind]
    given = next(option for option in options if option is not type(None))
    bare, *extras = get_args(given) if get_origin(given) is Annotated else [given]
    return bare, [extra for extra in extras if isinstance(extra, Limit)], type(None) in options


@cache
def docs(cls: type) -> dict[str, str]:
    """The string literal under each field of a dataclass, its own and those that it inherits."""
    found = {}
    for ancestor in reversed(cls.__mro__[:-1]):
        with suppress(OSError, TypeError, SyntaxError):  # of a class that was typed into an interpreter
            source = textwrap.dedent(inspect.getsource(ancestor))
            for field, below in pairwise(ast.parse(source).body[0].body):  # type: ignore[attr-defined]
                text = below.value if isinstance(below, ast.Expr) else None
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Constant):
                    found[field.target.id] = inspect.cleandoc(text.value)  # type: ignore[union-attr]
    return found
