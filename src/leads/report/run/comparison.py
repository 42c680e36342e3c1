"""The skills of several runs on one task side by side."""

from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.report import style
from leads.report.run.figures import metrics_of
from leads.report.run.panels import draw_skills, runs_figure
from leads.report.run.planes import Plane, component_plane, feature_planes, principal_components, real_paths
from leads.training.metrics import headline
from leads.training.train import EVALUATION_EPISODES


def write_comparison(agents: Sequence[Agent], out: Path) -> Path:
    """Draws runs in the order given, as PNG and PDF, and returns the path of the PNG."""
    tasks = sorted({agent.task.name for agent in agents})
    if len(tasks) > 1:
        raise UserError(f"runs on one task can be compared, not on {' and '.join(tasks)}")
    return style.save(comparison_figure(agents), out.parent, out.stem)


def comparison_figure(agents: Sequence[Agent]) -> Figure:
    """One panel per run with all its skills, and its last metrics above."""
    episodes = [agent.episodes(EVALUATION_EPISODES) for agent in agents]
    planes = _planes(agents, episodes)

    def draw(axes: Axes, i: int) -> None:
        paths = real_paths(episodes[i], planes[i].project)
        draw_skills(axes, agents[i], paths, planes[i], range(agents[i].n_skill), 0.6)

    return runs_figure(planes, [_title(agent) for agent in agents], draw)


def _planes(agents: Sequence[Agent], episodes: Sequence[Episodes]) -> list[Plane]:
    """The first two features of each run's grid; without these, principal components of all runs' states together."""
    features = [feature_planes(agent) for agent in agents]
    if all(features):
        return [planes[0] for planes in features]
    flat = [jax.tree.map(lambda x: x.reshape(1, -1, *x.shape[2:]), rolled) for rolled in episodes]
    together = principal_components(jax.tree.map(lambda *x: jnp.concatenate(x, axis=1), *flat))
    return [component_plane(together, *(rolled.states for rolled in episodes))] * len(agents)


def _title(agent: Agent) -> str:
    name, metrics = f"{agent.config.method_in_paths}, seed {agent.config.seed}", metrics_of(agent)
    return f"{name}, {metrics[-1]['samples']:,} samples\n{headline(metrics[-1])}" if metrics else name
