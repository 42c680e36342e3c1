import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

import leads
from leads.report.run import planes
from leads.report.run.learnt import learnt_figures, measure_figure, uncertainty_figure


def test_the_measure_is_drawn_where_it_is(panels, agent):
    figure = measure_figure(agent, planes.maze_plane(agent.task))
    for skill, axes in enumerate(panels(figure)):
        image = np.asarray(axes.images[0].get_array())
        assert image.min() == 0 and image.max() == 1
        row, column = np.unravel_index(image.argmax(), image.shape)
        # the middle of pixel (column, row) of a 100 x 100 image with its origin at the lower left of [-1, 1]^2
        here = np.asarray([-0.99 + 0.02 * column, -0.99 + 0.02 * row], np.float32)
        everywhere = np.stack(np.meshgrid(*2 * [np.linspace(-0.99, 0.99, 50)]), axis=-1).astype(np.float32)
        m = agent.measure(agent.task.start, everywhere, skill)
        assert agent.measure(agent.task.start, here, skill) >= m.max() * (1 - 1e-5)
        left, right, bottom, top = axes.images[0].get_extent()
        assert (left, right, bottom, top) == (-1, 1, -1, 1)


def test_uncertainty_is_scaled_and_has_the_target(panels, agent):
    figure = uncertainty_figure(agent, planes.maze_plane(agent.task))
    targets = np.asarray(agent.targets())
    for skill, axes in enumerate(panels(figure)):
        image = axes.images[0].get_array()
        assert np.isfinite(image).all() and image.min() == 0 and image.max() == 1
        # two pixels per cell of the fine grid, whose cells are numbered x first
        np.testing.assert_array_equal(image.mask[::2, ::2], ~agent.visited_fine.reshape(50, 50).T)
        np.testing.assert_allclose(axes.lines[-1].get_xydata()[0], targets[skill])


@pytest.mark.parametrize("where", ["components", "features"])
def test_archived_states_have_the_colours_of_what_was_learnt(panels, open_agent, episodes, where):
    archived = np.asarray(open_agent.method.landmarks(open_agent.state))
    [plane] = planes.feature_planes(open_agent)
    if where == "components":
        plane = planes.component_plane(planes.principal_components(episodes), archived)
    targets = np.asarray(open_agent.targets())
    expected = {
        measure_figure: [open_agent.measure(open_agent.task.start, archived, skill) for skill in range(6)],
        uncertainty_figure: np.asarray(open_agent.method.uncertainty(open_agent.state, archived)),
    }
    for draw, values in expected.items():
        for skill, axes in enumerate(panels(draw(open_agent, plane))):
            [drawn] = axes.collections
            low, high = np.min(values[skill]), np.max(values[skill])
            by_place = {
                tuple(place): value for place, value in zip(plane.project(archived), values[skill], strict=True)
            }
            found = np.asarray([by_place[tuple(place)] for place in np.asarray(drawn.get_offsets())])
            np.testing.assert_allclose(drawn.get_array(), (found - low) / (high - low), atol=1e-5)
            assert np.all(np.diff(drawn.get_array()) >= 0), "the highest lie on top"
            marked = [line.get_xydata()[0] for line in axes.lines]
            np.testing.assert_allclose(marked[0], plane.mark(open_agent.task.start))
            if draw is uncertainty_figure:
                np.testing.assert_allclose(marked[1], plane.mark(targets[skill]), rtol=1e-5)


def test_only_what_was_learnt_is_drawn(agent, random_run):
    assert list(learnt_figures(agent)) == ["measure", "uncertainty"]
    assert not learnt_figures(leads.load(random_run))
    method, of = agent.method, ("config", "act", "targets", "uncertainty")
    agent.method = SimpleNamespace(**{name: getattr(method, name) for name in of})
    assert list(learnt_figures(agent)) == ["uncertainty"]
    agent.task = dataclasses.replace(agent.task, walls=None)
    assert not learnt_figures(agent), "without a measure or a maze there are no points to draw it at"
