"""Pilots: the effect is named, the spread is taken at its upper bound, the shape redrawn."""

from __future__ import annotations

import json
import math
import statistics

import numpy as np
import pytest
from msgspec import to_builtins
from tests.stats.lives import altered, beside_experts, lives, normal

from perdure.errors import PerdureError
from perdure.metrics.declare import Threshold
from perdure.metrics.score import Score
from perdure.stats.pilot import PilotMetric, pilot_metrics, spread_bound
from perdure.stats.power import Design, power

PM, RP = "performance_maintenance", "relative_performance"
KEEPS = {PM: Threshold(0.0, 5.0, headline="log")}
BESIDE = {RP: Threshold(1.0, headline="log", scale="log", expert=True)}
RATIO = {"forward_transfer": Threshold(1.0, headline="log", scale="log")}


def of(values: list[float], detect: float | None = None, **asked: object) -> PilotMetric:
    named = {} if detect is None else {PM: detect}
    return pilot_metrics(lives(values), KEEPS, 11, detect=named, **asked)[PM]  # type: ignore[arg-type]


def crossing(n: int, each: int, seed: int = 0, spread: float = 0.2) -> tuple[Score, ...]:
    """Lives held against the same experts of two tasks."""
    rng = np.random.default_rng(seed)
    own = rng.normal(0.0, 0.2, (n, 1))
    return beside_experts(
        {task: own + rng.normal(0.0, spread, (1, each)) for task in "ab"},
        experts=lambda _, task: [f"{task}{at}" for at in range(each)],
    )


def test_nothing_rests_on_the_pilots_mean() -> None:
    first, moved = of(normal(0.0, 4.0, 11)), of(normal(300.0, 4.0, 11))
    assert first.mean != moved.mean
    assert (first.plain, first.upper, first.redrawn, first.lifetimes) == (
        moved.plain,
        moved.upper,
        moved.redrawn,
        moved.lifetimes,
    )


def test_what_has_a_margin_is_planned_to_keep_and_the_rest_waits_for_an_effect() -> None:
    assert of(normal(0.0, 4.0, 11)).detect == 5.0
    (unnamed,) = pilot_metrics(lives([1.1, 1.2, 1.4, 0.9], "forward_transfer"), RATIO, 11).values()
    assert (unnamed.detect, unnamed.lifetimes) == (None, None)
    assert unnamed.sees is not None
    assert unnamed.sees > 1


def test_the_plan_is_the_larger_number_at_the_upper_bound_beside_the_plain_one() -> None:
    for seed in range(8):
        one = of(normal(0.0, 5.0, 11, seed))
        assert None not in (one.plain, one.upper, one.redrawn, one.sd_upper)
        assert one.lifetimes == max(one.upper or 0, one.redrawn or 0)
        assert (one.plain or 0) < (one.lifetimes or 0)
        assert one.sd_upper == pytest.approx((one.sd or 0) * spread_bound(10))
        assert (one.power_upper or 0) < (one.power_plain or 0)


def test_the_bound_holds_the_true_spread_in_97_5_percent() -> None:
    rng = np.random.default_rng(0)
    for n in (3, 11, 40):
        seen = rng.normal(size=(8000, n)).std(axis=1, ddof=1)
        assert np.mean(spread_bound(n - 1.0) * seen >= 1) == pytest.approx(0.975, abs=0.008)
    assert spread_bound(10) ** 2 == pytest.approx(3.08, abs=0.01)  # from 11 lifetimes two to three times as many


def test_skewed_values_need_more_than_normal_ones_of_the_same_spread() -> None:
    # Long to the left, as where some lifetimes fail: the t test is slower there.
    skewed = -np.exp(np.random.default_rng(1).normal(size=60))
    one = of([float(value) for value in 4 * skewed / skewed.std()])
    assert (one.redrawn or 0) > (one.upper or 0)
    assert one.lifetimes == one.redrawn


def test_normal_values_redrawn_need_about_what_the_formula_says() -> None:
    one = of(normal(0.0, 5.0, 2000))
    assert abs((one.redrawn or 0) - (one.upper or 0)) <= 1
    assert abs((one.plain or 0) - (one.upper or 0)) <= 2


