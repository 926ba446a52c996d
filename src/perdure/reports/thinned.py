"""Lifetimes thinned for drawing: curves, evaluations with intervals, and experts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import zip_longest

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import LOWEST, SCALED, Array, Range
from perdure.curves.experts import seconds_by_task, seconds_learning
from perdure.curves.model import Curve, Curves
from perdure.gather.model import ScoredLifetime
from perdure.lazy import pl
from perdure.log.accuracy_matrix import AccuracyMatrix, MatrixPassage
from perdure.log.model import Passage
from perdure.log.rules import MEMORY_COLUMNS
from perdure.metrics.matrix import matrix_of
from perdure.metrics.score import reversed_range
from perdure.scenario.model import Block
from perdure.stats.interval import t_interval
from perdure.stats.model import LEVEL

_COLUMNS = 1200
"""Pixel columns of a single lifetime."""
STEP_COLUMNS = ("steps", "step_count", "episode_steps", "episode_step_count")
"""Columns that may count the steps of an experience; the first that a log has counts."""
"""Columns that may hold the memory that an experience took, in MB."""


class ThinnedCurve(msgspec.Struct, frozen=True, eq=False):
    """Points of a curve: experience within the block, and value as measured."""

    x: npt.NDArray[np.int64]
    y: Array
    steps: Array | None = None
    """Steps taken before each point, if the log counts them."""


_NO_CURVE = ThinnedCurve(np.array([], dtype=np.int64), np.array([]))


class ThinnedBlock(msgspec.Struct, frozen=True, eq=False):
    """One block of a lifetime; values are as measured."""

    index: int
    block: Block
    first: int
    """Experiences before it."""
    length: int
    measured: ThinnedCurve
    smoothed: ThinnedCurve | None
    """Learning blocks only."""
    mean: float
    sd: float | None
    """Standard deviation over the block's experiences; None for a single one."""
    steps: tuple[float, float] | None = None
    """Steps taken before the block, and after it."""
    learned: tuple[float, float] | None = None
    """Tasks learned before the block, and after it, if only the accuracy matrix is known."""

    @property
    def low(self) -> float | None:
        """Lower end of the mean's 95 % t interval; None for a single experience."""
        return None if self.sd is None else self.mean - _half_width(self.length) * self.sd

    @property
    def high(self) -> float | None:
        """Upper end of that interval."""
        return None if self.sd is None else self.mean + _half_width(self.length) * self.sd


@lru_cache(maxsize=256)
def _half_width(count: int) -> float:
    """Return half the width of the 95 % t interval of a mean of `count` values, in standard deviations."""
    return float(t_interval(0.0, 1.0, count, LEVEL)[1])


class ExpertCurves(msgspec.Struct, frozen=True, eq=False):
    """The learning blocks of a task joined end to end, and the curves of its experts, as measured."""

    task: str
    learner: ThinnedCurve
    boundaries: tuple[int, ...]
    """Start of each learning block after the first."""
    experts: tuple[tuple[str, ThinnedCurve], ...]


class TaskCost(msgspec.Struct, frozen=True):
    """Time and memory that learning a task took, as far as they were logged."""

    seconds: float | None = None
    memory_mb: float | None = None
    """The maximum while it was learned."""


