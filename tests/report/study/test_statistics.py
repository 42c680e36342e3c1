"""Statistics against scipy, against the published formulas written out, and against the paper's own p-values."""

import json
from importlib import resources
from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from leads.report.study.statistics import improvement, interval, iqm, profile, welch, welch_of_published

PAPER = json.loads(resources.files("leads.report.study").joinpath("paper.json").read_text())
RNG = np.random.default_rng(3)
OURS = [RNG.normal(0.7, 0.2, 5), RNG.normal(0.9, 0.1, 5), RNG.normal(0.5, 0.1, 5)]
THEIRS = [RNG.normal(0.6, 0.2, 5), RNG.normal(0.9, 0.1, 5), RNG.normal(0.3, 0.1, 5)]


def test_welch_is_that_of_scipy_and_of_the_formula():
    ours, theirs = OURS[0], THEIRS[2]
    variance = [of.var(ddof=1) / len(of) for of in (ours, theirs)]
    t = (ours.mean() - theirs.mean()) / sum(variance) ** 0.5
    freedom = sum(variance) ** 2 / sum(v**2 / 4 for v in variance)
    assert welch(ours, theirs) == pytest.approx(2 * scipy.stats.t.sf(abs(t), freedom))
    assert welch(ours, theirs) == pytest.approx(scipy.stats.ttest_ind(ours, theirs, equal_var=False).pvalue)


def test_welch_where_there_is_nothing_to_test():
    assert welch([1.0], [1.0, 2.0]) is None
    assert welch([100.0] * 5, [100.0] * 5) == 1
    assert welch([100.0] * 5, [90.0] * 5) == 0
    assert 0 < (welch([100.0] * 5, [90.0, 91.0]) or 0) < 1


def test_the_papers_deviations_are_of_the_population_and_its_p_values_of_students_test():
    """Seven of its ten p-values follow from its table so, and only so; hence the reading that bold cells rest on."""

    def p_value(task: str, pair: str) -> float:
        described = [PAPER["coverage"][method][task] for method in pair.split("/")]
        a, b = ((mean, std * (5 / 4) ** 0.5, 5) for mean, std in described)
        return scipy.stats.ttest_ind_from_stats(*a, *b, equal_var=True).pvalue

    published = {(task, pair): p for task, pairs in PAPER["p_values"].items() for pair, p in pairs.items()}
    same = [key for key, p in published.items() if p_value(*key) == pytest.approx(p, rel=0.05)]
    assert {task for task, _ in same} == {"maze-u", "maze-hard", "fetch-reach", "finger"} and len(same) == 7


def test_welch_of_published_is_welch():
    ours, theirs = OURS[0], THEIRS[2]
    described = [(of.mean(), of.std()) for of in (ours, theirs)]
    assert welch_of_published(*described, 5) == pytest.approx(welch(ours, theirs))
    assert welch_of_published((100, 0), (100, 0), 5) == 1 and welch_of_published((100, 0), (90, 0), 5) == 0


def test_iqm_leaves_out_the_lowest_and_the_highest_quarter():
    assert iqm([np.array([0.0, 1, 2, 3]), np.array([4.0, 5, 6, 100])]) == pytest.approx(np.mean([2, 3, 4, 5]))
    assert iqm(OURS) == pytest.approx(scipy.stats.trim_mean(np.stack(OURS), 0.25, axis=None))


def test_profile_counts_runs_above_a_threshold():
    thresholds = np.array([0.0, 0.5, 1.0])
    assert profile([np.array([0.5, 1.0]), np.array([0.2, 0.7, 0.8, 2.0])], thresholds).tolist() == [1, 0.625, 0.125]
    flat = np.concatenate(OURS)
    expected = [np.mean(flat > threshold) for threshold in thresholds]
    assert np.allclose(profile(OURS, thresholds), expected), "with as many runs everywhere, the share of all runs"


def test_improvement_is_mann_whitneys_u_over_all_pairs():
    u = [scipy.stats.mannwhitneyu(a, b).statistic / 25 for a, b in zip(OURS, THEIRS, strict=True)]
    assert improvement(OURS, THEIRS) == pytest.approx(np.mean(u))
    assert improvement([np.array([1.0, 2])], [np.array([1.0, 0])]) == pytest.approx((0.5 + 1 + 1 + 1) / 4)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.lists(st.integers(0, 5), min_size=1, max_size=6))
def test_improvements_of_both_sides_add_up_to_one(ours, theirs):
    a, b = [np.array(ours, float)], [np.array(theirs, float)]
    beaten = np.mean([(x > y) + (x == y) / 2 for x, y in product(ours, theirs)])
    assert improvement(a, b) == pytest.approx(beaten)
    assert improvement(a, b) + improvement(b, a) == pytest.approx(1)


def test_statistics_of_many_resamples_are_those_of_each():
    drawn = [of[RNG.integers(0, 5, (7, 5))] for of in OURS]
    thresholds = np.linspace(0, 1, 5)
    for i in range(7):
        assert iqm(drawn)[i] == pytest.approx(iqm([of[i] for of in drawn]))
        assert np.allclose(profile(drawn, thresholds)[i], profile([of[i] for of in drawn], thresholds))
        assert improvement(drawn, drawn[::-1])[i] == pytest.approx(
            improvement([of[i] for of in drawn], [of[i] for of in drawn[::-1]])
        )


def test_interval_is_scipys_percentile_bootstrap_where_there_is_one_task():
    ours = [RNG.normal(0.7, 0.2, 40)]
    expected = scipy.stats.bootstrap(
        ours, lambda x, axis: scipy.stats.trim_mean(x, 0.25, axis=axis), method="percentile", n_resamples=5000
    ).confidence_interval
    assert np.allclose(interval(iqm, ours), expected, atol=0.01)


def test_runs_are_drawn_anew_within_their_task_only():
    constant = [np.full(5, 0.2), np.full(5, 0.4), np.full(5, 0.9)]
    assert np.allclose(interval(iqm, constant), iqm(constant)), "no task can be drawn more often than it is there"
    low, high = interval(improvement, OURS, THEIRS)
    assert low < improvement(OURS, THEIRS) < high
    assert np.array_equal(interval(iqm, OURS), interval(iqm, OURS)), "the same report every time"


def test_interval_covers_the_true_value_as_often_as_it_says():
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        drawn = [rng.normal(mean, 0.1, 10) for mean in (0.3, 0.5, 0.7)]
        low, high = interval(lambda tasks: np.concatenate(tasks, axis=-1).mean(axis=-1), drawn, seed=seed)
        hits += low < 0.5 < high
    assert 0.88 < hits / 200 < 0.99
