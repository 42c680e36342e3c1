"""How methods come to their numbers: metrics against samples, and the share of runs that reach a score."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETLEFT
from matplotlib.ticker import FuncFormatter

from leads.report import style
from leads.report.study.result import COVERAGE, Entry, Result, Setting
from leads.report.study.statistics import interval, profile
from leads.report.study.study import Study
from leads.training.metrics import Metric

POINTS = 60
"""Points of a curve."""
THRESHOLDS = np.linspace(0, 1, 51)
"""Scores at which performance profiles are looked at."""
PUBLISHED = {"linestyle": "none", "marker": CARETLEFT, "markersize": 7, "markeredgewidth": 0}
"""The triangle at the paper's final value."""


@dataclass(frozen=True)
class Curve:
    """A mean with a band around it."""

    x: Float[np.ndarray, " point"]
    mean: Float[np.ndarray, " point"]
    low: Float[np.ndarray, " point"]
    high: Float[np.ndarray, " point"]
    of: str
    """What it is the mean of, in words."""


@dataclass(frozen=True)
class Look:
    """How an entry's lines are drawn."""

    colour: str
    dash: tuple[float, ...]
    """As in `style.DASHES`."""

    def line(self) -> dict[str, Any]:
        return {"color": self.colour, "linestyle": (0, self.dash) if self.dash else "solid", "linewidth": 1.7}


def looks(study: Study) -> dict[Entry, Look]:
    """One look for every entry that has runs, the same in every picture.

    The entries of a method share its colour and differ in their dashes; when these run out, it takes another colour.
    """
    found = [entry for entry in study.entries if study.covered(entry)]
    before = [sum(other.method == entry.method for other in found[:i]) for i, entry in enumerate(found)]
    groups = [(entry.method, n // len(style.DASHES)) for entry, n in zip(found, before, strict=True)]
    order = list(dict.fromkeys(groups))
    colours = dict(zip(order, style.palette(len(order)), strict=True))
    dashes = cycle(style.DASHES)
    return {entry: Look(colours[group], next(dashes)) for entry, group in zip(found, groups, strict=True)}


def curve(results: Sequence[Result], metric: Metric) -> Curve | None:
    """Mean and standard deviation of runs against samples, from where all of them are known to their budget."""
    points = [[(line["samples"], metric.of(line)) for line in result.log] for result in results]
    known = [[(samples, value) for samples, value in run if value is not None] for run in points]
    runs = [np.asarray(run, float).T for run in known if run]
    if not runs:
        return None
    budget = results[0].setting.samples
    first, last = max(run[0, 0] for run in runs), min(run[0, -1] for run in runs)
    x = np.linspace(min(first, budget), min(last, budget), POINTS)
    values = np.stack([np.interp(x, *run) for run in runs])
    spread = values.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(POINTS)
    mean = values.mean(axis=0)
    return Curve(x, mean, mean - spread, mean + spread, f"n = {len(runs)}")


def profile_curve(study: Study, entry: Entry, metric: Metric) -> Curve | None:
    """Performance profile over the contested settings that an entry has runs of, with its bootstrap interval.

    Single runs have none, as in the tables.
    """
    among = [setting for setting in study.contested if study.values(setting, entry, metric)]
    if not among:
        return None
    scores = study.scores(entry, metric, among)
    shares = profile(scores, THRESHOLDS)
    single = min(map(len, scores)) < 2
    low, high = (shares, shares) if single else interval(lambda tasks: profile(tasks, THRESHOLDS), scores)
    return Curve(THRESHOLDS, shares, low, high, f"{len(among)} of {len(study.contested)} settings")


def coverage_figure(study: Study) -> Figure:
    """Coverage against samples, one panel per setting (fig:cov_no_feat), with the paper's final values beside it."""
    look = looks(study)
    legend = [(_counted(study, entry), of.line()) for entry, of in look.items()]
    if any(published_coverage(study, setting) for setting in study.settings):
        legend.append(("paper's final value x our largest", PUBLISHED | {"color": style.FAINT}))
    figure, panels = _panels(len(study.settings), 3.0, 2.1, legend)
    for axes, setting in zip(panels, study.settings, strict=True):
        for entry, of in look.items():
            _draw(axes, curve(study.of(setting, entry), COVERAGE), of)
        for entry, value in published_coverage(study, setting).items():
            axes.plot(setting.samples, value, color=look[entry].colour, clip_on=False, zorder=6, **PUBLISHED)
        axes.set_title(setting.title, fontsize=10, color=style.INK, parse_math=False)
        axes.set(xlim=(0, setting.samples), ylim=(0, 101), xlabel="samples", ylabel=COVERAGE.label)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: style.short(x)))
    return figure


def _counted(study: Study, entry: Entry) -> str:
    """An entry and the number of its runs in a setting."""
    n = sorted({len(study.of(setting, entry)) for setting in study.covered(entry)})
    return f"{entry.title}, n = {n[0]}" + (f" to {n[-1]}" if len(n) > 1 else "")


def profiles_figure(study: Study, metric: Metric) -> Figure:
    """Performance profiles of all entries."""
    look = looks(study)
    drawn = {entry: found for entry in look if (found := profile_curve(study, entry, metric))}
    legend = [(f"{entry.title}, {found.of}", look[entry].line()) for entry, found in drawn.items()]
    figure, (axes,) = _panels(1, 7.2, 3.6, legend)
    for entry, found in drawn.items():
        _draw(axes, found, look[entry])
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel=f"relative {metric.title} above", ylabel="share of runs")
    return figure


def published_coverage(study: Study, setting: Setting) -> dict[Entry, float]:
    """The paper's final relative coverage as raw coverage, by our own largest, where ours is of as many samples."""
    published = setting.published if setting.is_papers else {}
    shown = [e for e in study.entries if not e.options and e.method in published and study.of(setting, e)]
    return {entry: published[entry.method][0] * study.largest(setting, COVERAGE) / 100 for entry in shown}


def _panels(n: int, width: float, height: float, legend: list[tuple[str, dict[str, Any]]]) -> tuple[Figure, list[Axes]]:
    """A figure of n panels below a legend of names and lines."""
    left, below, above = 0.65, 0.55, 0.35
    rows, columns = style.rows_and_columns(n, 1.6)
    widest = 0.058 * max((len(name) for name, _ in legend), default=0) + 0.7
    total = max(columns * (left + width) + 0.35, widest)
    in_line = int(total / widest)
    top = 0.17 * -(-len(legend) // in_line) + 0.15
    figure = style.new_figure(total, top + rows * (above + height + below))
    panels = []
    for row, column in (divmod(i, columns) for i in range(n)):
        x, y = left + column * (left + width), top + above + row * (above + height + below)
        axes = style.place(figure, x, y, width, height)
        axes.grid(color="#e5e7eb", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8.5, length=3)
        for name in (axes.xaxis.label, axes.yaxis.label):
            name.set_fontsize(9)
        panels.append(axes)
    look = {"frameon": False, "fontsize": 8, "handlelength": 3.5, "columnspacing": 1.2, "borderaxespad": 0.2}
    handles, names = [Line2D([], [], **line) for _, line in legend], [name for name, _ in legend]
    figure.legend(handles, names, loc="upper center", ncols=in_line, **look)
    return figure, panels


def _draw(axes: Axes, curve: Curve | None, look: Look) -> None:
    if curve is not None:
        axes.plot(curve.x, curve.mean, zorder=3, **look.line())
        axes.fill_between(curve.x, curve.low, curve.high, color=look.colour, alpha=0.18, linewidth=0, zorder=2)
