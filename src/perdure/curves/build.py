"""From a lifetime and its experts to curves that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt
import polars as pl

from perdure.curves.experts import ExpertLog, base_name, expert_log, matching, oriented, scaled_for, values_of
from perdure.curves.matrix import matrix_curves
from perdure.curves.model import Array, Curves, Expert, Prep, Range
from perdure.curves.prepare import clamp, scale, smooth, spans
from perdure.errors import LogError, MetricError
from perdure.log.accuracy import MatrixPassage
from perdure.log.model import Direction, Lifetime, Passage
from perdure.log.variants import Settled, settle, task_of
from perdure.scenario.model import Task

__all__ = ["curves", "expert_logs"]

_Bounds = TypeVar("_Bounds")


def expert_logs(
    experts: Sequence[Lifetime],
    measure: str | Mapping[str, str],
    direction: Direction | Mapping[str, Direction],
    prep: Prep,
    saturations: Mapping[str, float] | None = None,
    settled: Settled | None = None,
) -> tuple[tuple[ExpertLog, ...], tuple[tuple[str, str], ...]]:
    """The experts smoothed, once for all lifetimes, and those that cannot serve with the reason.

    Where parameters make tasks, `settled` is what sets are called in these experts and in those lifetimes.
    """
    served: list[ExpertLog] = []
    left_out: list[tuple[str, str]] = []
    for expert in experts:
        try:
            served.append(expert_log(expert, measure, direction, prep, settled))
        except LogError as problem:
            left_out.append((str(expert.path or expert.id), str(problem)))
    nothing, start = np.empty(0), np.zeros(1, dtype=np.int64)
    for task, value in (saturations or {}).items():
        known = -value if _way(task, measure, direction) == "lower" else value
        served.append(
            ExpertLog(
                "info.json", task, nothing, nothing, start, (), np.empty(0, dtype=np.int64), saturation=float(known)
            )
        )
    return tuple(served), tuple(left_out)


def curves(
    lifetime: Lifetime,
    prep: Prep | None = None,
    experts: Sequence[Lifetime | ExpertLog] = (),
    *,
    measure: str | Mapping[str, str] | None = None,
    direction: Direction | Mapping[str, Direction] | None = None,
    settled: Settled | None = None,
) -> Curves:
    """The lifetime smoothed, clamped and scaled, with the experts of its tasks on the same scale.

    Ranges come from the learner's smoothed learning values, its evaluation values and its experts'
    smoothed learning values together, unless bounds are given, or recorded in the log's manifest for
    its first measure. `direction` overrules the log's own. A mapping gives each task a measure of its
    own, and each measure its direction. `settled` is what parameter sets are called, for those who compare
    several lifetimes; without it this one and its experts are settled together. What only an accuracy
    matrix tells stays as measured.
    """
    prep = prep or Prep()
    prep = replace(prep, variants=prep.variants or lifetime.variants)
    measure = lifetime.measured(measure)
    direction = direction or (lifetime.measures[measure] if isinstance(measure, str) else lifetime.measures)
    if not isinstance(measure, str) and prep.scale == "run":
        raise MetricError("tasks with measures of their own share no range; scale each by its own (--scale task)")
    if settled is None and prep.variants == "params":
        settled = settle([lifetime.sets, *(one.sets for one in experts if isinstance(one, Lifetime))])
    passage = _passage(lifetime, measure, prep, settled)
    if isinstance(passage, MatrixPassage):
        return matrix_curves(passage, lifetime.id, _way("", passage.measures, direction))
    if not len(passage.values):
        dropped = ", ".join(f"{count} {why}" for why, count in passage.dropped.items() if count)
        raise LogError(
            f"{lifetime.id}: no value of {passage.measure!r} counts" + (f" (dropped: {dropped})" if dropped else "")
        )
    logs = [
        one if isinstance(one, ExpertLog) else expert_log(one, measure, direction, prep, settled) for one in experts
    ]
    tasks = tuple(dict.fromkeys(block.task for block in passage.scenario.blocks))
    ways = {task: _way(task, passage.measures, direction) for task in tasks}
    matched = {task: found for task in tasks if (found := matching(task, logs, prep))}

    found_values, starts = values_of(passage, prep)
    measured = _oriented(found_values, starts, passage, ways)
    smoothed_blocks = [
        index for index, block in enumerate(passage.scenario.blocks) if block.mode == "learn" or prep.smooth_evaluation
    ]
    smoothed = smooth(measured, starts, smoothed_blocks, window=prep.window, width=prep.width, alignment=prep.alignment)

    given = _given(lifetime, prep, ways, passage.scenario.tasks)
    if given is None:
        given = _recorded(lifetime, passage, prep, ways)
    all_given = len(given) == len(tasks)
    raw = measured.copy()
    clamps: dict[str, Range] = {}
    if prep.clamp:
        clamps = given if all_given else _percentiles(smoothed, starts, passage, matched) | given
        _each_block(passage, starts, smoothed, lambda values, task: clamp(values, clamps[task]))
        _each_block(passage, starts, raw, lambda values, task: clamp(values, clamps[task]))
    ranges = given if all_given else _found(smoothed, starts, passage, matched, clamps, prep) | given
    notes = (*passage.notes, *_notes(ranges, prep), *_unserving(logs, matched, tasks))
    if prep.scale == "run":
        everything = _all_given(prep, ways[tasks[0]]) or tuple(ranges.values())
        whole = Range(min(one.low for one in everything), max(one.high for one in everything), all_given)
        ranges = dict.fromkeys(ranges, whole)
    if prep.scale != "none":
        _each_block(passage, starts, smoothed, lambda values, task: scale(values, ranges[task]))
        _each_block(passage, starts, raw, lambda values, task: scale(values, ranges[task]))
    if prep.noise:
        rng = np.random.default_rng([prep.noise_seed, crc32(lifetime.id.encode())])
        noise = rng.normal(0.0, prep.noise, len(smoothed))
        smoothed, raw = smoothed + noise, raw + noise
    for array in (smoothed, raw):
        array.flags.writeable = False
    return Curves(
        lifetime=lifetime.id,
        passage=passage,
        prep=prep,
        directions=ways,
        values=smoothed,
        raw=raw,
        measured=measured,
        starts=starts,
        ranges=ranges,
        experts={task: _scaled(found, task, ranges, clamps, prep) for task, found in matched.items()},
        notes=notes,
    )


def _way(task: str, measures: str | Mapping[str, str], direction: Direction | Mapping[str, Direction]) -> Direction:
    """Whether higher is better in `task`, which may have a measure of its own."""
    if isinstance(direction, str):
        return direction
    assert not isinstance(measures, str), "directions of measures come with measures of tasks"
    named = measures.get(task) or measures.get(Task.parse(task).name, "")
    return direction.get(named, "higher")


def _oriented(values: Array, starts: npt.NDArray[np.int64], passage: Passage, ways: Mapping[str, Direction]) -> Array:
    """The values such that higher is better in every task."""
    if len(set(ways.values())) == 1:
        return oriented(values, next(iter(ways.values())))
    turned = values.copy()
    _each_block(passage, starts, turned, lambda block, task: oriented(block, ways[task]))
    return turned


def _passage(lifetime: Lifetime, measure: str | Mapping[str, str], prep: Prep, settled: Settled | None) -> Passage:
    if prep.variants != "agnostic" or prep.suffix == "last":
        return lifetime.passage(measure, prep.variants, settled)
    whole = pl.col("task_name").cast(pl.String)
    cut = lifetime.experiences.with_columns(whole.str.split("_").list.first().cast(pl.Categorical()))
    return replace(lifetime, experiences=cut).passage(measure, "name")


def _scaled(
    found: Sequence[ExpertLog], task: str, ranges: Mapping[str, Range], clamps: Mapping[str, Range], prep: Prep
) -> tuple[Expert, ...]:
    scaled: list[Expert] = []
    for log in found:
        # l2metrics may match the expert of another task; it scales it by that task's range, and does not clamp it.
        own = _own_task(log, task, prep)
        bounds = ranges[own if own in ranges else task]
        scaled.append(scaled_for(log, bounds, prep, clamped=clamps.get(task) if own == task else None))
    return tuple(scaled)


def _own_task(log: ExpertLog, task: str, prep: Prep) -> str:
    """The task that an expert matched to `task` really learned."""
    return base_name(log.task, prep) if prep.matching == "prefix" and log.task != task else task


def _each_block(
    passage: Passage, starts: npt.NDArray[np.int64], values: Array, prepared: Callable[[Array, str], Array]
) -> None:
    """Replace each block of `values` by what `prepared` makes of it, given its task."""
    for index, block in enumerate(passage.scenario.blocks):
        span = slice(starts[index], starts[index + 1])
        values[span] = prepared(values[span], block.task)


def _found(
    smoothed: Array,
    starts: npt.NDArray[np.int64],
    passage: Passage,
    matched: Mapping[str, Sequence[ExpertLog]],
    clamps: Mapping[str, Range],
    prep: Prep,
) -> dict[str, Range]:
    """The range of each task over the learner's values and its experts'."""
    lows, highs = spans(smoothed, starts)
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    for index, block in enumerate(passage.scenario.blocks):
        low[block.task] = min(low.get(block.task, np.inf), float(lows[index]))
        high[block.task] = max(high.get(block.task, -np.inf), float(highs[index]))
    for task, experts in matched.items():
        for expert in experts:
            if len(expert.smoothed):
                own = task in clamps and _own_task(expert, task, prep) == task
                within = clamp(expert.smoothed, clamps[task]) if own else expert.smoothed
                low[task] = min(low[task], float(within.min()))
                high[task] = max(high[task], float(within.max()))
    return {task: Range(low[task], high[task]) for task in low}


def _percentiles(
    smoothed: Array,
    starts: npt.NDArray[np.int64],
    passage: Passage,
    matched: Mapping[str, Sequence[ExpertLog]],
) -> dict[str, Range]:
    """The 10th and 90th percentile of each task's values, the learner's and its experts' together."""
    pieces: dict[str, list[Array]] = {}
    for index, block in enumerate(passage.scenario.blocks):
        pieces.setdefault(block.task, []).append(smoothed[starts[index] : starts[index + 1]])
    for task, experts in matched.items():
        pieces[task].extend(expert.smoothed for expert in experts)
    ranges: dict[str, Range] = {}
    for task, values in pieces.items():
        low, high = np.percentile(np.concatenate(values), (10, 90))
        ranges[task] = Range(float(low), float(high))
    return ranges


