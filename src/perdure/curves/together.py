"""Curves as rows of one array: the same blocks of many lives, or short blocks of one life that are as long.

A formula sees a `Curve` as ever. What it asks of it, a mean or a peak, is computed for all rows when the first one is
asked: thousands of short lives or blocks then cost little more than a long one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array, gathered, mean
from perdure.curves.model import Curve, Curves
from perdure.curves.unsmoothed import SHORT
from perdure.scenario.model import Block

__all__ = ["Rows", "Together", "over_each", "short_blocks"]


class Rows:
    """The same place in many lives, or places of one length in one life, a row each.

    It holds what their curves were told, and not the curves, which hold it: arrays go when the last who uses them
    goes, and do not wait until Python looks for cycles.
    """

    def __init__(
        self,
        values: Array,
        raw: Callable[[], Array],
        extents: Sequence[float],
        floor: float | None = None,
        at: Sequence[int] | None = None,
    ) -> None:
        """`at` says which rows of the values they are, where they are not all."""
        self.at = at
        self.values = values
        self.raw = cache(raw)
        self.extents = extents
        self.floor = floor
        self._first: dict[int, Sequence[Curve]] = {}
        self._told: list[dict[str, Any]] = []

    def every(self, *, raw: bool) -> Array:
        """All of them."""
        values = self.raw() if raw else self.values
        return values if self.at is None else values[self.at]

    def of(self, row: int, *, raw: bool) -> Array:
        """One of them."""
        one: Array = (self.raw() if raw else self.values)[row if self.at is None else self.at[row]]
        return one

    def curves(self) -> Sequence[Curve]:
        """One curve per row, for whoever holds them all."""
        made = [_row(self, row) for row in range(len(self.extents))]
        self._told = [one.__dict__ for one in made]
        return made

    def tell(self, name: str, found: Sequence[Any]) -> None:
        """Keep what was found for each row in its curve."""
        for told, one in zip(self._told, found, strict=True):
            told[name] = one

    def first(self, count: int) -> Sequence[Curve]:
        """The first `count` experiences of each row, which has more."""
        if count not in self._first:
            raw = self.raw  # not this itself, which will hold them
            part = self.values[:, :count], lambda: raw()[:, :count]
            self._first[count] = Rows(*part, self.extents, self.floor, self.at).curves()
        return self._first[count]


class _Row(Curve):
    """One curve among those of many; what is made of it, a copy or another with other values, stands alone."""

    __slots__ = ("_row", "_rows")  # and in its dictionary nothing but what it was told
    _row: int
    _rows: Rows

    def __new__(cls, *given: Any, **named: Any) -> Curve:  # type: ignore[misc]  # as `replace` makes another
        return Curve(*given, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return Curve, (self.values, self.raw, self.range, self.floor)

    @property
    def values(self) -> Array:
        return self._rows.of(self._row, raw=False)

    @property
    def raw(self) -> Array:
        return self._rows.of(self._row, raw=True)

    @property
    def range(self) -> float:
        return self._rows.extents[self._row]

    @property
    def floor(self) -> float | None:
        return self._rows.floor

    def __len__(self) -> int:
        return int(self._rows.values.shape[-1])

    def _told(self, name: str, of: Callable[[Array], Any], *, raw: bool = False) -> Any:
        """What `of` says of the values of all rows, kept in the curve of each."""
        rows = self._rows
        found = of(rows.every(raw=raw))
        several = isinstance(found, tuple)
        told = list(zip(*(one.tolist() for one in found), strict=True)) if several else found.tolist()
        rows.tell(name, told)
        return told[self._row]

    def first(self, count: int) -> Curve:
        return self._rows.first(count)[self._row] if count < len(self) else self


def _row(rows: Rows, row: int) -> _Row:
    """Not made by Curve: its fields are looked up when they are asked for, which few of them are."""
    made = object.__new__(_Row)
    object.__setattr__(made, "_rows", rows)
    object.__setattr__(made, "_row", row)
    return made


class Together:
    """Lives of the same blocks, prepared as one array; `Curves.among` of each of them."""

    def __init__(
        self,
        values: Array,
        raw: Callable[[tuple[int, ...]], Array],
        measured: Array,
        starts: npt.NDArray[np.int64],
        extents: Sequence[Sequence[float]],
        floor: float | None = None,
    ) -> None:
        """`raw` gives blocks that are not smoothed; `extents` has the width of the range of each block's task on the
        prepared scale, life by life.
        """
        self.floor = floor
        self.values = values
        self.raw = raw
        self.measured = measured
        self.starts = starts
        self.extents = extents
        self._over: dict[tuple[int, ...], Sequence[Curve]] = {}
        self._means: dict[int, list[float]] = {}

    def over(self, blocks: tuple[int, ...]) -> Sequence[Curve]:
        """The blocks stitched together, of every life."""
        if blocks not in self._over:
            values, raw = gathered(self.values, self.starts, blocks), partial(self.raw, blocks)
            self._over[blocks] = Rows(values, raw, self.extents[blocks[0]], self.floor).curves()
        return self._over[blocks]

    def measured_means(self, block: int) -> Sequence[float]:
        """The mean of one block's values as measured, of every life."""
        if block not in self._means:
            self._means[block] = mean(gathered(self.measured, self.starts, (block,))).tolist()
        return self._means[block]


def over_each(lives: Sequence[Curves], blocks: tuple[int, ...]) -> Sequence[Curve]:
    """The blocks stitched together, of each of several lives that share their blocks."""
    among = lives[0].among
    found = among.over(blocks) if among is not None else ()
    return [found[one.row] if found and one.among is among else one.over(blocks) for one in lives]


def short_blocks(
    values: Array,
    raw: Callable[[], Array],
    starts: npt.NDArray[np.int64],
    blocks: Sequence[Block],
    extents: Sequence[Sequence[float]],
    floor: float | None = None,
) -> dict[int, Curve]:
    """The curves of one life's short blocks, of which there may be a hundred thousand.

    Those of one mode and length are rows of one array: of learning and of evaluations different things are asked.
    """
    alike: dict[tuple[str, int], list[int]] = {}
    for index, (block, length) in enumerate(zip(blocks, np.diff(starts).tolist(), strict=True)):
        if 0 < length < SHORT:
            alike.setdefault((block.mode, length), []).append(index)
    found: dict[int, Curve] = {}
    for (_, length), some in alike.items():
        own = [extents[index][0] for index in some]
        rows = Rows(_windows(values, length), partial(_raw_windows, raw, length), own, floor, starts[some].tolist())
        found.update(zip(some, rows.curves(), strict=True))
    return found


def _windows(values: Array, length: int) -> Array:
    """What stands from each place on, as a view."""
    return np.lib.stride_tricks.sliding_window_view(values, length)


def _raw_windows(raw: Callable[[], Array], length: int) -> Array:
    return _windows(raw(), length)
