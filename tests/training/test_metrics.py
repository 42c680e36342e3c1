"""The registry of metrics: what each is computed from, what is shown of it, and metrics of one's own."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from leads.errors import UserError
from leads.tasks import make_task
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
    assert numbers == pytest.approx(
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
