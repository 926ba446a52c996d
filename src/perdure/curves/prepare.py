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
_AT_ONCE = 1 << 15  # values smoothed in one go: few enough to stay in the cache


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
    values, starts = np.asarray(values, dtype=np.float64), np.asarray(starts)
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
    padded = _reflected(rows, before, points - 1 - before)
    if not centred:
        # l2metrics' own operation: where values tie, its rounding decides which is the first maximum.
        return _weighted_means(padded, WINDOWS[window](width))
    means = _flat_means(padded, width) if window == "flat" else _weighted_means(padded, WINDOWS[window](width))
    if points > width:
        both = np.empty_like(means)
        np.add(means.ravel()[:-1], means.ravel()[1:], out=both.ravel()[:-1])  # beyond a row's end nobody looks
        both.ravel()[-1:] = 0.0
        means = np.multiply(both, 0.5, out=both)
    means = means[:, : rows.shape[1]]
    # A mean lies between its terms; rounding must not say otherwise, or a constant block would vary.
    np.maximum(means, rows.min(axis=1, keepdims=True), out=means)
    np.minimum(means, rows.max(axis=1, keepdims=True), out=means)
    return means


def _reflected(rows: Array, before: int, after: int) -> Array:
    """The rows with as many values around them, mirrored in their first and last; what `np.pad` does, sooner."""
    length = rows.shape[1]
    padded = np.empty((len(rows), before + length + after))
    padded[:, before : before + length] = rows
    padded[:, :before] = rows[:, before:0:-1]
    padded[:, before + length :] = rows[:, -2 : -after - 2 : -1]
    return padded


def window_means(padded: Array, width: int) -> Array:
    """The mean over every window of `width` in each row, summed by doubling; shorter by `width − 1`.

    As exact as pairwise summation, where a running sum would carry one huge value's rounding along.
    """
    return _flat_means(padded, width)[:, : padded.shape[1] - width + 1]


def _flat_means(padded: Array, width: int) -> Array:
    """What `window_means` gives, and behind it in each row something finite.

    All rows are one: windows that reach into the next are made with the others, which takes a third of the time.
    """
    means = np.zeros(padded.shape)
    sums = padded.ravel()
    total = means.ravel()[: len(sums) - width + 1]
    span, offset, left = 1, 0, width
    while True:
        if left & 1:
            np.add(total, sums[offset : offset + len(total)], out=total)
            offset += span
        left >>= 1
        if not left:
            break
        sums = sums[:-span] + sums[span:]
        span *= 2
    total /= width
    return means


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
    some, width = bounds.any_constant, bounds.high - bounds.low
    if some:
        width = np.where(bounds.constant, 1.0, width)
    scaled: Array = values - bounds.low
    scaled /= width
    scaled *= SCALED
    scaled += LOWEST
    if some:
        np.copyto(scaled, LOWEST, where=bounds.constant)
    return scaled
