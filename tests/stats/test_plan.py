"""Plans: the rule, a pilot's say, the cost, the picture."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
from tests.stats.lives import lives, normal

from perdure.errors import PerdureError
from perdure.metrics.declare import Bar
from perdure.scenario.model import Block, Scenario
from perdure.simulate import IdealLearner, lifetime
from perdure.stats.pace import seconds_per_experience
from perdure.stats.plan import Cost, make_plan, pilot_metrics, spread_known
from perdure.stats.power_picture import bars, power_svg


def test_the_plan_of_the_paper() -> None:
    facts = make_plan(1.0, 0.05, 0.1).as_json()
    assert (facts["lifetimes"], facts["exact_two_sided"], facts["exact_one_sided"]) == (11, 13, 11)
    assert facts["power_at"]["lifetimes"] == 11
    assert facts["power_at"]["two_sided"] == pytest.approx(0.848, abs=5e-4)
    json.dumps(facts, allow_nan=False)


def test_a_given_number_of_lifetimes_is_asked_what_it_can_see() -> None:
    assert make_plan(lifetimes=5).power_at.lifetimes == 5
    with pytest.raises(PerdureError, match="no spread"):
        make_plan(lifetimes=1)


def test_the_curve_reaches_beyond_what_is_needed() -> None:
    for k in (0.2, 1.0, 4.0):
        made = make_plan(k)
        counts = [point.lifetimes for point in made.curve]
        assert counts == sorted(set(counts))
        assert counts[0] == 2
        assert counts[-1] > made.exact_two_sided
        assert len(counts) <= 40


def test_a_pilots_spread_decides_per_metric() -> None:
    pilot = lives(normal(2.0, 2.0, 400))
    (one,) = pilot_metrics(pilot, {"performance_maintenance": Bar(0.0)}, 11).values()
    assert one.k == pytest.approx(1.0, abs=0.12)
    assert one.lifetimes in (9, 10, 11, 12, 13)
    seen = pilot_metrics(pilot, {"performance_maintenance": Bar(0.0)}, 11, detect={"performance_maintenance": 1.0})
    assert seen["performance_maintenance"].detect == 1.0
    assert (seen["performance_maintenance"].exact_one_sided or 0) > (one.exact_one_sided or 0)


def test_a_simulated_pilot_agrees_with_the_formula_where_values_are_normal() -> None:
    pilot = lives(normal(2.0, 2.0, 2000))
    (one,) = pilot_metrics(pilot, {"performance_maintenance": Bar(0.0)}, 11, simulate=True).values()
    assert one.simulated_power == pytest.approx(one.power, abs=0.03)
    assert one.simulated_error == pytest.approx(0.05, abs=0.015)


def test_a_pilot_below_the_threshold_needs_no_number() -> None:
    (one,) = pilot_metrics(lives(normal(-2.0, 1.0, 20)), {"performance_maintenance": Bar(0.0)}, 11).values()
    assert one.lifetimes is None
    assert one.why is not None
    assert "no number of lifetimes" in one.why


@pytest.mark.parametrize(
    ("values", "said"), [([1.0], "a spread needs two"), ([1.0, 1.0, 1.0], "no spread"), ([None, None], "0 of 2")]
)
def test_a_pilot_without_spread_says_so(values: list[float | None], said: str) -> None:
    (one,) = pilot_metrics(lives(values), {"performance_maintenance": Bar(0.0)}, 11).values()
    assert one.why is not None
    assert said in one.why


def test_an_unknown_metric_to_be_seen_is_refused() -> None:
    with pytest.raises(PerdureError, match="not among the pilot's metrics"):
        pilot_metrics(lives([1.0, 2.0]), {"performance_maintenance": Bar(0.0)}, 11, detect={"x": 1.0})


def test_machines_share_the_work_but_not_one_life() -> None:
    cost = Cost(11, 3, 11_000, 900, 0.5, machines=4, longest=1_000)
    assert (cost.experiences, cost.seconds, cost.wall_seconds) == (11_900, 5_950.0, 1_487.5)
    assert replace(cost, machines=100).wall_seconds == 500.0
    assert Cost(1, 0, 10, 0).wall_seconds is None


def test_seconds_per_experience_come_from_timestamps() -> None:
    scenario = Scenario.of("s", [Block("learn", "a", 5)])
    lived = lifetime(IdealLearner(), scenario)
    assert seconds_per_experience([lived]) is None
    stamps = [f"20240101T00000{second}.000000" for second in range(0, 10, 2)]
    timed = replace(lived, experiences=lived.experiences.with_columns(pl.Series("timestamp", stamps)))
    assert seconds_per_experience([timed, lived]) == pytest.approx(2.0)


def test_the_picture_is_well_formed_and_draws_both_curves() -> None:
    root = ET.fromstring(power_svg(make_plan()))
    assert root.tag.endswith("svg")
    assert sum(one.tag.endswith("polyline") for one in root.iter()) == 2


def test_bars_grow_with_power() -> None:
    assert bars(0.0).strip() == ""
    assert bars(1.0, 4) == "████"
    assert all(len(bars(float(p), 8)) == 8 for p in np.linspace(0, 1, 17))


def test_a_skewed_pilot_is_redrawn_and_a_normal_or_a_short_one_is_not() -> None:
    skewed = np.random.default_rng(1).exponential(size=200) - 0.5
    bars = {"performance_maintenance": Bar(0.0)}
    (one,) = pilot_metrics(lives([float(value) for value in skewed]), bars, 11).values()
    assert (one.power_by, one.simulated_power) == ("redrawn", None)
    assert one.skewness == pytest.approx(2.0, abs=0.8)
    assert one.simulated_error is not None
    (again,) = pilot_metrics(lives([float(value) for value in skewed]), bars, 11, simulate=True).values()
    assert again.power == again.simulated_power == one.power
    (few,) = pilot_metrics(lives([0.1, 0.1, 0.2, 0.2, 9.0]), bars, 11).values()
    (normally,) = pilot_metrics(lives(normal(1.0, 1.0, 200)), bars, 11).values()
    assert {few.power_by, normally.power_by} == {"normal"}


def test_redrawn_values_are_as_spread_as_those_they_were_drawn_from() -> None:
    # Eleven values redrawn as they are have the spread of 11 in place of 10; the power would be flattered.
    found = []
    for seed in range(60):
        (one,) = pilot_metrics(
            lives(normal(0.0, 1.0, 11, seed)),
            {"performance_maintenance": Bar(0.0)},
            11,
            simulate=True,
            detect={"performance_maintenance": 0.7},
        ).values()
        assert one.simulated_power is not None
        assert one.power is not None
        found.append(one.simulated_power - one.power)
    assert abs(float(np.mean(found))) < 0.01


@pytest.mark.parametrize("values", [[0.1, 0.2, -0.3], [0.0, 1e-4, -1e-4 + 1e-12]])
def test_a_metric_next_to_its_threshold_says_so_and_spares_the_others(values: list[float]) -> None:
    (one,) = pilot_metrics(lives(values), {"performance_maintenance": Bar(0.0)}, 11).values()
    assert one.lifetimes is None
    assert one.why is not None
    assert "no number of lifetimes" in one.why or "needs more than" in one.why


def test_the_spread_of_few_lifetimes_is_hardly_known() -> None:
    rng = np.random.default_rng(0)
    for n in (3, 11, 40):
        low, high = spread_known(n)
        seen = rng.normal(size=(4000, n)).std(axis=1, ddof=1)
        assert np.mean((low * seen <= 1) & (high * seen >= 1)) == pytest.approx(0.95, abs=0.015)
