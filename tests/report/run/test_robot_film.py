"""Films and tables of skills that are not in a maze."""

import csv
import dataclasses
import itertools
from pathlib import Path
from typing import Any

import gymnasium
import imageio.v2 as imageio
import mujoco
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

import leads
from leads.cli import main
from leads.report import style
from leads.report.run import film, skills, video
from leads.tasks.task import no_environment

EPISODES = 3
STEPS = 12
"""Of an episode, here: rendering takes long without a graphics card."""
FINGER = ("proximal_angle", "distal_angle", "hinge_angle")


class Dot(gymnasium.Env):
    """A grey picture that actions make lighter; at its lightest the episode is over."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None):
        self.observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
        self.action_space = gymnasium.spaces.Box(0, 0.25, (1,), np.float32)
        self.render_mode = render_mode

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.light = 0.0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.light += float(action[0])
        return np.float32([self.light]), 0.0, self.light >= 1, False, {}

    def render(self) -> Any:
        return None if self.render_mode is None else np.full((20, 40, 3), round(200 * self.light), np.uint8)


class Undrawable(Dot):
    """Cannot draw, for a reason of two lines."""

    def render(self) -> Any:
        raise OSError("no pencil\nwhere is it?")


def dots(make: Any = Dot, horizon: int = 8) -> tuple[leads.Task, list[np.ndarray]]:
    """Three skills, of which the first stands still and each next one is faster: the task, and what they do."""
    task = leads.environment_task(make, horizon=horizon, name="dots")
    lengths = horizon, min(horizon, 8), min(horizon, 4)
    return task, [np.full((length, 1), speed, np.float32) for length, speed in zip(lengths, (-1, 0, 1), strict=True)]


def inside(picture: np.ndarray, skill: int, n_skill: int, panel: tuple[int, int]) -> np.ndarray:
    """The part of a film's picture that shows a skill, found by the colour around it."""
    width, height = panel
    colour = np.rint(255 * np.asarray(to_rgb(style.palette(n_skill)[skill])))
    y, x = np.nonzero(np.all(np.abs(picture - colour) < 2, axis=-1))
    left, right, bottom = x.min(), x.max() + 1, y.max() + 1
    border = (right - left - width) // 2
    assert border >= 3, "no border"
    return picture[bottom - border - height : bottom - border, left + border : left + border + width]


@pytest.fixture
def no_opengl(monkeypatch):
    def fail(*_):
        raise RuntimeError("no display")

    monkeypatch.setattr(mujoco, "Renderer", fail)


@pytest.fixture(scope="module")
def agent(finger_run) -> leads.Agent:
    """Three skills of the finger, in short episodes."""
    agent = leads.load(finger_run)
    agent.task = dataclasses.replace(agent.task, horizon=STEPS)
    return agent


@pytest.fixture(scope="module")
def written(agent, tmp_path_factory) -> tuple[Path, list[str]]:
    """(where, what was said) of a film of the finger, if there is OpenGL."""
    out = tmp_path_factory.mktemp("film")
    return out, skills.write_skills(agent, out, EPISODES)


