"""The rule for the number of lifetimes: the number in the paper, and the law behind it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri  # type: ignore[import-untyped]

from perdure.errors import PerdureError
from perdure.sample_size import lifetimes_by_rule

RATES = st.floats(1e-4, 0.45)


def power_reached(n: int, k: float, alpha: float) -> float:
    """Return the power of a two-sided test with known sd, without the far tail, as in the paper."""
    return float(ndtr(k * math.sqrt(n) + ndtri(alpha / 2)))


def test_the_rule_gives_the_eleven_lifetimes_of_the_paper() -> None:
    assert lifetimes_by_rule(1) == lifetimes_by_rule(1, 0.05, 0.1) == 11  # Baker et al. 2023, App. D


@given(st.floats(0.05, 5), RATES, RATES)
def test_the_rule_gives_the_smallest_number_that_reaches_the_power(k: float, alpha: float, beta: float) -> None:
    n = lifetimes_by_rule(k, alpha, beta)
    assert power_reached(n, k, alpha) >= 1 - beta - 1e-9
    assert n == 1 or power_reached(n - 1, k, alpha) < 1 - beta + 1e-9


@given(st.integers(1, 5000), RATES, RATES)
def test_the_smallest_effect_that_n_lifetimes_detect_needs_n(n: int, alpha: float, beta: float) -> None:
    k = -(ndtri(alpha / 2) + ndtri(beta)) / math.sqrt(n)
    assert lifetimes_by_rule(k, alpha, beta) == n
    assert lifetimes_by_rule(k, alpha, beta, unpaired=True) == 2 * n


@pytest.mark.parametrize(
    ("k", "alpha", "beta", "message"),
    [
        (0, 0.05, 0.1, "k is 0"),
        (1, 0, 0.1, "alpha is 0"),
        (1, 0.05, 1, "beta is 1"),
        (1, 0.6, 0.5, "choose smaller ones"),
    ],
)
def test_an_invalid_argument_is_refused_with_a_message(k: float, alpha: float, beta: float, message: str) -> None:
    with pytest.raises(PerdureError, match=message):
        lifetimes_by_rule(k, alpha, beta)
