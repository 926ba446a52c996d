"""The metrics of the accuracy matrix: A[i, j] is task i after the j-th task was learned, T tasks in all.

Formulas see the evaluations as measured. Every mean is over all the cells that the definition
names: where one is missing there is no value. `--aggregate median` does not apply, because
identities such as AA = LA + BWT·(T − 1)/T would be lost.
"""

from __future__ import annotations

from functools import partial

from perdure.metrics.engine.arithmetic import flat
from perdure.metrics.engine.declare import metric
from perdure.metrics.engine.metric import Good, Metric, Value, Words
from perdure.metrics.matrix import sites
from perdure.metrics.matrix.cells import Place

S002 = "Evaluation Metrics for Continual Learning"
GEM = "Lopez-Paz & Ranzato 2017"
RIEMANNIAN_WALK = "Chaudhry et al. 2018"

_measured = partial(metric, combine=flat, unit="measure")
_headline = partial(_measured, headline="matrix")


BEST_LESS_LAST = "noise alone makes it positive"
SQUARED = "in squared units"


# --- the page's own (S002) ------------------------------------------------------------------------


@_headline(
    sites.at_the_end,
    source=S002,
    aliases=("AA",),
    good=Good("above 80 %", above=80),
    question="does",
    words=Words(asks="How good at the end?", about="all tasks (AA)"),
)
def average_accuracy(at: Place) -> float:
    r"""How well all learned tasks are done at the end (AA).

    $$\mathrm{AA} = \frac{1}{T} \sum_{i=1}^{T} A_{i,T}$$

    Weakness: it does not tell what was forgotten from what was never learned.
    """
    return at.final


@_headline(
    sites.once_learned,
    source=S002,
    aliases=("LA",),
    good=Good("above 90 %", above=90),
    question="does",
    words=Words(asks="How good once learned?", about="each task (LA)"),
)
def learning_accuracy(at: Place) -> float:
    r"""How well each task is done once it is learned (LA).

    $$\mathrm{LA} = \frac{1}{T} \sum_{i=1}^{T} A_{i,i}$$

    Weakness: it knows nothing of what happens afterwards: who forgets everything may have the highest.
    """
    return at.learned


@_headline(
    sites.old_tasks,
    threshold=0,
    margin=5,
    condition="Continuous Learning",
    capability="continual learning",
    source=GEM,
    good=Good("about 0, or positive"),
    question="keeps",
    words=Words(
        of_change=True,
        asks="Keeps what it learns?",
        about="change of earlier tasks (BWT)",
        spelled="backward transfer, as a difference",
    ),
)
def bwt(at: Place) -> float:
    r"""How much learning the later tasks changed the earlier ones; negative is forgetting (BWT).

    $$\mathrm{BWT} = \frac{1}{T-1} \sum_{i=1}^{T-1} (A_{i,T} - A_{i,i})$$

    Weakness: who never learned a task has nothing to forget: read it beside learning_accuracy. Early tasks have had
    longer to be forgotten.
    """
    return at.final - at.learned


@_headline(
    sites.ahead_of_learning,
    source=GEM,
    aliases=("fwt_gem",),
    good=Good("positive", above=0),
    question="helps",
    words=Words(
        asks="Helps new tasks?",
        about="above an untrained learner (FWT)",
        spelled="forward transfer, as a difference",
    ),
)
def fwt(at: Place) -> float:
    r"""How far each later task is above an untrained learner just before it is learned: forward transfer (FWT).

    $$\mathrm{FWT} = \frac{1}{T-1} \sum_{i=2}^{T} (A_{i,i-1} - R_i)$$

    Where no untrained learner is given, the learner itself before any learning stands for it.

    Weakness: where tasks have heads or labels of their own there is nothing to see before they are learned, and it
    is chance around 0.
    """
    return at.previous - float(at.random_init[at.row])


@_measured(sites.new_tasks, source=S002, good=Good("positive", above=0))
def above_chance(at: Place) -> float:
    r"""How far each later task, once learned, is above an untrained learner.

    $$\frac{1}{T-1} \sum_{i=2}^{T} (A_{i,i} - R_i)$$

    S002 calls it FWT and reads it as transfer, but the task has been learned by then.

    Weakness: it is learning, not transfer: who starts anew with every task has it too.
    """
    return at.learned - float(at.random_init[at.row])


@_headline(
    sites.histories,
    better="lower",
    source=RIEMANNIAN_WALK,
    aliases=("FM",),
    good=Good("low"),
    question="keeps",
    words=Words(asks="How far below its best?", about="earlier tasks (FM); noise alone raises it"),
)
def forgetting(at: Place) -> Value:
    r"""How far each earlier task fell from its best to the end; noise alone makes it positive, bwt does not (FM).

    $$\mathrm{FM} = \frac{1}{T-1} \sum_{i=1}^{T-1} \left( \max_{i \le j \le T} A_{i,j} - A_{i,T} \right)$$

    S002's code takes the best over all evaluations including the last, its formula leaves the last
    out (`forgetting_strict`).

    Weakness: best less last: noise alone makes it positive, the more the longer the sequence.
    """
    return Value(float(at.since.max()) - at.final, (BEST_LESS_LAST,))


@_measured(sites.histories, better="lower", source=RIEMANNIAN_WALK)
def forgetting_strict(at: Place) -> float:
    r"""How far each earlier task fell from its best before the last task; negative where it gained (FM as printed).

    $$\frac{1}{T-1} \sum_{i=1}^{T-1} \left( \max_{i \le j < T} A_{i,j} - A_{i,T} \right)$$

    Weakness: the best of noisy values lies above their level, so that a learner that forgets nothing is above 0 on
    average.
    """
    return float(at.since[:-1].max()) - at.final


@_measured(sites.new_tasks, better="lower", joint=True, source=RIEMANNIAN_WALK, aliases=("IM",))
def intransigence(at: Place) -> float:
    r"""How far each later task, once learned, is below a jointly trained learner (IM).

    $$\mathrm{IM} = \frac{1}{T-1} \sum_{i=2}^{T} (J_i - A_{i,i})$$

    Weakness: it hangs on how well the joint learner was trained.
    """
    return float(at.joint[at.row]) - at.learned


@_measured(sites.histories, better="lower", source=S002, aliases=("MS",), good=Good("low"))
def memory_stability(at: Place) -> Value:
    r"""How much each earlier task's evaluations vary since it was learned, as a population variance (MS).

    $$\mathrm{MS} = \frac{1}{T-1} \sum_{i=1}^{T-1} \operatorname{var}_{j \ge i} A_{i,j}$$

    Weakness: getting better counts as instability, as getting worse does, and noise counts too.
    """
    return Value(float(at.since.var()), (SQUARED,) if at.matrix.unit == "raw" else ())


@_measured(sites.stages, source="Rebuffi et al. 2017")
def average_incremental_accuracy(at: Place) -> float:
    r"""How well the tasks learned so far are done, averaged over the times a task was learned.

    $$\frac{1}{T} \sum_{j=1}^{T} \frac{1}{j} \sum_{i=1}^{j} A_{i,j}$$

    Weakness: the first tasks count most: they are in every mean.
    """
    return float(at.seen.mean())


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
)
"""In the order of the definitions."""
