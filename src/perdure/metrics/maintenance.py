"""Performance maintenance: loss of earlier tasks."""

from __future__ import annotations

from perdure.curves.model import Curve
from perdure.metrics.declare import ComparedAs, VerdictWords, metric
from perdure.scenario import sites


@metric(
    sites.since_learning,
    unit="points",
    threshold=0,
    headline="log",
    question="keeps",
    margin=5,
    condition="Continuous Learning",
    capability="continual learning",
    source="Baker et al. 2023, Alg. 5",
    aliases=("PM",),
    of_matrix="bwt",
    compares=("evaluation", "reference"),
    words=VerdictWords(of_change=True, asks="Keeps what it learns?", about="points kept or lost, of 100"),
    compared=ComparedAs("keeps more", "keeps less", of_change=True),
)
def performance_maintenance(evaluation: Curve, reference: Curve) -> float:
    r"""Measure how much of a task's performance is kept while other tasks are learned.

    0 means nothing was forgotten; negative values are losses, in points of 100.

    $$\mathrm{PM} = \mathrm{EP}(\text{evaluation}) - \mathrm{EP}(\text{reference})$$

    Weakness: PM measures a change, not a level: a task that was never learned is kept perfectly. Near the ceiling PM
    tends to 0, the more the longer the lifetime is. The reference is treated as a stable level, which it is not if
    learning had not ended. A difference is as noisy as the measure.
    """
    return evaluation.mean - reference.mean


@metric(
    sites.since_learning_ended,
    unit="points",
    threshold=0,
    variant_of=performance_maintenance,
    source="l2metrics 3.1 (mrtlp)",
)
def performance_maintenance_terminal(evaluation: Curve, learning: Curve) -> float:
    r"""Measure how much of the performance at the end of learning is kept in later evaluations.

    $$\mathrm{EP}(\text{evaluation}) - \mathrm{TLP}(\text{learning})$$

    Weakness: learning and evaluation may differ for other reasons, such as exploration or random parameters, and the
    difference then looks like a gain or a loss.
    """
    return evaluation.mean - learning.terminal
