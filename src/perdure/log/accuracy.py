"""The accuracy matrix: how well each task is done after each task was learned, and what cannot be one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from perdure.errors import LogError, UnknownName
from perdure.log.model import STANDARD_COLUMNS, Passage
from perdure.scenario.model import Block, Scenario

__all__ = [
    "AccuracyMatrix",
    "Array",
    "Baseline",
    "MatrixPassage",
    "Unit",
    "accuracy_matrix",
    "passage_of",
    "with_baselines",
]

Unit = Literal["percent", "fraction", "raw"]
Array = npt.NDArray[np.float64]
Baseline = float | Sequence[float] | Mapping[str, float]

_LIMITS: Mapping[Unit, float] = {"percent": 100.0, "fraction": 1.0, "raw": np.inf}


@dataclass(frozen=True, eq=False)
class AccuracyMatrix:
    """How well each learned task was done before any learning, and after each task was learned.

    `values[i, j]` is the evaluation of `tasks[i]` after the j-th task was learned, j counted from 1;
    column 0 is from before any learning. NaN marks what was not evaluated: read cells with the
    functions of `perdure.metrics.accuracy`, which name the one that is missing.
    """

    tasks: tuple[str, ...]
    values: Array
    unit: Unit = "raw"
    lowest: tuple[float | None, ...] = ()
    """Per task, its lowest evaluation after it was learned; from a log also those between the columns."""
    highest: tuple[float | None, ...] = ()
    """Per task, its highest evaluation of all."""
    random_init: tuple[float, ...] | None = None
    joint: tuple[float, ...] | None = None
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def after(self) -> Array:
        """The square part: row i, column j is task i after task j, both counted from 0."""
        return self.values[:, 1:]


@dataclass(frozen=True, eq=False)
class MatrixPassage(Passage):
    """The life that a matrix tells of, with the matrix itself, so that its unit and baselines go along."""

    matrix: AccuracyMatrix


def accuracy_matrix(
    cells: npt.ArrayLike,
    tasks: Sequence[str] | None = None,
    *,
    transposed: bool = False,
    unit: Unit | None = None,
    as_given: bool = False,
    source: str = "matrix",
) -> AccuracyMatrix:
    """An accuracy matrix from numbers, T × T or, with a first column before any learning, T × (T + 1).

    NaN stands for a cell that was not evaluated. What is probably not meant is refused with an
    explanation: a transposed matrix, a half filled with zeros, values outside their unit.
    """
    given = np.array(cells, dtype=np.float64)
    if given.ndim != 2:
        raise LogError(
            f"{source}: {given.ndim} dimensions; one matrix has 2 (several runs are several files, one lifetime each)"
        )
    values = _oriented(given, transposed, source)
    count = values.shape[0]
    known = ~np.isnan(values)
    if not known.any():
        raise LogError(f"{source}: no cell holds a value; expected the evaluations of {count} tasks")
    if np.isinf(values).any():
        row, column = np.argwhere(np.isinf(values))[0]
        raise LogError(f"{source}: {_cell(row, column)} is infinite; leave empty what was not evaluated")
    chosen = _unit(values, unit, source)
    if not as_given:
        _refuse_wrong_half(values[:, 1:], transposed, source)
    learned = np.triu(np.ones((count, count + 1), dtype=bool), k=1)
    return AccuracyMatrix(
        tasks=_names(tasks, count, source),
        values=values,
        unit=chosen,
        lowest=_per_row(np.min, values, known & learned),
        highest=_per_row(np.max, values, known),
        notes=_doubts(values[:, 1:], transposed),
    )


def with_baselines(
    matrix: AccuracyMatrix,
    *,
    random_init: Baseline | None = None,
    joint: Baseline | None = None,
    unit: Unit | None = None,
    source: str = "baseline",
) -> AccuracyMatrix:
    """The same matrix with the accuracies of an untrained and of a jointly trained learner.

    Each is one number for all tasks, one number per task in order, or a mapping from task names.
    `unit` says that the baselines' unit is known to be the matrix's.
    """
    if random_init is not None:
        untrained = _baseline(matrix, random_init, "random_init", unit, source)
        matrix = replace(matrix, random_init=untrained)
    if joint is not None:
        matrix = replace(matrix, joint=_baseline(matrix, joint, "joint", unit, source))
    return matrix


def passage_of(matrix: AccuracyMatrix, name: str) -> MatrixPassage:
    """The life that a matrix tells of: each task learned in turn, with one evaluation per known cell.

    What happened while learning is not known, so learning blocks have no values here; only metrics
    that read evaluations alone have sense.
    """
    blocks: list[Block] = []
    values: list[float] = []
    starts = [0]
    for column in range(matrix.values.shape[1]):
        if column:
            blocks.append(Block("learn", matrix.tasks[column - 1], None, group=2 * column - 1))
            starts.append(len(values))
        for row in np.flatnonzero(~np.isnan(matrix.values[:, column])):
            blocks.append(Block("evaluate", matrix.tasks[row], 1, group=2 * column))
            values.append(float(matrix.values[row, column]))
            starts.append(len(values))
    return MatrixPassage(
        scenario=Scenario.of(name, blocks),
        measure="accuracy",
        values=np.array(values),
        starts=np.array(starts, dtype=np.int64),
        rows=pl.DataFrame(schema=dict(STANDARD_COLUMNS)),
        row_starts=np.zeros(len(starts), dtype=np.int64),
        dropped={},
        matrix=matrix,
    )


def _oriented(given: Array, transposed: bool, source: str) -> Array:
    """Rows as tasks, with column 0 in place (empty where the file has none)."""
    values = given.T.copy() if transposed else given
    rows, columns = values.shape
    if rows and columns == rows:
        return np.hstack([np.full((rows, 1), np.nan), values])
    if rows and columns == rows + 1:
        return values
    shape = f"{given.shape[0]} rows × {given.shape[1]} columns"
    if rows == columns + 1 and not transposed:
        advice = "if its first row is from before any learning, it is transposed: say --transposed"
    elif rows == columns + 1:
        advice = "read as it stands it would have a column before any learning: drop --transposed"
    else:
        advice = "expected one row per evaluated task and one column per learned task, or one more in front"
    raise LogError(f"{source}: {shape} is not a square matrix; {advice}")


def _unit(values: Array, said: Unit | None, source: str) -> Unit:
    """The unit that was said, or the one that the values show; values outside it are refused."""
    if said is not None and said not in get_args(Unit):
        raise UnknownName("unit", said, get_args(Unit))
    largest = float(np.nanmax(values))
    if said is None and 1.0 < largest < 2.0:
        raise LogError(
            f"{source}: the largest value is {largest:g}: too much for fractions, little for percent; "
            "say which with --unit fraction, percent or raw"
        )
    unit: Unit = said or ("fraction" if largest <= 1.0 else "percent")
    limit = _LIMITS[unit]
    wrong = (values > limit) | ((values < 0.0) & (unit != "raw"))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise LogError(
            f"{source}: {_cell(row, column)} is {values[row, column]:g}, outside 0..{limit:g} ({unit}); "
            "correct it, or say --unit raw for a measure that is no accuracy"
        )
    return unit


def _refuse_wrong_half(after: Array, transposed: bool, source: str) -> None:
    """Raise where the half below the diagonal, or the one above it, shows a mistake in orientation or filling."""
    count = after.shape[0]
    if count < 2:
        return
    before_learning = after[np.tril_indices(count, k=-1)]
    since_learning = after[np.triu_indices(count, k=1)]
    other_way = "drop --transposed" if transposed else "say --transposed"
    expected = "A[i, j] is task i (row) after task j (column), defined where the column is not before the row"
    if np.isnan(since_learning).all() and not np.isnan(before_learning).all():
        raise LogError(
            f"{source}: the matrix is transposed: every cell above the diagonal is empty, and those below hold "
            f"values; {expected}; {other_way}"
        )
    if not since_learning.any() and np.nan_to_num(before_learning).any():
        raise LogError(
            f"{source}: the matrix looks transposed and filled with zeros: every cell above the diagonal is 0; "
            f"{expected}; {other_way} and leave undefined cells empty, or say --as-given if these zeros were measured"
        )
    if not before_learning.any():
        raise LogError(
            f"{source}: every cell below the diagonal is 0: a task's accuracy before it is learned is undefined "
            "unless measured, and zeros there would count as values; leave these cells empty, or say --as-given "
            "if they were measured"
        )


def _doubts(after: Array, transposed: bool) -> tuple[str, ...]:
    """A full matrix cannot show its orientation; say so where the other one would be likelier."""
    count = after.shape[0]
    if count < 2 or np.isnan(after).any():
        return ()
    before_learning = float(after[np.tril_indices(count, k=-1)].mean())
    since_learning = float(after[np.triu_indices(count, k=1)].mean())
    if before_learning <= since_learning:
        return ()
    other_way = "without --transposed" if transposed else "with --transposed"
    doubt = (
        f"tasks do better before they are learned ({before_learning:.4g}) than after others were learned "
        f"({since_learning:.4g}); if rows and columns are the other way round, read it {other_way}"
    )
    return (doubt,)


def _names(tasks: Sequence[str] | None, count: int, source: str) -> tuple[str, ...]:
    if tasks is None:
        return tuple(f"task{number}" for number in range(1, count + 1))
    names = tuple(name.lower() for name in tasks)
    if len(names) != count:
        raise LogError(f"{source}: {len(names)} task names for {count} tasks; give one per row, in order of learning")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise LogError(f"{source}: task {min(twice)!r} is named twice; names compare without case")
    return names


def _per_row(choose: Callable[[Array], Any], values: Array, mask: npt.NDArray[np.bool_]) -> tuple[float | None, ...]:
    return tuple(float(choose(row[there])) if there.any() else None for row, there in zip(values, mask, strict=True))


def _baseline(matrix: AccuracyMatrix, given: Baseline, name: str, unit: Unit | None, source: str) -> tuple[float, ...]:
    count = len(matrix.tasks)
    if isinstance(given, Mapping):
        folded = {task.lower(): value for task, value in given.items()}
        absent = [task for task in matrix.tasks if task not in folded]
        if absent:
            raise LogError(
                f"{source}: {name} has no value for task {absent[0]!r}; it names {', '.join(folded) or 'none'}"
            )
        values = [folded[task] for task in matrix.tasks]
    elif isinstance(given, int | float):
        values = [given] * count
    else:
        values = list(given)
    if len(values) != count:
        raise LogError(
            f"{source}: {name} has {len(values)} values for {count} tasks; give one for all, or one per task in order"
        )
    numbers = tuple(float(value) for value in values)
    limit = _LIMITS[matrix.unit]
    wrong = [one for one in numbers if not np.isfinite(one) or one > limit or (one < 0 and matrix.unit != "raw")]
    if wrong:
        raise LogError(f"{source}: {name} holds {wrong[0]:g}, outside 0..{limit:g}; the matrix is in {matrix.unit}")
    if matrix.unit == "percent" and unit is None and 0.0 < max(numbers) <= 1.0:
        raise LogError(
            f"{source}: {name} is at most {max(numbers):g} while the matrix is in percent; give it in percent, "
            "or say --unit percent if it is"
        )
    return numbers


def _cell(row: int, column: int) -> str:
    return f"A[{row + 1}, {column}]"
