"""The tiny agent as figures see it, in its maze and without walls."""

import copy
import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes

import leads
from leads.data.episodes import Episodes
from leads.training import grid
from leads.training.train import EVALUATION_EPISODES


@pytest.fixture
def agent(tiny_agent) -> leads.Agent:
    """To be changed by a test."""
    return copy.copy(tiny_agent)


@pytest.fixture
def open_agent(agent) -> leads.Agent:
    """The agent on a task of two features that is not a maze, with the same states."""
    agent.task = dataclasses.replace(agent.task, walls=None, feature_names=("left", "up"), high=np.array([1.0, 2.0]))
    return agent


@pytest.fixture(scope="session")
def episodes(tiny_agent) -> Episodes:
    return tiny_agent.episodes(EVALUATION_EPISODES)


@pytest.fixture
def run_copy(tiny_run, tmp_path) -> Path:
    return Path(shutil.copytree(tiny_run, tmp_path / "run", ignore=shutil.ignore_patterns("figures")))


@pytest.fixture(scope="session")
def together():
    """The line about all skills together below a table of so many episodes each."""

    def line(agent: leads.Agent, n_episode: int) -> str:
        visits = grid.counts(agent.task, agent.episodes(n_episode), agent.task.bins)
        coverage, distinctness = 100 * np.mean(np.any(visits > 0, axis=0)), float(grid.distinctness(visits))
        return f"together: skill coverage {coverage:.1f} %, distinctness {distinctness:.2f}"

    return line


@pytest.fixture(scope="session")
def panels():
    """The axes of a figure that are named after a skill."""

    def named(figure) -> list[Axes]:
        return [axes for axes in figure.axes if axes.get_title().startswith("skill ")]

    return named
