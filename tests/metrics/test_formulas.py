"""Every formula on arrays small enough to work by hand, after S001's algorithms as the definitions correct them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy.special import stdtrit  # type: ignore[import-untyped]

from perdure.curves.model import Curve, Curves, Expert, Preparation
from perdure.curves.prepare import curves
from perdure.log.model import Lifetime
from perdure.metrics import METRICS
from perdure.metrics.arithmetic import (
    BELOW,
    NoValue,
    Value,
    contrast,
    lift_contrast,
    ratio,
    student_975,
    transfer_ratios,
)
from perdure.metrics.contract import lifetime_of
from perdure.metrics.measure import Measured, measure
from perdure.metrics.slopes import theil_sen
from perdure.scenario.model import Block

PLAIN = Preparation(scale="none", window="none")


def life(*blocks: tuple[str, Sequence[float]], name: str = "life") -> Lifetime:
    """`("a?", values)` evaluates a, `("A", values)` learns it; z at the end is sleep."""
    return lifetime_of(
        [
            Block(
                "learn" if word[0].isupper() else "evaluate",
                word[0].lower(),
                len(values),
                subtype="sleep" if word.endswith("z") else "wake",
                group=group,
            )
            for group, (word, values) in enumerate(blocks)
        ],
        values=[values for _, values in blocks],
        name=name,
    )


def as_measured(
    *blocks: tuple[str, Sequence[float]], experts: tuple[Lifetime, ...] = (), prep: Preparation = PLAIN
) -> Curves:
    return curves(life(*blocks), prep, experts)


def value(name: str, made: Curves, aggregate: str = "mean") -> Measured:
    return measure(METRICS.get(name), made, aggregate=aggregate)  # type: ignore[arg-type]


# --- maintenance ----------------------------------------------------------------------------------


def test_maintenance_is_the_mean_over_tasks_of_each_tasks_mean_change() -> None:
    made = as_measured(
        ("A", [1]),
        ("a?", [10]),
        ("B", [1]),
        ("a?", [6]),
        ("b?", [8]),
        ("A", [1]),
        ("a?", [9]),
        ("b?", [9]),
        ("a?", [11]),
    )
    found = value("performance_maintenance", made)
    assert found.by == {"a": (-4.0, 2.0), "b": (1.0,)}
    assert found.value == 0.0  # the mean of −1 and 1


def test_terminal_maintenance_compares_with_the_end_of_learning() -> None:
    made = as_measured(("A", [0, 0, 0, 0, 0, 0, 0, 0, 0, 5]), ("a?", [9]), ("a?", [6]))
    assert value("performance_maintenance_terminal", made).by == {"a": (1.0,)}


def test_a_stained_reference_is_flagged() -> None:
    made = as_measured(("A", [1]), ("B", [1]), ("a?", [3]), ("a?", [2]))
    assert value("performance_maintenance", made).flags == ("another task was learned before the reference evaluation",)
    assert value("performance_maintenance_terminal", made).flags == ()


# --- transfer -------------------------------------------------------------------------------------

TWO_TASKS = (
    ("a?", [2.0]),
    ("b?", [4.0]),
    ("A", [1.0]),
    ("a?", [8.0]),
    ("b?", [6.0]),
    ("B", [1.0]),
    ("a?", [4.0]),
    ("b?", [9.0]),
)


def test_forward_transfer_is_after_over_before() -> None:
    assert value("forward_transfer", as_measured(*TWO_TASKS)).by == {"a→b": (1.5,)}
    assert value("forward_transfer_contrast", as_measured(*TWO_TASKS)).by == {"a→b": (0.2,)}


def test_backward_transfer_is_after_over_before() -> None:
    assert value("backward_transfer", as_measured(*TWO_TASKS)).by == {"b→a": (0.5,)}
    assert value("backward_transfer_contrast", as_measured(*TWO_TASKS)).by == {"b→a": (-1 / 3,)}


def test_all_values_are_kept_and_each_pairs_first_counts() -> None:
    made = as_measured(("b?", [1]), ("A", [1]), ("b?", [3]), ("A", [1]), ("b?", [30]))
    found = value("forward_transfer", made)
    assert found.by == {"a→b": (3.0, 10.0)}
    assert found.value == pytest.approx(3.0)


@pytest.mark.parametrize(("before", "after"), [(0.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (1e-12, 1.0)])
def test_a_ratio_that_means_nothing_has_no_value_and_says_why(before: float, after: float) -> None:
    made = as_measured(("b?", [before]), ("A", [1.0]), ("b?", [after]))
    found = value("forward_transfer", made)
    assert (found.value, found.by) == (None, {"a→b": ()})
    assert "is meaningless" in str(found.why)


def test_a_ratio_is_guarded_relative_to_the_range() -> None:
    assert ratio(1.0, 1e-6, 100.0) == 1e6
    with pytest.raises(NoValue, match="where the task's range is 100"):
        ratio(1.0, 1e-8, 100.0)


def test_a_contrast_of_nothing_has_no_value() -> None:
    with pytest.raises(NoValue, match="nearly 0"):
        contrast(0.0, 0.0, 1.0)
    for after, before in ((-1.0, 2.0), (2.0, -1.0)):
        with pytest.raises(NoValue, match="needs values of 0 or more"):
            contrast(after, before, 1.0)


def test_a_contrast_is_guarded_relative_to_the_range() -> None:
    assert contrast(3e-6, 1e-6, 100.0) == pytest.approx(0.5)
    with pytest.raises(NoValue, match="nearly 0"):
        contrast(3e-8, 1e-8, 100.0)


def test_a_contrast_counts_what_lies_below_the_floor_as_the_floor_and_says_so() -> None:
    assert lift_contrast(-4.0, 3.0, 100.0, 1.0) == Value(contrast(1.0, 3.0, 100.0), (BELOW,))
    assert lift_contrast(2.0, 3.0, 100.0, 1.0) == contrast(2.0, 3.0, 100.0)


def test_median_replaces_the_mean_over_pairs() -> None:
    made = as_measured(("b?", [1]), ("c?", [1]), ("d?", [1]), ("A", [1]), ("b?", [2]), ("c?", [3]), ("d?", [10]))
    assert value("forward_transfer", made).value == pytest.approx(60 ** (1 / 3))
    assert value("forward_transfer", made, "median").value == pytest.approx(3.0)


def test_a_median_of_ratios_is_one_of_their_logarithms() -> None:
    made = as_measured(("b?", [1]), ("c?", [1]), ("A", [1]), ("b?", [2]), ("c?", [8]))
    assert value("forward_transfer", made, "median").value == pytest.approx(4.0)


def test_where_ratio_and_contrast_of_the_same_pairs_disagree_both_say_so() -> None:
    pairs = (("b?", [1]), ("c?", [1]), ("A", [1]))
    apart = as_measured(*pairs, ("b?", [9]), ("c?", [1 / 8.9]))
    # One pair is lifted ninefold, the other falls to a ninth: any average of both is next to nothing's sign.
    ratios = replace(METRICS.get("forward_transfer"), scale="linear", combine=transfer_ratios)
    arithmetic, contrasted = measure(ratios, apart), value("forward_transfer_contrast", apart)
    assert arithmetic.value is not None
    assert arithmetic.value > 4
    assert value("forward_transfer", apart).value == pytest.approx((9 / 8.9) ** 0.5)
    assert contrasted.value is not None
    assert contrasted.value > 0
    assert not arithmetic.flags
    opposed = as_measured(*pairs, ("b?", [9]), ("c?", [1 / 20]))
    assert measure(ratios, opposed).flags == ("the mean contrast of the same pairs, -0.0524, says the opposite",)
    assert value("forward_transfer_contrast", opposed).flags == (
        "the mean ratio of the same pairs, 4.53, says the opposite",
    )


# --- experts --------------------------------------------------------------------------------------


def test_relative_performance_compares_the_first_values_of_both() -> None:
    experts = (life(("A", [1, 1, 1]), name="short"), life(("A", [2, 2, 2, 2, 99]), name="long"))
    made = as_measured(("A", [1, 3]), ("B", [7]), ("A", [2, 2]), experts=experts)
    found = value("relative_performance", made)
    assert found.by == {"a": (2.0, 1.0)}
    assert found.value == pytest.approx(2**0.5)
    assert found.flags == ("no expert for b",)


def test_relative_performance_reads_wake_learning_of_both() -> None:
    expert = life(("Az", [50, 50]), ("A", [1, 1]), name="e")
    made = as_measured(("A", [1, 3]), ("Az", [90, 90]), experts=(expert,))
    assert value("relative_performance", made).by == {"a": (2.0,)}


def test_sample_efficiency_is_height_times_speed_by_a_common_target() -> None:
    expert = life(("A", [1, 2, 4, 8, 16, 32]), name="e")
    made = as_measured(("A", [1, 4, 3, 4]), experts=(expert,))
    # Cut to four: both begin at 1, and end at 4 and 8, so the target is 1 + 0.9 · 5 = 5.5. The learner never gets
    # there, which counts as its fifth; the expert does with its fourth.
    found = value("sample_efficiency", made)
    assert found.by == {"a": (4 / 8 * 4 / 5,)}
    assert found.flags == ("the target was never reached, and counts as reached after the end",)


def test_sample_efficiency_leaves_nobody_out_for_failing() -> None:
    experts = (life(("A", [1, 2, 3]), name="good"), life(("A", [3, 2, 1]), name="bad"))
    found = value("sample_efficiency", as_measured(("A", [1, 2, 3]), experts=experts))
    # All begin at 5/3 and end at 7/3 on average: the target, 34/15, is reached third, third and first.
    assert found.by["a"] == pytest.approx((1.0, 3 * 1 / 3))
    assert found.flags == ("an expert did not learn: its curve ends no higher than it begins (1 of 2 values)",)
    assert found.experts["a"][0].startswith("good@")


def test_a_plateau_that_differs_by_rounding_is_reached_at_its_start() -> None:
    expert = life(("A", [2, 2 + 1e-12, 2, 2]), name="e")
    made = as_measured(("A", [2, 2, 2, 2]), experts=(expert,))
    assert value("sample_efficiency", made).by["a"] == pytest.approx((1.0,))


FIVE_TASKS = "ABCDE"


def test_plasticity_is_the_trend_of_how_well_new_tasks_are_learned_at_first() -> None:
    experts = tuple(life((task, [10.0] * 6), name=task) for task in FIVE_TASKS)
    blocks = [(task, [10.0 * 0.5**number] * 4) for number, task in enumerate(FIVE_TASKS)]
    made = as_measured(*blocks, ("A", [99.0] * 4), experts=experts)  # learned again: only a first time counts
    assert value("plasticity", made).value == pytest.approx(np.log(0.5))


def test_plasticity_needs_four_new_tasks_with_experts() -> None:
    blocks = [(task, [1.0, 2.0]) for task in FIVE_TASKS]
    made = as_measured(*blocks, experts=tuple(life((task, [1.0, 2.0]), name=task) for task in "ABC"))
    assert value("plasticity", made).why == "needs 4 newly learned tasks with experts; 3 have one"
    assert "four tasks" in str(value("plasticity", as_measured(*blocks[:3])).why)


def test_without_experts_the_reason_names_the_tasks() -> None:
    assert value("relative_performance", as_measured(("A", [1]), ("B", [2]))).why == "needs an expert for a, b"


def test_cost_overhead_is_the_ratio_of_seconds_per_experience() -> None:
    # Experiences of `lifetime_of` are a second apart, in the life and in its expert.
    made = as_measured(("A", [1, 2, 3]), experts=(life(("A", [1, 2]), name="e"),))
    assert value("cost_overhead", made).by == {"whole lifetime": (1.0,)}


def test_cost_overhead_without_timestamps_says_so() -> None:
    one = life(("A", [1, 2, 3]))
    blank = replace(one, experiences=one.experiences.with_columns(timestamp=None))
    made = curves(blank, PLAIN, [life(("A", [1, 2]), name="e")])
    assert "timestamps" in str(value("cost_overhead", made).why)


def test_relative_reward_divides_the_last_evaluation_by_how_experts_end() -> None:
    experts = (
        life(("A", [9] * 9 + [4]), name="a1"),
        life(("A", [9] * 9 + [6]), name="a2"),
        life(("B", [9] * 9 + [2]), name="b1"),
    )
    made = as_measured(("A", [1, 2]), ("a?", [9]), ("a?", [10]), ("b?", [3]), experts=experts)
    assert value("relative_reward_final", made).by == {"a": (2.0,), "b": (1.5,)}
    assert value("relative_reward_seen", made).by == {"a": (2.0,)}
    assert value("relative_reward_unseen", made).by == {"b": (1.5,)}


# --- recovery -------------------------------------------------------------------------------------


def test_recovery_time_counts_from_zero_and_one_more_than_the_block_if_never() -> None:
    made = as_measured(("A", [1, 5]), ("A", [2, 4, 5]), ("A", [1, 2]), ("A", [9, 9]))
    found = value("recovery_time", made)
    assert found.by == {"a": (2.0, 3.0, 0.0)}
    assert found.flags == ("never recovered, counted as one more than the block's length (1 of 3 values)",)


def test_performance_recovery_is_minus_the_slope_of_recovery_times() -> None:
    made = as_measured(("A", [0, 5]), ("A", [0, 0, 0, 5]), ("A", [0, 0, 5, 5]), ("A", [0, 5, 5, 5]))
    found = value("performance_recovery", made)
    assert found.by == {"a": (1.0,)}  # times 3, 2, 1
    assert found.flags == ()


def test_performance_recovery_is_flagged_where_blocks_differ_in_length() -> None:
    made = as_measured(("A", [0, 5]), ("A", [0, 5]), ("A", [5, 5, 5]))
    assert "the blocks differ in length" in value("performance_recovery", made).flags


@given(st.one_of(st.integers(1, 500).map(float), st.floats(1, 500)))
def test_students_quantile_lies_where_it_is_said_to(freedom: float) -> None:
    low, high = student_975(freedom)
    assert low <= stdtrit(freedom, 0.975) <= high


def test_theil_sen_is_the_median_of_all_pairwise_slopes() -> None:
    assert theil_sen([0, 1, 2, 30]) == pytest.approx(np.median([1, 1, 10, 1, 14.5, 28]))


def test_droop_is_read_before_smoothing() -> None:
    first = [0.0] * 18 + [10.0, 10.0]
    later = [2.0, 4.0] + [12.0] * 18
    made = as_measured(("A", first), ("A", later), prep=Preparation(scale="none", window="flat"))
    terminal = made.over((0,)).terminal
    assert value("droop", made).by["a"] == pytest.approx((terminal - 3.0,))


def test_recovery_rate_is_droop_over_time_and_none_where_there_was_no_time() -> None:
    made = as_measured(("A", [0, 6]), ("A", [2, 4, 6]), ("A", [9, 9, 9]), ("A", [1, 1, 1]))
    found = value("recovery_rate", made)
    assert found.by == {"a": (2.0,)}
    assert any("2 of 3 left out" in flag and "at once" in flag and "never" in flag for flag in found.flags)


# --- learning -------------------------------------------------------------------------------------


def test_cumulative_gain_counts_rising_against_falling_blocks() -> None:
    noise = [0.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.0]
    made = as_measured(
        ("A", [1, 2, 3]), ("B", [5, 4, 3, 2]), ("A", noise), ("B", [2, 2, 2]), ("A", [7, 1]), ("B", [1, 2, 3])
    )
    found = value("cumulative_gain", made)
    assert found.by == {"a": (1.0, 0.0), "b": (-1.0, 0.0, 1.0)}
    assert found.value == pytest.approx(1 / 5)
    assert value("cumulative_gain", made, "median").value == found.value


@pytest.mark.parametrize("seed", range(12))
def test_a_gain_counts_where_the_95_percent_interval_of_its_slope_leaves_out_zero(seed: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 1, rng.integers(3, 60)) + np.arange(1) * 0.1
    values = values + np.arange(len(values)) * rng.choice([0.0, 0.05, -0.2])
    fit = stats.linregress(np.arange(len(values)), values)
    expected = float(np.sign(fit.slope)) if fit.pvalue < 0.05 else 0.0
    assert value("cumulative_gain", as_measured(("A", values.tolist()))).value == expected


def test_learn_burn_is_the_slope_after_changes_beside_the_whole_lifes() -> None:
    made = as_measured(("A", [0, 1]), ("B", [2, 4]), ("B", [5, 6]))
    whole = np.polyfit(np.arange(6), [0, 1, 2, 4, 5, 6], 1)[0]
    assert value("learn_burn", made).by["whole lifetime"] == pytest.approx((2 / whole,))


def test_learn_burn_has_no_value_where_the_whole_life_does_not_rise() -> None:
    assert "positive" in str(value("learn_burn", as_measured(("A", [5, 4]), ("B", [3, 2]))).why)
    assert "no slope" in str(value("learn_burn", as_measured(("A", [1, 4]), ("B", [5]))).why)


def test_block_summaries_are_per_learning_block() -> None:
    made = as_measured(("A", [0, 0, 0, 0, 0, 0, 0, 0, 3, 1]), ("B", [2, 2]), ("A", [4]))
    assert value("terminal_performance", made).by == {"a": (1.0, 4.0), "b": (2.0,)}
    assert value("saturation", made).by == {"a": (3.0, 4.0), "b": (2.0,)}
    assert value("experiences_to_saturation", made).by == {"a": (9.0, 1.0), "b": (1.0,)}
    assert value("normalized_integral", made).by == {"a": (0.4, 4.0), "b": (2.0,)}
    assert value("mean_learning_performance", made).value == pytest.approx((2.2 + 2.0) / 2)


def test_mean_evaluation_reads_the_visible_evaluations() -> None:
    assert value("mean_evaluation_performance", as_measured(("a?", [1]), ("a?z", [5]), ("A", [0]))).value == 5.0


# --- what carries no information ------------------------------------------------------------------


def test_a_constant_task_is_shown_and_not_counted() -> None:
    made = as_measured(
        ("A", [0, 1]),
        ("a?", [0.5]),
        ("B", [3, 3]),
        ("b?", [3]),
        ("a?", [1.0]),
        ("b?", [3]),
        prep=Preparation(window="none"),
    )
    found = value("performance_maintenance", made)
    assert found.by == {"a": (50.0,), "b": (0.0,)}
    assert found.value == 50.0
    assert found.flags == ("constant, so not counted: b",)


def test_a_life_of_constants_has_no_value_and_says_why() -> None:
    made = as_measured(("A", [3, 3]), ("a?", [3]), ("a?", [3]), prep=Preparation(window="none"))
    assert value("performance_maintenance", made).value is None
    assert "carries no information" in str(value("performance_maintenance", made).why)


def test_an_empty_expert_curve_is_no_expert() -> None:
    expert = life(("Az", [1.0, 2.0]), name="asleep")
    made = as_measured(("A", [1.0, 2.0]), experts=(expert,))
    assert isinstance(made.experts["a"][0], Expert)
    assert isinstance(made.experts["a"][0].curve, Curve)
    assert value("relative_performance", made).why == "needs an expert for a"
