"""Systems against a baseline, apart for every scenario type and measure."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from tests.stats.lives import BARS, altered, lives, normal, pool

from perdure.errors import PerdureError, UnknownNameError
from perdure.metrics.declare import ComparedAs, Threshold
from perdure.metrics.score import Score
from perdure.stats.systems import System, compare_systems, systems_of

Place = tuple[Score, ...]


def place(name: str, shift: float, learner: str | None = None, **facts: str) -> Place:
    return lives(normal(shift, 1, 12, len(name)), learner=learner, argument=name, **facts)


def of(*places: Place, bars: Mapping[str, Threshold] = BARS) -> tuple[System, ...]:
    return systems_of(pool(*(one for lived in places for one in lived), bars=bars))


def test_a_system_goes_by_its_learner_where_that_tells_them_apart() -> None:
    assert [one.name for one in of(place("a", 0, "ppo"), place("b", 0, "dqn"))] == ["ppo", "dqn"]
    assert [one.name for one in of(place("a", 0, "ppo"), place("b", 0, "ppo"))] == ["a", "b"]
    assert [one.name for one in of(place("x/a", 0), place("y/a", 0))] == ["x/a", "y/a"]


def test_one_place_with_two_learners_is_two_systems() -> None:
    assert [(one.name, len(one.lives)) for one in of(place("a", 0, "ppo"), place("a", 0, "dqn"))] == [
        ("ppo", 12),
        ("dqn", 12),
    ]
    with pytest.raises(PerdureError, match="nothing to compare it with"):
        of(place("alone", 0, "ppo"))


def test_the_difference_is_the_first_minus_the_last() -> None:
    found = compare_systems(of(place("high", 5), place("low", 0)))
    (one,) = found.comparisons
    assert (one.system, one.baseline) == ("high", "low")
    assert (one.differences["performance_maintenance"].difference or 0) > 3


def test_many_systems_are_each_held_against_the_named_baseline() -> None:
    found = compare_systems(of(place("full", 5), place("less", 3), place("least", 0)), "full")
    assert [(one.system, one.baseline) for one in found.comparisons] == [("less", "full"), ("least", "full")]
    with pytest.raises(UnknownNameError, match="did you mean 'full'"):
        compare_systems(of(place("full", 5), place("less", 3)), "fulll")


def test_scenario_types_are_compared_apart_and_a_lonely_one_is_noted() -> None:
    def two(name: str, kinds: tuple[str, ...]) -> Place:
        parts: list[Score] = []
        for kind in kinds:
            parts += [altered(one, id=f"{kind}-{one.id}") for one in place(name, 0, scenario_type=kind)]
        return tuple(parts)

    found = compare_systems(of(two("a", ("condensed", "dispersed")), two("b", ("condensed",))))
    assert [one.scenario_type for one in found.comparisons] == ["condensed"]
    assert found.notes == ("not compared: dispersed: only a",)


def test_different_presets_and_settings_are_refused_with_what_differs() -> None:
    for facts in ({"preset": "new-2022"}, {"how": '{"clamp": true}'}):
        ours = place("a", 0, how='{"clamp": false}')
        theirs = tuple(altered(one, argument="b", **facts) for one in ours)
        with pytest.raises(PerdureError, match="were scored with different"):
            compare_systems(of(ours, theirs))


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(PerdureError, match="no scenario type and measure in common"):
        compare_systems(of(place("a", 0, measure="reward"), place("b", 0, measure="steps")))
    other = lives([1.0, 2.0], "forward_transfer", argument="b")
    with pytest.raises(PerdureError, match="shares no metric"):
        compare_systems(of(place("a", 0), other))


def test_different_protocols_are_compared_but_told() -> None:
    found = compare_systems(of(place("a", 0, protocol="one"), place("b", 0, protocol="two")))
    assert found.comparisons[0].notes == ("the protocols differ: one against two",)


def test_a_side_of_two_protocols_is_refused() -> None:
    mixed = place("a", 0, protocol="one")
    mixed = (*mixed[:-1], altered(mixed[-1], protocol="two"))
    with pytest.raises(PerdureError, match="different protocols are never pooled"):
        compare_systems(of(mixed, place("b", 0)))


def test_partial_lives_are_left_out_and_counted() -> None:
    ours = place("a", 0)
    ours = (altered(ours[0], complete=False), *ours[1:])
    found = compare_systems(of(ours, place("b", 0)))
    assert found.left_out == (("life-000", "it is incomplete"),)  # by its path


def test_headline_metrics_are_compared_and_what_is_shown_changes_no_p() -> None:
    def with_two(name: str) -> Place:
        return tuple(
            altered(one, values={**one.values, "forward_transfer": 1.0 + at, "plain": 1.0 * at})
            for at, one in enumerate(place(name, 0))
        )

    systems = of(with_two("a"), with_two("b"), bars={**BARS, "plain": Threshold()})
    every = compare_systems(systems).comparisons[0].differences
    assert list(every) == ["performance_maintenance", "forward_transfer"]
    (only,) = compare_systems(systems, metrics=["performance_maintenance"]).comparisons[0].differences.values()
    assert only == every["performance_maintenance"]
    plain = compare_systems(systems, metrics=["plain"]).comparisons[0].differences["plain"]
    assert (plain.p, plain.p_holm, plain.word) == (None, None, None)  # exploratory: a difference and its interval
    assert plain.low is not None
    with pytest.raises(UnknownNameError, match="did you mean 'plain'"):
        compare_systems(systems, metrics=["plane"])


def test_json_is_finite() -> None:
    facts = compare_systems(of(place("a", 0), place("b", 1))).as_json()
    json.dumps(facts, allow_nan=False)
    assert facts["baseline"] == "b"


def test_a_system_that_states_no_scenario_type_is_taken_to_have_the_only_one_and_it_is_said() -> None:
    stated = place("a", 0, scenario_type="condensed")
    found = compare_systems(of(stated, place("b", 0)))
    assert found.comparisons[0].scenario_type == "condensed"
    assert found.notes == ("b does not state its scenario type; taken to be condensed, as the others'",)


def test_a_custom_metric_is_tested_if_it_declares_how_it_is_compared() -> None:
    bars = {
        "performance_maintenance": Threshold(0.0, headline="log"),
        "performance_maintenance_terminal": Threshold(0.0),
        "forward_transfer_contrast": Threshold(0.0),
        "mine": Threshold(2.0, compared=ComparedAs("has more", "has less")),
    }

    def with_all(name: str) -> Place:
        return tuple(altered(one, values=dict.fromkeys(bars, 1.0 * at)) for at, one in enumerate(place(name, 0)))

    systems = of(with_all("a"), with_all("b"), bars=bars)
    assert list(compare_systems(systems).comparisons[0].differences) == ["performance_maintenance", "mine"]
    asked = compare_systems(systems, metrics=["forward_transfer_contrast"]).comparisons[0]
    assert list(asked.differences) == ["forward_transfer_contrast"]
    assert list(asked.tested) == ["performance_maintenance", "mine"]


def test_three_systems_get_letters_over_all_pairs_and_metrics() -> None:
    found = compare_systems(of(place("high", 9), place("top", 9), place("bottom", 0)))
    (letters,) = found.letters
    shown = letters.by_metric["performance_maintenance"]
    assert letters.tests == 3
    assert not set(shown["high"]) & set(shown["bottom"])
    assert set(shown["high"]) & set(shown["top"])
    assert compare_systems(of(place("a", 1), place("b", 2))).letters == ()


def test_systems_that_practise_different_tasks_are_not_told_apart_by_letters() -> None:
    other = tuple(altered(one, order=("a",)) for one in place("other", 9))
    (letters,) = compare_systems(of(place("high", 9), other, place("bottom", 0))).letters
    shown = letters.by_metric["performance_maintenance"]
    assert letters.tests == 1
    assert set(shown["other"]) & set(shown["bottom"])
    assert set(shown["other"]) & set(shown["high"])
    assert not set(shown["high"]) & set(shown["bottom"])


def test_three_systems_are_told_that_their_values_depend_on_one_another() -> None:
    pair, three = (compare_systems(of(*(place(name, 0) for name in names))) for names in ("ab", "abc"))
    assert not any("share ranges" in note for comparison in pair.comparisons for note in comparison.notes)
    assert all(any("all 3 systems share ranges" in note for note in one.notes) for one in three.comparisons)
