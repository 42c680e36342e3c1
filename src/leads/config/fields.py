"""Config dataclasses as users see them: fields with their doc lines, checked when built from plain values."""

import ast
import dataclasses
import inspect
import math
import types
from itertools import pairwise
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from leads.errors import UserError


def docs(cls: type) -> dict[str, str]:
    """The string literal under each field of a dataclass, its own and those that it inherits."""
    found = {}
    for ancestor in reversed(cls.__mro__[:-1]):
        body = ast.parse(inspect.cleandoc(inspect.getsource(ancestor))).body[0].body  # type: ignore[attr-defined]
        for field, below in pairwise(body):
            text = below.value if isinstance(below, ast.Expr) else None
            if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Constant):
                found[field.target.id] = inspect.cleandoc(text.value)  # type: ignore[union-attr]
    return found


def parse(name: str, kind: Any, text: str) -> Any:
    """A value of type `kind` from the command line; tuples are written 256,128."""
    kind = _given(kind)
    try:
        if get_origin(kind) is tuple:
            return tuple(get_args(kind)[0](part) for part in text.split(","))
        if kind in (int, float):
            return kind(text)
    except ValueError as error:
        raise UserError(f"{name}: {text!r} is not {_described(kind)}") from error
    return text


def is_word(kind: Any) -> bool:
    """Whether a value can be written in one word of the command line."""
    return get_origin(_given(kind)) is not dict


def _given(kind: Any) -> Any:
    """Of `X | None`, X."""
    if get_origin(kind) in (Union, types.UnionType):
        return next(option for option in get_args(kind) if option is not type(None))
    return kind


def build(cls: type, values: dict[str, Any]) -> Any:
    """`cls(**values)` with every name and value checked."""
    hints = get_type_hints(cls)
    for name, value in values.items():
        if name not in hints:
            raise UserError(f"{name}: unknown field; allowed are {', '.join(hints)}")
        if not _fits(hints[name], value):
            raise UserError(f"{name}: {value!r} is not {_described(hints[name])}")
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return cls(**values)


def defaults(cls: type) -> dict[str, Any]:
    return {field.name: field.default for field in dataclasses.fields(cls)}


def _fits(kind: Any, value: Any) -> bool:
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is tuple:
        return isinstance(value, (tuple, list)) and all(_fits(get_args(kind)[0], part) for part in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict)
    if get_origin(kind) in (Union, types.UnionType):
        return any(_fits(option, value) for option in get_args(kind))
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return (kind is type(None) and value is None) or (isinstance(kind, type) and isinstance(value, kind))


def _described(kind: Any) -> str:
    kind = _given(kind)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple:
        return "a list of names" if get_args(kind)[0] is str else "numbers with commas between them"
    return {int: "a whole number", float: "a finite number"}.get(kind, str(kind))
