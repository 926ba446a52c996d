"""A lifetime reduced to what can be seen of it: thinned curves, evaluations with intervals, experts beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import zip_longest

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.curves.experts import seconds_by_task, seconds_learning
from perdure.curves.model import LOWEST, SCALED, Curve, Curves, Range
from perdure.frozen import frozen
from perdure.lazy import pl
from perdure.log.accuracy_matrix import AccuracyMatrix, MatrixPassage
from perdure.log.model import Passage
from perdure.metrics.engine.compact import same
from perdure.metrics.matrix.cells import matrix_of
from perdure.reports.stretches import Line, Stretch, Stretches

__all__ = [
    "MEMORY_COLUMNS",
    "STEP_COLUMNS",
    "Beside",
    "Cost",
    "Sketch",
    "columns_for",
    "sketch",
    "sketched",
    "thinned",
]

_COLUMNS = 1200
"""How many columns of pixels a single lifetime is thinned to."""
STEP_COLUMNS = ("steps", "step_count", "episode_steps", "episode_step_count")
"""Columns that may count the steps of an experience, in the order in which they are looked for."""


MEMORY_COLUMNS = ("memory_mb", "peak_memory_mb")
"""Columns that may say how much memory an experience took, in MB."""


@frozen(eq=False)
class Beside:
    """A task's learning blocks stitched together, beside its experts, as measured."""

    task: str
    learner: Line
    boundaries: tuple[int, ...]
    """Where a learning block begins, the first left out."""
    experts: tuple[tuple[str, Line], ...]


@frozen
class Cost:
    """What learning a task took, as far as it was logged."""

    seconds: float | None = None
    memory_mb: float | None = None
    """The most that was used while it was learned."""


@frozen(eq=False)
class Sketch:
    """What figures draw of one lifetime."""

    id: str
    measure: str
    lower: frozenset[str]
    """The tasks in whose measure lower is better."""
    tasks: tuple[str, ...]
    stretches: Sequence[Stretch]
    ranges: Mapping[str, Range]
    """Task → its range as measured."""
    beside: tuple[Beside, ...] = ()
    matrix: AccuracyMatrix | None = None
    steps: str | None = None
    """The column that counted steps."""
    seconds: tuple[float | None, int] = (None, 0)
    """The time between its learning experiences, summed, and how many intervals that is; None without timestamps."""

    costs: Mapping[str, Cost] = field(default_factory=dict)
    """Task → what learning it took, where anything is known of it."""

    @property
    def lower_is_better(self) -> bool:
        """Whether lower is better in every task."""
        return bool(self.lower) and self.lower.issuperset(self.tasks)

    @property
    def experiences(self) -> int:
        """How many experiences the lifetime has."""
        return self.stretches[-1].first + self.stretches[-1].length if self.stretches else 0

    @cached_property
    def ranges_agree(self) -> bool:
        """Whether the tasks' ranges go together on one axis."""
        widths = [one.high - one.low for one in self.ranges.values() if one.high > one.low]
        if not widths:
            return True
        whole = max(one.high for one in self.ranges.values()) - min(one.low for one in self.ranges.values())
        return max(widths) <= 5 * min(widths) and whole <= 4 * max(widths)

    def scaled(self, task: str, values: Array) -> Array:
        """Values as measured on the scale that metrics use, 1 to 101 and higher is better."""
        span = self.ranges.get(task)
        if span is None or span.high == span.low:
            return np.full_like(values, LOWEST)
        part = (values - span.low) / (span.high - span.low)
        return (1 - part if task in self.lower else part) * SCALED + LOWEST


