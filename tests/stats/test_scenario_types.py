"""One learner's scenario types against each other."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy import stats  # type: ignore[import-untyped]
from tests.stats.lives import BARS, altered, lives, normal, pool

from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.model import Survey
from perdure.gather.survey import survey
from perdure.metrics.score import Score
from perdure.stats.compare import compare_lives
from perdure.stats.systems import compare_scenario_types

PM = "performance_maintenance"
TYPES = ("condensed", "dispersed")


def lived(learner: str, kind: str | None, shift: float, argument: str = "runs", seed: int = 0) -> tuple[Score, ...]:
    made = lives(normal(shift, 1, 8, seed), learner=learner, scenario_type=kind, argument=argument)
    return tuple(altered(one, id=f"{learner}/{kind}/{one.id}", source=f"{argument}/{one.id}") for one in made)


def both(learner: str = "replay", argument: str = "runs") -> tuple[Score, ...]:
    return (*lived(learner, "condensed", 5, argument), *lived(learner, "dispersed", 0, argument, seed=1))


def test_the_types_of_one_learner_are_the_systems() -> None:
    found = compare_scenario_types(pool(*both()))
    assert (found.systems, found.baseline) == (("condensed", "dispersed"), "dispersed")
    (one,) = found.comparisons
    assert (one.system, one.baseline, one.learner, one.scenario_type) == ("condensed", "dispersed", "replay", None)
    assert one.differences[PM].verdict == "better"


def test_the_numbers_are_those_of_comparing_the_two_sides() -> None:
    (one,) = compare_scenario_types(pool(*both())).comparisons
    sides = both()
    assert one.differences == compare_lives(sides[:8], sides[8:], BARS, names=("condensed", "dispersed")).differences


def test_the_baseline_is_a_type_by_name() -> None:
    (one,) = compare_scenario_types(pool(*both()), "condensed").comparisons
    assert (one.system, one.baseline, one.differences[PM].verdict) == ("dispersed", "condensed", "worse")
    with pytest.raises(UnknownNameError, match="did you mean 'condensed'"):
        compare_scenario_types(pool(*both()), "condense")


def test_every_learner_is_compared_with_itself_alone() -> None:
    found = compare_scenario_types(pool(*both("replay"), *both("naive"), *lived("lonely", "condensed", 3)))
    assert [one.learner for one in found.comparisons] == ["replay", "naive"]
    assert found.notes == ("not compared: lonely: only condensed",)


def test_three_types_get_letters() -> None:
    found = compare_scenario_types(pool(*both(), *lived("replay", "alternating", 9, seed=2)))
    assert [(one.system, one.baseline) for one in found.comparisons] == [
        ("alternating", "dispersed"),
        ("condensed", "dispersed"),
    ]
    (letters,) = found.letters
    assert letters.learner == "replay"
    assert letters.by_metric[PM] == {"alternating": "a", "condensed": "b", "dispersed": "c"}


@pytest.mark.parametrize(
    "given",
    [
        lived("replay", "condensed", 0),
        (*lived("replay", "condensed", 0), *lived("naive", "dispersed", 0)),
        lived("replay", None, 0),
    ],
    ids=["one type", "a type each", "none stated"],
)
def test_without_two_types_of_one_learner_there_is_nothing_to_compare(given: tuple[Score, ...]) -> None:
    with pytest.raises(
        PerdureError, match=r"no learner has lifetimes of two scenario types .*replay: (condensed|none)"
    ):
        compare_scenario_types(pool(*given))


def test_lives_that_state_no_type_are_left_out_with_the_reason() -> None:
    found = compare_scenario_types(pool(*both(), *lived("replay", None, 0)[:1]))
    assert found.left_out == (("runs/life-000", "it states no scenario type"),)


def test_two_arguments_of_one_type_are_not_pooled_unasked() -> None:
    given = (*both(argument="a"), *lived("replay", "condensed", 0, argument="b", seed=2))
    with pytest.raises(PerdureError, match=r"replay, condensed: .*2 arguments \(a, b\).*--pool"):
        compare_scenario_types(pool(*given))
    told_apart = tuple(altered(one, id=f"{one.identity.argument}/{one.id}") for one in given)
    made = pool(*told_apart)
    pooled = Survey(made.lifetimes, (), {"pool": True}, "standard", {}, written=BARS, name="pool")
    (one,) = compare_scenario_types(pooled).comparisons
    assert one.differences[PM].n == 16


def test_condensed_against_dispersed_of_48_lifetimes_is_welchs_test_of_scipy(shared: Path) -> None:
    """Means of both from the project's outside numbers; the table states no seeds, so nothing is paired."""
    table = survey(shared / "data" / "l2metrics-examples" / "evaluation" / "ll_metrics.tsv")
    (one,) = compare_scenario_types(table).comparisons
    assert one.differences["forward_transfer"].mean == pytest.approx(14.615773, abs=1e-6)
    assert one.differences["forward_transfer"].baseline_mean == pytest.approx(7.809486, abs=1e-6)
    assert one.answer == ""  # relative performance is a ratio to experts: it does not say which one ends up better
    for name, found in one.differences.items():
        sides = [[life.values[name] for life in table.scores if life.scenario_type == kind] for kind in TYPES]
        expected = stats.ttest_ind(*sides, equal_var=False)
        assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)
