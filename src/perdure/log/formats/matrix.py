"""Accuracy matrices as lifetimes: read from files, or made from lists and arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from perdure.errors import LogError
from perdure.frozen import replace
from perdure.lazy import pl
from perdure.log.accuracy_matrix import AccuracyMatrix, MatrixLifetime, MatrixPassage, Unit, passage_of
from perdure.log.formats.matrix_files import looks_like_matrix, raw_matrices, read_baseline
from perdure.log.formats.matrix_orientation import Orientation, Rows, orientations
from perdure.log.formats.matrix_settled import Cells, RawMatrix, accuracy_matrices, as_numbers
from perdure.log.model import STANDARD_COLUMNS
from perdure.log.places import as_text
from perdure.log.read import Options

__all__ = [
    "MATRIX",
    "MatrixLifetime",
    "lifetime_of",
    "looks_like_matrix",
    "matrix_lifetime",
    "matrix_lifetimes",
    "read_baseline",
    "read_matrix",
    "ways_round",
]

_DEFAULTS = Options()


class _MatrixReader:
    name = "matrix"
    summary = "an accuracy matrix, or several, in a CSV, TSV, JSON, NPZ or NPY file, with or without names about it"

    def recognises(self, path: Path) -> bool:
        """By its suffix and, for text, by numbers in the shape of a matrix."""
        return looks_like_matrix(path)

    def claims(self, path: Path, options: Options) -> bool:  # noqa: ARG002
        """Never: numbers alone may be anything. Where a folder holds no other log, its matrices are looked for."""
        return False

    def read(self, path: Path, options: Options) -> MatrixLifetime:
        """The lifetime that the matrix tells of: its tasks learned in turn, its known cells evaluated."""
        several = tuple(self.lifetimes(path, options))
        if len(several) > 1:
            raise LogError(f"{len(several)} matrices, one lifetime each", "perdure.survey takes them all", file=path)
        return several[0]

    def parts(self, path: Path, options: Options) -> Sequence[str]:  # noqa: ARG002 - a matrix is not worth dividing
        """One piece: which way round a matrix is may follow from the others."""
        return ("",)

    def holds_experts(self, path: Path, options: Options) -> bool:  # noqa: ARG002
        """Never: a matrix is of a life."""
        return False

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[MatrixLifetime]:  # noqa: ARG002
        """Every matrix of the file, all one way round and in one unit."""
        yield from _lifetimes(raw_matrices(path, options.max_unpacked), options, as_text(path.stem), path)


MATRIX = _MatrixReader()


def matrix_lifetime(
    cells: Cells, tasks: Sequence[str] | None = None, options: Options = _DEFAULTS, name: str = "matrix"
) -> MatrixLifetime:
    """The lifetime that a matrix in memory tells of: lists or an array, None or NaN where nothing was evaluated."""
    raw = RawMatrix.of(as_numbers(cells, name), name, tasks=tasks and tuple(tasks))
    return next(_lifetimes((raw,), options, name))


def matrix_lifetimes(
    stack: Cells | Sequence[Cells],
    tasks: Sequence[str] | None = None,
    options: Options = _DEFAULTS,
    name: str = "matrix",
) -> tuple[MatrixLifetime, ...]:
    """One lifetime per matrix of a stack, an array (seeds, T, T) or a list of matrices; one matrix is one lifetime."""
    if _depth(stack) <= 2:
        return (matrix_lifetime(cast("Cells", stack), tasks, options, name),)
    raws = tuple(
        RawMatrix.of(as_numbers(cells, f"{name}#{at}"), f"{name}#{at}", tasks=tasks and tuple(tasks), inside=str(at))
        for at, cells in enumerate(_each(stack))
    )
    if not raws:
        raise LogError("no matrix in it", "give one for each lifetime", file=name)
    return tuple(_lifetimes(raws, options, name))


def read_matrix(
    path: str | os.PathLike[str], *, rows: Rows | None = None, unit: Unit | None = None, as_given: bool = False
) -> AccuracyMatrix:
    """The one accuracy matrix in a CSV, TSV, JSON, NPZ or NPY file; LogError says why it cannot be trusted.

    Which way round it is, its cells tell, or `rows`. Values are percent where one exceeds 1, or what
    `unit` says. A half of zeros before learning counts as not evaluated, unless `as_given`.
    """
    return MATRIX.read(Path(path), Options(rows=rows, unit=unit, as_given=as_given)).matrix


def ways_round(paths: Sequence[Path], options: Options = _DEFAULTS) -> dict[Path, Orientation]:
    """Which way round the matrices of each file are, where several files belong together, as in a folder.

    Files that decide must agree, and the others follow them; LogError names two that do not. A file
    whose own cells do not tell is to be read with `Options.rows` as said here.
    """
    tables = [(path, raw) for path in paths for raw in raw_matrices(path, options.max_unpacked)]
    found = orientations([(raw.source, raw.cells) for _, raw in tables], options.rows)
    return {path: way for (path, _), way in zip(tables, found, strict=True)}


def _lifetimes(
    raws: Sequence[RawMatrix], options: Options, name: str, path: Path | None = None
) -> Iterator[MatrixLifetime]:
    made = accuracy_matrices(raws, rows=options.rows, unit=options.unit, as_given=options.as_given)
    for raw, matrix in zip(raws, made, strict=True):
        called = f"{name}#{raw.inside}" if raw.inside else name
        yield replace(lifetime_of(matrix, called, path), learner=raw.learner, seed=raw.seed, inside=raw.inside)


def lifetime_of(matrix: AccuracyMatrix, name: str, path: Path | None = None) -> MatrixLifetime:
    """A matrix as a lifetime: its tasks learned in turn, its known cells evaluated."""
    return MatrixLifetime(
        id=name,
        experiences=_evaluations(passage_of(matrix, name)),
        measures={"accuracy": "higher"},
        path=path,
        notes=matrix.notes,
        matrix=matrix,
    )


def _each(stack: Any) -> Sequence[Any]:
    """The matrices of a stack; a single matrix is a stack of one."""
    return tuple(stack) if _depth(stack) > 2 else (stack,)


def _depth(nested: Any) -> int:
    """How many indices it takes to reach a number, along the first of each."""
    if isinstance(nested, np.ndarray):
        return nested.ndim
    return 1 + _depth(next(iter(nested), 0)) if isinstance(nested, Sequence) and not isinstance(nested, str) else 0


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
