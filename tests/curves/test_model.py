"""Curves: what one knows of its values."""

from __future__ import annotations

import numpy as np
import pytest

from perdure.curves.arrays import moments, slope
from perdure.curves.model import Curve
from perdure.curves.prepare import curves
from perdure.metrics.contract import lifetime_of
from perdure.scenario.model import Block


def curve(*values: float) -> Curve:
    array = np.array(values)
    return Curve(array, array)


def test_the_terminal_value_is_the_mean_from_nine_tenths_on() -> None:
    assert curve(*range(20)).terminal == 18.5
    assert curve(*range(11)).terminal == 9.5  # from index 99 div 10 = 9
    assert curve(7.0).terminal == 7.0


def test_mean_peak_and_total_are_of_all_values() -> None:
    one = curve(1, 5, 3)
    assert (one.mean, one.peak, one.total, len(one)) == (3.0, 5.0, 9.0, 3)


def test_reaching_forgives_rounding() -> None:
    assert curve(0, 1 - 1e-10, 2).reached(1.0) == 1
    assert curve(0, 1 - 1e-8, 2).reached(1.0) == 2
    assert curve(0, 1e12 - 1).reached(1e12) == 1
    assert curve(0, 1).reached(2.0) is None


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_the_slope_is_that_of_least_squares(offset: float) -> None:
    values = np.random.default_rng(0).normal(size=50) + offset
    assert slope(values) == pytest.approx(np.polyfit(np.arange(50), values - offset, 1)[0], abs=1e-7)


@pytest.mark.parametrize("first", [0.0, 30.0, -1e6])
@pytest.mark.parametrize("count", [3, 50, 70_000])
def test_the_error_of_a_slope_is_that_of_what_the_line_leaves(first: float, count: int) -> None:
    index = np.arange(count)
    values = np.random.default_rng(count).normal(0.01 * index, 1.0)
    values[0] = first  # from which all others are counted
    line = moments(values)
    rise, height = np.polyfit(index, values, 1)
    left = ((values - rise * index - height) ** 2).sum()
    expected = np.sqrt(left / (count - 2) / ((index - index.mean()) ** 2).sum())
    assert line.slope == pytest.approx(rise, rel=1e-9)
    assert line.slope_error == pytest.approx(expected, rel=1e-9)


def test_a_line_leaves_nothing() -> None:
    straight, level = ((moments(rise * np.arange(20.0) + 0.1)) for rise in (3.0, 0.0))
    assert straight.slope_error == pytest.approx(0.0, abs=1e-6)
    assert (level.slope, level.slope_error) == (0.0, 0.0)


def test_a_single_value_has_no_slope() -> None:
    assert slope(np.array([3.0])) == 0.0


def test_a_block_is_a_view_and_several_are_stitched() -> None:
    life = curves(lifetime_of([Block("learn", "a", 20), Block("evaluate", "a", 5), Block("learn", "a", 20)]))
    assert np.shares_memory(life.over((0,)).values, life.values)
    assert life.over((0,)) is life.over((0,))
    np.testing.assert_array_equal(
        life.over((0, 2)).values, np.concatenate([life.over((0,)).values, life.over((2,)).values])
    )


def test_formulas_cannot_change_the_curves() -> None:
    life = curves(lifetime_of([Block("learn", "a", 20)]))
    with pytest.raises(ValueError, match="read-only"):
        life.over((0,)).values[0] = 1.0
