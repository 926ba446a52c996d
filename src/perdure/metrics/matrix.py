"""The metrics of the accuracy matrix: A[i, j] is task i after the j-th task was learned, T tasks in all.

Formulas see the evaluations as measured. Every mean is over all the cells that the definition
names: where one is missing there is no value. `--aggregate median` does not apply, because
identities such as AA = LA + BWT·(T − 1)/T would be lost.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from perdure.curves.model import Array, Curve, Curves, Expert
from perdure.metrics import accuracy_sites as sites
from perdure.metrics.accuracy import Learning, Place
from perdure.metrics.combine import flat
from perdure.metrics.declare import Good, Metric, NoValue, Value, metric
from perdure.scenario.sites import each_task_learned

__all__ = ["MATRIX_METRICS"]

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
_headline = partial(_measured, headline="matrix")
_ratio = partial(metric, combine=flat, unit="ratio")


BEST_LESS_LAST = "noise alone makes it positive"
SQUARED = "in squared units"


# --- the page's own (S002) ------------------------------------------------------------------------


@_headline(sites.at_the_end, source=S002, aliases=("AA",), good=Good("above 80 %", above=80))
def average_accuracy(at: Place) -> float:
    """How well all learned tasks are done at the end (AA)."""
    return at.final


@_headline(sites.once_learned, source=S002, aliases=("LA",), good=Good("above 90 %", above=90))
def learning_accuracy(at: Place) -> float:
    """How well each task is done once it is learned (LA)."""
    return at.learned


@_headline(
    sites.old_tasks,
    threshold=0,
    margin=5,
    condition="Continuous Learning",
    capability="continual learning",
    source=GEM,
    good=Good("about 0, or positive"),
)
def bwt(at: Place) -> float:
    """How much learning the later tasks changed the earlier ones; negative is forgetting (BWT)."""
    return at.final - at.learned


@_headline(sites.ahead_of_learning, source=GEM, aliases=("fwt_gem",), good=Good("positive", above=0))
def fwt(at: Place) -> float:
    """How far each later task is above an untrained learner just before it is learned: forward transfer (FWT).

    Where no untrained learner is given, the learner itself before any learning stands for it.
    """
    return at.previous - float(at.random_init[at.row])


@_measured(sites.new_tasks, source=S002, good=Good("positive", above=0))
def above_chance(at: Place) -> float:
    """How far each later task, once learned, is above an untrained learner.

    S002 calls it FWT and reads it as transfer, but the task has been learned by then.
    """
    return at.learned - float(at.random_init[at.row])


@_headline(sites.histories, better="lower", source=RIEMANNIAN_WALK, aliases=("FM",), good=Good("low"))
def forgetting(at: Place) -> Value:
    """How far each earlier task fell from its best to the end; noise alone makes it positive, bwt does not (FM).

    S002's code takes the best over all evaluations including the last, its formula leaves the last
    out (`forgetting_strict`).
    """
    return Value(float(at.since.max()) - at.final, (BEST_LESS_LAST,))


@_measured(sites.histories, better="lower", source=RIEMANNIAN_WALK)
def forgetting_strict(at: Place) -> float:
    """How far each earlier task fell from its best before the last task; negative where it gained (FM as printed)."""
    return float(at.since[:-1].max()) - at.final


@_measured(sites.new_tasks, better="lower", source=RIEMANNIAN_WALK, aliases=("IM",))
def intransigence(at: Place) -> float:
    """How far each later task, once learned, is below a jointly trained learner (IM)."""
    return float(at.joint[at.row]) - at.learned


@_measured(sites.histories, better="lower", source=S002, aliases=("MS",), good=Good("low"))
def memory_stability(at: Place) -> Value:
    """How much each earlier task's evaluations vary since it was learned, as a population variance (MS)."""
    return Value(float(at.since.var()), (SQUARED,) if at.matrix.unit == "raw" else ())


@_measured(sites.stages, source="Rebuffi et al. 2017")
def average_incremental_accuracy(at: Place) -> float:
    """How well the tasks learned so far are done, averaged over the times a task was learned."""
    return float(at.seen.mean())


# --- relative to the joint learner ----------------------------------------------------------------
# Kemker et al. divide by one offline accuracy, that of the base task; Hayes et al. divide by the
# offline learner at the same time. Decided: the joint learner on the same tasks, over the second to
# the last learned task, and the newest task's accuracy as it is, as in Kemker et al.


@_ratio(sites.first_task, source=HAYES)
def omega_base(at: Place) -> float:
    """How much of the joint learner's accuracy on the first task is kept while others are learned."""
    return _relative(float(at.after[0, at.row]), float(at.joint[0]))


@_measured(sites.new_tasks, source=HAYES)
def omega_new(at: Place) -> float:
    """How well each later task is done once it is learned."""
    return at.learned


@_ratio(sites.later_stages, source=HAYES)
def omega_all(at: Place) -> float:
    """How much of the joint learner's accuracy is reached on all tasks learned so far."""
    return _relative(float(at.seen.mean()), float(at.joint[: at.row + 1].mean()))


