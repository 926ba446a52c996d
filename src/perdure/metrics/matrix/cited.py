"""The accuracy-matrix metrics of other papers, which see the evaluations as measured, as those of `matrix` do."""

from __future__ import annotations

from functools import partial

import numpy as np

from perdure.curves.arrays import Array
from perdure.curves.model import LOWEST, SCALED, Curve, Curves, Expert
from perdure.metrics.engine.arithmetic import flat
from perdure.metrics.engine.declare import metric
from perdure.metrics.engine.metric import Metric, NoValue
from perdure.metrics.matrix import sites
from perdure.metrics.matrix.cells import Learning, Place
from perdure.scenario.sites import each_task_learned

HAYES = "Hayes et al. 2018; Kemker et al. 2018"
DIAZ_RODRIGUEZ = "Díaz-Rodríguez et al. 2018"
DE_LANGE = "De Lange et al. 2023"
POWERS = "Powers et al. 2021"
LIBERO = "Liu et al. 2023"
WOLCZYK = "Wołczyk et al. 2021"

_measured = partial(metric, combine=flat, unit="measure")
_ratio = partial(metric, combine=flat, unit="ratio")


# --- relative to the joint learner ----------------------------------------------------------------
# Kemker et al. divide by one offline accuracy, that of the base task; Hayes et al. divide by the
# offline learner at the same time. Decided: the joint learner on the same tasks, over the second to
# the last learned task, and the newest task's accuracy as it is, as in Kemker et al.


@_ratio(sites.first_task, joint=True, source=HAYES)
def omega_base(at: Place) -> float:
    r"""How much of the joint learner's accuracy on the first task is kept while others are learned.

    $$\Omega_{\text{base}} = \frac{1}{T-1} \sum_{j=2}^{T} \frac{A_{1,j}}{J_1}$$

    Weakness: it knows the first task alone.
    """
    return _relative(at.matrix.value(0, at.row + 1), float(at.joint[0]))


@_measured(sites.new_tasks, source=HAYES)
def omega_new(at: Place) -> float:
    r"""How well each later task is done once it is learned.

    $$\Omega_{\text{new}} = \frac{1}{T-1} \sum_{j=2}^{T} A_{j,j}$$

    Weakness: it knows nothing of what happens afterwards.
    """
    return at.learned


@_ratio(sites.later_stages, joint=True, source=HAYES)
def omega_all(at: Place) -> float:
    r"""How much of the joint learner's accuracy is reached on all tasks learned so far.

    $$\Omega_{\text{all}} = \frac{1}{T-1} \sum_{j=2}^{T} \frac{\sum_{i \le j} A_{i,j}}{\sum_{i \le j} J_i}$$

    Weakness: it hangs on how well the joint learner was trained, and the first tasks count most.
    """
    return _relative(float(at.seen.mean()), float(at.joint[: at.row + 1].mean()))


# --- Díaz-Rodríguez et al. ------------------------------------------------------------------------


@_measured(sites.seen_pairs, source=DIAZ_RODRIGUEZ)
def dr_accuracy(at: Place) -> float:
    r"""How well learned tasks are done, averaged over all pairs of a task and a later time (A).

    $$\frac{2}{T(T+1)} \sum_{i \le j} A_{i,j}$$

    Weakness: it does not tell what was forgotten from what was never learned.
    """
    return at.now


@_measured(sites.old_pairs, source=DIAZ_RODRIGUEZ)
def dr_bwt(at: Place) -> float:
    r"""How much every later task changed the earlier ones, averaged over all such pairs (BWT over time).

    $$\frac{2}{T(T-1)} \sum_{i < j} (A_{i,j} - A_{i,i})$$

    Weakness: who never learned a task has nothing to forget. Early tasks count most.
    """
    return at.now - at.learned


@metric(sites.whole_history, combine=flat, unit="fraction", source=DIAZ_RODRIGUEZ)
def dr_remembering(at: Place) -> float:
    r"""How much is kept: 1 less the mean loss over all pairs, where accuracies lie in 0..1 (REM).

    $$\mathrm{REM} = 1 - \left| \min(\mathrm{BWT}, 0) \right|$$

    Weakness: gains on some tasks make up for losses on others, and noise alone keeps it below 1.
    """
    scale = {"percent": 100.0, "fraction": 1.0}.get(at.matrix.unit)
    if scale is None:
        raise NoValue("needs accuracies: a measure of that name, bounds of 0..1 or 0..100, or --unit")
    changes = (at.after - np.diag(at.after)[:, None])[np.triu_indices(len(at.after), k=1)]
    return 1.0 - abs(min(float(changes.mean()) / scale, 0.0))


