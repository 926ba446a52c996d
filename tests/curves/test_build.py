"""From lifetimes to curves: what is smoothed, by which range values are scaled, what is said about it."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

from perdure.curves.arrays import smooth
from perdure.curves.experts import compare_with_experts
from perdure.curves.model import Preparation
from perdure.curves.prepare import curves
from perdure.errors import LogError, MetricError, PerdureError, UnknownNameError
from perdure.log.model import Lifetime
from perdure.metrics.contract import lifetime_of
from perdure.scenario.model import Block

RNG = np.random.default_rng(7)
NOISY = RNG.normal(5, 1, 40)


def life(**values: list[float]) -> Lifetime:
    """Learning blocks of the tasks named, one each, in order."""
    return lifetime_of([Block("learn", task, len(one)) for task, one in values.items()], values=list(values.values()))


def test_learning_is_smoothed_and_evaluation_is_not() -> None:
    two = lifetime_of([Block("learn", "a", 40), Block("evaluate", "a", 40)], values=[NOISY, NOISY])
    made = curves(two, Preparation(scale="none"))
    np.testing.assert_array_equal(made.over((1,)).values, NOISY)
    assert np.std(made.over((0,)).values) < np.std(NOISY) / 2
    both = curves(two, Preparation(scale="none", smooth_evaluation=True))
    np.testing.assert_array_equal(both.over((1,)).values, both.over((0,)).values)


def test_the_range_holds_smoothed_learning_evaluation_and_experts() -> None:
    two = lifetime_of([Block("learn", "a", 3), Block("evaluate", "a", 2)], values=[[2, 3, 4], [1, 2]])
    expert = lifetime_of([Block("learn", "a", 3), Block("evaluate", "a", 1)], values=[[3, 4, 9], [50]], name="e")
    made = curves(two, experts=[expert])
    assert (made.ranges["a"].low, made.ranges["a"].high) == (1.0, 9.0)
    assert made.experts["a"][0].curve.values.tolist() == [26.0, 38.5, 101.0]


def test_the_range_is_of_smoothed_values_and_raw_ones_may_leave_it() -> None:
    values = np.linspace(0, 1, 50)
    values[25] = 10.0
    made = curves(life(a=values.tolist()))
    assert made.values.max() == pytest.approx(101.0)
    assert made.raw.max() > 300


def test_unsmoothed_values_go_through_the_same_scale() -> None:
    made = curves(life(a=NOISY.tolist()))
    low, high = made.ranges["a"].low, made.ranges["a"].high
    np.testing.assert_allclose(made.raw, (NOISY - low) / (high - low) * 100 + 1)


def test_one_range_for_the_run_keeps_tasks_apart() -> None:
    made = curves(life(a=[0.0, 1.0], b=[9.0, 10.0]), Preparation(scale="run"))
    np.testing.assert_allclose(made.values, [1, 11, 91, 101])


def test_without_scaling_values_are_as_measured() -> None:
    made = curves(life(a=[0.0, 1.0], b=[9.0, 10.0]), Preparation(scale="none"))
    assert made.values.tolist() == [0.0, 1.0, 9.0, 10.0]
    assert made.over((1,)).range == 1.0


def test_given_bounds_scale_and_do_not_clip_unless_clamped() -> None:
    bounds = {"A": (0.0, 10.0)}
    assert curves(life(a=[5.0, 20.0]), Preparation(bounds=bounds)).values.tolist() == [51.0, 201.0]
    assert curves(life(a=[5.0, 20.0]), Preparation(bounds=bounds, clamp=True)).values.tolist() == [51.0, 101.0]


def test_bounds_must_name_every_task() -> None:
    with pytest.raises(MetricError, match=r"no bounds are given for task 'b' \(given: a\)"):
        curves(life(a=[1.0], b=[2.0]), Preparation(bounds={"a": (0, 1)}))


def test_clamping_cuts_at_the_tenth_and_ninetieth_percentile() -> None:
    values = [float(value) for value in range(11)]
    made = curves(life(a=values), Preparation(clamp=True, scale="none"))
    assert (made.values.min(), made.values.max()) == (1.0, 9.0)


def test_an_outlier_of_an_expert_does_not_widen_a_clamped_range() -> None:
    own, beside = NOISY.tolist(), [*NOISY[:-1].tolist(), 1000.0]
    plain = Preparation(clamp=True, window="none")
    expert = lifetime_of([Block("learn", "a", 40)], values=[beside], name="e")
    made = curves(life(a=own), plain, experts=[expert])
    low, high = np.percentile([*own, *beside], (10, 90))
    assert (made.ranges["a"].low, made.ranges["a"].high) == pytest.approx((low, high))
    assert made.experts["a"][0].curve.values.max() == pytest.approx(101.0)


def test_lower_better_values_are_negated_and_bounds_with_them() -> None:
    worse = replace(life(error=[0.2, 0.8]), measures={"reward": "lower"})
    np.testing.assert_allclose(curves(worse, Preparation(bounds={"error": (0.0, 1.0)})).values, [81.0, 21.0])
    assert curves(worse).measured.tolist() == [-0.2, -0.8]


def test_the_caller_may_overrule_the_direction() -> None:
    assert curves(life(a=[0.2, 0.8]), direction="lower").values.tolist() == [101.0, 1.0]


def test_a_constant_task_scales_to_one_and_is_noted() -> None:
    made = curves(life(a=[0.5] * 20, b=[0.0, 1.0]))
    assert set(made.over((0,)).values.tolist()) == {1.0}
    assert any("constant" in note and "a" in note for note in made.notes)


def test_a_range_from_the_data_is_noted_and_given_bounds_are_not() -> None:
    assert any("came from the data" in note for note in curves(life(a=[0.0, 1.0])).notes)
    assert not curves(life(a=[0.0, 1.0]), Preparation(bounds={"a": (0, 1)})).notes


def test_noise_is_repeatable_and_as_wide_as_asked() -> None:
    many = life(a=np.linspace(0, 1, 4000).tolist())
    quiet, noisy, again = curves(many), curves(many, Preparation(noise=2.0)), curves(many, Preparation(noise=2.0))
    np.testing.assert_array_equal(noisy.values, again.values)
    assert np.std(noisy.values - quiet.values) == pytest.approx(2.0, rel=0.1)


def test_two_lives_do_not_share_their_noise() -> None:
    one = life(a=np.linspace(0, 1, 50).tolist())
    noisy, other = Preparation(noise=2.0), replace(one, id="another")
    assert (curves(one, noisy).values != curves(other, noisy).values).all()
    np.testing.assert_array_equal(curves(one).values, curves(other).values)


def test_variant_agnostic_pools_ranges_and_experts_and_joins_blocks_by_base_name() -> None:
    values = {"pong_wide": [0.0, 1.0], "pong_narrow": [1.0, 4.0]}
    expert = lifetime_of([Block("learn", "pong_other", 2)], values=[[2.0, 8.0]], name="e")
    stranger = lifetime_of([Block("learn", "ponglike_1", 2)], values=[[2.0, 80.0]], name="s")
    made = curves(life(**values), Preparation(variants="agnostic"), [expert, stranger])
    assert [task.label for task in made.scenario.tasks] == ["pong"]
    assert (made.ranges["pong"].low, made.ranges["pong"].high) == (0.0, 8.0)
    assert [one.id for one in made.experts["pong"]] == ["e"]


def test_an_expert_is_matched_by_its_whole_name() -> None:
    expert = lifetime_of([Block("learn", "task10_1", 2)], values=[[2.0, 8.0]], name="e")
    assert not curves(life(task1_1=[1.0, 2.0]), experts=[expert]).experts


def test_an_expert_that_evaluates_other_tasks_serves_the_one_it_learns() -> None:
    expert = lifetime_of([Block("evaluate", "b", 2), Block("learn", "a", 2)], values=[[5, 6], [1, 3]], name="e")
    made = curves(life(a=[1.0, 2.0], b=[0.0, 1.0]), experts=[expert])
    assert [one.id for one in made.experts["a"]] == ["e"]
    assert "b" not in made.experts
    assert made.ranges["b"].high == 1.0


def test_an_expert_of_two_tasks_is_refused() -> None:
    with pytest.raises(LogError, match="an expert learns one task alone, and it learns a, b; give a log for each"):
        curves(life(a=[1.0]), experts=[life(a=[1.0], b=[2.0])])


def test_an_expert_of_another_measure_is_refused_by_name() -> None:
    expert = lifetime_of([Block("learn", "a", 1)], values=[[1.0]], measure="accuracy", name="e")
    with pytest.raises(LogError, match=r"e: this expert has no measure 'reward' \(it has: accuracy\)"):
        curves(life(a=[1.0]), experts=[expert])


def test_experts_are_smoothed_as_the_learner_is_and_sleep_is_left_out_of_their_curve() -> None:
    blocks = [Block("learn", "a", 40), Block("learn", "a", 40, subtype="sleep", group=1)]
    expert = lifetime_of(blocks, values=[NOISY, NOISY], name="e")
    [one] = curves(life(a=NOISY.tolist()), Preparation(scale="none"), [expert]).experts["a"]
    np.testing.assert_array_equal(one.curve.values, smooth(NOISY, np.array([0, 40]), (0,)))
    assert len(one.all_learning) == 80


def test_a_life_in_which_nothing_counts_is_refused_with_the_count() -> None:
    empty = life(a=[float("nan"), float("inf")])
    with pytest.raises(LogError, match=r"no value of 'reward' counts \(dropped: 1 missing, 1 not finite\)"):
        curves(empty)


def test_an_unknown_measure_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'reward'"):
        curves(life(a=[1.0]), measure="rewards")


# --- bounds that the log records ------------------------------------------------------------------


def recording(lived: Lifetime, **bounds: object) -> Lifetime:
    """The lifetime with a manifest whose scenario gives its tasks these bounds."""
    tasks = [{"label": task, "env": None, "params": {}, "bounds": pair} for task, pair in bounds.items()]
    return replace(lived, manifest={"scenario": {"name": "s", "tasks": tasks}})


def test_recorded_bounds_are_the_range_as_if_they_were_given() -> None:
    lived = life(a=[5.0, 20.0])
    made = curves(recording(lived, A=[0, 10]))
    assert made.values.tolist() == curves(lived, Preparation(bounds={"a": (0, 10)})).values.tolist() == [51.0, 201.0]
    assert made.ranges["a"].given
    assert made.notes == ("the bounds are those recorded in the log",)


def test_given_bounds_overrule_recorded_ones_and_a_preparation_may_ignore_them() -> None:
    lived = recording(life(a=[5.0, 20.0]), a=[0, 10])
    assert curves(lived, Preparation(bounds={"a": (0, 20)})).values.tolist() == [26.0, 101.0]
    assert curves(lived, Preparation(recorded_bounds=False)).values.tolist() == [1.0, 101.0]


def test_a_task_without_recorded_bounds_takes_its_range_from_the_data_and_is_named() -> None:
    made = curves(recording(life(a=[0.0, 5.0], b=[3.0, 4.0]), a=[0, 10], b=None))
    assert made.values.tolist() == [1.0, 51.0, 1.0, 101.0]
    assert any(note.startswith("the range of b came from the data") for note in made.notes)
    assert "the bounds of a are those recorded in the log" in made.notes


def test_recorded_bounds_of_a_lower_better_measure_are_negated_with_its_values() -> None:
    worse = replace(recording(life(error=[0.2, 0.8]), error=[0, 1]), measures={"reward": "lower"})
    np.testing.assert_allclose(curves(worse).values, [81.0, 21.0])


def test_recorded_bounds_of_variants_are_pooled_where_variants_do_not_count() -> None:
    lived = recording(life(pong_wide=[0.0, 1.0], pong_narrow=[1.0, 4.0]), pong_wide=[-2, 1], pong_narrow=[0, 8])
    found = curves(lived, Preparation(variants="agnostic")).ranges["pong"]
    assert (found.low, found.high, found.given) == (-2.0, 8.0, True)


def test_recorded_bounds_are_of_the_first_measure_alone() -> None:
    lived = recording(life(a=[5.0, 20.0]), a=[0, 10])
    both = replace(lived, experiences=lived.experiences.with_columns(loss=-lived.experiences["reward"]))
    both = replace(both, measures={"reward": "higher", "loss": "lower"})
    assert curves(both).values.tolist() == [51.0, 201.0]
    assert curves(both, measure="loss").values.tolist() == [1.0, 101.0]


@pytest.mark.parametrize("bad", [[1, 0], [1, 1], [0], "ab", [0, None], [0, float("inf")], {"min": 0, "max": 1}, 3])
def test_recorded_bounds_that_make_no_sense_are_not_used(bad: object) -> None:
    assert curves(recording(life(a=[5.0, 20.0]), a=bad)).values.tolist() == [1.0, 101.0]


def test_clamping_cuts_at_recorded_bounds_and_elsewhere_at_percentiles() -> None:
    values = [float(value) for value in range(11)]
    lived = recording(life(a=values, b=values), a=[0, 5], b=None)
    made = curves(lived, Preparation(clamp=True, scale="none", window="none"))
    assert [made.over((block,)).values.max() for block in (0, 1)] == [5.0, 9.0]


def test_one_range_for_the_run_spans_recorded_bounds_and_found_ones() -> None:
    made = curves(recording(life(a=[0.0, 1.0], b=[9.0, 10.0]), a=[-10, 5], b=None), Preparation(scale="run"))
    np.testing.assert_allclose(made.values, [51, 56, 96, 101])
    assert not made.ranges["a"].given


@pytest.mark.parametrize("prep", [Preparation(), Preparation(scale="none"), Preparation(scale="none", window="none")])
def test_nothing_that_a_formula_is_given_can_be_changed(prep: Preparation) -> None:
    learner, expert = life(a=[1.0, 2.0, 3.0, 4.0, 5.0]), life(a=[2.0, 4.0, 6.0])
    made = curves(learner, prep, [expert])
    (one,) = made.experts["a"]
    for curve in (made.over((0,)), one.curve, one.last, one.all_learning):
        for values in (curve.values, curve.raw):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 9.0
    assert expert.experiences["reward"].to_list() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"window": "hannig"}, "did you mean 'hanning'"),
        ({"scale": "tasks"}, "did you mean 'task'"),
        ({"variants": "blind"}, "unknown variants 'blind'"),
        ({"width": 0}, "width is 0"),
        ({"noise": float("nan")}, "noise is nan"),
        ({"noise": -1.0}, "noise is -1"),
        ({"bounds": {"a": (1.0, 0.0)}}, "the bounds of 'a' are 1 to 0"),
        ({"bounds": {"a": (0.0, float("inf"))}}, "the bounds of 'a' are 0 to inf"),
    ],
)
def test_a_preparation_that_means_nothing_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(PerdureError, match=said):
        Preparation(**wrong)


def test_an_expert_is_known_by_itself_and_not_by_its_name() -> None:
    learner = lifetime_of([Block("learn", "a", 3), Block("learn", "b", 3)], values=[[1, 2, 3], [1, 2, 3]])
    same = [replace(life(a=[1.0, 2.0]), id="expert"), replace(life(c=[1.0, 2.0]), id="expert")]
    assert "experts of c match no task here; without an expert: b" in curves(learner, Preparation(), same).notes


# --- a measure for each task ----------------------------------------------------------------------


def two_measures(name: str = "two", tasks: tuple[str, ...] = ("a", "b")) -> Lifetime:
    """Tasks a, whose reward rises from 0 to 3, and b, whose error falls from 30 to 0."""
    values = {"a": [0.0, 1.0, 2.0, 3.0], "b": [30.0, 20.0, 10.0, 0.0]}
    one = lifetime_of([Block("learn", task, 4) for task in tasks], values=[values[task] for task in tasks], name=name)
    rows = one.experiences
    in_b = rows.get_column("task_name").cast(pl.String) == "b"
    rows = rows.with_columns(
        reward=pl.when(~in_b).then(pl.col("reward")),
        error=pl.when(in_b).then(pl.col("reward")),
    )
    return replace(one, experiences=rows, measures={"reward": "higher", "error": "lower"})


BOTH = {"a": "reward", "b": "error"}


def test_each_task_is_scaled_by_its_own_measure_and_turned_by_its_direction() -> None:
    made = curves(two_measures(), measure=BOTH)
    for block in (0, 1):
        np.testing.assert_allclose(made.over((block,)).values, [1, 1 + 100 / 3, 1 + 200 / 3, 101])
    assert made.directions == {"a": "higher", "b": "lower"}
    assert made.as_logged.tolist() == [0.0, 1.0, 2.0, 3.0, 30.0, 20.0, 10.0, 0.0]


def test_an_expert_is_measured_as_its_task_is() -> None:
    experts = [two_measures("of b", ("b",)), two_measures("of a", ("a",))]
    made = curves(two_measures(), experts=experts, measure=BOTH)
    for task in "ab":
        assert (
            made.experts[task][0].curve.values.tolist() == made.over(made.scenario.where("learn", task)).values.tolist()
        )


def test_given_bounds_are_turned_with_their_task() -> None:
    made = curves(two_measures(), Preparation(bounds={"a": (0.0, 6.0), "b": (0.0, 60.0)}), measure=BOTH)
    np.testing.assert_allclose(made.over((0,)).values, [1.0, 1 + 100 / 6, 1 + 200 / 6, 51.0])
    np.testing.assert_allclose(made.over((1,)).values, [51.0, 1 + 400 / 6, 1 + 500 / 6, 101.0])


def test_measures_of_their_own_share_no_range() -> None:
    with pytest.raises(MetricError, match="no common range"):
        curves(two_measures(), Preparation(scale="run"), measure=BOTH)


@pytest.mark.parametrize("value", [1.7e308, -1.1e300])
def test_a_value_that_cannot_be_averaged_is_refused_with_its_block(value: float) -> None:
    with pytest.raises(LogError, match=r"block 0 \(a\): a value of .*e\+30.*divide all values by a constant"):
        curves(life(a=[1.0, value, 2.0]))


def test_experts_averaged_over_time_are_one_as_long_as_the_shortest() -> None:
    long, short = NOISY, NOISY[::-1][:25]

    def beside(*values: np.ndarray) -> tuple[object, ...]:
        experts = [
            lifetime_of([Block("learn", "a", len(one))], values=[one], name=f"e{at}") for at, one in enumerate(values)
        ]
        own = curves(life(a=NOISY.tolist()), Preparation(bounds={"a": (0.0, 10.0)}), experts)
        (found,) = compare_with_experts(own, "a", (0,), "time")
        return msgspec.structs.astuple(replace(found, expert=""))

    assert beside(long, short) == beside((long[:25] + short) / 2)
