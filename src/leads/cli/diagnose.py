"""`leads diagnose`."""

import argparse
from collections.abc import Sequence
from typing import Any

import leads
from leads.cli.options import add_run
from leads.report.run.diagnosis import write_diagnosis


def add_options(parser: Any, argv: Sequence[str]) -> None:
    add_run(parser, episodes=50)


def run(arguments: argparse.Namespace) -> None:
    out = arguments.out or arguments.run_dir / "figures"
    with leads.load(arguments.run_dir) as agent:
        for line in write_diagnosis(agent, out, arguments.episodes):
            print(line)
