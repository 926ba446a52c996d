"""Stretches: the blocks of a lifetime as they are drawn, their numbers in one array where many lifetimes are kept."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.frozen import frozen
from perdure.metrics.engine.compact import Common
from perdure.scenario.model import Block
from perdure.stats.interval import t_interval
from perdure.stats.model import LEVEL

__all__ = ["Line", "Stretch", "Stretches"]

Places = npt.NDArray[np.int64]


@frozen(eq=False)
class Line:
    """A thinned curve: where, and how high."""

    x: Places
    y: Array
    steps: Array | None = None
    """The steps taken before each point, where the log counts them."""


@frozen(eq=False)
class Stretch:
    """One block as drawn; values are as measured, counted from the lifetime's first experience."""

    index: int
    block: Block
    first: int
    length: int
    measured: Line
    smoothed: Line | None
    """Learning blocks only."""
    mean: float
    sd: float | None
    """Over the block's experiences; None for a single one."""
    steps: tuple[float, float] | None = None
    """Steps taken before the block, and after it."""

    @property
    def low(self) -> float | None:
        """The lower end of the mean's 95 % t interval; None for a single experience."""
        return None if self.sd is None else self.mean - _reach(self.length) * self.sd

    @property
    def high(self) -> float | None:
        """The upper end."""
        return None if self.sd is None else self.mean + _reach(self.length) * self.sd


@lru_cache(maxsize=256)
def _reach(count: int) -> float:
    """Half the 95 % t interval of a mean of `count` values, in standard deviations."""
    return float(t_interval(0.0, 1.0, count, LEVEL)[1])


@frozen(slots=True)
class _Outlines(Common):
    """Everything of the stretches of a lifetime but their numbers."""

    each: tuple[tuple[int, Block, int, int], ...]
    """Index, block, first and length."""
    lines: tuple[int, ...]
    """How many lines each has."""
    spread: tuple[bool, ...]
    stepped: tuple[bool, ...]


class Stretches(Sequence[Stretch]):
    """The stretches of one lifetime, as a tuple has them; what those of other lifetimes have too is held once."""

    __slots__ = ("_ends", "_numbers", "_outlines")

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self._outlines = _Outlines.of(
            tuple((one.index, one.block, one.first, one.length) for one in stretches),
            tuple(len(_lines(one)) for one in stretches),
            tuple(one.sd is not None for one in stretches),
            tuple(one.steps is not None for one in stretches),
        )
        numbers = [_numbers(one) for one in stretches]
        self._ends = array("q", accumulate(map(len, numbers), initial=0))
        self._numbers = np.concatenate(numbers) if numbers else np.empty(0)

    def __getstate__(self) -> Any:
        return self._outlines, self._ends, self._numbers

    def __setstate__(self, state: Any) -> None:
        self._outlines, self._ends, self._numbers = state

    @overload
    def __getitem__(self, at: int) -> Stretch: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Stretch, ...]: ...
    def __getitem__(self, at: int | slice) -> Stretch | tuple[Stretch, ...]:
        if isinstance(at, slice):
            return tuple(self[one] for one in range(len(self))[at])
        at, known = range(len(self))[at], self._outlines
        index, block, first, length = known.each[at]
        numbers, lines, stepped = self._numbers[self._ends[at] : self._ends[at + 1]], known.lines[at], known.stepped[at]
        after = lines + 1 + known.spread[at] + 2 * stepped
        mean, *few = numbers[lines:after].tolist()
        drawn: list[Line] = []
        for count in map(int, numbers[:lines].tolist()):
            thin = count < length
            parts = numbers[after : after + count * (thin + 1 + stepped)].reshape(-1, count)
            x = parts[0].astype(np.int64) if thin else np.arange(length, dtype=np.int64)
            drawn.append(Line(x, *parts[int(thin) :]))
            after += parts.size
        sd = few.pop(0) if known.spread[at] else None
        steps = (few[0], few[1]) if stepped else None
        smoothed = drawn[1] if lines > 1 else None
        return Stretch(index, block, first, length, drawn[0], smoothed, mean, sd, steps)

    def __iter__(self) -> Iterator[Stretch]:
        return (self[at] for at in range(len(self)))

    def __len__(self) -> int:
        return len(self._outlines.each)


def _lines(one: Stretch) -> tuple[Line, ...]:
    return (one.measured,) if one.smoothed is None else (one.measured, one.smoothed)


def _numbers(one: Stretch) -> Array:
    """How many points its lines have, mean, spread, steps; then of each line where they are, how high, and the steps.

    A line that has all points needs no places.
    """
    few = [one.mean, *(() if one.sd is None else (one.sd,)), *(one.steps or ())]
    parts = [
        part
        for line in _lines(one)
        for part in (line.x if len(line.x) < one.length else None, line.y, line.steps)
        if part is not None
    ]
    return np.concatenate([[len(line.x) for line in _lines(one)], few, *parts])
