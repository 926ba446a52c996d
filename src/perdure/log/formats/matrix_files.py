"""Read accuracy matrices from CSV, TSV, JSON, NPZ and NPY files, as they are written there."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.errors import LogError, NotALogError, UnknownNameError
from perdure.files import UNPACKED_LIMIT
from perdure.log.accuracy_matrix import Array, Baseline
from perdure.log.formats import packed
from perdure.log.formats.column_names import table_shape
from perdure.log.model import Unit
from perdure.log.read import Options
from perdure.log.rows import cells, json_in, rows_of, separator_of

Mask = npt.NDArray[np.bool_]

_GLANCE = 1 << 16
# A list of rows or of single numbers, or an object that has a matrix; a list of records is another kind of file.
_JSON = re.compile(r'\s*(?:\[\s*[\]\[\d.nN-]|\{.*"matri(?:x|ces)"\s*:)', re.DOTALL)

_LARGEST_LABELLED = 1 << 22  # bytes of a matrix with names about it: about 450 tasks

_NumberOrTasks = float | tuple[float, ...] | dict[str, float]
# The keys beside "matrix" or "matrices" in JSON.
_FACTS: Mapping[str, Any] = {
    "tasks": tuple[str, ...],
    "unit": Unit,
    "random_init": _NumberOrTasks,
    "joint": _NumberOrTasks,
    "learner": str,
    "as_given": bool,
    "seconds": tuple[float, ...],
    "memory_mb": tuple[float, ...],
}
_KEYS = ("matrix", "matrices", "seed", "seeds", *_FACTS)
_NOTHING = frozenset({"", "nan", "-", "–", "—"})
# The labels that may be left out, a first row and a first column, most of them first.
_LABELS = ((1, 1), (1, 0), (0, 1), (0, 0))


class RawMatrix(msgspec.Struct, frozen=True, eq=False):
    """A matrix as a file holds it, NaN where a cell is empty. Its orientation is not known yet."""

    cells: Array
    source: str
    """Its name in messages."""
    row_names: tuple[str, ...] | None = None
    column_names: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None
    """Names that are stated apart from rows and columns."""
    unit: Unit | None = None
    random_init: Baseline | None = None
    joint: Baseline | None = None
    as_given: bool | None = None
    """Whether the file states that its zeros were measured."""
    seconds: tuple[float, ...] | None = None
    memory_mb: tuple[float, ...] | None = None
    learner: str | None = None
    seed: int | None = None
    inside: str = ""
    """Its name in a file of several."""
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, cells: Array, source: str, **facts: Any) -> RawMatrix:
        """Return a matrix of numbers, without a first row or column that only counts (0 … n − 1 or 1 … n).

        Such labels are left out only if what remains can be a matrix.
        """
        if cells.ndim != 2:
            raise LogError(
                f"{cells.ndim} dimensions", "a matrix has 2, rows and columns, and several of them have 3", file=source
            )
        header, index = _labels(cells, np.zeros(cells.shape, dtype=bool)) or (0, 0)  # an empty array has no labels
        return cls(cells[header:, index:], source, notes=_counting_notes(cells, header, index), **facts)


def fits(rows: int, columns: int) -> bool:
    """Return whether a table of this shape can be a matrix: one task, T × T, or one more row or column."""
    return (rows, columns) == (1, 1) or (min(rows, columns) > 1 and abs(rows - columns) <= 1)


def _is_blank(text: str) -> bool:
    """Return whether a cell holds no measurement: it is empty, a dash, or the nan that numpy.savetxt writes."""
    return text.lower() in _NOTHING


def number(text: str) -> float | None:
    """Return the finite number in `text`, with or without a percent sign, or None."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in text else None


def raw_matrices(path: Path, limit: float = UNPACKED_LIMIT) -> tuple[RawMatrix, ...]:
    """Return every matrix in a file; raise LogError, with line and cell, if one cannot be read. Never unpickle.

    A packed file may unpack to `limit` MiB.
    """
    tables = tuple(_load(path, _LOADERS, "accuracy matrix", limit))
    if not tables:
        raise LogError("no matrix in it", "save one for each lifetime", file=path)
    return tables


