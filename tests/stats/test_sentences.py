"""How verdicts are said, by what presets and metrics declare."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure.metrics.engine.presets import PRESETS, preset
from perdure.stats.sentences import decides, rule_of


def test_a_preset_that_declares_no_verdicts_is_said_to_give_none(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = replace(preset("baker-2023"), name="mine", decides=False)
    monkeypatch.setitem(PRESETS._things, "mine", mine)
    assert [one.name for one in PRESETS if not decides(one.name)] == ["framework-2019", "mine"]
    assert rule_of("mine").startswith("mine gives no verdicts.")
    assert rule_of("baker-2023").startswith("Decided as baker-2023 does")


def test_an_edition_that_is_no_longer_declared_decided() -> None:
    assert decides("baker-2023-0.1")
