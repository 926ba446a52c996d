"""Levels, slopes and moments of a sequence of values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_ENOUGH = 20  # different values, which two lifetimes do not share by chance
_GLANCE = 1 << 10  # values among which nearly always enough differ


def mean(values: Array) -> float:
    """Return the mean; for short blocks in a third of the time of `values.mean()`."""
    return float(np.add.reduce(values)) / len(values)


def terminal(values: Array) -> float:
    """Return the mean of the last tenth, from index `9n div 10` on."""
    return mean(values[9 * len(values) // 10 :])


def start(values: Array) -> float:
    """Return the mean of the first tenth, at least one value."""
    return mean(values[: max(1, len(values) // 10)])


def late(values: Array) -> float:
    """Return the mean of the tenth before the last; below ten values, of the last tenth."""
    count = len(values)
    return mean(values[8 * count // 10 : 9 * count // 10]) if count >= 10 else terminal(values)


def near(target: float) -> float:
    """Return the value from which `target` counts as reached, so that rounding decides nothing."""
    return target - 1e-9 * max(1.0, abs(target))


class Moments(msgspec.Struct, frozen=True):
    """Sums over successive values that determine their least-squares line."""

    length: int
    first: float
    above: float
    """Sum of the differences from the first value."""
    turned: float
    """Sum of these differences times their index, counted from the middle."""
    squares: float
    """Sum of the squared differences."""

    @property
    def slope(self) -> float:
        """Least-squares slope over the index; 0 for fewer than two values."""
        return self.turned * 12 / _spread(self.length) if self.length > 1 else 0.0

    @property
    def slope_error(self) -> float:
        """Standard error of the slope, for three values or more."""
        left = self.squares - self.above * self.above / self.length - self.slope * self.turned
        return math.sqrt(max(left, 0.0) / (self.length - 2) * 12 / _spread(self.length))


def _spread(count: int) -> float:
    """Return twelve times the sum of squared deviations of 0 … count − 1 from their mean."""
    return float(count) * (float(count) * count - 1)


def moments(values: Array) -> Moments:
    """Return the moments of one value or more."""
    above = values - values[0]  # so that equal values have a slope of exactly 0
    index = np.arange(len(values), dtype=np.float64) - (len(values) - 1) / 2
    return Moments(len(values), float(values[0]), float(above.sum()), dot(index, above), dot(above, above))


def slope(values: Array) -> float:
    """Return the least-squares slope over the index; 0 for fewer than two values."""
    return moments(values).slope


def slope_through(pieces: Sequence[Moments]) -> float:
    """Return the least-squares slope of several pieces joined; 0 for fewer than two values."""
    count = sum(piece.length for piece in pieces)
    if count < 2:
        return 0.0
    total, passed = 0.0, 0
    for piece in pieces:
        behind = passed + (piece.length - count) / 2
        total += piece.turned + behind * (piece.above + piece.length * (piece.first - pieces[0].first))
        passed += piece.length
    return total * 12 / _spread(count)


def deviations(values: Array) -> tuple[float, float]:
    """Return the sums of squared deviations from the mean, and of products of neighbouring deviations."""
    if not len(values):
        return 0.0, 0.0
    away = values - mean(values)
    return dot(away, away), dot(away[1:], away[:-1])


def dot(first: Array, second: Array) -> float:
    """Return the sum of the products.

    BLAS (`@`) gives long vectors to threads that then spin and take a core from the other processes.
    """
    return float((first * second).sum())


def gathered(values: Array, starts: npt.NDArray[np.int64], blocks: Sequence[int]) -> Array:
    """Return the values of the blocks, joined; the values of a single block are a view."""
    if len(blocks) == 1:
        return values[starts[blocks[0]] : starts[blocks[0] + 1]]
    joined = np.concatenate([values[starts[index] : starts[index + 1]] for index in blocks]) if blocks else values[:0]
    joined.flags.writeable = False  # formulas share it
    return joined


def many_differ(values: Array) -> bool:
    """Return whether enough values differ that the same values elsewhere are a copy."""
    if len(np.unique(values[:_GLANCE])) >= _ENOUGH:
        return True
    return len(values) > _GLANCE and len(np.unique(values)) >= _ENOUGH
