"""Curves against samples and performance profiles, of runs whose numbers are known."""

import numpy as np
import pytest

from leads.report.curves import THRESHOLDS, colours, coverage_figure, curve, profile_curve, profiles_figure
from leads.report.curves import published_coverage as published
from leads.report.statistics import profile
from leads.report.study import Entry, Study, read_study


@pytest.fixture(scope="module")
def study(study_directory) -> Study:
    return read_study(study_directory)


def test_a_curve_is_mean_and_deviation_of_its_runs(study):
    maze = study.settings[0]
    drawn = curve(study.of(maze, Entry("leads")), "coverage")
    assert drawn is not None and drawn.n == 3
    assert drawn.x[0] == 100_000 and drawn.x[-1] == 1_000_000
    assert drawn.mean[-1] == pytest.approx(np.mean([88, 90, 91]))
    assert (drawn.high - drawn.mean)[-1] == pytest.approx(np.std([88, 90, 91], ddof=1))
    assert np.allclose(drawn.mean - drawn.low, drawn.high - drawn.mean)
    assert np.all(np.diff(drawn.mean) >= 0)


def test_a_single_run_has_no_band_and_no_run_no_curve(study):
    short = study.settings[1]
    drawn = curve(study.of(short, Entry("leads")), "coverage")
    assert drawn is not None and drawn.n == 1 and np.array_equal(drawn.low, drawn.high)
    assert curve([], "coverage") is None and curve(study.of(short, Entry("leads")), "reach") is None


def test_a_profile_falls_from_one_to_zero_within_its_band(study):
    drawn = profile_curve(study, Entry("metra"), "coverage")
    assert drawn is not None and drawn.mean[0] == 1 and drawn.mean[-1] == 0
    assert np.all(np.diff(drawn.mean) <= 0) and np.all((drawn.low <= drawn.mean) & (drawn.mean <= drawn.high))
    scores = study.scores(Entry("metra"), "coverage", study.covered(Entry("metra")))
    assert np.array_equal(drawn.mean, profile(scores, THRESHOLDS))
    assert profile_curve(study, Entry("rnd"), "coverage") is None


def test_published_values_stand_beside_ours_only_where_samples_are_the_same(study):
    maze, short = study.settings[:2]
    assert published(study, maze) == pytest.approx({Entry("leads"): 96.0 * 0.91, Entry("metra"): 78.0 * 0.91})
    assert published(study, short) == {}


def test_coverage_figure_has_a_panel_a_setting_and_a_line_a_method(study):
    figure = coverage_figure(study)
    assert [axes.get_title() for axes in figure.axes] == [setting.title for setting in study.settings]
    axes = figure.axes[0]
    lines = [line for line in axes.lines if len(line.get_xdata()) > 1]
    marks = [line for line in axes.lines if len(line.get_xdata()) == 1]
    of = {entry: colour for entry, colour in colours(study).items() if study.of(study.settings[0], entry)}
    assert [line.get_color() for line in lines] == list(of.values()) and len(marks) == 2
    assert [text.get_text() for text in figure.legends[0].texts] == [entry.title for entry in colours(study)]


def test_profiles_figure_has_a_line_a_method(study):
    (axes,) = profiles_figure(study, "skill_coverage").axes
    assert len(axes.lines) == len(colours(study)) and "skill coverage" in axes.get_xlabel()
