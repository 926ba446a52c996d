"""The Theil–Sen slope: the median of the slopes between all pairs of points, found without computing them all.

A slope m orders the points by y − m x. Two points change places in that order exactly when the slope between them is
below m. So the slopes below m are counted as the inversions of a permutation are, and the slopes between two bounds can
be counted, sampled and listed. A sample gives a narrow bracket around the median, and this repeats until the rest can
be listed (after Matoušek 1991, and Dillencourt, Mount and Netanyahu 1992). The result is exact, whatever the sample;
n points take n log n steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb, isqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array

_LISTED = 1 << 20  # slopes that are held at a time
_SAMPLED = 1 << 16
_ROUNDING = 1e-12

Index = npt.NDArray[np.int64]


class _Slope(NamedTuple):
    """A slope as the rise and the run of a pair of points, so that whole numbers are compared exactly."""

    rise: float
    run: float


def theil_sen(values: Sequence[float] | Array, at: Sequence[float] | Array | None = None, few: int = _LISTED) -> float:
    """Return the median of the slopes between all pairs of values (Theil 1950, Sen 1968).

    `at` are rising abscissae, 0, 1, 2, … by default. At most about `few` slopes are held at a time.
    """
    ordinates = np.asarray(values, dtype=np.float64)
    abscissae = np.arange(len(ordinates), dtype=np.float64) if at is None else np.asarray(at, dtype=np.float64)
    total = comb(len(ordinates), 2)
    lower, upper = (_nth_slope(ordinates, abscissae, nth, total, few) for nth in ((total - 1) // 2, total // 2))
    return (lower + upper) / 2


def _nth_slope(ordinates: Array, abscissae: Array, wanted: int, total: int, few: int) -> float:
    """Return the slope that `wanted` others precede in rising order."""
    rng = np.random.default_rng(0)  # decides how soon the slope is found, never which
    low: _Slope | None = None
    high: _Slope | None = None
    below, until = 0, total  # the number of slopes up to `low`, and of those below `high`
    while until - below > few:
        sampled = min(_SAMPLED, few)
        rises, runs = _between(ordinates, abscissae, low, high, np.sort(rng.integers(until - below, size=sampled)))
        slopes = rises / runs
        order = np.argsort(slopes)
        middle = (wanted - below) * len(order) // (until - below)
        before = (below, until)
        for position in (middle - 2 * isqrt(sampled), middle + 2 * isqrt(sampled)):
            pick = order[min(max(position, 0), len(order) - 1)]
            bound = _Slope(float(rises[pick]), float(runs[pick]))
            under = _inversions(_order_at(ordinates, abscissae, bound, passed=False))
            up_to = _inversions(_order_at(ordinates, abscissae, bound, passed=True))
            if under <= wanted < up_to:
                return float(slopes[pick])
            if below < up_to <= wanted:
                low, below = bound, up_to
            elif wanted < under < until:
                high, until = bound, under
        if (below, until) == before and slopes[order[-1]] - slopes[order[0]] <= _ROUNDING * np.abs(slopes).max():
            return float(slopes[order[middle]])  # the rest differs by rounding only, which counts cannot resolve
    rises, runs = _between(ordinates, abscissae, low, high, np.arange(until - below))
    position = min(wanted - below, len(rises) - 1)
    return float(np.partition(rises / runs, position)[position])


def _order_at(ordinates: Array, abscissae: Array, slope: _Slope, *, passed: bool) -> Index:
    """Return the points in the order that `slope` gives them; ties as before it, or as after it if `passed`."""
    height = ordinates * slope.run - abscissae * slope.rise
    if passed:
        return len(height) - 1 - np.argsort(height[::-1], kind="stable")
    return np.argsort(height, kind="stable")


def _between(
    ordinates: Array, abscissae: Array, low: _Slope | None, high: _Slope | None, which: Index
) -> tuple[Array, Array]:
    """Return the rises and the runs of some of the slopes between two bounds, by their numbers in rising order."""
    count = len(ordinates)
    start = np.arange(count) if low is None else _order_at(ordinates, abscissae, low, passed=True)
    end = np.arange(count)[::-1] if high is None else _order_at(ordinates, abscissae, high, passed=False)
    places = np.empty_like(end)
    places[end] = np.arange(count)
    pairs: list[tuple[Index, Index]] = []
    passed = 0
    for later, first, counts, earlier in _levels(places[start]):
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        wanted = which[np.searchsorted(which, passed) : np.searchsorted(which, passed + total)] - passed
        passed += total
        owner = np.searchsorted(ends, wanted, side="right")
        pairs.append((later[owner], earlier[first[owner] + wanted - (ends[owner] - counts[owner])]))
    one = end[np.concatenate([later for later, _ in pairs])]
    other = end[np.concatenate([earlier for _, earlier in pairs])]
    return ordinates[one] - ordinates[other], abscissae[one] - abscissae[other]


def _inversions(order: Index) -> int:
    return sum(int(counts.sum()) for _, _, counts, _ in _levels(order))


def _levels(permutation: Index) -> Iterator[tuple[Index, Index, Index, Index]]:
    """Yield the inversions of a permutation of 0 … n − 1, grouped by the highest bit in which the two numbers differ.

    A group is the smaller numbers, the position and the count of the larger partners of each, and the larger numbers.
    Numbers that share their higher bits are neighbours, so that a group takes a few operations on whole arrays.
    """
    current: Any = permutation
    for bit in reversed(range(max(0, len(permutation) - 1).bit_length())):
        large = (current >> bit) & 1
        before = np.cumsum(large) - large  # the number of large numbers that come before
        starts = (current >> (bit + 1)) << (bit + 1)  # the position at which numbers with the same higher bits begin
        first = before[starts]
        counts = before - first
        small = large == 0
        yield current[small], first[small], counts[small], current[~small]
        index = np.arange(len(current))
        moved = np.empty_like(current)
        moved[np.where(small, index - counts, starts + (1 << bit) + counts)] = current
        current = moved
