"""Intervals whose variance is a sum of parts, and the rank test beside them."""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats  # type: ignore[import-untyped]
from tests.stats.lives import altered, life

from perdure.metrics.declare import Threshold
from perdure.metrics.score import BlockSummary, Score
from perdure.scenario.model import Block
from perdure.stats.decide import decide
from perdure.stats.interval import Interval, interval_of, part_of, signed_rank_test, weighted_interval_of
from perdure.stats.one_lifetime import within_life

VALUES = st.lists(st.floats(-50, 50), min_size=3, max_size=20).map(np.array)


@given(VALUES, st.floats(-5, 5), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
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
def test_two_parts_are_welchs_test(ours: np.ndarray, theirs: np.ndarray) -> None:
    if min(ours.std(ddof=1), theirs.std(ddof=1)) < 1e-6:
        return
    found = interval_of(float(ours.mean() - theirs.mean()), [part_of(ours), part_of(theirs)])
    welch = stats.ttest_ind(ours, theirs, equal_var=False)
    assert found.p() == pytest.approx(welch.pvalue, rel=1e-9, abs=1e-12)
    assert found.freedom == pytest.approx(welch.df, rel=1e-9)


@given(VALUES, VALUES, st.sampled_from([0.8, 0.95, 0.99, 0.9999]))
def test_weighted_quantiles_are_those_of_cochran_and_cox(ours: np.ndarray, theirs: np.ndarray, level: float) -> None:
    if min(ours.std(ddof=1), theirs.std(ddof=1)) < 1e-6:
        return
    mean, variances = (
        float(ours.mean() - theirs.mean()),
        [values.var(ddof=1) / len(values) for values in (ours, theirs)],
    )
    found = weighted_interval_of(mean, [part_of(ours), part_of(theirs)], level)
    quantiles = [stats.t.ppf(0.5 + level / 2, len(values) - 1) for values in (ours, theirs)]
    half = np.average(quantiles, weights=variances) * math.sqrt(sum(variances))
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half), rel=1e-9, abs=1e-9)


@given(VALUES, VALUES, st.floats(-80, 80), st.sampled_from([0.8, 0.95, 0.99]))
def test_p_is_the_level_at_which_a_weighted_interval_touches_the_threshold(
    ours: np.ndarray, theirs: np.ndarray, against: float, level: float
) -> None:
    if min(ours.std(ddof=1), theirs.std(ddof=1)) < 1e-6:
        return
    mean, parts = float(ours.mean() - theirs.mean()), [part_of(ours), part_of(theirs)]
    found = weighted_interval_of(mean, parts, level)
    p = found.p(against)
    assert p is not None
    assert (p < 1 - level) == (not found.low <= against <= found.high) == (found.side(against) != 0)
    if 1e-9 < p < 1 - 1e-5:  # of a larger p, 1 − p has too few digits
        touching = weighted_interval_of(mean, parts, 1 - p)
        assert touching.half == pytest.approx(abs(mean - against), rel=1e-6)


@given(VALUES, st.sampled_from([0.8, 0.95]))
def test_weighted_intervals_of_one_part_or_equal_parts_are_plain(values: np.ndarray, level: float) -> None:
    part = part_of(values)
    plain, weighted = interval_of(1.0, [part, part], level), weighted_interval_of(1.0, [part, part], level)
    one = weighted_interval_of(1.0, [part, (0.0, 1.0)], level)
    assert one.half == pytest.approx(interval_of(1.0, [part], level).half)
    assert weighted.half >= plain.half - 1e-9  # its quantile has n − 1 degrees of freedom, Satterthwaite's twice that


@given(st.lists(st.integers(-40, 40), min_size=1, max_size=14, unique_by=abs))
def test_the_signed_rank_test_is_scipys_where_nothing_is_tied(differences: list[int]) -> None:
    values = np.array([one for one in differences if one], dtype=float)
    if len(values):
        assert signed_rank_test(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9))
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


PM = Threshold(0.0, 5.0, headline="log")
# Evaluated: a b, a learned, a b, b learned, a b; so that maintenance and backward transfer read blocks 3 and 6,
# forward transfer blocks 1 and 4.
_ORDER = (("evaluate", "a"), ("evaluate", "b"), ("learn", "a"), ("evaluate", "a"), ("evaluate", "b"), ("learn", "b"),
          ("evaluate", "a"), ("evaluate", "b"))  # fmt: skip


def lived(values: dict[int, np.ndarray], n: int = 30, seed: int = 0) -> Score:
    rng = np.random.default_rng(seed)
    blocks = []
    for at, (mode, task) in enumerate(_ORDER):
        found = values.get(at, rng.normal(50, 5, n))
        away = found - found.mean()
        block = Block(mode, task, len(found))  # type: ignore[arg-type]
        made = BlockSummary(at, block, float(found.mean()), None)
        if mode == "evaluate":
            made = replace(made, squares=float(away @ away), lagged=float(away[1:] @ away[:-1]))
        blocks.append(made)
    change = blocks[6].mean - blocks[3].mean  # type: ignore[operator]
    return life("one", values={"performance_maintenance": change, "forward_transfer": 1.2}, blocks=tuple(blocks))


