"""How far does it fall between evaluations? Worst-case performance and the stability gap."""

from __future__ import annotations

from perdure.curves.model import Curve
from perdure.metrics.declare import metric
from perdure.scenario import sites

_SOURCE = "De Lange et al. 2023"


@metric(sites.worst_evaluations, unit="points", source=_SOURCE, aliases=("WC-ACC",))
def worst_case_performance(evaluations: tuple[Curve, ...]) -> float:
    r"""Measure the lowest performance of every task since it was last learned (WC-ACC).

    $$\min_e \mathrm{EP}(\text{evaluations}_e)$$

    The mean over k tasks is the paper's trade-off, because the task learned last has only its final evaluation: 1/k
    times its accuracy plus (1 − 1/k) times the minimum accuracy of the others. Evaluations inside learning blocks count
    (`--evaluate-every`).

    Weakness: the lowest of several noisy evaluations lies below their level, the more so the noisier and the more they
    are. A learner that keeps everything at a level of 80, evaluated by ten 0/1 episodes, has 75 over three tasks, and
    65 if they are also evaluated after every tenth of a learning block. So learners only compare if they were evaluated
    equally often, by the same number of episodes.
    """
    return min(evaluation.mean for evaluation in evaluations)


@metric(
    sites.worst_evaluations_of_earlier,
    unit="points",
    source=_SOURCE,
    aliases=("min-ACC",),
    variant_of=worst_case_performance,
)
def minimum_performance(evaluations: tuple[Curve, ...]) -> float:
    r"""Measure the lowest performance of every task but the last one, since it was last learned.

    $$\min_e \mathrm{EP}(\text{evaluations}_e)$$

    Evaluations inside learning blocks count (`--evaluate-every`).

    Weakness: that of `worst_case_performance`, without the last task, which dilutes it.
    """
    return min(evaluation.mean for evaluation in evaluations)


@metric(sites.across_a_switch, unit="points", better="lower", source=f"after {_SOURCE}")
def stability_gap(before: Curve, probe: Curve) -> float:
    r"""Measure how far a learned task drops right after the learner turns to another.

    $$\mathrm{EP}(\text{before}) - \mathrm{EP}(\text{first probe})$$

    The first evaluation inside the next learning block (`--evaluate-every`) is compared with the last one before it.

    Weakness: it depends on the number of experiences before the first probe. A deeper drop later in the block is not
    seen, and a drop that stays counts like one that is made up; compare it with maintenance, which sees only the end.
    """
    return before.mean - probe.mean
