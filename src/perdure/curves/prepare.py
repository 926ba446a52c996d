"""Prepare a lifetime and its experts: from rows to curves that can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, TypeVar
from zlib import crc32

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perdure.curves.arrays import Array, Range, clamp, prepare_blocks, scale, smooth
from perdure.curves.experts import (
    ExpertLog,
    direction_of,
    expert_log,
    learned_task,
    match_experts,
    oriented,
    scale_expert,
    values_of,
)
from perdure.curves.model import CommonRanges, Curves, Preparation, RangeKey, range_key
from perdure.errors import LogError, MetricError
from perdure.lazy import pl
from perdure.log.accuracy_matrix import LIMITS, MatrixPassage
from perdure.log.model import Direction, Lifetime, Passage
from perdure.log.problem import Caution
from perdure.log.variants import Settled, settle, task_of
from perdure.scenario.model import Block, Task

Measured = str | Mapping[str, str]
"""The measure, or that of each task."""
Directed = Direction | Mapping[str, Direction]
"""Which values are better, or which are for each measure."""
_Bounds = TypeVar("_Bounds")
_ACCURACIES = ("accuracy", "acc")
"""Measures with bounds by their names."""
_LARGEST = 1e300  # ranges and sums of larger values overflow


def curves(
    lifetime: Lifetime,
    prep: Preparation | None = None,
    experts: Sequence[Lifetime | ExpertLog] = (),
    *,
    measure: Measured | None = None,
    direction: Directed | None = None,
    settled: Settled | None = None,
    common: CommonRanges | None = None,
) -> Curves:
    """Return the lifetime smoothed, clamped and scaled, with the experts of its tasks on the same scale.

    Ranges come from the learner's smoothed learning values, its evaluation values and its experts' smoothed learning
    values together, unless bounds are given, or recorded in the log's manifest for its first measure. An accuracy
    matrix stays as measured.

    Parameters
    ----------
    lifetime
        A lifetime as recorded.
    prep
        Settings of the preparation.
    experts
        Experts of any tasks; those of the lifetime's tasks are used.
    measure
        The measure, or a mapping that gives each task its own. The log's first by default.
    direction
        Which values are better, instead of the log's own statement; for several measures, of each.
    settled
        Names of the parameter sets, if several lifetimes are compared; by default they are settled for this lifetime
        and its experts.
    common
        Ranges over several lifetimes, which replace those of this lifetime alone.
    """
    prep = prep or Preparation()
    if prep.variants is None:
        prep = msgspec.structs.replace(prep, variants=lifetime.variants)
    measure = lifetime.measured(measure)
    direction = direction or (lifetime.measures[measure] if isinstance(measure, str) else lifetime.measures)
    if not isinstance(measure, str) and prep.scale == "run":
        raise MetricError("tasks with different measures have no common range", "use --scale task")
    if settled is None and prep.variants == "params":
        settled = settle([lifetime.sets, *(expert.sets for expert in experts if isinstance(expert, Lifetime))])
    logs = [
        expert if isinstance(expert, ExpertLog) else expert_log(expert, measure, direction, prep, settled)
        for expert in experts
    ]
    passage = _passage(lifetime, measure, prep, settled)
    if isinstance(passage, MatrixPassage):
        return matrix_curves(passage, lifetime.id, direction_of("", passage.measures, direction))
    return _prepare(lifetime, passage, prep, direction, logs, common)


def _passage(lifetime: Lifetime, measure: Measured, prep: Preparation, settled: Settled | None) -> Passage:
    if prep.variants != "agnostic" or prep.suffix == "last":
        return lifetime.passage(measure, prep.variants, settled)
    whole = pl.col("task_name").cast(pl.String)
    cut = lifetime.experiences.with_columns(whole.str.split("_").list.first().cast(pl.Categorical()))
    return replace(lifetime, experiences=cut).passage(measure, "name")


def matrix_curves(passage: MatrixPassage, lifetime: str, direction: Direction = "higher") -> Curves:
    """Return an accuracy matrix as curves, neither smoothed nor scaled, without experts."""
    values, matrix = oriented(passage.values, direction), passage.matrix
    rows = {**dict(zip(matrix.tasks, matrix.values, strict=True)), **matrix.others}
    limit = LIMITS[matrix.unit]
    return Curves(
        lifetime=lifetime,
        passage=passage,
        prep=Preparation(window="none", scale="none"),
        directions=dict.fromkeys(rows, direction),
        values=values,
        raw=values,
        measured=values,
        starts=passage.starts,
        ranges={
            task: _range((0.0, limit), direction) if limit < np.inf else Range(float(row.min()), float(row.max()))
            for task, cells in rows.items()
            if len(row := oriented(cells[~np.isnan(cells)], direction))
        },
    )


def _prepare(
    lifetime: Lifetime,
    passage: Passage,
    prep: Preparation,
    direction: Directed,
    logs: Sequence[ExpertLog],
    common: CommonRanges | None,
) -> Curves:
    values, starts = values_of(passage, prep)
    _check(lifetime, passage, values, starts)
    blocks, tasks = passage.scenario.blocks, passage.scenario.tasks
    labels = tuple(dict.fromkeys(block.task for block in blocks))
    directions = {task.label: direction_of(task.label, passage.measures, direction) for task in tasks}
    if prep.bounds is not None:
        given = _given_ranges(lifetime, passage, prep.bounds, prep, directions)
    else:
        given = _recorded_ranges(lifetime, passage, prep, directions)
    matched = {task.label: match_experts(task, logs, prep) for task in tasks}
    matched = {label: matched[label] for label in labels if matched[label]}
    keys = {label: range_key(label, passage, directions, prep) for label in labels}
    by_name: Mapping[str, Range] = {}
    if prep.named_bounds and prep.bounds is None and prep.scale != "none":
        by_name = _named_ranges(_found_ranges(values, starts, blocks, matched, {}, prep), keys, common)
        given = {**by_name, **given}
    all_given = len(given) == len(labels)
    if len(set(directions.values())) == 1:
        measured = oriented(values, directions[labels[0]])
    else:
        signs = [-1.0 if directions[block.task] == "lower" else 1.0 for block in blocks]
        measured = values * np.repeat(signs, np.diff(starts))
    apart = [index for index, block in enumerate(blocks) if block.mode == "learn" or prep.smooth_evaluation]
    smoothed = smooth(measured, starts, apart, window=prep.window, width=prep.width, alignment=prep.alignment)
    raw, clamps = measured, dict[str, Range]()
    if prep.clamp:
        clamps = (given if all_given else _percentiles(smoothed, starts, blocks, matched)) | given
        smoothed, raw = (prepare_blocks(array, starts, blocks, clamps, clamp) for array in (smoothed, raw))
    found = given if all_given else _found_ranges(smoothed, starts, blocks, matched, clamps, prep) | given
    ranges: Mapping[str, Range] = found
    if prep.scale == "task":
        ranges = _widened(ranges, keys, common)
    notes = (*passage.notes, *_range_notes(ranges, prep, common, by_name), *_expert_notes(logs, matched, labels))
    if prep.scale == "run":
        ranges = _widened(_one_range(ranges, prep, directions[labels[0]], all_given), keys, common)
    if prep.scale != "none":
        smoothed, raw = (prepare_blocks(array, starts, blocks, ranges, scale) for array in (smoothed, raw))
    noise = None
    if prep.noise:
        rng = np.random.default_rng([prep.noise_seed, crc32(lifetime.id.encode())])
        noise = rng.normal(0.0, prep.noise, len(values))
        smoothed, raw = smoothed + noise, raw + noise
    for array in (smoothed, raw, measured):
        array.flags.writeable = False
    return Curves(
        lifetime=lifetime.id,
        passage=passage,
        prep=prep,
        directions=directions,
        values=smoothed,
        raw=raw,
        measured=measured,
        starts=starts,
        ranges=ranges,
        clamps=clamps,
        noise=noise,
        experts={
            label: tuple(scale_expert(log, label, ranges, clamps, prep) for log in found)
            for label, found in matched.items()
        },
        expert_logs=matched,
        notes=notes,
    )


def _check(lifetime: Lifetime, passage: Passage, values: Array, starts: npt.NDArray[np.int64]) -> None:
    """Raise if no value counts, or one is too large to be averaged."""
    if not len(passage.values):
        dropped = ", ".join(f"{count} {why}" for why, count in passage.dropped.items() if count)
        raise LogError(
            f"no value of {passage.measure!r} counts" + (f" (dropped: {dropped})" if dropped else ""),
            "choose another with --measure, or see perdure check",
            where=lifetime.id,
        )
    if max(values.max(), -values.min()) > _LARGEST:
        at = int(np.abs(values).argmax())
        block = int(np.searchsorted(starts, at, side="right")) - 1
        task = passage.scenario.blocks[block].task
        raise LogError(
            f"a value of {values[at]:g}, and what lies beyond ±{_LARGEST:g} cannot be averaged",
            "divide all values by a constant, or log nothing where a learner has diverged",
            where=f"{lifetime.id}: block {block} ({task})",
        )


def _expert_notes(
    logs: Sequence[ExpertLog], matched: Mapping[str, Sequence[ExpertLog]], labels: Sequence[str]
) -> tuple[str, ...]:
    """Report experts that match no task if a task has no expert: their names may only be spelt differently."""
    used = {log for found in matched.values() for log in found}
    strange = sorted({log.task for log in logs if log not in used})
    without = [label for label in labels if label not in matched]
    if not strange or not without:
        return ()
    return (f"experts of {', '.join(strange)} match no task here; without an expert: {', '.join(without)}",)


def _range_notes(
    ranges: Mapping[str, Range], prep: Preparation, common: CommonRanges | None, by_name: Mapping[str, Range]
) -> tuple[str, ...]:
    if prep.scale == "none":
        return ()
    notes: list[str] = []
    constant = [task for task, span in ranges.items() if span.constant]
    if constant:
        counted = "" if prep.keep_constant else ", and left out of lifetime means"
        notes.append(f"constant, so scaled to 1{counted}: {', '.join(constant)}")
    found = [task for task, span in ranges.items() if not span.given]
    if found:
        which = "each range" if len(found) == len(ranges) else f"the range of {', '.join(found)}"
        data = f"the data of all {common.count} lifetimes" if common else "the data"
        notes.append(f"{which} came from {data}; ratios depend on it, so give bounds if you know them")
    named = [task for task, span in ranges.items() if by_name.get(task) is span]
    if named:
        whole = ranges[named[0]].high
        of = "" if len(named) == len(ranges) else f" of {', '.join(named)}"
        notes.append(Caution(f"bounds{of} 0 … {whole:g} from the measure's name; --bounds sets others"))
    recorded = [task for task in ranges if task not in (*found, *named)]
    if prep.bounds is None and recorded:
        of = "" if len(recorded) == len(ranges) else f" of {', '.join(recorded)}"
        notes.append(f"the bounds{of} are those recorded in the log")
    return tuple(notes)


# --- ranges --------------------------------------------------------------------------------------


def _given_ranges(
    lifetime: Lifetime,
    passage: Passage,
    bounds: Mapping[str, tuple[float, float]],
    prep: Preparation,
    directions: Mapping[str, Direction],
) -> dict[str, Range]:
    """Return the given bounds of each task, higher is better; variants are pooled if they do not count."""
    by_name = [(name.lower(), pair) for name, pair in bounds.items()]
    ranges: dict[str, Range] = {}
    for task in passage.scenario.tasks:
        found = [_range(pair, directions[task.label]) for pair in _bounds_of(task, by_name, lifetime, prep)]
        if not found:
            raise MetricError(
                f"no bounds are given for task {task.label!r} (given: {', '.join(bounds) or 'none'})",
                "add them to --bounds",
            )
        ranges[task.label] = _pool(found, given=True)
    return ranges


def _recorded_ranges(
    lifetime: Lifetime, passage: Passage, prep: Preparation, directions: Mapping[str, Direction]
) -> dict[str, Range]:
    """Return the bounds of tasks in the manifest's scenario, higher is better; they hold for the first measure."""
    scenario = lifetime.manifest.get("scenario")
    described = scenario.get("tasks") if isinstance(scenario, Mapping) else None
    if not prep.recorded_bounds or not isinstance(described, Sequence):
        return {}
    entries = [
        (str(entry.get("label")).lower(), _rising(entry.get("bounds")))
        for entry in described
        if isinstance(entry, Mapping)
    ]
    ranges: dict[str, Range] = {}
    for task in passage.scenario.tasks:
        if passage.measures.get(task.label, passage.measure) != lifetime.measure():
            continue
        found = _bounds_of(task, entries, lifetime, prep)
        known = [_range(pair, directions[task.label]) for pair in found if pair]
        if known and len(known) == len(found):
            ranges[task.label] = _pool(known, given=True)
    return ranges


