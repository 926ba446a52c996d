"""The accuracy matrix, which holds an evaluation of each task after each task was learned, as a lifetime."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log.model import Lifetime, Passage, Unit
from perdure.log.rules import STANDARD_COLUMNS
from perdure.scenario.model import Block, Scenario, Variants

if TYPE_CHECKING:
    from perdure.log.variants import Settled


Array = npt.NDArray[np.float64]
Cell = tuple[int, int]
Baseline = float | Sequence[float] | Mapping[str, float]

LIMITS: Mapping[Unit, float] = {"percent": 100.0, "fraction": 1.0, "raw": np.inf}
"""Largest value of each unit. The smallest is 0; raw values have no limits."""


class ItemErrors(msgspec.Struct, frozen=True, eq=False):
    """The uncertainty of one task's evaluations that comes from their limited number of items.

    Attributes
    ----------
    covariance
        Covariance of the task's evaluations, by column. NaN on the diagonal if it is unknown; 0 off the diagonal if
        two evaluations have no scores of the same items.
    items
        The fewest items of one of the evaluations. Infinite if unknown.
    paired
        Whether all its evaluations have scores of the same items.
    """

    covariance: Array
    items: float = math.inf
    paired: bool = False

    @property
    def known(self) -> bool:
        """Whether any evaluation has a standard error."""
        return not bool(np.isnan(np.diag(self.covariance)).all())


def errors_of_means(errors: Array, counts: Array) -> ItemErrors:
    """Return the uncertainty of a task's evaluations with these standard errors over these numbers of items.

    NaN marks what is unknown.
    """
    known = counts[~np.isnan(errors) & ~np.isnan(counts)]
    return ItemErrors(np.diag(errors**2), float(known.min()) if len(known) else math.inf)


def errors_of_items(scores: Sequence[Mapping[Any, float]]) -> ItemErrors:
    """Return the uncertainty of a task's evaluations with these scores by item, one mapping for each column.

    Evaluations are paired by the items that they have in common. An empty mapping marks a missing evaluation.
    """
    items = list(dict.fromkeys(item for column in scores for item in column))
    values = np.array([[column.get(item, np.nan) for item in items] for column in scores])
    counts = np.array([max(len(column), 1) for column in scores], dtype=np.float64)
    means = np.array([sum(column.values()) / max(len(column), 1) for column in scores])
    away = np.where(np.isnan(values), 0.0, values - means[:, None])
    fewer = np.maximum(np.minimum.outer(counts, counts) - 1, 1)
    covariance = away @ away.T / np.maximum.outer(counts, counts) / fewer
    evaluated = [column for column in scores if column]
    empty = np.array([not column for column in scores])
    covariance[empty, :] = covariance[:, empty] = 0.0
    covariance[empty, empty] = np.nan
    return ItemErrors(
        covariance,
        float(min(map(len, evaluated), default=0)),
        len(evaluated) > 1 and len({frozenset(column) for column in evaluated}) == 1,
    )


def binomial_error(value: Array, counts: Array, largest: float) -> Array:
    """Return the largest standard error that a mean of `counts` values between 0 and `largest` can have."""
    shares = value / largest
    error: Array = largest * np.sqrt(shares * (1.0 - shares) / np.maximum(counts - 1.0, 1.0))
    return error


class AccuracyMatrix(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Evaluations of each learned task, before any learning and after each task was learned.

    `values[i, j]` is the evaluation of `tasks[i]` after the j-th task was learned, j counted from 1; column 0 is from
    before any learning. NaN marks missing evaluations. The functions of `perdure.metrics.matrix` name a missing cell.

    Attributes
    ----------
    tasks
        The learned tasks, in order.
    cells
        All values, or the known ones by row and column.
    unit
        Unit of the values.
    lowest
        Per task, its lowest evaluation after it was learned. A log adds those between the columns.
    highest
        Per task, its highest evaluation.
    random_init
        Per task, the accuracy of an untrained learner.
    joint
        Per task, the accuracy of a learner that was trained on all tasks together.
    seconds
        Per task, the time of learning it, if recorded.
    memory_mb
        Per task, the most memory used, in MB, if recorded.
    others
        Task that was never learned → its evaluations, by column.
    errors
        Task, learned or not → the uncertainty of its evaluations from their items, if known.
    negated
        Whether lower was better, so that values and baselines are negated.
    flags
        Remarks that every value of a metric gets.
    notes
        Remarks of the reader.
    """

    tasks: tuple[str, ...]
    cells: Array | Mapping[Cell, float]
    unit: Unit = "raw"
    lowest: tuple[float | None, ...] = ()
    highest: tuple[float | None, ...] = ()
    random_init: tuple[float, ...] | None = None
    joint: tuple[float, ...] | None = None
    seconds: tuple[float, ...] = ()
    memory_mb: tuple[float, ...] = ()
    others: Mapping[str, Array] = msgspec.field(default_factory=dict)
    errors: Mapping[str, ItemErrors] = msgspec.field(default_factory=dict)
    negated: bool = False
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @cached_property
    def values(self) -> Array:
        """Every cell, NaN if unknown."""
        if not isinstance(self.cells, Mapping):
            return self.cells
        values = np.full((len(self.tasks), len(self.tasks) + 1), np.nan)
        for cell, value in self.cells.items():
            values[cell] = value
        return values

    def value(self, row: int, column: int) -> float:
        """Return one of `values`, without making all of them."""
        cell = self.cells.get((row, column), np.nan) if isinstance(self.cells, Mapping) else self.cells[row, column]
        return float(cell)

    @cached_property
    def before(self) -> Array:
        """The column from before any learning."""
        return np.array([self.value(row, 0) for row in range(len(self.tasks))])

    @cached_property
    def unknown_before(self) -> Sequence[int]:
        """The rows of the tasks that were not evaluated before any learning."""
        return np.flatnonzero(np.isnan(self.before)).tolist()

    @property
    def after(self) -> Array:
        """The square part: row i, column j is task i after task j, both counted from 0."""
        return self.values[:, 1:]

    @cached_property
    def row(self) -> Mapping[str, int]:
        """Task → its position in `tasks`."""
        return {task: row for row, task in enumerate(self.tasks)}


