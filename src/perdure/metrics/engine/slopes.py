"""The median of the slopes between all pairs of points, found without making them all.

A slope m turns the points' order: sorted by y − m x, two points have changed places exactly where the slope between
them is below m. So slopes below m are counted as inversions are, and between two slopes they can be counted, drawn and
listed. Drawing a few gives a narrow bracket around the median, and so on until the rest can be listed (after Matoušek
1991, and Dillencourt, Mount and Netanyahu 1992). The result is exact, whatever is drawn; n points cost n log n.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, isqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array

_FEW = 1 << 20  # slopes that are made at once
_DRAWN = 1 << 16
_ROUNDING = 1e-12

Index = npt.NDArray[np.int64]


class _Bound(NamedTuple):
    """A slope as the rise and the run of a pair of points, so that whole numbers are compared exactly."""

    rise: float
    run: float


def median_slope(ordinates: Array, abscissae: Array, few: int = _FEW) -> float:
    """The median of the slopes between all pairs of points of different, rising abscissae.

    At most about `few` slopes are held at a time.
    """
    total = comb(len(ordinates), 2)
    lower, upper = (total - 1) // 2, total // 2
    first = _nth(ordinates, abscissae, lower, total, few)
    return first if lower == upper else (first + _nth(ordinates, abscissae, upper, total, few)) / 2


def _nth(ordinates: Array, abscissae: Array, wanted: int, total: int, few: int) -> float:
    """The slope before which `wanted` others come, in their order."""
    rng = np.random.default_rng(0)  # decides how soon the slope is found, never which
    low: _Bound | None = None
    high: _Bound | None = None
    below, until = 0, total  # how many slopes lie at `low` or under it, and how many under `high`
    while until - below > few:
        drawn = min(_DRAWN, few)
        rises, runs = _between(ordinates, abscissae, low, high, np.sort(rng.integers(until - below, size=drawn)))
        slopes = rises / runs
        order = np.argsort(slopes)
        middle = (wanted - below) * len(order) // (until - below)
        stood = (below, until)
        for at in (middle - 2 * isqrt(drawn), middle + 2 * isqrt(drawn)):
            pick = order[min(max(at, 0), len(order) - 1)]
            bound = _Bound(float(rises[pick]), float(runs[pick]))
            under = _count(_turned(ordinates, abscissae, bound, passed=False))
            up_to = _count(_turned(ordinates, abscissae, bound, passed=True))
            if under <= wanted < up_to:
                return float(slopes[pick])
            if below < up_to <= wanted:
                low, below = bound, up_to
            elif wanted < under < until:
                high, until = bound, under
        if (below, until) == stood and slopes[order[-1]] - slopes[order[0]] <= _ROUNDING * np.abs(slopes).max():
            return float(slopes[order[middle]])  # all that is left differs by rounding, so that counts tell no more
    rises, runs = _between(ordinates, abscissae, low, high, np.arange(until - below))
    at = min(wanted - below, len(rises) - 1)
    return float(np.partition(rises / runs, at)[at])


def _turned(ordinates: Array, abscissae: Array, bound: _Bound, *, passed: bool) -> Index:
    """The points in the order that `bound` gives them; those on one line with it as before it, or `passed`."""
    height = ordinates * bound.run - abscissae * bound.rise
    if passed:
        return len(height) - 1 - np.argsort(height[::-1], kind="stable")
    return np.argsort(height, kind="stable")


def _between(
    ordinates: Array, abscissae: Array, low: _Bound | None, high: _Bound | None, which: Index
) -> tuple[Array, Array]:
    """The rises and the runs of some of the slopes between two bounds; `which` are their numbers, rising."""
    count = len(ordinates)
    start = np.arange(count) if low is None else _turned(ordinates, abscissae, low, passed=True)
    end = np.arange(count)[::-1] if high is None else _turned(ordinates, abscissae, high, passed=False)
    pairs: list[tuple[Index, Index]] = []
    passed = 0
    for later, first, counts, earlier in _levels(_places(end)[start]):
        ends = np.cumsum(counts)
        found = int(ends[-1]) if len(ends) else 0
        here = which[np.searchsorted(which, passed) : np.searchsorted(which, passed + found)] - passed
        passed += found
        at = np.searchsorted(ends, here, side="right")
        pairs.append((later[at], earlier[first[at] + here - (ends[at] - counts[at])]))
    one = end[np.concatenate([later for later, _ in pairs])]
    other = end[np.concatenate([earlier for _, earlier in pairs])]
    return ordinates[one] - ordinates[other], abscissae[one] - abscissae[other]


def _places(order: Index) -> Index:
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def _count(order: Index) -> int:
    """How many pairs have changed places."""
    return sum(int(counts.sum()) for _, _, counts, _ in _levels(order))


def _levels(permutation: Index) -> Iterator[tuple[Index, Index, Index, Index]]:
    """The inversions of a permutation of 0 … n − 1, each in the level of the highest bit in which its two differ.

    Of each level: the smaller numbers, for each where its larger partners begin and how many they are, and the larger
    numbers. Numbers that share their higher bits lie together, so a level is a few operations on whole arrays.
    """
    current: Any = permutation
    for bit in reversed(range(max(0, len(permutation) - 1).bit_length())):
        large = (current >> bit) & 1
        before = np.cumsum(large) - large  # of all large numbers, how many come before
        starts = (current >> (bit + 1)) << (bit + 1)  # where those with the same higher bits begin
        first = before[starts]
        counts = before - first
        small = large == 0
        yield current[small], first[small], counts[small], current[~small]
        index = np.arange(len(current))
        moved = np.empty_like(current)
        moved[np.where(small, index - counts, starts + (1 << bit) + counts)] = current
        current = moved
