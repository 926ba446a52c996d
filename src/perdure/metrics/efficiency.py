"""How does it compare with an expert? Relative performance and sample efficiency."""

from __future__ import annotations

from perdure.curves.model import Curve
from perdure.metrics.arithmetic import experiences_until, ratio
from perdure.metrics.declare import NoValue, metric
from perdure.scenario import sites

__all__ = ["relative_performance", "sample_efficiency", "sample_efficiency_uncut"]

_ROUNDING = 1e-9  # a curve that falls by less than this part of its range does not fall
_FAILED = 0.2  # a learner below a fifth of the expert's best did not learn the task


@metric(
    sites.each_task_learned,
    unit="ratio",
    threshold=1,
    condition="Scalability",
    capability="continual learning",
    source="Baker et al. 2023, Alg. 3",
)
def relative_performance(learned: Curve, expert: Curve) -> float:
    """How much is achieved while learning a task, beside an expert of that task alone."""
    shared = min(len(learned), len(expert))
    return ratio(learned.first(shared).total, expert.first(shared).total, shared * learned.range)


@metric(
    sites.each_task_learned,
    unit="ratio",
    threshold=1,
    condition="Scalability",
    capability="continual learning",
    source="Baker et al. 2023, Alg. 4, cut to equal length",
)
def sample_efficiency(learned: Curve, expert: Curve) -> float:
    """How high and how soon a task's learning saturates, beside an expert of that task alone.

    Both curves are cut to the shorter length: uncut, an expert that ran four times as long would
    triple the value.
    """
    shared = min(len(learned), len(expert))
    return _efficiency(learned, learned.first(shared), expert.first(shared))


@metric(
    sites.each_task_learned,
    name="sample_efficiency",
    unit="ratio",
    threshold=1,
    condition="Scalability",
    capability="continual learning",
    source="Baker et al. 2023, Alg. 4",
    register=False,
)
def sample_efficiency_uncut(learned: Curve, expert: Curve) -> float:
    """How high and how soon a task's learning saturates, beside an expert's whole curve."""
    return _efficiency(learned, learned, expert)


def _efficiency(whole: Curve, learned: Curve, expert: Curve) -> float:
    if whole.slope * len(whole) < -_ROUNDING * whole.range:
        raise NoValue("the learning curve falls, so it does not saturate")
    reached, expert_reached = experiences_until(learned, learned.peak), experiences_until(expert, expert.peak)
    if reached == 1:
        raise NoValue("the learning curve is highest at its first experience, so it does not saturate")
    if expert_reached == 1:
        raise NoValue("the expert's curve is highest at its first experience, so it does not saturate")
    height = ratio(learned.peak, expert.peak, expert.range)
    if height < _FAILED:
        raise NoValue("the learner stays below a fifth of the expert's best, so it did not learn the task")
    return height * expert_reached / reached
