"""The little arithmetic that formulas share, with its guards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perdure.curves.model import Array, Curve
from perdure.metrics.engine.declare import NoValue, Value

__all__ = [
    "contrast",
    "experiences_until",
    "floored",
    "lift",
    "lift_contrast",
    "median",
    "ratio",
    "recovery_time",
    "still_rising",
    "theil_sen",
]

BELOW = "a mean below the scale's minimum counts as 1"

_TINY = 1e-9
_MANY = 1000  # values; of more, half a million slopes are not made at once


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


def floored(floor: float | None, *means: float) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The means, none below where the scale begins, and a flag where one was.

    Given bounds allow values under the minimum. To leave their sites out would be selection on the outcome.
    """
    if floor is None or min(means) >= floor:
        return (), means
    rounding = _TINY * max(1.0, abs(floor))
    return (BELOW,) if min(means) < floor - rounding else (), tuple(max(one, floor) for one in means)


def lift(after: float, before: float, extent: float, floor: float | None) -> float | Value:
    """`after / before`, both counted from the floor; where there is none, both have to be worth a logarithm."""
    flags, (above, below) = floored(floor, after, before)
    if floor is None and above <= max(0.0, _TINY * extent):
        raise NoValue(f"a ratio of {above:.6g} means nothing; it needs a positive value above the line")
    value = ratio(above, below, extent)
    return Value(value, flags) if flags else value


def lift_contrast(after: float, before: float, extent: float, floor: float | None) -> float | Value:
    """The contrast of two means, both counted from the floor where there is one."""
    flags, (above, below) = floored(floor, after, before)
    value = contrast(above, below, extent)
    return Value(value, flags) if flags else value


def experiences_until(curve: Curve, target: float) -> int:
    """How many experiences it takes to reach `target`, counted from 1; the curve does reach it."""
    index = curve.reached(target)
    assert index is not None
    return index + 1


def recovery_time(previous: Curve, later: Curve) -> int | None:
    """The index in `later` at which it reaches what `previous` ended with; None if it never does."""
    return later.reached(previous.terminal)


def still_rising(first: float, late: float, last: float) -> bool:
    """Whether a curve ends before it saturates: from its second last tenth to its last it climbs at more than half
    the pace that took it from its first tenth to its last, nine tenths later.
    """
    return last - late > (last - first) / 18 > 0


def theil_sen(values: Sequence[float], at: Sequence[float] | None = None) -> float:
    """The median of the slopes between all pairs of values (Theil 1950, Sen 1968), one step apart unless told.

    `at` rises. It is exact for any number of values; where they are many, their pairs are not made.
    """
    ordinates = np.asarray(values, dtype=np.float64)
    abscissae = np.arange(len(ordinates), dtype=np.float64) if at is None else np.asarray(at, dtype=np.float64)
    if len(ordinates) > _MANY:
        from perdure.metrics.engine.slopes import median_slope

        return median_slope(ordinates, abscissae)
    first, second = np.triu_indices(len(ordinates), k=1)
    return median((ordinates[second] - ordinates[first]) / (abscissae[second] - abscissae[first]))


def median(values: Array) -> float:
    """The middle of finite values; `np.median` would import masked arrays first, which takes longer than all else."""
    middle, odd = divmod(len(values), 2)
    ordered = np.partition(values, middle if odd else (middle - 1, middle))
    return float(ordered[middle] if odd else (ordered[middle - 1] + ordered[middle]) / 2)
