"""`leads skills`."""

import argparse

import leads
from leads.cli.options import add, add_run
from leads.report.run.film import write_skills
from leads.rollouts.noise import Colour


def add_options(parser: argparse.ArgumentParser, argv: list[str]) -> None:
    add_run(parser, episodes=20)
    add(parser, "noise", Colour, "Colour of the action noise (default: that of evaluation)", default=None)


def run(arguments: argparse.Namespace) -> None:
    out = arguments.out or arguments.run_dir / "figures"
    with leads.load(arguments.run_dir) as agent:
        for line in write_skills(agent, out, arguments.episodes, arguments.noise):
            print(line)
