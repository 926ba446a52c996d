"""Two systems: tests, intervals, effect sizes, and what is said where there is nothing to say."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats  # type: ignore[import-untyped]
from tests.metrics import new_definitions as oracle
from tests.stats.lives import BARS, altered, beside_experts, life, lives, normal

from perdure.metrics.declare import ComparedAs, Threshold
from perdure.metrics.score import Score
from perdure.results import to_plain
from perdure.stats.compare import Comparison, Difference, compare_lives
from perdure.stats.decide import EQUAL
from perdure.stats.interval import sign_flip_test
from perdure.stats.power import Design, Question, lifetimes_exact
from perdure.stats.robust import almost_stochastic_order, hedges_g, violation_ratio
from perdure.stats.sentences import sentence

PM = {"performance_maintenance": Threshold(0.0, headline="log")}
RATIO = {"forward_transfer": Threshold(1.0, headline="log", scale="log")}
RP = {"relative_performance": Threshold(1.0, headline="log", scale="log", expert=True)}

A, B = np.array(normal(1.0, 1.0, 11, 1)), np.array(normal(0.2, 1.5, 11, 2))


def compared(ours: Any, theirs: Any, bar: Threshold | None = None, *, paired: bool = False, **how: Any) -> Difference:
    """One metric of two systems whose values these are; NaN stands for a lifetime without one."""

    def made(values: Any) -> tuple[Score, ...]:
        return lives([None if np.isnan(one) else float(one) for one in np.asarray(values, dtype=float)])

    bars = {"performance_maintenance": bar or PM["performance_maintenance"]}
    found = compare_lives(made(ours), made(theirs), bars, paired="yes" if paired else "no", **how)
    return found.differences["performance_maintenance"]


# --- the test that decides ------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["paired", "unpaired"])
def test_lifetimes_that_would_decide_are_those_that_a_plan_asks_for(question: Question) -> None:
    spread, away = np.array([-15.0, -5.0, 0.0, 5.0, 15.0]), 8.0
    theirs = np.zeros(5) if question == "paired" else spread
    one = compared(spread + away, theirs, paired=question == "paired")
    assert one.verdict == "undecided"
    design = Design(question)
    needed = lifetimes_exact(away / float(spread.std(ddof=1)), design)
    assert one.lifetimes_for_90_percent == needed is not None
    assert needed > one.n


def test_equal_means_are_never_decided_by_more_lifetimes() -> None:
    assert compared(A - A.mean(), np.flip(A) - A.mean()).lifetimes_for_90_percent is None


@given(st.integers(0, 10_000), st.integers(11, 20), st.integers(11, 20), st.booleans())
@settings(max_examples=80, deadline=None)
def test_the_test_is_scipys_paired_t_or_welchs(seed: int, n: int, m: int, paired: bool) -> None:
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(0.5, 1, n), rng.normal(0, 2, n if paired else m)
    one = compared(ours, theirs, paired=paired)
    test = stats.ttest_rel(ours, theirs) if paired else stats.ttest_ind(ours, theirs, equal_var=False)
    interval = test.confidence_interval(0.95)
    assert one.test == ("paired t" if paired else "Welch's t")
    assert (one.statistic, one.p) == pytest.approx((test.statistic, test.pvalue), rel=1e-9)
    assert (one.low, one.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert one.p_holm == one.p  # a family of one
    if paired:
        assert one.rank_p == pytest.approx(stats.wilcoxon(ours, theirs).pvalue)
    else:
        theirs_u = stats.mannwhitneyu(ours, theirs, alternative="two-sided")
        assert one.rank_p == pytest.approx(theirs_u.pvalue)
        assert one.improvement == pytest.approx(theirs_u.statistic / (n * m))


def test_gains_over_own_experts_are_shown_but_not_tested() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = (beside_experts({"a": mean + rng.normal(0, 0.01, (8, 3))}) for mean in (0.5, 0.0))
    comparison = compare_lives(ours, theirs, {**PM, **RP})
    assert comparison.family == ()
    alone = compare_lives(ours, theirs, {**RP, **PM}, metrics=["relative_performance"])
    difference = alone.differences["relative_performance"]
    assert (difference.verdict, difference.word, difference.p) == (None, None, None)
    assert "gain over own experts" in str(difference.why)


@pytest.mark.parametrize(("n", "m"), [(3, 20), (20, 3), (4, 8)])
def test_unequal_numbers_use_a_weighted_quantile_and_p_is_its_dual(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    ours, theirs = rng.normal(1.5, 1, n), rng.normal(0, 1, m)
    difference = compared(ours, theirs)
    parts = [(side.var(ddof=1) / len(side), len(side) - 1) for side in (ours, theirs)]
    variance = sum(part for part, _ in parts)
    quantile = sum(part * stats.t.ppf(0.975, df) for part, df in parts) / variance
    assert difference.low == pytest.approx(ours.mean() - theirs.mean() - quantile * math.sqrt(variance))
    touching = compared(ours, theirs, level=1 - float(difference.p or 0))
    assert min(abs(touching.low or 1), abs(touching.high or 1)) == pytest.approx(0, abs=1e-6)


@given(st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_ratios_are_compared_as_a_ratio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(0.3, 0.2, 7), rng.normal(0, 0.2, 7)
    sides = [lives([float(one) for one in np.exp(logs)], "forward_transfer") for logs in (ours, theirs)]
    one = compare_lives(sides[0], sides[1], RATIO).differences["forward_transfer"]
    expected = oracle.of_difference(ours, theirs, paired=True)
    assert one.scale == "ratio"
    assert one.difference == pytest.approx(math.exp(float(expected.mean)))
    assert (one.low, one.high) == pytest.approx((math.exp(expected.low), math.exp(expected.high)))
    other = compare_lives(sides[1], sides[0], RATIO).differences["forward_transfer"]
    assert (one.difference, one.p) == pytest.approx((1 / (other.difference or 0), other.p))


def test_five_pairs_can_decide() -> None:
    one = compared([3.1, 2.9, 3.3, 3.0, 3.2], [1.0, 1.1, 0.9, 1.2, 1.0], paired=True)
    assert (one.verdict, one.word) == ("better", "keeps more")


# --- one question, one p --------------------------------------------------------------------------


def test_eight_pairs_of_a_tenth_have_one_p_as_fractions_and_as_percent() -> None:
    base = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    away = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, -0.1, -0.1])
    fractions, percent = (
        compared(base + away, base, paired=True),
        compared(100 * (base + away), 100 * base, paired=True),
    )
    for name in ("p", "rank_p", "permutation_p", "improvement"):
        assert getattr(fractions, name) == pytest.approx(getattr(percent, name), rel=1e-9), name
    exact = np.mean([abs(sum(signs)) >= 4 for signs in product((1, -1), repeat=8)])
    assert fractions.rank_p == fractions.permutation_p == pytest.approx(exact)


def test_one_outlier_leaves_words_interval_and_effect_in_agreement() -> None:
    ours = np.array([1.1, 1.2, 1.15, 1.1, 1.2, 1.12, -3.0])
    one = compared(ours, np.ones(7) + np.linspace(0, 0.01, 7), paired=True)
    assert one.improvement == pytest.approx(6 / 7)
    assert one.ahead < 0
    assert (one.hedges_g or 0) < 0
    assert one.verdict == "as good"  # of points of 100, of which it loses less than one
    assert "ours is as good as theirs" in sentence(one, "ours", "theirs")
    assert (one.low or 0) < 0 < (one.high or 0)


@given(st.lists(st.floats(-30, 30), min_size=3, max_size=12), st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=80, deadline=None)
def test_words_interval_and_effect_size_never_contradict_each_other(values: list[float], level: float) -> None:
    difference = compared(values, np.zeros(len(values)), paired=True, level=level)
    if difference.verdict is None:
        assert EQUAL in str(difference.why)
        return
    assert difference.low is not None
    assert difference.high is not None
    shown = difference.verdict in ("better", "worse")
    assert shown is not (difference.low <= 0 <= difference.high)
    if shown:
        assert (difference.verdict == "better") is (difference.ahead > 0)
        assert difference.hedges_g is None or (difference.hedges_g > 0) is (difference.ahead > 0)
    else:
        no_worse, no_better = difference.low > -5, difference.high < 5  # of a family of one, at the same level
        assert (difference.verdict in ("no worse", "as good")) is no_worse
        assert (difference.verdict in ("no better", "as good")) is no_better


def family_of_six(shifts: Sequence[float], n: int = 10, primary: str | None = None) -> Comparison:
    """Compare two systems by six made-up metrics, of which `shifts` are the differences in standard deviations."""
    names = [f"metric_{at}" for at in range(len(shifts))]
    bars = {name: Threshold(compared=ComparedAs(margin=5.0)) for name in names}
    columns = [
        {name: normal(shift, 1, n, 100 * side + at) for at, (name, shift) in enumerate(zip(names, by, strict=True))}
        for side, by in enumerate((shifts, [0.0] * len(shifts)))
    ]
    sides = [
        [life(f"{at}", seed=at, values={name: column[name][at] for name in names}) for at in range(n)]
        for column in columns
    ]
    return compare_lives(sides[0], sides[1], bars, paired="no", primary=primary)


def test_margins_are_compared_with_an_interval_that_holds_for_the_whole_family() -> None:
    comparison = family_of_six([4.0, 0, 0, 0, 0, 0])
    for difference in comparison.tested.values():
        if difference.verdict in ("better", "worse"):
            assert difference.margin_low is None
            continue
        assert difference.margin_level == pytest.approx(1 - 0.05 / 6)
        assert (difference.margin_low or 0) < (difference.low or 0)
        assert difference.verdict == "as good"


def test_a_primary_metric_is_tested_alone_and_the_others_only_if_it_differs() -> None:
    shown = family_of_six([3.0, 1.25, 0, 0, 0, 0], primary="metric_0")
    assert shown.tested["metric_0"].p_holm == shown.tested["metric_0"].p
    assert {difference.family for name, difference in shown.tested.items() if name != "metric_0"} == {5}
    hidden = family_of_six([0.0, 9.0, 0, 0, 0, 0], primary="metric_0")
    assert hidden.tested["metric_0"].verdict == "as good"
    assert hidden.tested["metric_0"].margin_level == pytest.approx(0.95)
    assert {difference.verdict for name, difference in hidden.tested.items() if name != "metric_0"} == {None}
    assert hidden.tested["metric_1"].why == "not tested: the primary metric, metric_0, does not differ"
    assert "not tested: the primary metric" in hidden.tested["metric_1"].sentence


def test_a_primary_metric_without_a_value_withholds_the_other_verdicts() -> None:
    shown = family_of_six([9.0, 9.0, 0, 0, 0, 0], primary="metric_9")
    assert {difference.verdict for difference in shown.tested.values()} == {None}
    assert "has no value" in str(shown.tested["metric_0"].why)


def test_systems_that_practise_different_tasks_get_no_verdict() -> None:
    ours = tuple(altered(one, order=("a", "c")) for one in lives(normal(9, 1, 6)))
    comparison = compare_lives(ours, lives(normal(0, 1, 6, 2)), PM, names=("ours", "theirs"), paired="no")
    difference = comparison.tested["performance_maintenance"]
    assert (difference.verdict, difference.p, difference.test) == ("undecided", None, None)
    assert "only ours practises c; only theirs practises b" in difference.sentence
    assert "only ours practises c; only theirs practises b" in str(difference.why)


def test_lifetimes_that_differ_in_their_tasks_get_no_verdict_although_both_sides_do() -> None:
    side = [altered(one, order=("a", "b" if at % 2 else "c")) for at, one in enumerate(lives([4.0, 5, 6, 7]))]
    difference = compare_lives(side, side, PM, paired="no").tested["performance_maintenance"]
    assert difference.verdict == "undecided"
    assert difference.why == "lifetimes practise different sets of tasks; give both the same tasks"


def test_a_family_is_corrected_whole_and_words_say_so() -> None:
    comparison = family_of_six([1.25, 0, 0, 0, 0])
    p = [difference.p or 1.0 for difference in comparison.tested.values()]
    assert [difference.p_holm for difference in comparison.tested.values()] == pytest.approx(
        list(oracle.holm(np.array(p)))
    )
    first = comparison.tested["metric_0"]
    assert first.p is not None
    assert first.p_holm is not None
    assert first.p < 0.05 <= first.p_holm
    assert first.likely == "better"
    assert "likely better (p = " in first.sentence
    assert "alone), not shown after correcting for 5 metrics" in first.sentence


def test_what_cannot_be_tested_costs_the_others_nothing() -> None:
    rng = np.random.default_rng(0)

    def side(shift: float) -> list[Score]:
        return [
            life(f"{at}", seed=at, values={"performance_maintenance": shift + value, "forward_transfer": 2.0})
            for at, value in enumerate(rng.normal(0, 1, 9))
        ]

    difference = compare_lives(side(1.0), side(0.0), {**PM, **RATIO}).differences["performance_maintenance"]
    assert difference.family == 1  # forward transfer is the same in all lifetimes
    assert difference.p_holm == difference.p


# --- beside it ------------------------------------------------------------------------------------


@given(st.lists(st.integers(-20, 20), min_size=2, max_size=8))
@settings(max_examples=50, deadline=None)
def test_the_exact_sign_flip_test_counts_every_flip(differences: list[int]) -> None:
    values = np.array(differences, dtype=float)
    sums = [
        abs(sum(s * v for s, v in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(values))
    ]
    expected = np.mean([one >= abs(sum(differences)) for one in sums])
    assert sign_flip_test(values, np.random.default_rng(0)) == pytest.approx(expected)


def test_many_pairs_are_flipped_at_random_to_the_same_p() -> None:
    differences = np.array(normal(0.3, 1.0, 40, 5))
    ours = sign_flip_test(differences, np.random.default_rng(0))
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=9999, rng=np.random.default_rng(1)
    ).pvalue
    assert ours == pytest.approx(theirs, abs=0.02)
    assert ours == sign_flip_test(differences, np.random.default_rng(0))


@pytest.mark.parametrize("flips", [9, 99, 999])
def test_no_number_of_random_flips_gives_a_p_of_0_because_the_one_observed_is_counted_in(flips: int) -> None:
    # Of 2⁶⁰ ways to flip equal differences two are as far out, so that none of these few is drawn.
    assert sign_flip_test(np.ones(60), np.random.default_rng(0), flips) == pytest.approx(1 / (flips + 1))
    assert sign_flip_test(np.zeros(60), np.random.default_rng(0), flips) == 1.0


def test_hedges_g_by_hand() -> None:
    # Means 2 and 4, both variances 1, n = 3 each: d = −2, correction 1 − 3/(4·4 − 1) = 0.8
    assert hedges_g(np.array([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 5.0]), 1.0) == pytest.approx(-1.6)
    assert hedges_g(np.ones(3), np.ones(3), 1.0) is None


def test_lower_is_better_turns_effect_sizes_but_not_the_difference() -> None:
    up, down = compared(A, B), compared(A, B, Threshold(0.0, better="lower", headline="log"))
    assert up.difference == down.difference
    assert up.hedges_g == pytest.approx(-(down.hedges_g or 0))
    assert (up.cliffs_delta, up.improvement) == pytest.approx((-(down.cliffs_delta or 0), 1 - (down.improvement or 0)))
    assert up.ahead == -down.ahead


def test_swapping_the_systems_swaps_the_signs_and_keeps_p() -> None:
    one, other = compared(A, B), compared(B, A)
    assert (one.p, one.difference) == pytest.approx((other.p, -(other.difference or 0)))
    assert (one.low, one.high) == pytest.approx((-(other.high or 0), -(other.low or 0)))


@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=5),
    st.lists(st.integers(0, 3), min_size=2, max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_tied_values_of_few_lifetimes_are_no_surer_than_all_ways_to_share_them_out(a: list[int], b: list[int]) -> None:
    if len({*a, *b}) == len(a) + len(b):
        return
    one = compared(a, b)
    ranks = stats.rankdata([*a, *b])
    sums = [sum(chosen) for chosen in combinations(ranks, len(a))]
    found = abs(ranks[: len(a)].sum() - np.mean(sums))
    assert one.rank_p == pytest.approx(np.mean([abs(each - np.mean(sums)) >= found - 1e-9 for each in sums]))


# --- few, equal, rounded, missing -----------------------------------------------------------------


def test_systems_that_agree_in_every_pair_have_p_1() -> None:
    one = compared(A, A.copy(), paired=True)
    assert (one.p, one.permutation_p, one.improvement, one.word) == (None, 1.0, 0.5, None)
    assert one.why == EQUAL


def test_two_constant_systems_differ_by_what_they_are_untested() -> None:
    one = compared(np.full(4, 2.0), np.full(4, 1.0))
    assert (one.difference, one.low, one.high, one.hedges_g) == (1.0, 1.0, 1.0, None)
    assert (one.p, one.word, one.verdict) == (None, None, None)
    assert EQUAL in str(one.why)


@pytest.mark.parametrize(("n", "number"), [(1, "one lifetime"), (2, "two lifetimes")])
def test_one_or_two_lifetimes_are_compared_but_not_tested(n: int, number: str) -> None:
    one = compared([2.0, 2.5][:n], [1.0, 1.5][:n])
    assert (one.difference, one.p, one.low, one.word) == (1.0, None, None, "undecided")
    assert one.why == f"{number}: values only"
    uneven = compared([2.0, 2.5, 3.0], [1.0, 1.5][:n])
    assert (uneven.low, uneven.verdict, uneven.why) == (None, "undecided", f"{number}: values only")


def test_a_pair_with_one_value_missing_is_left_out_and_counted() -> None:
    one = compared([1.0, np.nan, 3.0, 5.0], [0.0, 1.0, 1.0, 2.0], paired=True)
    assert (one.n, one.difference) == (3, 2.0)
    assert "1 pair without a value is left out" in str(one.why)


def test_the_last_bits_of_a_float_are_no_difference() -> None:
    apart = compared(np.full(5, 0.1 + 0.2), np.full(5, 0.3))
    assert (apart.difference, apart.p, apart.improvement, apart.hedges_g) == (0.0, None, 0.5, None)
    noise = np.array([0.1 + 0.2] * 6 + [1.0])
    paired = compared(noise, np.array([0.3] * 6 + [1.0]), paired=True)
    assert (paired.p, paired.permutation_p, paired.improvement) == (None, 1.0, 0.5)


def test_metrics_that_only_one_system_has_are_named() -> None:
    ours, theirs = lives([1.0, 2.0], "forward_transfer"), lives([1.0, 2.0], "performance_maintenance")
    found = compare_lives(ours, theirs, {**RATIO, **PM})
    assert found.only_in == {"A": ("forward_transfer",), "B": ("performance_maintenance",)}
    assert not found.differences


def said(shift: float, n: int = 15) -> str:
    ours, theirs = lives(normal(shift, 1, n, 1)), lives(normal(0, 1, n, 2))
    found = compare_lives(ours, theirs, PM, names=("ours", "theirs"))
    return sentence(found.differences["performance_maintenance"], "ours", "theirs")


def test_a_sentence_says_better_worse_or_not_told_apart() -> None:
    assert "ours keeps more than theirs, by" in said(5.0)
    assert "ours keeps less than theirs, by" in said(-5.0)
    assert "ours is as good as theirs" in said(0.0)
    assert "100 % of 15 pairs" in said(8.0)


def test_json_of_a_comparison_is_finite_and_carries_the_sentence() -> None:
    found = compare_lives(lives(normal(1, 1, 5)), lives(normal(0, 1, 5)), PM, order=True)
    facts = to_plain(found)
    json.dumps(facts, allow_nan=False)
    assert facts["family"] == ["performance_maintenance"]
    assert facts["metrics"]["performance_maintenance"]["sentence"].startswith("performance maintenance:")
    assert facts["metrics"]["performance_maintenance"]["order"] is not None


VALUE = st.one_of(st.none(), st.integers(-3, 3), st.floats(-1e6, 1e6))


@given(st.data(), st.booleans(), st.sampled_from(["higher", "lower"]))
@settings(max_examples=80, deadline=None)
def test_whatever_the_values_every_number_is_finite_and_nothing_warns(
    data: st.DataObject, paired: bool, better: str
) -> None:
    ours = data.draw(st.lists(VALUE, min_size=2, max_size=14))
    theirs = data.draw(st.lists(VALUE, min_size=len(ours) if paired else 1, max_size=len(ours) if paired else 14))
    bars = {"m": Threshold(0.0, better=better, compared=ComparedAs())}  # type: ignore[arg-type]
    mine, other = lives(ours, "m"), lives(theirs, "m")
    found: Comparison = compare_lives(mine, other, bars, paired="yes" if paired else "no", order=True)
    for one in found.differences.values():
        json.dumps(to_plain(one), allow_nan=False)
        for share in (one.p, one.p_holm, one.rank_p, one.permutation_p, one.improvement, one.order):
            assert share is None or 0 <= share <= 1
        assert sentence(one, "ours", "theirs")


def test_lifetimes_without_a_value_are_said_in_the_sentence() -> None:
    made = compare_lives(lives([1.0, None, 3.0, None, 5.0]), lives([1.5, 2.0, 2.5]), BARS, paired="no")
    assert "2 lifetimes without a value are left out" in sentence(made.differences["performance_maintenance"], "A", "B")


def test_each_system_is_also_summed_up_by_itself() -> None:
    ours, theirs = lives([1.0, None, 3.0, 2.0]), lives([1.0, 9.0, 3.0, 5.0])
    made = compare_lives(ours, theirs, BARS, paired="yes")
    assert made.differences["performance_maintenance"].baseline_mean == pytest.approx(3.0)  # of the pairs with both
    mine, other = made.alone["performance_maintenance"]
    assert (mine.n, mine.mean) == (3, 2.0)
    assert (other.n, other.mean) == (4, 4.5)
    assert other.sd == pytest.approx(np.std([1.0, 9.0, 3.0, 5.0], ddof=1))


# --- almost stochastic order ---------------------------------------------------------------------

VALUES = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=12).map(np.array)


@given(VALUES, VALUES)
@settings(max_examples=60, deadline=None)
def test_the_violation_ratio_is_the_integral_over_quantiles(ours: np.ndarray, theirs: np.ndarray) -> None:
    grid = (np.arange(math.lcm(len(ours), len(theirs))) + 0.5) / math.lcm(len(ours), len(theirs))
    gap = np.sort(ours)[(grid * len(ours)).astype(int)] - np.sort(theirs)[(grid * len(theirs)).astype(int)]
    total = (gap**2).sum()
    expected = (gap[gap < 0] ** 2).sum() / total if total else 0.5
    assert float(violation_ratio(ours, theirs)) == pytest.approx(expected)
    if total:
        assert float(violation_ratio(ours, theirs) + violation_ratio(theirs, ours)) == pytest.approx(1)


def test_a_system_above_at_every_quantile_is_in_stochastic_order() -> None:
    rng = np.random.default_rng(0)
    assert almost_stochastic_order(A + 10, B, rng) == pytest.approx(0.0, abs=0.01)
    assert almost_stochastic_order(B, A + 10, rng) == pytest.approx(1.0, abs=0.01)
    assert almost_stochastic_order(A, B, np.random.default_rng(3)) == almost_stochastic_order(
        A, B, np.random.default_rng(3)
    )


@pytest.mark.parametrize(("margin", "verdict"), [(0.5, "undecided"), (5.0, "as good")])
def test_a_given_margin_replaces_the_declared_one(margin: float, verdict: str) -> None:
    bar = Threshold(compared=ComparedAs(margin=2.0), margin=margin, margin_given=True)
    assert compared(normal(0, 1, 11, 1), normal(0, 1, 11, 2), bar).verdict == verdict


@pytest.mark.parametrize(("margin", "factor"), [(1.25, 1.25), (0.2, 1.25)])
def test_the_margin_of_a_ratio_is_a_factor_or_a_distance_from_1(margin: float, factor: float) -> None:
    bar = replace(RATIO["forward_transfer"], margin=margin, margin_given=True)
    rng = np.random.default_rng(0)
    sides = [lives(list(np.exp(rng.normal(0, 0.05, 9))), "forward_transfer") for _ in range(2)]
    difference = compare_lives(sides[0], sides[1], {"forward_transfer": bar}).differences["forward_transfer"]
    assert difference.margin == pytest.approx(factor)
