import numpy as np
import pytest
from matplotlib.colors import to_rgb

from leads.report import style
from leads.report.run import film


def test_skills_are_where_the_film_shows_them(agent):
    """The last picture has each skill's colour where its paths end."""
    episodes = agent.episodes(2)
    *_, last = film.maze_film(agent, episodes, 30)
    inches = film.MAZE_WIDTH - 2 * film.MARGIN, film.MARGIN, film.MAZE_HEAD
    side, margin, top = (film.DPI * length for length in inches)
    for skill, colour in enumerate(style.palette(agent.n_skill)):
        near = 0
        for x, y in np.asarray(episodes.states)[skill, :, -1]:
            column, row = int(margin + (x + 1) / 2 * side), int(top + (1 - y) / 2 * side)
            patch = last[row - 8 : row + 9, column - 8 : column + 9] / 255
            near += np.any(np.abs(patch - to_rgb(colour)).max(axis=-1) < 0.08)
        assert near > 0, f"skill {skill}"


def test_paths_in_time_keep_their_pace_and_stop_at_their_end():
    fast, short = np.linspace([0, 0], [1, 2], 11), np.linspace([0, 0], [0.5, 0], 6)
    places, alive, longest = film.paths_in_time([[fast], [short]], 30)
    assert longest == 10
    time = np.linspace(0, 10, 30)
    np.testing.assert_allclose(places[:, 0], np.stack([time / 10, time / 5], axis=1))
    np.testing.assert_allclose(places[:, 1, 0], np.minimum(time, 5) / 10)
    np.testing.assert_array_equal(alive[:, 1], time < 5)


def test_a_trail_fades_from_its_end():
    colours = np.asarray([[1.0, 0, 0], [0, 0, 1.0]])
    trail = film.fading(colours, 3).reshape(3, 2, 4)
    np.testing.assert_array_equal(trail[:, 1, :3], np.broadcast_to(colours[1], (3, 3)))
    assert (np.diff(trail[:, 0, 3]) > 0).all() and trail[-1, 0, 3] == 1
    assert len(film.fading(colours, 0)) == 0
    assert film.fading(colours, film.TRAIL)[0, 3] == pytest.approx(1 / film.TRAIL)


def test_segments_go_from_each_place_to_the_next():
    places = np.arange(12.0).reshape(3, 2, 2)
    np.testing.assert_array_equal(
        film.segments(places), [[places[t, i], places[t + 1, i]] for t in range(2) for i in range(2)]
    )
