"""Text for users: numbers are written one way, alone or next to their interval."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perdure.text import initials, interval, join_words, number, p_text, p_words, plural


def read(text: str) -> float:
    return float(text.replace("−", "-"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (0.0, "0"), (-0.0, "0"), (5.0, "5"), (3, "3"), (-3, "−3"), (1234.5678, "1235"), (99.999, "100"),
        (-0.03774, "−0.03774"), (123456.7, "123457"), (9999.7, "10000"), (1e-9, "1.0e−09"), (4.2e7, "4.2e+07"),
    ],
)  # fmt: skip
def test_a_number_by_itself_has_four_digits_and_a_true_minus(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0021, 21.6, "0.0021 … 22"),
        (1.0320, 1.0481, "1.0320 … 1.0481"),
        (0.31, 57.3, "0.31 … 57"),
        (-57.3, -0.31, "−57 … −0.31"),
        (-57.3, 0.31, "−57 … 0.31"),
        (-57.3, 1e-9, "−57 … 0"),
        (-57.3, 0.0, "−57 … 0"),
    ],
)
def test_an_end_that_is_not_negligible_never_prints_as_0(low: float, high: float, text: str) -> None:
    assert interval(low, high) == text


@given(st.floats(1e-6, 1e5), st.floats(1.001, 1e5))
def test_both_ends_of_a_ratio_have_two_digits(low: float, factor: float) -> None:
    shown = [read(end) for end in interval(low, low * factor).split(" … ")]
    for end, value in zip(shown, (low, low * factor), strict=True):
        assert end == pytest.approx(value, rel=0.051)


@pytest.mark.parametrize(("value", "text"), [(0.215, "0.21"), (-0.24, "−0.24"), (0.001, "0"), (0.0, "0")])
def test_a_mean_prints_as_0_only_if_it_is_negligible_beside_its_interval(value: float, text: str) -> None:
    assert number(value, 21.6) == text


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [
        (-55.3172, 3.7, "−55.3"),  # half of it is 1.85: tenths
        (1.23456, 0.6, "1.23"),  # .30: hundredths
        (1.2, 0.06, "1.200"),  # .030: thousandths, zeros and all
        (1234.5, 690.0, "1234"),  # 345: hardly the units
        (-0.0003, 2.0, "0.0"),  # no minus before a nought
        (0.5, 0.0, "0.5"),  # nothing varies: as by itself
        (0.5, math.inf, "0.5"),
        (1.00000234, 1e-9, "1.00000"),  # six digits at most
    ],
)
def test_half_the_width_of_an_interval_has_two_digits(value: float, width: float, text: str) -> None:
    assert number(value, width) == text


@given(st.floats(-1e5, 1e5), st.floats(1e-2, 1e4))
def test_the_rounding_error_is_small_compared_with_the_interval(value: float, width: float) -> None:
    shown = number(value, width)
    assert abs(read(shown) - value) <= max(width / 20, 5e-6 * abs(value), 0.5) + 1e-12
    assert number(read(shown), width) == shown


@given(st.floats(-1e4, 1e4), st.floats(1e-2, 1e3))
def test_both_ends_of_an_interval_and_its_estimate_have_the_same_decimals(low: float, width: float) -> None:
    assume(min(abs(low), abs(low + width / 2), abs(low + width)) >= width / 2)  # else small ones have more
    texts = [*interval(low, low + width).split(" … "), number(low + width / 2, width)]
    if round(max(abs(low), abs(low + width)), 3) < 10 ** math.floor(math.log10(width) + 4):
        assert len({len(text.partition(".")[2]) for text in texts}) == 1


def test_an_interval_with_one_end_is_not_written() -> None:
    assert interval(None, 1.0) == interval(1.0, None) == "–"
    assert interval(-1.25, 1.25, " to ") == "−1.2 to 1.2"


@given(st.floats(1e-5, 0.9), st.floats(1e-2, 1e2), st.sampled_from((-1, 1)))
def test_an_interval_on_one_side_of_1_is_not_written_with_an_end_of_1(away: float, width: float, side: int) -> None:
    low, high = (1 + away, 1 + away + width) if side > 0 else ((1 - away) / (1 + width), 1 - away)
    near = read(interval(low, high).split(" … ")[0 if side > 0 else 1])
    assert side * (near - 1) > 0


def test_p_is_written_as_in_papers() -> None:
    assert [p_text(item) for item in (None, 0.0004, 0.0321, 0.9996)] == ["–", "< .001", ".032", "1"]
    assert (p_words(0.0004), p_words(0.0321)) == ("p < .001", "p = .032")
    assert [p_text(item) for item in (0.0494, 0.0495, 0.04999, 0.05, 0.0504)] == [
        ".049",
        ".0495",
        ".0499",
        ".050",
        ".050",
    ]


def test_counts_and_lists_are_written_in_english() -> None:
    assert (plural(1, "lifetime"), plural(0, "lifetime")) == ("1 lifetime", "0 lifetimes")
    assert [join_words("abc"[:n]) for n in range(4)] == ["none", "a", "a and b", "a, b and c"]
    assert join_words(["x", "y"], "or") == "x or y"


def test_a_metric_of_several_words_is_abbreviated_to_its_initials() -> None:
    assert [initials(item) for item in ("performance_maintenance", "bwt")] == ["PM", "bwt"]