class ThinnedLifetime(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Everything that figures draw of one lifetime."""

    measure: str
    blocks: tuple[ThinnedBlock, ...] = ()
    lower: frozenset[str] = frozenset()
    """Tasks whose measure is better when lower."""
    ranges: Mapping[str, Range] = {}
    """Task → its range as measured."""
    experts: tuple[ExpertCurves, ...] = ()
    matrix: AccuracyMatrix | None = None
    steps: str | None = None
    """The column that counted steps."""
    seconds: tuple[float | None, int] = (None, 0)
    """Total time between learning experiences, and the number of intervals; None without timestamps."""
    costs: Mapping[str, TaskCost] = {}

    @cached_property
    def ranges_agree(self) -> bool:
        """Whether the tasks' ranges can share an axis."""
        widths = [span.high - span.low for span in self.ranges.values() if span.high > span.low]
        if not widths:
            return True
        total = max(span.high for span in self.ranges.values()) - min(span.low for span in self.ranges.values())
        return max(widths) <= 5 * min(widths) and total <= 4 * max(widths)

    def scale(self, task: str, values: Array) -> Array:
        """Return measured values on the scale that metrics use: 1 to 101, higher is better."""
        span = self.ranges.get(task)
        if span is None or span.high == span.low:
            return np.full_like(values, LOWEST)
        part = (values - span.low) / (span.high - span.low)
        return (1 - part if task in self.lower else part) * SCALED + LOWEST


def thinned_lifetime(life: ScoredLifetime) -> ThinnedLifetime:
    """Return the thinned lifetime; it has only its measure if only its scores are known."""
    if isinstance(life.seen, ThinnedLifetime):
        return life.seen
    return ThinnedLifetime(life.score.measure or "")


def thin_lifetime(curves: Curves, count: int = 1, columns: int | None = None) -> ThinnedLifetime:
    """Thin a lifetime to about `columns` pixel columns; the default is lower for one of many, to keep pages small."""
    columns = columns or max(150, min(_COLUMNS, 7500 // max(1, count)))
    starts = curves.starts
    step_column, steps = _steps(curves.passage, len(curves.measured))
    means, deviations = _levels(curves.measured, starts)
    shares = columns_for(np.diff(starts).tolist(), columns)
    is_matrix = isinstance(curves.passage, MatrixPassage)
    blocks: list[ThinnedBlock] = []
    for index, (block, share) in enumerate(zip(curves.scenario.blocks, shares, strict=True)):
        first, last = int(starts[index]), int(starts[index + 1])
        stage = (block.group or 0) / 2 if is_matrix else None  # the k-th task is learned between evaluations k−1 and k
        if first == last:
            if stage is not None and block.mode == "learn":
                learned = (stage - 0.5, stage + 0.5)
                blocks.append(ThinnedBlock(index, block, first, 0, _NO_CURVE, None, np.nan, None, learned=learned))
            continue
        sign = curves.sign(block.task)
        block_steps = None if steps is None else steps[first:last]
        smoothed = None
        if block.mode == "learn":
            values = sign * _unscale(curves, block.task, curves.values[first:last])
            smoothed = _thinned_curve(values, max(1, share // 2), block_steps)
        blocks.append(
            ThinnedBlock(
                index=index,
                block=block,
                first=first,
                length=last - first,
                measured=_thinned_curve(sign * curves.measured[first:last], share, block_steps),
                smoothed=smoothed,
                mean=sign * means[index],
                sd=deviations[index] if last - first > 1 else None,
                steps=None if steps is None else (float(steps[first]), float(steps[last])),
                learned=None if stage is None else (stage, stage),
            )
        )
    matrix = curves.passage.matrix if isinstance(curves.passage, MatrixPassage) else matrix_of(curves)
    return ThinnedLifetime(
        measure=curves.passage.measure,
        blocks=tuple(blocks),
        lower=frozenset(task for task, direction in curves.directions.items() if direction == "lower"),
        ranges={task: span if curves.sign(task) > 0 else reversed_range(span) for task, span in curves.ranges.items()},
        experts=_expert_curves(curves, blocks, columns),
        matrix=matrix if len(matrix.tasks) else None,
        steps=step_column,
        seconds=seconds_learning(curves.passage) if curves.passage.rows.height else (None, 0),
        costs=_costs(curves.passage),
    )


def thinned_indices(values: Array, columns: int) -> npt.NDArray[np.int64]:
    """Return the indices to draw, in order: at most two per column, and both ends. No extreme is lost.

    A line through these points covers the same pixels as one through all of them if the picture has at most `columns`
    pixel columns.
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
    """Return each block's share of `columns`: by its length, and at least one."""
    total = sum(lengths)
    return [max(1, round(columns * length / total)) for length in lengths] if total else [1] * len(lengths)


def _thinned_curve(values: Array, columns: int, steps: Array | None = None) -> ThinnedCurve:
    chosen = thinned_indices(values, columns)
    return ThinnedCurve(chosen, values[chosen], None if steps is None else steps[chosen])


def _unscale(curves: Curves, task: str, values: Array) -> Array:
    """Return prepared values in the unit of the measure, higher is better."""
    if curves.prep.scale == "none":
        return values
    span = curves.ranges[task]
    return (values - LOWEST) / SCALED * (span.high - span.low) + span.low


def _steps(passage: Passage, count: int) -> tuple[str | None, Array | None]:
    """Return the column that counts steps, and the steps taken before each experience with the total at the end."""
    rows = passage.rows
    column = next((name for name in STEP_COLUMNS if name in rows.columns and rows.schema[name].is_numeric()), None)
    if column is None or not rows.height:
        return None, None
    steps = np.concatenate([[0.0], rows[column].cast(pl.Float64).fill_null(0).fill_nan(0).cum_sum().to_numpy()])
    if rows.height == count:
        return column, steps
    numbers = rows["exp_num"].to_numpy()
    first = np.ones(rows.height, dtype=bool)
    first[1:] = numbers[1:] != numbers[:-1]
    first[passage.row_starts[:-1]] = True
    return column, np.append(steps[np.flatnonzero(first)], steps[-1])


def _levels(values: Array, starts: npt.NDArray[np.int64]) -> tuple[list[float], list[float]]:
    """Return the mean and the standard deviation of every block; 0 for a block without values."""
    lengths = np.diff(starts)
    filled = lengths > 0
    means, squares = np.zeros(len(lengths)), np.zeros(len(lengths))
    if filled.any():
        places = starts[:-1][filled]
        means[filled] = np.add.reduceat(values, places) / lengths[filled]
        squares[filled] = np.add.reduceat((values - np.repeat(means, lengths)) ** 2, places)
    return means.tolist(), np.sqrt(squares / np.maximum(lengths - 1, 1)).tolist()


def _expert_curves(curves: Curves, blocks: Sequence[ThinnedBlock], columns: int) -> tuple[ExpertCurves, ...]:
    by_task: list[ExpertCurves] = []
    for task, experts in curves.experts.items():
        task_blocks = [
            (block, block.smoothed)
            for block in blocks
            if block.smoothed and block.block.task == task and block.block.subtype == "wake"
        ]
        logged = [expert for expert in experts if len(expert.curve)]
        if not task_blocks or not logged:
            continue
        ends = np.cumsum([block.length for block, _ in task_blocks])

        def curve_of(curve: Curve, task: str = task) -> ThinnedCurve:
            return _thinned_curve(curves.sign(task) * _unscale(curves, task, curve.values), max(60, columns // 8))

        x = [curve.x + end - block.length for (block, curve), end in zip(task_blocks, ends, strict=True)]
        by_task.append(
            ExpertCurves(
                task=task,
                learner=ThinnedCurve(np.concatenate(x), np.concatenate([curve.y for _, curve in task_blocks])),
                boundaries=tuple(ends[:-1].tolist()),
                experts=tuple((expert.id, curve_of(expert.curve)) for expert in logged),
            )
        )
    return tuple(by_task)


def _costs(passage: Passage) -> dict[str, TaskCost]:
    """Return task → cost of learning: a matrix may state it, a log has timestamps and may have a column of memory."""
    if isinstance(passage, MatrixPassage):
        matrix = passage.matrix
        rows = zip_longest(matrix.tasks, matrix.seconds, matrix.memory_mb)
        return {task: TaskCost(seconds, memory) for task, seconds, memory in rows if (seconds, memory) != (None, None)}
    if not passage.rows.height:
        return {}
    seconds = {task: spent for task, (spent, _) in (seconds_by_task(passage) or {}).items() if spent}
    memory = _memory(passage)
    return {task: TaskCost(seconds.get(task), memory.get(task)) for task in {**seconds, **memory}}


def _memory(passage: Passage) -> dict[str, float]:
    """Return task → maximum memory while it was learned."""
    maxima: dict[str, float] = {}
    values = passage.column(*MEMORY_COLUMNS)
    if values is None:
        return maxima
    for index, block in enumerate(passage.scenario.blocks):
        used = values[int(passage.row_starts[index]) : int(passage.row_starts[index + 1])]
        if block.mode == "learn" and not np.isnan(used).all():
            maxima[block.task] = max(maxima.get(block.task, -np.inf), float(np.nanmax(used)))
    return maxima