def test_a_smaller_effect_needs_more_lifetimes_and_what_so_many_see_needs_just_them() -> None:
    values = normal(0.0, 4.0, 11)
    few, many = of(values, 8.0), of(values, 4.0)
    assert (few.lifetimes or 0) < (many.lifetimes or 0)
    sees = few.sees or math.nan
    assert of(values, sees).upper == 11
    assert (of(values, 0.97 * sees).upper or 0) > 11


def test_ratios_are_seen_as_factors() -> None:
    pilot = lives([float(one) for one in np.exp(normal(0.0, 0.2, 11))], "forward_transfer")
    (one,) = pilot_metrics(pilot, RATIO, 11, detect={"forward_transfer": 1.2}).values()
    assert (one.scale, one.against) == ("log", 1.0)
    assert one.k == pytest.approx(math.log(1.2) / (one.sd or 1))
    with pytest.raises(PerdureError, match="a factor above 1"):
        pilot_metrics(pilot, RATIO, 11, detect={"forward_transfer": 0.2})


@pytest.mark.parametrize(
    ("values", "said"), [([1.0], "a spread needs two"), ([1.0, 1.0, 1.0], "no spread"), ([None, None], "0 of 2")]
)
def test_a_pilot_without_spread_says_so(values: list[float | None], said: str) -> None:
    one = pilot_metrics(lives(values), KEEPS, 11)[PM]
    assert one.lifetimes is None
    assert said in (one.why or "")


def test_only_what_gets_a_verdict_is_planned() -> None:
    bars = {**KEEPS, "recovery_time": Threshold(None, better="lower"), "bwt": Threshold(0.0, 5.0, headline="matrix")}
    assert list(pilot_metrics(lives([1.0, 2.0, 4.0]), bars, 11)) == [PM]
    with pytest.raises(PerdureError, match="does not test recovery_time; choose of performance_maintenance"):
        pilot_metrics(lives([1.0, 2.0]), bars, 11, detect={"recovery_time": 1.0})
    matrices = lives([1.0, 2.0, 4.0], "bwt", unit="percent")
    assert list(pilot_metrics(matrices, bars, 11)) == ["bwt"]
    with pytest.raises(PerdureError, match="no headline metric"):
        pilot_metrics(matrices, KEEPS, 11)


def test_a_paper_s_preset_is_planned_for_its_one_tailed_test_without_a_margin() -> None:
    papers = [altered(one, preset="baker-2023") for one in lives(normal(0.0, 4.0, 11))]
    one = pilot_metrics(papers, KEEPS, 11, detect={PM: 5.0})[PM]
    assert one.against == 0.0
    assert (one.plain or 0) < (of(normal(0.0, 4.0, 11)).plain or 0)
    assert pilot_metrics(papers, KEEPS, 11)[PM].detect is None


def test_experts_of_a_pilot_add_their_part_and_more_of_them_help() -> None:
    pilot = crossing(11, 5)
    few, many = (pilot_metrics(pilot, BESIDE, 11, detect={RP: 1.5}, each=each)[RP] for each in (5, 20))
    assert few.grid is not None
    assert (few.experts, few.grid.tasks) == (5, 2)
    assert few.grid.needed[few.grid.experts.index(20)] == many.upper
    assert many.upper is not None
    assert few.upper is None or few.upper > many.upper
    json.dumps(to_builtins(few), allow_nan=False)


def test_one_expert_says_nothing_of_others() -> None:
    one = pilot_metrics(crossing(6, 1), BESIDE, 11, detect={RP: 2.0})[RP]
    assert one.lifetimes is None
    assert "does not show how much experts differ" in (one.why or "")


def test_a_table_without_experts_is_planned_with_a_word_of_warning() -> None:
    pilot = lives([1.1, 1.3, 0.9, 1.0], RP)
    one = pilot_metrics(pilot, BESIDE, 11, detect={RP: 1.5})[RP]
    assert one.lifetimes is not None
    assert "experts not in the table; planned as if experts did not vary" in (one.why or "")


