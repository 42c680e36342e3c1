"""`leads diagnose`."""

import argparse

import leads
from leads.cli.options import add_run
from leads.report.run.diagnosis import write_diagnosis


def add_options(parser: argparse.ArgumentParser, argv: list[str]) -> None:
    add_run(parser, episodes=50)


def run(arguments: argparse.Namespace) -> None:
    out = arguments.out or arguments.run_dir / "figures"
    with leads.load(arguments.run_dir) as agent:
        for line in write_diagnosis(agent, out, arguments.episodes):
            print(line)
