"""Twin: the same life lived by a learner that starts anew in every block, on the life's own scale."""

from __future__ import annotations

import numpy as np

from perdure.curves.experts import seconds_learning, values_of
from perdure.curves.model import Curves
from perdure.curves.prepare import scale
from perdure.frozen import frozen
from perdure.log.model import Passage

__all__ = ["Twin", "twin_of"]


@frozen
class Twin:
    """What a stateless twin came to."""

    means: tuple[float, ...]
    """Of each block, on the scale of the life."""
    seconds: float | None
    """The time between its learning experiences, summed; None without timestamps."""
    intervals: int


def twin_of(life: Curves, passage: Passage) -> Twin | None:
    """The twin whose experiences are `passage`; None where it went through other blocks than the life."""
    mine, its = (
        [(block.mode, block.task, block.subtype) for block in one.blocks] for one in (life.scenario, passage.scenario)
    )
    if mine != its:
        return None
    values, starts = values_of(passage, life.prep)
    means: list[float] = []
    for index, block in enumerate(passage.scenario.blocks):
        mean = np.array([life.sign(block.task) * values[starts[index] : starts[index + 1]].mean()])
        scaled = mean if life.prep.scale == "none" else scale(mean, life.ranges[block.task])
        means.append(float(scaled[0]))
    return Twin(tuple(means), *seconds_learning(passage))
