"""How does it learn? Levels, ends and slopes of learning and evaluation blocks."""

from __future__ import annotations

import math

import numpy as np

from perdure.curves.arrays import slope_through
from perdure.curves.model import Curve
from perdure.metrics.arithmetic import NoValue, flat, student_975
from perdure.metrics.declare import ComparedAs, VerdictWords, metric
from perdure.scenario import sites

_COMPARED = "it is computed when lifetimes are compared"


@metric(
    sites.final_evaluations,
    unit="points",
    question="does",
    source="Perdure",
    of_matrix="average_accuracy",
    words=VerdictWords(asks="Ends better?", about="points at the end, of 100"),
    compared=ComparedAs(),
)
def final_performance(last: Curve) -> float:
    r"""Measure the performance at the end: the last evaluation of each learned task, in points of 100.

    $$\mathrm{EP}(\text{last}) - 1$$

    Every task that was learned needs an evaluation after its last learning block. Values as measured (`--scale none`)
    stay as they are.

    Weakness: a level depends on the scale: on the difficulty of the tasks, and on bounds or the range of the data. It
    does not show whether a low task was forgotten or never learned.
    """
    return last.mean - (last.floor or 0.0)


@metric(
    sites.each_task_learned,
    scale="log",
    unit="ratio",
    preset="",
    source="after Baker et al. 2023, Alg. 3, without experts",
    words=VerdictWords(asks="Learns more?", about="performance while learning, ×"),
    compared=ComparedAs("learns more", "learns less", 1.1),
)
def learning_performance(learned: Curve) -> float:  # noqa: ARG001
    r"""Measure how much is achieved while learning, over the same number of experiences in all compared lifetimes.

    $$\max\left(1, \frac{1}{m} \sum_{k=1}^{m} \text{learned}_k\right)$$

    A task's wake learning blocks are joined and cut to m, the shortest in the comparison. The ratio of two learners is
    that of their relative performance, because experts that serve both cancel out.

    Weakness: it mixes how fast and how high. A ratio depends on the zero of the scale, so bounds should be given.
    """
    raise NoValue(_COMPARED)


@metric(
    sites.each_task_learned,
    scale="log",
    unit="ratio",
    preset="",
    source="after Baker et al. 2023, Alg. 4, by a common target",
    words=VerdictWords(asks="Learns faster?", about="learning speed, ×"),
    compared=ComparedAs("learns faster", "learns slower", 1.25),
)
def learning_speed(learned: Curve) -> float:  # noqa: ARG001
    r"""Measure how high and how soon learning ends up, by a target that is common to all compared lifetimes.

    $$\frac{\max(1, S)}{X}, \quad X = \min \lbrace k : \text{learned}_k \ge B + 0.9\,(\bar{S} - B) \rbrace$$

    S is the last tenth of a task's wake learning blocks, joined and cut to m, the shortest in the comparison. The
    target is nine tenths of the way from the mean start to the mean end of the experts of all learners, or of their
    lifetimes if one has no experts. A curve that never reaches it counts as m + 1.

    Weakness: high but late may give the same value as low but early. The target moves with the learners and experts
    that are compared.
    """
    raise NoValue(_COMPARED)


@metric(sites.each_learning_block, unit="points", source="l2metrics 3.1")
def mean_learning_performance(learned: Curve) -> float:
    r"""Measure the mean performance while learning.

    $$\frac{1}{n} \sum_{k=1}^{n} \text{learned}_k$$

    Weakness: it mixes how fast and how high.
    """
    return learned.mean


@metric(sites.each_evaluation_block, unit="points", source="l2metrics 3.1")
def mean_evaluation_performance(evaluation: Curve) -> float:
    r"""Measure the mean performance in evaluations.

    $$\frac{1}{n} \sum_{k=1}^{n} \text{evaluation}_k$$

    Weakness: evaluations before a task is learned count like those after it.
    """
    return evaluation.mean


