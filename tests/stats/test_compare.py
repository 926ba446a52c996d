"""Two systems: tests, intervals, effect sizes, and what is said where there is nothing to say."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]
from tests.stats.lives import BARS, altered, lives, normal

from perdure.metrics.declare import Bar
from perdure.stats.compare import Difference, compare_lives, compare_values, hedges_g, smallest_p
from perdure.stats.exact import sign_flip_test
from perdure.stats.order import almost_stochastic_order, violation_ratio
from perdure.stats.words import sentence

A, B = np.array(normal(1.0, 1.0, 11, 1)), np.array(normal(0.2, 1.5, 11, 2))


def test_unpaired_systems_are_held_apart_by_mann_whitney_and_welch() -> None:
    one = compare_values(A, B, Bar(0.0))
    theirs = stats.mannwhitneyu(A, B, alternative="two-sided")
    interval = stats.ttest_ind(A, B, equal_var=False).confidence_interval(0.95)
    assert (one.test, one.statistic, one.p) == ("Mann–Whitney", theirs.statistic, theirs.pvalue)
    assert (one.low, one.high) == pytest.approx((interval.low, interval.high))
    assert one.improvement == pytest.approx(theirs.statistic / 121)
    assert one.cliffs_delta == pytest.approx(2 * theirs.statistic / 121 - 1)


def test_paired_systems_are_held_apart_by_wilcoxon_and_by_flipping_signs() -> None:
    one = compare_values(A, B, Bar(0.0), paired=True)
    interval = stats.ttest_rel(A, B).confidence_interval(0.95)
    assert (one.test, one.p) == ("Wilcoxon signed-rank", stats.wilcoxon(A, B).pvalue)
    assert (one.low, one.high) == pytest.approx((interval.low, interval.high))
    assert one.permutation_p is not None


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


def test_hedges_g_by_hand() -> None:
    # Means 2 and 4, both variances 1, n = 3 each: d = −2, correction 1 − 3/(4·4 − 1) = 0.8
    assert hedges_g(np.array([1.0, 2.0, 3.0]), np.array([3.0, 4.0, 5.0])) == pytest.approx(-1.6)
    assert hedges_g(np.ones(3), np.ones(3)) is None


def test_lower_is_better_turns_effect_sizes_but_not_the_difference() -> None:
    up, down = compare_values(A, B, Bar()), compare_values(A, B, Bar(better="lower"))
    assert up.difference == down.difference
    assert up.hedges_g == pytest.approx(-(down.hedges_g or 0))
    assert (up.cliffs_delta, up.improvement) == pytest.approx((-(down.cliffs_delta or 0), 1 - (down.improvement or 0)))
    assert "better" in sentence(compared(down), "A", "B") or "apart" in sentence(compared(down), "A", "B")


def compared(one: Difference) -> Difference:
    return replace(one, metric="m", p_holm=one.p)


def test_swapping_the_systems_swaps_the_signs_and_keeps_p() -> None:
    one, other = compare_values(A, B), compare_values(B, A)
    assert (one.p, one.difference) == pytest.approx((other.p, -(other.difference or 0)))
    assert (one.low, one.high) == pytest.approx((-(other.high or 0), -(other.low or 0)))


def test_systems_that_agree_in_every_pair_have_p_1() -> None:
    one = compare_values(A, A.copy(), paired=True)
    assert (one.p, one.permutation_p, one.improvement) == (1.0, 1.0, 0.5)
    assert one.why == "the systems agree in every pair"


def test_two_constant_systems_have_a_difference_and_no_g() -> None:
    one = compare_values(np.full(4, 2.0), np.full(4, 1.0))
    assert (one.difference, one.low, one.high, one.hedges_g) == (1.0, 1.0, 1.0, None)
    assert one.why == "both systems have sd 0"
    assert one.p is not None


def test_one_lifetime_each_is_compared_but_not_tested() -> None:
    one = compare_values(np.array([2.0]), np.array([1.0]))
    assert (one.difference, one.p, one.sd) == (1.0, None, None)
    assert one.why is not None
    assert "nothing is tested" in one.why


def test_a_pair_with_one_value_missing_is_left_out_and_counted() -> None:
    one = compare_values(np.array([1.0, np.nan, 3.0]), np.array([0.0, 1.0, 1.0]), paired=True)
    assert (one.n, one.difference, one.why) == (2, 1.5, "1 pairs without a value are left out")


def test_holm_runs_over_the_metrics_that_were_tested() -> None:
    def both(shift: float, seed: int) -> tuple:  # type: ignore[type-arg]
        from tests.stats.lives import life

        return tuple(
            life(f"{at}", seed=at, values={"x": x + shift, "y": y, "z": None})
            for at, (x, y) in enumerate(zip(normal(0, 1, 12, seed), normal(0, 1, 12, seed + 50), strict=True))
        )

    found = compare_lives(both(3.0, 1), both(0.0, 2), {"x": Bar(), "y": Bar(), "z": Bar()}, paired="no")
    assert list(found.differences) == ["x", "y"]
    assert found.differences["x"].p_holm == pytest.approx(2 * (found.differences["x"].p or 0))
    assert found.differences["y"].p_holm == pytest.approx(found.differences["y"].p)


def test_metrics_that_only_one_system_has_are_named() -> None:
    ours = lives([1.0, 2.0], "forward_transfer")
    theirs = lives([1.0, 2.0], "performance_maintenance")
    found = compare_lives(ours, theirs, {"forward_transfer": Bar(1.0), "performance_maintenance": Bar(0.0)})
    assert found.only_in == {"A": ("forward_transfer",), "B": ("performance_maintenance",)}
    assert not found.differences


def test_a_sentence_says_better_worse_or_not_told_apart() -> None:
    def said(shift: float) -> str:
        ours, theirs = lives(normal(shift, 1, 15, 1)), lives(normal(0, 1, 15, 2))
        found = compare_lives(ours, theirs, {"performance_maintenance": Bar(0.0)}, names=("ours", "theirs"))
        return sentence(found.differences["performance_maintenance"], "ours", "theirs")

    assert "ours does better than theirs by" in said(5.0)
    assert "ours does worse than theirs by" in said(-5.0)
    assert "do not tell ours and theirs apart" in said(0.0)
    assert "100% of 15 pairs" in said(8.0)


def test_json_of_a_comparison_is_finite_and_carries_the_sentence() -> None:
    found = compare_lives(
        lives(normal(1, 1, 5)), lives(normal(0, 1, 5)), {"performance_maintenance": Bar(0.0)}, order=True
    )
    facts = found.as_json()
    json.dumps(facts, allow_nan=False)
    assert facts["metrics"]["performance_maintenance"]["sentence"].startswith("performance maintenance:")
    assert facts["metrics"]["performance_maintenance"]["order"] is not None


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


VALUE = st.one_of(st.none(), st.integers(-3, 3), st.floats(-1e6, 1e6))


@given(st.data(), st.booleans(), st.sampled_from(["higher", "lower"]))
@settings(max_examples=80, deadline=None)
def test_whatever_the_values_every_number_is_finite_and_nothing_warns(
    data: st.DataObject, paired: bool, better: str
) -> None:
    ours = data.draw(st.lists(VALUE, min_size=1, max_size=14))
    theirs = data.draw(st.lists(VALUE, min_size=len(ours) if paired else 1, max_size=len(ours) if paired else 14))
    mine, other = (np.array([np.nan if one is None else one for one in side], dtype=float) for side in (ours, theirs))
    one = compare_values(mine, other, Bar(0.0, better=better), "m", paired=paired, order=True)  # type: ignore[arg-type]
    json.dumps(one.as_json(), allow_nan=False)
    assert (one.difference is not None) == bool(one.n and one.baseline_n)
    for share in (one.p, one.permutation_p, one.improvement, one.order):
        assert share is None or 0 <= share <= 1
    assert sentence(one, "ours", "theirs")


@pytest.mark.parametrize(
    ("count", "paired", "warned"), [(5, True, True), (6, True, False), (3, False, True), (4, False, False)]
)
def test_too_few_lifetimes_for_any_p_below_5_percent_are_told(count: int, paired: bool, warned: bool) -> None:
    ours, theirs = lives([10.0 + at for at in range(count)]), lives([0.5 * at for at in range(count)])
    found = compare_lives(ours, theirs, {"performance_maintenance": Bar(0.0)}, paired="yes" if paired else "no")
    assert bool(found.notes) == warned
    p = found.differences["performance_maintenance"].p_holm
    assert p is not None
    assert (p >= 0.05) == warned  # the clearest difference there can be


@pytest.mark.parametrize(("n", "few"), [(5, True), (7, False)])
def test_a_sentence_says_where_the_lifetimes_are_too_few_for_any_result(n: int, few: bool) -> None:
    values = [1.0 if at % 2 else -1.1 for at in range(n)]
    bars = {"performance_maintenance": Bar(0.0)}
    found = compare_lives(lives(values), lives([0.0] * n), bars, names=("ours", "theirs"))
    said = sentence(found.differences["performance_maintenance"], "ours", "theirs", found.least_p)
    assert f"{n} pairs {'are too few to' if few else 'do not'} tell ours and theirs apart" in said
    assert ("no result could have given p < .05" in said) == few == (found.least_p >= 0.05) == bool(found.notes)


def test_more_metrics_can_make_lifetimes_too_few() -> None:
    bars = {f"metric_{at}": Bar(0.0) for at in range(5)}
    ours = [altered(one, values=dict.fromkeys(bars, float(at % 3 - 1))) for at, one in enumerate(lives([0.0] * 6))]
    theirs = [altered(one, values=dict.fromkeys(bars, 0.1)) for one in lives([0.0] * 6)]
    found = compare_lives(ours, theirs, bars)
    assert found.least_p == pytest.approx(5 * 2 / 2**6)
    assert "are too few to" in found.as_json()["metrics"]["metric_0"]["sentence"]


@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=5),
    st.lists(st.integers(0, 3), min_size=2, max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_tied_values_of_few_lifetimes_are_no_surer_than_all_ways_to_share_them_out(a: list[int], b: list[int]) -> None:
    if len({*a, *b}) == len(a) + len(b):
        return
    one = compare_values(np.array(a, dtype=float), np.array(b, dtype=float), Bar(0.0))
    ranks = stats.rankdata([*a, *b])
    sums = [sum(chosen) for chosen in combinations(ranks, len(a))]
    found = abs(ranks[: len(a)].sum() - np.mean(sums))
    assert one.p == pytest.approx(np.mean([abs(each - np.mean(sums)) >= found - 1e-9 for each in sums]))
    assert one.p is not None
    assert one.p >= smallest_p(len(a), len(b), paired=False) / 2


def test_the_last_bits_of_a_float_are_no_difference() -> None:
    ours, theirs = np.full(5, 0.1 + 0.2), np.full(5, 0.3)
    apart = compare_values(ours, theirs, Bar(0.0))
    assert (apart.difference, apart.p, apart.improvement, apart.hedges_g) == (0.0, 1.0, 0.5, None)
    noise = np.array([0.1 + 0.2] * 6 + [1.0])
    paired = compare_values(noise, np.array([0.3] * 6 + [1.0]), Bar(0.0), paired=True)
    assert (paired.p, paired.permutation_p, paired.improvement) == (1.0, 1.0, 0.5)


def test_lifetimes_without_a_value_are_said_in_the_sentence() -> None:
    made = compare_lives(lives([1.0, None, 3.0, None, 5.0]), lives([1.5, 2.0, 2.5]), BARS, paired="no")
    said = sentence(made.differences["performance_maintenance"], "A", "B")
    assert "2 lifetimes without a value are left out" in said


def test_each_system_is_also_summed_up_by_itself() -> None:
    ours, theirs = lives([1.0, None, 3.0, 2.0]), lives([1.0, 9.0, 3.0, 5.0])
    made = compare_lives(ours, theirs, BARS, paired="yes")
    assert made.differences["performance_maintenance"].baseline_mean == pytest.approx(3.0)  # of the pairs with both
    mine, other = made.alone["performance_maintenance"]
    assert (mine.n, mine.mean) == (3, 2.0)
    assert (other.n, other.mean) == (4, 4.5)
    assert other.sd == pytest.approx(np.std([1.0, 9.0, 3.0, 5.0], ddof=1))
