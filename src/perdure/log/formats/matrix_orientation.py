"""Which way round an accuracy matrix is: decided by its shape and its empty or zero cells, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from perdure.errors import LogError
from perdure.frozen import frozen, replace
from perdure.log.formats.matrix_labels import Array, fits

__all__ = ["ROWS", "Orientation", "Rows", "orientation", "orientations", "undecided"]

Rows = Literal["evaluated", "learned"]
ROWS: dict[Rows, str] = {
    "evaluated": "rows are the evaluated tasks",
    "learned": "rows are the tasks learned so far",
}
_WHERE: dict[Rows, str] = {"evaluated": "below", "learned": "above"}


@frozen
class Orientation:
    """What the rows of a matrix are, and how that is known; None where its cells do not tell."""

    rows: Rows | None
    because: str = ""
    either: bool = False
    """Whether both ways give the same: there are values on the diagonal alone."""


def orientation(cells: Array, said: Rows | None = None, source: str = "matrix") -> Orientation:
    """Which way round a table is, NaN where a cell is empty: by shape, then empty cells, then zeros, else as said.

    LogError where no matrix has this shape, or where two of these contradict each other. What was
    said goes before zeros, which may have been measured.
    """
    shown = f"{source}: {cells.shape[0]} rows × {cells.shape[1]} columns"
    if not fits(*cells.shape):
        raise LogError(
            f"{shown} is not an accuracy matrix",
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
            file=shown,
        )
    certain = shape or empty
    if certain:
        beyond = "column" if certain == "evaluated" else "row"
        why = f"a {beyond} from before any learning stands in front" if shape else _half_is(certain, "empty")
        if said and said != certain:
            raise LogError(f"{why}, so {ROWS[certain]}", f"say --rows {certain}, or leave it out", file=source)
        return Orientation(certain, why)
    if _is_diagonal(square):
        return Orientation(said, "values on the diagonal alone" if len(square) > 1 else "", either=True)
    if said:
        return Orientation(said, "as told")
    zeros = None if np.isnan(cells).any() or len(square) < 3 else _by_half(square == 0, other_without=True)
    return Orientation(zeros, _half_is(zeros, "0") if zeros else "")


def orientations(tables: Sequence[tuple[str, Array]], said: Rows | None = None) -> tuple[Orientation, ...]:
    """Which way round each of several matrices is that belong together: a stack, or a folder.

    Those that decide must agree (LogError names two that do not), and the others follow them. Each
    table comes with the name that messages call it by. Where none decides, `rows` stays None.
    """
    each = [orientation(cells, said, source) for source, cells in tables]
    deciding = {one.rows: source for one, (source, _) in zip(each, tables, strict=True) if one.rows and not one.either}
    if len(deciding) > 1:
        first, second = (f"in {deciding[rows]} {ROWS[rows]}" for rows in ROWS)
        raise LogError(
            f"{first}, {second}", "matrices that are read together are one way round: correct one, or read them apart"
        )
    rows, leader = next(iter(deciding.items()), (None, ""))
    return tuple(
        replace(one, rows=one.rows or rows, because=one.because or (f"as in {leader}" if rows else "")) for one in each
    )


def undecided(cells: Array, source: str) -> LogError:
    """What to say of a matrix whose cells do not tell which way round it is."""
    filled = "gaps in both halves" if np.isnan(cells).any() else "every cell is filled"
    return LogError(
        f"{len(cells)} × {len(cells)} and {filled}, so the cells do not tell what its rows are",
        "say --rows evaluated if row i holds task i, evaluated after each task was learned, or --rows "
        "learned if row j holds all tasks, evaluated after the j-th was learned (GEM, Avalanche, Mammoth)",
        file=source,
    )


def _by_shape(cells: Array) -> tuple[Rows | None, Array]:
    """What the shape tells, and the square part: all but what is from before any learning."""
    height, width = cells.shape
    if width > height:
        return "evaluated", cells[:, 1:]
    if height > width:
        return "learned", cells[1:]
    return None, cells


def _by_half(marked: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], *, other_without: bool = False) -> Rows | None:
    """Which half alone is marked throughout: the one below the diagonal is before learning where rows are evaluated.

    `other_without` asks that no cell of the other half is marked.
    """
    below, above = marked[np.tril_indices_from(marked, k=-1)], marked[np.triu_indices_from(marked, k=1)]
    if not below.size or below.all() == above.all():
        return None
    if other_without and (above if below.all() else below).any():
        return None
    return "evaluated" if below.all() else "learned"


def _is_diagonal(square: Array) -> bool:
    """Whether there is nothing beside the diagonal: all cells there are empty, or nothing is and all are 0."""
    beside = square[~np.eye(len(square), dtype=bool)]
    return bool(np.isnan(beside).all() or not (np.isnan(square).any() or beside.any()))


def _half_is(rows: Rows, what: str) -> str:
    return f"every cell {_WHERE[rows]} the diagonal is {what}"
