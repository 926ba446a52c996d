"""Plan: contradictory arguments that it refuses, and its defaults."""

from __future__ import annotations

from typing import Any

import pytest

import perdure


@pytest.mark.parametrize("more", [{"k": 1.0}, {"expert_sd": 1.0}])
def test_an_effect_in_a_metric_s_unit_has_its_own_spread_and_experts(more: dict[str, Any]) -> None:
    with pytest.raises(perdure.PerdureError, match="has a spread and experts of its own; give `detect`, or k"):
        perdure.plan(detect={"performance_maintenance": 5.0}, **more)


def test_metrics_with_experts_default_to_three_tasks_of_five_experts() -> None:
    assert perdure.plan(expert_sd=1.0) == perdure.plan(1.0, expert_sd=1.0, tasks=3, experts_per_task=5)
    assert perdure.plan(expert_sd=1.0).exact != perdure.plan(expert_sd=1.0, tasks=4).exact
