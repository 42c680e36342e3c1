"""`leads compare`."""

import argparse
from contextlib import ExitStack
from pathlib import Path

import leads
from leads.report.run.comparison import write_comparison


def add_options(parser: argparse.ArgumentParser, argv: list[str]) -> None:
    parser.add_argument("run_dirs", type=Path, nargs="+", metavar="RUN_DIR", help="Run directories, in this order")
    line = "PNG to write; a PDF goes beside it (default comparison.png)"
    parser.add_argument("--out", type=Path, default=Path("comparison.png"), metavar="FILE", help=line)


def run(arguments: argparse.Namespace) -> None:
    with ExitStack() as opened:
        agents = [opened.enter_context(leads.load(run_dir)) for run_dir in arguments.run_dirs]
        print(f"figure {write_comparison(agents, arguments.out)}")
