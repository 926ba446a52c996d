"""Smooth, clamp, scale: the three steps from raw values to comparable ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.curves.model import LOWEST, SCALED, Range, Window
from perdure.errors import PerdureError, UnknownNameError
from perdure.scenario.model import Block

Alignment = Literal["centred", "lagging"]
Starts = npt.NDArray[np.int64]

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
    """Return a copy of `values` in which each of `blocks` is smoothed separately.

    A centred window leaves a straight ramp unchanged away from the edges: for even widths the two
    half-shifted windows are averaged. Edges are reflected without repeating the edge sample.
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
