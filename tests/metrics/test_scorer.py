"""One scorer gives each of many lifetimes the score that a fresh scorer gives it: values, flags, reasons and notes."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from functools import wraps
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from perdure.curves.experts import Experts
from perdure.curves.model import Curve, Curves, Expert, Preparation
from perdure.errors import LogError
from perdure.log.model import Lifetime
from perdure.metrics.arithmetic import NoValue
from perdure.metrics.contract import expert_of, lifetime_of, random_blocks
from perdure.metrics.declare import Metric, metric
from perdure.metrics.measure import measure
from perdure.metrics.presets import PRESETS
from perdure.metrics.score import Score, Scorer
from perdure.scenario import sites
from perdure.scenario.model import Block, Mode, Scenario
from perdure.scenario.sites import Site
from perdure.settings import Settings

PREPS: dict[str, Preparation | None] = {
    "as the preset has it": None,
    "clamped": Preparation(clamp=True),
    "one range": Preparation(scale="run", window="hanning"),
    "unscaled": Preparation(scale="none", smooth_evaluation=True),
    "unscaled and clamped": Preparation(scale="none", clamp=True, width=5),
    "lagging rows": Preparation(alignment="lagging", unit="row", keep_constant=True),
    "agnostic": Preparation(variants="agnostic"),
    "noisy": Preparation(noise=0.1, noise_seed=3, window="none"),
    "given": Preparation(bounds={f"task{index}_{index % 2}": (-10.0, 110.0) for index in range(4)}),
}


def lives_of(rng: np.random.Generator) -> list[Lifetime]:
    """Lives of few shapes in any order; some lost rows, some counted several rows as one experience."""
    shapes = [random_blocks(rng) for _ in range(rng.integers(1, 3))]
    found = []
    for number in range(rng.integers(2, 9)):
        life = lifetime_of(shapes[rng.integers(len(shapes))], rng, name=f"life {number}")
        spoiled = rng.random()
        if spoiled < 0.1:
            life = replace(life, experiences=_holed(life.experiences, rng))
        elif spoiled < 0.2:
            life = replace(life, experiences=life.experiences.with_columns(pl.col("exp_num") // 2))
        if rng.random() < 0.2:
            bounds = {"tasks": [{"label": "task0_0", "bounds": [-20.0, 200.0]}]}
            life = replace(life, manifest={"scenario": bounds, "id": "recorded"}, complete=False)
        found.append(life)
    return found


def _holed(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    lost = pl.Series(rng.random(rows.height) < 0.2)
    return rows.with_columns(pl.when(lost).then(None).otherwise(pl.col("reward")).alias("reward"))


def experts_for(lives: list[Lifetime], rng: np.random.Generator) -> tuple[Lifetime, ...]:
    tasks = sorted({block.task for life in lives for block in life.scenario.blocks})
    return tuple(expert_of(task, rng) for task in tasks for _ in range(rng.integers(0, 3)))


def told(score: Score) -> dict[str, Any]:
    return {**score.as_json(), "how": score.how}


def assert_same(found: Any, expected: Any, where: str = "") -> None:
    """Equal in all, numbers up to rounding."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key, value in expected.items():
            assert_same(found[key], value, f"{where}/{key}")
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected), where
        for at, value in enumerate(expected):
            assert_same(found[at], value, f"{where}/{at}")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-12), where
    else:
        assert found == expected, where


def attempt(scorer: Scorer, life: Lifetime) -> dict[str, Any] | str:
    try:
        return told(scorer.score(life))
    except LogError as problem:
        return str(problem)


def compare(lives: list[Lifetime], how: Settings | None, experts: Experts) -> None:
    scorer = Scorer(how, experts)
    for life in lives:
        assert_same(attempt(scorer, life), attempt(Scorer(how, experts), life), life.id)


@pytest.mark.parametrize("prep", PREPS)
@pytest.mark.parametrize("preset", list(PRESETS.names()))
def test_a_scorer_carries_nothing_from_one_lifetime_to_the_next(preset: str, prep: str) -> None:
    for seed in range(4):
        rng = np.random.default_rng([seed, len(preset), len(prep)])
        lives = lives_of(rng)
        experts = Experts(experts_for(lives, rng), {"task0_0": 3.0} if rng.random() < 0.3 else {})
        wanted: dict[str, Any] = {
            "aggregate": "median",
            "expert_average": "time",
            "lower_is_better": True,
            "learned": {"task0_0": 2.0},
        }
        fixed = PRESETS.get(preset).fixes
        asked = {name: value for name, value in wanted.items() if rng.random() < 0.3 and name not in fixed}
        how = Settings(preset, prep=PREPS[prep], **asked)
        compare(lives, how, experts)


@given(seed=st.integers(0, 2**32 - 1))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_a_scorer_carries_nothing_over_whatever_the_lifetimes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lives = lives_of(rng)
    experts = Experts(experts_for(lives, rng))
    compare(lives, None, experts)


