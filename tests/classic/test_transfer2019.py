"""The transfer assessment of 2019 (§3.2), recomputed by hand from its descriptions of ANT-B and ANT-C."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from perdure.gather.survey import score
from perdure.log.model import Lifetime
from perdure.metrics.contract import lifetime_of
from perdure.metrics.score import Score
from perdure.scenario.model import Block
from perdure.settings import Settings

ALPHA = 11


def saturation(values: list[float]) -> float:
    """Return the largest mean of eleven values in a row, without edges (2019, §2.1)."""
    return max(sum(values[index : index + ALPHA]) / ALPHA for index in range(len(values) - ALPHA + 1))


def time(values: list[float]) -> int:
    """Return the first place of the largest mean, from 1."""
    means = [sum(values[index : index + ALPHA]) / ALPHA for index in range(len(values) - ALPHA + 1)]
    return means.index(max(means)) + 1


def rising(top: float, after: int, length: int = 60) -> list[float]:
    """Return zeros up to experience `after`, then `top`."""
    return [0.0] * after + [top] * (length - after)


def noisy(level: float, seed: int, length: int = 30) -> list[float]:
    return [level + float(value) for value in np.random.default_rng(seed).normal(0, 0.1, length)]


def about(value: float) -> Any:
    return (pytest.approx(value),)


def lifetime(*blocks: tuple[str, str, list[float]], sets: dict[str, dict[str, Any]] | None = None) -> Lifetime:
    result = [Block(mode, task, None, group=index) for index, (mode, task, _) in enumerate(blocks)]  # type: ignore[arg-type]
    if sets:
        result = [replace(item, params=sets.get(item.task, {})) for item in result]
    return lifetime_of(result, values=[values for *_, values in blocks])


def scored(one: Lifetime, stated: dict[str, float] | None = None, tmp_path: Path | None = None, **more: Any) -> Score:
    experts: list[Any] = []
    if stated is not None and tmp_path is not None:
        (tmp_path / "info.json").write_text(json.dumps(stated))
        experts = [tmp_path / "info.json"]
    return score(one, experts, Settings(preset="framework-2019", **more))


ANT_B = (
    ("learn", "pong", noisy(3.0, 0)),
    ("evaluate", "breakout", noisy(1.0, 1)),
    ("learn", "breakout", noisy(4.0, 2)),
    ("evaluate", "pong", noisy(2.0, 3)),
)


def test_ant_b_gives_its_two_by_two_transfer_matrix(tmp_path: Path) -> None:
    scores = scored(lifetime(*ANT_B), {"pong": 2.5, "breakout": 5.0}, tmp_path)
    # "In 1.test forward transfer from Pong to Breakout, in 2.test reverse transfer from Breakout to Pong."
    assert scores.metrics["ste_forward_transfer"].by == {"pong→breakout": about(saturation(ANT_B[1][2]) / 5.0)}
    assert scores.metrics["ste_reverse_transfer"].by == {"breakout→pong": about(saturation(ANT_B[3][2]) / 2.5)}


def test_without_an_expert_transfer_is_not_computable(tmp_path: Path) -> None:
    scores = scored(lifetime(*ANT_B), {"pong_wide": 2.5}, tmp_path)
    assert scores.metrics["ste_forward_transfer"].why == "needs an expert for breakout"
    assert scores.metrics["ste_reverse_transfer"].why == "needs an expert for pong"


def test_an_error_is_compared_with_its_expert_by_the_inverse_ratio(tmp_path: Path) -> None:
    scores = scored(lifetime(*ANT_B), {"pong": 2.5, "breakout": 5.0}, tmp_path, lower_is_better=True)
    lowest = -saturation([-value for value in ANT_B[1][2]])
    assert scores["ste_forward_transfer"] == pytest.approx(5.0 / lowest)
    assert lowest < 5.0  # an error lower than the expert's gives more than 1


def test_a_third_task_is_attributed_to_the_last_learned_one_and_flagged(tmp_path: Path) -> None:
    blocks = (
        *(("learn", task, [1.0] * 11) for task in ("a", "b")),
        ("evaluate", "c", [0.5] * 11),
        ("learn", "c", [1.0] * 11),
        ("evaluate", "a", [0.25] * 11),
    )
    metrics = scored(lifetime(*blocks), {"a": 1.0, "c": 1.0}, tmp_path).metrics
    assert metrics["ste_forward_transfer"].by == {"b→c": (0.5,)}
    assert metrics["ste_forward_transfer"].flags == ("several tasks were learned before",)
    assert metrics["ste_reverse_transfer"].by == {"c→a": (0.25,)}
    assert metrics["ste_reverse_transfer"].flags == ("several tasks were learned since",)


# ANT-C: three parameter sets of one task are learned and the other task's tested; then the order is switched.
WIDTHS = {
    f"{task}_v{index}": {"width": width} for task in ("pong", "breakout") for index, width in enumerate((15, 20, 25), 1)
}
AFTER = {"pong_v1": 20, "pong_v2": 30, "pong_v3": 40, "breakout_v1": 10, "breakout_v2": 20, "breakout_v3": 12}
ANT_C = (
    *(("learn", f"pong_v{index}", rising(2.0, AFTER[f"pong_v{index}"])) for index in (1, 2, 3)),
    *(("evaluate", f"breakout_v{index}", noisy(index, index)) for index in (1, 2, 3)),
    *(("learn", f"breakout_v{index}", rising(4.0, AFTER[f"breakout_v{index}"])) for index in (1, 2, 3)),
    *(("evaluate", f"pong_v{index}", noisy(index / 2, 10 + index)) for index in (1, 2, 3)),
)


def test_ant_c_gives_a_transfer_matrix_over_parameter_sets(tmp_path: Path) -> None:
    # One entry per task: "the exact name, else the name without variant".
    metrics = scored(lifetime(*ANT_C, sets=WIDTHS), {"pong": 2.0, "breakout": 4.0, "pong_v2": 1.0}, tmp_path).metrics
    assert metrics["ste_forward_transfer"].by == {
        f"pong→breakout_v{index}": about(saturation(ANT_C[2 + index][2]) / 4.0) for index in (1, 2, 3)
    }
    assert metrics["ste_reverse_transfer"].by == {
        f"breakout→pong_v{index}": about(saturation(ANT_C[8 + index][2]) / (1.0 if index == 2 else 2.0))
        for index in (1, 2, 3)
    }


def test_time_to_learn_gain_is_the_experts_time_over_the_learners() -> None:
    experts = [
        lifetime_of([Block("learn", label, 60)], values=[rising(4.0, 44)], name=f"expert of {label}")
        for label in ("breakout_v1", "breakout_v2")
    ]
    metrics = score(lifetime(*ANT_C, sets=WIDTHS), experts, Settings(preset="framework-2019", variants="name")).metrics[
        "time_to_learn_gain"
    ]
    gains = {label: time(rising(4.0, 44)) / time(rising(4.0, AFTER[label])) for label in ("breakout_v1", "breakout_v2")}
    assert metrics.by == {label: about(gain) for label, gain in gains.items()}
    assert metrics.by["breakout_v1"] == about(45 / 11)


def test_a_stated_saturation_has_no_time(tmp_path: Path) -> None:
    metrics = scored(lifetime(*ANT_B), {"pong": 2.5, "breakout": 5.0}, tmp_path).metrics["time_to_learn_gain"]
    assert metrics.value is None
    assert "info.json states no times" in (metrics.why or "")


def test_continual_learning_transfers_if_the_second_task_recovers_sooner() -> None:
    metrics = score(lifetime(*ANT_C, sets=WIDTHS), settings=Settings(preset="framework-2019")).metrics
    # Within 2 % of the earlier saturation: the first window of eleven that has only the maximum. From 1.
    before, after = (30 + 40) / 2 + 1, (20 + 12) / 2 + 1
    assert metrics["transfer_of_recovery"].by == {"pong→breakout_v3": about(before / after)}
    assert metrics["transfer_of_continual_learning"].value == pytest.approx(before / after)
    assert "evaluated after them" in (metrics["transfer_of_maintenance"].why or "")


def test_maintenance_is_added_if_both_tasks_are_tested_afterwards() -> None:
    tests = tuple(("evaluate", f"breakout_v{index}", [3.0] * 11) for index in (1, 2, 3))
    metrics = score(lifetime(*ANT_C, *tests, sets=WIDTHS), settings=Settings(preset="framework-2019")).metrics
    stored = sum(saturation(ANT_C[8 + index][2]) / 2.0 for index in (1, 2, 3)) / 3
    assert metrics["transfer_of_maintenance"].value == pytest.approx((3.0 / 4.0) / stored)
    both = (metrics["transfer_of_recovery"].value, metrics["transfer_of_maintenance"].value)
    assert metrics["transfer_of_continual_learning"].by["pong→breakout_v3"] == pytest.approx(both)
