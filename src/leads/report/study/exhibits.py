"""What a report shows of a run's skills: its snapshots, and what its method has learnt about them."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leads.agent import Agent, load
from leads.config.fields import Config
from leads.errors import UserError
from leads.methods.method import HasTargets, LearnsMeasure
from leads.report import style
from leads.report.run.figures import metrics_of, runs_figure
from leads.report.run.learnt import known_points, learnt_figures, scaled_measure, scaled_uncertainty
from leads.report.run.planes import Plane, draw_paths, feature_name
from leads.report.study.result import Result
from leads.report.study.study import Study
from leads.tasks.task import Task
from leads.training.metrics import headline
from leads.training.snapshots import Snapshot, boxed, snapshot
from leads.training.train import EVALUATION_EPISODES

MAP_POINTS = 500
"""States at which a robot's measure and uncertainty are shown."""


@dataclass(frozen=True)
class View:
    """The counted features of a task: their names, their box, and the walls in it."""

    names: list[str]
    low: np.ndarray
    high: np.ndarray
    maze: Task | None

    @classmethod
    def of(cls, task: Task | None, n_feature: int) -> "View":
        """Of a task that only Python can make, the box is all that is known."""
        if task is None:
            return cls([f"feature {i}" for i in range(n_feature)], np.zeros(n_feature), np.ones(n_feature), None)
        axes = list(task.grid_axes)
        names = [feature_name(task, i) for i in axes]
        return cls(names, task.low[axes], task.high[axes], task if style.is_maze(task) else None)

    def plane(self) -> Plane:
        """The first two features."""
        low, high = self.low[:2], self.high[:2]
        scaled = lambda points: low + (high - low) * np.asarray(points, float)[..., :2]
        if self.maze is not None:
            return Plane(scaled, low, high, self.maze)
        return Plane(scaled, low, high, names=(self.names[0], self.names[1]), ticks=True)


@dataclass(frozen=True)
class Maps:
    """What a method has learnt, from 0 to 1 for each skill, everywhere in a maze or at some states."""

    measure: Float[np.ndarray, "skill point"] | None
    uncertainty: Float[np.ma.MaskedArray, "skill point"] | None
    points: Float[np.ndarray, "point feature"] | None
    """In the units of the box; None in a maze, where they are a square grid row by row from the lowest."""


@dataclass(frozen=True)
class Exhibit:
    """A run in a report."""

    result: Result
    view: View
    snapshots: list[Snapshot]
    best: bool
    median: bool
    maps: Maps | None


def exhibits(study: Study) -> Iterator[Exhibit]:
    """Every run that remembers its skills; of each method the best and the median seed in any case, with maps."""
    for place in product(study.settings, study.entries):
        best, median = study.best(*place), study.median(*place)
        found = (_exhibit(result, result is best, result is median) for result in study.of(*place))
        yield from (exhibit for exhibit in found if exhibit is not None)


def _exhibit(result: Result, best: bool, median: bool) -> Exhibit | None:
    """Only for what a run does not remember is its agent loaded, which takes seconds."""
    remembered, maps, task = result.snapshots, None, result.setting.make_task()
    wanted = (best or median) and task is not None and (not remembered or _learns_maps(result, task))
    agent = agent_of(result) if wanted else None
    if agent is not None:
        with agent:
            remembered, maps = remembered or [_last_snapshot(agent)], _maps(agent)
    if not remembered:
        return None
    return Exhibit(result, View.of(task, remembered[-1].paths.shape[-1]), remembered, best, median, maps)


def _learns_maps(result: Result, task: Task) -> bool:
    """Whether it is worth the seconds to load the agent; one whose method cannot be imported cannot be."""
    if result.run is None or not result.has_checkpoints or not isinstance(result.run.config.method_config, Config):
        return False
    return isinstance(result.run.config.make_method(task), LearnsMeasure | HasTargets)


def agent_of(result: Result) -> Agent | None:
    """The agent of a run, unless its checkpoints are gone or cannot be used."""
    try:
        return load(result.place) if result.has_checkpoints else None
    except UserError as error:
        print(f"leads: {error}; the report does without", file=sys.stderr)
        return None


def _last_snapshot(agent: Agent) -> Snapshot:
    """Of a run that remembers no skills."""
    samples = next((line["samples"] for line in reversed(metrics_of(agent))), 0)
    return snapshot(agent.task, agent.epoch, samples, agent.episodes(EVALUATION_EPISODES), agent.targets())


def _maps(agent: Agent) -> Maps | None:
    learnt = learnt_figures(agent)
    if not learnt:
        return None
    measure = scaled_measure(agent) if "measure" in learnt else None
    uncertainty = scaled_uncertainty(agent) if "uncertainty" in learnt else None
    if style.is_maze(agent.task):
        return Maps(measure, uncertainty, None)
    points = known_points(agent)
    some = np.linspace(0, len(points) - 1, min(MAP_POINTS, len(points))).astype(int)
    at = lambda values: None if values is None else values[:, some]
    return Maps(at(measure), at(uncertainty), boxed(agent.task, points[some]))


def skills_figure(shown: list[Exhibit]) -> Figure:
    """The skills of one run of each method in the same setting, with its numbers above."""
    plane, results = shown[0].view.plane(), [exhibit.result for exhibit in shown]

    def draw(axes: Axes, i: int) -> None:
        last = shown[i].snapshots[-1]
        points = plane.project(last.paths)
        start = np.clip(points[0, 0, 0], plane.low, plane.high)
        marks = None if last.targets is None else plane.mark(last.targets)
        draw_paths(axes, [list(skill) for skill in points], plane, range(len(points)), 0.8, start, marks)

    titles = [f"{of.entry.title}, seed {of.seed}\n{headline(of.numbers)}" for of in results]
    return runs_figure([plane] * len(shown), titles, draw)
