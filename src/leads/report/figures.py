"""Figures of one run: where its skills go, what it has learnt about them, and how it came to it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from leads.agent import Agent, load
from leads.methods.leads import Leads
from leads.report import style
from leads.rollouts.episodes import Episodes
from leads.training.evaluation import EVALUATION_EPISODES, counts

GRID = 100
"""Points a dimension at which the measure and the uncertainty are drawn."""
BAND = 0.24
"""Inches above a panel, for its name."""
HEAD = 0.45
"""Inches above all panels, for the figure's title."""
GAP = 0.12
"""Inches between panels, and around them."""

Projection = Callable[[np.ndarray], np.ndarray]
"""States [..., state] to points of a figure [..., 2]."""


def write_figures(run_dir: Path) -> list[Path]:
    """Draws a run from its directory alone, as PNG and PDF into its `figures`, and returns the PNGs' paths."""
    agent = load(run_dir)
    episodes = agent.episodes(EVALUATION_EPISODES)
    metrics = [line for line in agent.run.metrics() if line["epoch"] <= agent.epoch]
    figures = {"skills": skills_figure(agent, episodes, metrics[-1] if metrics else None)}
    if metrics:
        figures["coverage"] = coverage_figure(metrics)
    if style.is_maze(agent.task):
        figures["visited"] = visited_figure(agent, episodes)
        if isinstance(agent.method, Leads):
            figures["measure"] = measure_figure(agent)
            figures["uncertainty"] = uncertainty_figure(agent)
    return [style.save(figure, agent.run.figures, name) for name, figure in figures.items()]


def skills_figure(agent: Agent, episodes: Episodes, numbers: dict[str, Any] | None) -> Figure:
    """Paths of fresh episodes: all skills in one panel, and each skill alone."""
    rows, columns = style.rows_and_columns(agent.n_skill, 2 / 3)
    side = (5.4 - rows * BAND) / rows
    large = rows * (side + BAND) - BAND / 2
    figure = style.new_figure(large + columns * (side + GAP) + 3 * GAP, large + HEAD + GAP)
    style.title(figure, _headline(agent, numbers))
    paths, project = real_paths(episodes), projection(agent, episodes)
    everyone = range(agent.n_skill)
    _skills_panel(style.place(figure, GAP, HEAD, large, large), agent, paths, project, everyone, 1.0)
    for skill in everyone:
        x = large + 3 * GAP + skill % columns * (side + GAP)
        y = HEAD + BAND / 2 + skill // columns * (side + BAND)
        axes = style.place(figure, x, y, side, side)
        _skills_panel(axes, agent, paths, project, [skill], 0.6)
        style.name_skill(axes, skill, style.palette(agent.n_skill)[skill])
    return figure


def _skills_panel(axes, agent: Agent, paths: list[list[np.ndarray]], project: Projection, skills, scale: float) -> None:
    """Paths of some skills, taking turns episode by episode so that no skill lies on top of the others."""
    colours = style.palette(agent.n_skill)
    turns = [(skill, paths[skill][i]) for i in range(len(paths[0])) for skill in skills]
    axes.add_collection(
        LineCollection(
            [project(path) for _, path in turns],
            colors=[colours[skill] for skill, _ in turns],
            linewidths=0.5 + 0.5 * scale,
            alpha=0.5,
            capstyle="round",
            joinstyle="round",
            zorder=2,
        )
    )
    ends = np.stack([project(path[-1]) for _, path in turns])
    axes.scatter(*ends.T, s=14 * scale**2, c=[colours[skill] for skill, _ in turns], linewidths=0, alpha=0.9, zorder=3)
    _ground(axes, agent, paths, project, 4.5 * scale)
    style.mark_start(axes, project(agent.task.start), 8 * scale)
    targets = agent.method.targets(agent.state)
    for skill in skills if targets is not None else ():
        style.mark_target(axes, project(np.asarray(targets[skill])), colours[skill], 17 * scale)