def curves_of_lives(count: int = 3) -> list[Curves]:
    rng = np.random.default_rng(5)
    blocks = [Block("learn", "a", 12), Block("learn", "b", 4), Block("learn", "a", 12)]
    lives = [lifetime_of(blocks, rng, name=str(number)) for number in range(count)]
    scorer = Scorer(None, Experts(tuple(expert_of(task, rng) for task in ("a", "a", "b"))))
    return [scorer.scored(life)[1] for life in lives]


def test_a_formula_that_fails_in_one_life_leaves_the_others_alone() -> None:
    lives = curves_of_lives()

    def picky(learned: Curve) -> float:
        """A number."""
        if learned.mean == lives[1].over((0,)).mean:
            raise ZeroDivisionError("no")
        if learned.mean == lives[2].over((2,)).mean:
            raise NoValue("odd")
        return learned.mean

    one: Metric = metric(sites.each_learning_block, register=False)(picky)
    found = [measure(one, curves) for curves in lives]
    assert found[0].why is None
    assert found[1].why == "picky raised ZeroDivisionError: no (at a)"
    assert found[2].flags == ("1 of 3 left out: a: odd",)


@pytest.mark.parametrize("blocks", [(99,), (), (0, 99)])
@pytest.mark.parametrize("apart", [False, True])
def test_sites_that_name_no_block_are_named_in_every_life(blocks: tuple[int, ...], apart: bool) -> None:
    def nowhere(scenario: Scenario) -> Iterator[Site]:
        """A block that is not there."""
        yield Site("a", {"learned": blocks})

    def level(learned: Curve) -> float:
        """A number."""
        return learned.mean

    def levels(learned: tuple[Curve, ...]) -> float:
        """A number."""
        return sum(one.mean for one in learned) / len(learned)

    lost = metric(nowhere, register=False)(levels if apart else level)
    for one in [measure(lost, curves) for curves in curves_of_lives()]:
        assert one.value is None
        assert re.search(r"(failed|raised)[: ]+\w+Error", str(one.why))


@pytest.mark.parametrize("preset", sorted(PRESETS.names()))
def test_lives_leave_no_cycles_to_be_searched_for(preset: str) -> None:
    rng = np.random.default_rng(4)
    lives = [lifetime_of(_going_through(10 + number % 2), rng) for number in range(4)]
    scorer = Scorer(Settings(preset=preset), Experts(tuple(expert_of(task, rng) for task in ("a", "b"))))
    assert len([scorer.score(life) for life in lives]) == 4  # what is kept for all lives to come is there now
    gc.collect()
    gc.disable()
    try:
        assert len([scorer.score(life) for life in lives]) == 4
        assert gc.collect() == 0
    finally:
        gc.enable()


def _going_through(length: int) -> list[Block]:
    modes: tuple[Mode, ...] = ("evaluate", "learn", "evaluate")
    return [Block(mode, task, length) for task in ("a", "b", "a") for mode in modes]


def test_a_formula_gets_each_argument_by_its_name_however_it_is_written() -> None:
    def plainly(previous: Curve, later: Curve) -> float:
        """A number."""
        return previous.mean - 2 * later.mean

    def by_name(later: Curve, *, previous: Curve) -> float:
        """A number."""
        return previous.mean - 2 * later.mean

    @wraps(by_name)
    def wrapped(*, later: Curve, previous: Curve) -> float:
        return by_name(later, previous=previous)

    (curves,) = curves_of_lives(1)
    first, *others = (
        measure(metric(sites.between_learning_blocks, register=False)(one), curves)
        for one in (plainly, by_name, wrapped)
    )
    assert first.value is not None
    assert others == [first, first]


def test_a_formula_that_asks_for_nothing_is_read_at_every_site() -> None:
    def here() -> float:
        """A number."""
        return 1.0

    (curves,) = curves_of_lives(1)
    found = measure(metric(sites.each_learning_block, register=False)(here), curves)
    learned = sum(block.mode == "learn" for block in curves.scenario.blocks)
    assert (found.value, sum(map(len, found.by.values()))) == (1.0, learned)


def test_a_formula_cannot_change_the_values_of_curves_and_experts() -> None:
    (curves,) = curves_of_lives(1)
    expert = curves.experts["a"][0]
    for curve in (curves.over((0,)), curves.over((0, 2)), expert.curve, expert.last):
        for values in (curve.values, curve.raw):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 1.0


def test_experts_are_on_the_scale_of_each_lifetime() -> None:
    def beside(learned: Curve, expert: Expert) -> float:
        """A number."""
        return expert.curve.mean + expert.last.terminal + len(expert.all_learning) + len(learned)

    one: Metric = metric(sites.each_task_learned, register=False)(beside)
    assert len({measure(one, curves).value for curves in curves_of_lives()}) == 3


@pytest.mark.parametrize("seed", range(5))
def test_where_rows_lie_in_memory_changes_no_digit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    life = lifetime_of([Block("learn", "a", 40), Block("evaluate", "a", 21)], rng)
    rows = life.experiences.with_columns(pl.Series("dormant_units", rng.random(life.experiences.height)))
    parts = [rows[:7], rows[7:30], rows[30:]]
    whole, pieces = (replace(life, experiences=one) for one in (rows.rechunk(), pl.concat(parts, rechunk=False)))
    assert Scorer().score(whole).blocks == Scorer().score(pieces).blocks
