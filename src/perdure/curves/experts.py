"""Experts: learners of one task only, read once and compared with any number of lifetimes; and stateless twins."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from perdure import files
from perdure.curves.arrays import (
    LOWEST,
    SCALED,
    Array,
    Range,
    clamp,
    gathered,
    late,
    many_differ,
    mean,
    near,
    scale,
    smooth,
    start,
    terminal,
)
from perdure.curves.model import Curve, Curves, Expert, ExpertComparison, Preparation, Twin
from perdure.errors import LogError, PerdureError, UnknownNameError
from perdure.log.model import Direction, Lifetime, Passage
from perdure.log.read import Options, find, locate
from perdure.log.read import lifetimes as lifetimes_at
from perdure.log.variants import Settled
from perdure.scenario.model import Task

Average = Literal["metrics", "time"]
"""With several experts: average the metric's values, or the experts' curves first (l2metrics' old option)."""
_DEFAULTS = Options()
_STATED = 'expected an object {"task": saturation}'
CLOSE = 0.9  # the common target is this share of the way from where curves begin to where they end


class Experts(msgspec.Struct, frozen=True, eq=False):
    """Expert lifetimes, saturations stated in `info.json`, and stateless twins."""

    lifetimes: tuple[Lifetime, ...] = ()
    saturations: Mapping[str, float] = msgspec.field(default_factory=dict)
    left_out: tuple[tuple[str, str], ...] = ()
    """Path and reason of everything that was given as an expert and cannot be used."""
    twins: tuple[Lifetime, ...] = ()
    """Lifetimes of learners that start from scratch in every block, each the twin of the lifetime of its seed."""


class ExpertLog(msgspec.Struct, frozen=True, eq=False, dict=True):
    """An expert's learning, smoothed once for all lifetimes."""

    id: str
    task: str
    smoothed: Array
    """Its learning blocks in order, wake and sleep; higher is better."""
    measured: Array
    starts: npt.NDArray[np.int64]
    awake: tuple[int, ...]
    """Indices of its wake learning blocks."""
    numbers: Callable[[], npt.NDArray[np.int64]]
    """Returns the experience numbers, row by row."""
    seconds: float | None = None
    intervals: int = 0
    saturation: float | None = None
    elapsed: float | None = None
    """Time from its first to its last experience, evaluations included."""
    learner_seconds: float | None = None

    @cached_property
    def awake_values(self) -> Array:
        """Its wake learning blocks joined, as measured."""
        if len(self.awake) == len(self.starts) - 1:
            return self.measured
        return gathered(self.measured, self.starts, self.awake)

    @cached_property
    def span(self) -> tuple[float, float]:
        """Lowest and highest of its smoothed values."""
        return float(self.smoothed.min()), float(self.smoothed.max())

    @cached_property
    def mark(self) -> str:
        """Its id with a digest of its values: folders of several learners often give experts the same names."""
        return f"{self.id}@{zlib.crc32(self.measured.tobytes()):08x}"


def read_experts(paths: Iterable[str | os.PathLike[str]], options: Options = _DEFAULTS) -> Experts:
    """Read the experts at `paths`: logs, tables, folders of them, or the 2019 `taskinfo/info.json`.

    From a file of several lifetimes, those are used whose role is expert or, if it states no role, those that learn
    one task only. Unusable lifetimes are left out with the reason. A path without any log is an error.
    """
    lifetimes: list[Lifetime] = []
    saturations: dict[str, float] = {}
    left_out: list[tuple[str, str]] = []
    seen: set[Path] = set()
    for path in paths:
        place = locate(path)
        if place.is_file() and place.suffix == ".json":
            saturations |= {task.lower(): float(value) for task, value in stated_saturations(place).items()}
            continue
        found = list(find(place, options))
        if not found:
            raise LogError("no expert here", "give a log, a folder of logs, or taskinfo/info.json", file=place)
        for log in found:
            if log.resolve() in seen:
                continue  # a log that is given twice counts once
            seen.add(log.resolve())
            try:
                experts, others = _split(tuple(lifetimes_at(log, options)))
            except PerdureError as problem:
                left_out.append((str(log), str(problem)))
            else:
                lifetimes.extend(experts)
                left_out.extend((f"{log}#{name}", f"{log}#{name}: {why}") for name, why in others)
    twins = tuple(lifetime for lifetime in lifetimes if lifetime.role == "twin")
    experts = tuple(lifetime for lifetime in lifetimes if lifetime.role != "twin")
    return Experts(experts, saturations, tuple(left_out), twins)


def _split(lifetimes: tuple[Lifetime, ...]) -> tuple[tuple[Lifetime, ...], list[tuple[str, str]]]:
    """Return the experts among the lifetimes of one file, and name and reason of the others."""
    if len(lifetimes) == 1:
        return lifetimes, []  # it was given as an expert; `expert_log` checks what it learns
    stated = tuple(lifetime for lifetime in lifetimes if lifetime.role != "life")
    if stated:
        return stated, []
    experts: list[Lifetime] = []
    others: list[tuple[str, str]] = []
    for lifetime in lifetimes:
        rows = lifetime.experiences
        learned = sorted(rows.filter(rows["block_type"] == "train")["task_name"].unique().to_list())
        if len(learned) == 1:
            experts.append(lifetime)
        else:
            why = f"an expert learns one task alone; it learns {', '.join(learned) or 'nothing'}"
            others.append((lifetime.inside, why))
    return tuple(experts), others


def merge_experts(first: Experts, second: Experts) -> Experts:
    """Return the experts of both; a log that is in both counts once."""
    seen = {expert.path.resolve() for expert in first.lifetimes if expert.path}
    further = (expert for expert in second.lifetimes if not (expert.path and expert.path.resolve() in seen))
    return Experts(
        (*first.lifetimes, *further),
        {**first.saturations, **second.saturations},
        tuple(dict((*first.left_out, *second.left_out)).items()),
        tuple({(twin.path or id(twin), twin.inside): twin for twin in (*first.twins, *second.twins)}.values()),
    )


def stated_saturations(place: Path) -> dict[str, float]:
    """Read the saturation of each task from a JSON object, as it is written there."""
    try:
        found = files.parse_json(files.read_text(place, files.HEADER_LIMIT))
    except (OSError, ValueError) as problem:
        raise LogError(f"cannot be read as JSON ({problem})", _STATED, file=place) from problem
    if not isinstance(found, dict):
        raise LogError(f"holds a {type(found).__name__}", _STATED, file=place)
    for task, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise LogError(f"the saturation of {task!r} is {value!r}", "expected a finite number", file=place)
    return found


# --- one expert ----------------------------------------------------------------------------------


def oriented(values: Array, direction: Direction) -> Array:
    """Return the values such that higher is better."""
    return -values if direction == "lower" else values


def direction_of(
    task: str, measures: str | Mapping[str, str], direction: Direction | Mapping[str, Direction]
) -> Direction:
    """Return which values are better in `task`, which may have its own measure."""
    if isinstance(direction, str):
        return direction
    assert not isinstance(measures, str), "directions of measures come with measures of tasks"
    measure = measures.get(task) or measures.get(Task.parse(task).name, "")
    return direction.get(measure, "higher")


def values_of(passage: Passage, prep: Preparation) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return the values that are smoothed and counted, by experience or by row, and the starts of the blocks."""
    if prep.unit == "experience":
        return passage.values, passage.starts
    return passage.rows[passage.measure].to_numpy().astype(np.float64, copy=False), passage.row_starts


def expert_log(
    lifetime: Lifetime,
    measure: str | Mapping[str, str],
    direction: Direction | Mapping[str, Direction],
    prep: Preparation,
    settled: Settled | None = None,
) -> ExpertLog:
    """Return the expert's learning, smoothed; raise LogError if it is not an expert of one task.

    If parameters make tasks, `settled` has their names in these experts and in the lifetimes.
    If tasks have their own measures, `direction` is that of each measure.
    """
    name = str(lifetime.path or lifetime.id)
    try:
        # l2metrics compares an expert's whole name, also if the learner's has lost its variant.
        passage = lifetime.passage(measure, "name" if prep.matching == "prefix" else prep.variants, settled)
    except UnknownNameError as problem:
        known = ", ".join(lifetime.measures)
        raise LogError(
            f"this expert has no measure {problem.name!r} (it has: {known})",
            f"give experts of {problem.name!r}",
            where=name,
        ) from problem
    blocks = passage.scenario.blocks
    learning = [index for index, block in enumerate(blocks) if block.mode == "learn"]
    tasks = sorted({blocks[index].task for index in learning})
    if len(tasks) != 1:
        found = f"it learns {', '.join(tasks)}" if tasks else "it learns nothing that counts"
        raise LogError(f"an expert learns one task alone, and {found}", "give a log for each task", where=name)
    everything, all_starts = values_of(passage, prep)
    way = direction if isinstance(direction, str) else direction[passage.measures[tasks[0]]]
    measured = np.array(oriented(gathered(everything, all_starts, learning), way))
    lengths = [all_starts[index + 1] - all_starts[index] for index in learning]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    smoothed = smooth(
        measured, starts, range(len(learning)), window=prep.window, width=prep.width, alignment=prep.alignment
    )
    seconds, intervals = seconds_learning(passage)
    return ExpertLog(
        id=lifetime.id,
        task=tasks[0],
        smoothed=_read_only(smoothed),
        measured=_read_only(measured),
        starts=starts,
        awake=tuple(at for at, index in enumerate(learning) if blocks[index].subtype == "wake"),
        numbers=partial(_numbers, passage, learning),
        seconds=seconds,
        intervals=intervals,
        elapsed=seconds_elapsed(passage),
        learner_seconds=learner_seconds(passage),
    )


def expert_logs(
    experts: Sequence[Lifetime],
    measure: str | Mapping[str, str],
    direction: Direction | Mapping[str, Direction],
    prep: Preparation,
    saturations: Mapping[str, float] | None = None,
    settled: Settled | None = None,
) -> tuple[tuple[ExpertLog, ...], tuple[tuple[str, str], ...]]:
    """Return the experts, smoothed once for all lifetimes, and path and reason of those that are left out.

    An expert with the values of another one is a copy. Two copies would count as two experts, and make an interval
    narrower than it is.
    """
    usable: list[ExpertLog] = []
    left_out: list[tuple[str, str]] = []
    same_values: dict[tuple[str, bytes], list[tuple[Lifetime, str]]] = {}
    for expert in experts:
        place = str(expert.path or expert.id)
        try:
            log = expert_log(expert, measure, direction, prep, settled)
        except LogError as problem:
            left_out.append((place, str(problem)))
            continue
        others = same_values.setdefault((log.task, blake2b(log.measured.tobytes()).digest()), [])
        distinctive = many_differ(log.measured)
        original = next(
            (there for other, there in others if _is_copy(expert, other, there != place, distinctive)), None
        )
        if original is None:
            others.append((expert, place))
            usable.append(log)
        else:
            left_out.append((place, f"{place}: a copy of {original} (the same values), which counts once"))
    nothing, edges = np.empty(0), np.zeros(1, dtype=np.int64)
    for task, value in (saturations or {}).items():
        stated = -value if direction_of(task, measure, direction) == "lower" else value
        usable.append(ExpertLog("info.json", task, nothing, nothing, edges, (), _no_numbers, saturation=float(stated)))
    return tuple(usable), tuple(left_out)


def _is_copy(expert: Lifetime, other: Lifetime, elsewhere: bool, distinctive: bool) -> bool:
    """Return whether an expert with the values of `other` is a copy of it: by its id, or by `distinctive` values."""
    if expert.id == other.id and elsewhere:
        return True
    return distinctive and not differ(expert.learner, other.learner) and not differ(expert.seed, other.seed)


def differ(first: object, second: object) -> bool:
    """Return whether two learners, or two seeds, are both recorded and not the same."""
    return None not in (first, second) and first != second


def _no_numbers() -> npt.NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


def _numbers(passage: Passage, blocks: Sequence[int]) -> npt.NDArray[np.int64]:
    numbers, starts = passage.rows["exp_num"].to_numpy(), passage.row_starts
    return np.concatenate([numbers[starts[block] : starts[block + 1]] for block in blocks])


def _read_only(values: Array) -> Array:
    """Protect values that serve many lifetimes from formulas."""
    values.flags.writeable = False
    return values


# --- durations -----------------------------------------------------------------------------------


def seconds_elapsed(passage: Passage) -> float | None:
    """Return the time from the first to the last experience of any kind; None without valid timestamps."""
    blocks = len(passage.scenario.blocks)
    return _seconds(passage.times(0)[0][0], passage.times(blocks - 1)[-1][1]) if blocks else None


def _seconds(first: str | None, last: str | None) -> float | None:
    try:
        span = datetime.fromisoformat(last) - datetime.fromisoformat(first)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return span.total_seconds()


def seconds_learning(passage: Passage) -> tuple[float | None, int]:
    """Return the time between the first and last experience of each learning block, summed, and its intervals.

    The time is None if a timestamp is missing or invalid.
    """
    found = seconds_by_task(passage)
    if found is None:
        return None, 0
    return sum(seconds for seconds, _ in found.values()), sum(intervals for _, intervals in found.values())


def seconds_by_task(passage: Passage) -> dict[str, tuple[float, int]] | None:
    """Return the same for each task that is learned for more than one experience at a time."""
    found: dict[str, tuple[float, int]] = {}
    for index, block in enumerate(passage.scenario.blocks):
        if block.mode != "learn" or not block.length or block.length < 2:
            continue
        spans = [_seconds(*piece) for piece in passage.times(index)]
        if None in spans:
            return None
        seconds, intervals = found.get(block.task, (0.0, 0))
        found[block.task] = seconds + sum(span or 0.0 for span in spans), intervals + block.length - len(spans)
    return found


def learner_seconds(passage: Passage) -> float | None:
    """Return the seconds that the learner acts and learns per learning experience; None if they are not logged.

    A record is written before its experience is learned from, so that time is in the next one, even in an evaluation.
    """
    act, learn = passage.column("act_seconds"), passage.column("learn_seconds")
    count = sum(block.length or 0 for block in passage.scenario.blocks if block.mode == "learn")
    if act is None or learn is None or not count:
        return None
    return float(np.nansum(act[passage.rows_of("learn")]) + np.nansum(learn)) / count


# --- experts and a lifetime ----------------------------------------------------------------------


def _base_name(task: str, prep: Preparation) -> str:
    """Return the task without its variant: the text before the last underscore (the first, for l2metrics)."""
    return task.partition("_")[0] if prep.suffix == "first" else Task.parse(task).name


def match_experts(task: Task, experts: Sequence[ExpertLog], prep: Preparation) -> tuple[ExpertLog, ...]:
    """Return the experts of `task`: names compare whole, or without their variant if variants do not count.

    A name in `info.json` stands for a variant that has no entry of its own. l2metrics takes an exact name, else every
    expert whose name begins with the task's.
    """
    label = task.label
    exact = tuple(expert for expert in experts if expert.task == label)
    if prep.matching == "prefix":
        if exact or all(expert.task.partition("_")[0] != label for expert in experts):
            return exact
        return tuple(expert for expert in experts if expert.task.startswith(label))
    if prep.variants == "agnostic":  # a log names its task; a name in info.json may have its variant
        return tuple(
            expert
            for expert in experts
            if expert.task == label or (expert.saturation is not None and _base_name(expert.task, prep) == label)
        )
    return exact or tuple(expert for expert in experts if expert.saturation is not None and expert.task == task.name)


def learned_task(log: ExpertLog, task: str, prep: Preparation) -> str:
    """Return the task that an expert matched to `task` really learned."""
    return _base_name(log.task, prep) if prep.matching == "prefix" and log.task != task else task


def scale_expert(
    log: ExpertLog, task: str, ranges: Mapping[str, Range], clamps: Mapping[str, Range], prep: Preparation
) -> Expert:
    """Return an expert of `task` on the scale of a lifetime."""
    # l2metrics may match the expert of another task; it scales it by that task's range, and does not clamp it.
    own = learned_task(log, task, prep)
    bounds = ranges[own if own in ranges else task]
    scaled = prep.scale != "none"

    def prepared(values: Array) -> Array:
        within = clamp(values, clamps[task]) if task in clamps and own == task else values
        return _read_only(scale(within, bounds) if scaled else within)

    smoothed, raw = prepared(log.smoothed), prepared(log.measured)
    whole = Curve(smoothed, raw, SCALED if scaled else bounds.high - bounds.low, LOWEST if scaled else None)

    def over(blocks: Sequence[int]) -> Curve:
        values, unsmoothed = (gathered(array, log.starts, blocks) for array in (smoothed, raw))
        return Curve(values, unsmoothed, whole.range, whole.floor)

    blocks = len(log.starts) - 1
    return Expert(
        id=log.id,
        task=log.task,
        curve=whole if len(log.awake) == blocks else over(log.awake),
        last=whole if blocks < 2 else over((blocks - 1,)),
        all_learning=whole,
        numbers=log.numbers,
        saturation=log.saturation,
        seconds=log.seconds,
        intervals=log.intervals,
        mark=log.mark,
        elapsed=log.elapsed,
        learner_seconds=log.learner_seconds,
        experiences=len(log.measured),
    )


def average_expert(experts: Sequence[Expert]) -> Expert:
    """Return one expert whose curves are the experts' means, cut to the shortest (l2metrics' deprecated option)."""
    logged = [expert for expert in experts if len(expert.all_learning)]
    if len(logged) < 2:
        return logged[0] if logged else experts[0]

    def averaged(curves: Sequence[Curve]) -> Curve:
        shortest = min(map(len, curves))
        values, raw = (
            np.mean([array[:shortest] for array in arrays], axis=0)
            for arrays in ([curve.values for curve in curves], [curve.raw for curve in curves])
        )
        return Curve(values, raw, curves[0].range, curves[0].floor)

    whole = averaged([expert.all_learning for expert in logged])
    return msgspec.structs.replace(
        logged[0],
        id="mean of " + ", ".join(expert.id for expert in logged),
        mark="mean of " + ", ".join(expert.mark for expert in logged),
        curve=averaged([expert.curve for expert in logged]),
        last=averaged([expert.last for expert in logged]),
        all_learning=whole,
        numbers=lambda: np.arange(len(whole)),
    )


def compare_with_experts(
    curves: Curves, task: str, blocks: Sequence[int], average: Average = "metrics"
) -> tuple[ExpertComparison, ...]:
    """Compare the blocks, joined, with each expert of the task over the length that both have.

    Both are cut to equal length, then smoothed once. Smoothing block by block would leave the learner's curve noisier
    than its expert's, and smoothing before the cut would let values behind it count. Experts that never learn while
    awake are skipped.
    """
    logs = [(log.mark, log.awake_values) for log in curves.expert_logs.get(task, ()) if len(log.awake_values)]
    if average == "time" and len(logs) > 1:
        shortest = min(len(values) for _, values in logs)
        values = np.mean([values[:shortest] for _, values in logs], axis=0)
        logs = [("mean of " + ", ".join(mark for mark, _ in logs), values)]
    if not logs:
        return ()
    own = gathered(curves.measured, curves.starts, blocks)
    noise = None if curves.noise is None else gathered(curves.noise, curves.starts, blocks)
    lengths = [min(len(own), len(values)) for _, values in logs]
    prepared = {length: _prepare_joined(curves, task, own[:length], noise) for length in set(lengths)}
    learners = [prepared[length] for length in lengths]
    experts = [
        _prepare_joined(curves, task, values[:length]) for (_, values), length in zip(logs, lengths, strict=True)
    ]
    begin, end = (
        (sum(map(level, learners)) / len(logs) + sum(map(level, experts))) / (len(logs) + 1)
        for level in (start, terminal)
    )  # the learner counts once, however often it was cut
    target = near(begin + CLOSE * (end - begin))
    return tuple(
        ExpertComparison(
            expert=mark,
            length=length,
            mean=mean(learner),
            expert_mean=mean(expert),
            start=start(learner),
            expert_start=start(expert),
            end=terminal(learner),
            expert_end=terminal(expert),
            late=late(learner),
            expert_late=late(expert),
            reached=_reached(learner, target),
            expert_reached=_reached(expert, target),
            range=curves.width(task),
            floor=curves.floor,
        )
        for (mark, _), length, learner, expert in zip(logs, lengths, learners, experts, strict=True)
    )


def _prepare_joined(curves: Curves, task: str, values: Array, noise: Array | None = None) -> Array:
    prep, whole = curves.prep, np.array([0, len(values)])
    prepared = smooth(values, whole, (0,), window=prep.window, width=prep.width, alignment=prep.alignment)
    if task in curves.clamps:
        prepared = clamp(prepared, curves.clamps[task])
    if prep.scale != "none":
        prepared = scale(prepared, curves.ranges[task])
    return prepared if noise is None else prepared + noise[: len(values)]


def _reached(values: Array, target: float) -> int:
    reached = values >= target
    index = int(reached.argmax())
    return index + 1 if reached[index] else len(values) + 1


def twin_of(curves: Curves, passage: Passage) -> Twin | None:
    """Return the twin whose experiences are `passage`; None if it went through other blocks than the lifetime."""
    own, its = (
        [(block.mode, block.task, block.subtype) for block in scenario.blocks]
        for scenario in (curves.scenario, passage.scenario)
    )
    if own != its:
        return None
    values, starts = values_of(passage, curves.prep)
    means: list[float] = []
    for index, block in enumerate(passage.scenario.blocks):
        level = np.array([curves.sign(block.task) * mean(values[starts[index] : starts[index + 1]])])
        means.append(float((level if curves.prep.scale == "none" else scale(level, curves.ranges[block.task]))[0]))
    return Twin(tuple(means), *seconds_learning(passage))
