"""Lifetimes thinned for drawing."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.curves.prepare import curves
from perdure.reports.thinned import (
    ThinnedBlock,
    ThinnedCurve,
    columns_for,
    thin_lifetime,
    thinned_indices,
    thinned_lifetime,
)
from perdure.scenario.model import Block
from perdure.stats.groups import GroupedSurvey

finite = st.floats(-1e6, 1e6)


def test_a_short_lifetime_is_drawn_value_by_value_as_logged(life: Path) -> None:
    lifetime = perdure.read(life)
    drawing = thin_lifetime(curves(lifetime))
    logged = lifetime.passage()
    for item in drawing.blocks:
        expected = logged.values[logged.starts[item.index] : logged.starts[item.index + 1]]
        assert item.measured.y.tolist() == expected.tolist()
        assert item.mean == expected.mean()
    assert sum(block.length for block in drawing.blocks) == len(logged.values)


def test_where_lower_is_better_values_are_drawn_as_logged(life: Path) -> None:
    lifetime = perdure.read(life)
    plain, turned = thin_lifetime(curves(lifetime)), thin_lifetime(curves(lifetime, direction="lower"))
    for item, other in zip(plain.blocks, turned.blocks, strict=True):
        assert item.measured.y.tolist() == other.measured.y.tolist()
        assert item.smoothed is None or np.allclose(item.smoothed.y, other.smoothed.y if other.smoothed else np.nan)
    assert turned.lower == {"a_1", "b_1"}
    values = np.array([turned.ranges["a_1"].low, turned.ranges["a_1"].high])
    assert turned.scale("a_1", values).tolist() == [101, 1]


def test_smoothed_values_come_back_in_the_unit_of_the_measure(gather_run: Callable[..., GroupedSurvey]) -> None:
    drawing = thinned_lifetime(gather_run(2, 1, ("keeper",), scale=50.0).lifetimes[0])
    (first,) = [item for item in drawing.blocks if item.block.mode == "learn" and item.block.task == "task00"]
    assert first.smoothed is not None
    assert 30 < first.smoothed.y[-1] < 60


def test_experts_stand_beside_the_stitched_learner(gather_run: Callable[..., GroupedSurvey]) -> None:
    drawing = thinned_lifetime(gather_run(2, 1, ("keeper",), rounds=2).lifetimes[0])
    assert [item.task for item in drawing.experts] == ["task00", "task01"]
    assert drawing.experts[0].boundaries == (120,)
    assert [name for name, _ in drawing.experts[0].experts] == ["expert-task00"]


def test_the_interval_of_a_mean_is_students() -> None:
    line = ThinnedCurve(np.arange(3), np.arange(3.0))
    three = ThinnedBlock(0, Block("evaluate", "pong", 3), 0, 3, line, None, mean=2.0, sd=1.0)
    assert three.low is not None
    assert three.high is not None
    assert abs(three.high - 2 - 4.302652729911275 / np.sqrt(3)) < 1e-9  # t(2 df, .975) by hand from a table
    assert abs(three.high + three.low - 4) < 1e-12
    item = msgspec.structs.replace(three, length=1, sd=None)
    assert (item.low, item.high) == (None, None)


@given(st.lists(finite, min_size=1, max_size=400), st.integers(1, 50))
def test_the_extremes_and_both_ends_are_kept(values: list[float], columns: int) -> None:
    array = np.array(values)
    chosen = thinned_indices(array, columns)
    assert array[chosen].max() == array.max()
    assert array[chosen].min() == array.min()
    assert chosen[0] == 0
    assert chosen[-1] == len(array) - 1
    assert (np.diff(chosen) > 0).all() if len(chosen) > 1 else True
    assert len(chosen) <= 2 * columns + 2


@given(st.lists(finite, min_size=1, max_size=300), st.integers(1, 40))
def test_every_column_keeps_its_own_extremes(values: list[float], columns: int) -> None:
    array = np.array(values)
    chosen = thinned_indices(array, columns)
    if len(chosen) == len(array):
        return
    width = -(-len(array) // columns)
    for first in range(0, len(array), width):
        column = array[first : first + width]
        kept = array[chosen[(chosen >= first) & (chosen < first + width)]]
        assert kept.min() == column.min()
        assert kept.max() == column.max()


def test_a_million_points_are_thinned_within_a_tenth_of_a_second() -> None:
    values = np.random.default_rng(0).normal(size=1_000_000)
    values[123_456] = 99.0
    started = time.process_time()
    chosen = thinned_indices(values, 1200)
    assert time.process_time() - started < 0.1
    assert 123_456 in chosen
    assert len(chosen) <= 2402


@given(st.lists(st.integers(1, 1000), max_size=50), st.integers(10, 2000))
def test_every_block_gets_a_column(lengths: list[int], columns: int) -> None:
    shares = columns_for(lengths, columns)
    assert len(shares) == len(lengths)
    assert all(share >= 1 for share in shares)
