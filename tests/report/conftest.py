"""Run directories written by hand: reports only read, so nothing has to be trained."""

import os
from pathlib import Path

import imageio.v2 as imageio
import jax.numpy as jnp
import numpy as np
import pytest

import leads
from leads.cli import main
from leads.data.episodes import Episodes
from leads.tasks.finger import Finger
from leads.tasks.robot import new_renderer
from leads.training.run import FORMAT, Run
from leads.training.run_config import run_config
from leads.training.snapshots import FILE, snapshot


@pytest.fixture(scope="session")
def write_run():
    """Writes a run of some epochs that ends with the numbers given; not finished, it lacks its last epoch."""

    def write(
        directory: Path, task: str = "maze-u", method: str = "leads", seed: int = 0, coverage: float = 90.0,
        samples: int = 1_000_000, finished: bool = True, remembers: bool = True, extra: tuple = (),
        numbers: dict | None = None, **options,
    ) -> Path:  # fmt: skip
        out = directory / f"{task}-{method}-{samples}-{'-'.join(map(str, options.values()))}-{seed}"
        config, made = run_config(task, method, seed, samples, options, extra)
        run, epochs = Run.create(out, config), 10
        for epoch in range(1, epochs + finished):
            done = samples * epoch // epochs
            reached = round(coverage * (1 - 0.5 ** (2 * epoch)), 2) if epoch < epochs else coverage
            rest = {"coverage_fine": reached * 0.9, "skill_coverage": reached / 2, "distinctness": 0.5, "reach": None}
            more = {metric.name: reached / 3 for metric in extra}
            line = {"epoch": epoch, "samples": done, "coverage": reached} | rest | more | (numbers or {})
            run.append("metrics.jsonl", line)
            cost = {"cpu_seconds": 10.0 * epoch, "wall_seconds": 12.0 * epoch, "peak_rss_mb": 500.0 + seed}
            run.append("timing.jsonl", {"epoch": epoch} | cost)
            if remembers and epoch in (1, 3, 10):
                skills = _skills(made, config.method_config.n_skill, epoch, seed)
                targets = skills.states[:, 0, -1] if method == "leads" else None
                run.append(FILE, snapshot(made, epoch, done, skills, targets).line())
        if finished:
            about = {"method": method, "task": task, "seed": seed, "on_wall": config.task_options.get("on_wall", "")}
            run.write_summary(about | line | cost)
        return out

    return write


def _skills(task, n_skill: int, epoch: int, seed: int) -> Episodes:
    """Each skill wanders in a direction of its own, further the later it is."""
    rng = np.random.default_rng(seed)
    horizon = min(task.horizon, 50)
    angle = 2 * np.pi * np.arange(n_skill) / n_skill
    direction = np.zeros((n_skill, task.state_size))
    direction[:, :2] = np.stack([np.cos(angle), np.sin(angle)], axis=-1) * 0.005 * epoch**0.5
    steps = direction[:, None, None] + rng.normal(0, 0.004, (n_skill, 5, horizon, task.state_size))
    states = task.start + np.concatenate([np.zeros_like(steps[:, :, :1]), steps.cumsum(axis=2)], axis=2)
    return Episodes(
        jnp.asarray(states, jnp.float32),
        jnp.zeros((n_skill, 5, horizon, task.action_size)),
        jnp.full((n_skill, 5), horizon),
        jnp.zeros((n_skill, 5), bool),
    )


@pytest.fixture
def opengl() -> None:
    """For tests that need a picture of a robot."""
    try:
        new_renderer(Finger().model).close()
    except leads.UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def study_directory(write_run, tmp_path_factory) -> Path:
    """Two mazes and a robot; some runs are missing, one is unfinished, one repeats another, one is of the future.

    The best run of the robot has a film.
    """
    root = tmp_path_factory.mktemp("study")
    spread = (-2.0, 0.0, 1.0)
    for seed, off in enumerate(spread):
        for task in ("maze-u", "maze-hard"):
            write_run(root / "mazes", task, "leads", seed, 90 + off)
            write_run(root / "mazes", task, "metra", seed, 60 + 2 * off)
            write_run(root / "controls", task, "random", seed, 50 + off)
        write_run(root / "controls", "maze-u", "random", seed, 30 + off, noise="white")
        write_run(root / "slide", "fetch-slide", "leads", seed, 40 + off, samples=100_000)
        write_run(root / "slide", "fetch-slide", "random", seed, 39.5 + off, samples=100_000)
    write_run(root / "short", "maze-u", "leads", 0, 70, samples=300_000, remembers=False)
    write_run(root / "broken-off", "maze-u", "metra", 3, 50, finished=False)
    write_run(root / "repeated", "maze-u", "leads", 0, 10)
    best = root / "slide" / "fetch-slide-leads-100000--2" / "figures"
    best.mkdir()
    os.environ.setdefault("IMAGEIO_FFMPEG_NO_PREVENT_SIGINT", "1")  # or it forks beside JAX's threads
    imageio.mimwrite(best / "skills.mp4", np.zeros((4, 32, 32, 3), np.uint8), fps=4)
    newer = write_run(root / "newer", "maze-u", "leads", 9, 99)
    config = (newer / "config.json").read_text()
    (newer / "config.json").write_text(config.replace(f'"format": {FORMAT}', '"format": 99'))
    return root


@pytest.fixture(scope="session")
def report(study_directory, tmp_path_factory) -> Path:
    """The report of `study_directory`."""
    out = tmp_path_factory.mktemp("report") / "new"
    main(["report", str(study_directory), "--out", str(out)])
    return out
