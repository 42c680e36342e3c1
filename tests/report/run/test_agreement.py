import copy
import dataclasses

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from leads.config.fields import build
from leads.data.episodes import Episodes
from leads.methods.leads import Leads
from leads.report.run import agreement

HALVES = np.array([0.5, 0.5, 0.0, 0.0])


@pytest.fixture
def line_task(agent):
    """Four cells in a row: [0, 1), [1, 2), [2, 3), [3, 4]."""
    box = {"low": np.array([0.0]), "high": np.array([4.0]), "start": np.zeros(1)}
    return dataclasses.replace(agent.task, walls=None, features=lambda s: s, bins=4, horizon=3, **box)


def test_alike_and_apart():
    p = np.array([0.7, 0.2, 0.1, 0.0])
    assert agreement.total_variation(p, p) == 0 and agreement.correlation(p, p) == 1
    assert agreement.total_variation(HALVES, HALVES[::-1]) == 1
    assert agreement.correlation(HALVES, HALVES[::-1]) == -1


def test_total_variation_by_hand():
    # (|.7 - .5| + |.2 - .5| + |.1 - 0|) / 2
    assert agreement.total_variation(np.array([0.7, 0.2, 0.1, 0.0]), HALVES) == pytest.approx(0.3)


def test_correlation_is_of_logs_above_the_floor():
    floor = agreement.FLOOR
    p, q = np.array([0.9, 0.1 - 1e-6, 1e-6, 0.0]), np.array([0.5, 0.25, 0.25, 1e-9])
    # the last cell is empty by both
    x, y = np.log([0.9, 0.1 - 1e-6, floor]), np.log([0.5, 0.25, 0.25])
    x, y = x - x.mean(), y - y.mean()
    assert agreement.correlation(p, q) == pytest.approx((x @ y) / np.sqrt((x @ x) * (y @ y)), abs=1e-4)


@pytest.mark.parametrize("p", [np.array([1.0, 0.0, 0.0, 0.0]), HALVES])
def test_what_does_not_vary_has_no_correlation(p):
    assert agreement.correlation(p, p) is None


@pytest.mark.parametrize("futures", ["uniform", "geometric"])
@pytest.mark.parametrize("mc_weight", [0.0, 0.3, 1.0])
def test_weights_of_time_are_the_mixture_of_futures(tiny_agent, futures, mc_weight):
    options = {"futures": futures, "mc_weight": mc_weight, "measure_discount": 0.9}
    weights = Leads(build(Leads.Config, options), tiny_agent.task).future_weights(5)
    for k in range(1, 6):
        geometric = 0.1 * 0.9 ** (k - 1)
        monte_carlo = 1 / 5 if futures == "uniform" else geometric
        assert weights[k - 1] == pytest.approx(mc_weight * monte_carlo + (1 - mc_weight) * geometric)


def test_occupancy_counts_weighted_steps(line_task):
    """The first skill's episode lives; the second's dies after a step, the third's is cut off after one."""
    states = jnp.asarray(
        [[[[0.0], [1.5], [3.5], [1.2]]], [[[0.0], [2.5], [2.5], [2.5]]], [[[0.0], [9.0], [9.0], [9.0]]]]
    )
    lengths, terminated = jnp.asarray([[3], [1], [1]]), jnp.asarray([[False], [True], [False]])
    two = jnp.concatenate([states, states.at[:, :, 1:].set(0.5)], axis=1)
    done = Episodes(two, jnp.zeros((3, 2, 3, 1)), jnp.tile(lengths, 2), jnp.tile(terminated, 2))
    weights = np.array([0.5, 0.3, 0.2])
    vanish = agreement.occupancy(line_task, done, weights, "vanish")
    np.testing.assert_allclose(vanish[0], [0.5, (0.5 + 0.2) / 2, 0, 0.3 / 2])
    np.testing.assert_allclose(vanish[1], [0.5, 0, 0.5, 0])
    np.testing.assert_allclose(vanish[2], [0.5, 0, 0, 0.5])
    other = dataclasses.replace(done, lengths=done.lengths.at[1, 1].set(3))
    # beside an episode that lives on, the dead one's only step has half of the weight that lived
    np.testing.assert_allclose(agreement.occupancy(line_task, other, weights, "vanish")[1], [1 / 1.5, 0, 0.5 / 1.5, 0])
    np.testing.assert_allclose(agreement.occupancy(line_task, other, weights, "absorb")[1], [0.5, 0, 0.5, 0])


def test_density_sums_weights_by_cell(line_task):
    states = jnp.asarray([[0.1], [0.9], [2.0], [3.9]])
    shares = agreement.density(line_task, states, np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 7.0]]))
    np.testing.assert_allclose(shares, [[0.3, 0, 0.3, 0.4], [0, 0, 0, 1]])


def centres(task) -> jnp.ndarray:
    """The middles of the cells of the coarse grid of a maze, in their order."""
    middle = np.linspace(-1, 1, task.bins, endpoint=False) + 1 / task.bins
    return jnp.asarray(np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2), jnp.float32)


def test_a_true_measure_agrees_with_the_visits(agent, monkeypatch):
    """The measure is made from the visits themselves; a state in the middle of each cell stands for p(s)."""
    archived = centres(agent.task)
    agent.state = eqx.tree_at(lambda state: state.archive.states, agent.state, archived)
    visited = agreement.diagnose(agent, 3).visited
    logs = jnp.log(jnp.asarray(visited) * len(archived) + 1e-12)
    monkeypatch.setattr(agent.method, "log_measure", lambda state, s1, s2: logs)
    agreed = agreement.diagnose(agent, 3)
    np.testing.assert_allclose(agreed.learnt, visited, atol=1e-6)
    for row in agreed.rows():
        assert row["total_variation"] == 0 and row["correlation"] == 1
        assert row["total_variation_of_chance"] > 0.5
    # the same measures for other skills
    monkeypatch.setattr(agent.method, "log_measure", lambda state, s1, s2: jnp.roll(logs, 1, axis=0))
    assert max(row["total_variation"] for row in agreement.diagnose(agent, 3).rows()) > 0.2


def test_the_learnt_density_is_the_measure_of_archived_states(agent):
    learnt = agreement.diagnose(agent, 2).learnt
    states = np.asarray(agent.method.landmarks(agent.state))
    cell = np.clip(np.floor((states + 1) / 2 * 10).astype(int), 0, 9) @ [10, 1]
    for skill in range(agent.n_skill):
        m = agent.measure(agent.task.start, states, skill)
        np.testing.assert_allclose(learnt[skill], np.bincount(cell, m, 100) / m.sum(), rtol=1e-4)


def test_a_measure_relative_to_the_epoch_is_weighed_on_fresh_steps(agent, monkeypatch):
    """If m is 1 everywhere, what was learnt is the marginal of all skills."""
    agent.method = copy.copy(agent.method)
    agent.method.config = dataclasses.replace(agent.method.config, marginal="epoch")
    monkeypatch.setattr(
        agent.method, "log_measure", lambda state, s1, s2: jnp.zeros((agent.n_skill, len(s2))), raising=False
    )
    found = agreement.diagnose(agent, 4)
    assert found.chance.sum() == pytest.approx(1)
    np.testing.assert_allclose(found.learnt, np.tile(found.chance, (agent.n_skill, 1)))
    reached = agent.visited_fine.reshape(10, 5, 10, 5).any(axis=(1, 3)).reshape(-1)
    assert found.chance[reached].sum() > 0.5
