"""Accuracy matrices settled: which way round they are, in which unit, and what of them was evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from perdure.errors import LogError, UnknownName
from perdure.frozen import frozen, replace
from perdure.log.accuracy_matrix import LIMITS, AccuracyMatrix, Array, Baseline, Unit, extremes, with_baselines
from perdure.log.formats.matrix_labels import unlabelled
from perdure.log.formats.matrix_orientation import ROWS, Orientation, Rows, orientations, undecided
from perdure.scenario.model import LONGEST_NAME
from perdure.words import some

__all__ = ["Cells", "RawMatrix", "accuracy_matrices", "accuracy_matrix", "as_numbers", "matrix_of_cells"]

Cells = npt.ArrayLike | Sequence[Sequence[float | None]]
"""Lists or an array of numbers, None or NaN where nothing was evaluated."""


_MOST_TASKS = 1000


@frozen(eq=False)
class RawMatrix:
    """A matrix as a file holds it, NaN where a cell is empty: which way round it is, is not known yet."""

    cells: Array
    source: str
    """What messages call it by."""
    row_names: tuple[str, ...] | None = None
    column_names: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None
    """Stated apart from rows and columns."""
    unit: Unit | None = None
    random_init: Baseline | None = None
    joint: Baseline | None = None
    as_given: bool | None = None
    """Whether it says itself that its zeros were measured."""
    seconds: tuple[float, ...] | None = None
    memory_mb: tuple[float, ...] | None = None
    learner: str | None = None
    seed: int | None = None
    inside: str = ""
    """What it is called in a file of several."""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, cells: Array, source: str, **facts: Any) -> RawMatrix:
        """A matrix of numbers alone, less a first row or column that only counts."""
        if cells.ndim != 2:
            raise LogError(
                f"{cells.ndim} dimensions", "a matrix has 2, rows and columns, and several of them have 3", file=source
            )
        found = unlabelled(cells)
        return cls(found.cells, source, notes=found.notes, **facts)


def accuracy_matrix(
    cells: Cells,
    tasks: Sequence[str] | None = None,
    *,
    rows: Rows | None = None,
    unit: Unit | None = None,
    as_given: bool = False,
    source: str = "matrix",
) -> AccuracyMatrix:
    """An accuracy matrix from numbers, T × T or with one more row or column for before any learning.

    NaN stands for a cell that was not evaluated. Which way round it is, is taken from its shape and
    its empty or zero cells, else from `rows`; how it was read is said in its notes.
    """
    raw = RawMatrix.of(as_numbers(cells, source), source, tasks=None if tasks is None else tuple(tasks))
    return accuracy_matrices((raw,), rows=rows, unit=unit, as_given=as_given)[0]


def matrix_of_cells(
    values: Array,
    tasks: Sequence[str],
    unit: Unit | None = None,
    source: str = "matrix",
    others: Mapping[str, Array] = MappingProxyType({}),
) -> AccuracyMatrix:
    """A matrix whose every cell is known for what it is: one row per task, column 0 from before any learning.

    `others` are the evaluations of tasks that were never learned, column by column alike.
    """
    every = np.vstack([values, *others.values()])
    known: Unit = unit or ("percent" if (every > 1.0).any() else "fraction")
    general = f", and {_counted(len(others))} never learned ({', '.join(others)})" if others else ""
    note = f"an accuracy matrix in {known}: {_counted(len(values))}{general}"
    names = _names((*tasks, *others), len(every), source)
    made = _checked(values, names[: len(values)], known, (note,), source)
    if others:
        _checked(every[len(values) :], names[len(values) :], known, (), source)
    return replace(made, others={name.lower(): one for name, one in others.items()})


def accuracy_matrices(
    raws: Sequence[RawMatrix], *, rows: Rows | None = None, unit: Unit | None = None, as_given: bool = False
) -> tuple[AccuracyMatrix, ...]:
    """Matrices that belong together, all one way round and in one unit, as the definitions read them."""
    for kind, word, known in (("unit", unit, get_args(Unit)), ("rows", rows, get_args(Rows))):
        if word is not None and word not in known:
            raise UnknownName(kind, word, known)
    for one in raws:
        if max(one.cells.shape, default=0) > _MOST_TASKS + 1:
            raise LogError(
                f"a table of {one.cells.shape}", f"an accuracy matrix has {_MOST_TASKS} tasks at most", file=one.source
            )
    directions = orientations([(one.source, one.cells) for one in raws], rows)
    exceeding = any(bool((one.cells > 1.0).any()) for one in raws)
    seen: Unit = "percent" if exceeding else "fraction"
    return tuple(
        _settled(one, direction, unit or one.unit, seen, as_given or bool(one.as_given))
        for one, direction in zip(raws, directions, strict=True)
    )


def as_numbers(cells: Cells, source: str = "matrix") -> Array:
    """Lists or arrays as numbers, NaN for None; LogError where they are not numbers, or not equally long."""
    try:
        given = np.asarray(cells)
        if given.dtype.kind not in "fiuO":
            raise LogError(f"holds {given.dtype}, not numbers", "write NaN where a task was not evaluated", file=source)
        return given.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise LogError(
            f"not a table of numbers ({problem})", "every row is as long as the first, None for none", file=source
        ) from problem


def _settled(raw: RawMatrix, way: Orientation, said: Unit | None, seen: Unit, as_given: bool) -> AccuracyMatrix:
    """One matrix with its evaluated tasks as rows, and what is known of how it was read."""
    if way.rows is None and not way.either:
        raise undecided(raw.cells, raw.source)
    rows: Rows = way.rows or "evaluated"
    turned = raw.cells if rows == "evaluated" else raw.cells.T
    count, square = len(turned), turned.shape[0] == turned.shape[1]
    values = np.hstack([np.full((count, 1), np.nan), turned]) if square else turned.copy()
    unit = said or seen
    unlearned = np.tril(np.ones((count, count + 1), dtype=bool), k=0)
    unlearned[:, 0] = False
    unmeasured = bool((count > 2 or way.either) and unlearned.any() and (values[unlearned] == 0.0).all())
    if unmeasured and not as_given:
        values[unlearned] = np.nan
    evaluated, learned = (raw.row_names, raw.column_names)[:: 1 if rows == "evaluated" else -1]
    names = _names(raw.tasks or evaluated or (learned and learned[-count:]), count, raw.source)
    _refuse_two_orders(evaluated, learned and learned[-count:], raw.source)
    notes = (*_how(count, unit, rows, way, unmeasured, as_given), *raw.notes, *_doubts(values[:, 1:], way))
    made = replace(_checked(values, names, unit, notes, raw.source), **_costs(raw, count))
    return with_baselines(made, random_init=raw.random_init, joint=raw.joint, unit=said, source=raw.source)


def _costs(raw: RawMatrix, count: int) -> dict[str, Any]:
    """What learning each task took, in order; a run that is not over has fewer than there are tasks."""
    costs = {"seconds": raw.seconds or (), "memory_mb": raw.memory_mb or ()}
    for name, values in costs.items():
        if len(values) > count or not all(0 <= one < np.inf for one in values):
            raise LogError(
                f"{name} holds {list(values)}",
                f"expected a number, 0 or more, for each of {count} tasks",
                file=raw.source,
            )
    return costs


def _checked(values: Array, tasks: tuple[str, ...], unit: Unit, notes: tuple[str, ...], source: str) -> AccuracyMatrix:
    if np.isnan(values).all():
        raise LogError("no cell holds a value", f"expected the evaluations of {len(values)} tasks", file=source)
    if np.isinf(values).any():
        raise LogError(f"{_cell(np.isinf(values))} is infinite", "leave empty what was not evaluated", file=source)
    _refuse_outside(values, unit, source)
    return AccuracyMatrix(tasks=tasks, cells=values, unit=unit, **extremes(values), notes=notes)


def _refuse_outside(values: Array, unit: Unit, source: str) -> None:
    limit = LIMITS[unit]
    wrong = (values > limit) | ((values < 0.0) & (unit != "raw"))
    if wrong.any():
        raise LogError(
            f"{_cell(wrong)} is {values[wrong][0]:g}, outside 0..{limit:g} ({unit})",
            "correct it, or say --unit raw for a measure that is no accuracy",
            file=source,
        )


def _how(count: int, unit: Unit, rows: Rows, way: Orientation, unmeasured: bool, as_given: bool) -> Iterator[str]:
    """How a matrix was read, in words."""
    told = f" ({way.because})" if way.because else ""
    read = "" if count == 1 else f", {'the same either way round' if way.either else ROWS[rows]}{told}"
    yield f"an accuracy matrix in {unit}: {_counted(count)}{read}"
    if unmeasured and as_given:
        yield "zeros before a task is learned count as measured"
    elif unmeasured:
        after = ", those after it as measured" if way.either else ""
        yield f"zeros before a task is learned count as not evaluated{after}; say --as-given if they were measured"


def _counted(count: int) -> str:
    return f"{count} task{'s' if count > 1 else ''}"


def _doubts(after: Array, way: Orientation) -> Iterator[str]:
    """A full matrix cannot show which way round it is; say so where the other one would be likelier."""
    if len(after) < 2 or np.isnan(after).any():
        return
    before_learning = float(after[np.tril_indices_from(after, k=-1)].mean())
    since_learning = float(after[np.triu_indices_from(after, k=1)].mean())
    if before_learning > since_learning:
        other = "evaluated" if way.rows == "learned" else "learned"
        yield (
            f"tasks do better before they are learned ({before_learning:.4g}) than after others were learned "
            f"({since_learning:.4g}); if the matrix is the other way round, say --rows {other}"
        )


def _names(tasks: Sequence[str] | None, count: int, source: str) -> tuple[str, ...]:
    if tasks is None:
        return tuple(f"task{number}" for number in range(1, count + 1))
    names = tuple(name.lower() for name in tasks)
    if len(names) != count:
        raise LogError(
            f"{len(names)} task names for {count} tasks", "give one per row, in order of learning", file=source
        )
    if not all(names):
        raise LogError(f"task {names.index('') + 1} has no name", "name every task, or none", file=source)
    longest = max(names, key=len, default="")
    if len(longest) > LONGEST_NAME:
        fix = f"expected a name of at most {LONGEST_NAME} characters"
        raise LogError(f"task {names.index(longest) + 1} has a name of {len(longest)} characters", fix, file=source)
    twice = {name for name, times in Counter(names).items() if times > 1}
    if twice:
        raise LogError(f"task {min(twice)!r} is named twice", "names compare without case", file=source)
    return names


def _refuse_two_orders(evaluated: Sequence[str] | None, learned: Sequence[str] | None, source: str) -> None:
    """Raise where rows and columns name the same tasks in two orders: the diagonal would then mean nothing."""
    if not evaluated or not learned:
        return
    first, second = ([name.lower() for name in names] for names in (evaluated, learned))
    if first != second and sorted(first) == sorted(second):
        raise LogError(
            f"rows name the tasks as {some(evaluated)}, columns as {some(learned)}",
            "write both in the order of learning",
            file=source,
        )


def _cell(marked: npt.NDArray[np.bool_]) -> str:
    """The first marked cell, as the papers count."""
    row, column = np.argwhere(marked)[0]
    return f"A[{row + 1}, {column}]"
