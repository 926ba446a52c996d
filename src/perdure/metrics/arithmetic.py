"""Arithmetic that formulas share: guarded ratios and contrasts, slopes, and combinations of the values of all sites."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import mul
from typing import Literal

import msgspec
import numpy as np
from msgspec.structs import replace

from perdure.curves.model import Curve
from perdure.scenario.model import Task

Aggregate = Literal["mean", "median"]

BELOW = "a mean below the scale's minimum counts as 1"

_TINY = 1e-9
_ROUNDING = 1e-9  # a mean this close to 0 has no sign
_Z_975 = 1.959963984540054
_STUDENT_975 = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281,
    2.201, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.093, 2.086,
    2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
)  # fmt: skip
"""Student's 97.5 % quantile for 1, 2, … 30 degrees of freedom, to four decimal places."""
_TABLE_ERROR = 6e-5


class NoValue(Exception):  # noqa: N818 - a result, not a failure
    """Raised by a formula if its site has no value.

    Parameters
    ----------
    why
        The reason.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Value(msgspec.Struct, frozen=True):
    """A formula's result with remarks.

    Attributes
    ----------
    value
        The number.
    flags
        Remarks about the number.
    """

    value: float
    flags: tuple[str, ...] = ()


def ratio(numerator: float, denominator: float, extent: float) -> float:
    """Return `numerator / denominator`. Raise `NoValue` if that is meaningless.

    It is below zero, and over a denominator that is negligible compared with `extent`, the width of the task's range.
    """
    if denominator <= 0:
        raise NoValue(f"a ratio to {denominator:.6g} is meaningless; it needs a positive value below the line")
    if denominator < _TINY * extent:
        raise NoValue(f"a ratio to {denominator:.6g} is meaningless where the task's range is {extent:.6g}")
    if numerator < 0:
        raise NoValue(f"a ratio of {numerator:.6g} is meaningless; it needs a value of 0 or more above the line")
    return numerator / denominator


def contrast(after: float, before: float, extent: float) -> float:
    """Return `(after − before) / (after + before)`, from −1 to 1, with the guards of a ratio."""
    if after < 0 or before < 0:
        raise NoValue(f"a contrast of {after:.6g} and {before:.6g} is meaningless; it needs values of 0 or more")
    if after + before <= 0 or after + before < _TINY * extent:
        raise NoValue(f"a contrast of {after:.6g} and {before:.6g} divides by nearly 0")
    return (after - before) / (after + before)


def floored(floor: float | None, *means: float) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the means, raised to the floor if they are below it, and a flag if one was.

    Given bounds allow values under the minimum. Leaving their sites out would be selection on the outcome.
    """
    if floor is None or min(means) >= floor:
        return (), means
    rounding = _TINY * max(1.0, abs(floor))
    return (BELOW,) if min(means) < floor - rounding else (), tuple(max(mean, floor) for mean in means)


def lift(after: float, before: float, extent: float, floor: float | None) -> float | Value:
    """Return `after / before`, both at least the floor. Without a floor, both must be large enough for a logarithm."""
    flags, (above, below) = floored(floor, after, before)
    if floor is None and above <= max(0.0, _TINY * extent):
        raise NoValue(f"a ratio of {above:.6g} is meaningless; it needs a positive value above the line")
    value = ratio(above, below, extent)
    return Value(value, flags) if flags else value


def lift_contrast(after: float, before: float, extent: float, floor: float | None) -> float | Value:
    """Return the contrast of two means, both at least the floor if there is one."""
    flags, (above, below) = floored(floor, after, before)
    value = contrast(above, below, extent)
    return Value(value, flags) if flags else value


def recovery_time(previous: Curve, later: Curve) -> int | None:
    """Return the index at which `later` reaches the end of `previous`; None if it never does."""
    return later.reached(previous.terminal)


def still_rising(first: float, late: float, last: float) -> bool:
    """Return whether a curve ends before it saturates.

    It does if it rises from its second last tenth to its last at more than half of its mean pace, which is the rise
    from its first tenth to its last, nine tenths later, divided by nine.
    """
    return last - late > (last - first) / 18 > 0


