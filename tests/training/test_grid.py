"""The published numbers, against hand-counted cases."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from leads.tasks import make_task
from leads.training import grid

TASK = make_task("maze-easy")


def test_cells_are_numbered_row_by_row_and_clipped_at_the_border():
    points = jnp.asarray([[-1.0, -1.0], [-0.79, -1.0], [-1.0, -0.79], [1.0, 1.0], [5.0, -5.0], [0.01, 0.01]])
    assert grid.cells(TASK, points, 10).tolist() == [0, 10, 1, 99, 90, 55]


def test_coverage_counts_real_steps_only_and_not_the_start(walked):
    run = walked([[[(0.1, 0.1), (0.3, 0.1), (0.5, 0.1)]], [[(0.1, 0.1), (-0.3, 0.1)]]])
    visited = grid.visit(TASK, run, jnp.zeros(100, bool), 10)
    assert jnp.flatnonzero(visited).tolist() == [35, 65, 75]
    assert float(grid.percent(visited)) == 3.0
    again = grid.visit(TASK, run, visited, 10)
    assert bool(jnp.all(again == visited))


def test_distinctness_by_hand():
    apart = jnp.asarray([[4.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    alike = jnp.asarray([[4.0, 4.0], [1.0, 1.0]])
    half = jnp.asarray([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])  # I = log 2 / 2 by hand
    assert float(grid.distinctness(apart)) == pytest.approx(1.0)
    assert float(grid.distinctness(alike)) == pytest.approx(0.0, abs=1e-6)
    assert float(grid.distinctness(half)) == pytest.approx(0.5)


@given(arrays(np.float32, (6, 12), elements=st.integers(0, 50).map(float)))
def test_distinctness_is_entropy_minus_conditional_entropy(counts):
    counts[:, 0] += 1  # every skill has been somewhere
    p = counts.astype(np.float64) / counts.sum(1, keepdims=True)
    entropy = lambda q: -np.sum(np.where(q > 0, q * np.log(np.where(q > 0, q, 1)), 0), axis=-1)
    expected = (entropy(p.mean(0)) - entropy(p).mean()) / np.log(6)
    assert float(grid.distinctness(jnp.asarray(counts))) == pytest.approx(expected, abs=2e-5)


def test_skills_weigh_equally_however_long_they_live_and_padding_counts_for_nothing(walked):
    long_and_short = walked(
        [[[(0.1, 0.1)] + [(0.3, 0.1)] * 9], [[(0.1, 0.1), (-0.3, 0.1)]]]  # nine steps against one
    )
    count = grid.counts(TASK, long_and_short, 10)
    assert float(grid.distinctness(count)) == pytest.approx(1.0)
    assert int(jnp.sum(jnp.any(count > 0, axis=0))) == 2
    assert float(grid.reach(TASK, long_and_short, jnp.asarray([[0.3, 0.1], [0.9, 0.9]]))) == 0.5


def test_reach_is_the_share_of_episodes_that_visit_the_target_cell(walked):
    run = walked([[[(0.1, 0.1), (0.3, 0.1)], [(0.1, 0.1), (0.1, 0.3)]]])
    assert float(grid.reach(TASK, run, jnp.asarray([[0.25, 0.15]]))) == 0.5
