"""Arithmetic on arrays of values: smooth, clamp and scale them, and take their levels, slopes and moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.errors import PerdureError, UnknownNameError
from perdure.scenario.model import Block

Array = npt.NDArray[np.float64]
LOWEST, SCALED = 1.0, 100.0
"""A task's range is mapped onto 1 … 101, as in l2metrics: differences are points of a hundred, and ratios to the
lowest value exist."""
_NO_WIDTH = 1e-12  # relative width below which a range counts as constant
Window = Literal["flat", "hanning", "hamming", "bartlett", "blackman", "none"]
Scale = Literal["task", "run", "none"]
Alignment = Literal["centred", "lagging"]
Starts = npt.NDArray[np.int64]


class Range(msgspec.Struct, frozen=True):
    """Range of one task's values before scaling."""

    low: float
    high: float
    given: bool = False
    """Whether it was given or recorded, not found in the data."""

    @property
    def constant(self) -> bool:
        """Whether every value is the same, up to rounding, so that there is nothing to scale."""
        return bool(self.high - self.low <= _NO_WIDTH * max(abs(self.low), abs(self.high)))


# --- smooth, clamp, scale -------------------------------------------------------------------------

WINDOWS: Mapping[str, Callable[[int], Array]] = {
    "flat": np.ones,
    "hanning": np.hanning,
    "hamming": np.hamming,
    "bartlett": np.bartlett,
    "blackman": np.blackman,
}

WIDEST = 100
"""The default window is a fifth of the block, and at most this wide."""


def width_for(length: int, width: float | None = None) -> int:
    """Return the window for a block of `length`: the requested one, or a fifth of the block up to 100.

    A window longer than the block falls back to that fifth; one shorter than 3 smooths nothing.
    """
    if width is not None and width < 1:
        return int(width * length)
    return min(length // 5, WIDEST) if width is None or width > length else int(width)


def smooth(
    values: Array,
    starts: Starts,
    blocks: Sequence[int],
    *,
    window: Window = "flat",
    width: float | None = None,
    alignment: Alignment = "centred",
) -> Array:
    """Smooth each of some blocks of values separately.

    A centred window leaves a straight ramp unchanged away from the edges: for even widths the two half-shifted windows
    are averaged. Edges are reflected without repeating the edge sample.

    Parameters
    ----------
    values
        Values of all blocks, one after the other.
    starts
        Index of the first value of each block, and the number of all values.
    blocks
        Indices of the blocks to smooth.
    window
        Shape of the window: ``"flat"``, ``"hanning"``, ``"hamming"``, ``"bartlett"``, ``"blackman"`` or ``"none"``.
    width
        Number of values in the window, or below 1 a share of the block. By default a fifth of it, at most 100. A window
        of fewer than three values changes nothing.
    alignment
        ``"lagging"`` shifts even windows by half a value and odd ones by one value, as l2metrics does.

    Returns
    -------
    Array
        A smoothed copy of `values`.

    Raises
    ------
    PerdureError
        If a window, an alignment or a block is unknown.

    Examples
    --------
    >>> perdure.smooth([0.0, 3.0, 0.0, 3.0, 0.0], [0, 5], [0], width=3)
    array([2., 1., 2., 1., 2.])
    """
    if window not in get_args(Window):
        raise UnknownNameError("window", str(window), get_args(Window))
    if alignment not in get_args(Alignment):
        raise UnknownNameError("alignment", str(alignment), get_args(Alignment))
    smoothed = np.array(values, dtype=np.float64)
    if window == "none" or not len(blocks):
        return smoothed
    if min(blocks) < 0 or max(blocks) > len(starts) - 2:
        raise PerdureError(f"blocks {min(blocks)} to {max(blocks)} of {len(starts) - 1}", "give existing blocks")
    edges = np.asarray(starts).tolist()
    for index in blocks:
        block = slice(edges[index], edges[index + 1])
        used = width_for(block.stop - block.start, width)
        if used >= 3:
            smoothed[block] = _smooth_block(smoothed[block], window, used, alignment)
    return smoothed


def _smooth_block(values: Array, window: Window, width: int, alignment: Alignment) -> Array:
    """Smooth one block by a window of at least 3 values and at most the block."""
    even, centred = width % 2 == 0, alignment == "centred"
    before = width // 2 if centred or even else (width + 1) // 2
    points = width + 1 if centred and even else width
    after = points - 1 - before
    padded = np.concatenate((values[before:0:-1], values, values[-2 : -after - 2 : -1]))
    if not centred:
        # This is l2metrics' own operation: for ties, its rounding decides which value is the first maximum.
        return _weighted_means(padded, WINDOWS[window](width))
    means = window_means(padded, width) if window == "flat" else _weighted_means(padded, WINDOWS[window](width))
    if even:
        means = (means[:-1] + means[1:]) * 0.5
    # A mean lies between its terms. Rounding must not change that, or a constant block would vary.
    smoothed: Array = np.clip(means, values.min(), values.max())
    return smoothed


def window_means(values: Array, width: int) -> Array:
    """Return the mean over every window of `width` along the last axis, summed by doubling.

    This is as exact as pairwise summation. A running sum would carry one huge value's rounding along.
    """
    count = values.shape[-1] - width + 1
    total = np.zeros((*values.shape[:-1], count))
    sums, span, offset, left = values, 1, 0, width
    while left:
        if left & 1:
            total += sums[..., offset : offset + count]
            offset += span
        left >>= 1
        if left:
            sums = sums[..., :-span] + sums[..., span:]
            span *= 2
    total /= width
    return total


def _weighted_means(padded: Array, weights: Array) -> Array:
    return np.convolve(padded, weights / weights.sum(), mode="valid")


def clamp(values: Array, bounds: Range) -> Array:
    """Return the values limited to the bounds."""
    return np.clip(values, bounds.low, bounds.high)


def scale(values: Array, bounds: Range) -> Array:
    """Map the bounds onto the scale 1 … 101; everything maps to 1 if the bounds are equal."""
    if bounds.constant:
        return np.full(np.shape(values), LOWEST)
    scaled: Array = (values - bounds.low) / (bounds.high - bounds.low)
    scaled *= SCALED
    scaled += LOWEST
    return scaled


def prepare_blocks(
    values: Array, starts: Starts, blocks: Sequence[Block], ranges: Mapping[str, Range], step: Callable[..., Array]
) -> Array:
    """Return the values with `clamp` or `scale` applied to each block by the range of its task."""
    prepared, edges = np.empty_like(values), starts.tolist()
    for index, block in enumerate(blocks):
        part = slice(edges[index], edges[index + 1])
        prepared[part] = step(values[part], ranges[block.task])
    return prepared


# --- levels and slopes ---------------------------------------------------------------------------

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
