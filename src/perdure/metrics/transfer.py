"""Does learning one thing help another? Forward and backward transfer."""

from __future__ import annotations

from perdure.curves.model import Curve
from perdure.metrics.arithmetic import lift, lift_contrast
from perdure.metrics.combine import transfer_contrasts, transfer_logarithms
from perdure.metrics.declare import Value, metric
from perdure.scenario import sites

__all__ = ["backward_transfer", "backward_transfer_contrast", "forward_transfer", "forward_transfer_contrast"]

_CONDITION = "Transfer and Adaptation"


@metric(
    sites.around_learning_another,
    combine=transfer_logarithms,
    scale="log",
    unit="ratio",
    threshold=1,
    condition=_CONDITION,
    capability="adapting to new tasks",
    source="Baker et al. 2023, Alg. 1, averaged as logarithms",
    aliases=("FT",),
    of_matrix="fwt",
)
def forward_transfer(before: Curve, after: Curve) -> float | Value:
    """How much learning one task lifts another that has not been learned yet."""
    return lift(after.mean, before.mean, before.range, before.floor)


@metric(
    sites.around_learning_another,
    combine=transfer_contrasts,
    unit="contrast",
    threshold=0,
    condition=_CONDITION,
    capability="adapting to new tasks",
    source="New et al. 2022",
    of_matrix="fwt",
)
def forward_transfer_contrast(before: Curve, after: Curve) -> float | Value:
    """How much learning one task lifts another not learned yet, as a contrast from −1 to 1."""
    return lift_contrast(after.mean, before.mean, before.range, before.floor)


@metric(
    sites.around_learning_another_later,
    combine=transfer_logarithms,
    scale="log",
    unit="ratio",
    threshold=1,
    condition=_CONDITION,
    capability="continual learning",
    source="Baker et al. 2023, Alg. 2, averaged as logarithms",
    aliases=("BT",),
    of_matrix="bwt",
)
def backward_transfer(before: Curve, after: Curve) -> float | Value:
    """How much learning one task lifts another that was learned before."""
    return lift(after.mean, before.mean, before.range, before.floor)


@metric(
    sites.around_learning_another_later,
    combine=transfer_contrasts,
    unit="contrast",
    threshold=0,
    condition=_CONDITION,
    capability="continual learning",
    source="New et al. 2022",
    of_matrix="bwt",
)
def backward_transfer_contrast(before: Curve, after: Curve) -> float | Value:
    """How much learning one task lifts another learned before, as a contrast from −1 to 1."""
    return lift_contrast(after.mean, before.mean, before.range, before.floor)
