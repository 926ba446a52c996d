"""S000's single-task scenario (Table 1, Fig. 5, App. B), recomputed from its words: one task, three regimes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.metrics.written import written

import perdure
from perdure.metrics.score import Score
from perdure.scenario.syllabus import read_syllabus
from perdure.settings import Settings

SYLLABUS = Path(__file__).parents[2] / "examples" / "syllabi" / "s000-table1-splitmnist.json"
RECOVERY = ("droop", "recovery_time", "recovery_rate", "performance_recovery")
FIRST = [0.1 + 0.8 * n / 99 for n in range(100)]
SECOND = [0.2] * 5 + [0.3] * 15 + [0.9] * 30
THIRD = [0.5] * 10 + [0.92] * 90
BLOCKS = [("train", "walk_noon", FIRST), ("train", "walk_dusk", SECOND), ("train", "walk_sun", THIRD)]


def measured(folder: Path, **more: Any) -> Score:
    """The values as logged: the definitions are recomputed here, not their preparation."""
    path = folder / "life"
    if not path.exists():
        written(folder, "life", BLOCKS)
    return perdure.score(
        path, settings=Settings(metrics=(*RECOVERY, "learn_burn"), window="none", scale="none", **more)
    )


def test_droop_recovery_time_and_rate_are_those_of_the_text_at_each_learning_block(tmp_path: Path) -> None:
    found = measured(tmp_path, variants="agnostic").metrics
    terminal = [sum(values[-len(values) // 10 :]) / (len(values) // 10) for values in (FIRST, SECOND)]
    droops = [terminal[0] - 0.2, terminal[1] - 0.5]
    times = [
        next(at for at, value in enumerate(later) if value >= before)
        for before, later in zip(terminal, (SECOND, THIRD), strict=True)
    ]
    assert times == [20, 10]
    assert found["recovery_time"].by == {"walk": (20, 10)}
    assert found["droop"].by["walk"] == pytest.approx(droops)
    assert found["recovery_rate"].by["walk"] == pytest.approx([droops[0] / 20, droops[1] / 10])
    assert found["performance_recovery"].value == 10  # minus the slope of (1, 20), (2, 10)
    for name in ("recovery_time", "droop", "recovery_rate"):
        assert found[name].at == {"walk": ((0, 1), (1, 2))}, "each later block is compared with the one before"


def test_a_block_that_never_recovers_counts_one_more_than_its_length(tmp_path: Path) -> None:
    written(tmp_path, "never", [BLOCKS[2], BLOCKS[0]])
    found = perdure.score(
        tmp_path / "never",
        settings=Settings(metrics=("recovery_time",), variants="agnostic", window="none", scale="none"),
    )
    assert found["recovery_time"] == len(FIRST) + 1
    assert "never recovered" in found.metrics["recovery_time"].flags[0]


def test_where_each_regime_is_a_task_the_reason_names_the_switch(tmp_path: Path) -> None:
    found = measured(tmp_path)
    for name in RECOVERY:
        assert found[name] is None
        assert "only the variants of walk differ: --variants agnostic takes them for one task" in found.why[name]


@pytest.mark.parametrize("variants", ["name", "agnostic"])
def test_a_change_of_regime_is_a_change_however_variants_count(tmp_path: Path, variants: str) -> None:
    found = measured(tmp_path, variants=variants).metrics["learn_burn"]
    slopes = [_slope(values) for values in (SECOND, THIRD)]
    assert found.value == pytest.approx(sum(slopes) / 2 / _slope([*FIRST, *SECOND, *THIRD]))


def test_the_syllabus_of_the_table_has_its_blocks_and_places_for_recovery() -> None:
    from perdure.scenario import sites
    from perdure.scenario.model import apply_variants

    scenario = read_syllabus(SYLLABUS).scenario
    assert [(block.mode, block.length) for block in scenario.blocks] == [
        ("learn", 1000),
        ("learn", 500),
        ("learn", 1000),
    ]
    assert len(list(sites.between_learning_blocks(apply_variants(scenario, "agnostic")))) == 2
    assert len(list(sites.after_a_change(apply_variants(scenario, "agnostic")))) == 1


def _slope(values: list[float]) -> float:
    middle, mean = (len(values) - 1) / 2, sum(values) / len(values)
    above = sum((at - middle) * (value - mean) for at, value in enumerate(values))
    return above / sum((at - middle) ** 2 for at in range(len(values)))
