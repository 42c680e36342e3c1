"""Figures of a run: where its skills go, how its metrics grew, what it has learnt; and of several runs side by side."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Array, Float
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.report import style
from leads.report.run.learnt import known_points, learnt_figures
from leads.report.run.planes import Plane, component_plane, draw_skills, feature_planes, principal_components
from leads.report.style import BAND, GAP, HEAD
from leads.training.grid import counts
from leads.training.metrics import METRICS, Metric, headline
from leads.training.train import EVALUATION_EPISODES

BLUE, ORANGE, GREEN, RED, PINK, SKY, *OTHERS = style.COLOURS
COLOURS = (BLUE, SKY, GREEN, RED, ORANGE, PINK, *OTHERS)
"""Of the metrics in their order."""


def write_figures(agent: Agent) -> list[Path]:
    """Draws a run, as PNG and PDF into `figures` of its directory, and returns the paths of the PNGs."""
    figures = dict(_figures(agent, agent.episodes(EVALUATION_EPISODES)))
    return [style.save(figure, agent.run.figures, name) for name, figure in figures.items()]


def _figures(agent: Agent, episodes: Episodes) -> Iterator[tuple[str, Figure]]:
    """All figures that the task and the method allow, with their names."""
    metrics, components, features = metrics_of(agent), principal_components(episodes), feature_planes(agent)
    marks = [agent.task.start, *([] if agent.targets() is None else [agent.targets()])]

    def planes(states: Float[Array, "*n state"]) -> dict[str, list[Plane]]:
        """Planes in which states are shown, by the suffix of the figure's name; a maze has only its own."""
        if style.is_maze(agent.task):
            return {"": features}
        return {"": [component_plane(components, states, *marks)]} | ({"_features": features} if features else {})

    for where, shown in planes(episodes.states).items():
        alone = len(shown) == 1
        figure = skills_figure(agent, episodes, shown[0]) if alone else pairs_figure(agent, episodes, shown)
        yield f"skills{where}", figure
    if metrics:
        yield "coverage", coverage_figure(metrics, agent.config.metrics)
    if len(features) == 1:
        yield "visited", visited_figure(agent, episodes, features[0])
    for name, draw in learnt_figures(agent).items():
        at = planes(known_points(agent)).items()
        yield from ((f"{name}{where}", draw(agent, shown[0])) for where, shown in at if len(shown) == 1)


def metrics_of(agent: Agent) -> list[dict[str, Any]]:
    """Metrics up to the agent's checkpoint; the log of an unfinished run goes further."""
    return [line for line in agent.run.metrics() if line["epoch"] <= agent.epoch]


def _title(agent: Agent, name: str = "", colon: str = ":  ", between: str = ",  ") -> str:
    """A name, that of method and task unless given, with the agent's last metrics as far as they are known."""
    name, metrics = name or f"{agent.config.method_in_paths} on {style.task_name(agent.task)}", metrics_of(agent)
    return f"{name}, {metrics[-1]['samples']:,} samples{colon}{headline(metrics[-1], between)}" if metrics else name


def skills_figure(agent: Agent, episodes: Episodes, plane: Plane) -> Figure:
    """Paths of fresh episodes: all skills in one panel, and each skill in its own."""
    rows, columns = style.rows_and_columns(agent.n_skill, 2 / 3)
    (left, below), top, side = plane.margin, HEAD + BAND, (5.4 - rows * BAND) / rows
    large = rows * (side + BAND) - BAND
    figure = style.new_figure(left + large + columns * (side + GAP) + 3 * GAP, top + large + GAP + below)
    style.title(figure, _title(agent))
    axes = style.place(figure, GAP + left, top, large, large)
    draw_skills(axes, agent, episodes, plane, range(agent.n_skill), 1.0)
    plane.name_axes(axes)
    corner, step = (left + large + 3 * GAP, top), (side + GAP, side + BAND)
    for skill, axes in enumerate(style.place_grid(figure, agent.n_skill, columns, side, corner, step)):
        draw_skills(axes, agent, episodes, plane, [skill], 0.6)
        style.name_skill(axes, skill, style.palette(agent.n_skill)[skill])
    return figure


def pairs_figure(agent: Agent, episodes: Episodes, planes: Sequence[Plane]) -> Figure:
    """Paths of fresh episodes of all skills, one panel per pair of features."""
    n, side, legend, (left, below) = len(planes), 3.0, 0.35, planes[0].margin
    figure = style.new_figure(n * (left + side + GAP) + GAP, HEAD + side + below + legend + GAP)
    style.title(figure, _title(agent))
    panels = style.place_grid(figure, n, n, side, (GAP + left, HEAD), (left + side + GAP, 0))
    for axes, plane in zip(panels, planes, strict=True):
        draw_skills(axes, agent, episodes, plane, range(agent.n_skill), 0.7)
        plane.name_axes(axes)
    lines = [Line2D([], [], color=colour, linewidth=2.5) for colour in style.palette(agent.n_skill)]
    names = [f"skill {skill}" for skill in range(agent.n_skill)]
    look = {"frameon": False, "fontsize": 8.5, "handlelength": 1.0, "columnspacing": 1.2, "borderaxespad": 0.3}
    figure.legend(lines, names, loc="lower center", ncols=min(agent.n_skill, 12), **look)
    return figure


