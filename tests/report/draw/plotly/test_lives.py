"""Numbers as they travel inside a page."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from perdure.report.draw.plotly.lives import rounded

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e15, max_value=1e15)


@given(st.lists(st.none() | NUMBERS, max_size=20))
def test_a_number_keeps_six_digits_and_a_gap_stays_a_gap(values: list[float | None]) -> None:
    for before, after in zip(values, rounded(values), strict=True):
        if before is None:
            assert after is None
        else:
            assert after is not None
            assert abs(after - before) <= 5.1e-6 * abs(before) + 1e-22


@given(st.integers(-999_999, 999_999), st.integers(-12, 9))
def test_no_digit_beyond_the_sixth_is_written(digits: int, power: int) -> None:
    value = float(f"{digits}e{power}")
    assert json.loads(json.dumps(rounded([value, 0.5]))) == [value, 0.5]
    assert rounded([value * (1 + 1e-9), 0.5])[0] == value


def test_whole_numbers_lose_their_point() -> None:
    assert json.dumps(rounded([1.0, None, 300.0])) == "[1, null, 300]"
