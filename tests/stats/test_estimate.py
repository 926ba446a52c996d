"""What a group comes to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.stats.lives import BARS, life, lives, normal

from perdure.errors import PerdureError
from perdure.metrics.declare import Threshold
from perdure.metrics.measure import Flag
from perdure.results import to_plain
from perdure.stats.decide import estimates
from perdure.stats.model import Estimate, Flagged

ZERO = Threshold(0.0, headline="log")


PM = "performance_maintenance"


def estimate(values: Sequence[float], bar: Threshold = ZERO, **how: Any) -> Estimate:
    return estimates(lives([float(one) for one in values]), {PM: bar}, **how)[PM]


def test_an_estimate_is_the_t_interval_of_the_mean() -> None:
    one = estimate([1.0, 2.0, 3.0, 4.0])
    # t(.975, 3) = 3.18245, sd = 1.29099, √4 = 2
    assert (one.mean, one.sd, one.median) == pytest.approx((2.5, 1.2909944, 2.5))
    assert (one.low, one.high) == pytest.approx((2.5 - 2.0542, 2.5 + 2.0542), abs=1e-4)


def test_one_lifetime_has_a_mean_and_nothing_else() -> None:
    one = estimate([3.0])
    assert (one.n, one.mean, one.sd, one.low, one.iqm) == (1, 3.0, None, None, None)


def test_two_lifetimes_have_values_only() -> None:
    one = estimate([1.0, 3.0])
    assert (one.mean, one.low, one.p, one.verdict) == (2.0, None, None, "undecided")


def test_lifetimes_that_agree_up_to_rounding_have_sd_0() -> None:
    one = estimate([0.1 + 0.2, 0.3, 0.3])
    assert (one.sd, one.t, one.verdict) == (0.0, None, "met")
    assert one.low == one.high == pytest.approx(0.3)


def test_the_interquartile_mean_comes_with_ten_lifetimes_not_before() -> None:
    assert estimate(normal(0, 1, 9)).iqm is None
    one = estimate(normal(0, 1, 10))
    assert one.iqm is not None
    assert one.iqm.low is not None
    assert one.iqm.high is not None
    assert one.iqm.low <= one.iqm.value <= one.iqm.high


def test_the_bootstrap_is_the_same_for_the_same_seed_whatever_else_is_estimated() -> None:
    values = normal(0, 1, 12)
    alone = estimate(values, seed=3)
    estimate(normal(5, 1, 12), seed=3)
    again = estimate(values, seed=3)
    assert alone.iqm == again.iqm
    assert alone.iqm != estimate(values, seed=4).iqm


def test_all_undefined_is_said_with_the_commonest_reason() -> None:
    group = [life("a", values={"forward_transfer": None}, why={"forward_transfer": "needs an expert"}) for _ in "ab"]
    one = estimates(group, {"forward_transfer": Threshold(1.0, headline="log")})["forward_transfer"]
    assert (one.n, one.missing, one.mean, one.verdict) == (0, 2, None, "undecided")
    assert one.why == "no lifetime has a value; 2 of 2 lifetimes have no value: needs an expert"


def test_a_missing_value_is_counted_and_left_out_of_the_mean() -> None:
    one = estimates(lives([1.0, None, 3.0]), BARS)["performance_maintenance"]
    assert (one.n, one.missing, one.mean) == (2, 1, 2.0)


def test_a_value_that_is_not_finite_is_refused() -> None:
    with pytest.raises(PerdureError, match="not finite"):
        estimate([1.0, np.nan])


def test_json_holds_every_key_of_the_contract_and_no_nan() -> None:
    facts = to_plain(estimate([1.0, 1.0, 1.0]))
    wanted = {"mean", "sd", "low", "high", "level", "t", "p", "tails", "against", "above", "sign_p", "word", "why"}
    assert wanted <= facts.keys()
    json.dumps(facts, allow_nan=False)


@given(st.lists(st.one_of(st.integers(-3, 3), st.floats(-1e9, 1e9)), max_size=30), st.floats(-5, 5), st.floats(0, 5))
def test_whatever_the_values_every_number_is_finite_and_nothing_warns(
    values: list[float], threshold: float, margin: float
) -> None:
    one = estimate(values, Threshold(threshold, margin, headline="log", margin_given=True), resamples=50)
    json.dumps(to_plain(one), allow_nan=False)
    assert one.verdict in ("met", "not met", "undecided")
    if one.low is not None and one.high is not None and one.mean is not None:
        assert one.low <= one.mean <= one.high


def test_flags_travel_with_how_many_lifetimes_carry_them() -> None:
    given = [
        replace(one, metrics={"m": replace(one.metrics["m"], flags=(Flag.of_some("relearned", 2, 3),) if at else ())})
        for at, one in enumerate(lives([1.0, 2.0, 3.0], "m"))
    ]
    one = estimates(given, {"m": Threshold()})["m"]
    assert one.flags == (Flagged("relearned", 2),)
    assert json.loads(json.dumps(to_plain(one)))["flags"] == [{"flag": "relearned", "n": 2}]


def test_the_interquartile_mean_of_ratios_is_of_logarithms() -> None:
    values = [float(np.exp(one)) for one in normal(0.1, 0.2, 12)]
    ratio = Threshold(1.0, headline="log", scale="log")
    one = estimates(lives(values, "forward_transfer"), {"forward_transfer": ratio})["forward_transfer"]
    turned = estimates(lives([1 / one for one in values], "forward_transfer"), {"forward_transfer": ratio})[
        "forward_transfer"
    ]
    assert one.iqm is not None
    assert turned.iqm is not None
    assert one.iqm.value == pytest.approx(1 / turned.iqm.value)


def test_keeping_beside_harm_is_remarked_on() -> None:
    bars = {
        "performance_maintenance": Threshold(0.0, margin=5.0, headline="log"),
        "backward_transfer": Threshold(1.0, scale="log", headline="log"),
    }

    def group(transfer: float) -> dict[str, Estimate]:
        values = [
            {"performance_maintenance": -1 + at / 10, "backward_transfer": transfer + at / 100} for at in range(6)
        ]
        return estimates([life(f"life-{at}", values=one) for at, one in enumerate(values)], bars)

    assert group(0.9)["backward_transfer"].word == "harms"
    assert any("has no margin" in note for note in group(0.9)["backward_transfer"].notes)
    assert not any("has no margin" in note for note in group(1.2)["backward_transfer"].notes)