@_measured(sites.unseen_pairs, source=DIAZ_RODRIGUEZ)
def dr_fwt(at: Place) -> float:
    r"""How well tasks are done before they are learned, averaged over all pairs of a task and an earlier time (FWT).

    $$\frac{2}{T(T-1)} \sum_{j < i} A_{i,j}$$

    Weakness: what an untrained learner does by chance is not taken off.
    """
    return at.now


# --- De Lange et al. ------------------------------------------------------------------------------


@_measured(sites.remembered, source=DE_LANGE)
def min_accuracy(at: Place) -> float:
    r"""How low each earlier task ever fell after it was learned, over every evaluation (min-ACC).

    $$\frac{1}{T-1} \sum_{i=1}^{T-1} \min_{e} \mathrm{EP}(e), \quad e \text{ after } i \text{ was learned}$$

    The paper starts just after the evaluation that ends a task's learning; here that one counts too.

    Weakness: the lowest of noisy values falls with their number, so that who is evaluated more often looks worse.
    """
    return at.lowest


@_measured(sites.remembered_and_last, source=DE_LANGE)
def worst_case_accuracy(at: Place) -> float:
    r"""How well all tasks are done if each earlier one is met at its lowest (WC-ACC).

    $$\frac{A_{T,T}}{T} + \left( 1 - \frac{1}{T} \right) \frac{1}{T-1} \sum_{i=1}^{T-1} \min_{e} \mathrm{EP}(e)$$

    Weakness: as for min_accuracy: it falls with the number of evaluations.
    """
    count = len(at.matrix.tasks)
    lowest = [low for low in at.matrix.lowest[:-1] if low is not None]
    return at.learned / count + (1.0 - 1.0 / count) * float(np.mean(lowest))


# --- Powers et al. --------------------------------------------------------------------------------


@_ratio(sites.changes_of_old, better="lower", source=POWERS)
def cora_forgetting(at: Place) -> float:
    r"""How much each learned task takes from the earlier ones, relative to their best (isolated forgetting).

    $$\frac{2}{T(T-1)} \sum_{i < j} \frac{A_{i,j-1} - A_{i,j}}{|\max_e \mathrm{EP}_i(e)|}$$

    Weakness: the best of noisy evaluations lies above their level, and each learned task is looked at alone, so
    that what is lost slowly is small everywhere.
    """
    return (at.previous - at.now) / _best(at)


@_ratio(sites.changes_of_unseen, source=POWERS)
def cora_zero_shot_transfer(at: Place) -> float:
    r"""How much each learned task gives to those not learned yet, relative to their best.

    $$\frac{2}{T(T-1)} \sum_{j < i} \frac{A_{i,j} - A_{i,j-1}}{|\max_e \mathrm{EP}_i(e)|}$$

    Weakness: the best of noisy evaluations lies above their level; where that is near 0 it is large by chance.
    """
    return (at.now - at.previous) / _best(at)


# --- Liu et al. -----------------------------------------------------------------------------------


@_measured(sites.histories, better="lower", source=LIBERO)
def libero_nbt(at: Place) -> float:
    r"""How far each earlier task, at the times after it was learned, is below where it was then (NBT).

    $$\mathrm{NBT} = \frac{1}{T-1} \sum_{i=1}^{T-1} \frac{1}{T-i} \sum_{j>i} (A_{i,i} - A_{i,j})$$

    Weakness: who never learned a task has nothing to forget.
    """
    return at.learned - float(at.since[1:].mean())


@_measured(sites.whole_lives, source=LIBERO)
def libero_auc(at: Place) -> float:
    r"""How well each task is done from its own learning to the end (AUC).

    $$\mathrm{AUC} = \frac{1}{T} \sum_{i=1}^{T} \frac{1}{T-i+1} \sum_{j \ge i} A_{i,j}$$

    Weakness: it does not tell what was forgotten from what was never learned, and the last task counts by one
    evaluation.
    """
    return float(at.since.mean())


# --- Wołczyk et al. -------------------------------------------------------------------------------


@metric(each_task_learned, unit="ratio", source=WOLCZYK)
def cw_forward_transfer(own: Learning, expert: Expert, curves: Curves) -> float:
    r"""How much of the room above an expert's mean learning curve is gained, where values lie in 0..1.

    $$\frac{\bar{L} - \bar{E}}{1 - \bar{E}}$$

    (AUC − AUC_expert)/(1 − AUC_expert) over the first m unsmoothed learning values of both, m the shorter
    length. Values must lie in 0..1 as measured (a success rate), or bounds must be given for the task.

    Weakness: where the expert is near 1 throughout, it divides by nearly 0.
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
    return known.low + (curve.raw - LOWEST) / SCALED * (known.high - known.low)


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


CITED_METRICS: tuple[Metric, ...] = (
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
