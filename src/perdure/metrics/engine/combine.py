"""How the values at the sites of one lifetime become its one value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.metrics.engine.arithmetic import median
from perdure.metrics.engine.metric import Value

if TYPE_CHECKING:
    from perdure.metrics.engine.metric import Aggregate

__all__ = ["first_of_each", "flat", "over_tasks", "transfer_contrasts", "transfer_logarithms", "transfer_ratios"]

_ROUNDING = 1e-9  # a mean this close to nothing has no sign


def _mean(values: Sequence[float]) -> float:
    """What `np.mean` says, to the last digit; of fewer than eight values it adds one after the other, as this does."""
    if len(values) >= 8:
        return float(np.add.reduce(np.asarray(values, dtype=np.float64))) / len(values)
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


_AGGREGATES: Mapping[Aggregate, Callable[[Sequence[float]], float]] = {
    "mean": _mean,
    "median": lambda values: median(np.asarray(values, dtype=np.float64)),
}


def over_tasks(values: Sequence[Sequence[float]], aggregate: Aggregate) -> float:
    """The mean of each task's values, then the mean or median over tasks (or pairs)."""
    return _AGGREGATES[aggregate]([_mean(of_one) for of_one in values])


def first_of_each(values: Sequence[Sequence[float]], aggregate: Aggregate) -> float:
    """The mean or median over tasks (or pairs) of each one's first value."""
    return _AGGREGATES[aggregate]([of_one[0] for of_one in values])


def transfer_logarithms(values: Sequence[Sequence[float]], aggregate: Aggregate) -> Value:
    """The mean or median over pairs of each one's first ratio; says so where the contrasts say the opposite."""
    return _beside(values, aggregate, 0.0, lambda one: math.tanh(one / 2), 0.0, "contrast")


def transfer_ratios(values: Sequence[Sequence[float]], aggregate: Aggregate) -> Value:
    """The mean or median over pairs of each one's first ratio; says so where the contrasts say the opposite."""
    return _beside(values, aggregate, 1.0, lambda one: (one - 1) / (one + 1), 0.0, "contrast")


def transfer_contrasts(values: Sequence[Sequence[float]], aggregate: Aggregate) -> Value:
    """The mean or median over pairs of each one's first contrast; says so where the ratios say the opposite."""
    return _beside(values, aggregate, 0.0, _ratio, 1.0, "ratio")


def _ratio(contrast: float) -> float:
    return (1 + contrast) / (1 - contrast) if contrast < 1 else math.inf


def _beside(
    values: Sequence[Sequence[float]],
    aggregate: Aggregate,
    threshold: float,
    other: Callable[[float], float],
    its_threshold: float,
    called: str,
) -> Value:
    firsts = [of_one[0] for of_one in values]
    value = _AGGREGATES[aggregate](firsts)
    theirs = _AGGREGATES[aggregate]([other(one) for one in firsts])
    ours, its = value - threshold, theirs - its_threshold
    opposite = min(abs(ours), abs(its)) > _ROUNDING and (ours > 0) != (its > 0)
    return Value(value, (f"the mean {called} of the same pairs, {theirs:.3g}, says the opposite",) if opposite else ())


def flat(values: Sequence[Sequence[float]], aggregate: Aggregate) -> float:  # noqa: ARG001
    """The mean over all values, whichever task they belong to; there is no mean over tasks to replace."""
    return _mean([value for of_one in values for value in of_one])