class MatrixPassage(Passage, frozen=True, eq=False, kw_only=True):
    """The passage of a matrix, with the matrix for its unit and baselines."""

    matrix: AccuracyMatrix


def negated(matrix: AccuracyMatrix) -> AccuracyMatrix:
    """Return a matrix of errors with the sign changed, so that higher is better in every formula."""
    values = -matrix.values
    return replace(
        matrix,
        cells=values,
        **extremes(values),
        others={task: -value for task, value in matrix.others.items()},
        random_init=matrix.random_init and tuple(-value for value in matrix.random_init),
        joint=matrix.joint and tuple(-value for value in matrix.joint),
        negated=True,
    )


class MatrixLifetime(Lifetime, frozen=True, eq=False, kw_only=True):
    """A lifetime of which only the accuracy matrix is known.

    Attributes
    ----------
    matrix
        The accuracy matrix.
    chosen
        Task → the score that was read, if a log holds several of each task.
    """

    matrix: AccuracyMatrix
    chosen: Mapping[str, str] = msgspec.field(default_factory=dict)

    def measured(self, measure: str | Mapping[str, str] | None = None) -> str | dict[str, str]:
        """Return the name of the measure; the reader has chosen the score of each task."""
        return super().measured(None if self.chosen else measure)

    def passage(
        self,
        measure: str | Mapping[str, str] | None = None,
        variants: Variants | None = None,
        settled: Settled | None = None,  # noqa: ARG002
    ) -> MatrixPassage:
        """Return one evaluation per known cell; learning blocks have no values."""
        self.measured(measure)
        named = next(iter(self.measures))
        if variants == "agnostic":
            raise LogError("a matrix has one row per task", "it cannot be scored without its variants", where=self.id)
        return replace(passage_of(self.matrix, self.id), measure=named)


