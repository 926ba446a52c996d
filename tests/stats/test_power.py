"""How many lifetimes, against the project's outside numbers and against simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from perdure.errors import PerdureError
from perdure.sample_size import lifetimes_by_rule
from perdure.stats.model import Tails
from perdure.stats.power import (
    Design,
    ExpertSample,
    Question,
    lifetimes_exact,
    needed,
    power,
    power_grid,
    redrawn_power,
)

TAILS: tuple[Tails, ...] = ("one", "two")


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
    assert (lifetimes_by_rule(k, alpha, beta), lifetimes_exact(k, Design(alpha=alpha, beta=beta))) == (rule, exact)


def test_eleven_lifetimes_reach_less_than_the_paper_hopes() -> None:
    assert power(11, 1) == pytest.approx(0.848, abs=5e-4)
    assert power(13, 1) == pytest.approx(0.911, abs=5e-4)
    assert power(11, 1, Design(tails="one")) == pytest.approx(0.924, abs=5e-4)
    assert lifetimes_exact(1, Design(tails="one")) == 11


@pytest.mark.parametrize("k", [0.2, 0.5, 1.0])
def test_two_unpaired_learners_have_the_power_of_the_two_sample_t_test(k: float) -> None:
    from scipy.stats import nct, t  # type: ignore[import-untyped]

    for each in (5, 23, 90):
        freedom, shift = 2 * each - 2, k * np.sqrt(each / 2)  # as textbooks have it
        edge = t.ppf(0.975, freedom)
        book = nct.sf(edge, freedom, shift) + nct.cdf(-edge, freedom, shift)
        assert power(each, k, Design("unpaired")) == pytest.approx(float(book), abs=1e-9)


@pytest.mark.parametrize("lifetimes", [3, 4, 11, 31])
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6])
def test_a_loss_is_as_easy_to_see_as_a_lead_of_its_size(lifetimes: int, alpha: float) -> None:
    """SciPy's distribution is not known at some large effects; most of these are negative."""
    for effect in np.arange(0.05, 8, 0.05):
        loss, lead = (power(lifetimes, k, Design("paired", alpha)) for k in (-effect, effect))
        assert loss == pytest.approx(lead, abs=1e-9)
        chance = power(lifetimes, -effect, Design("paired", alpha, tails="one"))
        assert 0 <= chance < alpha


@pytest.mark.parametrize("tails", ["one", "two"])
@pytest.mark.parametrize("question", ["threshold", "paired", "unpaired"])
@pytest.mark.parametrize("k", [0.1, 0.3, 1, 3])
def test_the_exact_answer_is_the_first_that_reaches_the_power(k: float, tails: Tails, question: Question) -> None:
    design = Design(question, tails=tails)
    found = lifetimes_exact(k, design)
    assert found is not None
    assert power(found, k, design) >= 0.9
    least = {"two": 3, "one": 2}[tails]
    assert found == least or power(found - 1, k, design) < 0.9


def test_power_rises_with_lifetimes_and_effect() -> None:
    for tails in TAILS:
        points = [power(n, 0.8, Design(tails=tails)) for n in range(2, 40)]
        assert all(a < b for a, b in itertools.pairwise(points))
    assert power(10, 0.0) == pytest.approx(0.05)


def test_one_lifetime_has_no_power() -> None:
    assert power(1, 5.0) == 0.0


@pytest.mark.parametrize("question", ["threshold", "unpaired"])
def test_predicted_power_is_what_normal_groups_show(question: Question) -> None:
    rng = np.random.default_rng(1)
    many = rng.normal(3.0, 1.0, 200_000)
    sides = [many] if question == "threshold" else [many, many]
    found = redrawn_power(sides, 1.0, 11, rng)
    assert found == pytest.approx(power(11, 1, Design(question)), abs=0.012)


@pytest.mark.parametrize("each", [5, 10])
@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_predicted_power_beside_experts_is_what_groups_show(each: int, spread: float) -> None:
    rng = np.random.default_rng(1)
    many = rng.normal(size=200_000)
    for lifetimes in (11, 30):
        found = redrawn_power([many], 1.0, lifetimes, rng, experts=[(spread / 3, each)] * 3)
        assert found == pytest.approx(power(lifetimes, 1, Design(experts=ExpertSample(each, 3, spread))), abs=0.025)


