"""Rank correlations between metrics."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped]
from tests.stats.lives import life

from perdure.errors import PerdureError
from perdure.metrics.score import Score
from perdure.stats.correlate import correlate, spearman_p


@pytest.mark.parametrize(("rho", "p"), [(0.33, 0.0028), (-0.25, 0.025), (0.45, 2.8e-5), (0.36, 0.0010)])
def test_80_lifetimes_give_the_p_values_of_table_15(rho: float, p: float) -> None:
    # Baker et al. 2023, Table 15; p from the project's outside numbers
    assert spearman_p(rho, 80) == pytest.approx(p, rel=0.05)


def made(n: int = 30) -> list[Score]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    y, z = x + rng.normal(size=n), rng.normal(size=n)
    return [
        life(f"{at}", values={"x": float(a), "y": float(b), "z": None if at < 5 else float(c), "flat": 1.0})
        for at, (a, b, c) in enumerate(zip(x, y, z, strict=True))
    ]


def test_rho_and_p_are_scipys_over_the_lives_that_have_both() -> None:
    lives = made()
    found = {(one.first, one.second): one for one in correlate(lives, ["x", "y", "z"])}
    assert list(found) == [("x", "y"), ("x", "z"), ("y", "z")]
    theirs = stats.spearmanr([one.values["x"] for one in lives], [one.values["y"] for one in lives])
    assert (found["x", "y"].rho, found["x", "y"].p) == pytest.approx((theirs.statistic, theirs.pvalue))
    assert found["x", "z"].n == 25


def test_holm_runs_over_the_pairs() -> None:
    found = correlate(made(), ["x", "y", "z"])
    assert all((one.p_holm or 0) >= (one.p or 0) for one in found)


def test_a_constant_metric_has_no_correlation_and_says_so() -> None:
    (one,) = correlate(made(), ["x", "flat"])
    assert (one.rho, one.p, one.why) == (None, None, "flat is the same in all lifetimes that have both")


def test_too_few_lives_have_no_correlation() -> None:
    (one,) = correlate(made(2), ["x", "y"])
    assert one.why == "both in 2 lifetimes; a correlation needs 3"
    with pytest.raises(PerdureError, match="three or more"):
        spearman_p(0.5, 2)


@pytest.mark.parametrize("n", [3, 4, 5, 7])
def test_the_p_of_few_lifetimes_is_a_share_of_all_orders(n: int) -> None:
    lives = [life(f"{at}", values={"x": float(at), "y": float(at**3)}) for at in range(n)]
    (one,) = correlate(lives, ["x", "y"])
    assert one.p == pytest.approx(2 / math.factorial(n))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=4, max_size=5))
def test_ties_do_not_make_few_lifetimes_surer_than_all_their_orders(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    if len(set(first)) == 1 or len(set(second)) == 1:
        return
    lives = [life(f"{at}", values={"x": float(a), "y": float(b)}) for at, (a, b) in enumerate(pairs)]
    (one,) = correlate(lives, ["x", "y"])
    rho = [abs(stats.spearmanr(first, order).statistic) for order in permutations(second)]
    found = abs(stats.spearmanr(first, second).statistic)
    assert one.p == pytest.approx(np.mean([each >= found - 1e-9 for each in rho]))


def test_a_perfect_order_is_1_with_the_p_of_one_order_and_its_mirror() -> None:
    lives = [life(f"{at}", values={"x": float(at), "y": float(at**3)}) for at in range(6)]
    (one,) = correlate(lives, ["x", "y"])
    assert (one.rho, one.p) == (1.0, 2 / math.factorial(6))
