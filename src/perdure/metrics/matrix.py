"""The accuracy matrix of a lifetime: the evaluations that fill its cells, the sites of its metrics, their inputs.

Rows i and columns j count from 0 here, and a column means "after the task of that index was learned"; column -1 is
before any learning. Messages count tasks from 1, as the papers do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from perdure.curves.model import Curves
from perdure.errors import LogError
from perdure.log.accuracy_matrix import AccuracyMatrix, Array, Cell, MatrixPassage, negated, with_baselines
from perdure.log.model import Unit
from perdure.metrics.arithmetic import NoValue, task_weight
from perdure.metrics.declare import Metric
from perdure.metrics.measure import ADAPTERS, Context
from perdure.scenario.model import Scenario
from perdure.scenario.sites import LIFETIME, Key, Site, visible_evaluations

_LIMITS: Mapping[Unit, float] = {"fraction": 1.0, "percent": 100.0}
SINCE = -2
"""Column index that means every evaluation since the row's task was learned, also those between columns."""
RELEARNED = "relearned"
"""The flag of values from a lifetime in which a task is learned again after a later one was."""


class Evaluations(msgspec.Struct, frozen=True, eq=False):
    """The evaluation blocks behind an accuracy matrix."""

    tasks: tuple[str, ...]
    """The learned tasks, in the order of their first learning."""
    last: Mapping[Cell, int]
    """Cell → the last evaluation of the row's task before the next new task is learned."""
    others: Mapping[str, Mapping[int, int]]
    """Task that is never learned → column → its last evaluation there."""
    since: Mapping[int, tuple[int, ...]]
    """Row → every evaluation of its task after it was learned."""
    every: Mapping[int, tuple[int, ...]]
    """Row → every evaluation of its task."""
    relearned: bool
    """Whether a task is learned again after a later one was."""

    def blocks(self, cell: Cell) -> tuple[int, ...]:
        """Return the blocks that a cell is read from; none if it is missing."""
        row, column = cell
        if column == SINCE:
            return self.since.get(row, ())
        return (self.last[cell],) if cell in self.last else ()

    def name(self, cell: Cell) -> str:
        """Return the reason for a missing cell."""
        row, column = cell
        task = f"task {self.tasks[row]!r} is not evaluated"
        if column == SINCE:
            return f"{task} after it was learned"
        when = "before any learning" if column < 0 else f"after {self.tasks[column]!r} was learned"
        if 0 <= column < len(self.tasks) - 1:
            when += f" and before {self.tasks[column + 1]!r} was"
        return f"A[{row + 1}, {column + 1}] is missing: {task} {when}"


# Twenty metrics need the evaluations of the same scenario in turn, so the last result is cached.
_last_result: list[tuple[Scenario, Evaluations]] = []


def evaluations_of(scenario: Scenario) -> Evaluations:
    """Return which evaluation fills which cell.

    A column spans from the first learning of its task to the first learning of the next new one. A task counts as
    learned when its last learning block within its own column ends, so that evaluations between its learning blocks
    are not taken for memory.
    """
    for known, evaluations in tuple(_last_result):
        if known is scenario or (known.blocks is scenario.blocks and known.tasks is scenario.tasks):
            return evaluations
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
    others: dict[str, dict[int, int]] = {}
    for (task, column), index in last.items():
        if task not in rows:
            others.setdefault(task, {})[column] = index
    evaluations = Evaluations(
        tasks=tuple(rows),
        last={(rows[task], column): index for (task, column), index in last.items() if task in rows},
        others=others,
        since={rows[task]: tuple(blocks) for task, blocks in since.items()},
        every={rows[task]: tuple(blocks) for task, blocks in every.items() if task in rows},
        relearned=relearned,
    )
    _last_result[:] = [(scenario, evaluations)]
    return evaluations


def matrix_of(curves: Curves, unit: Unit | None = None) -> AccuracyMatrix:
    """Return the accuracy matrix of a lifetime: means of its evaluation blocks as measured, never scaled.

    If lower is better the values are negated, so that more is better in every formula. Values are accuracies if the
    measure has that name, or if bounds of 0..1 or 0..100 are known. Otherwise they are raw, unless `unit` is given.
    """
    found = evaluations_of(curves.scenario)
    count = len(found.tasks)
    read = (*found.every.values(), *(blocks.values() for blocks in found.others.values()))
    means = {block: curves.measured_mean(block) for blocks in read for block in blocks}
    return AccuracyMatrix(
        tasks=found.tasks,
        cells={(row, column + 1): means[block] for (row, column), block in found.last.items()},
        unit=unit or _unit_of(curves, found.tasks, [means[block] for block in found.last.values()]),
        lowest=_extremes(min, found.since, means, count),
        highest=_extremes(max, found.every, means, count),
        others={
            task: np.array([means[blocks[column]] if column in blocks else np.nan for column in range(-1, count)])
            for task, blocks in found.others.items()
        },
        negated=_lower(curves),
        flags=(RELEARNED,) if found.relearned else (),
    )


