"""Robust summaries, and that their intervals can be repeated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from perdure.errors import PerdureError
from perdure.stats.interval import t_interval
from perdure.stats.robust import (
    interquartile_mean,
    iqm_intervals,
    optimality_gap,
    performance_profile,
    probability_of_improvement,
    stratified_bootstrap,
)

SCORES = st.lists(st.floats(-10, 10), min_size=1, max_size=25).map(np.array)


@given(SCORES)
def test_the_interquartile_mean_is_scipys_trimmed_mean(scores: np.ndarray) -> None:
    assert float(interquartile_mean(scores)) == pytest.approx(stats.trim_mean(scores, 0.25), abs=1e-12)


@given(SCORES, SCORES)
def test_the_probability_of_improvement_is_mann_whitneys_u_over_the_pairs(ours: np.ndarray, theirs: np.ndarray) -> None:
    expected = np.mean([(a > b) + (a == b) / 2 for a in ours for b in theirs])
    assert probability_of_improvement(ours, theirs) == pytest.approx(expected)
    assert probability_of_improvement(ours, theirs) + probability_of_improvement(theirs, ours) == pytest.approx(1)


def test_weights_by_rank_are_a_bootstrap_of_the_interquartile_mean() -> None:
    values = np.random.default_rng(1).exponential(size=15)
    _, low, high = iqm_intervals([values], resamples=40_000)[0]
    drawn = values[np.random.default_rng(2).integers(15, size=(40_000, 15))]
    plain = np.quantile(interquartile_mean(drawn), [0.025, 0.975])
    assert (low, high) == pytest.approx(tuple(plain), abs=0.02)


def test_the_optimality_gap_ignores_what_is_more_than_enough() -> None:
    assert float(optimality_gap(np.array([0.5, 1.0, 7.0]))) == pytest.approx(0.5 / 3)


def test_what_is_no_number_is_refused_and_not_cut_off_as_if_it_were_high() -> None:
    for statistic in (interquartile_mean, optimality_gap):
        with pytest.raises(PerdureError, match="a score is NaN; leave out"):
            statistic(np.array([1.0, 2.0, np.nan, 4.0]))


def test_a_stratified_bootstrap_is_repeatable_from_its_seed() -> None:
    tasks = [np.arange(10.0), np.arange(5.0, 20.0)]

    def once(seed: int) -> tuple[float, float, float]:
        return stratified_bootstrap(tasks, interquartile_mean, np.random.default_rng(seed))

    assert once(1) == once(1)
    assert once(1) != once(2)
    value, low, high = once(1)
    assert low <= value <= high


def test_a_stratified_bootstrap_draws_within_each_task() -> None:
    # Were lives drawn across tasks, the number of fives would vary and the mean with it.
    tasks = [np.zeros(4), np.full(4, 5.0)]
    assert stratified_bootstrap(tasks, lambda scores: scores.mean(axis=-1), np.random.default_rng(0)) == (2.5, 2.5, 2.5)


@pytest.mark.parametrize("resamples", [0, -1])
def test_no_resamples_are_refused(resamples: int) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(PerdureError, match="resamples; give 1 or more"):
        stratified_bootstrap([np.ones(3)], interquartile_mean, rng, resamples=resamples)
    with pytest.raises(PerdureError, match="resamples; give 1 or more"):
        performance_profile([np.ones(3)], np.ones(2), rng, resamples=resamples)


def test_a_task_without_scores_is_refused() -> None:
    with pytest.raises(PerdureError, match="every task"):
        stratified_bootstrap([np.array([])], interquartile_mean, np.random.default_rng(0))
    with pytest.raises(PerdureError, match="every task"):
        performance_profile([np.array([])], np.array([0.0]), np.random.default_rng(0))


def test_a_performance_profile_falls_from_1_to_0_within_its_band() -> None:
    scores = [np.array([0.1, 0.4, 0.4, 0.9]), np.array([0.2, 0.6])]
    levels = np.array([0.0, 0.4, 0.5, 1.0])
    share, low, high = performance_profile(scores, levels, np.random.default_rng(0))
    assert share == pytest.approx([1.0, (0.25 + 0.5) / 2, (0.25 + 0.5) / 2, 0.0])
    assert (low <= share).all()
    assert (share <= high).all()
    assert (low[0], high[0], low[3], high[3]) == (1.0, 1.0, 0.0, 0.0)


def test_a_profiles_band_is_the_bootstrap_of_its_shares() -> None:
    values = np.random.default_rng(3).normal(size=12)
    _, low, high = performance_profile([values], np.array([0.0]), np.random.default_rng(0), resamples=20_000)
    drawn = (values[np.random.default_rng(1).integers(12, size=(20_000, 12))] > 0).mean(axis=1)
    assert (low[0], high[0]) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.09)


@pytest.mark.parametrize(("n", "bootstrap"), [(3, 0.74), (5, 0.83), (10, 0.89), (20, 0.93)])
def test_a_t_interval_covers_95_percent_where_a_percentile_bootstrap_does_not(n: int, bootstrap: float) -> None:
    # The project's outside numbers, "Statistics that peers get wrong".
    rng = np.random.default_rng(n)
    groups = rng.normal(size=(1500, n))
    low, high = t_interval(groups.mean(axis=1), groups.std(axis=1, ddof=1), n, 0.95)
    assert np.mean((low <= 0) & (high >= 0)) == pytest.approx(0.95, abs=0.02)
    means = np.stack([one[rng.integers(n, size=(600, n))].mean(axis=1) for one in groups])
    low, high = np.quantile(means, [0.025, 0.975], axis=1)
    assert np.mean((low <= 0) & (high >= 0)) == pytest.approx(bootstrap, abs=0.03)


def test_196_standard_errors_cover_88_percent_at_five_lifetimes() -> None:
    groups = np.random.default_rng(0).normal(size=(20_000, 5))
    half = 1.96 * groups.std(axis=1, ddof=1) / 5**0.5
    assert np.mean(np.abs(groups.mean(axis=1)) <= half) == pytest.approx(0.88, abs=0.01)