def _named_ranges(
    extremes: Mapping[str, Range], keys: Mapping[str, RangeKey], common: CommonRanges | None
) -> dict[str, Range]:
    """Return bounds for tasks whose measure is called accuracy: 0 to 1, or to 100 if a value of it exceeds 1.

    Without common ranges, the values of this lifetime and its experts decide, else those of all lifetimes as well.
    Values outside 0 … 100 are no accuracies. Raise LogError for fractions among percentages.
    """
    spans: dict[str, list[Range]] = {}
    for task, span in extremes.items():
        spans.setdefault(keys[task][0], []).append(span)
    own = {measure: max(span.high for span in found) for measure, found in spans.items()}
    for (measure, *_), span in (common.spans if common else {}).items():
        spans.setdefault(measure, []).append(span)
    wholes: dict[str, float] = {}
    for measure, found in spans.items():
        highest = max(span.high for span in found)
        if measure.lower() in _ACCURACIES and min(span.low for span in found) >= 0 and highest <= 100:
            wholes[measure] = 1.0 if highest <= 1 else 100.0
            if 0 < own.get(measure, 0) <= 1 < highest:
                what = f"{measure} is at most {own[measure]:.4g} here and up to {highest:.4g} in others, as in percent"
                raise LogError(what, "convert one of them, or give --bounds if all have one unit")
    return {
        task: Range(0.0, wholes[keys[task][0]], given=True)
        for task in extremes
        if keys[task][0] in wholes and keys[task][1] == "higher"
    }


