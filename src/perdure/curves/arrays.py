"""What arrays of values come to, each row by itself: means, ends, slopes, and blocks stitched together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "Array",
    "Moments",
    "deviations",
    "dot",
    "gathered",
    "late",
    "mean",
    "moments",
    "near",
    "peak",
    "slope",
    "slope_through",
    "start",
    "terminal",
    "total",
    "until_peak",
]

Array = npt.NDArray[np.float64]
_AT_ONCE = 1 << 16  # values looked at in one go where many are, so that nothing of their length is made


def slope(values: Array) -> Any:
    """The least-squares slope of values over their index; 0 for fewer than two."""
    return _slope(moments(values)[3], values.shape[-1])


def _slope(turned: Any, count: float) -> Any:
    return turned * 12 / (count * (count * count - 1)) if count > 1 else turned * 0.0


def moments(values: Array) -> tuple[Any, ...]:
    """The numbers of `Moments`."""
    count, first = values.shape[-1], values[..., :1]
    above: Any = 0.0
    turned: Any = 0.0
    squares: Any = 0.0
    for passed in range(0, count, _AT_ONCE):
        part = values[..., passed : passed + _AT_ONCE] - first  # so that equal values have a slope of 0
        length, total = part.shape[-1], part.sum(axis=-1)
        behind = passed + (length - count) / 2  # how far the middle of this part lies from the middle of all
        above = above + total
        turned = turned + (dot(_centred_index(length), part) + behind * total)
        squares = squares + np.multiply(part, part, out=part).sum(axis=-1)
    return above * 0.0 + count, first[..., 0], above, turned, squares


class Moments(NamedTuple):
    """What slopes need to know of values that follow one another."""

    length: float
    first: float
    above: float
    """How far they lie above the first one, summed; …"""
    turned: float
    """… summed by their index, counted from its middle; …"""
    squares: float
    """… and squared, summed."""

    @property
    def slope(self) -> float:
        """The least-squares slope over their index; 0 for fewer than two."""
        return float(_slope(self.turned, self.length))

    @property
    def slope_error(self) -> float:
        """The standard error of that slope; of three values or more."""
        # What is left of the squares cancels only where the line is all there is: the first value is one of them.
        left = self.squares - self.above * self.above / self.length - self.slope * self.turned
        count = self.length
        return math.sqrt(max(left, 0.0) / (count - 2) * 12 / (count * (count * count - 1)))


def slope_through(pieces: Sequence[Moments]) -> float:
    """The least-squares slope of values over their index, told piece by piece; 0 for fewer than two."""
    lengths, firsts, above, turned, _ = np.array(pieces).T
    count = int(lengths.sum())
    if count < 2:
        return 0.0
    behind = np.cumsum(lengths) - lengths + (lengths - count) / 2
    total = turned + behind * (above + lengths * (firsts - firsts[0]))
    return float(total.sum() * 12 / (count * (count * count - 1)))


def peak(values: Array) -> Any:
    """The largest value."""
    return values.max(axis=-1)


def until_peak(values: Array) -> Any:
    """How many experiences it takes to reach the largest value, up to rounding, counted from 1."""
    return (values >= near(peak(values))[..., np.newaxis]).argmax(axis=-1) + 1


def total(values: Array) -> Any:
    """The sum of all values."""
    return values.sum(axis=-1)


def deviations(values: Array) -> tuple[Any, Any]:
    """The squared deviations from the mean, and the products of neighbouring ones, summed."""
    if not values.shape[-1]:
        return total(values), total(values)
    away = values - mean(values)[..., np.newaxis]
    return dot(away, away), dot(away[..., 1:], away[..., :-1])


def mean(values: Array) -> Any:
    """What `values.mean()` says, in a third of the time for a short block: there are thousands of them."""
    return np.add.reduce(values, axis=-1) / values.shape[-1]


def terminal(values: Array) -> Any:
    """The mean of the last tenth, from index `9n div 10` on."""
    return mean(values[..., 9 * values.shape[-1] // 10 :])


def start(values: Array) -> Any:
    """The mean of the first tenth, which is one value or more."""
    return mean(values[..., : max(1, values.shape[-1] // 10)])


def late(values: Array) -> Any:
    """The mean of the tenth before the last; of fewer than ten values, what `terminal` says."""
    count = values.shape[-1]
    return mean(values[..., 8 * count // 10 : 9 * count // 10]) if count >= 10 else terminal(values)


def near(target: Any) -> Any:
    """From where on a value counts as having reached `target`, so that rounding decides nothing."""
    most = max(1.0, abs(target)) if isinstance(target, float) else np.maximum(1.0, np.abs(target))
    return target - 1e-9 * most


def dot(first: Array, second: Array) -> Any:
    """The sum of the products.

    Not by `@`: BLAS shares long vectors with threads that then spin, and keep a core from the process beside this.
    """
    return (first * second).sum(axis=-1)


@lru_cache(maxsize=4)
def _centred_index(count: int) -> Array:
    """The numbers 0 … count − 1, less their mean; blocks of a life often share their length."""
    index = np.arange(count, dtype=np.float64) - (count - 1) / 2
    index.flags.writeable = False
    return index


def gathered(values: Array, starts: npt.NDArray[np.int64], blocks: Sequence[int]) -> Array:
    """The values of the blocks, stitched along the last axis; those of a single block are a view."""
    if len(blocks) == 1:
        return values[..., starts[blocks[0]] : starts[blocks[0] + 1]]
    stitched = np.concatenate([values[..., starts[index] : starts[index + 1]] for index in blocks], axis=-1)
    stitched.flags.writeable = False  # other formulas may read it too
    return stitched
