"""Presets say of themselves what they compute, and where they differ from their documents."""

from __future__ import annotations

import re

import pytest

from perdure.metrics.presets import PRESETS, Preset

EVERY = tuple(PRESETS)


@pytest.mark.parametrize("preset", EVERY, ids=lambda one: one.name)
def test_every_departure_has_a_reason_and_speaks_of_something_the_preset_has(preset: Preset) -> None:
    assert preset.departures
    for one in preset.departures:
        assert all((one.where, one.document, one.here, one.because))
        named = [word for word in re.split(r",\s*", one.where) if "_" in word]
        assert set(named) <= set(preset.metrics)
