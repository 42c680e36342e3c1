"""The training loop: collect, update, evaluate, write it down."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import jax

from leads.compilation import keep_compiled_programs
from leads.config.fields import Positive, at_most, checked, shown
from leads.errors import UserError
from leads.methods.method import Method, targets_of
from leads.rollouts import rollout
from leads.tasks.task import Task
from leads.training import metrics
from leads.training.epoch import EVALUATION_EPISODES, episodes_begun, evaluations, initial_state, phases
from leads.training.faults import check_episodes, check_finite
from leads.training.last_epoch import LastEpoch
from leads.training.memory import check_memory
from leads.training.metrics import Metric, check_computable, find_metrics
from leads.training.run import Run, plain
from leads.training.run_config import RunConfig, run_config
from leads.training.snapshots import Album
from leads.training.timing import Clock

Report = Callable[[dict[str, Any]], None]
"""Called once at the start with {run, epoch, note}, and after every epoch with a dict of metrics, budget and speed."""
MOST_THREADS = 1024
"""Threads that every machine can begin."""


def train(
    task: str | Task = "maze-hard",
    method: Any = "leads",
    seed: int = 0,
    samples: int | None = None,
    out: str | Path | None = None,
    checkpoint_every: int = 10,
    threads: int = 1,
    report: Report | None = None,
    metrics: Iterable[Metric | str] = (),
    **options: Any,
) -> Path:
    """Teaches skills on a task and returns the run directory.

    Args:
        task: A name, `maze:FILE.json`, `gym:ID`, `MODULE:NAME`, or a Task made in Python.
        method: A name, `MODULE:NAME`, or a class that fulfils `Method`.
        seed: Decides everything random.
        samples: Environment steps; by default the task's budget.
        out: New run directory; by default one under runs/.
        checkpoint_every: Epochs between checkpoints.
        threads: Threads that step simulators; they change nothing but the speed.
        report: Called once at the start and after every epoch with a dict of metrics; None is silent.
        metrics: Metrics of your own, or their `MODULE:NAME`.
        **options: Options of the task and of the method.
    """
    config, made = run_config(task, method, seed, samples, options, metrics)
    _check(checkpoint_every, threads, report)
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    default = Path("runs") / f"{config.task_in_paths}-{config.method_in_paths}-seed{config.seed}-{stamp}"
    directory = default if out is None else checked("out", Path, out)
    own = {} if isinstance(method, str) else {"method": method}
    Run(directory).check_unused()
    learner = _Learner.of(config, made, own.get("method"))
    return _continue(Run.create(directory, config, own), config, learner, checkpoint_every, threads, report)


def resume(
    directory: str | Path,
    samples: int | None = None,
    checkpoint_every: int = 10,
    threads: int = 1,
    report: Report | None = None,
    task: Task | None = None,
    method: Any = None,
    metrics: Iterable[Metric | str] = (),
    **parts: Any,
) -> Path:
    """Continues an interrupted run to the same end that it would have had without the interruption.

    Given more `samples` than the run has, it goes on to those as if it had been begun with them.
    What exists only in Python has to be given again: a `task`, a `method`, `metrics`, or parts such as `measure`.
    """
    _check(checkpoint_every, threads, report)
    run = Run.open(checked("directory", Path, directory), {"method": method} | parts)
    config = run.config.longer(samples)
    given = {metric.name: metric for metric in find_metrics(metrics)}
    config = replace(config, metrics=tuple(given.get(metric.name, metric) for metric in config.metrics))
    check_computable(config.metrics)
    learner = _Learner.of(config, config.make_task(task), run.own.get("method"))
    return _continue(run, config, learner, checkpoint_every, threads, report)


def _check(checkpoint_every: int, threads: int, report: Report | None) -> None:
    checked("checkpoint_every", Positive[int], checkpoint_every)
    checked("threads", Annotated[Positive[int], at_most(MOST_THREADS)], threads)
    if report is not None and not callable(report):
        raise UserError(f"report: {shown(report)} is not a function; give one that takes a dict, or None")


@dataclass(frozen=True)
class _Learner:
    """A method on a task with its compiled phases; there is enough memory for it."""

    task: Task
    method: Method
    update: Callable[..., Any]
    evaluate: Callable[..., Any]

    @classmethod
    def of(cls, config: RunConfig, task: Task, own: Any) -> "_Learner":
        method = config.make_method(task, own)
        update, evaluate = phases(task, method, config.metrics)
        check_memory(config, task, method, update, own)
        return cls(task, method, update, evaluate)


def _continue(
    run: Run, config: RunConfig, learner: _Learner, checkpoint_every: int, threads: int, report: Report | None
) -> Path:
    """Trains to the end of `config`, which may be further than that of the run so far."""
    keep_compiled_programs()
    task, method, say = learner.task, learner.method, report or (lambda metrics: None)
    with run.lock(), ExitStack() as opened:
        if run.is_finished and config == run.config:
            return run.directory
        key = jax.random.key(config.seed)
        last = LastEpoch(run, *run.restore(initial_state(task, method, key)))
        run.rewind(last.epoch, config)
        say({"run": str(run.directory), "epoch": last.epoch, "note": task.note})
        collect = opened.enter_context(rollout.collection(task, method, threads))
        fresh = opened.enter_context(rollout.evaluation(task, method, EVALUATION_EPISODES, threads=threads))
        due = evaluations(task, method, config.samples)
        clock, album = Clock(run, config.samples, last.samples), Album(run, task, config.samples)
        opened.enter_context(last.kept())
        while last.samples < config.samples:
            epoch, before = last.epoch + 1, last.state
            keys = jax.random.split(jax.random.fold_in(key, epoch), 3)
            begun = episodes_begun(method, before.method, float(before.episode_length))
            episodes = collect(before.method, keys[0], begun)
            check_episodes(episodes)
            state, learning = learner.update(before, episodes, keys[1])
            check_finite("state", state.method)
            check_finite("metrics", learning)
            samples = int(state.samples)
            rolled = fresh(state.method, keys[2]) if due(last.samples, samples) else None
            if rolled is not None:
                check_episodes(rolled)
            measured, first = learner.evaluate(state, rolled), {"epoch": epoch, "samples": samples}
            numbers = {name: plain(name, value) for name, value in (measured | learning | measured).items()}
            line = first | numbers | first  # what a method calls its own metrics hides none of these
            run.append("metrics.jsonl", line)
            if rolled is not None:
                album.add(epoch, samples, rolled, targets_of(method, state.method))
            timing = clock.tick(epoch, samples)
            last.move_on(epoch, state)
            if epoch == 1 or epoch % checkpoint_every == 0 or samples >= config.samples:
                last.save()
            say(line | timing)
        run.write_summary(_summary(run))
    return run.directory


def _summary(run: Run) -> dict[str, Any]:
    config, last, timing = run.config, run.metrics()[-1], run.read_lines("timing.jsonl")
    numbers = ("samples", *metrics.COMPUTED, *(metric.name for metric in config.metrics))
    return {
        **{name: getattr(config, name) for name in ("method", "task", "seed")},
        "on_wall": config.task_options.get("on_wall", ""),
        **{name: last[name] for name in numbers},
        "epochs": last["epoch"],
        "cpu_seconds": timing[-1]["cpu_seconds"],
        "wall_seconds": timing[-1]["wall_seconds"],
        "peak_rss_mb": max(line["peak_rss_mb"] for line in timing),
    }
