"""Cells of a task's grid that long play without learning reaches, what coverage is compared with (`make reachable`).

Every play has the same samples, in episodes of the task's horizon from its fixed start.
"""

import argparse
import json
import time
from collections.abc import Callable

import jax
import numpy as np
from measured import RESULTS, signed, write

from leads.rollouts.noise import coloured_noise
from leads.tasks import make_task
from leads.training import grid

Play = Callable[[np.random.Generator, int, int], np.ndarray]
"""(generator, horizon, action size) -> actions of an episode in [-1, 1]."""


def pink(rng: np.random.Generator, horizon: int, size: int) -> np.ndarray:
    """Loud pink noise."""
    noise = coloured_noise(jax.random.key(rng.integers(2**31)), "pink", (1, horizon, size))
    return np.tanh(np.asarray(noise[0]))


def held(rng: np.random.Generator, horizon: int, size: int) -> np.ndarray:
    """Full force one way or the other or none, held for some steps."""
    actions, t = np.empty((horizon, size)), 0
    while t < horizon:
        steps = int(rng.integers(1, horizon // 2))
        actions[t : t + steps] = rng.choice([-1.0, 0.0, 1.0], size)
        t += steps
    return actions


def swung(rng: np.random.Generator, horizon: int, size: int) -> np.ndarray:
    """Every joint swings with its own force, frequency, phase and bias."""
    frequency, phase = rng.uniform(0, 0.25, size), rng.uniform(0, 1, size)
    wave = np.sin(2 * np.pi * (np.arange(horizon)[:, None] * frequency + phase))
    return np.clip(rng.uniform(0, 2, size) * wave + rng.uniform(-1, 1, size), -1, 1)


def aimed(rng: np.random.Generator, horizon: int, size: int) -> np.ndarray:
    """A swing, then a constant pull to somewhere."""
    actions, turn = swung(rng, horizon, size), int(rng.integers(horizon))
    actions[turn:] = rng.uniform(-1, 1, size)
    return actions


PLAYS: dict[str, Play] = {play.__name__: play for play in (pink, held, swung, aimed)}


def reached(name: str, play: Play, samples: int) -> np.ndarray:
    """Which cells of the task's grid the play visits."""
    task, rng = make_task(name), np.random.default_rng(0)
    environment, visited = task.make(), np.zeros(grid.n_cells(task, task.bins), bool)
    cells = jax.jit(lambda states: grid.cells(task, states, task.bins))
    for _ in range(samples // task.horizon):
        environment.reset(seed=0)
        actions = play(rng, task.horizon, task.action_size).astype(np.float32)
        visited[np.asarray(cells(np.stack([environment.step(action)[0] for action in actions])))] = True
    return visited


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="finger")
    parser.add_argument("--samples", type=int, default=1_000_000)
    options = parser.parse_args()
    start, everything, percents = time.process_time(), False, {}
    for name, play in PLAYS.items():
        visited = reached(options.task, play, options.samples)
        everything |= visited
        percents[name] = 100 * float(np.mean(visited))
        print(f"{options.task}  {name:6} {percents[name]:5.1f} % of cells in {options.samples:,} samples", flush=True)
    percents["all together"] = 100 * float(np.mean(everything))
    print(f"{options.task}  all together {percents['all together']:.1f} %")
    found = {"seed": 0, "percent": percents, "cpu_seconds": round(time.process_time() - start)}
    command = f"python studies/reachable.py --task {options.task} --samples {options.samples}"
    of_tasks = json.loads((RESULTS / "reachable.json").read_text())
    write("reachable", of_tasks | {options.task: signed(command, found)})


if __name__ == "__main__":
    main()
