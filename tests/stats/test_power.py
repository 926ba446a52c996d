"""How many lifetimes, against the project's outside numbers and against simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from perdure.errors import PerdureError
from perdure.stats.power import curve, lifetimes_exact, lifetimes_normal, power, rejection_rate


@pytest.mark.parametrize(
    ("k", "alpha", "beta", "rule", "exact"),
    [
        (1, 0.05, 0.1, 11, 13),
        (0.5, 0.05, 0.1, 43, 44),
        (0.75, 0.05, 0.1, 19, 21),
        (1.5, 0.05, 0.1, 5, 7),
        (1, 0.05, 0.2, 8, 10),
        (1, 0.01, 0.1, 15, 19),
    ],
)
def test_the_papers_rule_and_the_exact_answer(k: float, alpha: float, beta: float, rule: int, exact: int) -> None:
    assert (lifetimes_normal(k, alpha, beta), lifetimes_exact(k, alpha, beta, "two")) == (rule, exact)


def test_eleven_lifetimes_reach_less_than_the_paper_hopes() -> None:
    assert power(11, 1, 0.05, "two") == pytest.approx(0.848, abs=5e-4)
    assert power(13, 1, 0.05, "two") == pytest.approx(0.911, abs=5e-4)
    assert power(11, 1, 0.05, "one") == pytest.approx(0.924, abs=5e-4)
    assert lifetimes_exact(1, 0.05, 0.1, "one") == 11


@pytest.mark.parametrize("sides", ["one", "two"])
@pytest.mark.parametrize("k", [0.1, 0.3, 1, 3])
def test_the_exact_answer_is_the_first_that_reaches_the_power(k: float, sides: str) -> None:
    found = lifetimes_exact(k, 0.05, 0.1, sides)  # type: ignore[arg-type]
    assert power(found, k, 0.05, sides) >= 0.9  # type: ignore[arg-type]
    assert found == 2 or power(found - 1, k, 0.05, sides) < 0.9  # type: ignore[arg-type]


def test_power_rises_with_lifetimes_and_effect() -> None:
    points = curve(0.8, 0.05, range(2, 40))
    assert all(a.two_sided < b.two_sided and a.one_sided < b.one_sided for a, b in itertools.pairwise(points))
    assert all(one.two_sided < one.one_sided for one in points)
    assert power(10, 0.0, 0.05, "two") == pytest.approx(0.05)


def test_one_lifetime_has_no_power() -> None:
    assert power(1, 5.0) == 0.0


def test_predicted_power_is_what_normal_groups_show() -> None:
    rng = np.random.default_rng(1)
    pilot = rng.normal(1.0, 1.0, 200_000)
    assert rejection_rate(pilot, 0.0, 11, rng) == pytest.approx(power(11, 1, 0.05, "one"), abs=0.01)


def test_the_test_errs_as_often_as_it_says_where_the_threshold_is_the_truth() -> None:
    rng = np.random.default_rng(2)
    assert rejection_rate(rng.normal(5.0, 2.0, 200_000), 5.0, 11, rng) == pytest.approx(0.05, abs=0.006)


def test_a_skewed_pilot_shows_the_real_error_rate() -> None:
    rng = np.random.default_rng(3)
    skewed = rng.exponential(size=100_000)
    assert rejection_rate(skewed, 1.0, 11, rng) < 0.03  # long to the right: "greater" is too shy
    assert rejection_rate(-skewed, -1.0, 11, rng) > 0.07  # and too bold on the other side


def test_a_pilot_is_redrawn_the_same_for_the_same_seed() -> None:
    pilot = np.random.default_rng(0).normal(size=20)
    assert rejection_rate(pilot, -0.5, 8, np.random.default_rng(7)) == rejection_rate(
        pilot, -0.5, 8, np.random.default_rng(7)
    )


def test_a_lower_is_better_metric_is_tested_on_its_own_side() -> None:
    pilot = np.random.default_rng(0).normal(-2.0, 1.0, 50)
    assert rejection_rate(pilot, 0.0, 11, np.random.default_rng(1), sign=-1.0) > 0.99


@pytest.mark.parametrize(
    ("k", "alpha", "beta", "said"),
    [(0, 0.05, 0.1, "k is 0"), (1, 0, 0.1, "alpha is 0"), (1, 0.05, 1, "beta is 1"), (1, 0.6, 0.5, "knows nothing")],
)
def test_nonsense_is_refused_in_words(k: float, alpha: float, beta: float, said: str) -> None:
    with pytest.raises(PerdureError, match=said):
        lifetimes_normal(k, alpha, beta)
    with pytest.raises(PerdureError, match=said):
        lifetimes_exact(k, alpha, beta)


def test_an_effect_too_small_for_anyone_is_refused() -> None:
    with pytest.raises(PerdureError, match="more than"):
        lifetimes_exact(1e-5)


def test_a_pilot_of_one_is_refused() -> None:
    with pytest.raises(PerdureError, match="two of both"):
        rejection_rate(np.array([1.0]), 0.0, 11, np.random.default_rng(0))


@pytest.mark.parametrize("lifetimes", [2, 3, 5, 11, 64, 1000, 100_000])
@pytest.mark.parametrize("k", [0.0005, 0.1, 1, 3, 10, 100])
def test_power_is_a_probability_however_large_the_effect(lifetimes: int, k: float) -> None:
    one, two = power(lifetimes, k, 0.05, "one"), power(lifetimes, k, 0.05, "two")
    assert 0.05 - 1e-6 <= two <= one + 1e-9 <= 1 + 1e-9