def _unit_of(curves: Curves, tasks: tuple[str, ...], values: Sequence[float]) -> Unit:
    """Return the unit of the evaluations of a log."""
    sign = -1.0 if _lower(curves) else 1.0
    ranges = [curves.ranges.get(task) for task in tasks]
    bounds = {tuple(sorted((sign * span.low, sign * span.high))) if span and span.given else None for span in ranges}
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
    """One place in an accuracy matrix, as formulas receive it: a task, or a task after another was learned."""

    matrix: AccuracyMatrix
    row: int
    column: int
    baselines: Mapping[str, Any]
    weights: Array
    """Of each task."""

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
        """The evaluations of all tasks learned so far, after the place's own task was learned, A[1..j, j]."""
        return self.after[: self.row + 1, self.row]

    @property
    def lowest(self) -> float:
        """The task's lowest evaluation since it was learned."""
        return self._known(self.matrix.lowest)

    @property
    def highest(self) -> float:
        """The task's highest evaluation of all."""
        return self._known(self.matrix.highest)

    @property
    def random_init(self) -> Array:
        """The accuracies of an untrained learner, one per task: as given, else those before any learning."""
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

    def _known(self, values: tuple[float | None, ...]) -> float:
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
"""Matrix of each lifetime. Two dozen metrics read it, some at every pair of tasks, so it is built only once."""


def _matrix(curves: Curves, context: Context) -> AccuracyMatrix:
    if curves not in _MATRICES:
        passage = curves.passage
        if not isinstance(passage, MatrixPassage):
            _MATRICES[curves] = matrix_of(curves, context.baselines.get("unit"))
        else:
            _MATRICES[curves] = negated(passage.matrix) if _lower(curves) else passage.matrix
    return _MATRICES[curves]


def _lower(curves: Curves) -> bool:
    """Return whether lower was better in every task before values were negated."""
    return set(curves.directions.values()) == {"lower"}


def reads_matrix(metric: Metric) -> bool:
    """Return whether a metric is read from accuracy matrices."""
    return not {AccuracyMatrix, Place, Change}.isdisjoint(metric.roles.values())


def _place(curves: Curves, site: Site, context: Context) -> Place:
    matrix = _matrix(curves, context)
    learned, evaluated = site.key if isinstance(site.key, tuple) else (site.key, site.key)
    if site.key == LIFETIME:
        learned = evaluated = matrix.tasks[-1]
    weights = np.array([task_weight(task, context.weights) for task in matrix.tasks])
    return Place(matrix, matrix.row[evaluated], matrix.row[learned], context.baselines, weights)


class Learning(msgspec.Struct, frozen=True, eq=False):
    """A task's learning values as measured, all its blocks in order."""

    task: str
    values: Array


class Change(msgspec.Struct, frozen=True):
    """Two evaluations of one task, as measured; negated if lower is better."""

    first: float
    last: float


def _change(curves: Curves, site: Site, context: Context) -> Change:
    first, last = (_evaluation(curves, site.blocks[role][0], context) for role in ("first", "last"))
    return Change(first, last)