def _ground(axes, agent: Agent, paths: list[list[np.ndarray]], project: Projection, width: float) -> None:
    """The maze, or the box of all that is drawn, the same in every panel."""
    if style.is_maze(agent.task):
        return style.draw_maze(axes, agent.task, width)
    points = np.concatenate([project(path) for skill in paths for path in skill])
    return style.frame(axes, points.min(axis=0), points.max(axis=0))


def _headline(agent: Agent, numbers: dict[str, Any] | None) -> str:
    if numbers is None:
        return agent.task.name
    return (
        f"{agent.task.name}, {numbers['samples']:,} samples:  coverage {numbers['coverage']:.0f} %,  "
        f"skill coverage {numbers['skill_coverage']:.0f} %,  distinctness {numbers['distinctness']:.2f}"
    )


def real_paths(episodes: Episodes) -> list[list[np.ndarray]]:
    """Paths [time, state] of every skill's episodes, from the start to their true ends."""
    states, lengths = np.asarray(episodes.states), np.asarray(episodes.lengths)
    return [
        [path[: length + 1] for path, length in zip(*skill, strict=True)] for skill in zip(states, lengths, strict=True)
    ]


def projection(agent: Agent, episodes: Episodes) -> Projection:
    """A maze's states as they are; other states on the first two principal components of those visited."""
    if style.is_maze(agent.task):
        return lambda states: states
    visited = np.concatenate([path for skill in real_paths(episodes) for path in skill])
    centre = visited.mean(axis=0)
    components = np.linalg.svd(visited - centre, full_matrices=False)[2][:2]
    components = np.pad(components, ((0, 2 - len(components)), (0, 0)))
    return lambda states: (states - centre) @ components.T


def measure_figure(agent: Agent) -> Figure:
    """m(s0, ., z) of every skill, scaled to [0, 1] (fig:measure)."""
    assert isinstance(agent.method, Leads)
    f = np.asarray(agent.method.log_measure(agent.state, jnp.asarray(agent.task.start), grid(agent)))
    m = np.exp(f - f.max(axis=1, keepdims=True))
    title = "successor state measure $m(s_0, s, z)$, scaled to [0, 1] for each skill"
    return _grid_figure(agent, _unit(m), title, "magma", targets=False)


def uncertainty_figure(agent: Agent) -> Figure:
    """u(., z) of every skill with its target (fig:uncertainty)."""
    assert isinstance(agent.method, Leads)
    u = np.asarray(agent.method.uncertainty(agent.state, grid(agent)))
    title = "uncertainty $u(s, z)$, scaled to [0, 1] for each skill, and the skill's target"
    return _grid_figure(agent, _unit(u), title, "viridis", targets=True)


def grid(agent: Agent) -> np.ndarray:
    """States in the middle of GRID x GRID cells of the maze, row by row from the lowest."""
    low, high = agent.task.low, agent.task.high
    x, y = (low + (high - low) * (np.arange(GRID)[:, None] + 0.5) / GRID).T
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float32)


def _grid_figure(agent: Agent, values: np.ndarray, title: str, colours: str, targets: bool) -> Figure:
    side, bar = 1.9, 0.75
    rows, columns = style.rows_and_columns(agent.n_skill, 1.5)
    width = columns * (side + GAP) + GAP + bar
    figure = style.new_figure(width, HEAD + rows * (side + BAND) + GAP)
    style.title(figure, title)
    marks = np.asarray(agent.method.targets(agent.state))
    for skill, image in enumerate(values.reshape(-1, GRID, GRID)):
        row, column = divmod(skill, columns)
        x, y = GAP + column * (side + GAP), HEAD + BAND + row * (side + BAND)
        axes = style.place(figure, x, y, side, side)
        _image(axes, agent, image, colours, Normalize(0, 1))
        style.mark_start(axes, agent.task.start, 5.5)
        style.name_skill(axes, skill, style.palette(agent.n_skill)[skill])
        if targets:
            style.mark_target(axes, marks[skill], style.palette(agent.n_skill)[skill])
    height = rows * (side + BAND) - BAND
    axes = style.place(figure, width - bar + GAP, HEAD + BAND, 0.13, height)
    _colour_bar(figure, axes, ScalarMappable(Normalize(0, 1), colours))
    return figure


