"""The command line: one function per command; the only place that parses or exits."""

import os
import sys

from leads.cli.interruption import INTERRUPTED, one_interruption
from leads.cli.parser import make_parser
from leads.compilation import keep_compiled_programs, use_one_core
from leads.errors import UserError


def main(argv: list[str] | None = None) -> None:
    """Runs a command; bad input is one line on stderr and exit code 2."""
    argv = sys.argv[1:] if argv is None else argv
    use_one_core()
    with one_interruption():
        try:
            if os.getcwd() not in sys.path:  # last, so that a user's files hide no library
                sys.path.append(os.getcwd())
            options = vars(make_parser(argv).parse_args(argv))
            keep_compiled_programs()
            options.pop("command")(**options)
        except (UserError, OSError) as error:
            print(f"leads: {error}", file=sys.stderr)
            sys.exit(2)
        except MemoryError:
            print("leads: there is not enough memory", file=sys.stderr)
            sys.exit(2)
        except KeyboardInterrupt:
            print("leads: interrupted", file=sys.stderr)
            sys.exit(INTERRUPTED)
