"""`leads train`."""

import argparse
import sys
from inspect import signature
from pathlib import Path
from typing import Any

from leads.cli import figures
from leads.cli.options import add, add_fields, words
from leads.cli.progress import Progress
from leads.errors import UserError
from leads.methods import METHODS, host_settings
from leads.tasks import TASKS, TaskOptions
from leads.training.metrics import headline
from leads.training.run import Run
from leads.training.train import resume, train

DEFAULTS = {name: parameter.default for name, parameter in signature(train).parameters.items()}


def add_options(parser: argparse.ArgumentParser, argv: list[str]) -> None:
    """Those of a run, of tasks, and of the method that `argv` chooses."""
    parser.usage = "leads train [options]"
    tasks, methods = ", ".join(TASKS), ", ".join(METHODS)
    for name, kind, metavar, line in (
        ("task", str, "NAME", f"{tasks}, maze:FILE.json, gym:ID or MODULE:NAME (default {DEFAULTS['task']})"),
        ("method", str, "NAME", f"{methods} or MODULE:NAME (default {DEFAULTS['method']})"),
        ("samples", int, "N", "Environment steps (default: the task's budget)"),
        ("seed", int, "N", f"Decides everything random (default {DEFAULTS['seed']})"),
        ("metrics", tuple[str, ...], "MODULE:NAME,...", "Metrics of your own, computed beside the others"),
        ("checkpoint_every", int, "N", f"Epochs between checkpoints (default {DEFAULTS['checkpoint_every']})"),
        ("threads", int, "N", f"Threads that step simulators, for speed only (default {DEFAULTS['threads']})"),
    ):
        add(parser, name, kind, line, metavar)
    parser.add_argument("--out", type=Path, metavar="DIR", help="New run directory (default: one under runs/)")
    parser.add_argument("--no-figures", dest="figures", action="store_false", help="Draw nothing at the end")
    line = "Continue the run in DIR with its own options; with --samples, to more samples"
    parser.add_argument("--resume", type=Path, metavar="DIR", help=line)
    given = words(argv)
    method = given.get("method", DEFAULTS["method"])
    add_fields(parser, "options of the task", TaskOptions, given)
    others = ", ".join(f"{name} {value}" for name, value in host_settings(method).items())
    elsewhere = f"Defaults on robots and on your own environments: {others} (docs/methods)" if others else None
    add_fields(parser, f"options of --method {method}", METHODS.find(method).Config, given, elsewhere)


def run(arguments: argparse.Namespace) -> None:
    given = {name: value for name, value in vars(arguments).items() if name != "command"}
    draw, begun = given.pop("figures", True), given.pop("resume", None)
    with Progress() as progress:
        try:
            directory = train(report=progress, **given) if begun is None else _resume(begun, given, progress)
        except KeyboardInterrupt:
            if progress.run is not None:
                print(f"leads: continue with: leads train --resume {progress.run}", file=sys.stderr)
            raise
    summary = Run.open(directory).summary()
    print(f"{summary['samples']:,} samples in {summary['wall_seconds']:.0f} s: {headline(summary)}")
    if draw:
        figures.draw(directory)


def _resume(directory: Path, given: dict[str, Any], progress: Progress) -> Path:
    others = given.keys() - {"samples", "checkpoint_every", "threads"}
    if others:
        raise UserError(f"resume: goes with no other option of a run, but got {', '.join(sorted(others))}")
    return resume(directory, report=progress, **given)
