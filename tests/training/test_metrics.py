"""The registry of metrics: what each is computed from, what is shown of it, and metrics of one's own."""

import json
from collections import Counter
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from leads.data.episodes import Episodes
from leads.errors import UserError
from leads.tasks import TASKS, make_task
from leads.tasks.task import Task
from leads.training import grid, metrics
from leads.training.metrics import COMPUTED, METRICS, Evaluation, Metric, check_computable, find_metrics

TASK = make_task("maze-easy")
OWN = Metric("mean_x", "mean x", digits=3, compute=lambda e: jnp.mean(e.episodes.states[..., 0]))


@pytest.fixture(scope="module")
def evaluation(walked):
    """Makes what metrics are computed from: one skill of nine steps, one of a single step."""
    run = walked([[[(0.1, 0.1)] + [(0.3, 0.1)] * 9], [[(0.1, 0.1), (-0.3, 0.1)]]])
    visited = lambda bins: grid.visit(TASK, run, jnp.zeros(bins**2, bool), bins)
    usual = {"task": TASK, "episodes": run, "visited": visited(10), "visited_fine": visited(50)}
    return lambda **changes: Evaluation(**usual | changes)


def test_the_numbers_of_every_run_by_hand(evaluation):
    targets = jnp.asarray([[0.3, 0.1], [0.9, 0.9]])
    numbers = {name: float(value) for name, value in metrics.compute((), evaluation(targets=targets)).items()}
    assert {name for name, value in numbers.items() if np.isnan(value)} == {"cells_1m", "distinctness_1m"}
    assert {name: value for name, value in numbers.items() if METRICS[name].everywhere} == pytest.approx(
        {"coverage": 2.0, "coverage_fine": 0.08, "skill_coverage": 2.0, "distinctness": 1.0, "reach": 0.5}
    )
    assert METRICS["skill_coverage x distinctness"].of(numbers) == pytest.approx(2.0)
    assert metrics.headline(numbers) == "coverage 2 %, skill coverage 2 %, distinctness 1.00"


def test_without_fresh_episodes_only_what_training_visited_is_known(evaluation):
    numbers = metrics.compute((), evaluation(episodes=None))
    assert {name for name, value in numbers.items() if np.isfinite(float(value))} == {"coverage", "coverage_fine"}
    assert np.isnan(float(metrics.compute((), evaluation())["reach"]))  # and without targets there is none to reach


def test_a_number_that_a_run_lacks_is_missing_and_no_error():
    for metric in METRICS.values():
        assert metric.of({}) is None and metric.of(dict.fromkeys(COMPUTED)) is None
    assert METRICS["coverage"].of({"coverage": float("nan")}) is None
    assert metrics.headline({"coverage": 31.4}) == "coverage 31 %"


def test_a_metric_of_ones_own_is_computed_described_and_found_again(evaluation):
    numbers = metrics.compute([OWN], evaluation())
    assert list(numbers) == [*COMPUTED, "mean_x"]
    assert float(numbers["mean_x"]) == pytest.approx(float(jnp.mean(evaluation().episodes.states[..., 0])))
    (again,) = find_metrics([json.loads(json.dumps(OWN.description()))])
    assert again == OWN and again.compute is None
    with pytest.raises(UserError, match=r"^metrics: mean_x has no compute here; give it again"):
        check_computable([again])


