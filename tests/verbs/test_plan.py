"""Plan: contradictory arguments that it refuses, and its defaults."""

from __future__ import annotations

from typing import Any

import pytest
from tests.stats.test_null_comparisons import BOUNDS, SIX, Learner

import perdure


@pytest.mark.parametrize("more", [{"k": 1.0}, {"expert_sd": 1.0}])
def test_an_effect_in_a_metric_s_unit_has_its_own_spread_and_experts(more: dict[str, Any]) -> None:
    with pytest.raises(perdure.PerdureError, match="has a spread and experts of its own; give `detect`, or k"):
        perdure.plan(detect={"performance_maintenance": 5.0}, **more)


def test_metrics_with_experts_default_to_three_tasks_of_five_experts() -> None:
    assert perdure.plan(expert_sd=1.0) == perdure.plan(1.0, expert_sd=1.0, tasks=3, experts_per_task=5)
    assert perdure.plan(expert_sd=1.0).exact != perdure.plan(expert_sd=1.0, tasks=4).exact


def test_experts_are_no_part_of_a_plan_for_two_learners() -> None:
    with pytest.raises(perdure.PerdureError, match="leave out `expert_sd` or `compare`"):
        perdure.plan(compare="unpaired", expert_sd=1.0)


@pytest.mark.parametrize("learners", ["A", "AB"])
def test_two_learners_are_planned_by_the_six_metrics_of_their_comparison(learners: str) -> None:
    pilot = [
        lifetime for at, name in enumerate(learners) for lifetime in Learner().lifetimes(name, 4, at, first=4 * at)
    ]
    plan = perdure.plan(
        pilot=pilot, compare="unpaired", bounds=BOUNDS, detect={"final_performance": 5.0, "learning_speed": 1.25}
    )
    assert set(plan.metrics) == set(SIX)
    assert [name for name, metric in plan.metrics.items() if metric.lifetimes] == [
        "final_performance",
        "learning_speed",
    ]
    assert all(metric.sees for metric in plan.metrics.values())
