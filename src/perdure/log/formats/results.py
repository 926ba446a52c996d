"""Read accuracy matrices from result files of continual-learning libraries: Mammoth, PyCIL, FACIL, LIBERO.

Mammoth's `logs.pyd` (`utils/loggers.py`) has a Python dict per run and line, with `accuracy_2_task3` for the second
task after the third. PyCIL's logs (`trainer.py`) have `CNN: {'00-09': 91.2, …}` after each task, by ranges of classes.
FACIL's `acc_tag-DATE.txt` and `acc_taw-DATE.txt` (`loggers/disk_logger.py`) are tables, rows learned. LIBERO's
`result.pt` (`libero/lifelong/main.py`) is a pickle, which is never read. Text is parsed as literals and never run.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from perdure import files
from perdure.errors import LogError, NotALogError
from perdure.log.accuracy_matrix import AccuracyMatrix, MatrixLifetime
from perdure.log.formats.matrix import accuracy_matrices, lifetime_of, matrix_of_cells
from perdure.log.formats.matrix_files import RawMatrix
from perdure.log.formats.trackers import learner_and_seed
from perdure.log.places import as_text
from perdure.log.read import Options, SeveralLifetimes
from perdure.log.rows import bytes_of

_LINE = 1 << 20  # bytes: a thousand tasks' worth of one run
_GLANCE = 1 << 20
_MOST_TASKS = 1000
_CELL = re.compile(r"accuracy_([1-9]\d{0,3})_task([1-9]\d{0,3})")
_MEAN = re.compile(r"accmean_task\d+")
_ROUND = re.compile(rb"\bCNN: (\{.*\})\s*$")
_CLASSES = re.compile(r"\d+-\d+")
_FACIL = re.compile(r"acc_ta[gw]-.*\.txt")

Run = tuple[AccuracyMatrix, Mapping[str, Any]]
"""The matrix of one run, and its settings."""


class _Results(SeveralLifetimes[MatrixLifetime]):
    name = "results"
    summary = "results of Mammoth (logs.pyd), PyCIL (a .log with CNN: {…}), FACIL (acc_tag-….txt)"

    def recognises(self, path: Path) -> bool:
        """Return whether its name, or for a log a line of it, is that of a known library."""
        return path.is_file() and _parser(path) is not None

    def claims(self, path: Path, options: Options) -> bool:  # noqa: ARG002
        """Return False for FACIL's task-aware accuracies: they are of the same run as the task-agnostic ones."""
        return not path.name.startswith("acc_taw-")

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[MatrixLifetime]:  # noqa: ARG002
        """Yield the matrix of every run in the file."""
        parse = _parser(path)
        if parse is None:
            raise NotALogError("not the results of a known library", f"expected {self.summary}", file=path)
        runs = list(parse(path, options))
        if not runs:
            raise LogError("no accuracies of single tasks in it", "expected one for each task after each", file=path)
        for number, (matrix, settings) in enumerate(runs):
            suffix = str(number) if len(runs) > 1 else ""
            name = as_text(path.stem)
            lifetime = lifetime_of(matrix, f"{name}#{suffix}" if suffix else name, path)
            yield replace(lifetime, inside=suffix, **learner_and_seed(settings))


RESULTS = _Results()


def _parser(path: Path) -> Callable[[Path, Options], Iterator[Run]] | None:
    if path.name == "logs.pyd":
        return _mammoth
    if _FACIL.fullmatch(path.name):
        return _facil
    if path.name == "result.pt":
        return _libero
    return _pycil if path.suffix == ".log" and _has_rounds(path) else None


def _has_rounds(path: Path) -> bool:
    try:
        with files.open_regular(path) as file:
            return any(_ROUND.search(line) for line in file.read(_GLANCE).splitlines())
    except OSError:
        return False


