"""The skills of several runs on one task beside each other."""

from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
from matplotlib.figure import Figure

from leads.agent import Agent
from leads.errors import UserError
from leads.report import style
from leads.report.figures import BAND, GAP, draw_skills, metrics_of, told
from leads.report.planes import Plane, component_plane, feature_planes, principal_components, real_paths
from leads.rollouts.episodes import Episodes
from leads.training.evaluation import EVALUATION_EPISODES

SIDE = 2.6
"""Inches of a panel."""


def write_comparison(agents: Sequence[Agent], out: Path) -> Path:
    """Draws runs in the order given, as PNG and PDF, and returns the PNG's path."""
    tasks = sorted({agent.task.name for agent in agents})
    if len(tasks) > 1:
        raise UserError(f"runs on one task can be compared, not on {' and '.join(tasks)}")
    return style.save(comparison_figure(agents), out.parent, out.stem)


def comparison_figure(agents: Sequence[Agent]) -> Figure:
    """All skills of each run in one panel, with the run's last numbers above it."""
    episodes = [agent.episodes(EVALUATION_EPISODES) for agent in agents]
    planes = _planes(agents, episodes)
    rows, columns = style.rows_and_columns(len(agents), 1.6)
    left, below = planes[0].margin
    above = 2 * BAND
    figure = style.new_figure(columns * (left + SIDE + GAP) + GAP, rows * (above + SIDE + below) + GAP)
    for i, (agent, rolled, plane) in enumerate(zip(agents, episodes, planes, strict=True)):
        row, column = divmod(i, columns)
        x, y = GAP + left + column * (left + SIDE + GAP), above + row * (above + SIDE + below)
        axes = style.place(figure, x, y, SIDE, SIDE)
        draw_skills(axes, agent, real_paths(rolled, plane.project), plane, range(agent.n_skill), 0.6)
        plane.name_axes(axes)
        axes.set_title(_title(agent), fontsize=6.8, color=style.INK, linespacing=1.35, parse_math=False)
    return figure


def _planes(agents: Sequence[Agent], episodes: Sequence[Episodes]) -> list[Plane]:
    """The first two features of each run's grid; without these, components of what all runs visit together."""
    features = [feature_planes(agent) for agent in agents]
    if all(features):
        return [planes[0] for planes in features]
    flat = [jax.tree.map(lambda x: x.reshape(1, -1, *x.shape[2:]), rolled) for rolled in episodes]
    together = principal_components(jax.tree.map(lambda *x: jnp.concatenate(x, axis=1), *flat))
    return [component_plane(together, *(rolled.states for rolled in episodes))] * len(agents)


def _title(agent: Agent) -> str:
    config, metrics = agent.run.config(), metrics_of(agent)
    name = f"{config.method}, seed {config.seed}"
    if not metrics:
        return name
    return f"{name}, {metrics[-1]['samples']:,} samples\n{told(metrics[-1])}"
