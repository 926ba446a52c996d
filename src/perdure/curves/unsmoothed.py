"""Values clamped and scaled but not smoothed, of lives that share their blocks: made where somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array, gathered
from perdure.curves.model import Range, Ranges
from perdure.frozen import frozen
from perdure.scenario.model import Block

__all__ = ["SHORT", "Step", "Unsmoothed", "each_block"]

Step = Callable[[Array, Range | Ranges], Array]
"""Clamps or scales values by the range of their task."""
SHORT = 256
"""Values; a longer block by itself takes no longer for being one of many."""
_TOGETHER = 1 << 14  # values of a life's short blocks that are clamped or scaled in one go


@frozen(eq=False)
class Unsmoothed:
    """Arrays with a row for each life.

    Few ask for all of it: a long block is made when it is asked for, and one that was not smoothed is there already.
    """

    measured: Array
    """Higher is better."""
    prepared: Array
    """Smoothed, clamped, scaled."""
    starts: npt.NDArray[np.int64]
    blocks: Sequence[Block]
    smoothed: frozenset[int]
    """Which blocks were."""
    steps: Sequence[tuple[Step, Mapping[str, Range | Ranges]]]
    """What is done to values, by the range of each task."""
    noise: Array | None = None

    @cached_property
    def whole(self) -> Array:
        """All blocks."""
        values = self.measured
        for step, ranges in self.steps:
            into = np.empty_like(values) if values is self.measured else values
            each_block(self.blocks, self.starts, values, ranges, step, into)
            values = into
        if self.noise is not None:
            values = values + self.noise
        values.flags.writeable = False
        return values

    def of(self, row: int) -> Array:
        """All blocks of one life."""
        one: Array = self.whole[row]
        return one

    def over(self, blocks: tuple[int, ...]) -> Array:
        """The blocks stitched, of every life."""
        index = blocks[0]
        span = slice(self.starts[index], self.starts[index + 1])
        if len(blocks) > 1 or span.stop - span.start < SHORT:
            return gathered(self.whole, self.starts, blocks)
        if index not in self.smoothed:
            return self.prepared[:, span]
        values = self.measured[:, span]
        for step, ranges in self.steps:
            values = step(values, ranges[self.blocks[index].task])
        if self.noise is not None:
            values = values + self.noise[:, span]
        values.flags.writeable = False
        return values


def each_block(
    blocks: Sequence[Block],
    starts: npt.NDArray[np.int64],
    values: Array,
    ranges: Mapping[str, Range | Ranges],
    step: Step,
    into: Array,
) -> None:
    """Put what `step` makes of each block of `values`, given its task's range, there; they may be the same.

    Short blocks are taken together, because a life may have a hundred thousand.
    """
    lows, highs = (
        np.concatenate(np.broadcast_arrays(*(np.atleast_2d(edge) for edge in edges)), axis=1)
        for edges in ([one.low for one in ranges.values()], [one.high for one in ranges.values()])
    )
    numbers = {task: number for number, task in enumerate(ranges)}
    column = np.array([numbers[block.task] for block in blocks])
    first = 0
    while first < len(blocks):
        last = first + 1
        if starts[last] - starts[first] < SHORT:
            last = max(last, int(np.searchsorted(starts, starts[first] + _TOGETHER, side="right")) - 1)
        span = slice(starts[first], starts[last])
        if last == first + 1:
            limits = ranges[blocks[first].task]
        else:
            lengths, of = np.diff(starts[first : last + 1]), column[first:last]
            limits = Ranges(np.repeat(lows[:, of], lengths, axis=1), np.repeat(highs[:, of], lengths, axis=1))
        into[:, span] = step(values[:, span], limits)
        first = last
