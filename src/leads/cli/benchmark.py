"""`leads benchmark`."""

import argparse
import sys
from inspect import signature
from pathlib import Path

from leads.benchmark.benchmark import benchmark
from leads.benchmark.suites import SUITES
from leads.cli.benchmark_progress import BenchmarkProgress
from leads.cli.options import add


def add_options(parser: argparse.ArgumentParser, argv: list[str]) -> None:
    parser.add_argument("suite", metavar="SUITE", help=f"{', '.join(SUITES)} or a TOML file")
    parser.add_argument("--out", type=Path, metavar="DIR", help="Directory of the runs (default runs/SUITE)")
    parser.add_argument(
        "--engine", choices=("local", "ray"), help="The cores of this machine (default), or a Ray cluster"
    )
    add(parser, "processes", int, "Local: runs at the same time (default: one per core)")
    line = "Ray: HOST:PORT of a running cluster (default: one is started on this machine)"
    add(parser, "address", str, line, "HOST:PORT")
    default = signature(benchmark).parameters["checkpoint_every"].default
    add(parser, "checkpoint_every", int, f"Epochs between checkpoints (default {default})")


def run(arguments: argparse.Namespace) -> None:
    options = {name: value for name, value in vars(arguments).items() if name != "command"}
    out = options.setdefault("out", Path("runs") / Path(arguments.suite).stem)
    with BenchmarkProgress() as progress:
        try:
            standings = benchmark(report=progress, **options)
        except KeyboardInterrupt:
            print("leads: run the same command again to continue", file=sys.stderr)
            raise
    failed = [standing for standing in standings if standing.state == "failed"]
    for standing in failed:
        job = standing.job
        see = f"; see {job.log(out)}" if job.has_log(out) else ""
        print(f"leads: {job.name} failed: {standing.reason}{see}", file=sys.stderr)
    if failed:
        sys.exit(1)
    print(f"{len(standings)} run{'s' * (len(standings) != 1)} in {out}")
