"""Accuracy matrices as lifetimes: their orientation and unit are settled here, however they were given."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast, get_args

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perdure.errors import LogError, UnknownNameError
from perdure.lazy import pl
from perdure.log.accuracy_matrix import (
    LIMITS,
    AccuracyMatrix,
    Array,
    MatrixLifetime,
    MatrixPassage,
    extremes,
    passage_of,
    with_baselines,
)
from perdure.log.formats.matrix_files import RawMatrix, fits, looks_like_matrix, raw_matrices
from perdure.log.model import Unit
from perdure.log.places import as_text
from perdure.log.read import Options, SeveralLifetimes
from perdure.log.rules import STANDARD_COLUMNS
from perdure.scenario.model import LONGEST_NAME
from perdure.text import join_names

Cells = npt.ArrayLike | Sequence[Sequence[float | None]]
"""Lists or an array of numbers, None or NaN where nothing was evaluated."""

_MOST_TASKS = 1000
Rows = Literal["evaluated", "learned"]
ROWS: dict[Rows, str] = {
    "evaluated": "rows are the evaluated tasks",
    "learned": "rows are the tasks learned so far",
}
_WHERE: dict[Rows, str] = {"evaluated": "below", "learned": "above"}
_DEFAULTS = Options()


class _MatrixReader(SeveralLifetimes[MatrixLifetime]):
    name = "matrix"
    summary = "an accuracy matrix, or several, in a CSV, TSV, JSON, NPZ or NPY file, with or without names about it"

    def recognises(self, path: Path) -> bool:
        """Return whether the suffix, and for text the numbers, are those of a matrix."""
        return looks_like_matrix(path)

    def claims(self, path: Path, options: Options) -> bool:  # noqa: ARG002
        """Return False: numbers may be anything. Matrices are looked for if a folder holds no other log."""
        return False

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[MatrixLifetime]:  # noqa: ARG002
        """Yield every matrix of the file, in one orientation and unit."""
        yield from _lifetimes(raw_matrices(path, options.max_unpacked), options, as_text(path.stem), path)


MATRIX = _MatrixReader()


def matrix_lifetime(
    cells: Cells, tasks: Sequence[str] | None = None, options: Options = _DEFAULTS, name: str = "matrix"
) -> MatrixLifetime:
    """Make a lifetime of an accuracy matrix in memory, so that it can be scored.

    Parameters
    ----------
    cells
        Rows of numbers, or an array. None or NaN marks a cell that was not evaluated.
    tasks
        Names of the tasks. By default they are numbered.
    options
        Options of the readers, such as the meaning of the rows.
    name
        Id of the lifetime.

    Returns
    -------
    MatrixLifetime
        The lifetime, with the matrix in `matrix`.

    Raises
    ------
    LogError
        If the cells are not a table of numbers, or their orientation is unknown.

    Examples
    --------
    >>> lifetime = perdure.matrix_lifetime([[0.1, 0.9, 0.7], [0.1, 0.2, 0.8]], tasks=["mnist", "svhn"])
    >>> round(perdure.score(lifetime).value("bwt"), 3)
    -0.2
    """
    raw = RawMatrix.of(as_numbers(cells, name), name, tasks=tasks and tuple(tasks))
    return next(_lifetimes((raw,), options, name))


def matrix_lifetimes(
    stack: Cells | Sequence[Cells],
    tasks: Sequence[str] | None = None,
    options: Options = _DEFAULTS,
    name: str = "matrix",
) -> tuple[MatrixLifetime, ...]:
    """Return one lifetime per matrix of a stack: an array (seeds, T, T), a list of matrices, or one matrix."""
    if _depth(stack) <= 2:
        return (matrix_lifetime(cast("Cells", stack), tasks, options, name),)
    raws = tuple(
        RawMatrix.of(
            as_numbers(cells, f"{name}#{index}"), f"{name}#{index}", tasks=tasks and tuple(tasks), inside=str(index)
        )
        for index, cells in enumerate(cast("Sequence[Cells]", stack))
    )
    if not raws:
        raise LogError("no matrix in it", "give one for each lifetime", file=name)
    return tuple(_lifetimes(raws, options, name))


def read_matrix(
    path: str | os.PathLike[str], *, rows: Rows | None = None, unit: Unit | None = None, as_given: bool = False
) -> AccuracyMatrix:
    """Read the only accuracy matrix in a file.

    The cells decide the orientation if they can. A column before learning that is at least half zeros counts as not
    evaluated.

    Parameters
    ----------
    path
        A CSV, TSV, JSON, NPZ or NPY file.
    rows
        What a row contains, if the cells do not decide it: the evaluations of one task (``"evaluated"``), or of all
        tasks after one was learned (``"learned"``).
    unit
        Unit of the values. By default percent if one of them exceeds 1.
    as_given
        Whether zeros were measured.

    Returns
    -------
    AccuracyMatrix
        The matrix, with one row per task.

    Raises
    ------
    LogError
        If the file cannot be read, holds several matrices, or its orientation is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> np.savetxt("matrix.csv", [[0.1, 0.9, 0.7], [0.1, 0.2, 0.8]], delimiter=",")
    >>> perdure.read_matrix("matrix.csv").value(0, 2)  # the first task after the second was learned
    0.7
    """
    return MATRIX.read(Path(path), Options(rows=rows, unit=unit, as_given=as_given)).matrix


def ways_round(paths: Sequence[Path], options: Options = _DEFAULTS) -> dict[Path, Orientation]:
    """Return the orientation of the matrices of each file, if several files belong together, as in a folder.

    Files that decide must agree, and the others follow them; raise LogError with two that do not. Read a file whose
    own cells do not decide with this orientation in `Options.rows`.
    """
    tables = [(path, raw) for path in paths for raw in raw_matrices(path, options.max_unpacked)]
    directions = orientations([(raw.source, raw.cells) for _, raw in tables], options.rows)
    return {path: way for (path, _), way in zip(tables, directions, strict=True)}


def _lifetimes(
    raws: Sequence[RawMatrix], options: Options, name: str, path: Path | None = None
) -> Iterator[MatrixLifetime]:
    matrices = accuracy_matrices(raws, rows=options.rows, unit=options.unit, as_given=options.as_given)
    for raw, matrix in zip(raws, matrices, strict=True):
        called = f"{name}#{raw.inside}" if raw.inside else name
        yield replace(lifetime_of(matrix, called, path), learner=raw.learner, seed=raw.seed, inside=raw.inside)


def lifetime_of(
    matrix: AccuracyMatrix, name: str, path: Path | None = None, measure: str = "accuracy"
) -> MatrixLifetime:
    """Return a matrix as a lifetime: its tasks are learned in turn, and its known cells are evaluations."""
    return MatrixLifetime(
        id=name,
        experiences=_evaluations(passage_of(matrix, name), measure),
        measures={measure: "higher"},
        path=path,
        notes=matrix.notes,
        matrix=matrix,
    )


def _depth(nested: Any) -> int:
    """Return the number of indices that it takes to reach a number."""
    if isinstance(nested, np.ndarray):
        return nested.ndim
    return 1 + _depth(next(iter(nested), 0)) if isinstance(nested, Sequence) and not isinstance(nested, str) else 0


def _evaluations(passage: MatrixPassage, measure: str) -> pl.DataFrame:
    """Return one row per known cell; the learning between them was not recorded."""
    blocks = [block for block in passage.scenario.blocks if block.mode == "evaluate"]
    count = len(blocks)
    columns = {
        "block_num": [block.group for block in blocks],
        "exp_num": range(count),
        "worker_id": ["0"] * count,
        "block_type": ["test"] * count,
        "block_subtype": ["wake"] * count,
        "task_name": [block.task for block in blocks],
        "task_params": ["{}"] * count,
        "exp_status": ["complete"] * count,
        "timestamp": [None] * count,
        measure: passage.values,
    }
    return pl.DataFrame(columns, schema={**STANDARD_COLUMNS, measure: pl.Float64()})


# --- orientation ---------------------------------------------------------------------------------


class Orientation(msgspec.Struct, frozen=True):
    """The meaning of the rows of a matrix, None if its cells do not decide, and the reason."""

    rows: Rows | None
    because: str = ""
    either: bool = False
    """Whether both orientations give the same, because only the diagonal has values."""


def orientation(cells: Array, stated: Rows | None = None, source: str = "matrix") -> Orientation:
    """Return the orientation of a table, by its shape, then its empty cells (NaN), then `stated`, then its zeros.

    Raise LogError if no matrix has this shape, or if two of these contradict each other. Zeros come last because
    they may have been measured.
    """
    prefix = f"{source}: {cells.shape[0]} rows × {cells.shape[1]} columns"
    if not fits(*cells.shape):
        raise LogError(
            f"{prefix} is not an accuracy matrix",
            "expected as many rows as columns, one task each, or one more row or column in front for before any "
            "learning",
        )
    shape, square = _by_shape(cells)
    empty = _by_half(np.isnan(square))
    if shape and empty and empty != shape:
        raise LogError(
            f"one more than a square, so {ROWS[shape]}, but every cell {_WHERE[empty]} the diagonal is empty, "
            f"so {ROWS[empty]}",
            "leave out what is from before any learning, or correct the matrix",
            file=prefix,
        )
    certain = shape or empty
    if certain:
        other = "column" if certain == "evaluated" else "row"
        why = f"a {other} from before any learning stands in front" if shape else _half_is(certain, "empty")
        if stated and stated != certain:
            raise LogError(f"{why}, so {ROWS[certain]}", f"say --rows {certain}, or leave it out", file=source)
        return Orientation(certain, why)
    if _is_diagonal(square):
        return Orientation(stated, "values on the diagonal alone" if len(square) > 1 else "", either=True)
    if stated:
        return Orientation(stated, "as told")
    zeros = None if np.isnan(cells).any() or len(square) < 3 else _by_half(square == 0, other_without=True)
    return Orientation(zeros, _half_is(zeros, "0") if zeros else "")


def orientations(tables: Sequence[tuple[str, Array]], stated: Rows | None = None) -> tuple[Orientation, ...]:
    """Return the orientation of each of several matrices that belong together, such as a stack or a folder.

    Those that decide must agree (LogError names two that do not), and the others follow them. Each table comes with
    its name in messages. If none decides, `rows` stays None.
    """
    each = [orientation(cells, stated, source) for source, cells in tables]
    deciding = {
        direction.rows: source
        for direction, (source, _) in zip(each, tables, strict=True)
        if direction.rows and not direction.either
    }
    if len(deciding) > 1:
        first, second = (f"in {deciding[rows]} {ROWS[rows]}" for rows in ROWS)
        raise LogError(
            f"{first}, {second}", "matrices that are read together are one way round: correct one, or read them apart"
        )
    rows, leader = next(iter(deciding.items()), (None, ""))
    return tuple(
        replace(
            direction, rows=direction.rows or rows, because=direction.because or (f"as in {leader}" if rows else "")
        )
        for direction in each
    )


def _undecided(cells: Array, source: str) -> LogError:
    """Return the error for a matrix whose cells do not decide its orientation."""
    filled = "gaps in both halves" if np.isnan(cells).any() else "every cell is filled"
    return LogError(
        f"{len(cells)} × {len(cells)} and {filled}, so the cells do not tell what its rows are",
        "say --rows evaluated if row i holds task i, evaluated after each task was learned, or --rows "
        "learned if row j holds all tasks, evaluated after the j-th was learned (GEM, Avalanche, Mammoth)",
        file=source,
    )


def _by_shape(cells: Array) -> tuple[Rows | None, Array]:
    """Return the orientation that the shape implies, and the square part without evaluations before learning."""
    height, width = cells.shape
    if width > height:
        return "evaluated", cells[:, 1:]
    if height > width:
        return "learned", cells[1:]
    return None, cells


def _by_half(marked: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], *, other_without: bool = False) -> Rows | None:
    """Return the orientation if exactly one half is marked throughout: that is the half before learning.

    With `other_without`, no cell of the other half may be marked.
    """
    below, above = marked[np.tril_indices_from(marked, k=-1)], marked[np.triu_indices_from(marked, k=1)]
    if not below.size or below.all() == above.all():
        return None
    if other_without and (above if below.all() else below).any():
        return None
    return "evaluated" if below.all() else "learned"


def _is_diagonal(square: Array) -> bool:
    """Return whether only the diagonal has values: all other cells are empty, or no cell is and they are 0."""
    off_diagonal = square[~np.eye(len(square), dtype=bool)]
    return bool(np.isnan(off_diagonal).all() or not (np.isnan(square).any() or off_diagonal.any()))


def _half_is(rows: Rows, what: str) -> str:
    return f"every cell {_WHERE[rows]} the diagonal is {what}"


# --- unit, names and checks ----------------------------------------------------------------------


def matrix_of_cells(
    values: Array,
    tasks: Sequence[str],
    unit: Unit | None = None,
    source: str = "matrix",
    others: Mapping[str, Array] = MappingProxyType({}),
) -> AccuracyMatrix:
    """Return a matrix of known orientation: one row per task, column 0 from before any learning.

    `others` are the evaluations of tasks that were never learned, with the same columns.
    """
    every = np.vstack([values, *others.values()])
    known: Unit = unit or ("percent" if (every > 1.0).any() else "fraction")
    general = f", and {_task_count(len(others))} never learned ({', '.join(others)})" if others else ""
    note = f"an accuracy matrix in {known}: {_task_count(len(values))}{general}"
    names = _names((*tasks, *others), len(every), source)
    matrix = _check(values, names[: len(values)], known, (note,), source)
    if others:
        _check(every[len(values) :], names[len(values) :], known, (), source)
    return replace(matrix, others={name.lower(): value for name, value in others.items()})


def accuracy_matrices(
    raws: Sequence[RawMatrix], *, rows: Rows | None = None, unit: Unit | None = None, as_given: bool = False
) -> tuple[AccuracyMatrix, ...]:
    """Return matrices that belong together, in one orientation and one unit, with their tasks in rows."""
    for kind, word, known in (("unit", unit, get_args(Unit)), ("rows", rows, get_args(Rows))):
        if word is not None and word not in known:
            raise UnknownNameError(kind, word, known)
    for raw in raws:
        if max(raw.cells.shape, default=0) > _MOST_TASKS + 1:
            raise LogError(
                f"a table of {raw.cells.shape}", f"an accuracy matrix has {_MOST_TASKS} tasks at most", file=raw.source
            )
    directions = orientations([(raw.source, raw.cells) for raw in raws], rows)
    exceeding = any(bool((raw.cells > 1.0).any()) for raw in raws)
    scale: Unit = "percent" if exceeding else "fraction"
    return tuple(
        _resolve(raw, direction, unit or raw.unit, scale, as_given or bool(raw.as_given))
        for raw, direction in zip(raws, directions, strict=True)
    )


def as_numbers(cells: Cells, source: str = "matrix") -> Array:
    """Return lists or arrays as numbers, NaN for None; raise LogError if they are not a table of numbers."""
    try:
        array = np.asarray(cells)
        if array.dtype.kind not in "fiuO":
            raise LogError(f"holds {array.dtype}, not numbers", "write NaN where a task was not evaluated", file=source)
        return array.astype(np.float64)
    except (TypeError, ValueError) as problem:
        raise LogError(
            f"not a table of numbers ({problem})", "every row is as long as the first, None for none", file=source
        ) from problem


def _resolve(raw: RawMatrix, way: Orientation, stated: Unit | None, scale: Unit, as_given: bool) -> AccuracyMatrix:
    """Return one matrix with its evaluated tasks as rows, and notes on how it was read."""
    if way.rows is None and not way.either:
        raise _undecided(raw.cells, raw.source)
    rows: Rows = way.rows or "evaluated"
    turned = raw.cells if rows == "evaluated" else raw.cells.T
    count, square = len(turned), turned.shape[0] == turned.shape[1]
    values = np.hstack([np.full((count, 1), np.nan), turned]) if square else turned.copy()
    unit = stated or scale
    unlearned = np.tril(np.ones((count, count + 1), dtype=bool), k=0)
    unlearned[:, 0] = False
    unmeasured = bool((count > 2 or way.either) and unlearned.any() and (values[unlearned] == 0.0).all())
    if unmeasured and not as_given:
        values[unlearned] = np.nan
    evaluated, learned = (raw.row_names, raw.column_names)[:: 1 if rows == "evaluated" else -1]
    names = _names(raw.tasks or evaluated or (learned and learned[-count:]), count, raw.source)
    _refuse_two_orders(evaluated, learned and learned[-count:], raw.source)
    notes = (*_how(count, unit, rows, way, unmeasured, as_given), *raw.notes, *_doubts(values[:, 1:], way))
    matrix = replace(_check(values, names, unit, notes, raw.source), **_costs(raw, count))
    return with_baselines(matrix, random_init=raw.random_init, joint=raw.joint, unit=stated, source=raw.source)


def _costs(raw: RawMatrix, count: int) -> dict[str, Any]:
    """Return the costs of learning each task, in order; a run that is not over has fewer than tasks."""
    costs = {"seconds": raw.seconds or (), "memory_mb": raw.memory_mb or ()}
    for name, values in costs.items():
        if len(values) > count or not all(0 <= value < np.inf for value in values):
            raise LogError(
                f"{name} holds {list(values)}",
                f"expected a number, 0 or more, for each of {count} tasks",
                file=raw.source,
            )
    return costs


def _check(values: Array, tasks: tuple[str, ...], unit: Unit, notes: tuple[str, ...], source: str) -> AccuracyMatrix:
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
    """Yield notes on how a matrix was read."""
    reason = f" ({way.because})" if way.because else ""
    read = "" if count == 1 else f", {'the same either way round' if way.either else ROWS[rows]}{reason}"
    yield f"an accuracy matrix in {unit}: {_task_count(count)}{read}"
    if unmeasured and as_given:
        yield "zeros before a task is learned count as measured"
    elif unmeasured:
        after = ", those after it as measured" if way.either else ""
        yield f"zeros before a task is learned count as not evaluated{after}; say --as-given if they were measured"


def _task_count(count: int) -> str:
    return f"{count} task{'s' if count > 1 else ''}"


def _doubts(after: Array, way: Orientation) -> Iterator[str]:
    """Yield a note if a full matrix, which cannot show its orientation, looks likelier in the other one."""
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
    """Raise LogError if rows and columns name the same tasks in two orders: the diagonal would be meaningless."""
    if not evaluated or not learned:
        return
    first, second = ([name.lower() for name in names] for names in (evaluated, learned))
    if first != second and sorted(first) == sorted(second):
        raise LogError(
            f"rows name the tasks as {join_names(evaluated)}, columns as {join_names(learned)}",
            "write both in the order of learning",
            file=source,
        )


def _cell(marked: npt.NDArray[np.bool_]) -> str:
    """Return the first marked cell, counted as in the papers."""
    row, column = np.argwhere(marked)[0]
    return f"A[{row + 1}, {column}]"
