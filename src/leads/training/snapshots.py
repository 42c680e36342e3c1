"""What a run remembers of its skills on the way: at some epochs a few thinned paths of each, for reports."""

import base64
from dataclasses import dataclass
from math import floor, log2
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from leads.data.episodes import Episodes
from leads.tasks.task import Task
from leads.training.run import Run

FILE = "skills.jsonl"
EPISODES = 5
"""Evaluation episodes of each skill that are kept, at most."""
NUMBERS = 3000
"""Numbers in the paths of one snapshot, about; points of paths are left out until it is so."""
FIRST = 1000
"""Samples of the first snapshot, about; from then on there are two whenever the samples have doubled."""


@dataclass(frozen=True)
class Snapshot:
    """The skills at the end of an epoch, in counted features with the grid's box scaled to [0, 1]."""

    epoch: int
    samples: int
    paths: Float[np.ndarray, "skill episode point feature"]
    """Each from the start to its true end, in steps of equal time."""
    lengths: Int[np.ndarray, "skill episode"]
    """True steps of each episode."""
    targets: Float[np.ndarray, "skill feature"] | None

    def line(self) -> dict[str, Any]:
        """As a line of the log, which is small and the same for the same skills."""
        return {
            "epoch": self.epoch,
            "samples": self.samples,
            "shape": self.paths.shape,
            "paths": _encoded(self.paths),
            "lengths": self.lengths.tolist(),
            "targets": None if self.targets is None else _encoded(self.targets),
        }

    @classmethod
    def of_line(cls, line: dict[str, Any]) -> "Snapshot":
        n_skill, _, _, n_feature = line["shape"]
        return cls(
            epoch=line["epoch"],
            samples=line["samples"],
            paths=_decoded(line["paths"]).reshape(line["shape"]),
            lengths=np.asarray(line["lengths"]),
            targets=None if line["targets"] is None else _decoded(line["targets"]).reshape(n_skill, n_feature),
        )


def snapshot(
    task: Task, epoch: int, samples: int, episodes: Episodes, targets: Float[Array, "skill state"] | None
) -> Snapshot:
    """Thins evaluation episodes."""
    lengths = np.asarray(episodes.lengths)[:, :EPISODES]
    n_skill, n_episode = lengths.shape
    n_point = max(NUMBERS // (n_skill * n_episode * len(task.grid_axes)), 2)
    times = np.rint(lengths[..., None] * np.linspace(0, 1, n_point)).astype(int)
    states = np.take_along_axis(np.asarray(episodes.states)[:, :EPISODES], times[..., None], axis=2)
    return Snapshot(epoch, samples, boxed(task, states), lengths, None if targets is None else boxed(task, targets))


def snapshots(run: Run) -> list[Snapshot]:
    """All that a run has kept, oldest first; runs of older versions have none."""
    return [Snapshot.of_line(line) for line in run.read_lines(FILE)]


class Album:
    """Decides which epochs of a run are remembered; the same ones however often it was interrupted."""

    def __init__(self, run: Run, task: Task, budget: int):
        self.run, self.task, self.budget = run, task, budget
        kept = run.read_lines(FILE)
        self.level = _level(kept[-1]["samples"]) if kept else -1

    def add(self, epoch: int, samples: int, episodes: Episodes, targets: Float[Array, "skill state"] | None) -> None:
        """Keeps an evaluated epoch if it is time for one; the last epoch always is."""
        level = _level(samples)
        if level > self.level or samples >= self.budget:
            self.run.append(FILE, snapshot(self.task, epoch, samples, episodes, targets).line())
            self.level = level


def _level(samples: int) -> int:
    return floor(2 * log2(max(samples, FIRST) / FIRST))


def boxed(task: Task, states: Float[Array, "*n state"] | np.ndarray) -> Float[np.ndarray, "*n feature"]:
    """Counted features of states, with the grid's box scaled to [0, 1]; numbers so small need no more bits."""
    counted = list(task.grid_axes)
    scaled = (task.boxed_features(jnp.asarray(states)) + 1) / 2
    return np.clip(np.asarray(scaled)[..., counted], -100, 100).astype(np.float16)


def _encoded(numbers: np.ndarray) -> str:
    return base64.b64encode(numbers.astype("<f2").tobytes()).decode()


def _decoded(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), "<f2")
