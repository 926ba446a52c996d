"""Cost of learning, and final reward and cost relative to experts and to a stateless twin."""

from __future__ import annotations

import numpy as np

from perdure.curves.experts import learner_seconds as learner_seconds_of
from perdure.curves.experts import seconds_learning
from perdure.curves.model import Curve, Curves, Expert, Twin
from perdure.log.rules import MEMORY_COLUMNS
from perdure.metrics.arithmetic import NoValue, flat, ratio
from perdure.metrics.declare import metric
from perdure.scenario import sites
from perdure.scenario.model import Mode
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


_UNTIMED = "needs the columns act_seconds and learn_seconds, which `perdure run` logs"


@metric(sites.timed_learning, unit="seconds", better="lower", scale="log", source="Perdure")
def learner_seconds(life: Curves) -> float:
    r"""Measure how long the learner acts and learns in a learning experience, without environment and evaluations.

    $$\frac{\sum_{\text{learning}} s_{\text{act}} + \sum s_{\text{learn}}}{n_{\text{learning}}}$$

    Starts and ends of blocks count as learning.

    Weakness: clocks measure the machine and everything else that runs on it. For a learner that owns its loop, all time
    outside the environment counts.
    """
    seconds = learner_seconds_of(life.passage)
    if not seconds:
        raise NoValue(_UNTIMED)
    return seconds


@metric(
    sites.timed_learning,
    unit="ratio",
    better="lower",
    scale="log",
    condition="Scalability",
    source="Perdure, after Baker et al. 2023, App. G",
)
def learner_overhead(life: Curves, experts: tuple[Expert, ...]) -> float:
    r"""Measure how long the learner acts and learns in a learning experience, relative to the experts.

    $$\frac{s_{\text{life}}}{\operatorname{mean}_e s_e}$$

    s is the value of `learner_seconds`.

    Weakness: clocks measure the machine and everything else that runs on it. A learner that learns little may be cheap,
    so it belongs beside a level, such as `final_performance`.
    """
    seconds = learner_seconds_of(life.passage)
    of_experts = [expert.learner_seconds for expert in experts if expert.learner_seconds is not None]
    if not seconds or len(of_experts) < len(experts):
        raise NoValue(f"{_UNTIMED}, of the experts too")
    return ratio(seconds, float(np.mean(of_experts)), 0.0)


@metric(sites.evaluation, unit="seconds", better="lower", scale="log", source="Perdure")
def evaluation_seconds(life: Curves) -> float:
    r"""Measure how long the learner acts in an evaluation experience, without the environment.

    $$\frac{1}{n} \sum_{\text{evaluations}} s_{\text{act}}$$

    Weakness: clocks measure the machine and everything else that runs on it.
    """
    return _per_experience(life, "act_seconds", "evaluate", "probe")


@metric(sites.timed_learning, unit="seconds", better="lower", scale="log", source="Perdure")
def environment_seconds(life: Curves) -> float:
    r"""Measure how long the environment, or the drawing of a batch, takes per experience.

    $$\frac{1}{n} \sum s_{\text{environment}}$$

    Weakness: it depends on the learner too, because longer episodes take longer.
    """
    return _per_experience(life, "env_seconds", "learn", "evaluate", "probe")


@metric(sites.timed_learning, unit="MB", better="lower", source="Perdure")
def peak_memory(life: Curves) -> float:
    r"""Measure the highest memory of the process at the end of an experience.

    $$\max_k \text{memory}_k$$

    Weakness: it includes libraries, the environment, and earlier lifetimes in the same process, but no GPU.
    """
    return _highest(life, *MEMORY_COLUMNS)


@metric(sites.timed_learning, unit="parameters", better="lower", source="Perdure")
def peak_parameters(life: Curves) -> float:
    r"""Measure the highest number of parameters, for learners that log it as `parameters`.

    $$\max_k \text{parameters}_k$$

    Weakness: copies of parameters, such as anchors and importances, count only if the learner counts them.
    """
    return _highest(life, "parameters")


@metric(sites.timed_learning, unit="updates", better="lower", source="Perdure")
def total_updates(life: Curves) -> float:
    r"""Measure the number of updates of the parameters, for learners that log it as `updates`.

    $$\max_k \text{updates}_k$$

    Weakness: updates of two methods may differ in cost.
    """
    return _highest(life, "updates")


@metric(sites.timed_learning, unit="bytes", better="lower", source="Perdure")
def peak_stored_bytes(life: Curves) -> float:
    r"""Measure the most bytes of stored examples, for learners that log them as `stored_bytes`.

    $$\max_k \text{bytes}_k$$

    Weakness: the same examples may take more or fewer bytes in another encoding.
    """
    return _highest(life, "stored_bytes")


def _per_experience(life: Curves, column: str, *modes: Mode) -> float:
    values = life.passage.column(column)
    seconds = 0.0 if values is None else float(np.nansum(values[life.passage.rows_of(*modes)]))
    if not seconds:
        raise NoValue(f"needs the column {column}, which `perdure run` logs")
    return seconds / sum(block.length or 0 for block in life.scenario.blocks if block.mode in modes)


def _highest(life: Curves, *columns: str) -> float:
    values = life.passage.column(*columns)
    if values is None:
        raise NoValue(f"needs the column {columns[0]}")
    return float(np.nanmax(values))


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
