"""Metrics of other papers that hold a matrix against experts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.metrics.matrices import lifetime

from perdure.curves.model import Preparation
from perdure.curves.prepare import curves
from perdure.log.model import Lifetime
from perdure.metrics.declare import METRICS
from perdure.metrics.measure import measure


def expert(values: Sequence[float], task: str = "a") -> Lifetime:
    return lifetime([("learn", task, values)])


def test_forward_transfer_is_the_share_of_the_room_above_the_expert() -> None:
    # Means over the first four: learner 0.7, expert 0.4; (0.7 − 0.4)/(1 − 0.4).
    own = lifetime([("learn", "a", [0.4, 0.6]), ("evaluate", "a", [0.0]), ("learn", "a", [0.8, 1.0])])
    for prep in (Preparation(), Preparation(scale="none"), Preparation(scale="run")):
        prepared = curves(own, prep, [expert([0.1, 0.3, 0.5, 0.7, 1.0, 1.0])])
        assert measure(METRICS.get("cw_forward_transfer"), prepared).value == pytest.approx(0.5)


def test_forward_transfer_reads_given_bounds_as_zero_and_one() -> None:
    own = lifetime([("learn", "a", [40.0, 60.0, 80.0, 100.0])])
    transfer = METRICS.get("cw_forward_transfer")
    other = [expert([10.0, 30.0, 50.0, 70.0])]
    assert "between 0 and 1" in (measure(transfer, curves(own, Preparation(named_bounds=False), other)).why or "")
    bounded = curves(own, Preparation(bounds={"a": (0.0, 100.0)}), other)
    assert measure(transfer, bounded).value == pytest.approx(0.5)


def test_forward_transfer_averages_experts_before_tasks_and_needs_room() -> None:
    own = lifetime([("learn", "a", [0.5, 0.5]), ("learn", "b", [0.5, 0.5])])
    transfer = METRICS.get("cw_forward_transfer")
    others = [expert([0.0, 0.0]), expert([0.5, 0.5]), expert([0.0, 0.0], "b")]
    assert measure(transfer, curves(own, Preparation(), others)).value == pytest.approx((0.25 + 0.5) / 2)
    perfect = measure(transfer, curves(own, Preparation(), [expert([1.0, 1.0])]))
    assert "leaves no room" in (perfect.why or "")
