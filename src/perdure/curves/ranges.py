"""The range of each task's values, life by life, where nobody gave it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from perdure.curves.experts import ExpertLog, base_name
from perdure.curves.model import Array, Prep, Range, Ranges
from perdure.curves.prepare import clamp, spans
from perdure.scenario.model import Block

__all__ = ["found_ranges", "own_task", "percentiles"]


def found_ranges(
    smoothed: Array,
    starts: npt.NDArray[np.int64],
    blocks: Sequence[Block],
    matched: Mapping[str, Sequence[ExpertLog]],
    clamps: Mapping[str, Range | Ranges],
    prep: Prep,
) -> dict[str, list[Range]]:
    """The range of each task over the learner's values and its experts', life by life."""
    lows, highs = spans(smoothed, starts)
    low: dict[str, Array] = {}
    high: dict[str, Array] = {}
    for index, block in enumerate(blocks):
        low[block.task] = np.minimum(low.get(block.task, np.inf), lows[:, index])
        high[block.task] = np.maximum(high.get(block.task, -np.inf), highs[:, index])
    for task, experts in matched.items():
        for expert in experts:
            if len(expert.smoothed):
                own = task in clamps and own_task(expert, task, prep) == task
                within = clamp(expert.smoothed, clamps[task]) if own else expert.smoothed
                low[task] = np.minimum(low[task], within.min(axis=-1))
                high[task] = np.maximum(high[task], within.max(axis=-1))
    return {task: [Range(*ends) for ends in zip(low[task].tolist(), high[task].tolist(), strict=True)] for task in low}


def percentiles(
    smoothed: Array,
    starts: npt.NDArray[np.int64],
    blocks: Sequence[Block],
    matched: Mapping[str, Sequence[ExpertLog]],
) -> dict[str, list[Range]]:
    """The 10th and 90th percentile of each task's values, the learner's and its experts' together, life by life."""
    pieces: dict[str, list[Array]] = {}
    for index, block in enumerate(blocks):
        pieces.setdefault(block.task, []).append(smoothed[:, starts[index] : starts[index + 1]])
    for task, experts in matched.items():
        pieces[task].extend(
            np.broadcast_to(expert.smoothed, (len(smoothed), len(expert.smoothed))) for expert in experts
        )
    ranges: dict[str, list[Range]] = {}
    for task, values in pieces.items():
        lows, highs = np.percentile(np.concatenate(values, axis=1), (10, 90), axis=1)
        ranges[task] = [Range(*ends) for ends in zip(lows.tolist(), highs.tolist(), strict=True)]
    return ranges


def own_task(log: ExpertLog, task: str, prep: Prep) -> str:
    """The task that an expert matched to `task` really learned."""
    return base_name(log.task, prep) if prep.matching == "prefix" and log.task != task else task
