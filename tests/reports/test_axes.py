"""Scales and their ticks."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perdure.reports.axes import Entry, Scale, legend, scale_over, tick_text, ticks
from perdure.reports.svg import Canvas

VALUES = st.floats(-1e6, 1e6).filter(lambda item: item == 0 or abs(item) > 1e-6)


@given(st.lists(VALUES, min_size=1, max_size=20), st.integers(2, 8))
def test_ticks_are_few_lie_on_the_scale_and_are_evenly_spaced(values: list[float], most: int) -> None:
    scale = scale_over(values, 0, 100)
    result = ticks(scale, most)
    assert len(result) <= most + 1
    span = scale.high - scale.low
    assert all(scale.low - span * 1e-9 <= item <= scale.high + span * 1e-9 for item in result)
    steps = [b - a for a, b in itertools.pairwise(result)]
    assert steps == pytest.approx([steps[0]] * len(steps) if steps else [])


@given(st.lists(VALUES, min_size=1, max_size=20))
def test_every_value_has_its_place_between_the_ends_in_order(values: list[float]) -> None:
    scale = scale_over(values, 10, 90)
    places = [scale(item) for item in sorted(values)]
    assert all(10 - 1e-6 <= item <= 90 + 1e-6 for item in places)
    assert places == sorted(places)


@given(st.floats(0.05, 0.95), st.floats(1.05, 20))
def test_equal_factors_are_equally_far_on_a_scale_of_ratios(low: float, high: float) -> None:
    scale = Scale(low, high, 0, 100, log=True)
    assume(low * 1.1 < high / 1.1)
    assert scale(low * 1.1) - scale(low) == pytest.approx(scale(high) - scale(high / 1.1))
    assert all(low <= item <= high for item in ticks(scale, 4))
    assert 1.0 in ticks(scale, 4)


def test_large_numbers_are_written_short() -> None:
    assert [tick_text(item) for item in (0.5, -20, 1500, 200_000, 1_500_000)] == ["0.5", "−20", "1500", "200k", "1.5M"]


@given(st.integers(0, 200))
def test_a_legend_names_each_or_says_how_many_more_there_are(count: int) -> None:
    body, _ = legend([Entry(f"group {index}", "ink") for index in range(count)], Canvas(), 0)
    assert body.count("</text>") == min(count, 61)
    assert (f"and {count - 60} more" in body) == (count > 60)
