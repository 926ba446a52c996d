"""Experts: learners of one task alone, read once and compared with any number of lifetimes."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from perdure import files
from perdure.curves.arrays import Array, gathered
from perdure.curves.model import LOWEST, SCALED, Curve, Expert, Prep, Range, Ranges
from perdure.curves.prepare import clamp, scale, smooth
from perdure.curves.together import Rows
from perdure.errors import LogError, PerdureError, UnknownName
from perdure.frozen import frozen
from perdure.log.model import Direction, Lifetime, Passage
from perdure.log.read import Options, find, locate
from perdure.log.read import lifetimes as lifetimes_at
from perdure.log.variants import Settled
from perdure.scenario.model import Task

__all__ = [
    "ExpertLog",
    "Experts",
    "base_name",
    "expert_log",
    "joined",
    "matching",
    "oriented",
    "read_experts",
    "scaled_for",
    "seconds_by_task",
    "seconds_elapsed",
    "seconds_learning",
    "values_of",
]

_DEFAULTS = Options()
_STATED = 'expected an object {"task": saturation}'


class Experts(Struct, frozen=True, eq=False):
    """Everything that can be compared with: expert lifetimes, and saturations stated in `info.json`."""

    lifetimes: tuple[Lifetime, ...] = ()
    saturations: Mapping[str, float] = {}
    left_out: tuple[tuple[str, str], ...] = ()
    """What was given as an expert and cannot serve: its path, and why."""
    twins: tuple[Lifetime, ...] = ()
    """Lives of learners that start anew in every block, each the twin of the life of its seed."""


@frozen(eq=False)
class ExpertLog:
    """An expert's learning, smoothed once; scaling it for a lifetime is cheap."""

    id: str
    task: str
    smoothed: Array
    """Its learning blocks in order, wake and sleep, higher is better."""
    measured: Array
    starts: npt.NDArray[np.int64]
    awake: tuple[int, ...]
    """Which of its learning blocks are wake."""
    numbers: Callable[[], npt.NDArray[np.int64]]
    """The numbers of its experiences, row by row."""
    seconds: float | None = None
    intervals: int = 0
    saturation: float | None = None
    elapsed: float | None = None
    """The time from its first to its last experience, evaluations and all."""

    @cached_property
    def awake_values(self) -> Array:
        """Its wake learning blocks joined, as measured."""
        if len(self.awake) == len(self.starts) - 1:
            return self.measured
        return gathered(self.measured, self.starts, self.awake) if self.awake else self.measured[:0]

    @cached_property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest of its smoothed values."""
        return float(self.smoothed.min()), float(self.smoothed.max())

    @cached_property
    def mark(self) -> str:
        """Its id with a digest of what it measured: folders of several learners often name their experts alike."""
        return f"{self.id}@{zlib.crc32(self.measured.tobytes()):08x}"


def read_experts(paths: Iterable[str | os.PathLike[str]], options: Options = _DEFAULTS) -> Experts:
    """The experts at `paths`: logs, tables, folders of them, or the 2019 `taskinfo/info.json`.

    Of a file that holds several lifetimes, those serve whose role is expert or, where it states no
    role, those that learn one task alone. What cannot serve is left out, and said so; a path with
    nothing on it is an error.
    """
    lifetimes: list[Lifetime] = []
    saturations: dict[str, float] = {}
    left_out: list[tuple[str, str]] = []
    seen: set[Path] = set()
    for path in paths:
        place = locate(path)
        if place.is_file() and place.suffix == ".json":
            saturations.update(_stated(place))
            continue
        found = list(find(place, options))
        if not found:
            raise LogError("no expert here", "give a log, a folder of logs, or taskinfo/info.json", file=place)
        for one in found:
            if one.resolve() in seen:
                continue  # given twice, it would count twice
            seen.add(one.resolve())
            try:
                serving, passed_by = _serving(tuple(lifetimes_at(one, options)))
            except PerdureError as problem:
                left_out.append((str(one), str(problem)))
            else:
                lifetimes.extend(serving)
                left_out.extend((f"{one}#{life.inside}", f"{one}#{life.inside}: {why}") for life, why in passed_by)
    twins = tuple(one for one in lifetimes if one.role == "twin")
    serving_all = tuple(one for one in lifetimes if one.role != "twin")
    return Experts(serving_all, saturations, tuple(left_out), twins)


def _serving(found: Sequence[Lifetime]) -> tuple[Sequence[Lifetime], Sequence[tuple[Lifetime, str]]]:
    """The experts among the lifetimes of one file, and those that are none, with the reason."""
    if len(found) == 1:
        return found, ()  # it was given as an expert; whether it can be one, its learning tells
    stated = [one for one in found if one.role != "life"]
    if stated:
        return stated, ()
    tasks = [_learned(one) for one in found]
    serving = [one for one, learned in zip(found, tasks, strict=True) if len(learned) == 1]
    why = "an expert learns one task alone; it learns"
    passed_by = [
        (one, f"{why} {', '.join(learned) or 'nothing'}")
        for one, learned in zip(found, tasks, strict=True)
        if len(learned) != 1
    ]
    return serving, passed_by


def _learned(lifetime: Lifetime) -> list[str]:
    """The tasks that a lifetime learns, seen without cutting it into blocks."""
    rows = lifetime.experiences
    return sorted(rows.filter(rows["block_type"] == "train")["task_name"].unique().to_list())


def joined(first: Experts, second: Experts) -> Experts:
    """Both together; a log that is in both counts once."""
    seen = {one.path.resolve() for one in first.lifetimes if one.path}
    further = (one for one in second.lifetimes if not (one.path and one.path.resolve() in seen))
    return Experts(
        (*first.lifetimes, *further),
        {**first.saturations, **second.saturations},
        tuple(dict((*first.left_out, *second.left_out)).items()),
        tuple({(one.path or id(one), one.inside): one for one in (*first.twins, *second.twins)}.values()),
    )


def _stated(place: Path) -> dict[str, float]:
    """The saturation of each task as a JSON object states it; names fold case as everywhere."""
    try:
        found = files.parse_json(files.read_text(place, files.HEADER_LIMIT))
    except (OSError, ValueError) as problem:
        raise LogError(f"cannot be read as JSON ({problem})", _STATED, file=place) from problem
    if not isinstance(found, dict):
        raise LogError(f"holds a {type(found).__name__}", _STATED, file=place)
    for task, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
            raise LogError(f"the saturation of {task!r} is {value!r}", "expected a finite number", file=place)
    return {task.lower(): float(value) for task, value in found.items()}


def oriented(values: Array, direction: Direction) -> Array:
    """The values such that higher is better."""
    return -values if direction == "lower" else values


def base_name(task: str, prep: Prep) -> str:
    """The task without its variant: what precedes the last underscore (the first, for l2metrics)."""
    if prep.suffix == "first":
        return task.partition("_")[0]
    return Task.parse(task).name


def values_of(passage: Passage, prep: Prep) -> tuple[Array, npt.NDArray[np.int64]]:
    """The values that are smoothed and counted, by experience or by row, and where blocks start."""
    if prep.unit == "experience":
        return passage.values, passage.starts
    return passage.rows[passage.measure].to_numpy().astype(np.float64, copy=False), passage.row_starts


def expert_log(
    lifetime: Lifetime,
    measure: str | Mapping[str, str],
    direction: Direction | Mapping[str, Direction],
    prep: Prep,
    settled: Settled | None = None,
) -> ExpertLog:
    """The expert's learning, smoothed; LogError where it cannot serve as one.

    Its task is told as in the lifetimes that it serves: where parameters make tasks, by what is `settled` with them.
    Where tasks have measures of their own, `direction` is that of each measure.
    """
    name = str(lifetime.path or lifetime.id)
    try:
        # l2metrics compares an expert's whole name, also where the learner's has lost its variant.
        passage = lifetime.passage(measure, "name" if prep.matching == "prefix" else prep.variants, settled)
    except UnknownName as problem:
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
    everything = oriented(everything, way)
    pieces = [everything[all_starts[index] : all_starts[index + 1]] for index in learning]
    starts = np.concatenate([[0], np.cumsum([len(piece) for piece in pieces])]).astype(np.int64)
    measured = np.concatenate(pieces)
    seconds, intervals = seconds_learning(passage)
    smoothed = smooth(
        measured, starts, range(len(learning)), window=prep.window, width=prep.width, alignment=prep.alignment
    )
    return ExpertLog(
        id=lifetime.id,
        task=tasks[0],
        smoothed=_frozen(smoothed),
        measured=_frozen(measured),
        starts=starts,
        awake=tuple(at for at, index in enumerate(learning) if blocks[index].subtype == "wake"),
        numbers=partial(_numbers, passage, learning),
        seconds=seconds,
        intervals=intervals,
        elapsed=seconds_elapsed(passage),
    )


def _numbers(passage: Passage, blocks: Sequence[int]) -> npt.NDArray[np.int64]:
    """The numbers of the experiences in these blocks, row by row."""
    numbers, starts = passage.rows["exp_num"].to_numpy(), passage.row_starts
    return np.concatenate([numbers[starts[block] : starts[block + 1]] for block in blocks])


def seconds_elapsed(passage: Passage) -> float | None:
    """The time from the first to the last experience of any kind; None where a timestamp of theirs cannot be read."""
    blocks = len(passage.scenario.blocks)
    return _seconds(passage.times(0)[0], passage.times(blocks - 1)[1]) if blocks else None


def _seconds(first: str | None, last: str | None) -> float | None:
    try:
        span = datetime.fromisoformat(last) - datetime.fromisoformat(first)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return span.total_seconds()


def seconds_learning(passage: Passage) -> tuple[float | None, int]:
    """The time between the first and last timestamp of each learning block, summed, and how many intervals it spans.

    None where a timestamp is missing or cannot be read.
    """
    found = seconds_by_task(passage)
    if found is None:
        return None, 0
    return sum(seconds for seconds, _ in found.values()), sum(intervals for _, intervals in found.values())


def seconds_by_task(passage: Passage) -> dict[str, tuple[float, int]] | None:
    """The same for each task that is learned for more than one experience at a time."""
    found: dict[str, tuple[float, int]] = {}
    for index, block in enumerate(passage.scenario.blocks):
        if block.mode != "learn" or not block.length or block.length < 2:
            continue
        span = _seconds(*passage.times(index))
        if span is None:
            return None
        seconds, intervals = found.get(block.task, (0.0, 0))
        found[block.task] = seconds + span, intervals + block.length - 1
    return found


def matching(task: Task, experts: Sequence[ExpertLog], prep: Prep) -> tuple[ExpertLog, ...]:
    """The experts of `task`: names compare whole, and without their variant where variants do not count.

    A name in `info.json` stands for a variant that has no entry of its own. l2metrics takes an exact name, else every
    expert whose name begins with the task's.
    """
    label = task.label
    exact = tuple(one for one in experts if one.task == label)
    if prep.matching == "prefix":
        if exact or all(one.task.partition("_")[0] != label for one in experts):
            return exact
        return tuple(one for one in experts if one.task.startswith(label))
    if prep.variants == "agnostic":  # an expert that was read knows its task; a name in a file may have its variant
        return tuple(
            one
            for one in experts
            if one.task == label or (one.saturation is not None and base_name(one.task, prep) == label)
        )
    return exact or tuple(one for one in experts if one.saturation is not None and one.task == task.name)


def scaled_for(
    log: ExpertLog, bounds: Range | Ranges, prep: Prep, *, clamped: Range | Ranges | None, lives: int = 1
) -> Sequence[Expert]:
    """The expert on the scale of each life it is compared with; one for all where they share their range."""

    def prepared(values: Array) -> Array:
        within = clamp(values, clamped) if clamped else values
        return _frozen(scale(within, bounds) if prep.scale != "none" else within)

    smoothed, raw = prepared(log.smoothed), prepared(log.measured)
    width = SCALED if prep.scale != "none" else bounds.high - bounds.low
    floor = None if prep.scale == "none" else LOWEST
    several = smoothed.ndim > 1 or np.ndim(width) > 0
    count = lives if several else 1

    def cut(blocks: Sequence[int]) -> Sequence[Curve]:
        if len(blocks) == len(log.starts) - 1:
            values, beside = smoothed, raw
        else:
            pieces = [gathered(array, log.starts, blocks) if blocks else array[..., :0] for array in (smoothed, raw)]
            values, beside = pieces
        if not several:
            return (Curve(values, beside, float(width), floor),)
        shape = (lives, values.shape[-1])
        extents: list[float] = np.broadcast_to(np.ravel(width), lives).tolist()
        return Rows(np.broadcast_to(values, shape), lambda: np.broadcast_to(beside, shape), extents, floor).curves()

    blocks = len(log.starts) - 1
    everything = cut(range(blocks))
    awake = everything if len(log.awake) == blocks else cut(log.awake)
    last = everything if blocks < 2 else cut((blocks - 1,))
    made = [
        Expert(
            id=log.id,
            task=log.task,
            curve=awake[row],
            last=last[row],
            all_learning=everything[row],
            numbers=log.numbers,
            saturation=log.saturation,
            seconds=log.seconds,
            intervals=log.intervals,
            mark=log.mark,
            elapsed=log.elapsed,
            experiences=len(log.measured),
        )
        for row in range(count)
    ]
    return made if several else made * lives


def _frozen(values: Array) -> Array:
    """The values, which nobody may change: an expert serves many lifetimes, and a formula is a stranger's."""
    values.flags.writeable = False
    return values
