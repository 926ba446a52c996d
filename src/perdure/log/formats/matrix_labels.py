"""A small table taken apart: the labels about it, and the numbers inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from perdure.errors import LogError
from perdure.frozen import frozen

__all__ = ["Array", "Labelled", "blank", "fits", "is_matrix", "number", "taken_apart", "unlabelled"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Names = tuple[str, ...] | None

_NOTHING = frozenset({"", "nan", "-", "–", "—"})
# The labels that may be left out, a first row and a first column, most of them first.
_LABELS = ((1, 1), (1, 0), (0, 1), (0, 0))


@frozen(eq=False)
class Labelled:
    """The numbers of a table, NaN where a cell is empty, and what its rows and columns are called."""

    cells: Array
    row_names: Names = None
    column_names: Names = None
    notes: tuple[str, ...] = ()
    percent: bool = False
    """Whether every number has a percent sign."""


def fits(rows: int, columns: int) -> bool:
    """Whether a table of this shape can be an accuracy matrix: one task, T × T, or one more row or column."""
    return (rows, columns) == (1, 1) or (min(rows, columns) > 1 and abs(rows - columns) <= 1)


def blank(text: str) -> bool:
    """Whether a cell says that nothing was measured: it is empty, a dash as papers print it, or numpy.savetxt's nan."""
    return text.lower() in _NOTHING


def number(text: str) -> float | None:
    """The finite number that `text` writes, with or without a percent sign, or None."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in text else None


def unlabelled(cells: Array) -> Labelled:
    """A table of numbers without a first row or column that only counts: 0 … n − 1 or 1 … n in order.

    A blank corner belongs to neither. Labels are left out only where what remains can be a matrix.
    """
    header, index = _labels(cells, np.zeros(cells.shape, dtype=bool)) or (0, 0)  # an empty one has none
    return Labelled(cells[header:, index:], notes=tuple(_counted(cells, header, index)))


def taken_apart(lines: Sequence[Sequence[str]], source: str) -> Labelled:
    """A table of text, with or without a header and an index, each of names or of numbers that only count.

    LogError names line and cell of what is neither a number nor a name in its place.
    """
    for at, line in enumerate(lines, start=1):
        if len(line) != len(lines[0]):
            raise LogError(
                f"{len(line)} cells where line 1 has {len(lines[0])}",
                "keep the delimiters of empty cells",
                file=source,
                line=at,
            )
    values, words = _parsed(lines)
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
    inside = [cell for line in lines[header:] for cell in line[index:] if not blank(cell)]
    signed = [cell for cell in inside if cell.endswith("%")]
    if signed and len(signed) < len(inside):
        bare = next(cell for cell in inside if not cell.endswith("%"))
        raise LogError(
            f"{signed[0]!r} has a percent sign, {bare!r} has none", "write all numbers in one way", file=source
        )
    return Labelled(
        values[header:, index:],
        tuple(line[0] for line in lines[header:]) if words[header:, :index].any() else None,
        tuple(lines[0][index:]) if words[:header, index:].any() else None,
        tuple(_counted(values, header, index)),
        percent=bool(signed),
    )


def is_matrix(lines: Sequence[Sequence[str]]) -> bool:
    """Whether a table of text has the shape of an accuracy matrix, and numbers or nothing inside.

    One number with names about it may be anything.
    """
    if not lines or any(len(line) != len(lines[0]) for line in lines):
        return False
    values, words = _parsed(lines)
    labels = _labels(values, words)
    inside = None if labels is None else values[labels[0] :, labels[1] :]
    return inside is not None and fits(*inside.shape) and inside.size > 1


def _parsed(lines: Sequence[Sequence[str]]) -> tuple[Array, Mask]:
    """The numbers, NaN where there is none, and which cells hold something that is no number."""
    found = [[number(cell) for cell in line] for line in lines]
    values = np.array([[np.nan if one is None else one for one in row] for row in found], dtype=np.float64)
    filled = np.array([[not blank(cell) for cell in line] for line in lines], dtype=bool)
    return values, filled & np.isnan(values)


def _labels(values: Array, words: Mask) -> tuple[int, int] | None:
    """How many first rows and first columns are labels, 0 or 1 each; None where words remain inside.

    As many as leave a table that fits; where none does, as few as take the words away.
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
    """Whether a first row, or column, is names throughout, or counts; its corner may be blank or a word in both."""
    if not len(values):
        return False
    corner = 1 if np.isnan(values[0]) else 0
    if words[1:].any() or (len(words) == 1 and words[0]):
        return bool(corner) and bool(words[1:].all())
    counted = values[corner:]
    steps = np.arange(len(counted), dtype=np.float64)
    return bool(len(counted)) and (np.array_equal(counted, steps) or np.array_equal(counted, steps + 1))


def _misplaced(words: Mask) -> tuple[int, int]:
    """The first word that cannot be a name: inside where there is one, else in the first row or column."""
    inside = words.copy()
    inside[0] = inside[:, 0] = False
    row, column = np.argwhere(inside if inside.any() else words)[0]
    return int(row), int(column)


def _counted(values: Array, header: int, index: int) -> Iterator[str]:
    """Which labels only count: numbers that were not read as values are said."""
    for there, what, line in ((header, "row", values[:1].ravel()), (index, "column", values[:, :1].ravel())):
        known = line[~np.isnan(line)]
        if there and len(known):
            yield f"its first {what} only counts ({known[0]:g} … {known[-1]:g}), and was read as labels"
