import numpy as np

from leads.report.run.coverage import coverage_figure
from leads.training.metrics import METRICS, Metric


def test_coverage_curves_are_the_metrics(agent):
    metrics = agent.run.metrics()
    left, right = coverage_figure(metrics).axes
    assert (left.get_ylim(), left.get_ylabel()) == ((0, 100), "% of cells")
    assert (right.get_ylim(), right.get_ylabel()) == ((0, 1), "distinctness")
    names = {metric.title: name for name, metric in METRICS.items()}
    drawn = {names[line.get_label()]: line for line in (*left.lines, *right.lines)}
    assert list(drawn) == ["coverage", "coverage_fine", "skill_coverage", "distinctness"]
    for name, line in drawn.items():
        np.testing.assert_allclose(line.get_xydata(), [[entry["samples"], entry[name]] for entry in metrics])


def test_a_number_that_is_missing_is_passed_over(agent):
    metrics = agent.run.metrics()
    metrics[0]["distinctness"] = None
    _, right = coverage_figure(metrics).axes
    assert right.lines[0].get_xdata().tolist() == [line["samples"] for line in metrics[1:]]
    assert right.lines[0].get_ydata().tolist() == [line["distinctness"] for line in metrics[1:]]
    coverage_figure([line | {"distinctness": None} for line in metrics]).canvas.draw()


def test_metrics_of_the_runs_own_are_drawn_where_they_fit(agent):
    """In % on the left, up to 1 on the right; what is larger than 1 without being in % has no axis."""
    metrics = [line | {"doors": 40.0, "straightness": 0.7, "speed": 3.0} for line in agent.run.metrics()]
    own = (
        Metric("doors", "open doors", "%"),
        Metric("straightness", "straightness", largest=1.0),
        Metric("speed", "speed"),
    )
    figure = coverage_figure(metrics, own)
    left, right = figure.axes
    assert [line.get_label() for line in left.lines[3:]] == ["open doors"] and left.get_ylabel() == "%"
    assert [line.get_label() for line in right.lines] == ["distinctness", "straightness"]
    assert right.get_ylabel() == "distinctness, straightness"
    assert left.lines[3].get_ydata().tolist() == [40.0] * len(metrics)
    assert len({line.get_color() for line in (*left.lines, *right.lines)}) == 6
    assert not any(text.get_text() == "speed" for text in figure.legends[0].get_texts())


def test_a_run_that_lacks_a_metric_is_drawn_without_it(agent):
    older = [{name: value for name, value in line.items() if name != "coverage_fine"} for line in agent.run.metrics()]
    left, _ = coverage_figure(older).axes
    assert [len(line.get_xdata()) for line in left.lines] == [len(older), 0, len(older)]
