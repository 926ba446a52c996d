"""The metrics of the accuracy matrix: A[i, j] is task i after the j-th task was learned, T tasks in all.

Formulas see the evaluations as measured. Every mean is over all the cells that the definition names: if one is missing
there is no value. `--aggregate median` does not apply, because identities such as
AA = LA + BWT·(T − 1)/T would be lost.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from perdure.curves.arrays import LOWEST, SCALED, Array
from perdure.curves.model import Curve, Curves, Expert
from perdure.metrics import matrix as sites
from perdure.metrics.arithmetic import NoValue, Value, flat
from perdure.metrics.declare import ComparedAs, PublishedRange, VerdictWords, metric
from perdure.metrics.matrix import Change, Learning, Place
from perdure.scenario.sites import each_task_learned, general_abilities

S002 = "Evaluation Metrics for Continual Learning"
GEM = "Lopez-Paz & Ranzato 2017"
RIEMANNIAN_WALK = "Chaudhry et al. 2018"
HAYES = "Hayes et al. 2018; Kemker et al. 2018"
DIAZ_RODRIGUEZ = "Díaz-Rodríguez et al. 2018"
DE_LANGE = "De Lange et al. 2023"
POWERS = "Powers et al. 2021"
LIBERO = "Liu et al. 2023"
WOLCZYK = "Wołczyk et al. 2021"

_measured = partial(metric, combine=flat, unit="measure")
_ratio = partial(metric, combine=flat, unit="ratio")
_headline = partial(_measured, headline="matrix")


BEST_LESS_LAST = "biased upward: noise alone gives a positive value"
SQUARED = "in squared units"


# --- Evaluation Metrics for Continual Learning -----------------------------------------------------


@_headline(
    sites.at_the_end,
    source=S002,
    aliases=("AA",),
    good=PublishedRange("above 80 %", above=80),
    question="does",
    words=VerdictWords(asks="How good at the end?", about="all tasks (AA)"),
    compared=ComparedAs(of="matrix"),
)
def average_accuracy(at: Place) -> float:
    r"""Measure how well all learned tasks are done at the end (AA).

    $$\mathrm{AA} = \frac{1}{T} \sum_{i=1}^{T} A_{i,T}$$

    Weakness: it does not distinguish forgotten tasks from tasks that were never learned.
    """
    return at.final


@_headline(
    sites.once_learned,
    source=S002,
    aliases=("LA",),
    good=PublishedRange("above 90 %", above=90),
    question="does",
    words=VerdictWords(asks="How good once learned?", about="each task (LA)"),
    compared=ComparedAs("learns more", "learns less", of="matrix"),
)
def learning_accuracy(at: Place) -> float:
    r"""Measure how well each task is done once it is learned (LA).

    $$\mathrm{LA} = \frac{1}{T} \sum_{i=1}^{T} A_{i,i}$$

    Weakness: it ignores everything that happens afterwards: a learner that forgets everything may have the highest.
    """
    return at.learned


@_headline(
    sites.old_tasks,
    threshold=0,
    margin=5,
    condition="Continuous Learning",
    capability="continual learning",
    source=GEM,
    good=PublishedRange("about 0, or positive"),
    question="keeps",
    words=VerdictWords(
        of_change=True,
        asks="Keeps what it learns?",
        about="change of earlier tasks (BWT)",
        spelled="backward transfer, as a difference",
    ),
    compared=ComparedAs("keeps more", "keeps less", of="matrix", of_change=True),
)
def bwt(at: Place) -> float:
    r"""Measure how much learning the later tasks changed the earlier ones; negative is forgetting (BWT).

    $$\mathrm{BWT} = \frac{1}{T-1} \sum_{i=1}^{T-1} (A_{i,T} - A_{i,i})$$

    Weakness: a learner that never learned a task has nothing to forget, so read it together with learning_accuracy.
    Early tasks have had longer to be forgotten.
    """
    return at.final - at.learned


@_headline(
    sites.ahead_of_learning,
    source=GEM,
    aliases=("fwt_gem",),
    good=PublishedRange("positive", above=0),
    question="helps",
    words=VerdictWords(
        asks="Helps new tasks?",
        about="above an untrained learner (FWT)",
        spelled="forward transfer, as a difference",
    ),
    compared=ComparedAs("is helped more", "is helped less", of="matrix"),
)
def fwt(at: Place) -> float:
    r"""Measure how far each later task is above an untrained learner just before it is learned: forward transfer (FWT).

    $$\mathrm{FWT} = \frac{1}{T-1} \sum_{i=2}^{T} (A_{i,i-1} - R_i)$$

    If no untrained learner is given, R is the learner itself before any learning.

    Weakness: if each task has its own head or labels, there is nothing to evaluate before it is learned, and FWT is
    noise around 0.
    """
    return at.previous - float(at.random_init[at.row])


@_measured(sites.new_tasks, source=S002, good=PublishedRange("positive", above=0))
def above_chance(at: Place) -> float:
    r"""Measure how far each later task, once learned, is above an untrained learner.

    $$\frac{1}{T-1} \sum_{i=2}^{T} (A_{i,i} - R_i)$$

    The source calls it FWT and reads it as transfer, but the task has been learned by then.

    Weakness: it measures learning, not transfer: a learner that starts from scratch for each task has it too.
    """
    return at.learned - float(at.random_init[at.row])


@_headline(
    sites.histories,
    better="lower",
    source=RIEMANNIAN_WALK,
    aliases=("FM",),
    good=PublishedRange("low"),
    question="keeps",
    words=VerdictWords(asks="How far below its best?", about="earlier tasks (FM); noise alone raises it"),
    compared=ComparedAs("forgets less", "forgets more", of="matrix", of_change=True),
)
def forgetting(at: Place) -> Value:
    r"""Measure how far each earlier task fell from its best to the end; unlike bwt, noise alone makes it positive (FM).

    $$\mathrm{FM} = \frac{1}{T-1} \sum_{i=1}^{T-1} \left( \max_{i \le j \le T} A_{i,j} - A_{i,T} \right)$$

    The source's code takes the best over all evaluations including the last; its formula leaves the last out
    (`forgetting_strict`).

    Weakness: noise alone makes best minus last positive, the more the longer the sequence is.
    """
    return Value(float(at.since.max()) - at.final, (BEST_LESS_LAST,))


@metric(
    general_abilities,
    unit="measure",
    combine=flat,
    headline="matrix",
    source="Perdure",
    question="keeps",
    words=VerdictWords(asks="Keeps general abilities?", about="change of tasks never learned (GAC)"),
)
def general_ability_change(at: Change) -> float:
    r"""Measure how much tasks that are never learned change from the first evaluation to the last (GAC).

    $$\frac{1}{|G|} \sum_{g \in G} (A_{g,T} - A_{g,0})$$

    Weakness: it averages only evaluated tasks; abilities that no benchmark tests do not count.
    """
    return at.last - at.first


@_measured(sites.histories, better="lower", source=RIEMANNIAN_WALK)
def forgetting_strict(at: Place) -> float:
    r"""Measure how far each earlier task fell from its best before the last task; gains are negative (FM as printed).

    $$\frac{1}{T-1} \sum_{i=1}^{T-1} \left( \max_{i \le j < T} A_{i,j} - A_{i,T} \right)$$

    Weakness: the best of noisy values exceeds their mean level, so a learner that forgets nothing is above 0 on
    average.
    """
    return float(at.since[:-1].max()) - at.final


@_measured(sites.new_tasks, better="lower", joint=True, source=RIEMANNIAN_WALK, aliases=("IM",))
def intransigence(at: Place) -> float:
    r"""Measure how far each later task, once learned, is below a jointly trained learner (IM).

    $$\mathrm{IM} = \frac{1}{T-1} \sum_{i=2}^{T} (J_i - A_{i,i})$$

    Weakness: it depends on how well the joint learner was trained.
    """
    return float(at.joint[at.row]) - at.learned


@_measured(sites.histories, better="lower", source=S002, aliases=("MS",), good=PublishedRange("low"))
def memory_stability(at: Place) -> Value:
    r"""Measure how much each earlier task's evaluations vary since it was learned, as a population variance (MS).

    $$\mathrm{MS} = \frac{1}{T-1} \sum_{i=1}^{T-1} \operatorname{var}_{j \ge i} A_{i,j}$$

    Weakness: improvement counts as instability, as decline does, and noise counts too.
    """
    return Value(float(at.since.var()), (SQUARED,) if at.matrix.unit == "raw" else ())


@_measured(sites.stages, source="Rebuffi et al. 2017")
def average_incremental_accuracy(at: Place) -> float:
    r"""Measure how well the tasks learned so far are done, averaged over the times a task was learned.

    $$\frac{1}{T} \sum_{j=1}^{T} \frac{1}{j} \sum_{i=1}^{j} A_{i,j}$$

    Weakness: the first tasks count most, because they are in every mean.
    """
    return _mean_seen(at, at.seen)


def _mean_seen(at: Place, values: Array) -> float:
    """Return the weighted mean over the tasks learned so far."""
    return float(np.average(values, weights=at.weights[: at.row + 1]))


# --- relative to the joint learner ----------------------------------------------------------------
# Kemker et al. divide by one offline accuracy, that of the base task; Hayes et al. divide by the
# offline learner at the same time. Decided: the joint learner on the same tasks, over the second to
# the last learned task, and the newest task's accuracy as it is, as in Kemker et al.


@_ratio(sites.first_task, joint=True, source=HAYES)
def omega_base(at: Place) -> float:
    r"""Measure how much of the joint learner's accuracy on the first task is kept while others are learned.

    $$\Omega_{\text{base}} = \frac{1}{T-1} \sum_{j=2}^{T} \frac{A_{1,j}}{J_1}$$

    Weakness: it considers the first task only.
    """
    return _relative(at.matrix.value(0, at.row + 1), float(at.joint[0]))


@_measured(sites.new_tasks, source=HAYES)
def omega_new(at: Place) -> float:
    r"""Measure how well each later task is done once it is learned.

    $$\Omega_{\text{new}} = \frac{1}{T-1} \sum_{j=2}^{T} A_{j,j}$$

    Weakness: it ignores everything that happens afterwards.
    """
    return at.learned


@_ratio(sites.later_stages, joint=True, source=HAYES)
def omega_all(at: Place) -> float:
    r"""Measure how much of the joint learner's accuracy is reached on all tasks learned so far.

    $$\Omega_{\text{all}} = \frac{1}{T-1} \sum_{j=2}^{T} \frac{\sum_{i \le j} A_{i,j}}{\sum_{i \le j} J_i}$$

    Weakness: it depends on how well the joint learner was trained, and the first tasks count most.
    """
    return _relative(_mean_seen(at, at.seen), _mean_seen(at, at.joint[: at.row + 1]))


# --- Díaz-Rodríguez et al. ------------------------------------------------------------------------


@_measured(sites.seen_pairs, source=DIAZ_RODRIGUEZ)
def dr_accuracy(at: Place) -> float:
    r"""Measure how well learned tasks are done, averaged over all pairs of a task and a later time (A).

    $$\frac{2}{T(T+1)} \sum_{i \le j} A_{i,j}$$

    Weakness: it does not distinguish forgotten tasks from tasks that were never learned.
    """
    return at.now


@_measured(sites.old_pairs, source=DIAZ_RODRIGUEZ)
def dr_bwt(at: Place) -> float:
    r"""Measure how much every later task changed the earlier ones, averaged over all such pairs (BWT over time).

    $$\frac{2}{T(T-1)} \sum_{i < j} (A_{i,j} - A_{i,i})$$

    Weakness: a learner that never learned a task has nothing to forget. Early tasks count most.
    """
    return at.now - at.learned


@metric(sites.whole_history, combine=flat, unit="fraction", source=DIAZ_RODRIGUEZ)
def dr_remembering(at: Place) -> float:
    r"""Measure how much is kept: 1 minus the mean loss over all pairs, for accuracies in 0..1 (REM).

    $$\mathrm{REM} = 1 - \left| \min(\mathrm{BWT}, 0) \right|$$

    Weakness: gains on some tasks compensate for losses on others, and noise alone keeps it below 1.
    """
    scale = {"percent": 100.0, "fraction": 1.0}.get(at.matrix.unit)
    if scale is None:
        raise NoValue("needs accuracies: a measure of that name, bounds of 0..1 or 0..100, or --unit")
    rows, columns = np.triu_indices(len(at.after), k=1)
    change = np.average((at.after - np.diag(at.after)[:, None])[rows, columns], weights=at.weights[rows])
    return 1.0 - abs(min(float(change) / scale, 0.0))


@_measured(sites.unseen_pairs, source=DIAZ_RODRIGUEZ)
def dr_fwt(at: Place) -> float:
    r"""Measure how well tasks are done before they are learned, averaged over tasks and earlier times (FWT).

    $$\frac{2}{T(T-1)} \sum_{j < i} A_{i,j}$$

    Weakness: the chance level of an untrained learner is not subtracted.
    """
    return at.now


# --- De Lange et al. ------------------------------------------------------------------------------


@_measured(sites.remembered, source=DE_LANGE)
def min_accuracy(at: Place) -> float:
    r"""Measure how low each earlier task ever fell after it was learned, over every evaluation (min-ACC).

    $$\frac{1}{T-1} \sum_{i=1}^{T-1} \min_{e} \mathrm{EP}(e), \quad e \text{ after } i \text{ was learned}$$

    The paper starts just after the evaluation that ends a task's learning; here that evaluation counts too.

    Weakness: the lowest of noisy values falls with their number, so a learner that is evaluated more often looks worse.
    """
    return at.lowest


@_measured(sites.remembered_and_last, source=DE_LANGE)
def worst_case_accuracy(at: Place) -> float:
    r"""Measure how well all tasks are done if each earlier one is met at its lowest (WC-ACC).

    $$\frac{A_{T,T}}{T} + \left( 1 - \frac{1}{T} \right) \frac{1}{T-1} \sum_{i=1}^{T-1} \min_{e} \mathrm{EP}(e)$$

    Weakness: it falls with the number of evaluations, as min_accuracy does.
    """
    lowest = [*at.matrix.lowest[:-1], at.learned]
    known = [place for place, low in enumerate(lowest) if low is not None]
    return float(np.average(np.array(lowest, dtype=np.float64)[known], weights=at.weights[known]))


# --- Powers et al. --------------------------------------------------------------------------------


@_ratio(sites.changes_of_old, better="lower", source=POWERS)
def cora_forgetting(at: Place) -> float:
    r"""Measure how much each learned task takes from the earlier ones, relative to their best (isolated forgetting).

    $$\frac{2}{T(T-1)} \sum_{i < j} \frac{A_{i,j-1} - A_{i,j}}{|\max_e \mathrm{EP}_i(e)|}$$

    Weakness: the best of noisy evaluations exceeds their mean level. Each learned task counts separately, so a slow
    loss is small everywhere.
    """
    return (at.previous - at.now) / _best(at)


@_ratio(sites.changes_of_unseen, source=POWERS)
def cora_zero_shot_transfer(at: Place) -> float:
    r"""Measure how much each learned task gives to those not learned yet, relative to their best.

    $$\frac{2}{T(T-1)} \sum_{j < i} \frac{A_{i,j} - A_{i,j-1}}{|\max_e \mathrm{EP}_i(e)|}$$

    Weakness: the best of noisy evaluations exceeds their mean level; if that is near 0, the value is large by chance.
    """
    return (at.now - at.previous) / _best(at)


# --- Liu et al. -----------------------------------------------------------------------------------


@_measured(sites.histories, better="lower", source=LIBERO)
def libero_nbt(at: Place) -> float:
    r"""Measure how far each earlier task falls below its accuracy just after learning, on average over time (NBT).

    $$\mathrm{NBT} = \frac{1}{T-1} \sum_{i=1}^{T-1} \frac{1}{T-i} \sum_{j>i} (A_{i,i} - A_{i,j})$$

    Weakness: a learner that never learned a task has nothing to forget.
    """
    return at.learned - float(at.since[1:].mean())


@_measured(sites.whole_lives, source=LIBERO)
def libero_auc(at: Place) -> float:
    r"""Measure how well each task is done from its own learning to the end (AUC).

    $$\mathrm{AUC} = \frac{1}{T} \sum_{i=1}^{T} \frac{1}{T-i+1} \sum_{j \ge i} A_{i,j}$$

    Weakness: it does not distinguish forgotten tasks from tasks that were never learned, and the last task counts by
    one evaluation.
    """
    return float(at.since.mean())


# --- Wołczyk et al. -------------------------------------------------------------------------------


@metric(each_task_learned, unit="ratio", source=WOLCZYK)
def cw_forward_transfer(own: Learning, expert: Expert, curves: Curves) -> float:
    r"""Measure how much of the room above an expert's mean learning curve is gained, for values in 0..1.

    $$\frac{\bar{L} - \bar{E}}{1 - \bar{E}}$$

    (AUC − AUC_expert)/(1 − AUC_expert) over the first m unsmoothed learning values of both, m the shorter
    length. Values must lie in 0..1 as measured (a success rate), or bounds must be given for the task.

    Weakness: if the expert is near 1 throughout, it divides by nearly 0.
    """
    length = min(len(own.values), len(expert.curve))
    if not length:
        raise NoValue(f"the expert of {own.task!r} has no learning curve")
    area = _area(own.values[:length], own.task, curves)
    expert_area = _area(_as_measured(expert.curve, own.task, curves)[:length], own.task, curves)
    if 1.0 - expert_area <= 1e-9:
        raise NoValue(f"the expert of {own.task!r} leaves no room: its curve is 1 throughout")
    return (area - expert_area) / (1.0 - expert_area)


def _as_measured(curve: Curve, task: str, curves: Curves) -> Array:
    """Return an expert's unsmoothed values on the scale on which they were measured."""
    if curves.prep.scale == "none":
        return curve.raw
    known = curves.ranges[task]
    return known.low + (curve.raw - LOWEST) / SCALED * (known.high - known.low)


def _area(measured: Array, task: str, curves: Curves) -> float:
    """Return the mean of the values as fractions of the given bounds, 0..1 by default."""
    known = curves.ranges[task]
    low, high = (known.low, known.high) if known.given else (0.0, 1.0)
    slack = 1e-9 * (high - low)
    if high <= low or measured.min() < low - slack or measured.max() > high + slack:
        raise NoValue("needs values between 0 and 1, such as success rates, or bounds that hold all values of the task")
    return float(((measured - low) / (high - low)).mean())


def _relative(value: float, joint: float) -> float:
    if joint <= 0.0:
        raise NoValue(f"the joint learner's accuracy is {joint:g}: nothing can be relative to it")
    return value / joint


def _best(at: Place) -> float:
    evaluations = at.matrix.values[at.row]
    span = float(np.nanmax(evaluations) - np.nanmin(evaluations))
    if abs(at.highest) <= 1e-9 * span or at.highest == 0.0:
        raise NoValue(f"the best evaluation of {at.matrix.tasks[at.row]!r} is 0: nothing can be relative to it")
    return abs(at.highest)