def rows_in(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_has_the_features_that_are_counted(agent, written):
    episodes = agent.episodes(EPISODES)
    features = np.asarray(agent.task.features(episodes.states[:, :, -1])).mean(axis=1)
    targets = np.asarray(agent.task.features(agent.targets()))
    rows = rows_in(written[0] / "skills.csv")
    assert len(rows) == agent.n_skill
    for row, end, target in zip(rows, features, targets, strict=True):
        assert list(row) == [
            *("skill", *(f"end_{name}" for name in FINGER), "length", "ended", "cells", "own"),
            *(*(f"target_{name}" for name in FINGER), "reach"),
        ]
        assert [float(row[f"end_{name}"]) for name in FINGER] == pytest.approx(end, abs=1e-4)
        assert [float(row[f"target_{name}"]) for name in FINGER] == pytest.approx(target, abs=1e-4)
        assert float(row["length"]) == STEPS and float(row["ended"]) == 0 and int(row["cells"]) > 0


def test_the_lines_say_what_points_are_made_of(agent, written, together, opengl):
    out, lines = written
    head, *rows = lines[: 1 + agent.n_skill]
    assert head.split() == ["skill", "mean", "end", "length", "ended", "cells", "own", "target", "reach"]
    assert len({len(line) for line in (head, *rows)}) == 1, "columns do not line up"
    for line, row in zip(rows, rows_in(out / "skills.csv"), strict=True):
        assert "({})".format(", ".join(f"{float(row[f'end_{name}']):5.2f}" for name in FINGER)) in line
    assert lines[1 + agent.n_skill :] == [
        "mean end and target: proximal angle, distal angle, hinge angle",
        together(agent, EPISODES),
        *(f"{kind} {out / name}" for kind, name in (("table", "skills.csv"), ("video", "skills.gif"))),
        f"video {out / 'skills.mp4'}",
    ]
    assert {path.name for path in out.iterdir()} == {"skills.csv", "skills.gif", "skills.mp4"}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # imageio's reader leaves pipes open
def test_the_mp4_shows_every_skill_moving(agent, written, opengl):
    with imageio.get_reader(written[0] / "skills.mp4") as reader:
        data = reader.get_meta_data()
        pictures = [picture for picture in reader]  # a list would ask for its length, which is not known
    assert data["fps"] == video.FPS
    assert all(side % 16 == 0 for side in data["size"])
    assert len(pictures) == agent.task.horizon + video.HELD
    first, moved, last = (pictures[i].astype(int) for i in (0, agent.task.horizon, -1))
    assert np.abs(moved - last).mean() < 1, "the end does not stand still"
    height, width = (side // 2 for side in first.shape[:2])
    quarters = [(slice(y, y + height), slice(x, x + width)) for y in (0, height) for x in (0, width)]
    for quarter in quarters[: agent.n_skill]:
        assert np.abs(first[quarter] - last[quarter]).max() > 100


def test_the_gif_is_light_and_moves(agent, written, opengl):
    path = written[0] / "skills.gif"
    assert path.stat().st_size < video.GIF_BYTES
    with Image.open(path) as gif:
        assert gif.n_frames == agent.task.horizon + 1
        assert gif.info["loop"] == 0 and gif.width == skills.ROBOT_GIF_SIZES[0][0]
        pictures = []
        for i in range(gif.n_frames):
            gif.seek(i)
            pictures.append(np.asarray(gif.convert("RGB")))
    assert tuple(pictures[0][0, 0]) == (255, 255, 255)
    assert all(np.any(before != now) for before, now in itertools.pairwise(pictures))


def test_panels_show_what_each_skill_does(agent, opengl):
    """All begin alike, and end as their first episode of the table did."""
    rolled = agent.episodes(2)
    actions = list(np.asarray(rolled.actions)[:, 0])
    first, *_, last = film.rendered_film(agent.task, actions, skills.MOVING)
    panel = film.WIDTH // 2 - film.GAP - film.GAP // 2
    environment = agent.task.make(render_mode="rgb_array")
    ends = []
    for skill in range(agent.n_skill):
        environment.reset()
        begin, observation = environment.render(), None
        for action in actions[skill]:
            observation, *_ = environment.step(action)
        np.testing.assert_array_equal(observation, rolled.states[skill, 0, -1])
        ends.append(environment.render())
        for picture, rendered in ((first, begin), (last, ends[-1])):
            height = round(panel * rendered.shape[0] / rendered.shape[1])
            shown = inside(picture, skill, agent.n_skill, (panel, height))
            expected = Image.fromarray(rendered).resize((panel, height), Image.Resampling.LANCZOS)
            np.testing.assert_array_equal(shown, np.asarray(expected))
    environment.close()
    for a, b in itertools.combinations(ends, 2):
        assert np.any(a != b), "two skills do the same"


def test_skills_that_are_over_wait_for_the_others_and_fade():
    """In steps of 0, 1/8 and 1/4 the three are over after 12 (the horizon), 8 and 4 steps."""
    pictures = list(film.rendered_film(*dots(horizon=12), 30))
    assert len(pictures) == 13
    width = film.WIDTH // 2 - film.GAP - film.GAP // 2
    light = lambda k, skill: inside(pictures[k], skill, 3, (width, width // 2)).mean()
    for k in range(13):
        assert light(k, 0) == 0
        assert light(k, 1) == (25 * k if k <= 8 else pytest.approx(227.5, abs=0.5))
        assert light(k, 2) == (50 * k if k <= 4 else pytest.approx(227.5, abs=0.5))


@pytest.mark.parametrize(
    "horizon, at_most, expected", [(12, 13, 13), (12, 12, 7), (12, 4, 4), (50, 150, 51), (7, 4, 4)]
)
def test_long_episodes_skip_steps_but_not_the_end(horizon, at_most, expected, monkeypatch):
    times = []
    blank = lambda page, step: times.append(step) or np.zeros((999, 999, 3), np.uint8)
    monkeypatch.setattr(film.Page, "picture", blank)
    assert len(list(film.rendered_film(*dots(horizon=horizon), at_most))) == expected <= at_most
    assert times[0] == 0 and times[-1] == horizon


@pytest.mark.parametrize("n_skill, shape", [(1, (1, 1)), (6, (2, 3)), (12, (3, 4)), (30, (5, 6))])
def test_the_grid_is_about_square_and_fits_its_page(n_skill, shape):
    picture = next(film.rendered_film(dots()[0], n_skill * [np.full((8, 1), -1, np.float32)], 9))
    assert all(side % film.BLOCK == 0 for side in picture.shape[:2])
    assert picture.shape[1] <= film.WIDTH + film.BLOCK
    black = np.all(picture == 0, axis=-1)  # the panels' contents, and nothing else
    for axis, panels in enumerate(shape):
        edges = np.diff(black.any(axis=1 - axis).astype(int), prepend=0, append=0)
        assert (edges == 1).sum() == panels
        assert not black.take((0, -1), axis).any()


def test_without_opengl_there_is_a_table_and_a_line_that_says_why(agent, tmp_path, no_opengl, monkeypatch, capsys):
    monkeypatch.setattr(leads, "load", lambda run_dir: agent)
    main(["skills", str(tmp_path), "--episodes", str(EPISODES)])  # does not exit
    said, error = capsys.readouterr()
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["skills.csv"]
    assert said.splitlines()[-1] == f"table {tmp_path / 'figures' / 'skills.csv'}" and said.startswith("skill ")
    assert error.startswith("leads: no film; rendering: no OpenGL without a screen (no display); ")
    assert error.count("\n") == 1 and error.endswith("\n")


@pytest.mark.parametrize(
    "make, reason",
    [
        (lambda: Dot(), "the environment draws no pictures (rgb_array)"),
        (Undrawable, "the environment cannot be drawn (no pencil)"),
    ],
)
def test_environments_that_cannot_be_drawn_are_user_errors(make, reason):
    with pytest.raises(leads.UserError) as error:
        next(film.rendered_film(*dots(make), 9))
    assert str(error.value) == f"rendering: {reason}"


def test_a_task_of_jax_functions_only_is_not_rendered():
    task, actions = dots()
    with pytest.raises(leads.UserError, match=r"^task: it has no Gymnasium environment"):
        next(film.rendered_film(dataclasses.replace(task, make=no_environment), actions, 9))


def test_features_without_names_are_numbered(tiny_run, tmp_path):
    """A maze without walls to draw is rendered by its environment as any task is."""
    agent = leads.load(tiny_run)
    agent.task = dataclasses.replace(agent.task, walls=None, feature_names=(), horizon=3)
    lines = skills.write_skills(agent, tmp_path, 2)
    assert "mean end and target: feature 0, feature 1" in lines
    assert {"end_feature_0", "target_feature_1", "ended"} <= rows_in(tmp_path / "skills.csv")[0].keys()
    with Image.open(tmp_path / "skills.gif") as gif:
        assert gif.n_frames == 4
