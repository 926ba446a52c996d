"""Presets say of themselves what they compute, and where they differ from their documents."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from perdure.metrics.presets import PRESETS, Preset

EVERY = tuple(PRESETS)
DEPARTURES = tomllib.loads((Path(__file__).parents[2] / "scripts" / "departures.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("preset", EVERY, ids=lambda one: one.name)
def test_every_departure_has_a_reason_and_speaks_of_something_the_preset_has(preset: Preset) -> None:
    assert DEPARTURES[preset.name]
    for departure in DEPARTURES[preset.name]:
        assert departure.keys() == {"where", "document", "here", "because"}
        assert all(departure.values())
        named = [word for word in re.split(r",\s*", departure["where"]) if "_" in word]
        assert set(named) <= set(preset.metrics)
