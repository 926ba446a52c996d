"""Accuracy matrices as the result files of continual-learning libraries hold them: Mammoth, PyCIL, FACIL, LIBERO.

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

import msgspec
import numpy as np
from msgspec.structs import replace

from perdure import files
from perdure.errors import LogError, NotALogError
from perdure.log.accuracy_matrix import AccuracyMatrix, MatrixLifetime
from perdure.log.formats.matrix import accuracy_matrices, lifetime_of, matrix_of_cells
from perdure.log.formats.matrix_files import RawMatrix
from perdure.log.formats.runs import learner_and_seed
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
_LIBERO = "result.pt"


class _Found(msgspec.Struct, frozen=True, eq=False):
    """One run's matrix, and who it is of."""

    matrix: AccuracyMatrix
    settings: Mapping[str, Any]
    inside: str = ""


class _Results(SeveralLifetimes[MatrixLifetime]):
    name = "results"
    summary = "results of Mammoth (logs.pyd), PyCIL (a .log with CNN: {…}), FACIL (acc_tag-….txt)"

    def recognises(self, path: Path) -> bool:
        """By its name and, for a log, by a line that PyCIL writes."""
        return path.is_file() and _source(path) is not None

    def claims(self, path: Path, options: Options) -> bool:  # noqa: ARG002
        """All but FACIL's task-aware accuracies: they are of the same run as the others, which count in a folder."""
        return not path.name.startswith("acc_taw-")

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[MatrixLifetime]:  # noqa: ARG002
        """Every run of the file, as the matrix that it tells of."""
        source = _source(path)
        if source is None:
            raise NotALogError("not the results of a known library", f"expected {self.summary}", file=path)
        found = list(source(path, options))
        if not found:
            raise LogError("no accuracies of single tasks in it", "expected one for each task after each", file=path)
        for at, one in enumerate(found):
            inside = str(at) if len(found) > 1 else ""
            called = as_text(path.stem)
            life = lifetime_of(one.matrix, f"{called}#{inside}" if inside else called, path)
            facts = learner_and_seed(one.settings)
            yield replace(life, inside=inside, learner=facts.get("learner"), seed=facts.get("seed"))


RESULTS = _Results()


def _source(path: Path) -> Callable[[Path, Options], Iterator[_Found]] | None:
    if path.name == "logs.pyd":
        return _mammoth
    if _FACIL.fullmatch(path.name):
        return _facil
    if path.name == _LIBERO:
        return _libero
    return _pycil if path.suffix == ".log" and _has_rounds(path) else None


def _has_rounds(path: Path) -> bool:
    try:
        with files.opened(path) as file:
            return any(_ROUND.search(line) for line in file.read(_GLANCE).splitlines())
    except OSError:
        return False


def _literals(text: bytes, path: Path, number: int) -> dict[str, Any]:
    """What a line with a Python dict says, parsed and never run; values that are no literals are left out."""
    if len(text) > _LINE:
        raise LogError(f"{len(text)} bytes on one line", f"expected {_LINE} at most", file=path, line=number)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # of a path with backslashes in it
            tree = ast.parse(text.decode("utf-8").strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        raise LogError(f"no Python dict ({problem})", "expected one per line", file=path, line=number) from problem
    if not isinstance(tree, ast.Dict):
        raise LogError("no Python dict", "expected one per line", file=path, line=number)
    said: dict[str, Any] = {}
    for key, value in zip(tree.keys, tree.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            try:
                said[key.value] = ast.literal_eval(_plain(value))
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                continue  # device(type='cuda') and its like
    return said


def _plain(node: ast.expr) -> ast.expr:
    """The number in `np.float64(91.2)`, as NumPy 2 writes one; else the node."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        return node.args[0]
    return node


def _mammoth(path: Path, options: Options) -> Iterator[_Found]:
    for number, line in enumerate(bytes_of(path).splitlines(), start=1):
        if not line.strip():
            continue
        said = _literals(line, path, number)
        cells = {(int(one[1]), int(one[2])): said[name] for name in said if (one := _CELL.fullmatch(name))}
        if not cells:
            means = sum(1 for name in said if _MEAN.fullmatch(name))
            raise LogError(
                f"{means} means over tasks and no accuracy of a single task, which forgetting is measured by",
                "Mammoth writes these in class-incremental runs (results/class-il, results/task-il)",
                file=path,
                line=number,
            )
        settings = {**said, "learner": said.get("model")}
        yield _Found(_matrix(cells, path, number, options), settings)


def _pycil(path: Path, options: Options) -> Iterator[_Found]:
    """The rounds of one run: each evaluates the classes of one more task."""
    cells: dict[tuple[int, int], Any] = {}
    rounds = 0
    for number, line in enumerate(bytes_of(path).splitlines(), start=1):
        if found := _ROUND.search(line):
            said = _literals(found[1], path, number)
            ranges = [value for name, value in said.items() if _CLASSES.fullmatch(name)]
            rounds += 1
            if len(ranges) != rounds:
                raise LogError(
                    f"{len(ranges)} ranges of classes after task {rounds}",
                    "expected one more after each task, from a log of one run",
                    file=path,
                    line=number,
                )
            cells |= {(at, rounds): value for at, value in enumerate(ranges, start=1)}
    if cells:
        yield _Found(_matrix(cells, path, None, options), {})


def _facil(path: Path, options: Options) -> Iterator[_Found]:
    try:
        rows = [[float(cell) for cell in line.split()] for line in bytes_of(path).decode("ascii").splitlines() if line]
        cells = np.array(rows, dtype=np.float64)
    except (ValueError, UnicodeDecodeError) as problem:
        raise LogError(
            f"not a table of numbers ({problem})", "expected one row per task learned", file=path
        ) from problem
    if cells.ndim != 2:
        raise LogError("no table of numbers", "expected one row per task learned", file=path)
    raw = RawMatrix(cells, str(path))
    rows_are = options.rows or "learned"
    (matrix,) = accuracy_matrices((raw,), rows=rows_are, unit=options.unit, as_given=options.as_given)
    yield _Found(matrix, {})


def _libero(path: Path, options: Options) -> Iterator[_Found]:  # noqa: ARG001
    raise LogError(
        "LIBERO's results are a pickle, which can run code and is never read",
        "where you trust it, take the matrix out: python -c \"import numpy, torch; numpy.save('success.npy', "
        "torch.load('result.pt', weights_only=False)['S_conf_mat'])\", and score success.npy with --rows learned",
        file=path,
    )


def _matrix(cells: Mapping[tuple[int, int], Any], path: Path, line: int | None, options: Options) -> AccuracyMatrix:
    """A matrix of cells by evaluated and learned task, counted from 1."""
    count = max(max(pair) for pair in cells)
    if count > _MOST_TASKS:
        raise LogError(f"{count} tasks", f"an accuracy matrix has {_MOST_TASKS} at most", file=path, line=line)
    values = np.full((count, count + 1), np.nan)
    for (evaluated, learned), value in cells.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e12:
            raise LogError(
                f"task {evaluated} after task {learned} is {str(value)[:40]!r}",
                "expected a number",
                file=path,
                line=line,
            )
        values[evaluated - 1, learned] = value
    names = [f"task{number}" for number in range(1, count + 1)]
    return matrix_of_cells(values, names, options.unit, str(path))
