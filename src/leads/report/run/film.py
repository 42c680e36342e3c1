"""What `leads skills` writes: a table of where each skill goes, and a film of all skills at once."""

import sys
from collections.abc import Iterator
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from leads.agent import Agent
from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.report import style
from leads.report.run import maze_film, robot_film, skill_table, video
from leads.rollouts.noise import Colour
from leads.training.checkpoint import write_whole
from leads.training.metrics import HEADLINE, Evaluation, compute
from leads.training.run import FILM

MOVING = 150
"""Pictures in which skills move, at most."""
MAZE_GIF_SIZES = ((480, 1), (400, 1), (320, 1), (240, 1))
ROBOT_GIF_SIZES = ((800, 1), (640, 1), (640, 2), (480, 2), (400, 2), (320, 2), (240, 2))
"""Larger, as every skill has a panel; but where cameras follow robots, all of every picture changes."""


def write_skills(agent: Agent, out: Path, episodes: int, noise: Colour | None = None) -> list[str]:
    """Rolls every skill out, writes skills.csv, .gif and .mp4, and returns the lines of the table and the files' paths.

    With noise of another colour than in evaluation, the files are named after it: skills_pink.csv. Where nothing can
    be rendered there is no film, and a line on stderr says why.
    """
    if episodes <= 0:
        raise UserError(f"episodes: {episodes} is not allowed; give a number above 0")
    name = "skills" if noise is None else f"skills_{noise}"
    files = {kind: out / f"{name}.{kind}" for kind in FILM}
    with style.writing_to(out):
        rolled = agent.episodes(episodes, noise=noise)
        rows = skill_table.table(agent, rolled)
        write_whole(files["csv"], skill_table.csv_of(rows))
        lines = [*skill_table.lines_of(agent.task, rows), _together(agent, rolled), f"table {files['csv']}"]
        try:
            video.write_video(files["mp4"], files["gif"], *_film(agent, rolled))
        except UserError as error:
            print(f"leads: no film; {error}", file=sys.stderr)
            return lines
    return [*lines, f"video {files['gif']}", f"video {files['mp4']}"]


def _together(agent: Agent, episodes: Episodes) -> str:
    """Metrics of all skills together."""
    visited = jnp.asarray(agent.visited), jnp.asarray(agent.visited_fine)
    numbers = compute((), Evaluation(agent.task, *visited, episodes, agent.targets()))
    shown = [metric for metric in HEADLINE if metric.of_skills]
    texts = [f"{metric.title} {numbers[metric.name]:.{metric.digits}f} {metric.unit}".strip() for metric in shown]
    return f"together: {', '.join(texts)}"


def _film(agent: Agent, episodes: Episodes) -> tuple[Iterator[np.ndarray], video.Palette, video.GifSizes]:
    """Pictures of skills in a maze; elsewhere as the environment renders the first episode of each."""
    colours = style.palette(agent.n_skill)
    if style.is_maze(agent.task):
        pictures = maze_film.film(agent, episodes, MOVING)
        return pictures, lambda _: video.drawn_palette(colours), MAZE_GIF_SIZES
    first = zip(np.asarray(episodes.actions)[:, 0], np.asarray(episodes.lengths)[:, 0], strict=True)
    pictures = robot_film.film(agent.task, [actions[:length] for actions, length in first], MOVING)
    return pictures, lambda small: video.adaptive_palette(small, colours), ROBOT_GIF_SIZES
