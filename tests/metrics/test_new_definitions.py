"""The oracle of the new definitions itself, on cases worked by hand; the estimators are held to it when they change."""

from __future__ import annotations

from importlib import import_module
from math import log
from pathlib import Path

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]
from tests.metrics.new_definitions import (
    Life,
    Part,
    against_experts,
    holm,
    of_difference,
    of_lives,
    reached,
    smoothed,
    verdict,
    word_of_maintenance,
)

UNIT = {"a": (0.0, 1.0), "b": (0.0, 1.0)}


def learn(task: str, *values: float, subtype: str = "wake") -> Part:
    return Part("learn", task, np.array(values), subtype)


def look(task: str, *values: float, subtype: str = "wake") -> Part:
    return Part("evaluate", task, np.array(values), subtype)


@pytest.mark.parametrize(("count", "moved"), [(14, 0), (15, 1), (20, 2), (30, 3), (1000, 50)])
def test_smoothing_leaves_a_ramp_alone_away_from_its_edges(count: int, moved: int) -> None:
    ramp = np.arange(count, dtype=float)
    found = smoothed(ramp)
    assert found[moved : count - moved] == pytest.approx(ramp[moved : count - moved])


def test_an_odd_and_an_even_window_by_hand() -> None:
    spike = np.zeros(15)
    spike[7] = 3.0
    assert list(smoothed(spike)[5:10]) == pytest.approx([0, 1, 1, 1, 0])  # three points
    spike = np.zeros(20)
    spike[7] = 8.0
    assert list(smoothed(spike)[4:11]) == pytest.approx([0, 1, 2, 2, 2, 1, 0])  # four, half weight at the ends
    edge = np.zeros(15)
    edge[0], edge[1] = 5.0, 1.0
    assert smoothed(edge)[0] == pytest.approx((1 + 5 + 1) / 3)  # reflected without repeating the edge


def test_transfer_is_the_geometric_mean_of_the_first_site_of_each_pair() -> None:
    life = Life(
        [
            look("a", 0.1), look("b", 0.1),
            learn("a", 0.5), look("a", 0.5), look("b", 0.3),
            learn("b", 0.5), look("a", 0.2), look("b", 0.5),
            learn("a", 0.6), look("a", 0.6), look("b", 0.5),
            learn("b", 0.6), look("a", 0.6),
        ],
        bounds=UNIT,
    )  # fmt: skip
    assert life.transfer(backward=False) == pytest.approx(log(31 / 11))  # a→b only: a is learned first
    # b→a first falls from 51 to 21; its second site (61 to 61) is kept, not counted; a→b stays at 51.
    assert life.transfer(backward=True) == pytest.approx((log(21 / 51) + log(51 / 51)) / 2)


def test_two_tasks_learned_between_two_evaluations_are_no_site() -> None:
    life = Life([look("c", 0.1), learn("a", 0.5), learn("b", 0.5), look("c", 0.4)], bounds={**UNIT, "c": (0.0, 1.0)})
    assert life.transfer(backward=False) is None


def test_a_mean_below_the_floor_counts_as_one() -> None:
    life = Life([look("b", -0.3), learn("a", 0.5), look("b", 0.09)], bounds=UNIT)
    assert life.transfer(backward=False) == pytest.approx(log(10))


def test_exchanging_before_and_after_changes_the_sign() -> None:
    rng = np.random.default_rng(0)
    before, after = rng.random(8), rng.random(8)
    there = Life([Part("evaluate", "b", before), learn("a", 0.5), Part("evaluate", "b", after)], bounds=UNIT)
    back = Life([Part("evaluate", "b", after), learn("a", 0.5), Part("evaluate", "b", before)], bounds=UNIT)
    assert there.transfer(backward=False) == pytest.approx(-float(back.transfer(backward=False)))  # type: ignore[arg-type]


def test_maintenance_is_read_against_the_first_evaluation_after_the_last_learning() -> None:
    life = Life(
        [
            learn("a", 0.5), look("a", 0.5), learn("b", 0.5), look("a", 0.3), look("b", 0.5),
            learn("a", 0.7), look("a", 0.7), learn("b", 0.7), look("a", 0.6), look("b", 0.7),
        ],
        bounds=UNIT,
    )  # fmt: skip
    assert life.maintenance() == pytest.approx((-20 - 10) / 2)  # b has no evaluation after its references


def test_only_sleep_evaluations_are_read_where_there_are_any() -> None:
    life = Life(
        [learn("a", 0.5), look("a", 0.5, subtype="sleep"), look("a", 0.9), look("a", 0.4, subtype="sleep")],
        bounds=UNIT,
    )
    assert life.maintenance() == pytest.approx(-10)


