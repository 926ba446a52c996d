"""Accuracy matrices in files: CSV, TSV, JSON, NPZ, NPY."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from perdure import files
from perdure.errors import LogError, NotALog, UnknownName
from perdure.log.accuracy import (
    AccuracyMatrix,
    Array,
    Baseline,
    MatrixPassage,
    Unit,
    accuracy_matrix,
    passage_of,
    with_baselines,
)
from perdure.log.cells import is_number
from perdure.log.model import STANDARD_COLUMNS, Lifetime
from perdure.log.read import Options

__all__ = ["MATRIX", "SUFFIXES", "MatrixLifetime", "MatrixReader", "looks_like_matrix", "read_baseline", "read_matrix"]

_KEYS = ("matrix", "tasks", "unit", "random_init", "joint")
_GLANCE_BYTES = 1 << 16
_EMPTY_ADVICE = "leave the cell empty where a task was not evaluated"


@dataclass(frozen=True)
class _Table:
    """What a file holds, before it is judged: numbers, NaN where a cell is empty, and what else was said."""

    cells: Array
    tasks: tuple[str, ...] | None = None
    unit: Unit | None = None
    random_init: Baseline | None = None
    joint: Baseline | None = None


def read_matrix(
    path: str | os.PathLike[str], *, transposed: bool = False, unit: Unit | None = None, as_given: bool = False
) -> AccuracyMatrix:
    """The accuracy matrix in a CSV, TSV, JSON, NPZ or NPY file; LogError says why one cannot be trusted.

    Rows are evaluated tasks and columns the tasks learned so far, unless `transposed`. Values are
    percent unless all are at most 1, or `unit` says otherwise. A half of zeros is refused unless
    `as_given` says that it was measured. Nothing is ever unpickled.
    """
    place = Path(path)
    load = _LOADERS.get(place.suffix.lower())
    if load is None:
        raise NotALog(f"{place}: no accuracy matrix by its name; expected one of {', '.join(SUFFIXES)}")
    try:
        table = load(place)
    except OSError as problem:
        raise LogError(f"{place}: cannot be read: {problem.strerror or problem}") from problem
    said, source = unit or table.unit, str(place)
    made = accuracy_matrix(table.cells, table.tasks, transposed=transposed, unit=said, as_given=as_given, source=source)
    return with_baselines(made, random_init=table.random_init, joint=table.joint, unit=said, source=source)


def looks_like_matrix(path: Path) -> bool:
    """Whether a file is an accuracy matrix, at a glance: numbers only, or the keys that a matrix has."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES or not path.is_file():
        return False
    if suffix in {".npz", ".npy"}:
        return True
    with files.opened(path) as file:
        head = file.read(_GLANCE_BYTES).decode("utf-8-sig", errors="replace").lstrip()
    if suffix == ".json":
        return head.startswith("[") or (head.startswith("{") and '"matrix"' in head)
    first = head.splitlines()[0] if head else ""
    cells = [cell.strip() for cell in first.split(_delimiter(first))]
    # Infinite and empty cells are a matrix too, if a bad one: its reader says which cell.
    alone = len(cells) == 1 and head.strip() == first.strip()  # one task: a number and nothing else
    return (len(cells) > 1 or alone) and any(cells) and all(not cell or is_number(cell) for cell in cells)


@dataclass(frozen=True, eq=False)
class MatrixLifetime(Lifetime):
    """A lifetime of which only the accuracy matrix is known."""

    matrix: AccuracyMatrix = field(kw_only=True)

    def passage(self, measure: str | None = None, variants: Literal["aware", "agnostic"] = "aware") -> MatrixPassage:
        """One evaluation per known cell; what happened while learning is not known."""
        self.measure(measure)
        if variants == "agnostic":
            raise LogError(f"{self.id}: a matrix has one row per task; it cannot be scored without its variants")
        return passage_of(self.matrix, self.id)


