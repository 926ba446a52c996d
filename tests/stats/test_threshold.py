"""Against the threshold: the tests, and the one rule of the verdict."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]

from perdure.metrics.declare import Bar
from perdure.stats.threshold import RULE, constant, judge, one_tailed_t, sign_test, t_interval

VALUES = st.lists(st.floats(-50, 50), min_size=3, max_size=30).map(np.array)


@given(VALUES, st.floats(-10, 10))
@settings(max_examples=60, deadline=None)
def test_t_p_and_interval_are_scipys(values: np.ndarray, threshold: float) -> None:
    if values.std(ddof=1) < 1e-6:
        return
    t, p = one_tailed_t(float(values.mean()), float(values.std(ddof=1)), len(values), threshold)
    theirs = stats.ttest_1samp(values, threshold, alternative="greater")
    assert t == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-9)
    assert p == pytest.approx(theirs.pvalue, rel=1e-9, abs=1e-12)
    low, high = t_interval(float(values.mean()), float(values.std(ddof=1)), len(values), 0.95)
    interval = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (float(low), float(high)) == pytest.approx((interval.low, interval.high))


@given(st.integers(1, 60), st.data())
@settings(max_examples=40, deadline=None)
def test_the_sign_test_is_scipys_binomial_test(n: int, data: st.DataObject) -> None:
    above = data.draw(st.integers(0, n))
    assert sign_test(above, n) == pytest.approx(stats.binomtest(above, n, 0.5, alternative="greater").pvalue)


@pytest.mark.parametrize(
    ("n", "fewest"), [(5, 5), (8, 7), (10, 9), (11, 9), (12, 10), (15, 12), (20, 15), (30, 20)]
)  # the project's outside numbers, "Sample size"
def test_so_many_above_are_needed_for_the_sign_test_to_reach_5_percent(n: int, fewest: int) -> None:
    assert sign_test(fewest, n) < 0.05 <= sign_test(fewest - 1, n)


def test_nine_of_eleven_above_give_the_p_worked_by_hand() -> None:
    assert sign_test(9, 11) == pytest.approx((55 + 11 + 1) / 2**11)


@given(VALUES, st.floats(-5, 5), st.sampled_from(["higher", "lower"]), st.floats(0, 5))
@settings(max_examples=80, deadline=None)
def test_the_verdict_follows_the_printed_rule(values: np.ndarray, threshold: float, better: str, margin: float) -> None:
    bar = Bar(threshold, margin, better)  # type: ignore[arg-type]
    found = judge(values, bar)
    sign = bar.sign
    if constant(values):
        ahead = sign * (float(values.mean()) - threshold)
        if abs(ahead + margin) > 1e-6 and abs(ahead) > 1e-6:
            assert found.verdict == ("met" if ahead + margin > 0 else "not met")
        return
    above = stats.ttest_1samp(sign * values, sign * threshold - margin, alternative="greater").pvalue
    below = stats.ttest_1samp(sign * values, sign * threshold, alternative="less").pvalue
    if min(abs(above - 0.05), abs(below - 0.05)) > 1e-9:
        assert found.verdict == ("met" if above < 0.05 else "not met" if below < 0.05 else "undecided")


@given(VALUES, st.floats(-5, 5))
@settings(max_examples=40, deadline=None)
def test_turning_values_and_direction_round_changes_no_verdict(values: np.ndarray, threshold: float) -> None:
    up, down = judge(values, Bar(threshold)), judge(-values, Bar(-threshold, better="lower"))
    assert (up.verdict, up.above, up.sign_p) == (down.verdict, down.above, down.sign_p)
    assert up.t == pytest.approx(down.t)


@pytest.mark.parametrize(("value", "verdict"), [(0.5, "met"), (-0.5, "not met"), (0.0, "undecided")])
def test_where_all_lifetimes_agree_the_value_decides(value: float, verdict: str) -> None:
    found = judge(np.full(5, value), Bar(0.0))
    assert found.verdict == verdict
    assert found.t is None
    assert found.p is None
    assert found.why is not None
    assert "sd 0" in found.why


def test_a_learner_that_keeps_perfectly_is_met_only_with_a_margin() -> None:
    values = np.array([0.1, -0.1, 0.05, -0.05, 0.02, -0.02])
    assert judge(values, Bar(0.0)).verdict == "undecided"
    within = judge(values, Bar(0.0, margin=1.0))
    assert within.verdict == "met"
    assert within.why is not None
    assert "margin" in within.why


def test_the_margin_does_not_touch_t_and_p() -> None:
    values = np.array([0.5, 1.0, -0.5, 0.25])
    assert judge(values, Bar(0.0)).t == judge(values, Bar(0.0, margin=3.0)).t


def test_one_lifetime_is_undecided_and_says_why() -> None:
    found = judge(np.array([5.0]), Bar(0.0))
    assert (found.verdict, found.t, found.above_count) == ("undecided", None, 1)
    assert found.why == "one lifetime has no spread to judge by"


def test_two_lifetimes_have_a_t() -> None:
    assert judge(np.array([1.0, 1.2]), Bar(0.0)).t is not None


def test_no_value_is_undecided_and_no_threshold_is_no_verdict() -> None:
    assert judge(np.array([]), Bar(0.0)).verdict == "undecided"
    assert judge(np.array([1.0, 2.0]), Bar()).verdict is None


def test_a_tie_with_the_threshold_is_not_above_it_unless_the_metric_says_so() -> None:
    values = np.array([0.0, 0.0, 1.0])
    assert judge(values, Bar(0.0)).above_count == 1
    assert judge(values, Bar(0.0, inclusive=True)).above_count == 3


def test_a_disagreeing_sign_test_is_mentioned_where_it_could_speak() -> None:
    values = np.array([0.1] * 17 + [-2.0] * 7) + np.linspace(0, 0.01, 24)
    why = judge(values, Bar(0.0)).why
    assert why is not None
    assert "sign test says otherwise" in why
    assert judge(np.array([1.0, 1.1, 1.2]), Bar(0.0)).why is None  # three lifetimes cannot reach .05
    why = judge(np.array([-0.1, -0.1, -0.2, 3.0, 3.1, 2.9, 3.2]), Bar(0.0)).why
    assert why is not None
    assert "does not confirm it" in why


def test_the_rule_names_its_three_verdicts() -> None:
    assert all(verdict in RULE for verdict in ("met where", "not met where", "undecided"))


def test_ties_with_an_inclusive_threshold_are_no_evidence_for_the_sign_test() -> None:
    found = judge(np.array([0.0] * 9 + [1.0]), Bar(0.0, inclusive=True))
    assert found.above_count == 10
    assert found.sign_p == pytest.approx(1 - 0.5**10)  # one of ten ahead, not ten of ten
