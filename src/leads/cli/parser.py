"""The parser: all commands, and the options of the one that is called, from a table and from the fields of configs."""

import argparse
import dataclasses
import re
from importlib import import_module, metadata
from typing import Any, NoReturn

from leads.config.fields import Field, fields, parse, placeholder
from leads.errors import UserError

COMMANDS = {
    "train": "Teach skills on a task and draw them.",
    "benchmark": "Do all runs of a suite that are not done yet.",
    "skills": "Roll out every skill of a run and film it.",
    "figures": "Draw a run's figures again.",
    "compare": "Draw the skills of several runs on one task side by side.",
    "diagnose": "Compare the measure that a run has learnt with where its skills really go.",
    "report": "Make tables, figures and one page of all runs below a directory.",
}
"""Name -> help. Each is a function in commands.py, which is imported when one is called, as JAX takes seconds."""


class Parser(argparse.ArgumentParser):
    """Raises a UserError, takes no abbreviated options, and leaves out of the namespace what was not given."""

    def __init__(self, **kwargs: Any):
        super().__init__(allow_abbrev=False, argument_default=argparse.SUPPRESS, **kwargs)
        self._negative_number_matcher = re.compile(r"-[\d.]")  # lists as well: --low -1,-8

    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def make_parser(argv: list[str]) -> Parser:
    """Has all commands, and the options of the one that `argv` calls."""
    parser = Parser(prog="leads", description="Skills without reward that together explore everywhere.")
    parser.add_argument("--version", action="version", version=f"leads {metadata.version('leads')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    called = next((word for word in argv if not word.startswith("-")), None)
    for name, line in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=line)
        if name == called:
            module = import_module("leads.cli.commands")
            module.add_options(name, command, words(argv))
            command.set_defaults(command=getattr(module, name))
    return parser


def words(argv: list[str]) -> dict[str, str]:
    """Options and their values, before it is known which there are: that depends on the method and parts chosen."""
    found = {}
    for word, following in zip(argv, [*argv[1:], "-"], strict=True):
        name, equals, value = word.partition("=")
        if name.startswith("--") and (equals or not following.startswith("-")):
            found[name.removeprefix("--").replace("-", "_")] = value if equals else following
    return found


def add(parser: Any, name: str, kind: Any, line: str, metavar: str = "", nargs: str | None = None) -> None:
    """An argument, an option if its name has dashes, or a flag if it has no kind."""
    field = name.removeprefix("--").replace("-", "_")
    value = {"type": lambda text: parse(field, kind, text), "metavar": metavar or placeholder(kind), "nargs": nargs}
    parser.add_argument(name, help=line.replace("%", "%%"), **({"action": "store_true"} if kind is None else value))


def add_fields(parser: Any, title: str, config: type, given: dict[str, str], description: str | None = None) -> None:
    """One option per field of a config, and then those of the parts that `given` chooses."""
    known, group = fields(config, given), parser.add_argument_group(title, description)
    for name in [field.name for field in dataclasses.fields(config)]:
        field = known[name]
        if placeholder(field.kind):
            _add_field(group, name, field)
        if field.registry is not None:
            part = given.get(name, field.default)
            add_fields(parser, f"options of --{name} {part}", field.registry.find(part).Config, given)


def _add_field(group: Any, name: str, field: Field) -> None:
    """With what there is to know of it in the brackets that its line of documentation ends with, or in new ones."""
    line, *notes = re.split(r" \(([^()]*)\)$", field.doc.removesuffix("."))[:2]
    if field.registry is not None:
        notes.append(f"{', '.join(field.registry)} or MODULE:NAME")
    if field.default is not None or "none" in field.doc:  # elsewhere None only stands for "not given"
        notes.append(f"default {_as_typed(field.default)}")
    line = f"{line} ({'; '.join(notes)})" if notes else line
    try:
        add(group, f"--{name.replace('_', '-')}", field.kind, line)
    except argparse.ArgumentError as error:
        raise UserError(f"{name}: is the name of another option; rename the field") from error


def _as_typed(value: Any) -> str:
    """A value as `parse` reads it."""
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