@pytest.mark.parametrize(
    ("metric", "later", "earlier"), [("performance_maintenance", 6, 3), ("forward_transfer", 4, 1)]
)
def test_the_difference_of_two_blocks_is_welchs_widened_by_their_autocorrelation(
    metric: str, later: int, earlier: int
) -> None:
    rng = np.random.default_rng(3)
    walks = [np.convolve(rng.normal(0, 5, 41), [0.5, 0.5], "valid") + mean for mean in (55, 50)]
    found = within_life(lived({later: walks[0], earlier: walks[1]}), metric)
    assert not isinstance(found, str)
    away = [walk - walk.mean() for walk in walks]
    observed = sum(float(one[1:] @ one[:-1]) for one in away) / sum(float(one @ one) for one in away)
    rho = (observed + 1 / 40 + 0.75 / math.sqrt(80)) / (1 - 3 / 40)  # 40 evaluations in each block, 80 in both
    assert 0.2 < rho < 0.8
    variances = [walk.var(ddof=1) / 40 * (1 + rho) / (1 - rho) for walk in walks]
    freedom = 40 * (1 - rho**2) / (1 + rho**2) - 1
    assert found.mean == pytest.approx(walks[0].mean() - walks[1].mean())
    assert found.variance == pytest.approx(sum(variances))
    assert found.freedom == pytest.approx(sum(variances) ** 2 / sum(one**2 / freedom for one in variances))


def test_a_clear_change_is_told_and_a_slight_one_is_not_and_no_p_is_given() -> None:
    rng = np.random.default_rng(0)
    before = rng.normal(50, 5, 30)
    for shift, verdict in ((-20, "not met"), (20, "met"), (0.5, "undecided")):
        made = decide((lived({3: before, 6: before[::-1] + shift}),), "performance_maintenance", PM)
        assert (made.verdict, made.p, made.word, made.low) == (verdict, None, None, None)
        assert "one lifetime does not predict the next" in made.notes


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.7])
@pytest.mark.parametrize("count", [10, 30])
def test_one_lifetime_rarely_calls_chance_a_change(rho: float, count: int) -> None:
    rng = np.random.default_rng(int(100 * rho) + count)

    def correlated() -> np.ndarray:
        noise = rng.normal(0, 1, count) * np.r_[1.0, np.full(count - 1, math.sqrt(1 - rho**2))]
        return 50 + 5 * np.array(list(accumulate(noise, lambda last, new: rho * last + new)))

    groups = 400
    marks = [
        decide((lived({3: correlated(), 6: correlated()}, count, seed),), "performance_maintenance", PM).verdict
        for seed in range(groups)
    ]
    assert sum(mark != "undecided" for mark in marks) <= 0.07 * groups + 2 * math.sqrt(0.07 * 0.93 * groups)


def test_evaluations_that_follow_their_neighbours_decide_nothing() -> None:
    drift = {at: np.linspace(40, 60, 30) + shift for at, shift in ((0, 0), (1, 0), (3, 0), (4, 0), (6, 60), (7, 0))}
    found = within_life(lived(drift), "performance_maintenance")
    assert isinstance(found, str)
    assert "neighbours" in found


def test_a_change_in_points_of_the_other_sign_than_the_value_decides_nothing() -> None:
    before = np.random.default_rng(0).normal(50, 5, 30)
    helped = lived({1: before, 4: before + 20})
    harmed = altered(helped, values={"forward_transfer": 0.8})
    ratio = Threshold(1.0, headline="log", scale="log")
    assert decide((helped,), "forward_transfer", ratio).verdict == "met"
    assert decide((harmed,), "forward_transfer", ratio).verdict == "undecided"


def test_what_one_lifetime_cannot_say_is_left_open_with_the_reason() -> None:
    few, still = lived({}, n=9), lived({at: np.full(20, 50.0 + at) for at in range(8)})
    for one, why in ((few, "fewer than 10"), (still, "no evaluation varies"), (life("bare"), "not known")):
        made = decide((one,), "performance_maintenance", PM)
        assert made.verdict == "undecided"
        assert any(why in note for note in made.notes), made.notes
    assert isinstance(within_life(few, "relative_performance"), str)


def test_a_null_life_is_seldom_told() -> None:
    told = [
        decide((lived({}, seed=seed),), "performance_maintenance", PM).verdict != "undecided" for seed in range(400)
    ]
    assert np.mean(told) < 0.08


@pytest.mark.parametrize("short", [3, 6])
def test_one_short_evaluation_among_long_ones_is_enough_to_leave_it_open(short: int) -> None:
    rng = np.random.default_rng(0)
    for count, open_ in ((9, True), (10, False)):
        found = within_life(lived({short: rng.normal(50, 5, count)}), "performance_maintenance")
        assert isinstance(found, str) == open_
