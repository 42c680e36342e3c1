"""`leads report`."""

import argparse
from pathlib import Path

from leads.report.study.write import write_report


def add_options(parser: argparse.ArgumentParser, argv: list[str]) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="Directory with runs anywhere below it")
    line = "Directory to write to (default report)"
    parser.add_argument("--out", type=Path, default=Path("report"), metavar="REPORT", help=line)
    line = "First film every method's best run on robots, where there is no film yet"
    parser.add_argument("--films", action="store_true", default=False, help=line)


def run(arguments: argparse.Namespace) -> None:
    for line in write_report(arguments.directory, arguments.out, arguments.films):
        print(line, flush=True)
