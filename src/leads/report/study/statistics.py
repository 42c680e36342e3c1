"""Statistics of a study: tests between methods, and aggregates over tasks with bootstrap intervals.

Interquartile mean, performance profiles, probability of improvement and the stratified bootstrap are those of Agarwal
et al. 2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice" (arXiv:2108.13264).
"""

from collections.abc import Callable, Sequence

import numpy as np
import scipy.stats
from jaxtyping import Float

Scores = Sequence[Float[np.ndarray, "*batch run"]]
"""The scores of one method's runs, one array per task; tasks may have different numbers of runs."""

RESAMPLES = 2_000
CONFIDENCE = 0.95
SIGNIFICANT = 0.05


def welch(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """p of Welch's two-sided t-test; None if there are too few runs, 0 or 1 if no number varies."""
    if len(ours) < 2 or len(theirs) < 2:
        return None
    described = [(float(np.mean(of)), float(np.std(of, ddof=1)), len(of)) for of in (ours, theirs)]
    return _welch(*described)


def welch_of_published(ours: Sequence[float], theirs: Sequence[float], n: int) -> float:
    """The same from (mean, population standard deviation) of n runs each, which is all that the paper has."""
    described = [(mean, std * (n / (n - 1)) ** 0.5, n) for mean, std in (ours, theirs)]
    return _welch(*described)


def _welch(ours: tuple[float, float, int], theirs: tuple[float, float, int]) -> float:
    if ours[1] == theirs[1] == 0:
        return 1.0 if ours[0] == theirs[0] else 0.0
    return float(scipy.stats.ttest_ind_from_stats(*ours, *theirs, equal_var=False).pvalue)


def iqm(scores: Scores) -> Float[np.ndarray, "*batch"]:
    """Interquartile mean: of the middle half of all runs of all tasks."""
    return scipy.stats.trim_mean(np.concatenate(scores, axis=-1), 0.25, axis=-1)


def profile(scores: Scores, thresholds: Float[np.ndarray, " threshold"]) -> Float[np.ndarray, "*batch threshold"]:
    """Performance profile: the share of runs above each threshold, every task weighing the same."""
    return np.mean([np.mean(of[..., None, :] > thresholds[:, None], axis=-1) for of in scores], axis=0)


def improvement(ours: Scores, theirs: Scores) -> Float[np.ndarray, "*batch"]:
    """Probability that a run of ours beats one of theirs, mean over tasks; ties count half (Mann-Whitney's U)."""
    signs = [np.sign(a[..., :, None] - b[..., None, :]) for a, b in zip(ours, theirs, strict=True)]
    return np.mean([(1 + sign.mean(axis=(-2, -1))) / 2 for sign in signs], axis=0)


def interval(statistic: Callable[..., np.ndarray], *methods: Scores, seed: int = 0) -> Float[np.ndarray, "2 *shape"]:
    """Low and high end of a statistic's percentile interval by the stratified bootstrap, all intervals alike.

    Runs are drawn anew within each task, independently for each method.
    """
    rng = np.random.default_rng(seed)
    draw = lambda of: of[rng.integers(0, len(of), (RESAMPLES, len(of)))]
    resampled = statistic(*([draw(np.asarray(of)) for of in scores] for scores in methods))
    return np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