def test_pairs_are_planned_by_their_differences() -> None:
    base = normal(0.0, 10.0, 11)
    ours, theirs = (
        lives(base),
        lives([value + noise for value, noise in zip(base, normal(0.0, 1.0, 11, 5), strict=True)]),
    )
    paired = pilot_metrics(ours, KEEPS, 11, other=theirs, design=Design("paired"), detect={PM: 5.0})[PM]
    apart = pilot_metrics(ours, KEEPS, 11, other=theirs, design=Design("unpaired"), detect={PM: 5.0})[PM]
    alone = pilot_metrics(ours, KEEPS, 11, design=Design("unpaired"), detect={PM: 5.0})[PM]
    assert (paired.plain or 0) < (apart.plain or 0)
    assert apart.plain == pytest.approx(alone.plain, rel=0.1)
    assert (alone.upper or 0) > (apart.upper or 0)  # two pilots know the spread better than one
    with pytest.raises(PerdureError, match="give a pilot of both"):
        pilot_metrics(ours, KEEPS, 11, design=Design("paired"), detect={PM: 5.0})


def test_gains_over_own_experts_are_not_planned_for_two_learners() -> None:
    ours = tuple(
        altered(one, values={PM: value, **one.values})
        for one, value in zip(crossing(8, 5, 1), normal(0.0, 4.0, 8), strict=True)
    )
    assert list(pilot_metrics(ours, {**KEEPS, **BESIDE}, 11)) == [PM, RP]
    assert list(pilot_metrics(ours, {**KEEPS, **BESIDE}, 11, design=Design("unpaired"))) == [PM]


def test_the_spread_seen_is_the_sample_s_and_of_two_learners_its_pooled_variance() -> None:
    ours, theirs = normal(0.0, 4.0, 5, 1), normal(0.0, 1.0, 5, 2)
    assert of(ours).sd == pytest.approx(statistics.stdev(ours))
    both = pilot_metrics(lives(ours), KEEPS, 11, other=lives(theirs), design=Design("unpaired"))[PM]
    assert both.sd == pytest.approx(math.sqrt((statistics.variance(ours) + statistics.variance(theirs)) / 2))


def test_a_plan_has_a_power_of_90_percent_unless_another_is_asked() -> None:
    values = normal(0.0, 4.0, 11)
    one = of(values)
    k = (one.detect or 0) / (one.sd_upper or 1)
    assert power((one.upper or 0) - 1, k) < 0.9 <= power(one.upper or 0, k)
    assert (of(values, design=Design(beta=0.2)).upper or 0) < (one.upper or 0)


def test_two_learners_are_held_against_each_other_and_not_against_a_threshold_or_its_margin() -> None:
    one = pilot_metrics(lives(normal(0.0, 4.0, 11)), KEEPS, 11, design=Design("unpaired"))[PM]
    assert (one.against, one.detect, one.lifetimes) == (None, None, None)
    assert of(normal(0.0, 4.0, 11)).against == -5.0


def test_the_power_at_the_upper_bound_is_never_above_that_of_normal_values() -> None:
    fewer = 0
    for seed in range(6):
        # Long to the left: what is redrawn from them reaches less than the formula says, or more.
        one = of([-float(value) for value in np.exp(normal(0.0, 1.0, 12, seed))], 2.0)
        by_formula = power(11, 2.0 / (one.sd_upper or 1))
        assert (one.power_upper or 0) <= by_formula + 1e-12
        fewer += (one.power_upper or 0) < by_formula - 0.01
    assert fewer


def test_the_mean_told_is_the_pilot_s_of_two_learners_their_difference_and_of_ratios_a_factor() -> None:
    ours, theirs = normal(3.0, 4.0, 7, 1), normal(1.0, 2.0, 7, 2)
    assert of(ours).mean == pytest.approx(statistics.fmean(ours))
    for question in ("paired", "unpaired"):
        both = pilot_metrics(lives(ours), KEEPS, 11, other=lives(theirs), design=Design(question))[PM]
        assert both.mean == pytest.approx(statistics.fmean(ours) - statistics.fmean(theirs))
    ratios = pilot_metrics(lives([1.0, 2.0, 4.0], "forward_transfer"), RATIO, 11)["forward_transfer"]
    assert ratios.mean == pytest.approx(2.0)


@pytest.mark.parametrize(("preset", "scale"), [("standard", "log"), ("baker-2023", "linear")])
def test_two_learners_are_planned_on_the_scale_on_which_they_are_compared(preset: str, scale: str) -> None:
    ours, theirs = (lives(one, "forward_transfer", preset=preset) for one in ([1.0, 2.0, 4.0], [1.5, 1.0, 3.0]))
    one = pilot_metrics(ours, RATIO, 11, other=theirs, design=Design("unpaired"))["forward_transfer"]
    assert one.scale == scale
