"""Intervals cover, the test errs as often as it says, and the plan comes true: `bench/coverage.py`, made smaller."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "coverage.py"


@pytest.fixture(scope="module")
def trust() -> dict[str, object]:
    spec = spec_from_file_location("perdure_bench_coverage", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found = module.measured(groups=2000, size=11, truth_lives=60_000, resamples=100, pilots=0)
    return {one.metric: one for one in found}


@pytest.mark.parametrize("metric", ["performance_maintenance", "relative_performance"])
def test_a_nominal_95_percent_interval_covers_93_to_97(trust: dict[str, object], metric: str) -> None:
    assert 0.93 <= trust[metric].covered <= 0.97  # type: ignore[attr-defined]


# Relative performance is averaged as logarithms, which here are skewed to the left. Planning does not know that yet.
SKEWED = pytest.param(
    "relative_performance",
    marks=pytest.mark.xfail(reason="its logarithms are skewed: one tail rejects 6.8 %, power is 3.4 points off"),
)


@pytest.mark.parametrize("metric", ["performance_maintenance", "relative_performance"])
def test_the_deciding_interval_errs_in_about_5_percent(trust: dict[str, object], metric: str) -> None:
    assert 0.035 <= 1 - trust[metric].covered <= 0.065  # type: ignore[attr-defined]


@pytest.mark.parametrize("metric", ["performance_maintenance", SKEWED])
def test_the_threshold_test_errs_in_about_5_percent(trust: dict[str, object], metric: str) -> None:
    assert 0.035 <= trust[metric].rejected <= 0.065  # type: ignore[attr-defined]


@pytest.mark.parametrize("metric", ["performance_maintenance", "relative_performance"])
def test_planned_power_is_found_within_3_points(trust: dict[str, object], metric: str) -> None:
    one = trust[metric]
    assert abs(one.power_found - one.power_normal) <= 0.03  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "metric",
    [
        "performance_maintenance",
        "forward_transfer",
        "backward_transfer",
        SKEWED,
        "sample_efficiency",
    ],
)
def test_the_power_that_a_plan_foretells_from_a_pilot_is_found_within_3_points(
    trust: dict[str, object], metric: str
) -> None:
    one = trust[metric]
    assert abs(one.power_found - one.power_foretold) <= 0.03, one  # type: ignore[attr-defined]


def test_a_plan_redraws_what_is_skewed(trust: dict[str, object]) -> None:
    assert trust["sample_efficiency"].foretold_by == "redrawn"  # type: ignore[attr-defined]
