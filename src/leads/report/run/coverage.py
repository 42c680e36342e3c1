"""A run's metrics against samples."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from leads.report import style
from leads.report.run.panels import HEAD
from leads.training.metrics import METRICS, Metric

BLUE, ORANGE, GREEN, RED, PINK, SKY, *OTHERS = style.COLOURS
COLOURS = (BLUE, SKY, GREEN, RED, ORANGE, PINK, *OTHERS)
"""Of the metrics in their order."""
NAMES_PER_LINE = 4
"""In the legend."""


def coverage_figure(lines: Sequence[Mapping[str, Any]], extra: Sequence[Metric] = ()) -> Figure:
    """Draws metrics in % on the left axis, those up to 1 on the right, and no others (fig:cov_no_feat, of one run).

    Args:
        lines: Metrics of every epoch.
        extra: Metrics that the run has beside those of every run.
    """
    tabled = [metric for metric in (*METRICS.values(), *extra) if metric.tabled]
    drawn = [metric for metric in tabled if metric.unit == "%" or metric.largest <= 1]
    head = HEAD + 0.2 * ((len(drawn) - 1) // NAMES_PER_LINE)
    figure = style.new_figure(5.6, head + 3.0)
    left = style.place(figure, 0.65, head, 4.3, 2.5)
    right = left.twinx()
    look = {"linewidth": 1.8, "marker": "o", "markersize": 2.5, "clip_on": False}
    for metric, colour in zip(drawn, cycle(COLOURS), strict=False):
        axes, dashes = (left, "-") if metric.unit == "%" else (right, (0, (4, 1.5)))
        known = [(line["samples"], value) for line in lines if (value := metric.of(line)) is not None]
        axes.plot(*np.reshape(known, (-1, 2)).T, color=colour, linestyle=dashes, label=metric.title, **look)
    of_cells = not any(metric.unit == "%" for metric in extra)
    left.set(xlabel="samples", ylabel="% of cells" if of_cells else "%", ylim=(0, 100), xlim=(0, lines[-1]["samples"]))
    left.xaxis.set_major_formatter(FuncFormatter(lambda x, _: style.short(x)))
    left.grid(color="#e5e7eb", linewidth=0.7)
    right.set(ylim=(0, 1))
    titles = [str(line.get_label()) for line in right.lines]
    right.set_ylabel(", ".join(titles), color=right.lines[0].get_color() if len(titles) == 1 else style.INK)
    for axes in (left, right):
        axes.spines["top"].set_visible(False)
        axes.tick_params(labelsize=8.5, length=3)
    figure.legend(loc="upper center", ncols=NAMES_PER_LINE, frameon=False, fontsize=8.5)
    return figure
