"""How does it come back? Recovery when a task is learned again."""

from __future__ import annotations

from itertools import pairwise

from perdure.curves.model import Curve
from perdure.metrics.arithmetic import NoValue, Value
from perdure.metrics.arithmetic import recovery_time as time_until_recovered
from perdure.metrics.declare import metric
from perdure.metrics.slopes import theil_sen
from perdure.scenario import sites

_SOURCE = "New et al. 2022"
_NEVER = "never recovered, counted as one more than the block's length"


def _time_or_more(previous: Curve, later: Curve) -> tuple[int, tuple[str, ...]]:
    """Return the recovery time; if it never recovers, one more than the block's length, with a flag."""
    time = time_until_recovered(previous, later)
    return (len(later) + 1, (_NEVER,)) if time is None else (time, ())


@metric(
    sites.between_learning_blocks,
    unit="experiences",
    better="lower",
    condition="Continuous Learning",
    capability="continual learning",
    source=_SOURCE,
    question="recovers",
)
def recovery_time(previous: Curve, later: Curve) -> Value:
    r"""Measure how many experiences it takes, when a task is learned again, to be as good as before.

    $$R = \min \lbrace k \ge 0 : \text{later}_k \ge \mathrm{TLP}(\text{previous}) \rbrace$$

    Weakness: a noisy curve reaches the target by chance before it has recovered. One that never recovers counts as the
    block's length, so blocks of different lengths do not compare.
    """
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
    r"""Measure how much faster a task is recovered each time it is learned again (minus the Theil–Sen slope).

    $$\mathrm{PR} = -\operatorname{median}_{i<j} \frac{R_j - R_i}{j - i}$$

    Weakness: a slope of recovery times of noisy curves varies widely. Both papers found it of little use, because some
    learners never recover, and the moment of recovery is hard to define. It needs many repetitions, and tends to 0 in
    long lifetimes.
    """
    pairs = [_time_or_more(previous, later) for previous, later in pairwise(learned)]
    flags = dict.fromkeys(flag for _, found in pairs for flag in found)
    if len({len(later) for later in learned[1:]}) > 1:
        flags["the blocks differ in length"] = None
    return Value(-theil_sen([time for time, _ in pairs]) + 0.0, tuple(flags))


@metric(
    sites.between_learning_blocks,
    unit="points",
    better="lower",
    condition="Continuous Learning",
    capability="continual learning",
    source=_SOURCE,
)
def droop(previous: Curve, later: Curve) -> float:
    r"""Measure how far performance has dropped when a task is learned again.

    $$D = \mathrm{TLP}(\text{previous}) - \frac{1}{h} \sum_{k=1}^{h} \text{later}_k, \quad h = \max(1, \lfloor n /
    10 \rfloor)$$

    Weakness: a task that is relearned within the first tenth shows no drop. In a short block a tenth is one experience.
    """
    # Smoothing across the block's edge would hide the drop, so the first tenth is not smoothed.
    return previous.terminal - later.raw_start


@metric(
    sites.between_learning_blocks,
    unit="points per experience",
    condition="Continuous Learning",
    capability="continual learning",
    source=_SOURCE,
)
def recovery_rate(previous: Curve, later: Curve) -> float:
    r"""Measure how much of the drop is made up per experience until a task is recovered.

    $$\frac{D}{R}$$

    Weakness: a ratio of two noisy numbers varies widely. Learners that recover at once and learners that never recover
    have no value, and these are the best and the worst.
    """
    time = time_until_recovered(previous, later)
    if time is None:
        raise NoValue("it never recovered, so there is no rate")
    if time == 0:
        raise NoValue("it recovered at once, so there is no rate")
    return (previous.terminal - later.raw_start) / time
