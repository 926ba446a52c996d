"""How does it come back? Recovery when a task is learned again."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from perdure.curves.model import Curve
from perdure.metrics.arithmetic import recovery_time as time_until_recovered
from perdure.metrics.arithmetic import theil_sen
from perdure.metrics.declare import NoValue, Value, metric
from perdure.scenario import sites

__all__ = ["droop", "performance_recovery", "recovery_rate", "recovery_time"]

_SOURCE = "New et al. 2022"
_NEVER = "never recovered, counted as one more than the block's length"


def _time_or_more(previous: Curve, later: Curve) -> tuple[int, tuple[str, ...]]:
    """The recovery time; one more than the block's length, with a flag, where it never recovers."""
    time = time_until_recovered(previous, later)
    return (len(later) + 1, (_NEVER,)) if time is None else (time, ())


@metric(
    sites.between_learning_blocks,
    unit="experiences",
    better="lower",
    condition="Continuous Learning",
    capability="continual learning",
    source=_SOURCE,
)
def recovery_time(previous: Curve, later: Curve) -> Value:
    """How many experiences it takes, when a task is learned again, to be as good as before."""
    time, flags = _time_or_more(previous, later)
    return Value(time, flags)


@metric(
    sites.learning_again_and_again,
    unit="experiences per block",
    threshold=0,
    condition="Continuous Learning",
    capability="continual learning",
    source=_SOURCE,
)
def performance_recovery(learned: tuple[Curve, ...]) -> Value:
    """How much faster a task is recovered each time it is learned again (minus the Theil–Sen slope)."""
    pairs = [_time_or_more(previous, later) for previous, later in pairwise(learned)]
    flags = dict.fromkeys(flag for _, found in pairs for flag in found)
    if len({len(later) for later in learned[1:]}) > 1:
        flags["the blocks differ in length"] = None
    return Value(-theil_sen([time for time, _ in pairs]) + 0.0, tuple(flags))


def _droop(previous: Curve, later: Curve) -> float:
    # Smoothing across the block's edge would hide the drop, so the first tenth is not smoothed.
    return previous.terminal - float(np.mean(later.raw[: max(1, len(later) // 10)]))


@metric(
    sites.between_learning_blocks,
    unit="points",
    better="lower",
    condition="Continuous Learning",
    capability="continual learning",
    source=_SOURCE,
)
def droop(previous: Curve, later: Curve) -> float:
    """How far performance has dropped when a task is learned again."""
    return _droop(previous, later)


@metric(
    sites.between_learning_blocks,
    unit="points per experience",
    condition="Continuous Learning",
    capability="continual learning",
    source=_SOURCE,
)
def recovery_rate(previous: Curve, later: Curve) -> float:
    """How much of the drop is made up per experience until a task is recovered."""
    time = time_until_recovered(previous, later)
    if time is None:
        raise NoValue("it never recovered, so there is no rate")
    if time == 0:
        raise NoValue("it recovered at once, so there is no rate")
    return _droop(previous, later) / time
