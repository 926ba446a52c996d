"""Accuracy matrices in files, as they stand there: CSV, TSV, JSON, NPZ, NPY."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.errors import LogError, NotALog, UnknownName
from perdure.files import UNPACKED_LIMIT
from perdure.log.accuracy_matrix import Array, Baseline, Unit
from perdure.log.formats.matrix_labels import Labelled, number, taken_apart
from perdure.log.formats.matrix_settled import RawMatrix
from perdure.log.formats.packed import inner_kind, too_large
from perdure.log.formats.shapes import beginning, content_of, shape_of
from perdure.log.rows import rows_of, separator_of

__all__ = ["SUFFIXES", "arrays_of", "looks_like_matrix", "raw_matrices", "read_baseline"]

_KEYS = (
    *("matrix", "matrices", "tasks", "unit", "as_given", "random_init", "joint", "learner", "seed", "seeds"),
    *("seconds", "memory_mb"),
)
_GLANCE = 1 << 16
# A list of rows or of single numbers, or an object that has a matrix; a list of records is another kind of file.
_JSON = re.compile(r'\s*(?:\[\s*[\]\[\d.nN-]|\{.*"matri(?:x|ces)"\s*:)', re.DOTALL)

_NumberOrTasks = float | tuple[float, ...] | dict[str, float]


def raw_matrices(path: Path, limit: float = UNPACKED_LIMIT) -> tuple[RawMatrix, ...]:
    """Every matrix in a file; LogError, naming line and cell, says why one cannot be read. Nothing is unpickled.

    `limit` is how many MiB a packed file may unpack to.
    """
    found = tuple(_loaded(path, _LOADERS, "accuracy matrix", limit))
    if not found:
        raise LogError("no matrix in it", "save one for each lifetime", file=path)
    return found


def looks_like_matrix(path: Path) -> bool:
    """Whether a file is an accuracy matrix, at a glance: its shape, or the keys that a matrix has."""
    suffix = inner_kind(path)
    if suffix in (".npy", ".npz"):
        return path.is_file()
    if suffix == ".json":
        return _JSON.match(beginning(path, _GLANCE)) is not None
    return shape_of(path) == "matrix"


def read_baseline(text: str, source: str = "baseline") -> Baseline:
    """A baseline as a user gives it: `10`, `10,12,9`, or a file with a number, one per task, or names and numbers."""
    numbers = [number(part.strip()) for part in text.split(",")]
    if None not in numbers:
        given = tuple(one for one in numbers if one is not None)
        return given[0] if len(given) == 1 else given
    place = Path(text)
    if not place.is_file():
        raise LogError(
            f"{text!r} is neither a number, nor numbers with commas between, nor a file",
            "give one of these",
            file=source,
        )
    found: Baseline = _loaded(place, _BASELINES, "baseline", UNPACKED_LIMIT)
    return found


def _loaded(path: Path, loaders: Mapping[str, Callable[..., Any]], what: str, limit: float) -> Any:
    load = loaders.get(inner_kind(path))
    if load is None:
        raise NotALog(f"no {what} by its name", f"expected one of {', '.join(loaders)}", file=path)
    try:
        content = content_of(path, limit)
    except OSError as problem:
        raise LogError(
            f"cannot be read: {problem.strerror or problem}", "let it be read, or leave it out", file=path
        ) from problem
    return load(path, content, limit)


# --- text ----------------------------------------------------------------------------------------


def _from_text(path: Path, content: bytes, _limit: float) -> Iterator[RawMatrix]:
    found = _apart(path, content)
    unit: Unit | None = "percent" if found.percent else None
    yield RawMatrix(found.cells, str(path), found.row_names, found.column_names, unit=unit, notes=found.notes)


def _apart(path: Path, content: bytes) -> Labelled:
    """Numbers between commas or tabs, nothing where a task was not evaluated, with or without names about them."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise LogError(f"byte {problem.start} is not UTF-8", "save the file as plain text", file=path) from problem
    lines = rows_of(text, separator_of(text))
    while lines and lines[-1] in ([], [""]):
        lines.pop()
    if not lines:
        raise LogError("the file is empty", "expected one row of numbers per task", file=path)
    return taken_apart(lines, str(path))


def _baseline_from_text(path: Path, content: bytes, _limit: float) -> Baseline:
    found = _apart(path, content)
    numbers = _one_per_task(path, found.cells)
    names = found.column_names or found.row_names
    return dict(zip(names, numbers, strict=True)) if names and len(names) == len(numbers) else numbers


