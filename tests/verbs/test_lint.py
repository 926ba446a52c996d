"""Which metrics lint asks of a syllabus: those of its type, unless somebody said otherwise."""

from __future__ import annotations

import pytest

import perdure
from perdure.api import shows_2019
from perdure.metrics.presets import PRESETS


@pytest.fixture
def of_2019() -> perdure.Syllabus:
    return perdure.compose("ant-b", ["pong", "breakout"], learn=40, evaluate=12)


def test_a_syllabus_of_2019_is_asked_for_what_2019_measured(of_2019: perdure.Syllabus) -> None:
    assert list(perdure.lint(of_2019).metrics) == list(PRESETS.get("framework-2019").metrics)


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (perdure.Settings(preset="baker-2023"), set(PRESETS.get("baker-2023").metrics)),
        (perdure.Settings(origins={"preset": "caller"}), set(PRESETS.get("standard").metrics)),
        (perdure.Settings(metrics=["bwt"]), {"bwt"}),
    ],
)
def test_what_was_asked_for_goes_before_the_type(
    of_2019: perdure.Syllabus, settings: perdure.Settings, shown: set[str]
) -> None:
    report = perdure.lint(of_2019, settings)
    assert set(report.metrics) == shown
    assert not shows_2019(settings, report.kind)
    assert shows_2019(perdure.Settings(), report.kind)
