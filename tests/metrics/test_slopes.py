"""The median of all slopes, found without making them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.metrics.slopes import theil_sen


def of_all_pairs(ordinates: np.ndarray, abscissae: np.ndarray) -> float:
    first, second = np.triu_indices(len(ordinates), k=1)
    return float(np.median((ordinates[second] - ordinates[first]) / (abscissae[second] - abscissae[first])))


steps = st.lists(st.floats(0.01, 1e3), min_size=2, max_size=60)
whole = st.integers(-5, 5).map(float)
real = st.floats(-1e6, 1e6, allow_subnormal=False)


@given(steps, st.data())
def test_the_slope_found_is_the_median_of_all_pairs(gaps: list[float], data: st.DataObject) -> None:
    abscissae = np.cumsum(gaps)
    ordinates = np.array([data.draw(real) for _ in gaps])
    expected = of_all_pairs(ordinates, abscissae)
    assert theil_sen(ordinates, abscissae, few=8) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.lists(whole, min_size=2, max_size=80))
def test_whole_numbers_that_tie_give_exactly_the_median_of_all_pairs(values: list[float]) -> None:
    ordinates, abscissae = np.array(values), np.arange(len(values), dtype=float)
    assert theil_sen(ordinates, abscissae, few=8) == of_all_pairs(ordinates, abscissae)


# Found at random: eight slopes are drawn that are all equal, and the median is another.
EQUAL = """
-23 -17 -24 10 10 5 -2 8 10 2 -5 -22 13 15 12 -13 24 14 5 22 -5 10 -8 -2 -6 -5 2 -19 23 19 -21 -6 8
17 -20 21 16 20 23 -14 24 -24 -16 -11 14 -4 12 -1 -6 -1 -21 20 -8 -10 -5 8 15 -23 -24 13 -20 -20 9 -19 21 17
"""


def test_a_few_equal_slopes_do_not_stand_for_all_that_are_left() -> None:
    ordinates = np.array(EQUAL.split(), dtype=float)
    abscissae = np.arange(len(ordinates), dtype=float)
    assert theil_sen(ordinates, abscissae, few=8) == of_all_pairs(ordinates, abscissae)


@pytest.mark.parametrize("kind", ["times", "noise", "trend"])
def test_many_values_give_what_few_at_a_time_give(kind: str) -> None:
    rng = np.random.default_rng(5)
    times = np.arange(3000, dtype=float)
    values = {
        "times": rng.integers(0, 12, 3000).astype(float),
        "noise": rng.normal(size=3000),
        "trend": np.floor(300 - times / 10) + rng.integers(0, 5, 3000),
    }[kind]
    expected = of_all_pairs(values, times)
    assert theil_sen(values, times, few=4000) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert theil_sen(values.tolist()) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_the_slope_of_fifty_thousand_points_on_a_line_is_the_lines() -> None:
    times = np.arange(50_000, dtype=float)
    assert theil_sen(3 - 7 * times, times) == -7
