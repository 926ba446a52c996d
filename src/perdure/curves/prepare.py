"""Smooth, clamp, scale: the three steps from raw values to comparable ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.curves.model import LOWEST, SCALED, Range, Ranges, Window
from perdure.errors import PerdureError

__all__ = ["WIDEST", "WINDOWS", "clamp", "scale", "smooth", "spans", "width_for", "window_means"]

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
"""The default window is a fifth of the block, and never wider than this."""
_AT_ONCE = 1 << 17  # values smoothed in one go: few enough to stay in the cache


def width_for(length: int, width: float | None = None) -> int:
    """The window used on a block of `length`: the one asked for, or a fifth of the block up to 100.

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
    """A copy of `values` in which each of `blocks` is smoothed alone; `values` may be of many lives, a row each.

    A centred window leaves a straight ramp unchanged away from the edges: for even widths the two
    half-shifted windows are averaged. Edges are reflected without repeating the edge sample.
    """
    values, starts = np.asarray(values), np.asarray(starts)
    smoothed = values.copy()
    if window == "none" or not len(blocks):
        return smoothed
    chosen = np.asarray(blocks, dtype=np.int64)
    if chosen.min() < 0 or chosen.max() > len(starts) - 2:
        raise PerdureError(f"blocks {chosen.min()} to {chosen.max()} of {len(starts) - 1}", "give those that there are")
    lengths = starts[chosen + 1] - starts[chosen]
    for length in sorted(set(lengths.tolist())):  # np.unique would import numpy.ma first
        used = width_for(length, width)
        if used < 3:
            continue
        firsts = starts[chosen[lengths == length]]
        lives = values.size // values.shape[-1]
        together = max(1, _AT_ONCE // (length * lives))
        for at in range(0, len(firsts), together):
            group = firsts[at : at + together]
            rows = np.stack([values[..., first : first + length] for first in group])
            made = _smooth_rows(rows.reshape(-1, length), window, used, alignment).reshape(rows.shape)
            for first, row in zip(group, made, strict=True):
                smoothed[..., first : first + length] = row
    return smoothed


def _smooth_rows(rows: Array, window: Window, width: int, alignment: Alignment) -> Array:
    """Each row smoothed by a window of `width`, which is at least 3 and at most the row."""
    odd = width % 2
    centred = alignment == "centred"
    before = width // 2 if centred or not odd else (width + 1) // 2
    points = width + 1 if centred and not odd else width
    padded = np.pad(rows, ((0, 0), (before, points - 1 - before)), mode="reflect")
    if not centred:
        # l2metrics' own operation: where values tie, its rounding decides which is the first maximum.
        return _weighted_means(padded, WINDOWS[window](width))
    means = window_means(padded, width) if window == "flat" else _weighted_means(padded, WINDOWS[window](width))
    if points > width:
        means = (means[:, :-1] + means[:, 1:]) / 2
    # A mean lies between its terms; rounding must not say otherwise, or a constant block would vary.
    return np.clip(means, rows.min(axis=1, keepdims=True), rows.max(axis=1, keepdims=True), out=means)


def window_means(padded: Array, width: int) -> Array:
    """The mean over every window of `width` in each row, summed by doubling; shorter by `width − 1`.

    As exact as pairwise summation, where a running sum would carry one huge value's rounding along.
    """
    count = padded.shape[1] - width + 1
    total: Array | None = None
    sums, span, offset, left = padded, 1, 0, width
    while True:
        if left & 1:
            part = sums[:, offset : offset + count]
            total = part.copy() if total is None else np.add(total, part, out=total)
            offset += span
        left >>= 1
        if not left:
            break
        sums = sums[:, :-span] + sums[:, span:]
        span *= 2
    assert total is not None
    total /= width
    return total


def _weighted_means(padded: Array, weights: Array) -> Array:
    kernel = weights / weights.sum()
    return np.stack([np.convolve(row, kernel, mode="valid") for row in padded])


def spans(values: Array, starts: Starts) -> tuple[Array, Array]:
    """The smallest and the largest value of each block."""
    if len(starts) < 2:
        nothing = np.empty(0)
        return nothing, nothing
    return np.minimum.reduceat(values, starts[:-1], axis=-1), np.maximum.reduceat(values, starts[:-1], axis=-1)


def clamp(values: Array, bounds: Range | Ranges) -> Array:
    """The values, none below or above the bounds."""
    return np.clip(values, bounds.low, bounds.high)


def scale(values: Array, bounds: Range | Ranges) -> Array:
    """Map the bounds onto the scale, 1 … 101; equal bounds carry no information, and everything maps to its lowest."""
    constant, width = bounds.constant, bounds.high - bounds.low
    if constant is True:
        return np.full_like(values, LOWEST)
    some = constant is not False and bool(np.any(constant))
    if some:
        width = np.where(constant, 1.0, width)
    scaled: Array = (values - bounds.low) / width * SCALED + LOWEST
    return np.where(constant, LOWEST, scaled) if some else scaled
