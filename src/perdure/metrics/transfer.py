"""Does learning one thing help another? Forward and backward transfer."""

from __future__ import annotations

from perdure.curves.model import Curve
from perdure.metrics.arithmetic import contrast, ratio
from perdure.metrics.combine import first_of_each
from perdure.metrics.declare import metric
from perdure.scenario import sites

__all__ = ["backward_transfer", "backward_transfer_contrast", "forward_transfer", "forward_transfer_contrast"]

_CONDITION = "Transfer and Adaptation"


@metric(
    sites.around_learning_another,
    combine=first_of_each,
    unit="ratio",
    threshold=1,
    condition=_CONDITION,
    capability="adapting to new tasks",
    source="Baker et al. 2023, Alg. 1",
)
def forward_transfer(before: Curve, after: Curve) -> float:
    """How much learning one task lifts another that has not been learned yet."""
    return ratio(after.mean, before.mean, before.range)


@metric(
    sites.around_learning_another,
    combine=first_of_each,
    unit="contrast",
    threshold=0,
    condition=_CONDITION,
    capability="adapting to new tasks",
    source="New et al. 2022",
)
def forward_transfer_contrast(before: Curve, after: Curve) -> float:
    """How much learning one task lifts another not learned yet, as a contrast from −1 to 1."""
    return contrast(after.mean, before.mean, before.range)


@metric(
    sites.around_learning_another_later,
    combine=first_of_each,
    unit="ratio",
    threshold=1,
    condition=_CONDITION,
    capability="continual learning",
    source="Baker et al. 2023, Alg. 2",
)
def backward_transfer(before: Curve, after: Curve) -> float:
    """How much learning one task lifts another that was learned before."""
    return ratio(after.mean, before.mean, before.range)


@metric(
    sites.around_learning_another_later,
    combine=first_of_each,
    unit="contrast",
    threshold=0,
    condition=_CONDITION,
    capability="continual learning",
    source="New et al. 2022",
)
def backward_transfer_contrast(before: Curve, after: Curve) -> float:
    """How much learning one task lifts another learned before, as a contrast from −1 to 1."""
    return contrast(after.mean, before.mean, before.range)
