"""Numbers in a text are read many at once as Python and Polars read them one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.log import decimals as ours
from perdure.log.decimals import BEYOND, NotDecimal, Text, decimals, whole_numbers

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")

floats = st.floats(allow_nan=False, allow_infinity=False)
written = st.one_of(
    floats.map(repr),
    st.builds(lambda value, digits: f"{value:.{digits}f}", st.floats(-1e6, 1e6), st.integers(0, 20)),
    st.integers(-(10**21), 10**21).map(str),
    st.from_regex(_NUMBER, fullmatch=True).filter(str.isascii),
)


def laid_out(texts: Sequence[str]) -> tuple[Text, np.ndarray, np.ndarray]:
    """The texts one behind the other, where each begins, and how long it is."""
    lengths = np.array([len(one.encode()) for one in texts], dtype=np.int64)
    content = memoryview("\n".join([*texts, ""]).encode() + bytes(BEYOND))
    return Text(content), np.append(0, np.cumsum(lengths + 1))[:-1], lengths


def bits(values: Sequence[float] | np.ndarray) -> list[int]:
    found: list[int] = np.asarray(values, dtype=np.float64).view(np.int64).tolist()
    return found


@given(st.lists(written, min_size=1))
@example(["9007199254740993", "0.1000000000000000055511151231257827", "-0", "-0.0", "123456789", "12345678.5", "1e999"])
@example([f"{value:.17f}" for value in np.random.default_rng(1).random(2000)])
@example([repr(value) for value in np.random.default_rng(2).normal(size=2000).tolist()])
def test_every_decimal_is_the_float_that_python_and_polars_read(texts: list[str]) -> None:
    expected = bits([float(one) for one in texts])
    assert bits(decimals(*laid_out(texts))) == expected
    column = pl.read_csv("\n".join(["x", *texts]).encode(), schema={"x": pl.Float64()})["x"]
    assert bits(column.to_numpy()) == expected


@given(st.lists(written, min_size=1))
def test_without_the_wider_floats_of_some_processors_they_are_the_same(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ours, "_EXTENDED", False)
        assert bits(decimals(*laid_out(texts))) == bits([float(one) for one in texts])


@given(st.text(alphabet="0123456789+-.eE_ naif\xe9", max_size=12))
@example("1_000")
@example(" 1")
@example("nan")
def test_nothing_else_passes_for_a_decimal(text: str) -> None:
    try:
        (found,) = decimals(*laid_out([text]))
    except NotDecimal:
        assert not _NUMBER.fullmatch(text)
    else:
        assert _NUMBER.fullmatch(text)
        assert found == float(text)


@given(st.lists(st.integers(0, 10**19 - 1), min_size=1), st.integers(0, 3))
def test_whole_numbers_are_read_whatever_their_length(numbers: list[int], zeros: int) -> None:
    texts = [str(one).zfill(min(19, len(str(one)) + zeros)) for one in numbers]
    assert whole_numbers(*laid_out(texts)).tolist() == numbers


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", "1e3", "x", " 1", "1" * 20, "１"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(NotDecimal):
        whole_numbers(*laid_out(["7", text]))
