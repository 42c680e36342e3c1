"""`leads figures`."""

import argparse
from pathlib import Path

import leads


def add_options(parser: argparse.ArgumentParser, argv: list[str]) -> None:
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="Run directory")


def run(arguments: argparse.Namespace) -> None:
    draw(arguments.run_dir)


def draw(run_dir: Path) -> None:
    """Draws a run and names the files."""
    with leads.load(run_dir) as agent:
        for path in leads.write_figures(agent):
            print(f"figure {path}")
