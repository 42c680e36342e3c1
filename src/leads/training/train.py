"""The training loop: collect, update, evaluate, write it down."""

import resource
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from leads.compilation import keep_compiled_programs
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.methods.method import Method
from leads.rollouts import on_device, on_host
from leads.rollouts.noise import Colour
from leads.tasks.task import Task
from leads.training import checkpoint, evaluation
from leads.training.run import Run, RunConfig, plain, run_config
from leads.training.snapshots import Album

Report = Callable[[dict[str, Any]], None]
"""Told of the start, {run, epoch, note}, and of every epoch: metrics, budget, samples_per_second and seconds_left."""

HOST_EVALUATION = 2
"""Steps of training for each of evaluation on the host, where fresh steps cost as much as those for learning."""

Rollout = Callable[[Any, PRNGKeyArray], Episodes]
"""(method's state, key) -> Episodes of all skills."""


class TrainState(eqx.Module):
    """Everything that training changes; with the seed it determines all that follows."""

    method: Any
    visited: Bool[Array, " cell"]
    visited_fine: Bool[Array, " fine_cell"]
    samples: Int[Array, ""]


def train(
    task: str | Task = "maze-hard",
    method: str = "leads",
    seed: int = 0,
    samples: int | None = None,
    out: str | Path | None = None,
    checkpoint_every: int = 10,
    threads: int = 1,
    report: Report = lambda metrics: None,
    **fields: Any,
) -> Path:
    """Teaches skills on a task, named or made in Python, and returns the run directory.

    `fields` are options of the task and fields of the method's config. `threads` step simulators, and change nothing
    but the speed.
    """
    config, made = run_config(task, method, seed, samples, fields)
    _check(checkpoint_every, threads)
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    default = Path("runs") / f"{config.task_in_paths}-{method}-seed{seed}-{stamp}"
    directory = default if out is None else Path(out)
    return _continue(Run.create(directory, config), config, made, checkpoint_every, threads, report)


def resume(
    directory: str | Path,
    samples: int | None = None,
    checkpoint_every: int = 10,
    threads: int = 1,
    report: Report = lambda metrics: None,
    task: Task | None = None,
) -> Path:
    """Continues an interrupted run to the same end that it would have had without the interruption.

    Given more `samples` than the run has, it goes on to those as if it had been begun with them.
    A `task` that was made in Python has to be given again.
    """
    _check(checkpoint_every, threads)
    run = Run.open(Path(directory))
    config = run.longer_config(samples)
    return _continue(run, config, config.make_task(task), checkpoint_every, threads, report)


def _check(checkpoint_every: int, threads: int) -> None:
    for name, value in (("checkpoint_every", checkpoint_every), ("threads", threads)):
        if value <= 0:
            raise UserError(f"{name}: {value} is not allowed; give a number above 0")


def _continue(run: Run, config: RunConfig, task: Task, checkpoint_every: int, threads: int, report: Report) -> Path:
    """Trains to the end of `config`, which may be further than that of the run so far."""
    keep_compiled_programs()
    method = config.make_method(task)
    with run.lock():
        if run.is_finished and config == run.config():
            return run.directory
        key = jax.random.key(config.seed)
        epoch, state = run.restore(initial_state(task, method, key))
        run.rewind(epoch, config)
        report({"run": str(run.directory), "epoch": epoch, "note": task.note})
        collect, update, evaluate = phases(task, method, threads)
        due = evaluations(task, method, config.samples)
        clock, album = Clock(run, config.samples, int(state.samples)), Album(run, task, config.samples)
        while state.samples < config.samples:
            epoch += 1
            keys = jax.random.split(jax.random.fold_in(key, epoch), 3)
            episodes, before = collect(state.method, keys[0]), state.samples
            state, learning = update(state, episodes, keys[1])
            metrics, shown = evaluate(state, keys[2] if due(int(before), int(state.samples)) else None)
            numbers = {k: plain(v) for k, v in (metrics | learning).items()}
            line = {"epoch": epoch, "samples": int(state.samples)} | numbers
            run.append("metrics.jsonl", line)
            if shown is not None:
                album.add(epoch, int(state.samples), shown, method.targets(state.method))
            timing = clock.tick(epoch, int(state.samples))
            if epoch % checkpoint_every == 0 or state.samples >= config.samples:
                checkpoint.save(run.checkpoints, epoch, state)
            report(line | timing)
        run.write_summary(_summary(run))
    return run.directory


def evaluations(task: Task, method: Method, budget: int) -> Callable[[int, int], bool]:
    """Whether an epoch that took the samples from one number to another ends with fresh episodes; the last one does.

    On the host, where episodes are dear, not every epoch does, and of what learns nothing only the last.
    """
    if task.step is not None:
        return lambda before, samples: True
    if not method.learns:
        return lambda before, samples: samples >= budget
    every = HOST_EVALUATION * method.config.n_skill * evaluation.EVALUATION_EPISODES * task.horizon
    return lambda before, samples: samples >= budget or samples // every > before // every


