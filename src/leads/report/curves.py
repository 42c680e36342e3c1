"""How methods come to their numbers: coverage against samples, and the share of runs that reach a score."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from leads.report import style
from leads.report.statistics import interval, profile
from leads.report.study import Entry, Result, Setting, Study

POINTS = 60
"""Points of a curve."""
THRESHOLDS = np.linspace(0, 1, 51)
"""Scores at which performance profiles are looked at."""


@dataclass(frozen=True)
class Curve:
    """A mean with a band around it."""

    x: Float[np.ndarray, " point"]
    mean: Float[np.ndarray, " point"]
    low: Float[np.ndarray, " point"]
    high: Float[np.ndarray, " point"]
    n: int
    """Runs it is the mean of."""


def colours(study: Study) -> dict[Entry, str]:
    """One colour for every entry that has runs, the same in every picture."""
    found = [entry for entry in study.entries if study.covered(entry)]
    return dict(zip(found, style.palette(len(found)), strict=True))


def curve(results: Sequence[Result], number: str) -> Curve | None:
    """Mean and standard deviation of runs against samples, from where all of them are known to their budget."""
    known = [[(line["samples"], line[number]) for line in r.metrics if line[number] is not None] for r in results]
    runs = [np.asarray(run, float).T for run in known if run]
    if not runs:
        return None
    budget = results[0].config.samples
    first, last = max(run[0, 0] for run in runs), min(run[0, -1] for run in runs)
    x = np.linspace(min(first, budget), min(last, budget), POINTS)
    values = np.stack([np.interp(x, *run) for run in runs])
    spread = values.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(POINTS)
    mean = values.mean(axis=0)
    return Curve(x, mean, mean - spread, mean + spread, len(runs))


def profile_curve(study: Study, entry: Entry, number: str) -> Curve | None:
    """Performance profile over the settings that an entry has runs of, with its bootstrap interval."""
    scores = study.scores(entry, number, study.covered(entry))
    if not scores:
        return None
    low, high = interval(lambda tasks: profile(tasks, THRESHOLDS), scores)
    return Curve(THRESHOLDS, profile(scores, THRESHOLDS), low, high, sum(map(len, scores)))


def coverage_figure(study: Study) -> Figure:
    """Coverage against samples, a panel a setting (fig:cov_no_feat), with the paper's final values beside it."""
    figure, panels = _panels(study, len(study.settings))
    for axes, setting in zip(panels, study.settings, strict=True):
        for entry, colour in colours(study).items():
            drawn = curve(study.of(setting, entry), "coverage")
            if drawn is not None:
                _draw(axes, drawn, colour)
        _mark_published(axes, study, setting)
        axes.set_title(setting.title, fontsize=10, color=style.INK, parse_math=False)
        axes.set(xlim=(0, setting.samples), ylim=(0, 101))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: style.short(x)))
        axes.set_xlabel("samples", fontsize=9)
        axes.set_ylabel("coverage %", fontsize=9)
    return figure


def profiles_figure(study: Study, number: str) -> Figure:
    """Performance profiles of all entries."""
    figure, (axes,) = _panels(study, 1)
    for entry, colour in colours(study).items():
        drawn = profile_curve(study, entry, number)
        if drawn is not None:
            _draw(axes, drawn, colour)
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.set_xlabel(f"relative {number.replace('_', ' ')} above", fontsize=9)
    axes.set_ylabel("share of runs", fontsize=9)
    return figure


def published_coverage(study: Study, setting: Setting) -> dict[Entry, float]:
    """The paper's final relative coverage as raw coverage, by our own largest, where ours is of as many samples."""
    if not setting.is_papers:
        return {}
    largest = max((max(study.values(setting, e, "coverage"), default=0.0) for e in study.entries), default=0.0)
    return {
        entry: setting.published[entry.method][0] * largest / 100
        for entry in colours(study)
        if not entry.fields and entry.method in setting.published and study.of(setting, entry)
    }


def _mark_published(axes: Axes, study: Study, setting: Setting) -> None:
    look = {"marker": 4, "markersize": 7, "clip_on": False, "zorder": 6, "markeredgewidth": 0}
    for entry, value in published_coverage(study, setting).items():
        axes.plot(setting.samples, value, color=colours(study)[entry], **look)


def _panels(study: Study, n: int) -> tuple[Figure, list[Axes]]:
    """A figure of n panels below a legend of all entries."""
    width, height, left, below, above = 3.0, 2.1, 0.65, 0.55, 0.35
    rows, columns = style.rows_and_columns(n, 1.6)
    entries = colours(study)
    in_line = max(1, columns * 3)
    legend = 0.22 * -(-len(entries) // in_line) + 0.15
    figure = style.new_figure(columns * (left + width) + 0.35, legend + rows * (above + height + below))
    places = [divmod(i, columns) for i in range(n)]
    panels = [
        style.place(figure, left + c * (left + width), legend + above + r * (above + height + below), width, height)
        for r, c in places
    ]
    for axes in panels:
        axes.grid(color="#e5e7eb", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8.5, length=3)
    lines = [Line2D([], [], color=colour, linewidth=2.5) for colour in entries.values()]
    titles = [entry.title for entry in entries]
    look = {"frameon": False, "fontsize": 8, "handlelength": 1.0, "columnspacing": 1.2, "borderaxespad": 0.2}
    figure.legend(lines, titles, loc="upper center", ncols=in_line, **look)
    return figure, panels


def _draw(axes: Axes, curve: Curve, colour: str) -> None:
    axes.plot(curve.x, curve.mean, color=colour, linewidth=1.7, zorder=3)
    axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0, zorder=2)