def states_all_bounds(manifest: Mapping[str, Any]) -> bool:
    """Return whether a manifest has bounds for every task that its scenario describes."""
    scenario = manifest.get("scenario")
    described = scenario.get("tasks") if isinstance(scenario, Mapping) else None
    return (
        isinstance(described, Sequence)
        and bool(described)
        and all(isinstance(entry, Mapping) and _rising(entry.get("bounds")) for entry in described)
    )


def _rising(value: object) -> tuple[float, float] | None:
    """Return a manifest's value as bounds; None if it is not two finite, rising numbers."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    numbers = [float(number) for number in value if isinstance(number, int | float) and not isinstance(number, bool)]
    if len(numbers) != 2 or not all(map(isfinite, numbers)) or numbers[0] >= numbers[1]:
        return None
    return numbers[0], numbers[1]


def _bounds_of(
    task: Task, bounds: Sequence[tuple[str, _Bounds]], lifetime: Lifetime, prep: Preparation
) -> list[_Bounds]:
    """Select the bounds of `task`, which has no variant if variants do not count.

    If parameters make tasks, bounds of the label hold for every set of it that has none of its own.
    """
    exact = [pair for name, pair in bounds if name == task.label]
    if prep.variants == "name":
        return exact
    if prep.variants == "params":
        return exact or [pair for name, pair in bounds if name == task.name]
    if prep.matching == "prefix":
        return [pair for name, pair in bounds if task.label in name]
    return [pair for name, pair in bounds if task.label in (name, task_of(lifetime, name).name)]


def _range(bounds: tuple[float, float], direction: Direction) -> Range:
    low, high = bounds
    return Range(-high, -low, given=True) if direction == "lower" else Range(low, high, given=True)


def _pool(ranges: Sequence[Range], *, given: bool) -> Range:
    return Range(min(span.low for span in ranges), max(span.high for span in ranges), given)


def _widened(
    ranges: Mapping[str, Range], keys: Mapping[str, RangeKey], common: CommonRanges | None
) -> Mapping[str, Range]:
    """Return the ranges over several lifetimes in place of those of one; given bounds stay."""
    if common is None:
        return ranges
    return {
        task: span
        if span.given or keys[task] not in common.spans
        else _pool((span, common.spans[keys[task]]), given=False)
        for task, span in ranges.items()
    }


def merge_ranges(lifetimes: Sequence[Mapping[RangeKey, Range]]) -> CommonRanges | None:
    """Return the ranges over all lifetimes; None for fewer than two."""
    spans: dict[RangeKey, Range] = {}
    for own in lifetimes:
        for key, span in own.items():
            spans[key] = _pool((span, spans.get(key, span)), given=False)
    return CommonRanges(spans, len(lifetimes)) if len(lifetimes) > 1 else None


def _one_range(
    ranges: Mapping[str, Range], prep: Preparation, direction: Direction, all_given: bool
) -> dict[str, Range]:
    """Return one range over all tasks, and all bounds that are given, for each task."""
    bounds = [_range(pair, direction) for pair in (prep.bounds or {}).values()]
    return dict.fromkeys(ranges, _pool(bounds or tuple(ranges.values()), given=all_given))


def _found_ranges(
    smoothed: Array,
    starts: npt.NDArray[np.int64],
    blocks: Sequence[Block],
    matched: Mapping[str, Sequence[ExpertLog]],
    clamps: Mapping[str, Range],
    prep: Preparation,
) -> dict[str, Range]:
    """Return the range of each task over the values of the learner and its experts."""
    lows = np.minimum.reduceat(smoothed, starts[:-1]).tolist()
    highs = np.maximum.reduceat(smoothed, starts[:-1]).tolist()
    spans: dict[str, list[Range]] = {}
    # Probes change no range, or a lifetime with probes would have other values than the same without.
    for block, low, high in sorted(zip(blocks, lows, highs, strict=True), key=lambda item: item[0].mode == "probe"):
        if block.mode != "probe" or block.task not in spans:
            spans.setdefault(block.task, []).append(Range(low, high))
    for task, experts in matched.items():
        for expert in experts:
            if len(expert.smoothed):
                low, high = expert.span
                if task in clamps and learned_task(expert, task, prep) == task:
                    low, high = clamp(np.array(expert.span), clamps[task]).tolist()
                spans[task].append(Range(low, high))
    return {task: _pool(found, given=False) for task, found in spans.items()}


def _percentiles(
    smoothed: Array,
    starts: npt.NDArray[np.int64],
    blocks: Sequence[Block],
    matched: Mapping[str, Sequence[ExpertLog]],
) -> dict[str, Range]:
    """Return the 10th and 90th percentile of each task's values, of the learner and its experts together."""
    pieces: dict[str, list[Array]] = {}
    for index, block in sorted(enumerate(blocks), key=lambda item: item[1].mode == "probe"):
        if block.mode != "probe" or block.task not in pieces:
            pieces.setdefault(block.task, []).append(smoothed[starts[index] : starts[index + 1]])
    for task, experts in matched.items():
        pieces[task].extend(expert.smoothed for expert in experts)
    return {task: Range(*np.percentile(np.concatenate(values), (10, 90)).tolist()) for task, values in pieces.items()}
