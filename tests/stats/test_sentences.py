"""How verdicts are said, by what presets and metrics declare."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from perdure.metrics.presets import PRESETS
from perdure.stats.compare import Difference
from perdure.stats.sentences import decides, rule_of, sentence


def test_a_preset_that_declares_no_verdicts_is_said_to_give_none(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = replace(PRESETS.get("baker-2023"), name="mine", decides=False)
    monkeypatch.setitem(PRESETS._things, "mine", mine)
    assert [one.name for one in PRESETS if not decides(one.name)] == ["framework-2019", "mine"]
    assert rule_of("mine").startswith("mine gives no verdicts.")
    assert rule_of("baker-2023").startswith("Decided as baker-2023 does")


def test_a_preset_that_is_not_installed_decides() -> None:
    assert decides("a preset of another machine")


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(1.5, "better than theirs by a factor of 1.5 "), (0.8, "worse than theirs by a factor of 1.25 ")],
)
def test_a_ratio_is_said_as_the_factor_that_is_above_1(ratio: float, said: str) -> None:
    one = Difference("forward_transfer", 5, 5, scale="ratio", difference=ratio, word="better" if ratio > 1 else "worse")
    assert f"ours does {said}" in sentence(one, "ours", "theirs")
