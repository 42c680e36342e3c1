import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from leads.data.episodes import Episodes
from leads.report.run import figures, planes


def test_marks_stay_in_the_panel_and_paths_do_not_cross_it_where_an_angle_turns_over():
    plane = planes.Plane(np.asarray, np.array([-1.0, -3.0]), np.array([1.0, 3.0]))
    np.testing.assert_array_equal(plane.mark(np.array([0.5, 9.0])), [0.5, 3.0])
    path = np.array([[0.0, 2.8], [0.1, 2.9], [0.1, -2.9], [0.2, -2.8]])
    before, after = plane.lines(path)
    np.testing.assert_array_equal(before, path[:2])
    np.testing.assert_array_equal(after, path[2:])
    [whole] = plane.lines(path[:2])
    np.testing.assert_array_equal(whole, path[:2])


def test_features_without_names_are_numbered(agent):
    assert planes.feature_name(dataclasses.replace(agent.task, feature_names=()), 1) == "feature 1"


@pytest.mark.parametrize("size", [1, 2, 7])
def test_projection_keeps_what_varies_together_whatever_its_scale(size):
    axis = 10.0 ** np.arange(size)
    time = np.linspace(-1, 1, 6)[:, None]
    states = 5 + axis * (time + np.random.default_rng(0).normal(0, 0.01, (2, 3, 6, size)))
    lengths = np.full((2, 3), 4)
    done = Episodes(jnp.asarray(states), jnp.zeros((2, 3, 5, 1)), jnp.asarray(lengths), jnp.ones((2, 3), bool))
    project = planes.principal_components(done)
    points = project(states[:, :, :5])
    assert points.shape == (2, 3, 5, 2)
    expected = np.broadcast_to((time[:5, 0] - time[:5, 0].mean()) / time[:5, 0].std(), (2, 3, 5)) * size**0.5
    np.testing.assert_allclose(points[..., 0], expected, atol=0.15)
    assert np.abs(points[..., 1]).max() < 0.15


def test_states_that_never_move_are_drawn_too(open_agent, episodes):
    still = dataclasses.replace(episodes, states=jnp.zeros_like(episodes.states) + 0.5)
    plane = planes.component_plane(planes.principal_components(still), still.states)
    figures.skills_figure(open_agent, still, plane).canvas.draw()