def test_a_metric_is_imported_by_its_name_also_from_what_a_run_keeps(evaluation, tmp_path, monkeypatch):
    (tmp_path / "my_metrics.py").write_text(
        "from leads import Metric\nlongest = Metric('longest', 'longest', compute=lambda e: e.episodes.lengths.max())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    (found,) = find_metrics(["my_metrics:longest"])
    (again,) = find_metrics([json.loads(json.dumps(found.description()))])
    assert again.source == "my_metrics:longest"
    assert int(metrics.compute([again], evaluation())["longest"]) == 9


@pytest.mark.parametrize(
    "wanted, message",
    [
        ("nowhere:longest", r"^metrics: nowhere:longest cannot be imported"),
        ("math:pi", r"^metrics: math:pi is not a Metric$"),
        (Metric("epoch", "mine"), r"^metrics: epoch is the name of another number of a run"),
        (Metric("coverage", "mine"), r"^metrics: coverage is the name of another number of a run"),
    ],
)
def test_what_is_no_metric_is_refused(wanted, message):
    with pytest.raises(UserError, match=message):
        find_metrics([wanted])


# Cells of 1 m

BOX = {"low": -np.ones(2), "high": np.ones(2)}
LINE, PLANE = (replace(TASK, metres=metres, **BOX) for metres in ((0,), (0, 1)))


@jax.jit
def on_line(run: Episodes) -> dict[str, jax.Array]:
    return in_metres(LINE, run)


@jax.jit
def on_plane(run: Episodes) -> dict[str, jax.Array]:
    return in_metres(PLANE, run)


def in_metres(task: Task, run: Episodes) -> dict[str, jax.Array]:
    visited = jnp.zeros(100, bool), jnp.zeros(2500, bool)
    return metrics.compute((), Evaluation(task, *visited, run))


def test_cells_of_a_metre_are_counted_from_the_floor_on_either_side_of_0_and_beyond_the_box(walked):
    """x in cells -2, -1, 0 and 60; y counts on a plane only, and the starts, at 7, not at all."""
    run = walked([[[(7, 7), (-1.5, 0.2), (-0.1, 0.2)]], [[(7, 7), (0.0, 0.5), (0.9, 1.5), (60.0, -0.5)]]])
    assert float(on_line(run)["cells_1m"]) == 4
    assert float(on_plane(run)["cells_1m"]) == 5
    assert np.isnan(float(in_metres(TASK, run)["cells_1m"]))


def test_distinctness_in_metres_by_hand(walked):
    """Two of four cells each, one of them common: I = log 2 / 2 by hand, as on the grid."""
    shared = walked([[[(0, 0), (30.5, 0), (-30.5, 0)]], [[(0, 0), (30.9, 0), (99.5, 0)]]])
    apart = walked([[[(0, 0), (30.5, 0)]], [[(0, 0), (31.5, 0), (31.6, 0)]]])
    alike = walked([[[(0, 0), (-30.5, 0)]], [[(0, 0), (-30.6, 9), (-30.9, 0)]]])
    for run, expected in ((shared, 0.5), (apart, 1.0), (alike, 0.0)):
        assert float(on_line(run)["distinctness_1m"]) == pytest.approx(expected, abs=1e-6)
    numbers = {name: float(value) for name, value in on_line(shared).items()}
    assert METRICS["cells_1m x distinctness_1m"].of(numbers) == pytest.approx(1.5)


@pytest.mark.parametrize("on, axes", [(on_line, 1), (on_plane, 2)])
def test_cells_of_a_metre_are_those_that_numpy_counts(on, axes):
    """Of episodes of random lengths, behind whose ends there are places that should not count."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 31, (4, 5))
    states = np.cumsum(rng.normal(size=(4, 5, 31, 2)) + rng.normal(size=(4, 1, 1, 2)), axis=2).astype(np.float32)
    states[np.arange(31) > lengths[..., None]] = 1e6 * rng.normal()
    run = Episodes(jnp.asarray(states), jnp.zeros((4, 5, 30, 2)), jnp.asarray(lengths), jnp.zeros((4, 5), bool))
    visits = [
        Counter(
            tuple(np.floor(s[:axes]).astype(int)) for i in range(5) for s in states[skill, i, 1 : lengths[skill, i] + 1]
        )
        for skill in range(4)
    ]
    cells = sorted(set().union(*visits))
    p = np.array([[of[cell] / of.total() for cell in cells] for of in visits])
    information = np.mean([scipy.stats.entropy(of, p.mean(0)) for of in p])
    numbers = on(run)
    assert float(numbers["cells_1m"]) == len(cells) > 20
    assert float(numbers["distinctness_1m"]) == pytest.approx(information / np.log(4), abs=1e-5)


def test_bodies_are_counted_in_metres_along_their_way_or_on_the_floor():
    counted = {name: make_task(name).metres for name in TASKS}
    along, across = ("half-cheetah", "half-cheetah-paper", "walker2d", "hopper"), ("ant", "humanoid")
    assert counted == dict.fromkeys(TASKS, ()) | dict.fromkeys(along, (0,)) | dict.fromkeys(across, (0, 1))
