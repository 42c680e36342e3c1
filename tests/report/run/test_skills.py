import csv
import itertools

import imageio.v2 as imageio
import numpy as np
import pytest
from PIL import Image

import leads
from leads.report.run import film, skills, video

EPISODES = 12


@pytest.fixture(scope="module")
def agent(tiny_agent):
    return tiny_agent


@pytest.fixture(scope="module")
def written(agent, tmp_path_factory):
    """(where, what was said) of one film at full length."""
    out = tmp_path_factory.mktemp("film") / "deep" / "er"
    return out, skills.write_skills(agent, out, EPISODES)


def rows_in(path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def cell(states: np.ndarray) -> np.ndarray:
    """The cells of a 10 x 10 grid on [-1, 1]^2."""
    column, row = np.moveaxis(np.clip(np.floor((states + 1) * 5).astype(int), 0, 9), -1, 0)
    return 10 * column + row


def test_the_table_says_where_each_skill_goes(agent, written):
    episodes = agent.episodes(EPISODES)
    states, lengths = np.asarray(episodes.states), np.asarray(episodes.lengths)
    targets = np.asarray(agent.targets())
    paths = [[s[1 : n + 1] for s, n in zip(states[z], lengths[z], strict=True)] for z in range(agent.n_skill)]
    visits = np.stack([np.bincount(cell(np.concatenate(skill)), minlength=100) for skill in paths])
    rows = rows_in(written[0] / "skills.csv")
    assert len(rows) == agent.n_skill
    for z, row in enumerate(rows):
        others = np.delete(visits, z, axis=0).max(axis=0)
        end = np.mean([path[-1] for path in paths[z]], axis=0)
        expected = {
            "skill": z,
            "end_x": end[0],
            "end_y": end[1],
            "length": lengths[z].mean(),
            "ended_at_wall": np.mean(np.asarray(episodes.terminated)[z]),
            "cells": len(np.unique(cell(np.concatenate(paths[z])))),
            "own": visits[z][visits[z] >= others].sum() / visits[z].sum(),
            "target_x": targets[z, 0],
            "target_y": targets[z, 1],
            "reach": np.mean([cell(targets[z]) in cell(path) for path in paths[z]]),
        }
        assert list(row) == list(expected)
        assert {name: float(value) for name, value in row.items()} == pytest.approx(expected, abs=1e-4)


def test_the_lines_are_the_table_and_the_files(agent, written, together):
    out, lines = written
    head, *rows = lines[: 1 + agent.n_skill]
    assert head.split() == ["skill", "mean", "end", "length", "at", "wall", "cells", "own", "target", "reach"]
    assert len({len(line) for line in (head, *rows)}) == 1, "columns do not line up"
    for line, row in zip(rows, rows_in(out / "skills.csv"), strict=True):
        assert int(line.split()[0]) == int(row["skill"])
        assert line.endswith(f"{float(row['reach']):.0%}")
        assert f"({float(row['end_x']):5.2f}, {float(row['end_y']):5.2f})" in line
    assert lines[1 + agent.n_skill :] == [
        together(agent, EPISODES),
        f"table {out / 'skills.csv'}",
        f"video {out / 'skills.gif'}",
        f"video {out / 'skills.mp4'}",
    ]
    assert {path.name for path in out.iterdir()} == {"skills.csv", "skills.gif", "skills.mp4"}


def test_the_gif_is_light_and_moves(written):
    path = written[0] / "skills.gif"
    assert path.stat().st_size < 3_000_000
    with Image.open(path) as gif:
        assert gif.n_frames == skills.MOVING
        assert gif.info["loop"] == 0
        milliseconds, pictures = 0, []
        for i in range(gif.n_frames):
            gif.seek(i)
            milliseconds += gif.info["duration"]
            pictures.append(np.asarray(gif.convert("RGB")))
    assert 6000 <= milliseconds <= 8000
    assert tuple(pictures[0][0, 0]) == (255, 255, 255)
    changed = [np.any(a != b, axis=-1).mean() for a, b in itertools.pairwise(pictures)]
    assert min(changed) > 0 and max(changed) < 0.2


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # imageio's reader leaves pipes open
def test_the_mp4_can_be_read(written):
    with imageio.get_reader(written[0] / "skills.mp4") as reader:
        data = reader.get_meta_data()
        assert data["fps"] == video.FPS
        assert data["size"] == (film.MAZE_WIDTH * film.DPI, film.MAZE_HEIGHT * film.DPI)
        assert 6 <= data["duration"] <= 8
        kept = {i: picture.astype(int) for i, picture in enumerate(reader) if i % (skills.MOVING - 1) == 0 or i > 170}
    first, moved, last = kept[0], kept[skills.MOVING - 1], kept[skills.MOVING + video.HELD - 2]
    assert max(kept) == skills.MOVING + video.HELD - 2
    assert np.abs(first - last).max() > 100
    assert np.abs(moved - last).mean() < 1, "the end does not stand still"


def test_skills_are_rolled_out_with_the_noise_that_is_asked_for(agent, written, tmp_path, monkeypatch):
    monkeypatch.setattr(skills, "MOVING", 30)
    skills.write_skills(agent, tmp_path, EPISODES, "white")
    skills.write_skills(agent, tmp_path, EPISODES, "pink")
    tables = (tmp_path / "skills_white.csv", tmp_path / "skills_pink.csv", written[0] / "skills.csv")
    white, pink, as_evaluated = map(rows_in, tables)
    assert not list(tmp_path.glob("skills.*")), "they are no report's film"
    assert white == as_evaluated != pink
    assert pink == [
        {k: "" if v is None else str(v) for k, v in row.items()}
        for row in skills.table(agent, agent.episodes(EPISODES, noise="pink"))
    ]


def test_the_control_has_no_targets_in_its_table(random_run, tmp_path, monkeypatch):
    monkeypatch.setattr(skills, "MOVING", 30)
    lines = skills.write_skills(leads.load(random_run), tmp_path, 2)
    assert lines[0].split()[-1] == "own"
    rows = rows_in(tmp_path / "skills.csv")
    assert all(row["target_x"] == row["target_y"] == row["reach"] == "" for row in rows)
    with Image.open(tmp_path / "skills.gif") as gif:
        assert gif.n_frames == 30


def test_bad_arguments_are_user_errors(agent, tmp_path):
    with pytest.raises(leads.UserError, match="episodes: 0 is not allowed"):
        skills.write_skills(agent, tmp_path, 0)
    with pytest.raises(leads.UserError, match=r"^episodes: 1000000000 needs .* of memory or more; there are "):
        skills.write_skills(agent, tmp_path / "many", 10**9)
    assert not (tmp_path / "many").exists()
    (tmp_path / "file").touch()
    with pytest.raises(leads.UserError, match="cannot be written"):
        skills.write_skills(agent, tmp_path / "file", 2)
