"""Curves of many lives that share their blocks: one array, a row per life, and every summary of all rows at once.

A formula sees a `Curve` of one life as ever. What it asks of it, a mean or a peak, is computed for all lives when the
first one asks: thousands of short lives then cost little more than one long one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array, gathered, mean
from perdure.curves.model import Curve, Curves

__all__ = ["Rows", "Together", "over_each"]


class Rows:
    """The same place in many lives, a row each."""

    def __init__(
        self, values: Array, raw: Callable[[], Array], extents: Sequence[float], floor: float | None = None
    ) -> None:
        self.values = values
        self._raw = raw
        self.extents = extents
        self.floor = floor
        self._first: dict[int, Rows] = {}

    @cached_property
    def raw(self) -> Array:
        """The same, not smoothed."""
        return self._raw()

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """One curve per life."""
        return tuple(_Row(self, row) for row in range(len(self.values)))

    def first(self, count: int) -> Rows:
        """The first `count` experiences of each row."""
        if count >= self.values.shape[-1]:
            return self
        if count not in self._first:
            self._first[count] = Rows(self.values[:, :count], lambda: self.raw[:, :count], self.extents, self.floor)
        return self._first[count]


class _Row(Curve):
    """One life's curve among those of many."""

    def __init__(self, rows: Rows, row: int) -> None:
        # Not Curve's own: its fields are looked up when they are asked for, which few of them are.
        self.__dict__["_rows"] = rows
        self.__dict__["_row"] = row

    _rows: Rows
    _row: int

    @property
    def values(self) -> Array:
        row: Array = self._rows.values[self._row]
        return row

    @property
    def raw(self) -> Array:
        row: Array = self._rows.raw[self._row]
        return row

    @property
    def range(self) -> float:
        return self._rows.extents[self._row]

    @property
    def floor(self) -> float | None:
        return self._rows.floor

    def __len__(self) -> int:
        return int(self._rows.values.shape[-1])

    def _told(self, name: str, of: Callable[[Array], Any], *, raw: bool = False) -> Any:
        """What `of` says of the values of all lives, kept in the curve of each."""
        rows = self._rows
        found = of(rows.raw if raw else rows.values)
        several = isinstance(found, tuple)
        told = list(zip(*(one.tolist() for one in found), strict=True)) if several else found.tolist()
        for curve, one in zip(rows.curves, told, strict=True):
            curve.__dict__[name] = one
        return told[self._row]

    def first(self, count: int) -> Curve:
        return self._rows.first(count).curves[self._row]


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
        self._over: dict[tuple[int, ...], tuple[Curve, ...]] = {}
        self._means: dict[int, list[float]] = {}

    def over(self, blocks: tuple[int, ...]) -> Sequence[Curve]:
        """The blocks stitched together, of every life."""
        if blocks not in self._over:
            values, raw = gathered(self.values, self.starts, blocks), partial(self.raw, blocks)
            self._over[blocks] = Rows(values, raw, self.extents[blocks[0]], self.floor).curves
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
