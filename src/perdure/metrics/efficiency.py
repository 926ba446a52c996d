"""How does it compare with an expert? Relative performance and sample efficiency."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from perdure.curves.experts import compare_with_experts
from perdure.curves.model import Curves, ExpertComparison
from perdure.metrics.arithmetic import NoValue, Value, lift, still_rising
from perdure.metrics.declare import VerdictWords, metric
from perdure.metrics.measure import Context
from perdure.metrics.slopes import theil_sen
from perdure.scenario import sites
from perdure.scenario.sites import Site

NOT_SATURATED = "not saturated: still rising at the end (Baker et al. define this metric for saturated tasks only)"
EXPERT_NOT_SATURATED = "an expert is not saturated: its curve still rises at its end"
NEVER_REACHED = "the target was never reached, and counts as reached after the end"
_THAN = "than single-task experts"
_ROUNDING = 1e-9  # a curve that rises by less than this part of its range does not rise


@metric(
    sites.each_task_learned,
    scale="log",
    unit="ratio",
    threshold=1,
    headline="log",
    question="beside",
    condition="Scalability",
    capability="continual learning",
    source="Baker et al. 2023, Alg. 3, averaged as logarithms",
    aliases=("RP",),
    words=VerdictWords(
        *("more", "less", "it", "achieves {} while learning", _THAN),
        asks="Better than an expert?",
        about="performance while learning, ×",
    ),
)
def relative_performance(expert: ExpertComparison) -> float | Value:
    r"""Measure how much is achieved while learning a task, relative to an expert of that task alone.

    $$\mathrm{RP} = \frac{\sum_{k=1}^{m} L_k}{\sum_{k=1}^{m} E_k}$$

    Weakness: RP is only as good as its experts, which are not an upper bound: it moves if they are few, or if one
    failed. A ratio depends on the zero of the scale, so bounds should be given.
    """
    return lift(expert.mean, expert.expert_mean, expert.range, expert.floor)


@metric(
    sites.each_task_learned,
    scale="log",
    unit="ratio",
    threshold=1,
    headline="log",
    question="beside",
    condition="Scalability",
    capability="continual learning",
    source="after Baker et al. 2023, Alg. 4, by a common target",
    aliases=("SE",),
    words=VerdictWords(
        *("faster", "slower", "it", "learns {}", _THAN),
        asks="Faster than an expert?",
        about="sample efficiency, ×",
    ),
)
def sample_efficiency(expert: ExpertComparison) -> float | Value:
    r"""Measure how high and how soon learning a task ends up, relative to an expert of that task alone.

    $$\mathrm{SE} = \frac{S_L}{S_E} \cdot \frac{X_E}{X_L}, \quad X = \min \lbrace k : C_k \ge B + 0.9\,(\bar{S} - B)
    \rbrace$$

    How high: the last tenth of each. How soon: the experience at which each reaches a common target, nine tenths of the
    way from the mean start of the learner and all experts to their mean end. Failures count, because leaving them out
    would flatter.

    Weakness: SE needs learning to end: if a curve still rises or drifts, its last tenth is not its saturation. High but
    late may give the same value as low but early. SE is only as good as its experts.
    """
    height = lift(expert.end, expert.expert_end, expert.range, expert.floor)
    value, flags = (height.value, height.flags) if isinstance(height, Value) else (height, ())
    flags = (*flags, *_remarks(expert))
    value *= expert.expert_reached / expert.reached
    return Value(value, flags) if flags else value


def _remarks(pair: ExpertComparison) -> Iterator[str]:
    if pair.reached > pair.length:
        yield NEVER_REACHED
    if pair.expert_reached > pair.length:
        yield "an expert never reached the target, which counts as reached after its end"
    least = _ROUNDING * max(1.0, pair.range)
    if pair.end <= pair.start + least:
        yield "did not learn: the curve ends no higher than it begins"
    if pair.expert_end <= pair.expert_start + least:
        yield "an expert did not learn: its curve ends no higher than it begins"
    if still_rising(pair.start, pair.late, pair.end):
        yield NOT_SATURATED
    if still_rising(pair.expert_start, pair.expert_late, pair.expert_end):
        yield EXPERT_NOT_SATURATED


@metric(
    sites.first_learning_of_each,
    unit="log ratio per task",
    expert=True,
    capability="continual learning",
    source="Perdure",
)
def plasticity(life: Curves, at: Site, how: Context) -> float | Value:
    r"""Measure whether each new task is learned better or worse than the one before, relative to experts, per new task.

    $$\operatorname{median}_{i<j} \frac{\ln \mathrm{RP}_j - \ln \mathrm{RP}_i}{j - i}$$

    The Theil–Sen slope, over the order in which tasks are first learned, of the logarithm of the relative
    performance of each task's first learning block.

    Weakness: with one order of tasks, the position of a task and its difficulty cannot be separated, so lifetimes
    should differ in order. Better means better than the experts of the same task, so plasticity is only as good as they
    are.
    """
    order: list[float] = []
    found: list[float] = []
    flags: dict[str, None] = {}
    for number, block in enumerate(at.blocks["first"]):
        task = life.scenario.blocks[block].task
        pairs = compare_with_experts(life, task, (block,), how.expert_average)
        if not pairs or task in life.uninformative:
            continue
        values = [lift(one.mean, one.expert_mean, one.range, one.floor) for one in pairs]
        flags |= dict.fromkeys(flag for one in values if isinstance(one, Value) for flag in one.flags)
        ratios = [one.value if isinstance(one, Value) else one for one in values]
        order.append(number)
        found.append(float(np.mean([math.log(one) for one in ratios])))
    if len(found) < sites.NEW_TASKS:
        raise NoValue(f"needs {sites.NEW_TASKS} newly learned tasks with experts; {len(found)} have one")
    return Value(theil_sen(found, order), tuple(flags))
