"""The commands: one function each, with the options in OPTIONS as arguments. Those that draw import Matplotlib."""

import sys
from contextlib import ExitStack
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any, Literal

import leads
from leads.benchmark.benchmark import benchmark as do_runs
from leads.benchmark.suites import SUITES
from leads.cli.parser import add, add_fields
from leads.cli.progress import BenchmarkProgress, Progress
from leads.errors import UserError
from leads.methods import METHODS, host_settings, shipped_parts
from leads.rollouts.noise import Colour
from leads.tasks import TASKS, TaskOptions, step_cost
from leads.training.metrics import headline
from leads.training.run import Run


def train(no_figures: bool = False, resume: Path | None = None, **given: Any) -> None:
    others = given.keys() - {"samples", "checkpoint_every", "threads"}
    if resume is not None and others:
        raise UserError(f"resume: goes with no other option of a run, but got {', '.join(sorted(others))}")
    do_run = leads.train if resume is None else partial(leads.resume, resume)
    with Progress() as progress:
        try:
            directory = do_run(report=progress, **given)
        except KeyboardInterrupt:
            if progress.run is not None:
                print(f"leads: continue with: leads train --resume {progress.run}", file=sys.stderr)
            raise
    summary = Run.open(directory).summary()
    print(f"{summary['samples']:,} samples in {summary['wall_seconds']:.0f} s: {headline(summary)}")
    if not no_figures:
        figures(directory)


def benchmark(suite: str, out: Path | None = None, **options: Any) -> None:
    out = out or Path("runs") / Path(suite).stem
    with BenchmarkProgress() as progress:
        try:
            standings = do_runs(suite, out, report=progress, **options)
        except KeyboardInterrupt:
            print("leads: run the same command again to continue", file=sys.stderr)
            raise
    failed = [s for s in standings if s.state == "failed"]
    for s in failed:
        see = f"; see {s.job.log(out)}" if s.job.has_log(out) else ""
        print(f"leads: {s.job.name} failed: {s.reason}{see}", file=sys.stderr)
    if failed:
        sys.exit(1)
    print(f"{len(standings)} run{'s' * (len(standings) != 1)} in {out}")


def skills(run_dir: Path, out: Path | None = None, episodes: int = 20, noise: Colour | None = None) -> None:
    from leads.report.run.skills import write_skills

    with leads.load(run_dir) as agent:
        print(*write_skills(agent, out or run_dir / "figures", episodes, noise), sep="\n")


def figures(run_dir: Path) -> None:
    with leads.load(run_dir) as agent:
        for path in leads.write_figures(agent):
            print(f"figure {path}")


def compare(run_dirs: list[Path], out: Path = Path("comparison.png")) -> None:
    from leads.report.run.figures import write_comparison

    with ExitStack() as opened:
        agents = [opened.enter_context(leads.load(run_dir)) for run_dir in run_dirs]
        print(f"figure {write_comparison(agents, out)}")


def diagnose(run_dir: Path, out: Path | None = None, episodes: int = 50) -> None:
    from leads.report.run.diagnosis import write_diagnosis

    with leads.load(run_dir) as agent:
        print(*write_diagnosis(agent, out or run_dir / "figures", episodes), sep="\n")


def report(directory: Path, out: Path = Path("report"), films: bool = False) -> None:
    from leads.report.study.write import write_report

    for line in write_report(directory, out, films):
        print(line, flush=True)


def _defaults(function: Any) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in signature(function).parameters.items()}


OF_TRAIN = _defaults(leads.train)
RUN_DIR = ("run_dir", Path, "Run directory", "RUN_DIR")
OUT = ("--out", Path, "Directory to write to (default RUN_DIR/figures)", "DIR")
OPTIONS: dict[str, list[tuple]] = {
    "train": [
        ("--task", str, f"{', '.join(TASKS)}, maze:FILE.json, gym:ID or MODULE:NAME (default {OF_TRAIN['task']})"),
        ("--method", str, f"{', '.join(METHODS)} or MODULE:NAME (default {OF_TRAIN['method']})"),
        ("--samples", int, "Environment steps (default: the task's budget)"),
        ("--seed", int, f"Decides everything random (default {OF_TRAIN['seed']})"),
        ("--metrics", tuple[str, ...], "Metrics of your own, computed beside the others", "MODULE:NAME,..."),
        ("--checkpoint-every", int, f"Epochs between checkpoints (default {OF_TRAIN['checkpoint_every']})"),
        ("--threads", int, f"Threads that step simulators, for speed only (default {OF_TRAIN['threads']})"),
        ("--out", Path, "New run directory (default: one under runs/)", "DIR"),
        ("--no-figures", None, "Draw nothing at the end"),
        ("--resume", Path, "Continue the run in DIR with its own options; with --samples, to more samples", "DIR"),
    ],
    "benchmark": [
        ("suite", str, f"{', '.join(SUITES)} or a TOML file", "SUITE"),
        ("--out", Path, "Directory of the runs (default runs/SUITE)", "DIR"),
        ("--engine", Literal["local", "ray"], "The cores of this machine (default), or a Ray cluster"),
        ("--processes", int, "Local: runs at the same time (default: one per core)"),
        ("--address", str, "Ray: HOST:PORT of a running cluster (default: one started on this machine)", "HOST:PORT"),
        ("--checkpoint-every", int, f"Epochs between checkpoints (default {_defaults(do_runs)['checkpoint_every']})"),
    ],
    "skills": [
        RUN_DIR,
        OUT,
        ("--episodes", int, f"Episodes per skill (default {_defaults(skills)['episodes']})"),
        ("--noise", Colour, "Colour of the action noise (default: that of evaluation)"),
    ],
    "figures": [RUN_DIR],
    "compare": [
        ("run_dirs", Path, "Run directories, in this order", "RUN_DIR", "+"),
        ("--out", Path, "PNG to write; a PDF goes beside it (default comparison.png)", "FILE"),
    ],
    "diagnose": [RUN_DIR, OUT, ("--episodes", int, f"Episodes per skill (default {_defaults(diagnose)['episodes']})")],
    "report": [
        ("directory", Path, "Directory with runs anywhere below it", "DIR"),
        ("--out", Path, "Directory to write to (default report)", "REPORT"),
        ("--films", None, "First film every method's best run on robots, where there is no film yet"),
    ],
}
"""Command -> the name of each option, the kind of its value, its help, and what stands for its value there."""


def add_options(command: str, parser: Any, given: dict[str, str]) -> None:
    """Those in OPTIONS; `train` also has the fields of tasks, and of the method and the parts that `given` chooses."""
    for option in OPTIONS[command]:
        add(parser, *option)
    if command == "train":
        parser.usage = "leads train [options]"
        add_fields(parser, "options of the task", TaskOptions, given)
        method = given.get("method", OF_TRAIN["method"])
        task = str(given.get("task", OF_TRAIN["task"]))
        given = shipped_parts(method, task, step_cost(task) or "cheap", given) | given
        others = ", ".join(f"{name} {value}" for name, value in host_settings(method, given).items())
        elsewhere = f"Defaults on robots and on your own environments: {others} (docs/methods)" if others else None
        add_fields(parser, f"options of --method {method}", METHODS.find(method).Config, given, elsewhere)
