"""Pairs are told, not guessed."""

from __future__ import annotations

import pytest
from tests.stats.lives import altered, lives

from perdure.errors import PerdureError
from perdure.stats.pairing import pair

OURS, THEIRS = lives([1.0, 2.0, 3.0]), lives([4.0, 5.0, 6.0])


def test_lives_of_the_same_seeds_and_orders_are_paired_whatever_their_order() -> None:
    found = pair(OURS, THEIRS[::-1])
    assert found.paired
    assert [one.seed for one in found.ours] == [one.seed for one in found.theirs]
    assert found.told == "paired: all 3 lifetimes match by seed and task order"


def test_another_order_of_tasks_is_another_life() -> None:
    other = (*THEIRS[:2], altered(THEIRS[2], order=("b", "a")))
    found = pair(OURS, other)
    assert not found.paired
    assert "2 of 3 and 3 lifetimes match" in found.told
    assert (found.n, found.baseline_n) == (3, 3)  # nobody is left out to make pairs
    with pytest.raises(PerdureError, match="no lifetime is left out to make pairs"):
        pair(OURS, other, "yes")


def test_lives_without_seeds_are_paired_by_id_only_when_asked() -> None:
    ours, theirs = (tuple(altered(one, seed=None) for one in side) for side in (OURS, THEIRS))
    assert "state no seed" in pair(ours, theirs).told
    asked = pair(ours, theirs, "yes")
    assert asked.paired
    assert "by id" in asked.told


def test_no_means_no() -> None:
    assert pair(OURS, THEIRS, "no").told == "not paired, as requested"


def test_a_seed_that_is_there_twice_cannot_be_paired() -> None:
    again = (*OURS[:2], altered(OURS[2], seed=0))
    assert "occurs twice" in pair(again, THEIRS).told
    with pytest.raises(PerdureError, match="occurs twice"):
        pair(again, THEIRS, "yes")


def test_a_seed_that_recurs_in_another_order_cannot_be_paired() -> None:
    ours, theirs = (
        (*side, *(altered(one, id=f"{one.id}-reversed", order=("b", "a")) for one in side)) for side in (OURS, THEIRS)
    )
    assert pair(ours, theirs).told == "not paired: seed 0 occurs twice on one side"


def test_asking_for_pairs_where_none_match_is_refused_with_the_counts() -> None:
    others = tuple(altered(one, seed=(one.seed or 0) + 100) for one in THEIRS)
    with pytest.raises(PerdureError, match="0 of 3 and 3 lifetimes match"):
        pair(OURS, others, "yes")