def test_more_lifetimes_do_not_help_where_experts_are_few() -> None:
    made = power_grid(1.0, Design(experts=ExpertSample(5, 3, 1.0)))
    assert made is not None
    assert made.experts == (3, 5, 10, 20)
    for at, wanted in enumerate(made.needed):
        column = [row[at] for row in made.power]
        assert all(a < b + 1e-12 for a, b in itertools.pairwise(column))
        assert column[-1] <= made.ceiling[at] + 1e-9
        assert (wanted is None) == (made.ceiling[at] < 0.9)
    assert made.needed[0] is None
    assert all(a <= b for row in made.power for a, b in itertools.pairwise(row))
    assert power(1000, 5.0, Design(experts=ExpertSample(2, 3, 0.1))) == 0.0  # fewer than three decide nothing


def test_experts_that_hardly_differ_cost_nothing() -> None:
    assert lifetimes_exact(1, Design(experts=ExpertSample(5, 3, 1e-6))) == lifetimes_exact(1) == 13


def test_the_test_errs_as_often_as_it_says_where_there_is_no_effect() -> None:
    rng = np.random.default_rng(2)
    many = rng.normal(5.0, 2.0, 200_000)
    assert redrawn_power([many], 0.0, 11, rng) == pytest.approx(0.025, abs=0.005)
    assert redrawn_power([many], 0.0, 11, rng, tails="one") == pytest.approx(0.05, abs=0.007)


def test_skewed_values_show_the_real_error_rate() -> None:
    rng = np.random.default_rng(3)
    skewed = rng.exponential(size=100_000)
    assert redrawn_power([skewed], 0.0, 11, rng) < 0.015  # long to the right: "met" is too shy
    assert redrawn_power([-skewed], 0.0, 11, rng) > 0.04  # and too bold on the other side


def test_values_are_redrawn_the_same_for_the_same_seed() -> None:
    values = np.random.default_rng(0).normal(size=20)
    found = [redrawn_power([values], 0.5, 8, np.random.default_rng(7)) for _ in range(2)]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("k", "alpha", "beta", "said"),
    [
        (0, 0.05, 0.1, "k is 0"),
        (1, 0, 0.1, "alpha is 0"),
        (1, 0.05, 1, "beta is 1"),
        (1, 0.6, 0.5, "choose smaller ones"),
    ],
)
def test_nonsense_is_refused_in_words(k: float, alpha: float, beta: float, said: str) -> None:
    with pytest.raises(PerdureError, match=said):
        lifetimes_exact(k, Design(alpha=alpha, beta=beta))


def test_an_effect_too_small_for_anyone_is_refused() -> None:
    with pytest.raises(PerdureError, match="more than"):
        lifetimes_exact(1e-5)


def test_a_pilot_of_one_is_refused() -> None:
    with pytest.raises(PerdureError, match="have no spread; give two or more of both"):
        redrawn_power([np.array([1.0])], 1.0, 11, np.random.default_rng(0))


@pytest.mark.parametrize("first", [3, 4, 17, 1000])
def test_the_search_finds_the_first_number_that_reaches(first: int) -> None:
    assert needed(lambda count: count >= first) == first
    assert needed(lambda count: count >= first + 1, most=first) is None


@pytest.mark.parametrize("lifetimes", [2, 3, 5, 11, 64, 1000, 100_000])
@pytest.mark.parametrize("k", [0.0005, 0.1, 1, 3, 10, 100])
def test_power_is_a_probability_however_large_the_effect(lifetimes: int, k: float) -> None:
    one, two = power(lifetimes, k, Design(tails="one")), power(lifetimes, k)
    assert 0.05 - 1e-6 <= two <= one + 1e-9 <= 1 + 1e-9
    assert 0 <= power(lifetimes, k, Design(experts=ExpertSample(3, 2, 1.0))) <= 1 + 1e-9
