"""The accuracy matrix of a lifetime: which evaluation fills which cell, and what a formula sees of it.

Rows i and columns j count from 0 here, and a column is "after the task of that index was learned";
column -1 is from before any learning. Messages count tasks from 1, as the papers do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from perdure.curves.model import Curves
from perdure.errors import LogError
from perdure.log.accuracy_matrix import AccuracyMatrix, Array, Cell, MatrixPassage, Unit, negated, with_baselines
from perdure.metrics.engine.metric import ADAPTERS, Context, Metric, NoValue
from perdure.scenario.model import Scenario
from perdure.scenario.sites import LIFETIME, Site, visible_evaluations

__all__ = [
    "RELEARNED",
    "SINCE",
    "Cell",
    "Change",
    "Evaluations",
    "Learning",
    "Place",
    "evaluations_of",
    "matrix_of",
    "reads_matrix",
]

_LIMITS: Mapping[Unit, float] = {"fraction": 1.0, "percent": 100.0}
SINCE = -2
"""In place of a column: every evaluation since the row's task was learned, also those between the columns."""
RELEARNED = "relearned"
"""The flag of values from a lifetime in which a task is learned again after a later one was."""


class Evaluations(msgspec.Struct, frozen=True, eq=False):
    """The evaluation blocks behind an accuracy matrix."""

    tasks: tuple[str, ...]
    """The learned tasks, in the order of their first learning."""
    last: Mapping[Cell, int]
    """Cell → the last evaluation of the row's task before the next new task is learned."""
    since: Mapping[int, tuple[int, ...]]
    """Row → every evaluation of its task after it was learned."""
    every: Mapping[int, tuple[int, ...]]
    """Row → every evaluation of its task."""
    relearned: bool
    """Whether a task is learned again after a later one was."""

    def blocks(self, cell: Cell) -> tuple[int, ...]:
        """The blocks that a cell is read from; none where it is missing."""
        row, column = cell
        if column == SINCE:
            return self.since.get(row, ())
        return (self.last[cell],) if cell in self.last else ()

    def name(self, cell: Cell) -> str:
        """How a missing cell is called in a reason."""
        row, column = cell
        task = f"task {self.tasks[row]!r} is not evaluated"
        if column == SINCE:
            return f"{task} after it was learned"
        when = "before any learning" if column < 0 else f"after {self.tasks[column]!r} was learned"
        if 0 <= column < len(self.tasks) - 1:
            when += f" and before {self.tasks[column + 1]!r} was"
        return f"A[{row + 1}, {column + 1}] is missing: {task} {when}"


# Twenty sites ask for the evaluations of one scenario in turn, so the last answer is kept.
_last_asked: list[tuple[Scenario, Evaluations]] = []


def evaluations_of(scenario: Scenario) -> Evaluations:
    """Return which evaluation fills which cell.

    A column spans from the first learning of its task to the first learning of the next new one. A task counts as
    learned when its last learning block within its own column ends, so that evaluations between its learning blocks
    are not taken for memory.
    """
    for asked, answer in tuple(_last_asked):
        if asked is scenario or (asked.blocks is scenario.blocks and asked.tasks is scenario.tasks):
            return answer
    rows: dict[str, int] = {}
    relearned = False
    last: dict[tuple[str, int], int] = {}
    since: dict[str, list[int]] = {}
    every: dict[str, list[int]] = {}
    visible = set(visible_evaluations(scenario))
    for index, block in enumerate(scenario.blocks):
        task, column = block.task, len(rows) - 1
        if block.mode == "learn":
            row = rows.setdefault(task, column + 1)
            relearned = relearned or row < column
            if row >= column:
                since[task] = []
        elif index in visible:
            last[task, column] = index
            every.setdefault(task, []).append(index)
            if task in rows:
                since[task].append(index)
    answer = Evaluations(
        tasks=tuple(rows),
        last={(rows[task], column): block for (task, column), block in last.items() if task in rows},
        since={rows[task]: tuple(blocks) for task, blocks in since.items()},
        every={rows[task]: tuple(blocks) for task, blocks in every.items() if task in rows},
        relearned=relearned,
    )
    _last_asked[:] = [(scenario, answer)]
    return answer


