"""A flag is its words, and knows what they were made of, also after it was written to a file of scores."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.log.model import Identity
from perdure.metrics.measure import Flag, Measured
from perdure.metrics.score import Score

COUNTS = st.integers(0, 10**6)


@given(st.text(min_size=1), COUNTS, COUNTS)
@pytest.mark.parametrize("made", [Flag.of_some, Flag.of_missing])
def test_a_flag_is_read_as_it_was_written(
    made: Callable[[str, int, int], Flag], about: str, count: int, total: int
) -> None:
    flag = made(about, count, total)
    for other in (Flag.read(str(flag)), pickle.loads(pickle.dumps(flag))):
        assert (other, other.about, other.left_out) == (flag, flag.about, flag.left_out)


def test_what_holds_for_every_value_has_no_counts() -> None:
    flag = Flag.read("relearned")
    assert (flag, flag.about, flag.left_out) == ("relearned", "relearned", False)


def test_json_of_a_score_holds_plain_text() -> None:
    made = Score(Identity("life"), {"m": Measured(1.0, flags=(Flag.of_some("late", 1, 3),))})
    assert [type(one) for one in made.as_json()["metrics"]["m"]["flags"]] == [str]