def _literals(text: bytes, path: Path, number: int) -> dict[str, Any]:
    """Return the literals in a line with a Python dict, parsed and never run; other values are left out."""
    if len(text) > _LINE:
        raise LogError(f"{len(text)} bytes on one line", f"expected {_LINE} at most", file=path, line=number)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # a path may hold backslashes
            tree = ast.parse(text.decode("utf-8").strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise LogError(f"no Python dict ({problem})", "expected one per line", file=path, line=number) from problem
    if not isinstance(tree, ast.Dict):
        raise LogError("no Python dict", "expected one per line", file=path, line=number)
    literals: dict[str, Any] = {}
    for key, value in zip(tree.keys, tree.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            if isinstance(value, ast.Call) and len(value.args) == 1 and isinstance(value.func, ast.Attribute):
                value = value.args[0]  # noqa: PLW2901 - NumPy 2 writes np.float64(91.2)
            try:
                literals[key.value] = ast.literal_eval(value)
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                continue  # device(type='cuda') and the like
    return literals


def _mammoth(path: Path, options: Options) -> Iterator[Run]:
    for number, line in enumerate(bytes_of(path).splitlines(), start=1):
        if not line.strip():
            continue
        literals = _literals(line, path, number)
        matches = {name: match for name in literals if (match := _CELL.fullmatch(name))}
        if not matches:
            means = sum(1 for name in literals if _MEAN.fullmatch(name))
            raise LogError(
                f"{means} means over tasks and no accuracy of a single task, which forgetting is measured by",
                "Mammoth writes these in class-incremental runs (results/class-il, results/task-il)",
                file=path,
                line=number,
            )
        cells = {(int(match[1]), int(match[2])): literals[name] for name, match in matches.items()}
        yield _matrix(cells, path, number, options), {**literals, "learner": literals.get("model")}


def _pycil(path: Path, options: Options) -> Iterator[Run]:
    """Yield the matrix of one run; each of its rounds evaluates the classes of one more task."""
    cells: dict[tuple[int, int], Any] = {}
    rounds = 0
    for number, line in enumerate(bytes_of(path).splitlines(), start=1):
        if match := _ROUND.search(line):
            ranges = [value for name, value in _literals(match[1], path, number).items() if _CLASSES.fullmatch(name)]
            rounds += 1
            if len(ranges) != rounds:
                what = f"{len(ranges)} ranges of classes after task {rounds}"
                raise LogError(what, "expected one more after each task, from a log of one run", file=path, line=number)
            cells |= {(task, rounds): value for task, value in enumerate(ranges, start=1)}
    if cells:
        yield _matrix(cells, path, None, options), {}


def _facil(path: Path, options: Options) -> Iterator[Run]:
    try:
        rows = [[float(cell) for cell in line.split()] for line in bytes_of(path).decode("ascii").splitlines() if line]
        cells = np.array(rows, dtype=np.float64)
    except (ValueError, UnicodeDecodeError) as problem:
        what = f"not a table of numbers ({problem})"
        raise LogError(what, "expected one row per task learned", file=path) from problem
    if cells.ndim != 2:
        raise LogError("no table of numbers", "expected one row per task learned", file=path)
    raw = RawMatrix(cells, str(path))
    (matrix,) = accuracy_matrices((raw,), rows=options.rows or "learned", unit=options.unit, as_given=options.as_given)
    yield matrix, {}


def _libero(path: Path, options: Options) -> Iterator[Run]:  # noqa: ARG001
    raise LogError(
        "LIBERO's results are a pickle, which can run code and is never read",
        "where you trust it, take the matrix out: python -c \"import numpy, torch; numpy.save('success.npy', "
        "torch.load('result.pt', weights_only=False)['S_conf_mat'])\", and score success.npy with --rows learned",
        file=path,
    )


def _matrix(cells: Mapping[tuple[int, int], Any], path: Path, line: int | None, options: Options) -> AccuracyMatrix:
    """Return the matrix of cells by evaluated and learned task, counted from 1."""
    count = max(max(pair) for pair in cells)
    if count > _MOST_TASKS:
        raise LogError(f"{count} tasks", f"an accuracy matrix has {_MOST_TASKS} at most", file=path, line=line)
    values = np.full((count, count + 1), np.nan)
    for (evaluated, learned), value in cells.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
            what = f"task {evaluated} after task {learned} is {str(value)[:40]!r}"
            raise LogError(what, "expected a number", file=path, line=line)
        values[evaluated - 1, learned] = value
    return matrix_of_cells(values, [f"task{number + 1}" for number in range(count)], options.unit, str(path))
