"""What arrays of values come to, each row by itself: means, ends, slopes, and blocks stitched together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "Array",
    "Moments",
    "centred_index",
    "dot",
    "gathered",
    "late",
    "mean",
    "near",
    "slope",
    "slope_through",
    "start",
    "terminal",
]

Array = npt.NDArray[np.float64]
_AT_ONCE = 1 << 16  # values looked at in one go where many are, so that nothing of their length is made


def slope(values: Array) -> Any:
    """The least-squares slope of values over their index; 0 for fewer than two."""
    count = values.shape[-1]
    if count < 2:
        return np.zeros(values.shape[:-1])[()]
    return _moments(values)[1] * 12 / (count * (count * count - 1))


def _moments(values: Array) -> tuple[Any, Any]:
    """How far the values lie above the first one, summed; and summed by their index, counted from its middle."""
    count = values.shape[-1]
    above, turned = 0.0, 0.0
    for passed in range(0, count, _AT_ONCE):
        part = values[..., passed : passed + _AT_ONCE] - values[..., :1]  # so that equal values have a slope of 0
        length, total = part.shape[-1], part.sum(axis=-1)
        behind = passed + (length - count) / 2  # how far the middle of this part lies from the middle of all
        above = above + total
        turned = turned + (dot(centred_index(length), part) + behind * total)
    return above, turned


class Moments(NamedTuple):
    """What the slope of values needs to know of some of them, which follow one another."""

    length: float
    first: float
    above: float
    turned: float

    @classmethod
    def of(cls, values: Array) -> Moments:
        """Those of one row."""
        return cls(len(values), float(values[0]), *map(float, _moments(values)))


def slope_through(pieces: Sequence[Moments]) -> float:
    """The least-squares slope of values over their index, told piece by piece; 0 for fewer than two."""
    lengths, firsts, above, turned = np.fromiter(chain.from_iterable(pieces), np.float64).reshape(-1, 4).T
    count = int(lengths.sum())
    if count < 2:
        return 0.0
    behind = np.cumsum(lengths) - lengths + (lengths - count) / 2
    total = turned + behind * (above + lengths * (firsts - firsts[0]))
    return float(total.sum() * 12 / (count * (count * count - 1)))


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
    return target - 1e-9 * np.maximum(1.0, np.abs(target))


def dot(first: Array, second: Array) -> Any:
    """The sum of the products.

    Not by `@`: BLAS shares long vectors with threads that then spin, and keep a core from the process beside this.
    """
    return (first * second).sum(axis=-1)


@lru_cache(maxsize=4)
def centred_index(count: int) -> Array:
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