def matrix_of(curves: Curves, unit: Unit | None = None) -> AccuracyMatrix:
    """The accuracy matrix of a lifetime: means of its evaluation blocks as measured, never scaled.

    Where lower is better the values are negated, so that more is better in every formula. Values are
    accuracies where the measure is called so, or bounds of 0..1 or 0..100 are known; else they are raw,
    unless `unit` says what they are.
    """
    found = evaluations_of(curves.scenario)
    count = len(found.tasks)
    read = sorted({block for blocks in found.every.values() for block in blocks})
    means = {block: curves.measured_mean(block) for block in read}
    return AccuracyMatrix(
        tasks=found.tasks,
        cells={(row, column + 1): means[block] for (row, column), block in found.last.items()},
        unit=unit or _unit_of(curves, found.tasks, [means[block] for block in found.last.values()]),
        lowest=_extremes(min, found.since, means, count),
        highest=_extremes(max, found.every, means, count),
        negated=_lower(curves),
        flags=(RELEARNED,) if found.relearned else (),
    )


def _unit_of(curves: Curves, tasks: tuple[str, ...], values: Sequence[float]) -> Unit:
    """What the evaluations of a log are measured in."""
    sign = -1.0 if _lower(curves) else 1.0
    ranges = [curves.ranges.get(task) for task in tasks]
    bounds = {tuple(sorted((sign * one.low, sign * one.high))) if one and one.given else None for one in ranges}
    measured = sign * np.array(values)
    named = curves.passage.measure.lower() == "accuracy" and not (measured < 0.0).any()
    for unit, limit in _LIMITS.items():
        if bounds == {(0.0, limit)} or (named and not (measured > limit).any()):
            return unit
    return "raw"


def _extremes(
    choose: Callable[[list[float]], float],
    blocks: Mapping[int, tuple[int, ...]],
    means: Mapping[int, float],
    count: int,
) -> tuple[float | None, ...]:
    return tuple(choose([means[block] for block in blocks[row]]) if blocks.get(row) else None for row in range(count))


