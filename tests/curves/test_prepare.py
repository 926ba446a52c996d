"""Smoothing, clamping and scaling: laws, and the values that others give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from perdure.curves.arrays import WINDOWS, Array, Range, Window, clamp, scale, smooth, width_for, window_means

NAMES: list[Window] = ["flat", "hanning", "hamming", "bartlett", "blackman"]


def smoothed(values: Array, window: Window = "flat", width: int | None = None, **more: object) -> Array:
    return smooth(values, np.array([0, len(values)]), (0,), window=window, width=width, **more)  # type: ignore[arg-type]


def by_hand(values: Array, weights: Array) -> Array:
    """The definition, said again without any trick: mirrored edges, a weighted mean at each place."""
    half = len(weights) // 2
    mirrored = np.concatenate([values[half:0:-1], values, values[-2 : -half - 2 : -1]])
    return np.array([mirrored[at : at + len(weights)] @ weights / weights.sum() for at in range(len(values))])


@pytest.mark.parametrize("window", NAMES)
@pytest.mark.parametrize("width", [3, 4, 5, 8, 9, 20])
def test_a_centred_window_leaves_a_ramp_alone(window: Window, width: int) -> None:
    ramp = np.arange(60.0)
    inner = slice(width, -width)
    np.testing.assert_allclose(smoothed(ramp, window, width)[inner], ramp[inner], rtol=1e-12)


@pytest.mark.parametrize("window", NAMES)
@given(values=arrays(np.float64, st.integers(9, 60), elements=st.floats(-1e6, 1e6)), width=st.sampled_from([3, 5, 9]))
@settings(max_examples=25)
def test_an_odd_window_is_the_weighted_mean_around_each_place(window: Window, values: Array, width: int) -> None:
    expected = by_hand(values, WINDOWS[window](width))
    np.testing.assert_allclose(smoothed(values, window, width), expected, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("window", NAMES)
@given(values=arrays(np.float64, st.integers(9, 60), elements=st.floats(-1e6, 1e6)), width=st.sampled_from([4, 6, 8]))
@settings(max_examples=25)
def test_an_even_window_is_the_mean_of_its_two_half_shifts(window: Window, values: Array, width: int) -> None:
    weights = WINDOWS[window](width)
    shifted = (np.append(weights, 0.0) + np.append(0.0, weights)) / 2
    np.testing.assert_allclose(smoothed(values, window, width), by_hand(values, shifted), rtol=1e-9, atol=1e-6)


def test_an_even_flat_window_gives_its_ends_half_weight() -> None:
    values = np.array([0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(smoothed(values, width=4), [0.0, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0])


@given(values=arrays(np.float64, st.integers(1, 80), elements=st.floats(-1e3, 1e3)), shift=st.floats(-50, 50))
def test_smoothing_commutes_with_scaling(values: Array, shift: float) -> None:
    np.testing.assert_allclose(smoothed(values * 3 + shift), smoothed(values) * 3 + shift, rtol=1e-9, atol=1e-9)


@given(values=arrays(np.float64, st.integers(1, 80), elements=st.floats(-1e3, 1e3)))
def test_a_mean_never_leaves_the_range_of_its_values(values: Array) -> None:
    after = smoothed(values)
    assert after.min() >= values.min()
    assert after.max() <= values.max()


def test_a_constant_block_stays_exactly_constant() -> None:
    assert set(smoothed(np.full(333, 0.1)).tolist()) == {0.1}


def test_one_huge_value_is_forgotten_once_it_has_left_the_window() -> None:
    values = np.full(500, 0.3)
    values[10] = 1e15
    np.testing.assert_allclose(smoothed(values)[200:], 0.3, rtol=1e-12)


@pytest.mark.parametrize(("length", "width"), [(14, 2), (15, 3), (50, 10), (499, 99), (500, 100), (10_000, 100)])
def test_the_window_is_a_fifth_of_the_block_up_to_a_hundred(length: int, width: int) -> None:
    assert width_for(length) == width


def test_a_window_longer_than_the_block_falls_back_to_a_fifth() -> None:
    assert width_for(50, 51) == 10
    assert width_for(50, 50) == 50


@pytest.mark.parametrize("width", [1, 2, None])
def test_a_window_shorter_than_three_smooths_nothing(width: int | None) -> None:
    values = np.random.default_rng(0).normal(size=14)
    np.testing.assert_array_equal(smoothed(values, width=width), values)


def test_each_block_is_smoothed_alone_and_others_are_left() -> None:
    values = np.random.default_rng(1).normal(size=120)
    starts = np.array([0, 40, 80, 120])
    after = smooth(values, starts, (0, 2))
    np.testing.assert_array_equal(after[40:80], values[40:80])
    np.testing.assert_allclose(after[:40], smoothed(values[:40]))
    np.testing.assert_allclose(after[80:], smoothed(values[80:]))


def test_whole_numbers_are_smoothed_as_numbers() -> None:
    whole = [0, 0, 1, 0, 0, 1]
    exact = smooth(np.array(whole, dtype=np.float64), np.array([0, 6]), [0], width=3)
    assert exact.max() < 1
    for kind in ("int64", "float32", "bool"):
        assert smooth(np.array(whole, dtype=kind), np.array([0, 6]), [0], width=3).tolist() == exact.tolist()


def test_blocks_of_one_length_are_smoothed_together_as_if_alone() -> None:
    values = np.random.default_rng(2).normal(size=1_200_000)
    starts = np.arange(0, len(values) + 1, 100_000)
    after = smooth(values, starts, range(12))
    for index in (0, 5, 11):
        span = slice(starts[index], starts[index + 1])
        np.testing.assert_array_equal(after[span], smoothed(values[span]))


def test_the_lagging_window_is_that_of_l2metrics() -> None:
    # The check value of the measured behaviour of l2metrics 3.1, section 4.1.
    expected = [2, 5 / 3, 2, 3, 4, 5, 6, 7, 8, 9]
    np.testing.assert_allclose(smoothed(np.arange(1.0, 11.0), width=3, alignment="lagging"), expected)


def test_window_means_are_shorter_by_the_window_less_one() -> None:
    values = np.arange(20.0)[np.newaxis, :]
    np.testing.assert_allclose(window_means(values, 11)[0], np.arange(5.0, 15.0))


def test_the_range_is_mapped_onto_1_to_101() -> None:
    np.testing.assert_allclose(scale(np.array([2.0, 3.0, 4.0]), Range(2, 4)), [1, 51, 101])


def test_a_range_without_width_carries_no_information() -> None:
    np.testing.assert_array_equal(scale(np.array([0.3, 0.3]), Range(0.3, 0.3)), [1, 1])
    assert Range(0.1, 0.1 + 1e-17).constant
    assert not Range(0.0, 1e-300).constant


def test_values_beyond_given_bounds_are_not_clipped_by_scaling() -> None:
    np.testing.assert_allclose(scale(np.array([-1.0, 3.0]), Range(0, 1)), [-99, 301])
    np.testing.assert_allclose(clamp(np.array([-1.0, 0.5, 3.0]), Range(0, 1)), [0, 0.5, 1])
