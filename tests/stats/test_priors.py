"""What a plan takes where there is no pilot, and what follows from it."""

from __future__ import annotations

import math

import pytest

import perdure
from perdure.errors import PerdureError
from perdure.metrics.declare import METRICS
from perdure.metrics.presets import headline
from perdure.stats.pilot import PRIORS, prior_metrics
from perdure.stats.power import lifetimes_exact


def test_every_headline_metric_of_a_log_has_a_prior() -> None:
    assert set(PRIORS) == set(headline())


def test_a_metric_has_a_prior_of_experts_where_it_is_held_against_them() -> None:
    assert {name for name, one in PRIORS.items() if one.experts} == {
        name for name in PRIORS if METRICS.get(name).expert
    }


@pytest.mark.parametrize("name", sorted(PRIORS))
def test_noisier_kinds_of_lives_need_more(name: str) -> None:
    found = prior_metrics({name: 5 if PRIORS[name].scale == "linear" else 1.5}, 11, each=20)[name]
    assert found.plain is not None
    assert found.upper is None or found.plain < found.upper
    assert found.power_upper is not None
    assert found.power_plain is not None
    assert found.power_upper < found.power_plain


def test_the_number_is_that_of_the_same_effect_in_standard_deviations() -> None:
    sd = PRIORS["forward_transfer"].lives[0]
    found = perdure.plan(detect={"forward_transfer": 1.2}).metrics["forward_transfer"]
    assert found.plain == lifetimes_exact(math.log(1.2) / sd)


def test_pairs_are_planned_by_how_differences_differ() -> None:
    found = perdure.plan(detect={"PM": 5}, compare="paired").metrics["performance_maintenance"]
    assert (found.sd, found.sd_upper) == PRIORS["performance_maintenance"].pairs
    assert found.against is None


def test_what_so_many_lifetimes_see_they_do_see() -> None:
    found = prior_metrics({"backward_transfer": 2.0}, 11)["backward_transfer"]
    assert found.sees is not None
    again = prior_metrics({"backward_transfer": found.sees}, 11)["backward_transfer"]
    assert again.power_upper == pytest.approx(0.9, abs=0.005)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"bwt": 3.0}, "no prior spread of this metric is known"),
        ({"RP": 0.9}, "a factor above 1"),
        ({"PM": -1.0}, "positive"),
    ],
)
def test_what_cannot_be_planned_is_said(asked: dict[str, float], said: str) -> None:
    with pytest.raises(PerdureError, match=said):
        perdure.plan(detect=asked)


def test_gains_over_own_experts_have_no_prior_for_two_learners() -> None:
    with pytest.raises(PerdureError, match="or choose performance_maintenance, forward_transfer or backward_transfer"):
        perdure.plan(detect={"RP": 1.2}, compare="paired")


def test_an_effect_is_given_once() -> None:
    with pytest.raises(PerdureError, match="give `detect`, or k"):
        perdure.plan(1.0, detect={"PM": 5})