@dataclass(frozen=True)
class MatrixReader:
    """Accuracy matrices as lifetimes."""

    name: str = "matrix"
    summary: str = "a CSV, TSV, JSON, NPZ or NPY file of an accuracy matrix, numbers only"

    def recognises(self, path: Path) -> bool:
        """By its suffix and, for text, by a first line of numbers only."""
        return looks_like_matrix(path)

    def read(self, path: Path, options: Options) -> MatrixLifetime:
        """The lifetime that the matrix tells of: its tasks learned in turn, its known cells evaluated."""
        matrix = read_matrix(path, transposed=options.rows == "learned", unit=options.unit, as_given=options.as_given)
        return MatrixLifetime(
            id=path.stem,
            experiences=_evaluations(passage_of(matrix, path.stem)),
            measures={"accuracy": "higher"},
            path=path,
            notes=matrix.notes,
            matrix=matrix,
        )


def _evaluations(passage: MatrixPassage) -> pl.DataFrame:
    """One row per known cell; nothing is recorded of the learning between them."""
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
        "accuracy": passage.values,
    }
    return pl.DataFrame(columns, schema={**STANDARD_COLUMNS, "accuracy": pl.Float64()})


def read_baseline(text: str, source: str = "baseline") -> Baseline:
    """A baseline as a user gives it: `10`, `10,12,9`, or a file with a number, one per task, or names and numbers."""
    numbers = [_number(part.strip()) for part in text.split(",")]
    if None not in numbers:
        given = tuple(number for number in numbers if number is not None)
        return given[0] if len(given) == 1 else given
    place = Path(text)
    if not place.is_file():
        raise LogError(f"{source}: {text!r} is neither a number, nor numbers with commas between, nor a file")
    if place.suffix.lower() == ".json":
        try:
            return msgspec.json.decode(
                files.read_bytes(place, files.HEADER_LIMIT), type=float | tuple[float, ...] | dict[str, float]
            )
        except msgspec.DecodeError as problem:
            raise LogError(
                f"{place}: no baseline: {problem}; expected a number, a list, or task names and numbers"
            ) from problem
    load = _LOADERS.get(place.suffix.lower())
    if load is None:
        raise LogError(f"{place}: no baseline by its name; expected one of {', '.join(SUFFIXES)}")
    cells = load(place).cells
    if np.isnan(cells).any() or min(cells.shape, default=0) > 1:
        raise LogError(f"{place}: a baseline has one number per task, without gaps; found a table of {cells.shape}")
    return tuple(float(cell) for cell in cells.ravel())


def _from_text(path: Path) -> _Table:
    """Numbers between commas or tabs, nothing where a task was not evaluated."""
    try:
        lines = files.read_bytes(path, files.SCORES_LIMIT).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as problem:
        raise LogError(f"{path}: byte {problem.start} is not UTF-8; save the file as plain text") from problem
    while lines and not lines[-1].strip():
        lines.pop()
    if not lines:
        raise LogError(f"{path}: the file is empty; expected one row of numbers per evaluated task")
    delimiter = _delimiter("\n".join(lines))
    rows = [_row(path, number, line.split(delimiter)) for number, line in enumerate(lines, start=1)]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise LogError(
                f"{path}: line {number} has {len(row)} cells, line 1 has {len(rows[0])}; "
                "keep the delimiters of empty cells"
            )
    return _Table(np.array(rows, dtype=np.float64))


def _row(path: Path, line: int, cells: Sequence[str]) -> list[float]:
    values = [np.nan if not cell.strip() else _number(cell.strip()) for cell in cells]
    for place, value in enumerate(values, start=1):
        if value is None:
            raise LogError(
                f"{path}: line {line}, cell {place}: {cells[place - 1].strip()!r} is no finite number; a matrix file "
                f"holds numbers only (task names go into JSON), and {_EMPTY_ADVICE}"
            )
    return [value for value in values if value is not None]


