"""Gates: the verdicts that let a pipeline go on."""

from __future__ import annotations

from typing import Literal

import pytest
from tests.stats.lives import lives, normal, pool

from perdure.errors import PerdureError, UnknownNameError
from perdure.metrics.declare import METRICS, ComparedAs, Threshold
from perdure.stats.compare import compare_lives
from perdure.stats.gate import Gate, gate_comparisons, gate_groups
from perdure.stats.groups import groups

PM = {"performance_maintenance": METRICS.get("performance_maintenance").criterion}
FORGETS, KEEPS, LOSES = [-20.0, -21.0, -19.0, -20.5], [0.0, 0.1, -0.1, 0.05], [-5.0, -2.0, -8.0, -4.0]
REACHED = {"final_performance": Threshold(compared=ComparedAs())}


def outcome_of(values: list[float], gate: Gate) -> bool:
    return gate_groups(groups(pool(*lives(values), bars=PM)), gate).passed


@pytest.mark.parametrize(
    ("values", "fail_if", "unless", "if_undecided", "passed"),
    [
        (FORGETS, "forgets", None, "pass", False),
        (KEEPS, "forgets", None, "fail", True),
        (LOSES, "forgets", None, "fail", False),
        (LOSES, "forgets", None, "pass", True),
        (LOSES, "loses", None, "pass", False),
        (KEEPS, None, "keeps", "fail", True),
        (FORGETS, None, "keeps", "pass", False),
        (KEEPS, None, "gains", "fail", False),
        (KEEPS, None, "gains", "pass", True),
        (FORGETS, None, None, "fail", True),
    ],
)
def test_a_gate_on_a_group_follows_its_verdict(
    values: list[float], fail_if: str, unless: str, if_undecided: Literal["pass", "fail"], passed: bool
) -> None:
    assert outcome_of(values, Gate(fail_if, unless, if_undecided)) is passed


def test_a_word_that_no_metric_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'forgets'"):
        outcome_of(KEEPS, Gate("forgetz"))
    with pytest.raises(UnknownNameError, match="unknown verdict for --unless"):
        outcome_of(KEEPS, Gate(unless="forgets"))


def test_no_group_is_undecided() -> None:
    assert not gate_groups((), Gate("forgets")).passed
    assert gate_groups((), Gate("forgets", if_undecided="pass")).passed


@pytest.mark.parametrize(
    ("shift", "sd", "fail_if", "unless", "if_undecided", "passed"),
    [
        (-20.0, 1.0, "worse", None, "pass", False),
        (20.0, 1.0, "worse", None, "fail", True),
        (0.0, 1.0, "worse", None, "fail", True),
        (0.0, 40.0, "worse", None, "fail", False),
        (0.0, 40.0, "worse", None, "pass", True),
        (0.0, 1.0, None, "no-worse", "fail", True),
        (-20.0, 1.0, None, "no-worse", "pass", False),
        (0.0, 1.0, None, "better", "pass", False),
        (20.0, 1.0, None, "better", "fail", True),
    ],
)
def test_a_gate_on_a_comparison_follows_the_level_that_is_reached(
    shift: float, sd: float, fail_if: str, unless: str, if_undecided: Literal["pass", "fail"], passed: bool
) -> None:
    ours, theirs = (lives(normal(mean, sd, 8, seed), "final_performance") for seed, mean in ((1, shift), (2, 0.0)))
    comparison = compare_lives(ours, theirs, REACHED, paired="no")
    result = gate_comparisons([comparison], Gate(fail_if, unless, if_undecided))
    assert result.passed is passed
    assert "final performance" in result.reason


def test_the_reason_is_one_line() -> None:
    result = gate_groups(groups(pool(*lives(FORGETS), bars=PM)), Gate("forgets"))
    assert result.reason.startswith("gate failed: --fail-if forgets: ")
    assert "\n" not in result.reason


def test_a_learner_that_did_not_change_passes() -> None:
    same = lives([50.0, 60.0, 55.0], "final_performance")
    comparison = compare_lives(same, same, REACHED, paired="yes")
    assert comparison.tested["final_performance"].verdict is None
    assert gate_comparisons([comparison], Gate("worse", "no-worse")).passed
    assert not gate_comparisons([comparison], Gate(unless="better")).passed


def test_a_difference_that_cannot_be_tested_is_undecided() -> None:
    """A constant loss has no spread, and no number of lifetimes shows that it is not chance."""
    theirs = lives([50.0, 60.0, 55.0], "final_performance")
    ours = lives([30.0, 40.0, 35.0], "final_performance")
    comparison = compare_lives(ours, theirs, REACHED, paired="yes")
    assert comparison.tested["final_performance"].verdict is None
    assert not gate_comparisons([comparison], Gate("worse")).passed
    assert gate_comparisons([comparison], Gate("worse", if_undecided="pass")).passed


@pytest.mark.parametrize("missing", ["one side", "both sides"])
def test_a_comparison_without_final_performance_is_undecided_and_says_why(missing: str) -> None:
    bars = {"final_performance": METRICS.get("final_performance").criterion}
    why = {"final_performance": "needs an evaluation of a after the last learning"}
    ours = lives([None] * 3, "final_performance", why=why)
    theirs = ours if missing == "both sides" else lives([50.0, 60.0, 55.0], "final_performance")
    comparison = compare_lives(ours, theirs, bars, names=("new", "old"))
    assert comparison.answer.startswith("Which one ends up better, new or old, is undecided: needs an evaluation of a")
    result = gate_comparisons([comparison], Gate("worse"))
    assert not result.passed
    assert "undecided (needs an evaluation of a after the last learning)" in result.reason
    assert gate_comparisons([comparison], Gate("worse", if_undecided="pass")).passed


def test_a_gate_without_a_comparison_is_refused() -> None:
    with pytest.raises(PerdureError, match="nothing was compared"):
        gate_comparisons([], Gate("worse"))
    assert gate_comparisons([], Gate()).passed
