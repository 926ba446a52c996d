"""Matrices of very many tasks, folded: neighbours share a row and a column, so that a page stays small."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perdure.curves.arrays import Array
from perdure.frozen import frozen

__all__ = ["Fold"]


@frozen
class Fold:
    """How many neighbouring tasks share a row."""

    width: int = 1

    @classmethod
    def of(cls, tasks: int, most: int | None) -> Fold:
        """What folds `tasks` into at most `most` rows; nothing where that is not asked for or not needed."""
        return cls(1 if most is None else max(1, -(-tasks // most)))

    @property
    def note(self) -> str:
        """What a reader should know of it; nothing where nothing is folded."""
        return f"; {self.width} neighbouring tasks share a row and a column, and a cell is their mean" * (
            self.width > 1
        )

    def tasks(self, names: Sequence[str]) -> tuple[str, ...]:
        """What the rows are called."""
        if self.width == 1:
            return tuple(names)
        ends = ((part[0], part[-1]) for part in _parts(names, self.width))
        return tuple(first if first == last else f"{first} … {last}" for first, last in ends)

    def means(self, cells: Array) -> Array:
        """The mean of the cells that are known, NaN where none is."""
        if self.width == 1:
            return cells
        known = ~np.isnan(cells)
        count = self._sums(known.astype(np.float64))
        total = self._sums(np.where(known, cells, 0.0))
        means: Array = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
        return means

    def most(self, counts: Array) -> Array:
        """The largest count of those that share a cell."""
        if self.width == 1:
            return counts
        starts = np.arange(0, len(counts), self.width)
        return np.maximum.reduceat(np.maximum.reduceat(counts, starts, axis=0), starts, axis=1)

    def _sums(self, cells: Array) -> Array:
        starts = np.arange(0, len(cells), self.width)
        return np.add.reduceat(np.add.reduceat(cells, starts, axis=0), starts, axis=1)


def _parts(names: Sequence[str], width: int) -> list[Sequence[str]]:
    return [names[at : at + width] for at in range(0, len(names), width)]