def _from_json(path: Path) -> _Table:
    """A list of rows with null where a task was not evaluated, or an object that holds it as `matrix`."""
    try:
        found = msgspec.json.decode(files.read_bytes(path, files.SCORES_LIMIT))
    except (msgspec.DecodeError, RecursionError) as problem:
        raise LogError(f"{path}: not JSON: {problem}; undefined cells are null (NaN is no JSON)") from problem
    said: Mapping[str, Any] = found if isinstance(found, dict) else {"matrix": found}
    for key in said:
        if key not in _KEYS:
            raise UnknownName(f"key in {path}:", key, _KEYS)
    if "matrix" not in said:
        raise LogError(f'{path}: no "matrix" in it (found: {", ".join(said) or "nothing"}); it is a list of rows')
    return _Table(
        _json_cells(path, said["matrix"]),
        _converted(path, said, "tasks", tuple[str, ...]),
        _converted(path, said, "unit", Unit),
        _converted(path, said, "random_init", float | tuple[float, ...] | dict[str, float]),
        _converted(path, said, "joint", float | tuple[float, ...] | dict[str, float]),
    )


def _json_cells(path: Path, rows: Any) -> Array:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        raise LogError(f"{path}: the matrix is a list of rows, each a list of numbers or null; found {_kind(rows)}")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise LogError(f"{path}: row {number} has {len(row)} cells, row 1 has {len(rows[0])}; write null for none")
        for place, cell in enumerate(row, start=1):
            if cell is not None and (isinstance(cell, bool) or not isinstance(cell, int | float)):
                raise LogError(f"{path}: row {number}, cell {place}: {cell!r} is no number; write null for none")
    try:
        return np.array([[np.nan if cell is None else float(cell) for cell in row] for row in rows], dtype=np.float64)
    except OverflowError as problem:
        raise LogError(f"{path}: a number in the matrix is too large: {problem}") from problem


def _converted(path: Path, said: Mapping[str, Any], key: str, kind: Any) -> Any:
    if said.get(key) is None:
        return None
    try:
        return msgspec.convert(said[key], kind)
    except msgspec.ValidationError as problem:
        raise LogError(f'{path}: "{key}": {problem}') from problem


def _from_numpy(path: Path) -> _Table:
    """An array of numbers, NaN where a task was not evaluated; alone, or named `matrix` among several."""
    try:
        with files.opened(path) as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return _Table(_numeric(path, "the array", loaded))
            with loaded as arrays:
                return _chosen(path, arrays)
    except (ValueError, EOFError, zipfile.BadZipFile) as problem:
        raise LogError(
            f"{path}: no plain NumPy file ({problem}); save numbers with numpy.savez, pickled objects are never read"
        ) from problem


def _chosen(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> _Table:
    names = list(arrays)
    name = "matrix" if "matrix" in names else names[0] if len(names) == 1 else None
    if name is None:
        raise LogError(
            f"{path}: which of these arrays is the matrix: {', '.join(names) or 'none'}? Save it under the name matrix"
        )
    tasks = tuple(str(task) for task in np.atleast_1d(arrays["tasks"])) if "tasks" in names else None
    return _Table(_numeric(path, name, arrays[name]), tasks)


def _numeric(path: Path, name: str, array: npt.NDArray[Any]) -> Array:
    if array.dtype.kind not in "fiu":
        raise LogError(f"{path}: {name} holds {array.dtype}, not numbers; save floats, with NaN for no evaluation")
    return array.astype(np.float64)


def _number(text: str) -> float | None:
    """The finite number that `text` writes, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in text else None


def _delimiter(text: str) -> str:
    return "\t" if "\t" in text else ","


def _kind(found: Any) -> str:
    return f"{type(found).__name__} {msgspec.json.encode(found)[:40].decode(errors='replace')}"


_LOADERS: Mapping[str, Callable[[Path], _Table]] = {
    ".csv": _from_text,
    ".tsv": _from_text,
    ".json": _from_json,
    ".npz": _from_numpy,
    ".npy": _from_numpy,
}
SUFFIXES = tuple(_LOADERS)
MATRIX = MatrixReader()