def visited_figure(agent: Agent, episodes: Episodes, plane: Plane) -> Figure:
    """Cells that training has visited beside those that skills visit now: noise alone can account for the former."""
    side, bar, task, (left, below) = 3.1, 0.85, agent.task, plane.margin
    figure = style.new_figure(left + 2 * (side + GAP) + GAP + bar, HEAD + side + GAP + below)
    panels = style.place_grid(figure, 2, 2, side, (left + GAP, HEAD), (side + 2 * GAP, 0))
    steps = np.asarray(counts(task, episodes, task.fine_bins)).sum(axis=0)
    share = np.ma.masked_equal(steps / steps.sum(), 0)
    training = ScalarMappable(Normalize(0, 1), ListedColormap(["white", "#9db8d9"]))
    skills = ScalarMappable(LogNorm(share.min() / 2, share.max()), style.heat())
    name = f"visited in training: {100 * agent.visited_fine.mean():.0f} % of cells"
    shown = (name, agent.visited_fine, training), ("visited by the skills now", share, skills)
    for axes, (name, values, shades) in zip(panels, shown, strict=True):
        plane.draw_image(axes, values.reshape(task.fine_bins, -1).T, shades)  # cells are numbered x first
        style.mark_start(axes, plane.mark(task.start))
        axes.set_title(name, fontsize=10)
        plane.name_axes(axes, y=shades is training)
    style.draw_colour_bar(figure, skills, HEAD, side, bar).set_title("share of steps", fontsize=8)
    return figure


def coverage_figure(lines: Sequence[Mapping[str, Any]], extra: Sequence[Metric] = ()) -> Figure:
    """Metrics of all epochs, in % on the left, up to 1 on the right, and no others (fig:cov_no_feat, of one run)."""
    names_per_line = 4
    tabled = [metric for metric in (*METRICS.values(), *extra) if metric.tabled]
    known = lambda metric: metric.everywhere or any(metric.of(line) is not None for line in lines)
    drawn = [metric for metric in tabled if (metric.unit == "%" or metric.largest <= 1) and known(metric)]
    head = HEAD + 0.2 * ((len(drawn) - 1) // names_per_line)
    figure = style.new_figure(5.6, head + 3.0)
    left = style.place(figure, 0.65, head, 4.3, 2.5)
    right = left.twinx()
    look = {"linewidth": 1.8, "marker": "o", "markersize": 2.5, "clip_on": False}
    for metric, colour in zip(drawn, cycle(COLOURS), strict=False):
        axes, dashes = (left, "-") if metric.unit == "%" else (right, (0, (4, 1.5)))
        points = [(line["samples"], value) for line in lines if (value := metric.of(line)) is not None]
        axes.plot(*np.reshape(points, (-1, 2)).T, color=colour, linestyle=dashes, label=metric.title, **look)
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
    figure.legend(loc="upper center", ncols=names_per_line, frameon=False, fontsize=8.5)
    return figure


def runs_figure(planes: Sequence[Plane], titles: Sequence[str], draw: Callable[[Axes, int], None]) -> Figure:
    """One panel per run with its title above; `draw` is given a panel and the index of its run."""
    n, side, above, (left, below) = len(titles), 2.6, 2 * BAND, planes[0].margin
    rows, columns = style.rows_and_columns(n, 1.6)
    step = left + side + GAP, above + side + below
    figure = style.new_figure(columns * step[0] + GAP, rows * step[1] + GAP)
    for i, axes in enumerate(style.place_grid(figure, n, columns, side, (GAP + left, above), step)):
        draw(axes, i)
        planes[i].name_axes(axes)
        axes.set_title(titles[i], fontsize=6.8, color=style.INK, linespacing=1.35, parse_math=False)
    return figure


def write_comparison(agents: Sequence[Agent], out: Path) -> Path:
    """Draws runs in the order given, as PNG and PDF, and returns the path of the PNG."""
    tasks = sorted({agent.task.name for agent in agents})
    if len(tasks) > 1:
        raise UserError(f"runs on one task can be compared, not on {' and '.join(tasks)}")
    return style.save(comparison_figure(agents), out.parent, out.stem)


def comparison_figure(agents: Sequence[Agent]) -> Figure:
    """One panel per run with its last metrics above: skills in the first two features, else in common components."""
    episodes, features = [agent.episodes(EVALUATION_EPISODES) for agent in agents], [*map(feature_planes, agents)]
    if all(features):
        planes = [planes[0] for planes in features]
    else:
        together = principal_components(*episodes)
        planes = [component_plane(together, *(rolled.states for rolled in episodes))] * len(agents)
    draw = lambda axes, i: draw_skills(axes, agents[i], episodes[i], planes[i], range(agents[i].n_skill), 0.6)
    names = [f"{agent.config.method_in_paths}, seed {agent.config.seed}" for agent in agents]
    titles = [_title(agent, name, "\n", ", ") for agent, name in zip(agents, names, strict=True)]
    return runs_figure(planes, titles, draw)
