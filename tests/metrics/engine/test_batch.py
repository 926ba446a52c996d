"""Many lifetimes at once get the scores that each gets by itself: values, flags, reasons and notes."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.curves.experts import Experts
from perdure.curves.model import Curve, Curves, Expert, Prep
from perdure.errors import LogError
from perdure.frozen import replace
from perdure.log.model import Lifetime
from perdure.log.read import lifetimes
from perdure.log.write.bulk import write_lives
from perdure.metrics.engine.contract import expert_of, lifetime_of, random_blocks
from perdure.metrics.engine.declare import metric
from perdure.metrics.engine.measure import Sites, measure, measure_all
from perdure.metrics.engine.metric import Metric, NoValue
from perdure.metrics.engine.presets import PRESETS
from perdure.metrics.engine.score import Score
from perdure.metrics.engine.scorer import Scorer
from perdure.metrics.engine.settings import Settings
from perdure.scenario import sites
from perdure.scenario.model import Block, Mode, Scenario
from perdure.scenario.sites import Site


def scored(scorer: Scorer, lives: Sequence[Lifetime]) -> list[Score]:
    return [score for score, _ in scorer.scored_together((one, None) for one in lives)]


PREPS: dict[str, Prep | None] = {
    "as the preset has it": None,
    "clamped": Prep(clamp=True),
    "one range": Prep(scale="run", window="hanning"),
    "unscaled": Prep(scale="none", smooth_evaluation=True),
    "unscaled and clamped": Prep(scale="none", clamp=True, width=5),
    "lagging rows": Prep(alignment="lagging", unit="row", keep_constant=True),
    "agnostic": Prep(variants="agnostic"),
    "noisy": Prep(noise=0.1, noise_seed=3, window="none"),
    "given": Prep(bounds={f"task{index}_{index % 2}": (-10.0, 110.0) for index in range(4)}),
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


def compare(lives: list[Lifetime], scorer: Scorer, alone: Scorer) -> None:
    def each() -> Iterator[Score | str]:
        for life in lives:
            try:
                yield alone.score(life)
            except LogError as problem:
                yield str(problem)

    expected = list(each())
    refused = [one for one in expected if isinstance(one, str)]
    if refused:
        with pytest.raises(LogError) as caught:
            scored(scorer, lives)
        assert str(caught.value) == refused[0]
        return
    found = scored(scorer, lives)
    assert [one.identity for one in found] == [one.identity for one in expected if isinstance(one, Score)]
    for together, by_itself in zip(found, expected, strict=True):
        assert isinstance(by_itself, Score)
        assert_same(told(together), told(by_itself), together.identity.id)
    assert (scorer.left_out, scorer.served) == (alone.left_out, alone.served)


@pytest.mark.parametrize("prep", PREPS)
@pytest.mark.parametrize("preset", list(PRESETS.names()))
def test_a_batch_scores_each_life_as_it_is_scored_alone(preset: str, prep: str) -> None:
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
        compare(lives, Scorer(how, experts), Scorer(how, experts))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_batch_of_any_lives_scores_each_as_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lives = lives_of(rng)
    experts = Experts(experts_for(lives, rng))
    compare(lives, Scorer(None, experts), Scorer(None, experts))


def test_lives_of_one_shape_are_prepared_as_one_array() -> None:
    rng = np.random.default_rng(0)
    blocks = [Block("learn", "a", 20), Block("evaluate", "a", 5), Block("learn", "b", 20), Block("evaluate", "a", 5)]
    lives = [lifetime_of(blocks, rng, name=str(number)) for number in range(3)]
    together = [curves for _, curves in Scorer().scored_together((life, None) for life in lives)]
    assert len({id(one.among) for one in together}) == 1
    assert [one.row for one in together] == [0, 1, 2]
    assert len({id(one.scenario.blocks) for one in together}) == 1


def test_sites_are_walked_once_for_all_groups_of_lives_of_the_same_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = [Block("learn", "a", 20), Block("evaluate", "a", 5), Block("learn", "b", 20), Block("evaluate", "a", 5)]
    values = np.random.default_rng(0).normal(size=(9, 50))
    path = write_lives(tmp_path / "lives.parquet", values=values, scenario=Scenario.of("", blocks))
    walked: list[Scenario] = []

    def noted(scenario: Scenario) -> Iterator[Site]:
        """Learning blocks."""
        walked.append(scenario)
        yield from sites.each_learning_block(scenario)

    def average(learned: Curve) -> float:
        """A number."""
        return learned.mean

    scorer = Scorer()
    scorer.metrics = {"average": metric(noted, register=False)(average)}
    monkeypatch.setattr("perdure.curves.build._AT_ONCE", 150)  # values: three lives
    assert len(scored(scorer, list(lifetimes(path)))) == 9
    assert len(walked) == 1


def test_lives_are_scored_as_they_come() -> None:
    rng = np.random.default_rng(0)
    seen: list[int] = []

    def lives() -> Iterator[tuple[Lifetime, None]]:
        for number, length in enumerate((10, 20, 30)):
            seen.append(number)
            yield lifetime_of([Block("learn", "a", length)], rng, name=str(number)), None

    next(Scorer().scored_together(lives()))
    assert seen == [0, 1]  # the second shows that the first stands alone


def test_no_lives_have_no_scores() -> None:
    assert scored(Scorer(), []) == []


def together(count: int = 3) -> list[Curves]:
    rng = np.random.default_rng(5)
    blocks = [Block("learn", "a", 12), Block("learn", "b", 4), Block("learn", "a", 12)]
    lives = [(lifetime_of(blocks, rng, name=str(number)), None) for number in range(count)]
    expert = Experts(tuple(expert_of(task, rng) for task in ("a", "a", "b")))
    return [curves for _, curves in Scorer(None, expert).scored_together(lives)]


def test_a_formula_that_fails_in_one_life_leaves_the_others_alone() -> None:
    lives = together()

    def picky(learned: Curve) -> float:
        """A number."""
        if learned.mean == lives[1].over((0,)).mean:
            raise ZeroDivisionError("no")
        if learned.mean == lives[2].over((2,)).mean:
            raise NoValue("odd")
        return learned.mean

    one: Metric = metric(sites.each_learning_block, register=False)(picky)
    found = measure_all(one, lives)
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
    for one in measure_all(lost, together()):
        assert one.value is None
        assert re.search(r"(failed|raised)[: ]+\w+Error", str(one.why))


@pytest.mark.parametrize("preset", sorted(PRESETS.names()))
@pytest.mark.parametrize("alike", [True, False])
def test_lives_leave_no_cycles_to_be_searched_for(preset: str, alike: bool) -> None:
    rng = np.random.default_rng(4)
    lives = [lifetime_of(_going_through(10 if alike else 10 + number % 2), rng) for number in range(4)]
    scorer = Scorer(Settings(preset=preset), Experts(tuple(expert_of(task, rng) for task in ("a", "b"))))
    assert len(scored(scorer, lives)) == 4  # what is kept for all lives to come is there now
    gc.collect()
    gc.disable()
    try:
        assert len(scored(scorer, lives)) == 4
        assert gc.collect() == 0
    finally:
        gc.enable()


def _going_through(length: int) -> list[Block]:
    modes: tuple[Mode, ...] = ("evaluate", "learn", "evaluate")
    return [Block(mode, task, length) for task in ("a", "b", "a") for mode in modes]


@pytest.mark.parametrize("count", [1, 3])
def test_a_formula_gets_each_argument_by_its_name_however_it_is_written(count: int) -> None:
    def plainly(previous: Curve, later: Curve) -> float:
        """A number."""
        return previous.mean - 2 * later.mean

    def by_name(later: Curve, *, previous: Curve) -> float:
        """A number."""
        return previous.mean - 2 * later.mean

    @wraps(by_name)
    def wrapped(*, later: Curve, previous: Curve) -> float:
        return by_name(later, previous=previous)

    lives = together(count)
    first, *others = (
        measure_all(metric(sites.between_learning_blocks, register=False)(one), lives)
        for one in (plainly, by_name, wrapped)
    )
    assert all(one.value is not None for one in first)
    assert others == [first, first]


@pytest.mark.parametrize("count", [1, 3])
def test_a_formula_that_asks_for_nothing_is_read_at_every_site(count: int) -> None:
    def here() -> float:
        """A number."""
        return 1.0

    lives = together(count)
    told = measure_all(metric(sites.each_learning_block, register=False)(here), lives)
    learned = sum(block.mode == "learn" for block in lives[0].scenario.blocks)
    assert [(one.value, sum(map(len, one.by.values()))) for one in told] == [(1.0, learned)] * count


def test_a_curve_among_many_is_a_curve() -> None:
    for curves in together():
        scenario: Scenario = curves.scenario
        for blocks in [(0,), (1,), (0, 2), tuple(range(len(scenario.blocks)))]:
            one = curves.over(blocks)
            alone = Curve(one.values, one.raw, one.range)
            told = (
                "mean",
                "terminal",
                "peak",
                "until_peak",
                "total",
                "slope",
                "raw_moments",
                "raw_deviations",
                "range",
            )
            for name in told:
                assert getattr(one, name) == getattr(alone, name)
            assert len(one) == len(alone)
            for count in (1, 3, 100):
                assert one.first(count).values.tolist() == alone.first(count).values.tolist()
                assert one.first(count).total == alone.first(count).total
            assert one.reached(one.peak) == alone.reached(alone.peak) == one.until_peak - 1
            with pytest.raises(ValueError, match="read-only"):
                one.values[0] = 1.0


def test_experts_among_many_are_on_the_scale_of_each_life() -> None:
    def beside(learned: Curve, expert: Expert) -> float:
        """A number."""
        return expert.curve.mean + expert.last.terminal + len(expert.all_learning) + len(learned)

    one: Metric = metric(sites.each_task_learned, register=False)(beside)
    lives = together()
    found = measure_all(one, lives, sites=Sites(lives[0].scenario))
    alone = [measure(one, replace(curves, among=None)) for curves in lives]
    assert found == alone
    assert len({made.value for made in found}) == 3


@pytest.mark.parametrize("seed", range(5))
def test_where_rows_lie_in_memory_changes_no_digit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    life = lifetime_of([Block("learn", "a", 40), Block("evaluate", "a", 21)], rng)
    rows = life.experiences.with_columns(pl.Series("dormant_units", rng.random(life.experiences.height)))
    parts = [rows[:7], rows[7:30], rows[30:]]
    whole, pieces = (replace(life, experiences=one) for one in (rows.rechunk(), pl.concat(parts, rechunk=False)))
    assert Scorer().score(whole).blocks == Scorer().score(pieces).blocks
