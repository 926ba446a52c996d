"""A curve that is a row among many says of itself what it says alone, and goes when nobody holds it any more."""

from __future__ import annotations

import copy
import gc
import pickle
from weakref import ref

import numpy as np
import pytest

from perdure.curves.build import curves
from perdure.curves.model import Curve, Curves, Prep
from perdure.curves.together import Rows
from perdure.frozen import replace
from perdure.metrics.engine.contract import lifetime_of, random_blocks
from perdure.metrics.engine.scorer import Scorer
from perdure.metrics.engine.settings import Settings
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


def test_a_short_block_among_others_is_copied_changed_and_sent_as_one_alone() -> None:
    lived = life([5, 10, 5, 10, 300])
    for index in range(5):
        one = lived.over((index,))
        for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)), replace(one, floor=None)):
            assert (other.values.tolist(), other.raw.tolist()) == (one.values.tolist(), one.raw.tolist())
            assert (other.range, other.mean) == (one.range, one.mean)
        assert replace(one, values=one.values[:2], raw=one.raw[:2]).total == one.first(2).total
    sent = pickle.loads(pickle.dumps(lived))
    assert [sent.over((index,)).mean for index in range(5)] == [lived.over((index,)).mean for index in range(5)]


def test_curves_of_a_life_go_with_it_unsearched() -> None:
    lived = life([10] * 30)
    assert sum(lived.over((index,)).mean + lived.over((index,)).first(3).raw_start for index in range(30))
    held = ref(lived.over((3,)))
    gc.disable()
    try:
        del lived
        assert held() is None
    finally:
        gc.enable()


def test_a_curve_among_many_is_told_what_it_would_be_told_alone() -> None:
    values, raw = np.random.default_rng(0).normal(size=(2, 4, 30))
    made = Rows(values, lambda: raw, [1.0, 2.0, 3.0, 4.0], 0.0).curves()
    for count in (30, 40, 7, 1):
        for row, one in enumerate(made):
            among, alone = one.first(count), Curve(values[row], raw[row], row + 1.0, 0.0).first(count)
            assert len(among) == len(alone)
            assert (among.range, among.floor) == (alone.range, alone.floor)
            for name in TOLD:
                assert getattr(among, name) == getattr(alone, name), name


def test_what_lives_were_scored_from_goes_before_python_looks_for_cycles() -> None:
    blocks = random_blocks(np.random.default_rng(1))
    lives = [lifetime_of(blocks, np.random.default_rng(seed), name=f"life {seed}") for seed in range(3)]
    gc.disable()
    try:
        held: list[ref[object]] = []
        for _, lived in Scorer(Settings()).scored_together((one, None) for one in lives):
            assert lived.among is not None
            assert [one.first(1).raw for one in lived.among.over((0,))]
            held += [ref(lived.among), ref(lived.among.over((0,))[0])]
            del lived
        assert len(held) == 6
        assert all(one() is None for one in held)
    finally:
        gc.enable()
