"""Presets say of themselves what they compute, and where they differ from their documents."""

from __future__ import annotations

import re

import pytest

from perdure.metrics import METRICS
from perdure.metrics.engine.declare import Preset
from perdure.metrics.engine.presets import CHANGED, PRESETS

EVERY = tuple(PRESETS)


@pytest.mark.parametrize("preset", EVERY, ids=lambda one: one.name)
def test_every_departure_has_a_reason_and_speaks_of_something_the_preset_has(preset: Preset) -> None:
    assert preset.departures
    for one in preset.departures:
        assert all((one.where, one.document, one.here, one.because))
        named = [word for word in re.split(r",\s*", one.where) if "_" in word]
        assert set(named) <= set(preset.metrics)


def test_what_changed_is_said_of_metrics_that_the_preset_has() -> None:
    for name, reasons in CHANGED.items():
        assert set(reasons) <= set(PRESETS.get(name).metrics)
    assert set(CHANGED["standard"]) <= set(METRICS.names())


def test_a_preset_that_scales_by_the_data_moved_every_metric_that_reads_values() -> None:
    assert set(CHANGED["new-2022"]) == set(PRESETS.get("new-2022").metrics)
    assert set(CHANGED["baker-2023"]) == set(PRESETS.get("baker-2023").metrics)


def test_presets_without_a_new_edition_changed_nothing() -> None:
    assert not {"l2metrics-3.1", "framework-2019"} & set(CHANGED)
