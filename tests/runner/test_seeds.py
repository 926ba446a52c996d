"""Seeds: each depends on its key and on nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from perdure.runner.seeds import Seeds, seed_for

KEYS = st.lists(st.one_of(st.text(max_size=8), st.integers(0, 10**6)), min_size=1, max_size=4).map(tuple)


@given(st.integers(-(2**70), 2**70), KEYS)
def test_the_same_key_gives_the_same_seed_of_63_bits(root: int, key: tuple[str | int, ...]) -> None:
    assert seed_for(root, *key) == seed_for(root, *key)
    assert 0 <= seed_for(root, *key) < 2**63


@given(st.integers(0, 2**64), KEYS, KEYS)
def test_different_keys_give_different_seeds(
    root: int, one: tuple[str | int, ...], other: tuple[str | int, ...]
) -> None:
    assert (seed_for(root, *one) == seed_for(root, *other)) == (one == other)


@given(st.integers(-(2**64), 2**64), st.integers(-(2**64), 2**64))
def test_different_roots_give_different_seeds(one: int, other: int) -> None:
    assert (seed_for(one, "life", 7) == seed_for(other, "life", 7)) == (one == other)


def test_learner_scenario_and_environment_have_separate_seeds() -> None:
    seeds = Seeds.of(3)
    assert len({seeds.learner, seeds.scenario, seeds.environment}) == 3
    assert seeds.under("life", 1) != seeds.under("life", 2)


@pytest.mark.parametrize("kind", ["learner", "scenario", "environment"])
def test_another_root_of_one_kind_changes_only_the_seeds_of_that_kind(kind: str) -> None:
    seeds = Seeds.of(3)
    one, other = (asdict(roots.under("life", 1)) for roots in (seeds, replace(seeds, **{kind: 7})))
    assert {name for name in one if one[name] != other[name]} == {kind}


def test_a_text_and_a_number_are_different_keys() -> None:
    assert seed_for(1, "7") != seed_for(1, 7)
