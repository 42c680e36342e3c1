import dataclasses
import itertools

import numpy as np
import pytest

import leads
from leads.report import style

KINDS_OF_VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "tritanopia": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
"""What becomes of linear RGB, after Machado, Oliveira and Fernandes (2009)."""


def test_a_place_that_cannot_be_written_is_a_user_error(tmp_path):
    (tmp_path / "figures").write_text("in the way")
    with pytest.raises(leads.UserError, match="figures cannot be written"):
        style.save(style.new_figure(1, 1), tmp_path / "figures", "skills")


def test_a_users_maze_is_called_after_its_file(tiny_agent):
    task = dataclasses.replace(tiny_agent.task, name="maze:/somewhere/my $x$ rooms.json")
    assert style.task_name(task) == "my $x$ rooms"
    figure = style.new_figure(3, 3)
    style.title(figure, "lone $ and $^{")
    figure.canvas.draw()


@pytest.mark.parametrize("n_skill", [1, 2, 3, 5, 6, 12, 20])
def test_every_skill_has_its_own_colour_and_panel(n_skill):
    assert len(set(style.palette(n_skill))) == n_skill
    for aspect in (2 / 3, 1.5):
        rows, columns = style.rows_and_columns(n_skill, aspect)
        assert rows * columns >= n_skill > (rows - 1) * columns


@pytest.mark.parametrize("vision", KINDS_OF_VISION)
def test_twelve_colours_are_told_apart(vision):
    """CIELAB distances above 15 are far more than the 2.3 that are just noticeable."""
    rgb = np.asarray([[int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)] for colour in style.palette(12)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.asarray(KINDS_OF_VISION[vision]).T, 0, 1)
    xyz = seen @ np.asarray([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    f = np.cbrt(xyz / [0.9505, 1.0, 1.0888])
    lab = np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(lab, 2)) > 15
    assert lab[:, 0].max() < 80, "too pale on white"


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (950, "950"), (20_000, "20k"), (1_500_000, "1.5M")])
def test_short_numbers(number, text):
    assert style.short(number) == text
