"""Learning metrics of compared lifetimes, against the definitions and the laws that follow from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.metrics.written import table

from perdure.curves.arrays import Array
from perdure.gather.survey import survey
from perdure.log.model import Lifetime
from perdure.metrics.efficiency import NEVER_REACHED
from perdure.metrics.score import Score
from perdure.settings import Settings
from perdure.stats.learning import LEARNING_PERFORMANCE, LEARNING_SPEED, add_learning_metrics
from perdure.stats.systems import compare_with_baseline

Curves = Mapping[str, Any]
"""Task → its learning curve."""
BOUNDS = {"a": (0.0, 10.0), "b": (0.0, 10.0)}


def rising(rng: np.random.Generator, length: int, height: float = 8.0, noise: float = 0.5) -> Array:
    return height * (1 - np.exp(-4 * np.arange(length) / length)) + rng.normal(0, noise, length) + 1


def lifetime(name: str, curves: Curves, *, seed: int = 0, learner: str = "x") -> Lifetime:
    """Return a lifetime that learns and then evaluates each task."""
    blocks = [
        block
        for task, values in curves.items()
        for block in (("train", task, list(values)), ("test", task, [values[-1]] * 3))
    ]
    return table(name, blocks, seed=seed, learner=learner)


def expert(name: str, task: str, values: Sequence[float] | Array) -> Lifetime:
    return replace(table(name, [("train", task, list(values))]), role="expert")


def scored(
    lifetimes: Sequence[Lifetime], experts: Sequence[Lifetime] = (), bounds: object = BOUNDS, **settings: object
) -> tuple[Score, ...]:
    scores = survey(lifetimes, experts, Settings(bounds=bounds, **settings), learning=True).scores  # type: ignore[arg-type]
    assert len(scores) == len(lifetimes)
    return scores


def two_systems(rng: np.random.Generator, count: int = 3, **lengths: int) -> tuple[list[Lifetime], list[Lifetime]]:
    return tuple(  # type: ignore[return-value]
        [
            lifetime(f"{name}{number}", {task: rising(rng, lengths.get(task, 60) + 5 * number) for task in "ab"})
            for number in range(count)
        ]
        for name in ("first", "second")
    )


def values(scores: Sequence[Score], metric: str) -> Array:
    found = [score.metrics[metric].value for score in scores]
    assert None not in found, [score.metrics[metric].why for score in scores]
    return np.array(found, dtype=float)


# --- an independent model of the definitions --------------------------------------------------------


def model_smooth(curve: Array) -> Array:
    width = min(len(curve) // 5, 100)
    if width < 3:
        return curve
    offsets = range(-(width // 2), width // 2 + 1)
    weights = [0.5 if width % 2 == 0 and abs(offset) == width // 2 else 1.0 for offset in offsets]
    smoothed = []
    for index in range(len(curve)):
        total = 0.0
        for offset, weight in zip(offsets, weights, strict=True):
            place = abs(index + offset)
            place = 2 * (len(curve) - 1) - place if place >= len(curve) else place
            total += weight * curve[place]
        smoothed.append(total / sum(weights))
    return np.array(smoothed)


def model(
    systems: Mapping[str, Sequence[Curves]],
    experts: Mapping[str, Sequence[Mapping[str, Sequence[Any]]]] | None,
    bounds: Mapping[str, tuple[float, float]],
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return both metrics of every lifetime, from definitions §7 alone."""
    performance = {name: np.zeros(len(lives)) for name, lives in systems.items()}
    speed = {name: np.zeros(len(lives)) for name, lives in systems.items()}
    for task, (low, high) in bounds.items():

        def prepared(curve: Sequence[float], length: int, low: float = low, high: float = high) -> Array:
            return 100 * (model_smooth(np.array(curve[:length], dtype=float)) - low) / (high - low) + 1

        lengths = [len(life[task]) for lives in systems.values() for life in lives]
        m_performance, m_speed = min(lengths), min(lengths)
        if experts:
            m_speed = min(
                [*lengths, *(len(curve) for lives in experts.values() for life in lives for curve in life[task])]
            )
        begins, ends = [], []
        for name, lives in systems.items():
            by_life = []
            for number, life in enumerate(lives):
                reference = experts[name][number][task] if experts else [life[task]]
                curves = [prepared(curve, m_speed) for curve in reference]
                tenth = max(1, m_speed // 10)
                by_life.append(
                    (
                        np.mean([curve[:tenth].mean() for curve in curves]),
                        np.mean([curve[9 * m_speed // 10 :].mean() for curve in curves]),
                    )
                )
            begins.append(np.mean([begin for begin, _ in by_life]))
            ends.append(np.mean([end for _, end in by_life]))
        target = np.mean(begins) + 0.9 * (np.mean(ends) - np.mean(begins))
        for name, lives in systems.items():
            for number, life in enumerate(lives):
                performance[name][number] += np.log(max(1, prepared(life[task], m_performance).mean())) / len(bounds)
                curve = prepared(life[task], m_speed)
                over = np.flatnonzero(curve >= target - 1e-9 * max(1, abs(target)))
                reached = over[0] + 1 if len(over) else m_speed + 1
                speed[name][number] += np.log(max(1, curve[9 * m_speed // 10 :].mean()) / reached) / len(bounds)
    return tuple({name: np.exp(means) for name, means in made.items()} for made in (performance, speed))  # type: ignore[return-value]


def curves_of(lives: Sequence[Score]) -> list[dict[str, Array]]:
    return [dict(life.learning) for life in lives]


@pytest.mark.parametrize("with_experts", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_both_metrics_are_those_of_the_definitions(seed: int, with_experts: bool) -> None:
    rng = np.random.default_rng(seed)
    first, second = two_systems(rng, a=40 + 13 * seed, b=71)
    sides = {}
    for name, lifetimes in (("first", first), ("second", second)):
        own = [expert(f"{name}-{task}{n}", task, rising(rng, 50 + n)) for task in "ab" for n in range(with_experts * 3)]
        sides[name] = scored(lifetimes, own)
    made, _ = add_learning_metrics(sides)
    experts = {name: [dict(life.expert_learning) for life in lives] for name, lives in sides.items()}
    performance, speed = model(
        {name: curves_of(lives) for name, lives in sides.items()}, experts if with_experts else None, BOUNDS
    )
    for name in sides:
        np.testing.assert_allclose(values(made[name], LEARNING_PERFORMANCE), performance[name], rtol=1e-9)
        np.testing.assert_allclose(values(made[name], LEARNING_SPEED), speed[name], rtol=1e-9)


# --- laws -------------------------------------------------------------------------------------------


def test_common_experts_cancel_out_of_learning_performance() -> None:
    rng = np.random.default_rng(1)
    first, second = two_systems(rng)
    common = [expert(f"e{task}", task, rising(rng, 55)) for task in "ab"]
    plain, _ = add_learning_metrics({"first": scored(first), "second": scored(second)})
    beside, _ = add_learning_metrics({"first": scored(first, common), "second": scored(second, common)})
    for name in plain:
        np.testing.assert_array_equal(
            values(plain[name], LEARNING_PERFORMANCE), values(beside[name], LEARNING_PERFORMANCE)
        )


def test_worse_experts_of_one_side_change_no_ratio_of_learning_performance_and_one_target_serves_both() -> None:
    rng = np.random.default_rng(4)
    first, _ = two_systems(rng)
    good, bad = (
        [expert(f"{height}{task}{n}", task, rising(rng, 60, height)) for task in "ab" for n in range(2)]
        for height in (8.0, 4.0)
    )
    made, _ = add_learning_metrics({"first": scored(first, good), "second": scored(first, bad)})
    for metric in (LEARNING_PERFORMANCE, LEARNING_SPEED):
        np.testing.assert_array_equal(values(made["first"], metric), values(made["second"], metric))


def test_exchanging_the_systems_changes_no_value() -> None:
    first, second = map(scored, two_systems(np.random.default_rng(2)))
    one, _ = add_learning_metrics({"first": first, "second": second})
    other, _ = add_learning_metrics({"second": second, "first": first})
    for metric in (LEARNING_PERFORMANCE, LEARNING_SPEED):
        for name in one:
            np.testing.assert_allclose(values(one[name], metric), values(other[name], metric), rtol=1e-12)


def test_rewards_and_bounds_in_another_unit_give_the_same_values() -> None:
    rng = np.random.default_rng(3)
    curves = [{task: rising(rng, 70) for task in "ab"} for _ in range(4)]
    plain, other = (
        add_learning_metrics(
            {
                name: scored(
                    [
                        lifetime(str(n), {task: factor * curve + shift for task, curve in life.items()})
                        for n, life in enumerate(part)
                    ],
                    bounds=dict.fromkeys("ab", (shift, 10 * factor + shift)),
                )
                for name, part in (("first", curves[:2]), ("second", curves[2:]))
            }
        )[0]
        for factor, shift in ((1.0, 0.0), (37.0, -500.0))
    )
    for metric in (LEARNING_PERFORMANCE, LEARNING_SPEED):
        for name in plain:
            np.testing.assert_allclose(values(plain[name], metric), values(other[name], metric), rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_curve_that_is_lower_everywhere_never_gets_a_higher_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    better = {task: rising(rng, 60) for task in "ab"}
    worse = {task: curve - rng.uniform(0, 3, len(curve)) * rng.integers(0, 2) for task, curve in better.items()}
    common = [expert(f"e{task}", task, rising(rng, 60)) for task in "ab"]
    made, _ = add_learning_metrics(
        {"better": scored([lifetime("b", better)], common), "worse": scored([lifetime("w", worse)], common)}
    )
    for metric in (LEARNING_PERFORMANCE, LEARNING_SPEED):
        assert values(made["worse"], metric)[0] <= values(made["better"], metric)[0]


# --- reasons, flags and notes -----------------------------------------------------------------------


def test_a_reference_that_does_not_rise_leaves_speed_alone_without_a_value() -> None:
    rng = np.random.default_rng(5)
    lives = scored([lifetime(str(n), {"a": rising(rng, 60), "b": rising(rng, 60)[::-1]}) for n in range(2)])
    made, _ = add_learning_metrics({"first": lives[:1], "second": lives[1:]})
    for side in made.values():
        assert side[0].metrics[LEARNING_SPEED].why == "the reference did not learn b"
        assert side[0].metrics[LEARNING_PERFORMANCE].value is not None


def test_a_comparison_says_that_speed_is_undecided_because_the_reference_did_not_learn() -> None:
    rng = np.random.default_rng(5)
    lives = scored([lifetime(str(n), {"a": rising(rng, 60), "b": rising(rng, 60)[::-1]}, seed=n % 3) for n in range(6)])
    (comparison,), _ = compare_with_baseline({"first": lives[:3], "second": lives[3:]}, "second", {})
    speed = comparison.tested[LEARNING_SPEED]
    assert (speed.verdict, speed.why) == ("undecided", "the reference did not learn b")
    assert speed.sentence == "learning speed: undecided (the reference did not learn b)."
    assert comparison.family == ("final_performance", LEARNING_PERFORMANCE)
    assert {comparison.tested[name].family for name in comparison.family} == {2}


def test_a_comparison_without_a_final_evaluation_says_which_one_is_missing() -> None:
    rng = np.random.default_rng(12)
    lives = scored(
        [table(str(n), [("train", "a", list(rising(rng, 60, 9 - 4 * (n > 2))))], seed=n % 3) for n in range(6)]
    )
    (comparison,), _ = compare_with_baseline({"first": lives[:3], "second": lives[3:]}, "second", {})
    assert comparison.answer == (
        "Which one ends up better, first or second, is undecided: needs an evaluation of a after the last learning. "
        "3 lifetimes of first cannot rule out that up to 63 % collapse; on average first learns more and learns faster."
    )


def test_flags_of_learning_speed_are_counted_in_the_comparison() -> None:
    rng = np.random.default_rng(6)
    curves = [rising(rng, 60) for _ in range(3)] + [np.full(60, 2.0) + rng.normal(0, 0.1, 60) for _ in range(3)]
    lives = scored([lifetime(str(n), {"a": curve}, seed=n % 3) for n, curve in enumerate(curves)])
    (comparison,), _ = compare_with_baseline({"good": lives[:3], "flat": lives[3:]}, "flat", {})
    speed = comparison.tested[LEARNING_SPEED]
    assert [(flag.flag, flag.n) for flag in speed.flags] == [(NEVER_REACHED, 3)]
    assert f"{NEVER_REACHED}: 3 of 6 lifetimes" in speed.sentence


@pytest.mark.parametrize("aggregate", ["mean", "median"])
def test_tasks_are_averaged_as_requested(aggregate: str) -> None:
    rng = np.random.default_rng(13)
    bounds = dict.fromkeys("abc", (0.0, 10.0))
    curves = {task: rising(rng, 60, height) for task, height in zip("abc", (8.0, 7.0, 1.0), strict=True)}
    (score,) = scored([lifetime("x", curves)], bounds=bounds, aggregate=aggregate)
    made, _ = add_learning_metrics({"x": (score,)})
    measured = made["x"][0].metrics[LEARNING_PERFORMANCE]
    logarithms = [np.log(values[0]) for values in measured.by.values()]
    assert measured.value == pytest.approx(np.exp(getattr(np, aggregate)(logarithms)))


def test_a_lifetime_that_never_reaches_the_target_counts_one_more_than_its_length_and_is_flagged() -> None:
    rng = np.random.default_rng(6)
    good, flat = (
        scored([lifetime(name, {"a": curve})], bounds={"a": (0, 10)})
        for name, curve in (("good", rising(rng, 60)), ("flat", np.full(60, 2.0)))
    )
    made, _ = add_learning_metrics({"good": good, "flat": flat})
    measured = made["flat"][0].metrics[LEARNING_SPEED]
    assert measured.value == pytest.approx(21 / 61)
    assert any("never reached" in flag for flag in measured.flags)
    assert not made["good"][0].metrics[LEARNING_SPEED].flags


def test_a_mean_below_the_scale_counts_as_one_and_without_a_scale_has_no_value() -> None:
    rng = np.random.default_rng(7)
    good, low = [lifetime("good", {"a": rising(rng, 60)})], [lifetime("low", {"a": rising(rng, 60) - 20})]
    lives = {"g": good, "l": low}
    scaled, _ = add_learning_metrics({name: scored(life, bounds={"a": (0, 10)}) for name, life in lives.items()})
    assert scaled["l"][0].metrics[LEARNING_PERFORMANCE].value == 1
    assert scaled["l"][0].metrics[LEARNING_PERFORMANCE].flags
    plain, _ = add_learning_metrics({name: scored(life, bounds=None, scale="none") for name, life in lives.items()})
    for metric in (LEARNING_PERFORMANCE, LEARNING_SPEED):
        assert plain["g"][0].metrics[metric].value is not None
        assert "not positive" in (plain["l"][0].metrics[metric].why or "")


def test_scores_from_a_file_say_that_the_logs_are_needed() -> None:
    lives = scored([lifetime("one", {"a": range(30)}), lifetime("two", {"a": range(1, 31)})], bounds={"a": (0, 40)})
    made, _ = add_learning_metrics({"log": lives[:1], "file": (replace(lives[1], learning={}, expert_learning={}),)})
    assert made["file"][0].metrics[LEARNING_SPEED].why == "learning curves are not in a score file; compare the logs"
    assert made["log"][0].metrics[LEARNING_SPEED].value is not None


def test_different_lengths_and_numbers_of_blocks_are_noted() -> None:
    rng = np.random.default_rng(8)
    short, long = (scored([lifetime(str(n), {"a": rising(rng, n)})], bounds={"a": (0, 10)}) for n in (50, 100))
    _, notes = add_learning_metrics({"short": short, "long": long})
    assert notes == (
        "a: learning_performance and learning_speed by the first 50 experiences of learning, the shortest curve",
    )
    again = scored(
        [table("again", [("train", "a", range(25)), ("test", "a", [1]), ("train", "a", range(25))])],
        bounds={"a": (0, 30)},
    )
    _, notes = add_learning_metrics({"short": short, "again": again})
    assert notes == ("systems differ in their numbers of learning blocks of a",)


def test_lifetimes_share_one_copy_of_an_experts_curve_and_the_json_holds_none() -> None:
    rng = np.random.default_rng(9)
    lives = [lifetime(str(n), {"a": rising(rng, 40)}) for n in range(12)]
    pool = survey(lives, [expert("e", "a", rising(rng, 40))], jobs=2, learning=True)
    assert len({id(curve) for score in pool.scores for curve in score.expert_learning["a"]}) == 1
    assert not {"learning", "expert_learning"} & pool.as_json()["lifetimes"][0].keys()
    assert not survey(lives, learning=False).scores[0].learning
