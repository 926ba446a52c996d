"""Does learning one thing help another? Forward and backward transfer."""

from __future__ import annotations

from perdure.curves.model import Curve
from perdure.metrics.arithmetic import Value, lift, lift_contrast, transfer_contrasts, transfer_logarithms
from perdure.metrics.declare import ComparedAs, VerdictWords, metric
from perdure.scenario import sites

_CONDITION = "Transfer and Adaptation"
_COMPARES = ("after", "before")
_HELPS = ("helps", "harms", "learning one task")


@metric(
    sites.around_learning_another,
    combine=transfer_logarithms,
    scale="log",
    unit="ratio",
    threshold=1,
    headline="log",
    question="helps",
    condition=_CONDITION,
    capability="adapting to new tasks",
    source="Baker et al. 2023, Alg. 1, averaged as logarithms",
    aliases=("FT",),
    of_matrix="fwt",
    words=VerdictWords(
        *_HELPS,
        "{} tasks still to come",
        asks="Helps new tasks?",
        about="forward transfer, ×",
        pairs="onto a task not learned yet",
    ),
    compared=ComparedAs("is helped more", "is helped less", 1.1),
    compares=_COMPARES,
)
def forward_transfer(before: Curve, after: Curve) -> float | Value:
    r"""Measure how much learning one task lifts another that has not been learned yet.

    $$\mathrm{FT} = \frac{\mathrm{EP}(\text{after})}{\mathrm{EP}(\text{before})}$$

    Weakness: FT is a jumpstart: it sees one evaluation, not how the task is learned afterwards. It depends on the level
    before: near the scale's minimum a small gain is a large ratio, whose size depends on the number of evaluations in a
    block and on the zero of the scale. After a short learning block there is little to transfer.
    """
    return lift(after.mean, before.mean, before.range, before.floor)


@metric(
    sites.around_learning_another,
    combine=transfer_contrasts,
    unit="contrast",
    threshold=0,
    variant_of=forward_transfer,
    source="New et al. 2022",
    compares=_COMPARES,
)
def forward_transfer_contrast(before: Curve, after: Curve) -> float | Value:
    r"""Measure how much learning one task lifts another not learned yet, as a contrast from −1 to 1.

    $$\frac{\mathrm{EP}(\text{after}) - \mathrm{EP}(\text{before})}{\mathrm{EP}(\text{after}) +
    \mathrm{EP}(\text{before})}$$

    Weakness: a contrast is defined if a ratio is not, but it is harder to interpret: equal steps are not equal gains.
    It depends on the level before, as the ratio does.
    """
    return lift_contrast(after.mean, before.mean, before.range, before.floor)


@metric(
    sites.around_later_learning,
    combine=transfer_logarithms,
    scale="log",
    unit="ratio",
    threshold=1,
    headline="log",
    question="helps",
    condition=_CONDITION,
    capability="continual learning",
    source="Baker et al. 2023, Alg. 2, averaged as logarithms",
    aliases=("BT",),
    of_matrix="bwt",
    words=VerdictWords(
        *_HELPS,
        "{} tasks already learned",
        asks="Helps old tasks?",
        about="backward transfer, ×",
        pairs="onto a task learned before",
    ),
    compared=ComparedAs("is harmed less", "is harmed more", 1.1, of_change=True),
    compares=_COMPARES,
)
def backward_transfer(before: Curve, after: Curve) -> float | Value:
    r"""Measure how much learning one task lifts another that was learned before.

    $$\mathrm{BT} = \frac{\mathrm{EP}(\text{after})}{\mathrm{EP}(\text{before})}$$

    Weakness: BT tends to 1 if every task is at its ceiling, depends on the level before, and counts only the first site
    of each pair. It overlaps with maintenance, which spans any number of tasks. After a short learning block there is
    little to transfer.
    """
    return lift(after.mean, before.mean, before.range, before.floor)


@metric(
    sites.around_later_learning,
    combine=transfer_contrasts,
    unit="contrast",
    threshold=0,
    variant_of=backward_transfer,
    source="New et al. 2022",
    compares=_COMPARES,
)
def backward_transfer_contrast(before: Curve, after: Curve) -> float | Value:
    r"""Measure how much learning one task lifts another learned before, as a contrast from −1 to 1.

    $$\frac{\mathrm{EP}(\text{after}) - \mathrm{EP}(\text{before})}{\mathrm{EP}(\text{after}) +
    \mathrm{EP}(\text{before})}$$

    Weakness: a contrast is defined if a ratio is not, but it is harder to interpret: equal steps are not equal gains.
    """
    return lift_contrast(after.mean, before.mean, before.range, before.floor)