def _evaluation(curves: Curves, index: int, context: Context) -> float:
    """Return an evaluation of a task that is never learned."""
    if not isinstance(curves.passage, MatrixPassage):
        return curves.measured_mean(index)
    block = curves.scenario.blocks[index]
    return float(_matrix(curves, context).others[block.task][(block.group or 0) // 2])


ADAPTERS[Learning] = lambda curves, site, _: Learning(
    site.task or LIFETIME, curves.measured_over(site.blocks["learned"])
)
ADAPTERS[Change] = _change
ADAPTERS[AccuracyMatrix] = lambda curves, _site, context: _matrix(curves, context)
ADAPTERS[Place] = _place


class AccuracySites:
    """Sites of an accuracy-matrix metric: its places, and the cells that its formula reads at each.

    A mean over some of the cells would be another metric. So there are sites only if every cell exists; otherwise
    `missing` names the first one that does not.
    """

    scaled = False
    """Formulas read evaluations as measured: a task whose values never change counts like any other."""
    of_times = False
    """Whether places are times, named by the task learned then: their formulas average over tasks."""

    def __init__(
        self,
        needs: str,
        places: Callable[[int], Iterable[Cell | int | None]],
        cells: Callable[[int, Any], Iterable[Cell]],
        least: int = 1,
        *,
        of_times: bool = False,
    ) -> None:
        """Declare the sites. `places` and `cells` take the number of tasks; `least` tasks must be learned."""
        self.of_times = of_times
        self.__doc__ = needs
        self._places = places
        self._cells = cells
        self._least = least

    def __call__(self, scenario: Scenario) -> Iterator[Site]:
        found = evaluations_of(scenario)
        if self._absent(found) is not None:
            return
        count = len(found.tasks)
        flags = (RELEARNED,) if found.relearned else ()
        for place in self._places(count):
            cells = self._cells(count, place)
            blocks = dict.fromkeys(block for cell in cells for block in found.blocks(cell))
            yield Site(_key(found.tasks, place), {"at": tuple(blocks)}, flags)

    def missing(self, scenario: Scenario) -> str | None:
        """Return the reason why there is no site, with the missing cell; None if there are sites."""
        return self._absent(evaluations_of(scenario))

    def _absent(self, found: Evaluations) -> str | None:
        count = len(found.tasks)
        if count < self._least:
            wanted = "two learned tasks" if self._least == 2 else "a learned task"
            return f"needs {wanted} (found {count})"
        for place in self._places(count):
            for cell in self._cells(count, place):
                if not found.blocks(cell):
                    return found.name(cell)
        return None


def _key(tasks: tuple[str, ...], place: Cell | int | None) -> Key:
    """Return the task of a row or column; for a cell, the pair of the learned and the evaluated task."""
    if place is None:
        return LIFETIME
    if isinstance(place, int):
        return tasks[place]
    row, column = place
    return tasks[column], tasks[row]


def _all_but_last(count: int) -> range:
    return range(count - 1)


def _all_but_first(count: int) -> range:
    return range(1, count)


def _whole(_count: int) -> Iterable[None]:
    return (None,)


def _pairs_since_learning(count: int) -> Iterable[Cell]:
    return ((row, column) for row in range(count) for column in range(row, count))


def _pairs_after_learning(count: int) -> Iterable[Cell]:
    return ((row, column) for row in range(count) for column in range(row + 1, count))


def _pairs_before_learning(count: int) -> Iterable[Cell]:
    return ((row, column) for row in range(count) for column in range(row))


def _learned(_count: int, row: int) -> Iterable[Cell]:
    return ((row, row),)


def _since_learning(count: int, row: int) -> Iterable[Cell]:
    return ((row, column) for column in range(row, count))


def _seen(_count: int, column: int) -> Iterable[Cell]:
    return ((row, column) for row in range(column + 1))


def _now(_count: int, pair: Cell) -> Iterable[Cell]:
    return (pair,)


def _now_and_previous(_count: int, pair: Cell) -> Iterable[Cell]:
    row, column = pair
    return (row, column - 1), pair


_HISTORY = "two learned tasks, all but the last evaluated after each task that is learned, their own on"
_ALL_SEEN = "every task learned so far evaluated after each task that is learned"

at_the_end = AccuracySites(
    "every learned task evaluated after the last is learned", range, lambda count, row: ((row, count - 1),)
)
once_learned = AccuracySites("every learned task evaluated once it is learned, before the next is", range, _learned)
old_tasks = AccuracySites(
    "two learned tasks, all but the last evaluated once learned and after the last is learned",
    _all_but_last,
    lambda count, row: ((row, row), (row, count - 1)),
    least=2,
)
new_tasks = AccuracySites(
    "two learned tasks, all but the first evaluated once learned, before the next is",
    _all_but_first,
    _learned,
    least=2,
)
histories = AccuracySites(_HISTORY, _all_but_last, _since_learning, least=2)
whole_lives = AccuracySites(_ALL_SEEN, range, _since_learning)
stages = AccuracySites(_ALL_SEEN, range, _seen, of_times=True)
later_stages = AccuracySites(
    f"two learned tasks, and {_ALL_SEEN}, the second on", _all_but_first, _seen, least=2, of_times=True
)
ahead_of_learning = AccuracySites(
    "two learned tasks, all but the first evaluated just before they are learned",
    _all_but_first,
    lambda _count, row: ((row, row - 1),),
    least=2,
)
first_task = AccuracySites(
    "two learned tasks, the first evaluated after each of the others is learned",
    _all_but_first,
    lambda _count, column: ((0, column),),
    least=2,
    of_times=True,
)
seen_pairs = AccuracySites(_ALL_SEEN, _pairs_since_learning, _now)
old_pairs = AccuracySites(_HISTORY, _pairs_after_learning, lambda _count, pair: ((pair[0], pair[0]), pair), least=2)
changes_of_old = AccuracySites(_HISTORY, _pairs_after_learning, _now_and_previous, least=2)
whole_history = AccuracySites(
    _HISTORY,
    _whole,
    lambda count, _: (cell for row in range(count - 1) for cell in _since_learning(count, row)),
    least=2,
)
unseen_pairs = AccuracySites(
    "two learned tasks, all but the first evaluated after each task that is learned before them",
    _pairs_before_learning,
    _now,
    least=2,
)
changes_of_unseen = AccuracySites(
    "two learned tasks, all but the first evaluated before any learning and after each task learned before them",
    _pairs_before_learning,
    _now_and_previous,
    least=2,
)
remembered = AccuracySites(
    "two learned tasks, all but the last evaluated after they are learned",
    _all_but_last,
    lambda _count, row: ((row, SINCE),),
    least=2,
)
remembered_and_last = AccuracySites(
    "two learned tasks, each evaluated after it is learned",
    _whole,
    lambda count, _: (*((row, SINCE) for row in range(count - 1)), (count - 1, count - 1)),
    least=2,
)