def student_975(freedom: float) -> tuple[float, float]:
    """Return two numbers around Student's 97.5 % quantile (from 30 degrees of freedom on, Fisher and Cornish 1960).

    They decide nearly every test, so that SciPy, which takes a quarter of a second to import, is rarely needed.
    """
    if freedom < 30:  # the quantile falls as the degrees of freedom, 1 or more, rise
        return _STUDENT_975[math.ceil(freedom) - 1] - _TABLE_ERROR, _STUDENT_975[int(freedom) - 1] + _TABLE_ERROR
    z = _Z_975
    terms = (z, (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384)
    quantile = sum(term / freedom**power for power, term in enumerate(terms))
    return quantile - 1e-5, quantile + 1e-5


# --- combinations --------------------------------------------------------------------------------


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def task_weight(task: str, weights: Mapping[str, float]) -> float:
    """Return the weight of a task, given by its label or by its name without variant; 1 if it has none."""
    return weights.get(task, weights.get(Task.parse(task).name, 1.0)) if weights else 1.0


class Average(msgspec.Struct, frozen=True):
    """Mean or median of one number per task or pair, in the order of the values that are combined."""

    kind: Aggregate = "mean"
    weights: tuple[float, ...] = ()
    """Weight of each task or pair; empty if all count the same."""

    @classmethod
    def over(cls, keys: Iterable[str], kind: Aggregate, weights: Mapping[str, float]) -> Average:
        """Return the average over tasks, and pairs `a→b`. A pair counts as the task whose performance it shows, b."""
        each = tuple(task_weight(key.rpartition("→")[2], weights) for key in keys) if weights else ()
        return cls(kind, each if len(set(each)) > 1 else ())

    def shares(self, count: int) -> list[float]:
        """Return the share of each of `count` tasks or pairs."""
        weights = self.weights or (1.0,) * count
        return [weight / math.fsum(weights) for weight in weights]

    def __call__(self, numbers: Sequence[float]) -> float:
        """Return the average of one number per task or pair."""
        if not self.weights:
            return _mean(numbers) if self.kind == "mean" else float(np.median(numbers))
        if self.kind == "mean":
            return math.fsum(map(mul, self.weights, numbers)) / math.fsum(self.weights)
        order = np.argsort(numbers)
        shares = np.cumsum(np.array(self.weights)[order]) / math.fsum(self.weights)
        # The number at which half of the weight is reached; the mean with the next one if it is exactly half.
        low, high = (int((shares >= 0.5 + slack).argmax()) for slack in (-_ROUNDING, _ROUNDING))
        return (float(numbers[order[low]]) + float(numbers[order[high]])) / 2


def over_tasks(values: Sequence[Sequence[float]], average: Average) -> float:
    """Return the mean of each task's values, then the mean or median over tasks (or pairs)."""
    return average([_mean(numbers) for numbers in values])


def first_of_each(values: Sequence[Sequence[float]], average: Average) -> float:
    """Return the mean or median over tasks (or pairs) of the first value of each."""
    return average([numbers[0] for numbers in values])


def flat(values: Sequence[Sequence[float]], average: Average) -> float:
    """Return the mean over all values, whichever task they belong to; there is no mean over tasks to replace."""
    if not average.weights:
        return _mean([value for numbers in values for value in numbers])
    mean = replace(average, kind="mean")
    return mean([math.fsum(numbers) for numbers in values]) / mean([len(numbers) for numbers in values])


def transfer_logarithms(values: Sequence[Sequence[float]], average: Average) -> Value:
    """Combine the first log ratio of each pair; flag the result if the contrasts have the opposite sign."""
    return _first_of_pairs(values, average, 0.0, lambda logarithm: math.tanh(logarithm / 2), 0.0, "contrast")


def transfer_ratios(values: Sequence[Sequence[float]], average: Average) -> Value:
    """Combine the first ratio of each pair; flag the result if the contrasts have the opposite sign."""
    return _first_of_pairs(values, average, 1.0, lambda ratio: (ratio - 1) / (ratio + 1), 0.0, "contrast")


def transfer_contrasts(values: Sequence[Sequence[float]], average: Average) -> Value:
    """Combine the first contrast of each pair; flag the result if the ratios are on the other side of 1."""
    return _first_of_pairs(values, average, 0.0, _ratio_of_contrast, 1.0, "ratio")


def _ratio_of_contrast(contrast: float) -> float:
    return (1 + contrast) / (1 - contrast) if contrast < 1 else math.inf


def _first_of_pairs(
    values: Sequence[Sequence[float]],
    average: Average,
    threshold: float,
    convert: Callable[[float], float],
    other_threshold: float,
    other_name: str,
) -> Value:
    firsts = [numbers[0] for numbers in values]
    value, other = (average(numbers) for numbers in (firsts, [convert(number) for number in firsts]))
    above, other_above = value - threshold, other - other_threshold
    opposite = min(abs(above), abs(other_above)) > _ROUNDING and (above > 0) != (other_above > 0)
    flag = f"the mean {other_name} of the same pairs, {other:.3g}, says the opposite"
    return Value(value, (flag,) if opposite else ())
