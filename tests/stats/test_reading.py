"""LA, BWT and AA read together as S002's tables have them, and never against what was decided."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.verbs import run_verb

import perdure
from perdure.log.formats.matrix import matrix_lifetime
from perdure.log.read import Options
from perdure.stats.answer import interpretation, interpretation_of_one, leading
from perdure.stats.groups import groups


def cells(learned: float, change: float, unit: float = 1.0) -> list[list[float | None]]:
    """Three tasks with this LA and this BWT: AA = LA + BWT · 2/3."""
    end = (learned + change) / unit
    at = learned / unit
    return [[at, end, end], [None, at, end], [None, None, at]]


def of_one(learned: float, change: float, unit: float = 1.0) -> str:
    found = perdure.survey(matrix_lifetime(cells(learned, change, unit)))
    return " ".join(interpretation_of_one(found.scores[0], found.metrics, found.bars))


# S002's table of combinations; high is what its table of good values has: LA above 90, AA above 80.
TABLE = [
    (95, 0, "a good continual learner"),
    (95, -60, "severe forgetting"),
    (50, 0, "poor learning capability"),
    (92, 7, "beneficial transfer"),
]


@pytest.mark.parametrize(("learned", "change", "called"), TABLE)
@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_each_row_of_the_table_is_called_as_there(learned: float, change: float, called: str, unit: float) -> None:
    assert f"Read together: {called}: " in of_one(learned, change, unit)


@pytest.mark.parametrize(("learned", "change"), [(95, -10), (50, -30), (50, 30), (85, 0)])
def test_what_the_table_does_not_have_is_not_called_by_a_row_of_it(learned: float, change: float) -> None:
    said = of_one(learned, change)
    assert "no common pattern" in said
    assert not any(called in said for _, _, called in TABLE)


def test_good_values_are_those_of_the_page() -> None:
    good, _, bad = of_one(95, -60).partition("Not good: ")
    assert "Good: learning_accuracy 95 (above 90 %)" in good
    assert "average_accuracy 55 (above 80 %), bwt −60 (about 0, or positive)" in bad
    good, _, bad = of_one(80.5, -0.3).partition("Not good: ")
    assert "average_accuracy 80.3" in good
    assert "bwt −0.3" in good
    assert "learning_accuracy 80.5" in bad


def test_rewards_are_not_read_as_accuracies() -> None:
    raw = perdure.survey(matrix_lifetime(cells(95, 0), options=Options(unit="raw")))
    assert interpretation_of_one(raw.scores[0], raw.metrics, raw.bars) == ()


def of_group(changes: Sequence[float]) -> tuple[str | None, str]:
    lives = [matrix_lifetime(cells(95, change), name=f"m{at}") for at, change in enumerate(changes)]
    found = perdure.survey(lives)
    (group,) = groups(found)
    return group.estimates["bwt"].word, " ".join(interpretation(group, found.metrics))


@pytest.mark.parametrize(
    ("changes", "word", "says"),
    [
        ([-50, -55, -60, -52], "forgets", "severe forgetting"),
        ([-0.4, 0.3, -0.2, 0.1], "keeps", "a good continual learner"),
        ([-50, 3, -20, 4], "undecided", "whether what was learned is kept is undecided"),
        ([1.0, 1.2, 1.1, 1.3], "gains", "beneficial transfer"),
    ],
)
def test_a_group_is_read_as_it_was_decided(changes: Sequence[float], word: str, says: str) -> None:
    decided, said = of_group(changes)
    assert decided == word
    assert says in said
    assert "alone" not in said


def test_a_line_leads_with_aa_la_bwt_and_fm() -> None:
    (group,) = groups(perdure.survey(matrix_lifetime(cells(95, -60))))
    assert leading(group) == "AA 55, LA 95, BWT −60, FM 60 (%)"


def test_score_says_it_of_one_and_of_several(tmp_path: Path) -> None:
    for seed in range(3):
        (tmp_path / f"seed{seed}.csv").write_text(f"95,35,{35 + seed}\n,95,35\n,,95\n")
    assert "severe forgetting" in run_verb("score", tmp_path / "seed0.csv", "--why").output
    assert "severe forgetting" in run_verb("score", tmp_path, "--why").output


def test_a_change_by_just_its_margin_is_about_0_and_any_more_is_not() -> None:
    margin = perdure.survey(matrix_lifetime(cells(95, 0))).bars["bwt"].margin
    assert margin > 0
    for away in (margin, -margin):
        assert "what was learned is kept" in of_one(93, away)
        assert "what was learned is kept" not in of_one(93, away * 1.001)


def test_good_is_beyond_the_number_of_the_page_and_not_at_it() -> None:
    assert "tasks are not learned well (LA 90; good is above 90 %)" in of_one(90, 0)
    assert "each task is learned well" in of_one(90.01, 0)
