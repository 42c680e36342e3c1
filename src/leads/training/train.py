"""The training loop: collect, update, evaluate, write it down."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from leads.compilation import keep_compiled_programs
from leads.config.fields import Positive, checked
from leads.methods.method import Method, targets_of
from leads.rollouts import rollout
from leads.tasks.task import Task
from leads.training import checkpoint, grid, metrics
from leads.training.faults import check_finite
from leads.training.metrics import Metric, check_computable, find_metrics
from leads.training.run import Run, plain
from leads.training.run_config import RunConfig, run_config
from leads.training.snapshots import Album
from leads.training.timing import Clock

Report = Callable[[dict[str, Any]], None]
"""Called once at the start with {run, epoch, note}, and after every epoch with a dict of metrics, budget and speed."""

EVALUATION_EPISODES = 20
"""Fresh episodes per skill from which the metrics of skills are computed."""
HOST_EVALUATION = 2
"""Training steps per evaluation step on the host, where a fresh step costs as much as one to learn from."""


class TrainState(eqx.Module):
    """Everything that training changes; with the seed it determines all that follows."""

    method: Any
    visited: Bool[Array, " cell"]
    visited_fine: Bool[Array, " fine_cell"]
    samples: Int[Array, ""]


def train(
    task: str | Task = "maze-hard",
    method: Any = "leads",
    seed: int = 0,
    samples: int | None = None,
    out: str | Path | None = None,
    checkpoint_every: int = 10,
    threads: int = 1,
    report: Report = lambda metrics: None,
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
        report: Called once at the start and after every epoch with a dict of metrics.
        metrics: Metrics of your own, or their `MODULE:NAME`.
        **options: Options of the task and of the method.
    """
    config, made = run_config(task, method, seed, samples, options, metrics)
    _check(checkpoint_every, threads)
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    default = Path("runs") / f"{config.task_in_paths}-{config.method_in_paths}-seed{seed}-{stamp}"
    own = {} if isinstance(method, str) else {"method": method}
    run = Run.create(default if out is None else Path(out), config, own)
    return _continue(run, config, made, checkpoint_every, threads, report)


def resume(
    directory: str | Path,
    samples: int | None = None,
    checkpoint_every: int = 10,
    threads: int = 1,
    report: Report = lambda metrics: None,
    task: Task | None = None,
    method: Any = None,
    metrics: Iterable[Metric | str] = (),
    **parts: Any,
) -> Path:
    """Continues an interrupted run to the same end that it would have had without the interruption.

    Given more `samples` than the run has, it goes on to those as if it had been begun with them.
    What exists only in Python has to be given again: a `task`, a `method`, `metrics`, or parts such as `measure`.
    """
    _check(checkpoint_every, threads)
    run = Run.open(Path(directory), {"method": method} | parts)
    config = run.config.longer(samples)
    given = {metric.name: metric for metric in find_metrics(metrics)}
    config = replace(config, metrics=tuple(given.get(metric.name, metric) for metric in config.metrics))
    check_computable(config.metrics)
    return _continue(run, config, config.make_task(task), checkpoint_every, threads, report)


def _check(checkpoint_every: int, threads: int) -> None:
    for name, value in (("checkpoint_every", checkpoint_every), ("threads", threads)):
        checked(name, Positive[int], value)


def _continue(run: Run, config: RunConfig, task: Task, checkpoint_every: int, threads: int, report: Report) -> Path:
    """Trains to the end of `config`, which may be further than that of the run so far."""
    keep_compiled_programs()
    method = config.make_method(task, run.own.get("method"))
    with run.lock(), ExitStack() as opened:
        if run.is_finished and config == run.config:
            return run.directory
        key = jax.random.key(config.seed)
        saved, state = run.restore(initial_state(task, method, key))
        epoch = saved
        run.rewind(epoch, config)
        report({"run": str(run.directory), "epoch": epoch, "note": task.note})
        collect = opened.enter_context(rollout.collection(task, method, threads))
        fresh = opened.enter_context(rollout.evaluation(task, method, EVALUATION_EPISODES, threads=threads))
        update, evaluate = phases(task, method, config.metrics)
        due = evaluations(task, method, config.samples)
        clock, album = Clock(run, config.samples, int(state.samples)), Album(run, task, config.samples)
        while state.samples < config.samples:
            epoch += 1
            keys = jax.random.split(jax.random.fold_in(key, epoch), 3)
            episodes, before = collect(state.method, keys[0]), state.samples
            check_finite(epoch, "episodes", episodes, saved)
            state, learning = update(state, episodes, keys[1])
            check_finite(epoch, "state", state.method, saved)
            shown = fresh(state.method, keys[2]) if due(int(before), int(state.samples)) else None
            measured, first = evaluate(state, shown), {"epoch": epoch, "samples": int(state.samples)}
            numbers = {name: plain(name, value) for name, value in (measured | learning | measured).items()}
            line = first | numbers | first  # what a method calls its own metrics hides none of these
            run.append("metrics.jsonl", line)
            if shown is not None:
                album.add(epoch, int(state.samples), shown, targets_of(method, state.method))
            timing = clock.tick(epoch, int(state.samples))
            if epoch % checkpoint_every == 0 or state.samples >= config.samples:
                checkpoint.save(run.checkpoints, epoch, state)
                saved = epoch
            report(line | timing)
        run.write_summary(_summary(run))
    return run.directory


def evaluations(task: Task, method: Method, budget: int) -> Callable[[int, int], bool]:
    """Whether an epoch that took the samples from one number to another ends with fresh episodes; the last one does.

    On the host, where episodes are dear, not every epoch does, and of what learns nothing only the last.
    """
    if task.step_cost == "device":
        return lambda before, samples: True
    if not method.learns:
        return lambda before, samples: samples >= budget
    every = HOST_EVALUATION * method.config.n_skill * EVALUATION_EPISODES * task.horizon
    return lambda before, samples: samples >= budget or samples // every > before // every


def initial_state(task: Task, method: Method, key: PRNGKeyArray) -> TrainState:
    """The state before the first epoch."""
    return TrainState(
        method=jax.tree.map(jnp.asarray, method.init(jax.random.fold_in(key, 0))),
        visited=jnp.zeros(grid.n_cells(task, task.bins), bool),
        visited_fine=jnp.zeros(grid.n_cells(task, task.fine_bins), bool),
        samples=jnp.int32(0),
    )


def phases(task: Task, method: Method, extra: Iterable[Metric] = ()):
    """(update, evaluate) of one epoch, compiled.

    `update(state, episodes, key)` gives (state, metrics of learning); `evaluate(state, fresh episodes or None)` gives
    the registry's metrics.
    """

    @jax.jit
    def update(state: TrainState, episodes, key):
        learnt, learning = method.update(state.method, episodes, key)
        return TrainState(
            method=learnt,
            visited=grid.visit(task, episodes, state.visited, task.bins),
            visited_fine=grid.visit(task, episodes, state.visited_fine, task.fine_bins),
            samples=state.samples + episodes.samples(),
        ), learning | {"episode_length": jnp.mean(episodes.lengths)}

    @jax.jit
    def evaluate(state: TrainState, episodes):
        targets = targets_of(method, state.method)
        return metrics.compute(extra, metrics.Evaluation(task, state.visited, state.visited_fine, episodes, targets))

    return update, evaluate


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
