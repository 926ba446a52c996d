"""Fewer points, the same picture."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perdure.report.thin import columns_for, thinned

finite = st.floats(-1e6, 1e6)


@given(st.lists(finite, min_size=1, max_size=400), st.integers(1, 50))
def test_the_extremes_and_both_ends_are_kept(values: list[float], columns: int) -> None:
    array = np.array(values)
    chosen = thinned(array, columns)
    assert array[chosen].max() == array.max()
    assert array[chosen].min() == array.min()
    assert chosen[0] == 0
    assert chosen[-1] == len(array) - 1
    assert (np.diff(chosen) > 0).all() if len(chosen) > 1 else True
    assert len(chosen) <= 2 * columns + 2


@given(st.lists(finite, min_size=1, max_size=300), st.integers(1, 40))
def test_every_column_keeps_its_own_extremes(values: list[float], columns: int) -> None:
    array = np.array(values)
    chosen = thinned(array, columns)
    if len(chosen) == len(array):
        return
    width = -(-len(array) // columns)
    for first in range(0, len(array), width):
        column = array[first : first + width]
        kept = array[chosen[(chosen >= first) & (chosen < first + width)]]
        assert kept.min() == column.min()
        assert kept.max() == column.max()


def test_a_million_points_are_thinned_within_a_tenth_of_a_second() -> None:
    values = np.random.default_rng(0).normal(size=1_000_000)
    values[123_456] = 99.0
    started = time.process_time()
    chosen = thinned(values, 1200)
    assert time.process_time() - started < 0.1
    assert 123_456 in chosen
    assert len(chosen) <= 2402


@given(st.lists(st.integers(1, 1000), max_size=50), st.integers(10, 2000))
def test_every_block_gets_a_column(lengths: list[int], columns: int) -> None:
    shares = columns_for(lengths, columns)
    assert len(shares) == len(lengths)
    assert all(share >= 1 for share in shares)