def with_baselines(
    matrix: AccuracyMatrix,
    *,
    random_init: Baseline | None = None,
    joint: Baseline | None = None,
    unit: Unit | None = None,
    source: str = "baseline",
) -> AccuracyMatrix:
    """Return the matrix with the accuracies of an untrained and of a jointly trained learner.

    Each is one number for all tasks, one number per task in order, or a mapping from task names.
    `unit` is given if the unit of the baselines is known to be that of the matrix.
    """
    if random_init is not None:
        untrained = _baseline(matrix, random_init, "random_init", unit, source)
        matrix = replace(matrix, random_init=untrained)
    if joint is not None:
        matrix = replace(matrix, joint=_baseline(matrix, joint, "joint", unit, source))
    return matrix


def passage_of(matrix: AccuracyMatrix, name: str) -> MatrixPassage:
    """Return the passage of a matrix: each task learned in turn, with one evaluation per known cell.

    Learning blocks have no values, so only metrics of evaluations can be computed.
    """
    blocks: list[Block] = []
    values: list[float] = []
    starts = [0]
    for column in range(matrix.values.shape[1]):
        if column:
            blocks.append(Block("learn", matrix.tasks[column - 1], None, group=2 * column - 1))
            starts.append(len(values))
        for task, value in _evaluated(matrix, column):
            blocks.append(Block("evaluate", task, 1, group=2 * column))
            values.append(value)
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


def _evaluated(matrix: AccuracyMatrix, column: int) -> Iterator[tuple[str, float]]:
    rows = zip((*matrix.tasks, *matrix.others), (*matrix.values, *matrix.others.values()), strict=True)
    yield from ((task, float(values[column])) for task, values in rows if not np.isnan(values[column]))


class Extremes(TypedDict):
    lowest: tuple[float | None, ...]
    highest: tuple[float | None, ...]


def extremes(values: Array) -> Extremes:
    """Return for each task its lowest known cell since it was learned, and its highest of all."""
    learned = np.where(np.triu(np.ones(values.shape, dtype=bool), k=1), values, np.nan)
    return {"lowest": _each_row(np.nanmin, learned), "highest": _each_row(np.nanmax, values)}


def _each_row(choose: Callable[[Array], float], values: Array) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(row).all() else float(choose(row)) for row in values)


def _baseline(
    matrix: AccuracyMatrix, baseline: Baseline, name: str, unit: Unit | None, source: str
) -> tuple[float, ...]:
    count = len(matrix.tasks)
    if isinstance(baseline, Mapping):
        folded = {task.lower(): value for task, value in baseline.items()}
        absent = [task for task in matrix.tasks if task not in folded]
        if absent:
            raise LogError(
                f"{name} has no value for task {absent[0]!r}", f"it names {', '.join(folded) or 'none'}", file=source
            )
        values = [folded[task] for task in matrix.tasks]
    elif isinstance(baseline, int | float):
        values = [baseline] * count
    else:
        values = list(baseline)
    if len(values) != count:
        raise LogError(
            f"{name} has {len(values)} values for {count} tasks",
            "give one for all, or one per task in order",
            file=source,
        )
    numbers = tuple(float(value) for value in values)
    limit = LIMITS[matrix.unit]
    wrong = [
        number
        for number in numbers
        if not np.isfinite(number) or number > limit or (number < 0 and matrix.unit != "raw")
    ]
    if wrong:
        raise LogError(
            f"{name} holds {wrong[0]:g}, outside 0..{limit:g}", f"the matrix is in {matrix.unit}", file=source
        )
    if matrix.unit == "percent" and unit is None and 0.0 < max(numbers) <= 1.0:
        raise LogError(
            f"{name} is at most {max(numbers):g} while the matrix is in percent",
            "give it in percent, or say --unit percent if it is",
            file=source,
        )
    return tuple(-number for number in numbers) if matrix.negated else numbers
