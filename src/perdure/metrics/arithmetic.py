"""The little arithmetic that formulas share, with its guards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perdure.curves.model import Array, Curve
from perdure.metrics.declare import NoValue

__all__ = ["contrast", "experiences_until", "median", "ratio", "recovery_time", "theil_sen"]

_TINY = 1e-9


def ratio(numerator: float, denominator: float, extent: float) -> float:
    """`numerator / denominator`, where a ratio means something.

    There is none below zero, nor over a denominator that is next to nothing beside `extent`, the
    width of the task's range.
    """
    if denominator <= 0:
        raise NoValue(f"a ratio to {denominator:.6g} means nothing; it needs a positive value below the line")
    if denominator < _TINY * extent:
        raise NoValue(f"a ratio to {denominator:.6g} means nothing where the task's range is {extent:.6g}")
    if numerator < 0:
        raise NoValue(f"a ratio of {numerator:.6g} means nothing; it needs a value of 0 or more above the line")
    return numerator / denominator


def contrast(after: float, before: float, extent: float) -> float:
    """`(after − before) / (after + before)`, from −1 to 1, guarded as a ratio is."""
    if after < 0 or before < 0:
        raise NoValue(f"a contrast of {after:.6g} and {before:.6g} means nothing; it needs values of 0 or more")
    if after + before <= 0 or after + before < _TINY * extent:
        raise NoValue(f"a contrast of {after:.6g} and {before:.6g} divides by next to nothing")
    return (after - before) / (after + before)


def experiences_until(curve: Curve, target: float) -> int:
    """How many experiences it takes to reach `target`, counted from 1; the curve does reach it."""
    index = curve.reached(target)
    assert index is not None
    return index + 1


def recovery_time(previous: Curve, later: Curve) -> int | None:
    """The index in `later` at which it reaches what `previous` ended with; None if it never does."""
    return later.reached(previous.terminal)


def theil_sen(values: Sequence[float]) -> float:
    """The median of the slopes between all pairs of values, one step apart each (Theil 1950, Sen 1968)."""
    ordinates = np.asarray(values, dtype=np.float64)
    first, second = np.triu_indices(len(ordinates), k=1)
    return median((ordinates[second] - ordinates[first]) / (second - first))


def median(values: Array) -> float:
    """The middle of finite values; `np.median` would import masked arrays first, which takes longer than all else."""
    middle, odd = divmod(len(values), 2)
    ordered = np.partition(values, middle if odd else (middle - 1, middle))
    return float(ordered[middle] if odd else (ordered[middle - 1] + ordered[middle]) / 2)