def _one_per_task(path: Path, cells: Array) -> tuple[float, ...]:
    if np.isnan(cells).any() or min(cells.shape, default=0) > 1:
        raise LogError("a baseline has one number per task, without gaps", f"found a table of {cells.shape}", file=path)
    return tuple(float(cell) for cell in cells.ravel())


# --- JSON ----------------------------------------------------------------------------------------


def _from_json(path: Path, content: bytes, _limit: float) -> Iterator[RawMatrix]:
    """A list of rows with null where a task was not evaluated, several such lists, or an object that says more."""
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise LogError(f"not JSON: {problem}", "undefined cells are null (NaN is no JSON)", file=path) from problem
    said: Mapping[str, Any] = found if isinstance(found, dict) else {"matrix": found}
    for key in said:
        if key not in _KEYS:
            raise UnknownName("key", key, _KEYS).at(file=path)
    given = [key for key in ("matrix", "matrices") if key in said]
    if len(given) != 1:
        raise LogError(
            f"{'both' if given else 'neither'} of the keys of a matrix (found: {', '.join(said) or 'nothing'})",
            'give "matrix", a list of rows, or "matrices", several of them',
            file=path,
        )
    facts = {
        "tasks": _converted(path, said, "tasks", tuple[str, ...]),
        "unit": _converted(path, said, "unit", Unit),
        "random_init": _converted(path, said, "random_init", _NumberOrTasks),
        "joint": _converted(path, said, "joint", _NumberOrTasks),
        "learner": _converted(path, said, "learner", str),
        "as_given": _converted(path, said, "as_given", bool),
        "seconds": _converted(path, said, "seconds", tuple[float, ...]),
        "memory_mb": _converted(path, said, "memory_mb", tuple[float, ...]),
    }
    tables = said[given[0]]
    if given == ["matrix"] and not _is_stack(tables):
        yield RawMatrix.of(_json_cells(path, tables), str(path), seed=_converted(path, said, "seed", int), **facts)
        return
    if not isinstance(tables, dict | list) or not tables:
        raise LogError(
            "matrices are a list of matrices, or an object of them by name", f"found {_kind(tables)}", file=path
        )
    named = tables.items() if isinstance(tables, dict) else ((str(at), table) for at, table in enumerate(tables))
    seeds = _seeds(path, _converted(path, said, "seeds", tuple[int, ...]), len(tables))
    for (name, table), seed in zip(named, seeds, strict=True):
        source = f"{path}#{name}"
        yield RawMatrix.of(_json_cells(source, table), source, inside=name, seed=seed, **facts)


def _is_stack(tables: Any) -> bool:
    """Whether the lists nest one level deeper than rows and cells."""
    return (
        isinstance(tables, list)
        and bool(tables)
        and all(isinstance(table, list) and table and isinstance(table[0], list) for table in tables)
    )


def _json_cells(source: object, rows: Any) -> Array:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) and row for row in rows):
        raise LogError(
            "the matrix is a list of rows, each a list of numbers or null", f"found {_kind(rows)}", file=source
        )
    for at, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise LogError(
                f"row {at} has {len(row)} cells, row 1 has {len(rows[0])}", "write null for none", file=source
            )
        for place, cell in enumerate(row, start=1):
            if cell is not None and (isinstance(cell, bool) or not isinstance(cell, int | float)):
                raise LogError(f"row {at}, cell {place}: {cell!r} is no number", "write null for none", file=source)
    try:
        return np.array([[np.nan if cell is None else float(cell) for cell in row] for row in rows], dtype=np.float64)
    except OverflowError as problem:
        raise LogError(
            f"a number in the matrix is too large: {problem}", "write null for none", file=source
        ) from problem


def _converted(path: Path, said: Mapping[str, Any], key: str, kind: Any) -> Any:
    if said.get(key) is None:
        return None
    try:
        return msgspec.convert(said[key], kind)
    except msgspec.ValidationError as problem:
        raise LogError(str(problem), "write it as the documents show", file=path, where=f'"{key}"') from problem


def _seeds(path: Path, seeds: Sequence[int] | None, count: int) -> Sequence[int | None]:
    if seeds is None:
        return (None,) * count
    if len(seeds) != count:
        raise LogError(f"{len(seeds)} seeds for {count} matrices", "give one for each, in order", file=path)
    return seeds


def _kind(found: Any) -> str:
    return f"{type(found).__name__} {msgspec.json.encode(found)[:40].decode(errors='replace')}"