def _all_given(prep: Prep, direction: Direction) -> tuple[Range, ...]:
    return tuple(_range(bounds, direction) for bounds in (prep.bounds or {}).values())


def _given(
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
                f"no bounds are given for task {task.label!r} (given: {', '.join(prep.bounds) or 'none'}); add them"
            )
        ranges[task.label] = _pooled(found)
    return ranges


def _recorded(lifetime: Lifetime, passage: Passage, prep: Prep, ways: Mapping[str, Direction]) -> dict[str, Range]:
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


def _unserving(
    logs: Sequence[ExpertLog], matched: Mapping[str, Sequence[ExpertLog]], tasks: Sequence[str]
) -> tuple[str, ...]:
    """Said where experts serve no task and a task has no expert: their names may only be spelt differently."""
    served = {log for found in matched.values() for log in found}
    strange = sorted({log.task for log in logs if log not in served})
    alone = [task for task in tasks if task not in matched]
    if not strange or not alone:
        return ()
    return (f"experts of {', '.join(strange)} serve no task here; without an expert: {', '.join(alone)}",)


def _notes(ranges: Mapping[str, Range], prep: Prep) -> tuple[str, ...]:
    if prep.scale == "none":
        return ()
    notes: list[str] = []
    constant = [task for task, one in ranges.items() if one.constant]
    if constant:
        counted = "" if prep.keep_constant else ", and left out of lifetime means"
        notes.append(f"constant, so scaled to 1{counted}: {', '.join(constant)}")
    found = [task for task, one in ranges.items() if not one.given]
    if found:
        which = "each range" if len(found) == len(ranges) else f"the range of {', '.join(found)}"
        notes.append(f"{which} came from the data; ratios depend on it, so bounds are better where they are known")
    if prep.bounds is None and len(found) < len(ranges):
        of = "" if not found else f" of {', '.join(task for task in ranges if task not in found)}"
        notes.append(f"the bounds{of} are those that the log records")
    return tuple(notes)
