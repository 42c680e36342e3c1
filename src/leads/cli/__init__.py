"""The command line: one function a command; the only place that parses or exits."""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, get_args, get_type_hints

from leads.agent import load
from leads.benchmark.benchmark import benchmark
from leads.benchmark.suites import SUITES
from leads.cli.benchmark_progress import BenchmarkProgress
from leads.cli.progress import Progress
from leads.compilation import keep_compiled_programs, use_one_core
from leads.config import fields
from leads.errors import UserError
from leads.methods import METHODS, config_class, host_settings
from leads.report.run.comparison import write_comparison
from leads.report.run.diagnosis import write_diagnosis
from leads.report.run.figures import write_figures
from leads.report.run.film import write_skills
from leads.report.study.write import write_report
from leads.rollouts.noise import Colour
from leads.tasks import TASKS, TaskOptions
from leads.training.run import Run
from leads.training.train import resume, train


def main(argv: list[str] | None = None) -> None:
    """Runs a command; bad input is one line on stderr and exit code 2."""
    argv = sys.argv[1:] if argv is None else argv
    use_one_core()
    try:
        arguments = _parser(argv).parse_args(argv)
        keep_compiled_programs()
        arguments.command(arguments)
    except (UserError, OSError) as error:
        print(f"leads: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("leads: interrupted", file=sys.stderr)
        sys.exit(130)


def train_command(arguments: argparse.Namespace) -> None:
    """Teaches skills and draws what they do."""
    given = {name: value for name, value in vars(arguments).items() if value is not None and name != "command"}
    draw = given.pop("figures")
    how = {name: given.pop(name) for name in ("checkpoint_every", "threads") if name in given}
    others = given.keys() - {"resume", "samples"}
    if arguments.resume is not None and others:
        raise UserError(f"resume: goes with no other option of a run, but got {', '.join(sorted(others))}")
    with Progress() as progress:
        try:
            if arguments.resume is not None:
                directory = resume(arguments.resume, arguments.samples, report=progress, **how)
            else:
                directory = train(report=progress, **how, **given)
        except KeyboardInterrupt:
            if progress.run is not None:
                print(f"leads: continue with: leads train --resume {progress.run}", file=sys.stderr)
            raise
    summary = Run.open(directory).summary()
    print(
        f"{summary['samples']:,} samples in {summary['wall_seconds']:.0f} s: coverage {summary['coverage']:.0f} %, "
        f"skill coverage {summary['skill_coverage']:.0f} %, distinctness {summary['distinctness']:.2f}"
    )
    if draw:
        figures_command(argparse.Namespace(run_dir=directory))


def benchmark_command(arguments: argparse.Namespace) -> None:
    """Does all runs of a suite that are not done yet."""
    options = {name: value for name, value in vars(arguments).items() if value is not None and name != "command"}
    options["out"] = out = arguments.out or Path("runs") / Path(arguments.suite).stem
    with BenchmarkProgress() as progress:
        try:
            standings = benchmark(report=progress, **options)
        except KeyboardInterrupt:
            print("leads: start the same benchmark again to go on where it was", file=sys.stderr)
            raise
    failed = [standing for standing in standings if standing.state == "failed"]
    for standing in failed:
        job, log = standing.job, standing.job.log(out)
        see = f"; see {log}" if job.has_log(out) else ""
        print(f"leads: {job.name} failed: {standing.reason}{see}", file=sys.stderr)
    if failed:
        sys.exit(1)
    print(f"{len(standings)} run{'s' * (len(standings) != 1)} in {out}")


def skills_command(arguments: argparse.Namespace) -> None:
    """Shows where each skill of a run goes."""
    for line in write_skills(
        load(arguments.run_dir), arguments.out or arguments.run_dir / "figures", arguments.episodes, arguments.noise
    ):
        print(line)


def figures_command(arguments: argparse.Namespace) -> None:
    """Draws a run's figures again."""
    for path in write_figures(load(arguments.run_dir)):
        print(f"figure {path}")


def compare_command(arguments: argparse.Namespace) -> None:
    """Draws the skills of several runs on one task beside each other."""
    print(f"figure {write_comparison([load(run_dir) for run_dir in arguments.run_dirs], arguments.out)}")


def diagnose_command(arguments: argparse.Namespace) -> None:
    """Compares the measure that a run has learnt with where its skills really go."""
    for line in write_diagnosis(
        load(arguments.run_dir), arguments.out or arguments.run_dir / "figures", arguments.episodes
    ):
        print(line)


def report_command(arguments: argparse.Namespace) -> None:
    """Makes tables, figures and one page of all runs below a directory."""
    for line in write_report(arguments.directory, arguments.out, arguments.films):
        print(line, flush=True)


def _with_signs(argv: Sequence[str]) -> list[str]:
    """`--low -1,-1` as `--low=-1,-1`, for a list that begins with a minus sign looks like an option."""
    joined: list[str] = []
    for word in argv:
        if joined and joined[-1].startswith("--") and re.match(r"-[\d.]+,", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, and takes no option that is only the beginning of one."""

    def __init__(self, **kwargs: Any):
        super().__init__(allow_abbrev=False, **kwargs)

    def parse_args(self, args: Sequence[str], namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().parse_args(_with_signs(args), namespace)

    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def _parser(argv: list[str]) -> argparse.ArgumentParser:
    parser = _Parser(prog="leads", description="Skills without reward that together explore everywhere.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("train", help=train_command.__doc__, description=train_command.__doc__)
    command.set_defaults(command=train_command)
    command.add_argument(
        "--task", metavar="NAME", help=f"{', '.join(TASKS)}, maze:FILE.json or gym:ID (default maze-hard)"
    )
    command.add_argument("--method", metavar="NAME", help=f"one of {', '.join(METHODS)} (default leads)")
    command.add_argument(
        "--samples", type=_number(int), metavar="N", help="environment steps (default: the task's budget)"
    )
    command.add_argument("--seed", type=_number(int), metavar="N", help="default 0")
    command.add_argument("--out", type=Path, metavar="DIR", help="new run directory (default: one under runs/)")
    command.add_argument(
        "--checkpoint-every", type=_number(int), metavar="N", help="epochs between checkpoints (default 10)"
    )
    command.add_argument(
        "--threads", type=_number(int), metavar="N", help="threads that step simulators; a matter of speed (default 1)"
    )
    command.add_argument("--no-figures", dest="figures", action="store_false", help="draw nothing when done")
    command.add_argument(
        "--resume",
        type=Path,
        metavar="DIR",
        help="continue the run in DIR, whose options are kept; with --samples, to more",
    )
    _add_fields(command.add_argument_group("options of the task"), TaskOptions)
    method = _method_of(argv)
    others = ", ".join(f"{name} {value}" for name, value in host_settings(method).items())
    elsewhere = f"on robots and your own environments other defaults: {others} (docs/methods)" if others else None
    _add_fields(command.add_argument_group(f"fields of {method}", elsewhere), config_class(method))

    command = commands.add_parser("benchmark", help=benchmark_command.__doc__, description=benchmark_command.__doc__)
    command.set_defaults(command=benchmark_command)
    command.add_argument("suite", metavar="SUITE", help=f"{', '.join(SUITES)} or a TOML file")
    command.add_argument("--out", type=Path, metavar="DIR", help="where the runs are (default: runs/SUITE)")
    command.add_argument(
        "--engine", choices=("local", "ray"), help="the cores of this machine (default) or a Ray cluster"
    )
    command.add_argument(
        "--processes", type=_number(int), metavar="N", help="local: runs at the same time (default: one a core)"
    )
    command.add_argument("--address", help="ray: of a running cluster (default: one is started on this machine)")
    command.add_argument(
        "--checkpoint-every", type=_number(int), metavar="N", help="epochs between checkpoints (default 10)"
    )

    command = commands.add_parser("skills", help=skills_command.__doc__, description=skills_command.__doc__)
    command.set_defaults(command=skills_command)
    command.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    command.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: RUN_DIR/figures)")
    command.add_argument(
        "--episodes", type=_number(int), default=20, metavar="N", help="episodes per skill (default 20)"
    )
    command.add_argument(
        "--noise", choices=get_args(Colour), help="colour of the actions' noise (default: that of evaluation)"
    )

    command = commands.add_parser("figures", help=figures_command.__doc__, description=figures_command.__doc__)
    command.set_defaults(command=figures_command)
    command.add_argument("run_dir", type=Path, metavar="RUN_DIR")

    command = commands.add_parser("compare", help=compare_command.__doc__, description=compare_command.__doc__)
    command.set_defaults(command=compare_command)
    command.add_argument("run_dirs", type=Path, nargs="+", metavar="RUN_DIR")
    command.add_argument(
        "--out", type=Path, default=Path("comparison.png"), metavar="FILE", help="the PNG (default comparison.png)"
    )

    command = commands.add_parser("diagnose", help=diagnose_command.__doc__, description=diagnose_command.__doc__)
    command.set_defaults(command=diagnose_command)
    command.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    command.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: RUN_DIR/figures)")
    command.add_argument(
        "--episodes", type=_number(int), default=50, metavar="N", help="episodes per skill (default 50)"
    )

    command = commands.add_parser("report", help=report_command.__doc__, description=report_command.__doc__)
    command.set_defaults(command=report_command)
    command.add_argument("directory", type=Path, metavar="DIR")
    command.add_argument(
        "--out", type=Path, default=Path("report"), metavar="REPORT", help="where to write (default report)"
    )
    films = "first make films of every method's best run on robots, where there are none"
    command.add_argument("--films", action="store_true", help=films)
    return parser


def _method_of(argv: list[str]) -> str:
    """The method whose fields are options: a first look at the arguments."""
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--method", nargs="?", default="leads")
    return first.parse_known_args(argv)[0].method or "leads"


def _add_fields(group: Any, config: type) -> None:
    """An option for every field that can be written in one word."""
    documents, hints = fields.docs(config), get_type_hints(config)
    for name, default in fields.defaults(config).items():
        if not fields.is_word(hints[name]):
            continue
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
        described = documents[name] if default is None else f"{documents[name]} (default {shown})"
        group.add_argument(
            f"--{name.replace('_', '-')}",
            type=_field(name, hints[name]),
            metavar="X",
            help=described.replace("%", "%%"),
        )


def _field(name: str, kind: Any):
    return lambda text: fields.parse(name, kind, text)


def _number(kind: type):
    def parse(text: str):
        try:
            return kind(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from error

    return parse
