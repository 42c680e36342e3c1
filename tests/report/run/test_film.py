import csv
import io
import itertools

import imageio.v2 as imageio
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

import leads
from leads.report import style
from leads.report.run import film as video
from leads.training.evaluation import evaluate

EPISODES = 12


@pytest.fixture(scope="module")
def agent(tiny_agent):
    return tiny_agent


@pytest.fixture(scope="module")
def written(agent, tmp_path_factory):
    """(where, what was said) of one film at full length."""
    out = tmp_path_factory.mktemp("film") / "deep" / "er"
    return out, video.write_skills(agent, out, EPISODES)


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
    targets = np.asarray(agent.method.targets(agent.state))
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


def test_the_lines_are_the_table_and_the_files(agent, written):
    out, lines = written
    head, *rows = lines[: 1 + agent.n_skill]
    assert head.split() == ["skill", "mean", "end", "length", "at", "wall", "cells", "own", "target", "reach"]
    assert len({len(line) for line in (head, *rows)}) == 1, "columns do not line up"
    for line, row in zip(rows, rows_in(out / "skills.csv"), strict=True):
        assert int(line.split()[0]) == int(row["skill"])
        assert line.endswith(f"{float(row['reach']):.0%}")
        assert f"({float(row['end_x']):5.2f}, {float(row['end_y']):5.2f})" in line
    numbers = evaluate(agent.task, agent.episodes(EPISODES), None)
    assert lines[1 + agent.n_skill :] == [
        f"together: skill coverage {numbers['skill_coverage']:.1f} %, distinctness {numbers['distinctness']:.2f}",
        f"table {out / 'skills.csv'}",
        f"video {out / 'skills.gif'}",
        f"video {out / 'skills.mp4'}",
    ]
    assert {path.name for path in out.iterdir()} == {"skills.csv", "skills.gif", "skills.mp4"}


def test_the_gif_is_light_and_moves(written):
    path = written[0] / "skills.gif"
    assert path.stat().st_size < 3_000_000
    with Image.open(path) as gif:
        assert gif.n_frames == video.MOVING
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
        assert data["size"] == (video.WIDTH * video.DPI, video.HEIGHT * video.DPI)
        assert 6 <= data["duration"] <= 8
        kept = {i: picture.astype(int) for i, picture in enumerate(reader) if i % (video.MOVING - 1) == 0 or i > 170}
    first, moved, last = kept[0], kept[video.MOVING - 1], kept[video.MOVING + video.HELD - 2]
    assert max(kept) == video.MOVING + video.HELD - 2
    assert np.abs(first - last).max() > 100
    assert np.abs(moved - last).mean() < 1, "the end does not stand still"


def test_skills_are_where_the_film_shows_them(agent):
    """The last picture has each skill's colour where its paths end."""
    episodes = agent.episodes(2)
    *_, last = video.film(agent, episodes)
    side, margin, top = (video.WIDTH - 0.3) * video.DPI, 0.15 * video.DPI, 0.47 * video.DPI
    for skill, colour in enumerate(style.palette(agent.n_skill)):
        near = 0
        for x, y in np.asarray(episodes.states)[skill, :, -1]:
            column, row = int(margin + (x + 1) / 2 * side), int(top + (1 - y) / 2 * side)
            patch = last[row - 8 : row + 9, column - 8 : column + 9] / 255
            near += np.any(np.abs(patch - to_rgb(colour)).max(axis=-1) < 0.08)
        assert near > 0, f"skill {skill}"


def test_paths_in_time_keep_their_pace_and_stop_at_their_end():
    fast, short = np.linspace([0, 0], [1, 2], 11), np.linspace([0, 0], [0.5, 0], 6)
    places, alive, longest = video._in_time([[fast], [short]])
    assert longest == 10
    time = np.linspace(0, 10, video.MOVING)
    np.testing.assert_allclose(places[:, 0], np.stack([time / 10, time / 5], axis=1))
    np.testing.assert_allclose(places[:, 1, 0], np.minimum(time, 5) / 10)
    np.testing.assert_array_equal(alive[:, 1], time < 5)