def looks_like_matrix(path: Path) -> bool:
    """Return whether a file is an accuracy matrix, judged by its shape or by the keys that a matrix has."""
    suffix = packed.inner_kind(path)
    if suffix in (".npy", ".npz"):
        return path.is_file()
    if suffix == ".json":
        return _JSON.match(packed.beginning(path, _GLANCE)) is not None
    if suffix not in packed.SEPARATORS:
        return False
    head = packed.beginning(path, _GLANCE)
    first = cells(head, separator_of(head))
    if not any(first):
        return False
    if all(_is_blank(cell) or number(cell) is not None for cell in first):
        # Even if these numbers do not make a matrix: the reader's message says best what is wrong.
        return len(first) > 1 or not head.strip().count("\n")
    if table_shape(first, Options()) is not None:
        return False
    # One look at the second line rules most other tables out.
    second = next(iter(rows_of(head, separator_of(head), 2)[1:]), [])
    if any(not _is_blank(cell) and number(cell) is None for cell in second[1:]):
        return False
    text = packed.beginning(path, _LARGEST_LABELLED + 1).rstrip()
    return len(text) <= _LARGEST_LABELLED and is_matrix(rows_of(text, separator_of(text)))


def read_baseline(text: str, source: str = "baseline") -> Baseline:
    """Return a baseline as a user gives it: `10`, `10,12,9`, or a file with one number, or one per task."""
    numbers = [number(part.strip()) for part in text.split(",")]
    if None not in numbers:
        given = tuple(number for number in numbers if number is not None)
        return given[0] if len(given) == 1 else given
    place = Path(text)
    if not place.is_file():
        raise LogError(
            f"{text!r} is neither a number, nor numbers with commas between, nor a file",
            "give one of these",
            file=source,
        )
    baseline: Baseline = _load(place, _BASELINES, "baseline", UNPACKED_LIMIT)
    return baseline


def _load(path: Path, loaders: Mapping[str, Callable[..., Any]], what: str, limit: float) -> Any:
    load = loaders.get(packed.inner_kind(path))
    if load is None:
        raise NotALogError(f"no {what} by its name", f"expected one of {', '.join(loaders)}", file=path)
    return load(path, packed.content(path, limit), limit)


# --- text ----------------------------------------------------------------------------------------


