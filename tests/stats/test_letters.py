"""Letters: two share one unless they differ."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from perdure.stats.systems import letters_of

NAMES = ("a", "b", "c", "d", "e")


@given(st.sets(st.sampled_from(list(combinations(NAMES, 2)))))
def test_two_systems_share_a_letter_unless_they_differ(differing: set[tuple[str, str]]) -> None:
    found = letters_of(NAMES, differing)
    assert all(found.values())
    for one, other in combinations(NAMES, 2):
        assert bool(set(found[one]) & set(found[other])) == ((one, other) not in differing)


def test_where_nothing_differs_all_share_the_one_letter() -> None:
    assert letters_of(NAMES, ()) == dict.fromkeys(NAMES, "a")
