"""The parser of all commands. Only the command that is called is imported, as JAX and Matplotlib take seconds."""

import argparse
import re
from collections.abc import Sequence
from importlib import import_module, metadata
from typing import Any, NoReturn

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
"""Name -> help. Each is a module of this package with `add_options(parser, argv)` and `run(arguments)`."""


class Parser(argparse.ArgumentParser):
    """Raises a UserError, takes no abbreviated options, and leaves out of the namespace what was not given."""

    def __init__(self, **kwargs: Any):
        super().__init__(allow_abbrev=False, argument_default=argparse.SUPPRESS, **kwargs)

    def parse_args(self, args: Sequence[str], namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().parse_args(_with_signs(args), namespace)

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
            module = import_module(f"leads.cli.{name}")
            module.add_options(command, argv)
            command.set_defaults(command=module.run)
    return parser


def _with_signs(argv: Sequence[str]) -> list[str]:
    """`--low -1,-1` as `--low=-1,-1`: a list that begins with a minus sign looks like an option."""
    joined: list[str] = []
    for word in argv:
        if joined and joined[-1].startswith("--") and re.match(r"-[\d.]+,", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined
