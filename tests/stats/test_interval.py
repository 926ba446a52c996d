"""Intervals whose variance is a sum of parts, and the rank test beside them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from perdure.stats.interval import Interval, interval_of, part_of, signed_rank_test

VALUES = st.lists(st.floats(-50, 50), min_size=3, max_size=20).map(np.array)


@given(VALUES, st.floats(-5, 5), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
@settings(max_examples=60, deadline=None)
def test_one_part_is_scipys_t_test(values: np.ndarray, against: float, level: float) -> None:
    if values.std(ddof=1) < 1e-6:
        return
    found = interval_of(float(values.mean()), [part_of(values)], level)
    theirs = stats.ttest_1samp(values, against)
    assert found.p(against) == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-12)
    interval = theirs.confidence_interval(level)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-9, abs=1e-9)
    assert ((found.p(against) or 0) < 1 - level) == (not found.low <= against <= found.high)  # p is its dual


@given(VALUES, VALUES)
@settings(max_examples=60, deadline=None)
def test_two_parts_are_welchs_test(ours: np.ndarray, theirs: np.ndarray) -> None:
    if min(ours.std(ddof=1), theirs.std(ddof=1)) < 1e-6:
        return
    found = interval_of(float(ours.mean() - theirs.mean()), [part_of(ours), part_of(theirs)])
    welch = stats.ttest_ind(ours, theirs, equal_var=False)
    assert found.p() == pytest.approx(welch.pvalue, rel=1e-9, abs=1e-12)
    assert found.freedom == pytest.approx(welch.df, rel=1e-9)


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=14, unique_by=abs))
@settings(max_examples=60, deadline=None)
def test_the_signed_rank_test_is_scipys_where_nothing_is_tied(differences: list[int]) -> None:
    values = np.array([one for one in differences if one], dtype=float)
    if len(values):
        assert signed_rank_test(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
@settings(max_examples=60, deadline=None)
def test_tied_differences_are_dealt_every_sign(differences: list[int]) -> None:
    values = np.array([one for one in differences if one], dtype=float)
    if not len(values):
        return
    ranks = stats.rankdata(np.abs(values))
    every = ((np.arange(2 ** len(values))[:, None] >> np.arange(len(values))) & 1) @ ranks
    found = float(ranks[values > 0].sum())
    away = np.abs(every - ranks.sum() / 2)
    assert signed_rank_test(values) == pytest.approx(np.mean(away >= abs(found - ranks.sum() / 2) - 1e-9))


def test_many_differences_are_approximated_close_to_scipy() -> None:
    values = np.random.default_rng(0).normal(0.2, 1, 200)
    assert signed_rank_test(values) == pytest.approx(
        stats.wilcoxon(values, correction=False, method="approx").pvalue, rel=1e-6
    )


@given(st.floats(-5, 5), st.floats(0, 4), st.floats(1, 400), st.floats(-5, 5), st.sampled_from([0.9, 0.95]))
def test_the_side_of_an_interval_is_that_of_its_ends(
    mean: float, variance: float, freedom: float, of: float, level: float
) -> None:
    one = Interval(mean, variance, freedom, level)
    assert one.side(of) == (1 if one.low > of else -1 if one.high < of else 0)
