"""What a table in a text file is, at a glance: long, wide, triplets or an accuracy matrix."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Literal

from perdure import files
from perdure.log.formats import packed
from perdure.log.formats.column_names import table_shape
from perdure.log.formats.matrix_labels import blank, is_matrix, number
from perdure.log.read import Options
from perdure.log.rows import cells, rows_of, separator_of

__all__ = [
    "Shape",
    "beginning",
    "content_of",
    "shape_of",
]

Shape = Literal["long", "wide", "triplets", "tagged", "matrix"]

_GLANCE = 1 << 16
_MATRIX_AT_MOST = 1 << 22  # bytes of a matrix with names about it: about 450 tasks
_DEFAULTS = Options()


def shape_of(path: Path, options: Options = _DEFAULTS) -> Shape | None:
    """What the text file at `path` holds, by its header and, for a matrix, by its cells; None where nothing fits.

    A header with a name of the long table, or with a column that the options map, is long. A first
    line of numbers alone starts a matrix even where it makes none: its reader says best what is wrong.
    """
    if packed.inner_kind(path) not in packed.SEPARATORS:
        return None
    head = beginning(path, _GLANCE)
    first = cells(head, separator_of(head))
    if not any(first):
        return None
    if all(blank(cell) or number(cell) is not None for cell in first):
        return "matrix" if len(first) > 1 or not head.strip().count("\n") else None
    named = table_shape(first, options)
    if named is not None:
        return named
    return "matrix" if _is_small_matrix(path, head) else None


def content_of(path: Path, limit: float) -> bytes:
    """What a file holds, unpacked to at most `limit` MiB; OSError where it is no regular file or cannot be read.

    Nothing else is opened: a pipe would keep its reader waiting.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "no regular file")
    if packed.kind(path) != packed.inner_kind(path):
        return packed.content(path, limit)
    with files.opened(path) as file:
        return file.read()


def beginning(path: Path, most: int) -> str:
    """The first `most` bytes of a text file; empty where there is none that can be read."""
    return packed.beginning(path, most).decode("utf-8-sig", errors="replace") if path.is_file() else ""


def _is_small_matrix(path: Path, head: str) -> bool:
    """Whether a table with names about it is a matrix; one look at its second line rules most others out."""
    second = next(iter(rows_of(head, separator_of(head), 2)[1:]), [])
    if any(not blank(cell) and number(cell) is None for cell in second[1:]):
        return False
    text = beginning(path, _MATRIX_AT_MOST + 1).rstrip()
    if len(text) > _MATRIX_AT_MOST:
        return False
    return is_matrix(rows_of(text, separator_of(text)))