def initial_state(task: Task, method: Method, key) -> TrainState:
    """The state before the first epoch."""
    return TrainState(
        method=method.init(jax.random.fold_in(key, 0)),
        visited=jnp.zeros(evaluation.n_cells(task, task.bins), bool),
        visited_fine=jnp.zeros(evaluation.n_cells(task, task.fine_bins), bool),
        samples=jnp.int32(0),
    )


def phases(task: Task, method: Method, threads: int = 1):
    """(collect, update, evaluate) of one epoch, compiled.

    Evaluation gives metrics and the fresh episodes they are from; without a key only what needs none is known.
    """

    @jax.jit
    def update(state: TrainState, episodes, key):
        learnt, metrics = method.update(state.method, episodes, key)
        return TrainState(
            method=learnt,
            visited=evaluation.visit(task, episodes, state.visited, task.bins),
            visited_fine=evaluation.visit(task, episodes, state.visited_fine, task.fine_bins),
            samples=state.samples + episodes.samples(),
        ), metrics | {"episode_length": jnp.mean(episodes.lengths)}

    fresh = evaluation_rollout(task, method, evaluation.EVALUATION_EPISODES, threads=threads)

    @jax.jit
    def numbers(state: TrainState, episodes: Episodes | None):
        return {
            "coverage": evaluation.percent(state.visited),
            "coverage_fine": evaluation.percent(state.visited_fine),
        } | evaluation.evaluate(task, episodes, method.targets(state.method))

    def evaluate(state: TrainState, key: PRNGKeyArray | None):
        episodes = None if key is None else fresh(state.method, key)
        return numbers(state, episodes), episodes

    c = method.config
    collect = rolled_out(task, method.explore, c.n_skill, c.n_episode, method.noise, threads)
    return collect, update, evaluate


def evaluation_rollout(
    task: Task, method: Method, n_episode: int, noise: Colour | None = None, threads: int = 1
) -> Rollout:
    """Episodes of the learnt skills as they are evaluated, or with noise of another colour."""
    return rolled_out(task, method.act, method.config.n_skill, n_episode, noise or method.evaluation_noise, threads)


def rolled_out(
    task: Task, act: Callable[..., Array], n_skill: int, n_episode: int, colour: Colour, threads: int
) -> Rollout:
    """Rolls out `act(method's state, states, skill, noise)` of all skills."""
    size = n_skill, n_episode
    of = lambda state: jax.tree_util.Partial(act, state)
    if task.step is not None:
        return jax.jit(lambda state, key: on_device.rollout(task, of(state), *size, colour, key))
    environments = [task.make() for _ in range(n_skill * n_episode)]
    return lambda state, key: on_host.rollout(task, of(state), *size, colour, key, environments, threads)


class Clock:
    """Time and memory spent, written to timing.jsonl and summed over interruptions."""

    def __init__(self, run: Run, budget: int, samples: int):
        self.run, self.budget, self.first_samples = run, budget, samples
        before = run.read_lines("timing.jsonl")
        self.before = before[-1] if before else {"cpu_seconds": 0.0, "wall_seconds": 0.0}
        self.cpu, self.wall = time.process_time(), time.monotonic()
        self.steady: tuple[float, int] | None = None

    def tick(self, epoch: int, samples: int) -> dict[str, float]:
        """Notes an epoch; speed and time left leave the first one out, which compiles."""
        now = time.monotonic()
        line = {
            "epoch": epoch,
            "cpu_seconds": round(self.before["cpu_seconds"] + time.process_time() - self.cpu, 3),
            "wall_seconds": round(self.before["wall_seconds"] + now - self.wall, 3),
            "peak_rss_mb": round(peak_rss_mb(), 1),
        }
        self.run.append("timing.jsonl", line)
        since, done = self.steady or (self.wall, self.first_samples)
        rate = (samples - done) / max(now - since, 1e-9)
        self.steady = self.steady or (now, samples)
        left = max(self.budget - samples, 0) / max(rate, 1e-9)
        return {"budget": self.budget, "samples_per_second": rate, "seconds_left": left}


def peak_rss_mb() -> float:
    """The most memory this process has held; where Linux tells it, without what it inherited from its parent."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)


def _summary(run: Run) -> dict[str, Any]:
    config, last, timing = run.config(), run.metrics()[-1], run.read_lines("timing.jsonl")
    numbers = ("samples", "coverage", "coverage_fine", "skill_coverage", "distinctness", "reach")
    return {
        **{name: getattr(config, name) for name in ("method", "task", "seed")},
        "on_wall": config.options.get("on_wall", ""),
        **{name: last[name] for name in numbers},
        "epochs": last["epoch"],
        "cpu_seconds": timing[-1]["cpu_seconds"],
        "wall_seconds": timing[-1]["wall_seconds"],
        "peak_rss_mb": max(line["peak_rss_mb"] for line in timing),
    }