class Place(msgspec.Struct, frozen=True, eq=False):
    """One place in an accuracy matrix, as a formula sees it: a task, or a task after another was learned."""

    matrix: AccuracyMatrix
    row: int
    column: int
    baselines: Mapping[str, Any]

    @property
    def after(self) -> Array:
        """The whole matrix, without the column from before any learning."""
        return self.matrix.after

    @property
    def learned(self) -> float:
        """The task's evaluation after it was learned, A[i, i]."""
        return self.matrix.value(self.row, self.row + 1)

    @property
    def final(self) -> float:
        """The task's evaluation at the end, A[i, T]."""
        return self.matrix.value(self.row, len(self.matrix.tasks))

    @property
    def since(self) -> Array:
        """The task's evaluations from its own learning to the end, A[i, i..T]."""
        return self.after[self.row, self.row :]

    @property
    def now(self) -> float:
        """The task's evaluation after the column's task was learned, A[i, j]."""
        return self.matrix.value(self.row, self.column + 1)

    @property
    def previous(self) -> float:
        """The task's evaluation before the column's task was learned, A[i, j − 1]."""
        return self.matrix.value(self.row, self.column)

    @property
    def seen(self) -> Array:
        """The evaluations of all tasks learned so far, once the place's own was learned, A[1..j, j]."""
        return self.after[: self.row + 1, self.row]

    @property
    def lowest(self) -> float:
        """The task's lowest evaluation since it was learned."""
        return self._there(self.matrix.lowest)

    @property
    def highest(self) -> float:
        """The task's highest evaluation of all."""
        return self._there(self.matrix.highest)

    @property
    def random_init(self) -> Array:
        """The accuracies of an untrained learner, one per task: as given, else from before any learning."""
        given = self._baseline("random_init", "--random-init")
        if given is not None:
            return given
        unknown = self.matrix.unknown_before
        if len(unknown) == len(self.matrix.tasks):
            raise NoValue("needs the accuracy of an untrained learner on each task: give --random-init")
        row = next(filter(None, unknown), None)  # the first task has nothing to be transferred from
        if row is not None:
            task = self.matrix.tasks[row]
            raise NoValue(f"A[{row + 1}, 0] is missing: task {task!r} is not evaluated before any learning")
        return self.matrix.before

    @property
    def joint(self) -> Array:
        """The accuracies of a learner trained on all tasks together, one per task."""
        given = self._baseline("joint", "--joint")
        if given is None:
            raise NoValue("needs the accuracy of a jointly trained learner on each task: give --joint")
        return given

    def _there(self, values: tuple[float | None, ...]) -> float:
        value = values[self.row]
        if value is None:
            raise NoValue(f"task {self.matrix.tasks[self.row]!r} is not evaluated")
        return value

    def _baseline(self, name: Literal["random_init", "joint"], option: str) -> Array | None:
        given = self.baselines.get(name)
        matrix = self.matrix
        try:
            if given is not None:
                matrix = with_baselines(matrix, **{name: given}, unit=self.baselines.get("unit"), source=option)
        except LogError as problem:
            raise NoValue(str(problem)) from problem
        values = getattr(matrix, name)
        return None if values is None else np.array(values, dtype=np.float64)


_MATRICES: WeakKeyDictionary[Curves, AccuracyMatrix] = WeakKeyDictionary()
"""Two dozen metrics read one matrix, some at every pair of tasks; it is built once per lifetime."""


def _matrix(curves: Curves, context: Context) -> AccuracyMatrix:
    if curves not in _MATRICES:
        passage = curves.passage
        if not isinstance(passage, MatrixPassage):
            _MATRICES[curves] = matrix_of(curves, context.baselines.get("unit"))
        else:
            _MATRICES[curves] = negated(passage.matrix) if _lower(curves) else passage.matrix
    return _MATRICES[curves]


def _lower(curves: Curves) -> bool:
    """Whether lower was better in every task before values were turned."""
    return set(curves.directions.values()) == {"lower"}


def reads_matrix(metric: Metric) -> bool:
    """Whether a metric is one of accuracy matrices."""
    return not {AccuracyMatrix, Place, Change}.isdisjoint(metric.roles.values())


def _place(curves: Curves, site: Site, context: Context) -> Place:
    matrix = _matrix(curves, context)
    learned, evaluated = site.key if isinstance(site.key, tuple) else (site.key, site.key)
    if site.key == LIFETIME:
        learned = evaluated = matrix.tasks[-1]
    return Place(matrix, matrix.row[evaluated], matrix.row[learned], context.baselines)


class Learning(msgspec.Struct, frozen=True, eq=False):
    """A task's learning values as measured, all its blocks in order."""

    task: str
    values: Array


def _learning(curves: Curves, site: Site, _context: Context) -> Learning:
    return Learning(site.task or LIFETIME, curves.measured_over(site.blocks["learned"]))


class Change(msgspec.Struct, frozen=True):
    """Two evaluations of one task, as measured; turned about where lower is better."""

    first: float
    last: float


def _change(curves: Curves, site: Site, _context: Context) -> Change:
    first, last = (curves.measured_mean(site.blocks[role][0]) for role in ("first", "last"))
    return Change(first, last)


ADAPTERS[Learning] = _learning
ADAPTERS[Change] = _change
ADAPTERS[AccuracyMatrix] = lambda curves, _site, context: _matrix(curves, context)
ADAPTERS[Place] = _place
