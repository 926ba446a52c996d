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
from perdure.curves.prepare import smooth
from perdure.errors import LogError
from perdure.log.kept import Kept
from perdure.log.model import Lifetime
from perdure.metrics.engine.contract import expert_of, lifetime_of, random_blocks
from perdure.metrics.engine.measure import evaluate
from perdure.metrics.engine.presets import PRESETS
from perdure.metrics.engine.scorer import Scorer
from perdure.metrics.engine.settings import Settings
from perdure.scenario.model import Block


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


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_rows_that_come_late_are_scored_in_their_place(seed: int) -> None:
    """As those of several workers do, which write at their own pace."""
    rng = np.random.default_rng(seed)
    life, scorer, kept = any_life(rng), Scorer(), Kept()
    comes = np.arange(life.height) + rng.integers(0, rng.integers(1, 60), life.height)
    before = np.empty(0, dtype=np.int64)
    for cut in sorted(rng.integers(0, life.height + 60, size=15).tolist()):
        there = np.flatnonzero(comes <= cut)
        if len(there):
            shorter = min(len(before), len(there))
            differ = np.flatnonzero(before[:shorter] != there[:shorter])
            kept.read_again(int(differ[0]) if len(differ) else shorter)
            before = there
            so_far = replace(life, experiences=life.experiences[there])
            assert told(scorer, replace(so_far, kept=kept)) == told(scorer, so_far)


def test_what_has_ended_is_neither_smoothed_nor_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    learned = [Block("learn", task, 20) for task in ("a", "b", "c")]
    evaluated = [Block("evaluate", task, 5) for task in ("a", "b", "c")]
    round_of = [block for one in learned for block in (one, *evaluated)]
    rounds, each = 8, sum(block.length or 0 for block in round_of)
    life = lifetime_of([replace(block, group=at) for at, block in enumerate(round_of * rounds)])
    rng = np.random.default_rng(0)
    experts = Experts((expert_of("a", rng), expert_of("b", rng)))
    scorer = Scorer(Settings(bounds=dict.fromkeys("abc", (-100.0, 100.0))), experts)
    smoothed, read = [0], [0]

    def counted(values: Any, *arguments: Any, **named: Any) -> Any:
        smoothed[0] += values.shape[-1]
        return smooth(values, *arguments, **named)

    def asked(*arguments: Any) -> Any:
        read[0] += 1
        return evaluate(*arguments)

    monkeypatch.setattr("perdure.curves.build.smooth", counted)
    monkeypatch.setattr("perdure.metrics.engine.measure.evaluate", asked)
    kept = Kept()
    effort = []
    for cut in range(1, rounds * each + 1):
        kept.read_again(cut - 1)
        smoothed[0] = read[0] = 0
        scorer.score(replace(life, experiences=life.experiences[:cut], kept=kept))
        effort.append((smoothed[0], read[0]))
    assert max(count for count, _ in effort) <= 20 + 1  # the block that ended and the one that has begun
    fourth, last = ([read for _, read in effort[at * each : (at + 1) * each]] for at in (3, rounds - 1))
    assert last == fourth


def test_a_task_whose_range_grows_is_scaled_again_and_no_other() -> None:
    life = lifetime_of(
        [Block("learn", task, 4, group=at) for at, task in enumerate("abab")],
        values=[[0, 1, 2, 3], [0, 1, 2, 3], [1, 1, 1, 9], [1, 2, 3, 2]],
    )
    kept, scorer = Kept(), Scorer()
    made = []
    for cut in (8, 12, 16):
        _, curves = scorer.scored(replace(life, experiences=life.experiences[:cut], kept=kept))
        kept.read_again(cut)
        made.append([curves.over((at,)) for at in range(cut // 4)])
    assert made[1][0] is not made[0][0]  # of a, whose range is wider now
    assert made[2][0] is made[1][0]
    assert made[2][1] is made[1][1]  # of b, which stayed within its range
