"""Metrics that lint reports for a syllabus: those of its type, unless the caller selects others."""

from __future__ import annotations

import pytest

import perdure
from perdure.api import shows_2019
from perdure.metrics.presets import PRESETS


@pytest.fixture
def syllabus_of_2019() -> perdure.Syllabus:
    return perdure.compose("ant-b", ["pong", "breakout"], learn=40, evaluate=12)


def test_a_syllabus_of_2019_is_checked_for_the_metrics_of_2019(syllabus_of_2019: perdure.Syllabus) -> None:
    assert list(perdure.lint(syllabus_of_2019).metrics) == list(PRESETS.get("framework-2019").metrics)


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (perdure.Settings(preset="baker-2023"), set(PRESETS.get("baker-2023").metrics)),
        (perdure.Settings(origins={"preset": "caller"}), set(PRESETS.get("standard").metrics)),
        (perdure.Settings(metrics=["bwt"]), {"bwt"}),
    ],
)
def test_requested_metrics_override_those_of_the_type(
    syllabus_of_2019: perdure.Syllabus, settings: perdure.Settings, shown: set[str]
) -> None:
    report = perdure.lint(syllabus_of_2019, settings)
    assert set(report.metrics) == shown
    assert not shows_2019(settings, report.kind)
    assert shows_2019(perdure.Settings(), report.kind)
