"""The tests that papers held against thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from perdure.stats.interval import sign_test, t_interval, two_sided_sign_test

VALUES = st.lists(st.floats(-50, 50), min_size=3, max_size=30).map(np.array)


@given(VALUES)
def test_the_interval_is_scipys(values: np.ndarray) -> None:
    if values.std(ddof=1) < 1e-6:
        return
    low, high = t_interval(float(values.mean()), float(values.std(ddof=1)), len(values), 0.95)
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (float(low), float(high)) == pytest.approx((interval.low, interval.high))


@given(st.integers(1, 60), st.data())
def test_the_sign_test_is_scipys_binomial_test(n: int, data: st.DataObject) -> None:
    above = data.draw(st.integers(0, n))
    assert sign_test(above, n) == pytest.approx(stats.binomtest(above, n, 0.5, alternative="greater").pvalue)
    signs = np.array([1.0] * above + [-1.0] * (n - above) + [0.0])  # a tie speaks for neither side
    assert two_sided_sign_test(signs) == pytest.approx(stats.binomtest(above, n, 0.5).pvalue)


@pytest.mark.parametrize(
    ("n", "fewest"), [(5, 5), (8, 7), (10, 9), (11, 9), (12, 10), (15, 12), (20, 15), (30, 20)]
)  # the project's outside numbers, "Sample size"
def test_so_many_above_are_needed_for_the_sign_test_to_reach_5_percent(n: int, fewest: int) -> None:
    assert sign_test(fewest, n) < 0.05 <= sign_test(fewest - 1, n)


def test_nine_of_eleven_above_give_the_p_worked_by_hand() -> None:
    assert sign_test(9, 11) == pytest.approx((55 + 11 + 1) / 2**11)