@metric(sites.each_learning_block, unit="points", source="New et al. 2022")
def terminal_performance(learned: Curve) -> float:
    r"""Measure the mean performance over the last tenth of a learning block.

    $$\mathrm{TLP} = \frac{1}{n - \lfloor 9n/10 \rfloor} \sum_{k > \lfloor 9n/10 \rfloor} \text{learned}_k$$

    Weakness: it does not show whether learning had ended.
    """
    return learned.terminal


@metric(sites.each_learning_block, unit="points", source="Metrics Framework 2019")
def saturation(learned: Curve) -> float:
    r"""Measure the highest performance in a learning block.

    $$\max_k \text{learned}_k$$

    Weakness: the highest of noisy values exceeds their mean level, the more the longer the block is.
    """
    return learned.peak


@metric(sites.each_learning_block, unit="experiences", better="lower", source="Metrics Framework 2019")
def experiences_to_saturation(learned: Curve) -> float:
    r"""Measure how many experiences it takes to reach a learning block's highest performance.

    $$\min \lbrace k \ge 1 : \text{learned}_k = \max_i \text{learned}_i \rbrace$$

    Weakness: on a noisy plateau the highest value may be anywhere.
    """
    return learned.until_peak


@metric(sites.each_learning_block, unit="points", source="Metrics Framework 2019")
def normalized_integral(learned: Curve) -> float:
    r"""Measure the area under a block's learning curve, divided by its length.

    $$\frac{1}{n} \sum_{k=1}^{n} \text{learned}_k$$

    Weakness: it mixes how fast and how high.
    """
    return learned.mean


@metric(
    sites.learning_three_values,
    combine=flat,
    unit="sign",
    threshold=0,
    inclusive=True,
    condition="Continuous Learning",
    capability="continual learning",
    source="New et al. 2022, App. B",
)
def cumulative_gain(learned: Curve) -> float:
    r"""Measure how many more learning blocks rise than fall, as a share of all; flat or uncertain ones count 0.

    $$\operatorname{sign}(\beta) \text{ where } |\beta| > t_{0.975,\,n-2} \cdot \mathrm{se}(\beta), \text{ else }
    0$$

    Weakness: a task at its ceiling and one that is not learned at all both count 0, so a learner that learns nothing
    reaches the threshold.
    """
    line = learned.raw_moments
    rises = _beyond(abs(line.slope), line.slope_error, len(learned) - 2)
    return math.copysign(1.0, line.slope) if rises else 0.0


def _beyond(rise: float, error: float, freedom: int) -> bool:
    """Return whether a slope is outside its 95 % t interval around 0. SciPy decides only the closest cases."""
    low, high = student_975(freedom)
    if rise <= low * error:
        return False
    if rise > high * error:
        return True
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return rise > float(stdtrit(freedom, 0.975)) * error


@metric(
    sites.after_a_change,
    unit="ratio",
    condition="Transfer and Adaptation",
    capability="adapting to new tasks",
    source="New et al. 2022, App. B",
)
def learn_burn(changed: tuple[Curve, ...], learned: tuple[Curve, ...]) -> float:
    r"""Measure how steeply blocks are learned after a change, relative to the slope of the whole lifetime.

    $$\mathrm{LB} = \frac{\operatorname{mean}_b \beta(\text{changed}_b)}{\beta(\text{learned})}$$

    The paper's interpretation is inverted with respect to its formula, so there is no verdict.

    Weakness: the slope of the whole lifetime spans several tasks, and may result from their order only.
    """
    slopes = [block.raw_moments.slope for block in changed if len(block) > 1]
    if not slopes:
        raise NoValue("every block after a change holds a single experience, which has no slope")
    whole = slope_through([block.raw_moments for block in learned])
    if whole <= 0:
        raise NoValue(f"undefined: the lifetime's overall slope is not positive ({whole:.6g})")
    return float(np.mean(slopes) / whole)
