"""How the values at the sites of one lifetime become its one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from perdure.metrics.declare import Aggregate

__all__ = ["first_of_each", "flat", "over_tasks"]


def _mean(values: Sequence[float]) -> float:
    """What `np.mean` says, to the last digit; of fewer than eight values it adds one after the other, as this does."""
    if len(values) >= 8:
        return float(np.mean(values))
    total = 0.0
    for value in values:
        total += value
    return total / len(values)


_AGGREGATES: Mapping[Aggregate, Callable[[Sequence[float]], float]] = {
    "mean": _mean,
    "median": lambda values: float(np.median(values)),
}


def over_tasks(values: Sequence[Sequence[float]], aggregate: Aggregate) -> float:
    """The mean of each task's values, then the mean or median over tasks (or pairs)."""
    return _AGGREGATES[aggregate]([_mean(of_one) for of_one in values])


def first_of_each(values: Sequence[Sequence[float]], aggregate: Aggregate) -> float:
    """The mean or median over tasks (or pairs) of each one's first value."""
    return _AGGREGATES[aggregate]([of_one[0] for of_one in values])


def flat(values: Sequence[Sequence[float]], aggregate: Aggregate) -> float:  # noqa: ARG001
    """The mean over all values, whichever task they belong to; there is no mean over tasks to replace."""
    return _mean([value for of_one in values for value in of_one])
