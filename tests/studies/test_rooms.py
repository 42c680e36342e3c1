"""Rooms of the Hard maze, by where episodes end."""

from pathlib import Path

import numpy as np


def test_a_skill_lives_where_three_in_ten_of_its_episodes_end(monkeypatch):
    """The first in the start's room; the second half in the top left, a fifth in the top right, else in between."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "studies")
    monkeypatch.setenv("XLA_FLAGS", "")
    from rooms import lived_in

    ends = np.zeros((2, 10, 2))
    ends[0] = -0.5
    ends[1, :5] = (0.0, 0.5)
    ends[1, 5:7] = (0.9, 0.9)
    ends[1, 7:] = (0.3, -0.3)
    assert lived_in(ends) == {"start": 1, "top left": 1, "top right": 0, "bottom": 0}
    ends[1] = (0.5, -0.9)
    assert lived_in(ends)["bottom"] == 1
