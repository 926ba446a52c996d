"""A curve that is a row among many says of itself what it says alone, and goes when nobody holds it any more."""

from __future__ import annotations

import gc
from weakref import ref

import numpy as np
import pytest

from perdure.curves.build import curves
from perdure.curves.model import Curve, Curves, Prep
from perdure.metrics.engine.contract import lifetime_of
from perdure.scenario.model import Block

TOLD = ("mean", "terminal", "peak", "until_peak", "total", "slope", "raw_start", "raw_moments", "raw_deviations")


def life(lengths: list[int], scale: str = "task") -> Curves:
    """A life of such blocks, learned and evaluated in turn."""
    blocks = [Block("evaluate" if at % 3 else "learn", "ab"[at % 2], length) for at, length in enumerate(lengths)]
    return curves(lifetime_of(blocks, np.random.default_rng(len(lengths))), Prep(scale=scale))  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", ["task", "none"])
def test_a_short_block_among_others_says_what_it_says_alone(scale: str) -> None:
    lengths = [*range(1, 270), *range(269, 0, -1), *range(1, 270, 3)]
    lived = life(lengths, scale)
    for index, length in enumerate(lengths):
        among = lived.over((index,))
        values, raw = lived.prepared.over((index,))
        alone = Curve(values, raw, lived.extent((index,)), among.floor)
        assert len(among) == length
        assert np.shares_memory(among.values, lived.values)
        assert among.values.tolist() == values.tolist()
        assert among.raw.tolist() == raw.tolist()
        assert {name: getattr(among, name) for name in TOLD} == {name: getattr(alone, name) for name in TOLD}
        assert (among.range, among.floor) == (alone.range, 1.0 if scale == "task" else None)
        for count in (1, 7, 300):
            assert among.first(count).values.tolist() == values[:count].tolist()
            assert among.first(count).raw_start == alone.first(count).raw_start
            assert among.first(count).mean == alone.first(count).mean


def test_curves_of_a_life_go_with_it_unsearched() -> None:
    lived = life([10] * 30)
    assert sum(lived.over((index,)).mean for index in range(30))
    held = ref(lived.over((3,)))
    gc.disable()
    try:
        del lived
        assert held() is None
    finally:
        gc.enable()
