"""Fewer points that look the same: the lowest and the highest of each column of pixels are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

__all__ = ["columns_for", "thinned"]


def thinned(values: npt.NDArray[np.float64], columns: int) -> npt.NDArray[np.int64]:
    """The indices to draw: at most two per column and both ends, in order; no extreme is lost.

    A line through the chosen points covers the same pixels as one through all of them, as long as
    the picture is no wider than `columns`.
    """
    count = len(values)
    if count <= 2 * columns + 2:
        return np.arange(count, dtype=np.int64)
    width = -(-count // columns)
    rows = -(-count // width)
    padded = np.full(rows * width, values[-1])
    padded[:count] = values
    table = padded.reshape(rows, width)
    first = np.arange(rows) * width
    chosen = np.concatenate([first + table.argmin(axis=1), first + table.argmax(axis=1), [0, count - 1]])
    return np.unique(np.minimum(chosen, count - 1)).astype(np.int64)


def columns_for(lengths: Sequence[int], columns: int) -> list[int]:
    """How many of `columns` each block gets: by its length, and at least one."""
    total = sum(lengths)
    return [max(1, round(columns * length / total)) for length in lengths] if total else [1] * len(lengths)