def test_a_trail_fades_from_its_end():
    colours = np.asarray([[1.0, 0, 0], [0, 0, 1.0]])
    trail = video._fading(colours, 3).reshape(3, 2, 4)
    np.testing.assert_array_equal(trail[:, 1, :3], np.broadcast_to(colours[1], (3, 3)))
    assert (np.diff(trail[:, 0, 3]) > 0).all() and trail[-1, 0, 3] == 1
    assert len(video._fading(colours, 0)) == 0
    assert video._fading(colours, video.TRAIL)[0, 3] == pytest.approx(1 / video.TRAIL)


def test_segments_go_from_each_place_to_the_next():
    places = np.arange(12.0).reshape(3, 2, 2)
    np.testing.assert_array_equal(
        video._segments(places), [[places[t, i], places[t + 1, i]] for t in range(2) for i in range(2)]
    )


def test_a_gif_shows_every_picture_as_it_is():
    colours = style.palette(6)
    rng = np.random.default_rng(0)
    pictures = [np.full((20, 30, 3), 255, np.uint8)]
    for _ in range(5):
        picture = pictures[-1].copy()
        picture[rng.integers(20), rng.integers(30)] = np.rint(255 * np.asarray(to_rgb(colours[rng.integers(6)])))
        pictures.append(picture)
    data = video._gif([Image.fromarray(picture) for picture in pictures], video._gif_palette(colours), 40)
    with Image.open(io.BytesIO(data)) as gif:
        for i, picture in enumerate(pictures):
            gif.seek(i)
            np.testing.assert_array_equal(np.asarray(gif.convert("RGB")), picture)


def test_a_gif_that_would_be_heavy_becomes_smaller(monkeypatch):
    rng = np.random.default_rng(0)
    pictures = [Image.fromarray(rng.integers(0, 255, (510, 480, 3), dtype=np.uint8)) for _ in range(3)]
    palette = video._gif_palette(style.palette(6))
    heavy = len(video._gif(pictures, palette, 40))
    monkeypatch.setattr(video, "GIF_BYTES", heavy)
    light = video._light_gif(pictures, palette, video.GIF_SIZES)
    assert len(light) < heavy
    assert int.from_bytes(light[6:8], "little") == video.GIF_SIZES[1][0]


@pytest.mark.parametrize("n_skill", [1, 6, 12, 50, 300])
def test_a_gif_has_all_skills_colours_and_white(n_skill):
    colours = style.palette(n_skill)
    palette = np.reshape(video._gif_palette(colours).getpalette(), (-1, 3))
    assert len(palette) <= video.CLEAR
    wanted = np.rint(255 * np.asarray([(1, 1, 1), *map(to_rgb, colours[:119])]))
    for colour in wanted:
        assert np.abs(palette - colour).sum(axis=1).min() == 0


def test_skills_are_rolled_out_with_the_noise_that_is_asked_for(agent, written, tmp_path, monkeypatch):
    monkeypatch.setattr(video, "MOVING", 30)
    video.write_skills(agent, tmp_path, EPISODES, "white")
    video.write_skills(agent, tmp_path, EPISODES, "pink")
    tables = (tmp_path / "skills_white.csv", tmp_path / "skills_pink.csv", written[0] / "skills.csv")
    white, pink, as_evaluated = map(rows_in, tables)
    assert not list(tmp_path.glob("skills.*")), "they are no report's film"
    assert white == as_evaluated != pink
    assert pink == [
        {k: "" if v is None else str(v) for k, v in row.items()}
        for row in video.table(agent, agent.episodes(EPISODES, noise="pink"))
    ]


def test_the_control_has_no_targets_in_its_table(random_run, tmp_path, monkeypatch):
    monkeypatch.setattr(video, "MOVING", 30)
    lines = video.write_skills(leads.load(random_run), tmp_path, 2)
    assert lines[0].split()[-1] == "own"
    rows = rows_in(tmp_path / "skills.csv")
    assert all(row["target_x"] == row["target_y"] == row["reach"] == "" for row in rows)
    with Image.open(tmp_path / "skills.gif") as gif:
        assert gif.n_frames == 30


def test_bad_arguments_are_user_errors(agent, tmp_path):
    with pytest.raises(leads.UserError, match="episodes: 0 is not allowed"):
        video.write_skills(agent, tmp_path, 0)
    (tmp_path / "file").touch()
    with pytest.raises(leads.UserError, match="cannot be written"):
        video.write_skills(agent, tmp_path / "file", 2)
