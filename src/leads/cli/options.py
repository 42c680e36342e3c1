"""Options of the command line: from the fields of configs, and those that commands share."""

import argparse
import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leads.config.fields import Field, fields, is_word, parse, placeholder
from leads.errors import UserError


def words(argv: list[str]) -> dict[str, str]:
    """Options and their values, before it is known which there are: that depends on the method and parts chosen."""
    found = {}
    for word, following in zip(argv, [*argv[1:], "-"], strict=True):
        name, equals, value = word.partition("=")
        if name.startswith("--") and (equals or not following.startswith("-")):
            found[name.removeprefix("--").replace("-", "_")] = value if equals else following
    return found


def add_fields(parser: Any, title: str, config: type, given: Mapping[str, str], description: str | None = None) -> None:
    """One option per field of a config, and then those of the parts that `given` chooses."""
    known, group = fields(config, given), parser.add_argument_group(title, description)
    own = {field.name: known[field.name] for field in dataclasses.fields(config)}
    for name, field in own.items():
        if is_word(field.kind):
            _add_field(group, name, field)
    for name, field in own.items():
        if field.registry is not None:
            part = given.get(name, field.default)
            add_fields(parser, f"options of --{name} {part}", field.registry.find(part).Config, given)


def _add_field(group: Any, name: str, field: Field) -> None:
    notes = [] if field.registry is None else [f"{', '.join(field.registry)} or MODULE:NAME"]
    if field.default is not None or "none" in field.doc:  # elsewhere None only stands for "not given"
        notes.append(f"default {_as_typed(field.default)}")
    try:
        add(group, name, field.kind, _with_notes(field.doc.removesuffix("."), notes))
    except argparse.ArgumentError as error:
        raise UserError(f"{name}: is the name of another option; rename the field") from error


def _with_notes(line: str, notes: list[str]) -> str:
    """In the brackets that a line ends with, or in new ones."""
    if not notes:
        return line
    bracket = re.search(r" \(([^()]*)\)$", line)
    before, inside = (line[: bracket.start()], [bracket[1]]) if bracket else (line, [])
    return f"{before} ({'; '.join([*inside, *notes])})"


def _as_typed(value: Any) -> str:
    """A value as `parse` reads it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def add(parser: Any, name: str, kind: Any, line: str, metavar: str | None = None, **more: Any) -> None:
    """An option with a value of this kind."""
    parser.add_argument(
        f"--{name.replace('_', '-')}",
        type=lambda text: parse(name, kind, text),
        metavar=metavar or placeholder(kind),
        help=line.replace("%", "%%"),
        **more,
    )


def add_run(parser: Any, episodes: int) -> None:
    """A run, fresh episodes of it, and where to write what they show."""
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="Run directory")
    line = "Directory to write to (default RUN_DIR/figures)"
    parser.add_argument("--out", type=Path, default=None, metavar="DIR", help=line)
    add(parser, "episodes", int, f"Episodes per skill (default {episodes})", default=episodes)