def _text_matrix(path: Path, content: bytes, _limit: float) -> RawMatrix:
    """Return the matrix in comma- or tab-separated text, with or without names about it."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise LogError(f"byte {problem.start} is not UTF-8", "save the file as plain text", file=path) from problem
    lines = rows_of(text, separator_of(text))
    while lines and lines[-1] in ([], [""]):
        lines.pop()
    if not lines:
        raise LogError("the file is empty", "expected one row of numbers per task", file=path)
    return parse_text(lines, str(path))


def _baseline_from_text(path: Path, content: bytes, limit: float) -> Baseline:
    table = _text_matrix(path, content, limit)
    numbers = _one_per_task(path, table.cells)
    names = table.column_names or table.row_names
    return dict(zip(names, numbers, strict=True)) if names and len(names) == len(numbers) else numbers


def _one_per_task(path: Path, cells: Array) -> tuple[float, ...]:
    if np.isnan(cells).any() or min(cells.shape, default=0) > 1:
        raise LogError("a baseline has one number per task, without gaps", f"found a table of {cells.shape}", file=path)
    return tuple(float(cell) for cell in cells.ravel())


def parse_text(lines: Sequence[Sequence[str]], source: str) -> RawMatrix:
    """Return the matrix in a table of text, with or without a header and an index of names or of counting numbers.

    Raise LogError, with line and cell, for a cell that is neither a number nor a name in its place.
    """
    for number, line in enumerate(lines, start=1):
        if len(line) != len(lines[0]):
            raise LogError(
                f"{len(line)} cells where line 1 has {len(lines[0])}",
                "keep the delimiters of empty cells",
                file=source,
                line=number,
            )
    values, words = _parse(lines)
    labels = _labels(values, words)
    if labels is None:
        row, column = _misplaced(words)
        raise LogError(
            f"{lines[row][column]!r:.60} is not a finite number",
            "a matrix holds numbers, with names in its first row or column alone; leave a cell empty where a "
            "task was not evaluated",
            file=source,
            line=row + 1,
            where=f"cell {column + 1}",
        )
    header, index = labels
    inner_cells = [cell for line in lines[header:] for cell in line[index:] if not _is_blank(cell)]
    signed = [cell for cell in inner_cells if cell.endswith("%")]
    if signed and len(signed) < len(inner_cells):
        bare = next(cell for cell in inner_cells if not cell.endswith("%"))
        raise LogError(
            f"{signed[0]!r} has a percent sign, {bare!r} has none", "write all numbers in one way", file=source
        )
    return RawMatrix(
        values[header:, index:],
        source,
        tuple(line[0] for line in lines[header:]) if words[header:, :index].any() else None,
        tuple(lines[0][index:]) if words[:header, index:].any() else None,
        unit="percent" if signed else None,
        notes=_counting_notes(values, header, index),
    )


def is_matrix(lines: Sequence[Sequence[str]]) -> bool:
    """Return whether a table of text has the shape of a matrix, and only numbers or blanks inside.

    One number with names about it may be anything.
    """
    if not lines or any(len(line) != len(lines[0]) for line in lines):
        return False
    values, words = _parse(lines)
    labels = _labels(values, words)
    inner = None if labels is None else values[labels[0] :, labels[1] :]
    return inner is not None and fits(*inner.shape) and inner.size > 1


def _parse(lines: Sequence[Sequence[str]]) -> tuple[Array, Mask]:
    """Return the numbers, NaN if a cell has none, and which cells hold anything else."""
    numbers = [[number(cell) for cell in line] for line in lines]
    values = np.array([[np.nan if number is None else number for number in row] for row in numbers], dtype=np.float64)
    filled = np.array([[not _is_blank(cell) for cell in line] for line in lines], dtype=bool)
    return values, filled & np.isnan(values)


def _labels(values: Array, words: Mask) -> tuple[int, int] | None:
    """Return how many first rows and first columns are labels, 0 or 1 each; None if words remain inside.

    These are as many as leave a table that fits; if none does, as few as remove the words.
    """
    possible = [
        (header, index)
        for header, index in _LABELS
        if values[header:, index:].size
        and not words[header:, index:].any()
        and (not header or _may_label(values[0], words[0]))
        and (not index or _may_label(values[:, 0], words[:, 0]))
    ]
    height, width = values.shape
    fitting = [(header, index) for header, index in possible if fits(height - header, width - index)]
    return (*fitting, *reversed(possible), None)[0]


def _may_label(values: Array, words: Mask) -> bool:
    """Return whether a first row or column holds only names, or counts; its corner may be blank or a word."""
    if not len(values):
        return False
    corner = 1 if np.isnan(values[0]) else 0
    if words[1:].any() or (len(words) == 1 and words[0]):
        return bool(corner) and bool(words[1:].all())
    counted = values[corner:]
    steps = np.arange(len(counted), dtype=np.float64)
    return bool(len(counted)) and (np.array_equal(counted, steps) or np.array_equal(counted, steps + 1))


def _misplaced(words: Mask) -> tuple[int, int]:
    """Return the first word that cannot be a name: one inside, else one in the first row or column."""
    inner = words.copy()
    inner[0] = inner[:, 0] = False
    row, column = np.argwhere(inner if inner.any() else words)[0]
    return int(row), int(column)


def _counting_notes(values: Array, header: int, index: int) -> tuple[str, ...]:
    """Return a note for each first row or column that only counts, because its numbers are not read as values."""
    notes = []
    for labelled, name, line in ((header, "row", values[:1].ravel()), (index, "column", values[:, :1].ravel())):
        known = line[~np.isnan(line)]
        if labelled and len(known):
            notes.append(f"its first {name} only counts ({known[0]:g} … {known[-1]:g}), and was read as labels")
    return tuple(notes)


# --- JSON ----------------------------------------------------------------------------------------


def _from_json(path: Path, content: bytes, _limit: float) -> Iterator[RawMatrix]:
    """Yield the matrices in a list of rows, in several such lists, or in an object with further keys."""
    content_object = json_in(content, path, "undefined cells are null (NaN is no JSON)")
    document: Mapping[str, Any] = content_object if isinstance(content_object, dict) else {"matrix": content_object}
    for key in document:
        if key not in _KEYS:
            raise UnknownNameError("key", key, _KEYS).with_place(file=path)
    keys = [key for key in ("matrix", "matrices") if key in document]
    if len(keys) != 1:
        raise LogError(
            f"{'both' if keys else 'neither'} of the keys of a matrix (found: {', '.join(document) or 'nothing'})",
            'give "matrix", a list of rows, or "matrices", several of them',
            file=path,
        )
    facts = {key: _convert(path, document, key, kind) for key, kind in _FACTS.items()}
    tables = document[keys[0]]
    if keys == ["matrix"] and not _is_stack(tables):
        yield RawMatrix.of(_json_cells(path, tables), str(path), seed=_convert(path, document, "seed", int), **facts)
        return
    if not isinstance(tables, dict | list) or not tables:
        raise LogError(
            "matrices are a list of matrices, or an object of them by name", f"found {_kind(tables)}", file=path
        )
    named = tables.items() if isinstance(tables, dict) else ((str(index), table) for index, table in enumerate(tables))
    seeds = _seeds(path, _convert(path, document, "seeds", tuple[int, ...]), len(tables))
    for (name, table), seed in zip(named, seeds, strict=True):
        source = f"{path}#{name}"
        yield RawMatrix.of(_json_cells(source, table), source, inside=name, seed=seed, **facts)


def _is_stack(tables: Any) -> bool:
    """Return whether the lists nest one level deeper than rows and cells."""
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
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise LogError(
                f"row {number} has {len(row)} cells, row 1 has {len(rows[0])}", "write null for none", file=source
            )
        for column, cell in enumerate(row, start=1):
            if cell is not None and (isinstance(cell, bool) or not isinstance(cell, int | float)):
                raise LogError(
                    f"row {number}, cell {column}: {cell!r} is no number", "write null for none", file=source
                )
    try:
        return np.array([[np.nan if cell is None else float(cell) for cell in row] for row in rows], dtype=np.float64)
    except OverflowError as problem:
        raise LogError(
            f"a number in the matrix is too large: {problem}", "write null for none", file=source
        ) from problem


def _convert(path: Path, document: Mapping[str, Any], key: str, kind: Any) -> Any:
    if document.get(key) is None:
        return None
    try:
        return msgspec.convert(document[key], kind)
    except msgspec.ValidationError as problem:
        raise LogError(str(problem), "write it as the documents show", file=path, where=f'"{key}"') from problem


def _seeds(path: Path, seeds: Sequence[int] | None, count: int) -> Sequence[int | None]:
    if seeds is None:
        return (None,) * count
    if len(seeds) != count:
        raise LogError(f"{len(seeds)} seeds for {count} matrices", "give one for each, in order", file=path)
    return seeds


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {msgspec.json.encode(value)[:40].decode(errors='replace')}"


def _baseline_from_json(path: Path, content: bytes, _limit: float) -> Baseline:
    fix = "expected a number, a list, or task names and numbers"
    baseline: Baseline = json_in(content, path, fix, "no baseline", _NumberOrTasks)
    return baseline


# --- NumPy ---------------------------------------------------------------------------------------


def _from_numpy(path: Path, content: bytes, limit: float) -> Iterator[RawMatrix]:
    """Yield the matrices in an array of numbers, of two dimensions or, for several seeds, of three."""
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
    for index, (table, seed) in enumerate(zip(cells, seeds, strict=True)):
        yield RawMatrix.of(table, f"{path}#{index}", tasks=tasks, seed=seed, inside=str(index))


def arrays_of(path: Path, content: bytes, limit: float) -> Mapping[str, npt.NDArray[Any]]:
    """Return the arrays in an NPZ or NPY file by name, never unpickled; that of an NPY is `matrix`.

    Raise LogError if an NPZ unpacks to more than `limit` MiB.
    """
    try:
        loaded = np.load(io.BytesIO(content), allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"matrix": loaded}
        with loaded as archive:
            if sum(member.file_size for member in archive.zip.infolist()) > limit * 2**20:
                raise packed.too_large(path, limit)
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
    """Return whether every array is runs × tasks of the same tasks; square arrays may be matrices."""
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
    ".csv": lambda *file: iter((_text_matrix(*file),)),
    ".tsv": lambda *file: iter((_text_matrix(*file),)),
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
