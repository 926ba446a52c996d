"""Cost and final reward of learning, relative to experts and to a stateless twin."""

from __future__ import annotations

import numpy as np

from perdure.curves.experts import seconds_learning
from perdure.curves.model import Curve, Curves, Expert, Twin
from perdure.metrics.arithmetic import NoValue, flat, ratio
from perdure.metrics.declare import metric
from perdure.scenario import sites
from perdure.scenario.sites import Site


@metric(
    sites.timed_learning,
    unit="ratio",
    better="lower",
    condition="Scalability",
    source="Baker et al. 2023, App. G",
)
def cost_overhead(life: Curves, experts: tuple[Expert, ...]) -> float:
    r"""Measure how long a learning experience takes, relative to the experts'.

    $$\frac{s_{\text{life}}}{s_{\text{experts}}}, \quad s = \frac{\sum_b (\text{last} - \text{first
    timestamp})_b}{\sum_b (n_b - 1)}$$

    Weakness: clocks measure the machine and everything else that runs on it, so lifetimes and experts compare only if
    they ran on one machine. Memory and energy do not count.
    """
    seconds, intervals = seconds_learning(life.passage)
    if seconds is None or any(expert.seconds is None for expert in experts):
        raise NoValue("needs timestamps in every learning block, of the experts too")
    expert_seconds = sum(expert.seconds or 0.0 for expert in experts)
    expert_intervals = sum(expert.intervals for expert in experts)
    if not intervals or not expert_intervals:
        raise NoValue("needs learning blocks of two or more experiences, of the experts too")
    return ratio(seconds / intervals, expert_seconds / expert_intervals, 0.0)


def _relative_reward(last: Curve, experts: tuple[Expert, ...]) -> float:
    ends = [expert.last.terminal for expert in experts if len(expert.last)]
    if not ends:
        raise NoValue("a stated saturation is no learning curve; the task needs the log of an expert")
    return ratio(last.mean, float(np.mean(ends)), last.range)


@metric(sites.last_evaluations, unit="ratio", source="Daniels et al. 2022")
def relative_reward_final(last: Curve, experts: tuple[Expert, ...]) -> float:
    r"""Measure how good every task is in its last evaluation, relative to the end of its experts.

    $$\frac{\mathrm{EP}(\text{last})}{\operatorname{mean}_e \mathrm{TLP}(\text{expert})_e}$$

    Weakness: evaluation is compared with the end of learning, and the two may differ for other reasons. Tasks that were
    never learned count like the others.
    """
    return _relative_reward(last, experts)


@metric(sites.last_evaluations_of_seen, unit="ratio", source="Daniels et al. 2022")
def relative_reward_seen(last: Curve, experts: tuple[Expert, ...]) -> float:
    r"""Measure how good the learned tasks are in their last evaluation, relative to the end of their experts.

    $$\frac{\mathrm{EP}(\text{last})}{\operatorname{mean}_e \mathrm{TLP}(\text{expert})_e}$$

    Weakness: evaluation is compared with the end of learning, and the two may differ for other reasons.
    """
    return _relative_reward(last, experts)


@metric(sites.last_evaluations_of_unseen, unit="ratio", source="Daniels et al. 2022")
def relative_reward_unseen(last: Curve, experts: tuple[Expert, ...]) -> float:
    r"""Measure how good the tasks never learned are in their last evaluation, relative to the end of their experts.

    $$\frac{\mathrm{EP}(\text{last})}{\operatorname{mean}_e \mathrm{TLP}(\text{expert})_e}$$

    Weakness: evaluation is compared with the end of learning, and the two may differ for other reasons. A task that
    was never learned is compared with one that was.
    """
    return _relative_reward(last, experts)


# --- compared with a stateless twin ---------------------------------------------------------------


@metric(sites.evaluations_of_learned, combine=flat, unit="points", source="Perdure")
def twin_gain(evaluation: Curve, at: Site, twin: Twin) -> float:
    r"""Measure how much better learned tasks are done than by a twin that starts from scratch in each block.

    $$\operatorname{mean}_b \left( \bar{L}_b - \bar{W}_b \right)$$

    W is the twin's evaluation of the same block.

    Weakness: the twin is untrained in every evaluation, so any learning at all counts as a gain.
    """
    return evaluation.mean - twin.means[at.blocks["evaluation"][0]]


@metric(sites.timed_learning, unit="ratio", better="lower", source="Perdure")
def twin_cost(life: Curves, twin: Twin) -> float:
    r"""Measure how long a learning experience takes, relative to a stateless twin's.

    $$\frac{\text{seconds per learning experience}}{\text{seconds per learning experience of the twin}}$$

    Weakness: clocks measure the machine and everything else that runs on it.
    """
    seconds, intervals = seconds_learning(life.passage)
    if seconds is None or twin.seconds is None:
        raise NoValue("needs timestamps in every learning block, of the twin too")
    if not intervals or not twin.intervals:
        raise NoValue("needs learning blocks of two or more experiences, of the twin too")
    return ratio(seconds / intervals, twin.seconds / twin.intervals, 0.0)
