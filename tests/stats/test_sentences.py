"""How verdicts are said, by what presets and metrics declare."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from perdure.metrics.presets import PRESETS
from perdure.stats.compare import Comparison, Difference, DifferenceVerdict
from perdure.stats.pairing import Pairing
from perdure.stats.sentences import decides, rule_of, sentence


def test_a_preset_that_declares_no_verdicts_is_said_to_give_none(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = replace(PRESETS.get("baker-2023"), name="mine", decides=False)
    monkeypatch.setitem(PRESETS._things, "mine", mine)
    assert [one.name for one in PRESETS if not decides(one.name)] == ["framework-2019", "mine"]
    assert rule_of("mine").startswith("mine gives no verdicts.")
    assert rule_of("baker-2023").startswith("Decided as baker-2023 does")


def test_a_preset_that_is_not_installed_decides() -> None:
    assert decides("a preset of another machine")


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (1.5, "ours is helped more than theirs, by a factor of 1.5 "),
        (0.8, "is helped less than theirs, by a factor of 1.25 "),
    ],
)
def test_a_ratio_is_described_by_a_factor_above_1(ratio: float, expected: str) -> None:
    verdict: DifferenceVerdict = "better" if ratio > 1 else "worse"
    word = "is helped more" if ratio > 1 else "is helped less"
    difference = Difference("forward_transfer", 5, 5, scale="ratio", difference=ratio, verdict=verdict, word=word)
    assert expected in sentence(difference, "ours", "theirs")


def comparison_of(**differences: tuple[DifferenceVerdict | None, float]) -> Comparison:
    """Compare replay with naive: of each metric the verdict and the difference."""
    tested = {
        name: Difference(
            name,
            11,
            11,
            difference=difference,
            low=difference - 2,
            high=difference + 2,
            p=0.001,
            p_holm=0.004,
            family=6,
            verdict=verdict,
            word="as good as" if verdict == "as good" else verdict,
            margin=5.0,
            margin_low=-3.0,
            margin_high=4.0,
            margin_level=0.992,
        )
        for name, (verdict, difference) in differences.items()
    }
    pairing = Pairing(True, (), (), "")
    return Comparison("replay", "naive", "condensed", "reward", pairing, tested, tested=tested, unit=" points")


@pytest.mark.parametrize(
    ("verdict", "difference", "start"),
    [
        ("better", 18.0, "replay ends 18.0 points better than naive (95 % interval 16.0 to 20.0; p = .004 after Holm"),
        ("worse", -18.0, "naive ends 18.0 points better than replay (95 % interval 16.0 to 20.0; p = .004 after Holm"),
        ("undecided", 1.0, "Which one ends up better, replay or naive, is undecided: replay is ahead by 1.0 points"),
        ("no worse", 1.0, "replay ends up no worse than naive: a loss of 5 or more is ruled out (99.2 % interval"),
        ("as good", 0.0, "replay ends up as good as naive: a difference of 5 or more is ruled out"),
        ("no worse", -1.0, "replay ends up no worse than naive: a loss of 5 or more is ruled out (99.2 % interval"),
        (None, 3.0, "Which one ends up better, replay or naive, is not tested: replay is ahead by 3.0 points"),
    ],
)
def test_an_answer_begins_with_the_one_that_ends_better(
    verdict: DifferenceVerdict | None, difference: float, start: str
) -> None:
    answer = comparison_of(final_performance=(verdict, difference)).answer
    assert answer.startswith(start)


@pytest.mark.parametrize(
    ("facts", "ending"),
    [
        ({"lifetimes_for_90_percent": 40, "paired": True}, "; 40 pairs would decide it with a 90 % chance if the true"),
        ({"lifetimes_for_90_percent": 40}, "; 40 lifetimes of each would decide it with a 90 % chance if the true"),
        ({}, "; a decision is not within reach of 1,000 lifetimes of each."),
        ({"p_holm": None, "why": "only replay practises c"}, "interval −1.0 to 3.0; only replay practises c)."),
        ({"p_holm": None, "baseline_n": 2, "low": None, "high": None}, "by 1; 3 lifetimes of each are needed."),
    ],
)
def test_an_undecided_answer_says_what_would_decide_it_or_why_nothing_does(facts: dict[str, Any], ending: str) -> None:
    comparison = comparison_of(final_performance=("undecided", 1.0))
    reached = replace(comparison.tested["final_performance"], **facts)
    answer = replace(comparison, tested={"final_performance": reached}, unit="").answer
    assert answer.startswith("Which one ends up better, replay or naive, is undecided: replay is ahead by 1")
    assert ending in answer


def test_intervals_in_an_answer_have_the_sign_of_its_subject() -> None:
    behind = comparison_of(final_performance=("no worse", -1.0)).answer
    assert "(99.2 % interval −3.0 to 4.0) (95 % interval −3.0 to 1.0" in behind
    leading = comparison_of(final_performance=("undecided", -1.0)).answer
    assert "naive is ahead by 1.0 points (95 % interval −1.0 to 3.0" in leading


def test_the_one_that_is_ahead_is_never_likely_worse() -> None:
    comparison = comparison_of(final_performance=("undecided", -4.0))
    reached = replace(comparison.tested["final_performance"], likely="worse")
    answer = replace(comparison, tested={"final_performance": reached}).answer
    assert "naive is ahead by 4.0 points, likely better (p = .001 alone)" in answer


@pytest.mark.parametrize(
    ("verdict", "difference", "share"),
    [
        ("better", 18.0, "11 lifetimes of replay cannot rule out that up to 24 % collapse"),
        ("worse", -18.0, "5 lifetimes of naive cannot rule out that up to 45 % collapse; on average naive ends"),
        ("as good", 0.0, "5 lifetimes of naive cannot rule out that up to 45 % collapse; on average replay ends"),
    ],
)
def test_a_favourable_answer_states_the_share_that_may_collapse(
    verdict: DifferenceVerdict, difference: float, share: str
) -> None:
    comparison = comparison_of(final_performance=(verdict, difference))
    reached = replace(comparison.tested["final_performance"], baseline_n=5)
    assert share in replace(comparison, tested={"final_performance": reached}).answer


def test_favourable_words_beside_an_undecided_answer_state_the_share_that_may_collapse() -> None:
    undecided = comparison_of(final_performance=("undecided", 1.0), learning_speed=("better", 2.0))
    assert undecided.answer.endswith(
        " replay learns faster; 11 lifetimes of replay cannot rule out that up to 24 % collapse."
    )
    behind = comparison_of(final_performance=("no worse", -1.0), learning_speed=("worse", -2.0))
    for learner in ("replay", "naive"):
        assert f"11 lifetimes of {learner} cannot rule out that up to 24 % collapse" in behind.answer
    slower = comparison_of(final_performance=("undecided", 1.0), learning_speed=("worse", -2.0))
    assert "collapse" not in slower.answer


def test_a_learner_that_keeps_more_of_less_is_not_praised() -> None:
    comparison = comparison_of(final_performance=("better", 57.0), performance_maintenance=("worse", -9.0))
    assert comparison.answer.endswith("naive keeps more, but of less: it ends 57.0 points worse.")
    comparison = comparison_of(final_performance=("better", 57.0), performance_maintenance=("better", 9.0))
    assert comparison.answer.endswith("replay keeps more.")
