"""Plans: the rule and the number that decides, two learners, lives × experts, the cost, the picture."""

from __future__ import annotations

import json

import polars as pl
import pytest
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.scenario.model import Block, Scenario
from perdure.simulate import IdealLearner, lifetime
from perdure.stats.plan import cost_of, make_plan, seconds_per_experience
from perdure.stats.power import Design, ExpertSample


def test_the_plan_of_the_paper() -> None:
    facts = make_plan(1.0).as_json()
    assert (facts["rule"], facts["exact"], facts["after_holm"]) == (11, 13, None)
    assert facts["power_at"] == {"lifetimes": 11, "power": pytest.approx(0.848, abs=5e-4)}
    json.dumps(facts, allow_nan=False)


def test_a_given_number_of_lifetimes_is_asked_what_it_can_see() -> None:
    assert make_plan(lifetimes=5).power_at.lifetimes == 5
    with pytest.raises(PerdureError, match="no spread"):
        make_plan(lifetimes=1)


def test_the_curve_reaches_beyond_what_is_needed() -> None:
    for k in (0.2, 1.0, 4.0):
        made = make_plan(k)
        counts = [at.lifetimes for at in made.curve]
        assert counts == sorted(set(counts))
        assert counts[0] == 2
        assert counts[-1] > (made.exact or 0)
        assert len(counts) <= 40


def test_two_learners_need_more_and_most_where_one_metric_of_five_differs() -> None:
    alone, paired, apart = make_plan(), make_plan(design=Design("paired")), make_plan(design=Design("unpaired"))
    assert (paired.rule, paired.exact) == (alone.rule, alone.exact)  # in sd of differences
    assert (apart.rule, apart.exact) == (22, 23)
    assert (paired.after_holm or 0) > (paired.exact or 0)
    assert (apart.after_holm or 0) > (apart.exact or 0)


def test_experts_beside_are_a_second_dial() -> None:
    made = make_plan(design=Design(experts=ExpertSample(5, 3, 1.0)))
    assert made.grid is not None
    assert made.exact == made.grid.needed[made.grid.experts.index(5)]
    assert make_plan(design=Design(experts=ExpertSample(3, 3, 1.0))).exact is None
    json.dumps(made.as_json(), allow_nan=False)
    with pytest.raises(PerdureError, match="give positive numbers for both"):
        make_plan(design=Design(experts=ExpertSample(5, 3, 0.0)))


def test_machines_share_the_work_but_not_one_life() -> None:
    lives, experts = [1_000] * 11, [300] * 3
    cost = cost_of(lives, experts, 0.5, machines=4)
    assert (cost.experiences, cost.seconds, cost.wall_seconds) == (11_900, 5_950.0, 1_487.5)
    assert cost_of(lives, experts, 0.5, 100).wall_seconds == 500.0
    assert cost_of(lives, experts, 0.5, 1).wall_seconds == cost.seconds
    assert cost_of([10], [], None).wall_seconds is None


def test_seconds_per_experience_come_from_timestamps() -> None:
    scenario = Scenario.of("s", [Block("learn", "a", 5)])
    lived = lifetime(IdealLearner(), scenario)
    assert seconds_per_experience([lived]) is None
    stamps = [f"20240101T00000{second}.000000" for second in range(0, 10, 2)]
    timed = replace(lived, experiences=lived.experiences.with_columns(pl.Series("timestamp", stamps)))
    assert seconds_per_experience([timed, lived]) == pytest.approx(2.0)


def test_a_plan_is_never_for_fewer_than_the_two_lifetimes_that_a_spread_needs() -> None:
    made = make_plan(5.0)
    assert made.rule == 1
    assert made.power_at.lifetimes == 2