def test_a_constant_task_scales_to_one_and_is_left_out() -> None:
    life = Life([learn("a", 0.5), look("a", 0.5), look("a", 0.5), learn("b", 0, 1), look("b", 1), look("b", 0)])
    assert list(life.scaled("a", np.array([0.5]))) == [1.0]
    assert life.maintenance() == pytest.approx(-100)


def test_relative_performance_sums_the_shared_length_of_joined_curves() -> None:
    expert = [learn("a", 0.1, 0.2, 0.3)]
    life = Life([learn("a", 0.2, 0.4), learn("b", 0.0), learn("a", 0.6, 0.9)], {"a": [expert]}, UNIT)
    relative, _ = life.beside_experts()
    assert relative["a"] == pytest.approx([log((21 + 41 + 61) / (11 + 21 + 31))])


def test_sleep_learning_is_no_part_of_a_joined_curve() -> None:
    life = Life([learn("a", 0.2), learn("a", 0.9, subtype="sleep"), learn("a", 0.4)], {"a": [[learn("a", 0.3)]]}, UNIT)
    assert list(life.joined("a")) == [0.2, 0.4]


def test_curves_are_joined_then_cut_then_smoothed() -> None:
    rng = np.random.default_rng(1)
    own, other = rng.random(40), rng.random(25)
    life = Life(
        [Part("learn", "a", own[:30]), Part("learn", "a", own[30:])], {"a": [[Part("learn", "a", other)]]}, UNIT
    )
    relative, _ = life.beside_experts()
    means = [(100 * smoothed(curve) + 1).mean() for curve in (own[:25], other)]
    assert relative["a"] == pytest.approx([log(means[0] / means[1])])


def test_sample_efficiency_by_hand() -> None:
    # Ten experiences, no smoothing (a window of 2). S: the last value; B: the first.
    own = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5]
    expert = [0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9]
    life = Life([learn("a", *own)], {"a": [[learn("a", *expert)]]}, UNIT)
    _, efficiency = life.beside_experts()
    # On the scale: S̄ = (51 + 91)/2 = 71, B = 1, target 64: the expert has it with its fifth (81), the learner never.
    assert efficiency["a"] == pytest.approx([log(51 / 91) + log(5 / 11)])


def test_the_learner_counts_once_in_the_common_target_however_many_experts_there_are() -> None:
    own = [0.0] * 5 + [0.5] * 5
    fast, slow = [0.0] + [0.9] * 9, [0.0] * 8 + [0.1] * 2
    life = Life([learn("a", *own)], {"a": [[learn("a", *fast)], [learn("a", *slow)]]}, UNIT)
    _, efficiency = life.beside_experts()
    # S̄ = (51 + 91 + 11)/3 = 51, B = 1, target 46: learner 6th, fast 2nd, slow never (11).
    assert efficiency["a"] == pytest.approx([log(51 / 91) + log(2 / 6), log(51 / 11) + log(11 / 6)])


def test_exchanging_learner_and_expert_changes_the_sign_of_both() -> None:
    rng = np.random.default_rng(2)
    one, other = np.cumsum(rng.random((2, 60)), axis=1) / 60
    there, back = (
        Life([Part("learn", "a", x)], {"a": [[Part("learn", "a", y)]]}, UNIT).beside_experts()
        for x, y in ((one, other), (other, one))
    )
    for ours, theirs in zip(there, back, strict=True):
        assert ours["a"] == pytest.approx(-theirs["a"])


def test_many_lives_at_once_are_each_by_itself() -> None:
    rng = np.random.default_rng(3)
    learned, evaluated, expert = rng.random((4, 2, 30)), rng.random((4, 4, 6)), rng.random((4, 3, 25))

    def life(at: int | slice) -> Life:
        return Life(
            [
                Part("evaluate", "b", evaluated[at, ..., 0, :]),
                Part("learn", "a", learned[at, ..., 0, :]),
                Part("evaluate", "b", evaluated[at, ..., 1, :]),
                Part("evaluate", "a", evaluated[at, ..., 2, :]),
                Part("learn", "b", learned[at, ..., 1, :]),
                Part("evaluate", "a", evaluated[at, ..., 3, :]),
            ],
            {"a": [[Part("learn", "a", expert[at, ..., number, :])] for number in range(3)]},
        )

    together = life(slice(None))
    for at in range(4):
        alone = life(at)
        assert together.maintenance()[at] == pytest.approx(alone.maintenance())  # type: ignore[index]
        assert together.transfer(backward=False)[at] == pytest.approx(alone.transfer(backward=False))  # type: ignore[index]
        for many, one in zip(together.beside_experts(), alone.beside_experts(), strict=True):
            assert many["a"][at] == pytest.approx(one["a"])