# --- Díaz-Rodríguez et al. ------------------------------------------------------------------------


@_measured(sites.seen_pairs, source=DIAZ_RODRIGUEZ)
def dr_accuracy(at: Place) -> float:
    """How well learned tasks are done, averaged over all pairs of a task and a later time (A)."""
    return at.now


@_measured(sites.old_pairs, source=DIAZ_RODRIGUEZ)
def dr_bwt(at: Place) -> float:
    """How much every later task changed the earlier ones, averaged over all such pairs (BWT over time)."""
    return at.now - at.learned


@metric(sites.whole_history, combine=flat, unit="fraction", source=DIAZ_RODRIGUEZ)
def dr_remembering(at: Place) -> float:
    """How much is kept: 1 less the mean loss over all pairs, where accuracies lie in 0..1 (REM)."""
    scale = {"percent": 100.0, "fraction": 1.0}.get(at.matrix.unit)
    if scale is None:
        raise NoValue("needs accuracies: a measure of that name, bounds of 0..1 or 0..100, or --unit")
    changes = (at.after - np.diag(at.after)[:, None])[np.triu_indices(len(at.after), k=1)]
    return 1.0 - abs(min(float(changes.mean()) / scale, 0.0))


@_measured(sites.unseen_pairs, source=DIAZ_RODRIGUEZ)
def dr_fwt(at: Place) -> float:
    """How well tasks are done before they are learned, averaged over all pairs of a task and an earlier time (FWT)."""
    return at.now


# --- De Lange et al. ------------------------------------------------------------------------------


@_measured(sites.remembered, source=DE_LANGE)
def min_accuracy(at: Place) -> float:
    """How low each earlier task ever fell after it was learned, over every evaluation (min-ACC).

    The paper starts just after the evaluation that ends a task's learning; here that one counts too.
    """
    return at.lowest


@_measured(sites.remembered_and_last, source=DE_LANGE)
def worst_case_accuracy(at: Place) -> float:
    """How well all tasks are done if each earlier one is met at its lowest (WC-ACC)."""
    count = len(at.after)
    lowest = [low for low in at.matrix.lowest[:-1] if low is not None]
    return at.learned / count + (1.0 - 1.0 / count) * float(np.mean(lowest))


# --- Powers et al. --------------------------------------------------------------------------------


@_ratio(sites.changes_of_old, better="lower", source=POWERS)
def cora_forgetting(at: Place) -> float:
    """How much each learned task takes from the earlier ones, relative to their best (isolated forgetting)."""
    return (at.previous - at.now) / _best(at)


@_ratio(sites.changes_of_unseen, source=POWERS)
def cora_zero_shot_transfer(at: Place) -> float:
    """How much each learned task gives to those not learned yet, relative to their best."""
    return (at.now - at.previous) / _best(at)


# --- Liu et al. -----------------------------------------------------------------------------------


@_measured(sites.histories, better="lower", source=LIBERO)
def libero_nbt(at: Place) -> float:
    """How far each earlier task, at the times after it was learned, is below where it was then (NBT)."""
    return at.learned - float(at.since[1:].mean())


@_measured(sites.whole_lives, source=LIBERO)
def libero_auc(at: Place) -> float:
    """How well each task is done from its own learning to the end (AUC)."""
    return float(at.since.mean())


# --- Wołczyk et al. -------------------------------------------------------------------------------


@metric(each_task_learned, unit="ratio", source=WOLCZYK)
def cw_forward_transfer(own: Learning, expert: Expert, curves: Curves) -> float:
    """How much of the room above an expert's mean learning curve is gained, where values lie in 0..1.

    (AUC − AUC_expert)/(1 − AUC_expert) over the first m unsmoothed learning values of both, m the shorter
    length. Values must lie in 0..1 as measured (a success rate), or bounds must be given for the task.
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
    """An expert's unsmoothed values on the scale they were measured on."""
    if curves.prep.scale == "none":
        return curve.raw
    known = curves.ranges[task]
    return known.low + (curve.raw - 1.0) / 100.0 * (known.high - known.low)


def _area(measured: Array, task: str, curves: Curves) -> float:
    """The mean of the values as fractions of the given bounds, 0..1 where none are given."""
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


MATRIX_METRICS: tuple[Metric, ...] = (
    average_accuracy,
    learning_accuracy,
    bwt,
    fwt,
    above_chance,
    forgetting,
    forgetting_strict,
    intransigence,
    memory_stability,
    average_incremental_accuracy,
    omega_base,
    omega_new,
    omega_all,
    dr_accuracy,
    dr_bwt,
    dr_remembering,
    dr_fwt,
    min_accuracy,
    worst_case_accuracy,
    cora_forgetting,
    cora_zero_shot_transfer,
    libero_nbt,
    libero_auc,
    cw_forward_transfer,
)
"""In the order of the definitions; all but the last, which compares curves, can be read from a matrix file."""