def _image(axes, agent: Agent, image: np.ndarray, colours: str, norm: Normalize) -> ScalarMappable:
    (x0, y0), (x1, y1) = agent.task.low, agent.task.high
    shown = axes.imshow(image, cmap=colours, norm=norm, origin="lower", extent=(x0, x1, y0, y1), zorder=1)
    style.draw_maze(axes, agent.task, 2.5)
    return shown


def _colour_bar(figure: Figure, axes, shown: ScalarMappable) -> None:
    bar = figure.colorbar(shown, cax=axes)
    bar.ax.tick_params(labelsize=8, length=2, color=style.INK, labelcolor=style.INK)
    bar.outline.set_linewidth(0.6)


def visited_figure(agent: Agent, episodes: Episodes) -> Figure:
    """What training has ever visited beside where its skills are now: the first can be due to noise alone."""
    side, bar, bins = 3.1, 0.75, agent.task.fine_bins
    figure = style.new_figure(2 * (side + GAP) + GAP + bar, HEAD + side + GAP)
    density = np.asarray(counts(agent.task, episodes, bins)).sum(axis=0)
    images = (agent.visited_fine.astype(float), density / density.sum())
    names = (f"visited in training: {100 * agent.visited_fine.mean():.0f} % of {bins} x {bins} cells", "skills now")
    for i, (image, name) in enumerate(zip(images, names, strict=True)):
        axes = style.place(figure, GAP + i * (side + GAP), HEAD, side, side)
        image = np.ma.masked_equal(image.reshape(bins, bins).T, 0)  # cells are counted x first
        norm = Normalize(0, 1.4) if i == 0 else LogNorm(image.min(), image.max())
        shown = _image(axes, agent, image, "Blues" if i == 0 else "viridis_r", norm)
        style.mark_start(axes, agent.task.start)
        axes.set_title(name, fontsize=10, color=style.INK)
    axes = style.place(figure, 2 * (side + GAP) + 2 * GAP, HEAD, 0.13, side)
    _colour_bar(figure, axes, shown)
    return figure


def coverage_figure(metrics: list[dict[str, Any]]) -> Figure:
    """Coverage and distinctness against samples (fig:cov_no_feat, of one run)."""
    figure = style.new_figure(5.6, 3.5)
    left = style.place(figure, 0.65, HEAD, 4.3, 2.5)
    right = left.twinx()
    samples = [line["samples"] for line in metrics]
    curves = (
        (left, "coverage", "coverage", "#0072b2", "-"),
        (left, "coverage_fine", "fine coverage", "#56b4e9", "-"),
        (left, "skill_coverage", "skill coverage", "#009e73", "-"),
        (right, "distinctness", "distinctness", "#d55e00", (0, (4, 1.5))),
    )
    handles = []
    for axes, name, label, colour, line in curves:
        values = np.asarray([entry[name] for entry in metrics], float)
        handles += axes.plot(samples, values, color=colour, linestyle=line, linewidth=1.8, label=label, marker="o", markersize=2)
    left.set(xlabel="samples", ylabel="coverage, % of cells", ylim=(0, 100), xlim=(0, samples[-1]))
    right.set(ylabel="distinctness", ylim=(0, 1))
    left.xaxis.set_major_formatter(FuncFormatter(lambda x, _: style.short(x)))
    for axes in (left, right):
        axes.spines["top"].set_visible(False)
        axes.tick_params(labelsize=8.5, length=3)
    left.grid(color="#e5e7eb", linewidth=0.7)
    figure.legend(handles=handles, loc="upper center", ncols=4, frameon=False, fontsize=8.5)
    return figure


def _unit(values: np.ndarray) -> np.ndarray:
    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return (values - low) / np.maximum(high - low, 1e-12)