def test_reaching_allows_for_rounding_and_counts_from_one() -> None:
    curve = np.array([1.0, 50.0, 100.0 - 1e-8, 100.0])
    assert reached(curve, np.float64(100.0)) == 3  # type: ignore[arg-type]
    assert reached(curve, np.float64(101.0)) == 5  # type: ignore[arg-type]


def test_the_interval_of_lives_is_the_t_interval_and_p_its_dual() -> None:
    values = np.random.default_rng(4).normal(0.4, 1.0, 11)
    found = of_lives(values)
    low, high = stats.t.interval(0.95, 10, values.mean(), stats.sem(values))
    assert (float(found.low), float(found.high)) == pytest.approx((low, high))
    assert float(found.p()) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)


def test_experts_add_their_own_variance_and_few_degrees_of_freedom() -> None:
    by_task = [np.array([[0.0, 0.2], [0.4, 0.6]]), np.array([[0.1, 0.1, 0.4], [0.1, 0.1, 0.4]])]
    found = against_experts(by_task)
    # Life means: (0.1 + 0.2)/2, (0.5 + 0.2)/2; expert means (0.2, 0.4) and (0.1, 0.1, 0.4).
    parts = (0.02 / 2, 0.02 / (2 * 4), 0.03 / (3 * 4))
    assert float(found.mean) == pytest.approx(0.25)
    assert float(found.variance) == pytest.approx(sum(parts))
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 1 + parts[1] ** 2 / 1 + parts[2] ** 2 / 2)
    assert float(found.freedom) == pytest.approx(freedom)


def test_two_systems_without_experts_are_compared_by_paired_t_or_welch() -> None:
    rng = np.random.default_rng(5)
    ours, theirs = rng.normal(0.3, 1, 11), rng.normal(0, 2, 11)
    assert float(of_difference(ours, theirs, paired=True).p()) == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    welch = stats.ttest_ind(ours, theirs, equal_var=False).pvalue
    assert float(of_difference(ours, theirs, paired=False).p()) == pytest.approx(welch)


def test_words_follow_from_where_the_interval_lies() -> None:
    lives = np.array([-1.0, 0.0, 1.0])
    for shift, word, met in ((10, "gains", 1), (0, "keeps", 1), (-20, "forgets", -1), (-4.5, "loses", 0)):
        found = of_lives(lives + shift) if shift != -4.5 else of_lives(lives * 0.8 + shift)
        assert (str(word_of_maintenance(found)), int(verdict(found, margin=5.0))) == (word, met)
    assert str(word_of_maintenance(of_lives(10 * lives))) == "undecided"


def test_holm_by_hand() -> None:
    assert list(holm(np.array([0.01, 0.04, 0.03]))) == pytest.approx([0.03, 0.06, 0.06])


NULLS = (
    "condensed/binary/evaluate-10",
    "condensed/normal/bounds-none",
    "condensed/binary/bounds-under",
    "condensed/normal/experts-mixed",
    "dispersed/normal/evaluate-30",
    "dispersed/binary/experts-3-5-10",
    "dispersed/normal/flat",
    "dispersed/normal/high-start",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NULLS)
def test_of_a_null_hardly_anything_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    cells, paths = import_module("bench.null_cells"), import_module("bench.null_paths")
    found = paths.drawn_as_defined(cells.drawn(cells.CELLS[name], 200, seed=1), "standard", None)
    for metric, verdicts in found.verdicts.items():
        assert (verdicts > 0).mean() <= 0.06, metric
        assert (verdicts < 0).mean() <= 0.06, metric
        centre = np.log(found.values[metric]).mean() if metric != "performance_maintenance" else 0.0
        assert abs(centre) < 0.06, metric


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NULLS, "condensed/normal/experts-3-5-10", "dispersed/normal/bounds-none"])
def test_group_by_group_the_product_says_what_its_definitions_say(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what the definitions' model gives for a thousand groups is what Perdure gives."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    cells, paths = import_module("bench.null_cells"), import_module("bench.null_paths")
    groups = cells.drawn(cells.CELLS[name], 16, seed=2)
    ours, theirs = (way(groups, "standard", None) for way in (paths.drawn_as_scored, paths.drawn_as_defined))
    assert ours.values.keys() == theirs.values.keys()
    for metric, differs in ours.differs.items():
        np.testing.assert_array_equal(differs, theirs.differs[metric], err_msg=metric)
    for metric in ours.values:
        np.testing.assert_allclose(ours.values[metric], theirs.values[metric], rtol=1e-9, atol=1e-9)
        for pick in ("verdicts", "covered"):
            np.testing.assert_array_equal(getattr(ours, pick)[metric], getattr(theirs, pick)[metric], err_msg=metric)
