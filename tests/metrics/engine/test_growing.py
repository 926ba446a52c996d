"""A lifetime that grows is scored from its new blocks alone, and gets the score of the whole, to the last digit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.metrics.engine.test_batch import PREPS, experts_for

from perdure.curves.experts import Experts
from perdure.errors import LogError
from perdure.log.kept import Kept
from perdure.log.model import Lifetime
from perdure.metrics.engine.contract import lifetime_of, random_blocks
from perdure.metrics.engine.presets import PRESETS
from perdure.metrics.engine.score import Scorer
from perdure.metrics.engine.settings import Settings


def any_life(rng: np.random.Generator) -> Lifetime:
    """A life of any shape: some with rows that do not count, several rows to an experience, parameters, sleep."""
    life = lifetime_of(random_blocks(rng), rng)
    rows = life.experiences
    if rng.random() < 0.4:
        spoiled = [None, np.nan, np.inf, *[1.0] * 6]
        factor = pl.Series([spoiled[at] for at in rng.integers(len(spoiled), size=rows.height)], dtype=pl.Float64())
        rows = rows.with_columns(pl.col("reward") * factor)
    if rng.random() < 0.3:
        status = np.where(rng.random(rows.height) < 0.2, "incomplete", "complete")
        rows = rows.with_columns(pl.Series("exp_status", status).cast(rows.schema["exp_status"]))
    if rng.random() < 0.3:
        rows = rows.with_columns(pl.col("exp_num") // 2)
    kind = rng.random()
    if kind < 0.2:  # a parameter that differs from row to row, or from block to block
        number = pl.lit(rng.integers(9)) if kind < 0.05 else pl.col("exp_num" if kind < 0.1 else "block_num")
        text = pl.concat_str(pl.lit('{"n": '), number.cast(pl.String()), pl.lit("}"))
        rows = rows.with_columns(text.alias("task_params"))
    if rng.random() < 0.2:
        rows = rows.with_columns((pl.col("exp_num") % 7 / 7).alias("dormant_units"))
    recorded = {"scenario": {"tasks": [{"label": "task0_0", "bounds": [-20.0, 200.0]}]}}
    return replace(life, experiences=rows, manifest=recorded if rng.random() < 0.2 else {}, complete=False)


def told(scorer: Scorer, life: Lifetime) -> dict[str, Any] | str:
    try:
        score, curves = scorer.scored(life)
    except LogError as problem:
        return str(problem)
    arrays = {name: getattr(curves, name).tolist() for name in ("values", "raw", "measured", "starts", "as_logged")}
    return {**score.as_json(), "identity": score.identity, "tasks": score.tasks, "arrays": arrays, "experts": {
        task: [one.curve.values.tolist() for one in found] for task, found in curves.experts.items()
    }}  # fmt: skip


def compare(life: Lifetime, cuts: list[int], scorer: Scorer) -> None:
    kept = Kept()
    before = 0
    for cut in cuts:
        so_far = replace(life, experiences=life.experiences[:cut])
        kept.read_again(before)
        before = cut
        assert told(scorer, replace(so_far, kept=kept)) == told(scorer, so_far)


@pytest.mark.parametrize("prep", PREPS)
@pytest.mark.parametrize("preset", list(PRESETS.names()))
def test_a_growing_life_is_scored_as_the_life_so_far(preset: str, prep: str) -> None:
    for seed in range(3):
        rng = np.random.default_rng([seed, len(preset), len(prep)])
        life = any_life(rng)
        experts = Experts(experts_for([life], rng), {"task0_0": 3.0} if rng.random() < 0.3 else {})
        wanted: dict[str, Any] = {
            "aggregate": "median",
            "expert_average": "time",
            "lower_is_better": True,
            "learned": {"task0_0": 2.0},
        }
        fixed = PRESETS.get(preset).fixes
        asked = {name: value for name, value in wanted.items() if rng.random() < 0.3 and name not in fixed}
        cuts = sorted({*rng.integers(1, life.height + 1, size=12).tolist(), life.height})
        compare(life, cuts, Scorer(Settings(preset, prep=PREPS[prep], **asked), experts))


@given(st.integers(0, 2**32 - 1), st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_life_cut_at_any_record_is_scored_as_the_life_so_far(seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    life = any_life(rng)
    cuts = data.draw(st.sets(st.integers(1, life.height), max_size=20))
    experts = Experts(experts_for([life], rng)) if data.draw(st.booleans()) else None
    how = Settings(
        lower_is_better=data.draw(st.booleans()),
        bounds=data.draw(st.sampled_from([None, {f"task{at}_{at % 2}": (-10.0, 110.0) for at in range(4)}])),
        variants=data.draw(st.sampled_from([None, "params", "agnostic"])),
    )
    compare(life, [*sorted(cuts), life.height, life.height], Scorer(how, experts))
