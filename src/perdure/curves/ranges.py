"""The range of each task's values: given by the user, recorded in the log, or found life by life."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.curves.experts import ExpertLog, base_name
from perdure.curves.model import Prep, Range, Ranges
from perdure.curves.prepare import clamp, spans
from perdure.errors import MetricError
from perdure.log.model import Direction, Lifetime, Passage
from perdure.log.variants import task_of
from perdure.scenario.model import Block, Task

__all__ = [
    "as_one",
    "found_ranges",
    "given_ranges",
    "own_task",
    "percentiles",
    "recorded_ranges",
    "spans_by_task",
]

_Bounds = TypeVar("_Bounds")


def as_one(ranges: Mapping[str, Range], prep: Prep, way: Direction, all_given: bool) -> dict[str, Range]:
    """One range over all tasks, for each of them."""
    everything = _all_given(prep, way) or tuple(ranges.values())
    whole = Range(min(one.low for one in everything), max(one.high for one in everything), all_given)
    return dict.fromkeys(ranges, whole)


def _all_given(prep: Prep, direction: Direction) -> tuple[Range, ...]:
    return tuple(_range(bounds, direction) for bounds in (prep.bounds or {}).values())


def given_ranges(
    lifetime: Lifetime, prep: Prep, ways: Mapping[str, Direction], tasks: Sequence[Task]
) -> dict[str, Range] | None:
    """The given bounds of each task, higher-is-better; variants are pooled where they do not count."""
    if prep.bounds is None:
        return None
    bounds = [(name.lower(), pair) for name, pair in prep.bounds.items()]
    ranges: dict[str, Range] = {}
    for task in tasks:
        found = [_range(pair, ways[task.label]) for pair in _belonging(bounds, task, lifetime, prep)]
        if not found:
            raise MetricError(
                f"no bounds are given for task {task.label!r} (given: {', '.join(prep.bounds) or 'none'})",
                "add them to --bounds",
            )
        ranges[task.label] = _pooled(found)
    return ranges


def recorded_ranges(
    lifetime: Lifetime, passage: Passage, prep: Prep, ways: Mapping[str, Direction]
) -> dict[str, Range]:
    """The bounds that the manifest's scenario gives to tasks, higher-is-better; they are of the first measure."""
    scenario = lifetime.manifest.get("scenario")
    described = scenario.get("tasks") if isinstance(scenario, Mapping) else None
    if not prep.recorded_bounds or not isinstance(described, Sequence):
        return {}
    entries = [
        (str(one.get("label")).lower(), _rising(one.get("bounds"))) for one in described if isinstance(one, Mapping)
    ]
    ranges: dict[str, Range] = {}
    for task in passage.scenario.tasks:
        if passage.measures.get(task.label, passage.measure) != lifetime.measure():
            continue
        found = _belonging(entries, task, lifetime, prep)
        known = [_range(one, ways[task.label]) for one in found if one]
        if known and len(known) == len(found):
            ranges[task.label] = _pooled(known)
    return ranges


def _rising(value: object) -> tuple[float, float] | None:
    """A manifest's value as bounds; None where it is not two finite numbers that rise."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    numbers = [float(one) for one in value if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) != 2 or not all(map(isfinite, numbers)) or numbers[0] >= numbers[1]:
        return None
    return numbers[0], numbers[1]


def _belonging(bounds: Sequence[tuple[str, _Bounds]], task: Task, lifetime: Lifetime, prep: Prep) -> list[_Bounds]:
    """Of bounds by name those of `task`, which has no variant where variants do not count.

    Where parameters make tasks, bounds of the label hold for every set of it that has none of its own.
    """
    exact = [one for name, one in bounds if name == task.label]
    if prep.variants == "name":
        return exact
    if prep.variants == "params":
        return exact or [one for name, one in bounds if name == task.name]
    if prep.matching == "prefix":
        return [one for name, one in bounds if task.label in name]
    return [one for name, one in bounds if task.label in (name, task_of(lifetime, name).name)]


def _pooled(ranges: Sequence[Range]) -> Range:
    return Range(min(one.low for one in ranges), max(one.high for one in ranges), given=True)


def _range(bounds: tuple[float, float], direction: Direction) -> Range:
    low, high = bounds
    return Range(-high, -low, given=True) if direction == "lower" else Range(low, high, given=True)


# --- found ----------------------------------------------------------------------------------------


def spans_by_task(
    smoothed: Array,
    starts: npt.NDArray[np.int64],
    blocks: Sequence[Block],
    earlier: Mapping[str, tuple[float, float]],
) -> dict[str, tuple[Array, Array]]:
    """The lowest and the highest value of each task, life by life; `earlier` are those of blocks that went before."""
    tasks = {task: at for at, task in enumerate(dict.fromkeys((*earlier, *(block.task for block in blocks))))}
    which = np.array([tasks[block.task] for block in blocks], dtype=np.int64)
    low, high = np.full((2, len(tasks), len(smoothed)), [[[np.inf]], [[-np.inf]]])
    for task, (lowest, highest) in earlier.items():
        low[tasks[task]], high[tasks[task]] = lowest, highest
    lows, highs = spans(smoothed, starts)
    np.minimum.at(low, which, lows.T)
    np.maximum.at(high, which, highs.T)
    return {task: (low[at], high[at]) for task, at in tasks.items()}


def found_ranges(
    spanned: Mapping[str, tuple[Array, Array]],
    matched: Mapping[str, Sequence[ExpertLog]],
    clamps: Mapping[str, Range | Ranges],
    prep: Prep,
) -> dict[str, list[Range]]:
    """The range of each task over what the learner's values span and its experts', life by life."""
    found = dict(spanned)
    for task, experts in matched.items():
        for expert in experts:
            if len(expert.smoothed):
                ends = np.array(expert.span)
                if task in clamps and own_task(expert, task, prep) == task:
                    ends = clamp(ends, clamps[task])
                low, high = found[task]
                found[task] = np.minimum(low, ends[..., 0]), np.maximum(high, ends[..., 1])
    return {
        task: [Range(*ends) for ends in zip(low.tolist(), high.tolist(), strict=True)]
        for task, (low, high) in found.items()
    }


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