def sketch(curves: Curves, *, columns: int = 1200, beside: bool = True) -> Sketch:
    """The lifetime thinned to a picture of about `columns` pixels across."""
    blocks, starts = curves.scenario.blocks, curves.starts
    lengths = np.diff(starts).tolist()
    column, steps = _steps(curves.passage, len(curves.measured))
    means, spreads = _levels(curves.measured, starts)
    stretches: list[Stretch] = []
    for index, (block, share) in enumerate(zip(blocks, columns_for(lengths, columns), strict=True)):
        first, last = int(starts[index]), int(starts[index + 1])
        if first == last:
            continue  # a matrix does not tell what happened while learning
        sign = curves.sign(block.task)
        measured = sign * curves.measured[first:last]
        smoothed = sign * _unscaled(curves, block.task, curves.values[first:last]) if block.mode == "learn" else None
        here = None if steps is None else steps[first:last]
        stretches.append(
            Stretch(
                index=index,
                block=block,
                first=first,
                length=last - first,
                measured=_line(measured, share, here),
                smoothed=None if smoothed is None else _line(smoothed, max(1, share // 2), here),
                mean=sign * means[index],
                sd=spreads[index] if last - first > 1 else None,
                steps=None if steps is None else (float(steps[first]), float(steps[last])),
            )
        )
    matrix = curves.passage.matrix if isinstance(curves.passage, MatrixPassage) else matrix_of(curves)
    return Sketch(
        id=curves.lifetime,
        measure=curves.passage.measure,
        lower=same(frozenset(task for task, way in curves.directions.items() if way == "lower")),
        tasks=same(tuple(task.label for task in curves.scenario.tasks)),
        stretches=Stretches(stretches),
        ranges={task: _as_measured(span, curves.sign(task)) for task, span in curves.ranges.items()},
        beside=_beside(curves, stretches, columns) if beside else (),
        matrix=matrix if len(matrix.tasks) else None,
        steps=column,
        seconds=seconds_learning(curves.passage) if curves.passage.rows.height else (None, 0),
        costs=_costs(curves.passage),
    )


def sketched(curves: Curves, count: int, columns: int | None = None) -> Sketch:
    """What a report keeps of a lifetime's curves; one of many gets less, so that a report stays small."""
    return sketch(curves, columns=columns or max(150, min(_COLUMNS, 7500 // max(1, count))))


def _costs(passage: Passage) -> dict[str, Cost]:
    """What learning each task took: a matrix may state it, a log has timestamps and may have a column of memory."""
    if isinstance(passage, MatrixPassage):
        matrix = passage.matrix
        rows = zip_longest(matrix.tasks, matrix.seconds, matrix.memory_mb)
        return {task: Cost(seconds, memory) for task, seconds, memory in rows if (seconds, memory) != (None, None)}
    if not passage.rows.height:
        return {}
    seconds = {task: spent for task, (spent, _) in (seconds_by_task(passage) or {}).items() if spent}
    memory = _memory(passage)
    return {task: Cost(seconds.get(task), memory.get(task)) for task in {**seconds, **memory}}


def _memory(passage: Passage) -> dict[str, float]:
    """The most memory while each task was learned, by the first column of `MEMORY_COLUMNS` that is there."""
    rows = passage.rows
    column = next((name for name in MEMORY_COLUMNS if name in rows.columns and rows.schema[name].is_numeric()), None)
    found: dict[str, float] = {}
    if column is None:
        return found
    values = rows[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
    for index, block in enumerate(passage.scenario.blocks):
        used = values[int(passage.row_starts[index]) : int(passage.row_starts[index + 1])]
        if block.mode == "learn" and not np.isnan(used).all():
            found[block.task] = max(found.get(block.task, -np.inf), float(np.nanmax(used)))
    return found


def thinned(values: Array, columns: int) -> npt.NDArray[np.int64]:
    """The indices to draw: at most two per column and both ends, in order; no extreme is lost.

    A line through the chosen points covers the same pixels as one through all of them, as long as
    the picture is no wider than `columns`.
    """
    count = len(values)
    if count <= 2 * columns + 2:
        return np.arange(count, dtype=np.int64)
    width = -(-count // columns)
    rows = -(-count // width)
    padded = np.full(rows * width, values[-1])
    padded[:count] = values
    table = padded.reshape(rows, width)
    first = np.arange(rows) * width
    chosen = np.concatenate([first + table.argmin(axis=1), first + table.argmax(axis=1), [0, count - 1]])
    return np.unique(np.minimum(chosen, count - 1)).astype(np.int64)


def columns_for(lengths: Sequence[int], columns: int) -> list[int]:
    """How many of `columns` each block gets: by its length, and at least one."""
    total = sum(lengths)
    return [max(1, round(columns * length / total)) for length in lengths] if total else [1] * len(lengths)


def _line(values: Array, columns: int, steps: Array | None = None) -> Line:
    chosen = thinned(values, columns)
    return Line(chosen, values[chosen], None if steps is None else steps[chosen])


def _as_measured(span: Range, sign: float) -> Range:
    return span if sign > 0 else Range(-span.high, -span.low, span.given)


def _unscaled(curves: Curves, task: str, values: Array) -> Array:
    """Prepared values back in the unit of the measure, higher is better."""
    if curves.prep.scale == "none":
        return values
    span = curves.ranges[task]
    return (values - LOWEST) / SCALED * (span.high - span.low) + span.low


def _steps(passage: Passage, count: int) -> tuple[str | None, Array | None]:
    """The column that counts steps, and the steps taken before each experience, with the total at the end."""
    rows = passage.rows
    column = next((name for name in STEP_COLUMNS if name in rows.columns and rows.schema[name].is_numeric()), None)
    if column is None or not rows.height:
        return None, None
    taken = np.concatenate([[0.0], rows[column].cast(pl.Float64).fill_null(0).fill_nan(0).cum_sum().to_numpy()])
    if rows.height == count:
        return column, taken
    numbers = rows["exp_num"].to_numpy()
    first = np.ones(rows.height, dtype=bool)
    first[1:] = numbers[1:] != numbers[:-1]
    first[passage.row_starts[:-1]] = True
    return column, np.append(taken[np.flatnonzero(first)], taken[-1])


def _levels(values: Array, starts: npt.NDArray[np.int64]) -> tuple[list[float], list[float]]:
    """The mean and the standard deviation of every block; 0 where there is nothing to take it of."""
    lengths = np.diff(starts)
    filled = lengths > 0
    means, squares = np.zeros(len(lengths)), np.zeros(len(lengths))
    if filled.any():
        places = starts[:-1][filled]
        means[filled] = np.add.reduceat(values, places) / lengths[filled]
        squares[filled] = np.add.reduceat((values - np.repeat(means, lengths)) ** 2, places)
    return means.tolist(), np.sqrt(squares / np.maximum(lengths - 1, 1)).tolist()


def _beside(curves: Curves, stretches: Sequence[Stretch], columns: int) -> tuple[Beside, ...]:
    """Each task that has experts, its learning blocks stitched, beside them."""
    found: list[Beside] = []
    for task, experts in curves.experts.items():
        own = [one for one in stretches if one.smoothed and one.block.task == task and one.block.subtype == "wake"]
        logged = [one for one in experts if len(one.curve)]
        if not own or not logged:
            continue
        ends = np.cumsum([one.length for one in own])

        def line(curve: Curve, task: str = task) -> Line:
            return _line(curves.sign(task) * _unscaled(curves, task, curve.values), max(60, columns // 8))

        found.append(
            Beside(
                task=task,
                learner=Line(
                    np.concatenate(
                        [one.smoothed.x + end - one.length for one, end in zip(own, ends, strict=True) if one.smoothed]
                    ),
                    np.concatenate([one.smoothed.y for one in own if one.smoothed]),
                ),
                boundaries=tuple(ends[:-1].tolist()),
                experts=tuple((one.id, line(one.curve)) for one in logged),
            )
        )
    return tuple(found)
