"""Curves against samples and performance profiles, of runs whose numbers are known."""

from dataclasses import replace

import numpy as np
import pytest

from leads.report import style
from leads.report.study.curves import THRESHOLDS, coverage_figure, curve, looks, profile_curve, profiles_figure
from leads.report.study.curves import published_coverage as published
from leads.report.study.read import read_study
from leads.report.study.result import Entry
from leads.report.study.statistics import profile
from leads.report.study.study import Study
from leads.training.metrics import METRICS

COVERAGE = METRICS["coverage"]


@pytest.fixture(scope="module")
def study(study_directory) -> Study:
    return read_study(study_directory)


def test_a_curve_is_mean_and_deviation_of_its_runs(study):
    maze = study.settings[0]
    drawn = curve(study.of(maze, Entry("leads")), COVERAGE)
    assert drawn is not None and drawn.of == "n = 3"
    assert drawn.x[0] == 100_000 and drawn.x[-1] == 1_000_000
    assert drawn.mean[-1] == pytest.approx(np.mean([88, 90, 91]))
    assert (drawn.high - drawn.mean)[-1] == pytest.approx(np.std([88, 90, 91], ddof=1))
    assert np.allclose(drawn.mean - drawn.low, drawn.high - drawn.mean)
    assert np.all(np.diff(drawn.mean) >= 0)


def test_a_single_run_has_no_band_and_no_run_no_curve(study):
    short = study.settings[1]
    drawn = curve(study.of(short, Entry("leads")), COVERAGE)
    assert drawn is not None and drawn.of == "n = 1" and np.array_equal(drawn.low, drawn.high)
    assert curve([], COVERAGE) is None and curve(study.of(short, Entry("leads")), METRICS["reach"]) is None


def test_numbers_that_are_none_are_not_in_a_curve(study):
    first, *others = study.of(study.settings[0], Entry("leads"))
    broken = [line | {"coverage": float("nan")} if line["epoch"] == 4 else line for line in first.log]
    drawn = curve([replace(first, log=broken), *others], COVERAGE)
    assert drawn is not None and drawn.of == "n = 3" and np.all(np.isfinite([drawn.mean, drawn.low, drawn.high]))


def test_variants_have_their_methods_colour_and_dashes_of_their_own(study):
    one = next(result for result in study.results if result.entry == Entry("leads"))
    variants = [Entry("leads", f'{{"offset": {i}}}') for i in range(9)]
    methods = [Entry(name) for name in ("rnd", "diayn", "smm", "ngu", "lsd", "csd")]
    more = [replace(one, entry=entry) for entry in (*variants, *methods)]
    look = looks(replace(study, results=[*study.results, *more]))
    assert len(look) == 19 and len(set(look.values())) == 19
    assert {found.colour for found in look.values()} <= set(style.COLOURS)
    assert len({look[Entry("leads")].colour, *(look[entry].colour for entry in variants[:5])}) == 1
    of_others = {found.colour for entry, found in look.items() if entry.method != "leads"}
    assert len(of_others) == 8 and not of_others & {look[entry].colour for entry in variants}


def test_a_profile_falls_from_one_to_zero_within_its_band(study):
    drawn = profile_curve(study, Entry("metra"), COVERAGE)
    assert drawn is not None and drawn.mean[0] == 1 and drawn.mean[-1] == 0
    assert np.all(np.diff(drawn.mean) <= 0) and np.all((drawn.low <= drawn.mean) & (drawn.mean <= drawn.high))
    scores = study.scores(Entry("metra"), COVERAGE, study.covered(Entry("metra")))
    assert np.array_equal(drawn.mean, profile(scores, THRESHOLDS))
    assert drawn.of == "2 of 3 settings"
    assert profile_curve(study, Entry("rnd"), COVERAGE) is None


def test_where_a_setting_has_one_run_a_profile_has_no_band(study):
    maze = study.settings[0]
    of_one = [result for result in study.results if result.setting != maze or result.seed == 0]
    drawn = profile_curve(replace(study, results=of_one), Entry("metra"), COVERAGE)
    assert drawn is not None and drawn.of == "2 of 3 settings"
    assert np.array_equal(drawn.low, drawn.mean) and np.array_equal(drawn.high, drawn.mean)


def test_a_profile_is_only_over_settings_whose_number_is_known(study):
    unknown = lambda result: replace(result, numbers=result.numbers | {"skill_coverage": None})
    maze = study.settings[0]
    drawn = profile_curve(
        replace(study, results=[unknown(r) if r.setting == maze else r for r in study.results]),
        *(Entry("metra"), METRICS["skill_coverage"]),
    )
    assert drawn is not None and drawn.of == "1 of 3 settings"


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
    of = [look for entry, look in looks(study).items() if study.of(study.settings[0], entry)]
    assert [line.get_color() for line in lines] == [look.colour for look in of] and len(marks) == 2
    assert [line.is_dashed() for line in lines] == [False, True, True, True]
    assert [text.get_text() for text in figure.legends[0].texts] == [
        *("LEADS, n = 1 to 3", "METRA, n = 3", "control, n = 3", "control (noise white), n = 3"),
        "paper's final value x our largest",
    ]


def test_triangles_are_in_the_legend_only_if_there_are_any(study):
    short = [result for result in study.results if not result.setting.is_papers]
    figure = coverage_figure(replace(study, results=short, unfinished=[]))
    assert not any("paper" in text.get_text() for text in figure.legends[0].texts)


def test_legends_fit_their_figures(study):
    for figure in (coverage_figure(study), profiles_figure(study, COVERAGE)):
        figure.draw_without_rendering()
        box, panels = figure.legends[0].get_window_extent(), [axes.get_tightbbox() for axes in figure.axes]
        assert figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1
        assert all(box.y0 >= panel.y1 for panel in panels if panel is not None)


def test_profiles_figure_has_a_line_a_method_and_tells_its_settings(study):
    figure = profiles_figure(study, METRICS["skill_coverage"])
    (axes,) = figure.axes
    assert len(axes.lines) == len(looks(study)) and "skill coverage" in axes.get_xlabel()
    assert [text.get_text() for text in figure.legends[0].texts] == [
        *("LEADS, 3 of 3 settings", "METRA, 2 of 3 settings", "control, 3 of 3 settings"),
        "control (noise white), 1 of 3 settings",
    ]