def _baseline_from_json(path: Path, content: bytes, _limit: float) -> Baseline:
    try:
        found: Baseline = msgspec.json.decode(content, type=_NumberOrTasks)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise LogError(
            f"no baseline: {problem}", "expected a number, a list, or task names and numbers", file=path
        ) from problem
    return found


# --- NumPy ---------------------------------------------------------------------------------------


def _from_numpy(path: Path, content: bytes, limit: float) -> Iterator[RawMatrix]:
    """An array of numbers, NaN where a task was not evaluated: one matrix, or several, seeds first."""
    arrays = arrays_of(path, content, limit)
    cells = _numeric(path, *_matrix_among(path, arrays))
    tasks = tuple(str(task) for task in np.atleast_1d(arrays["tasks"])) if "tasks" in arrays else None
    if cells.ndim != 3:
        yield RawMatrix.of(cells, str(path), tasks=tasks)
        return
    stated = np.atleast_1d(arrays["seeds"]) if "seeds" in arrays else None
    if stated is not None and stated.dtype.kind not in "iu":
        raise LogError(f"seeds holds {stated.dtype}", "seeds are whole numbers", file=path)
    seeds = _seeds(path, None if stated is None else stated.tolist(), len(cells))
    for at, (table, seed) in enumerate(zip(cells, seeds, strict=True)):
        yield RawMatrix.of(table, f"{path}#{at}", tasks=tasks, seed=seed, inside=str(at))


def arrays_of(path: Path, content: bytes, limit: float) -> Mapping[str, npt.NDArray[Any]]:
    """Return the arrays in an NPZ or NPY file by name, never unpickled; that of an NPY is `matrix`.

    Raise LogError if an NPZ unpacks to more than `limit` MiB.
    """
    try:
        loaded = np.load(io.BytesIO(content), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"matrix": loaded}
        with loaded as archive:
            if sum(one.file_size for one in archive.zip.infolist()) > limit * 2**20:
                raise too_large(path, limit)
            return {name: archive[name] for name in archive.files}
    except LogError:
        raise
    except Exception as problem:  # NumPy raises whatever its parts do: of a zip, of a header that is Python, of memory
        raise LogError(
            f"not a plain NumPy file ({problem})",
            "save numbers with numpy.savez, pickled objects are never read",
            file=path,
        ) from problem


def _matrix_among(path: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[str, npt.NDArray[Any]]:
    names = list(arrays)
    name = "matrix" if "matrix" in names else names[0] if len(names) == 1 else None
    if name is None and _are_scores(arrays):
        raise LogError(
            f"scores of runs × tasks by algorithm ({', '.join(names)}), as rliable takes them: what was kept at the "
            "end, from which forgetting cannot be measured",
            "save how every task is done after each was learned, one matrix per run; for these scores alone there are "
            "perdure.interquartile_mean and perdure.stratified_bootstrap",
            file=path,
        )
    if name is None:
        raise LogError(
            f"no array is called matrix (found: {', '.join(names) or 'none'})",
            "save it under the name matrix",
            file=path,
        )
    return name, arrays[name]


def _are_scores(arrays: Mapping[str, npt.NDArray[Any]]) -> bool:
    """Whether every array is runs × tasks, of the same tasks; where all are square, they may be matrices."""
    if len(arrays) < 2 or not all(array.ndim == 2 for array in arrays.values()):
        return False
    tasks = {array.shape[1] for array in arrays.values()}
    return len(tasks) == 1 and any(array.shape[0] not in tasks for array in arrays.values())


def _numeric(path: Path, name: str, array: npt.NDArray[Any]) -> Array:
    if array.dtype.kind not in "fiu":
        raise LogError(f"{name} holds {array.dtype}, not numbers", "save floats, with NaN for no evaluation", file=path)
    return array.astype(np.float64, copy=False)


def _baseline_from_numpy(path: Path, content: bytes, limit: float) -> Baseline:
    return _one_per_task(path, _numeric(path, *_matrix_among(path, arrays_of(path, content, limit))))


_LOADERS: Mapping[str, Callable[[Path, bytes, float], Iterator[RawMatrix]]] = {
    ".csv": _from_text,
    ".tsv": _from_text,
    ".json": _from_json,
    ".npz": _from_numpy,
    ".npy": _from_numpy,
}
_BASELINES: Mapping[str, Callable[[Path, bytes, float], Baseline]] = {
    ".csv": _baseline_from_text,
    ".tsv": _baseline_from_text,
    ".json": _baseline_from_json,
    ".npz": _baseline_from_numpy,
    ".npy": _baseline_from_numpy,
}
SUFFIXES = tuple(_LOADERS)
