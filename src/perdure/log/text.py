"""Delimited text taken apart: cells, records and headers, for every reader; a quoted cell may hold any sign."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from itertools import islice

import numpy as np
import numpy.typing as npt

from perdure.lazy import pl

__all__ = ["Marks", "cells", "header_names", "parsed", "records", "rows_of", "scanned", "separator_of", "unreadable"]

Marks = npt.NDArray[np.bool_]

_CHUNK = 1 << 24
_NEWLINE, _QUOTE = 10, 34


def separator_of(text: str) -> str:
    """What stands between the cells: tabs where the first line that is not blank has one, else commas."""
    return "\t" if "\t" in text.lstrip("\r\n").partition("\n")[0] else ","


def records(text: str, separator: str, most: int | None = None) -> list[tuple[int, list[str]]]:
    """The cells of each record, or of the first so many, with the line that it begins on."""
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        found, begins = [], 1
        for fields in islice(reader, most):
            found.append((begins, fields))
            begins = reader.line_num + 1
        return found
    finally:
        csv.field_size_limit(limit)


def rows_of(text: str, separator: str, most: int | None = None) -> list[list[str]]:
    """The cells of each record, or of the first so many, without the blanks about them."""
    return [[cell.strip() for cell in fields] for _, fields in records(text, separator, most)]


def cells(text: str, separator: str) -> list[str]:
    """The cells of the first record, without the blanks about them."""
    return next(iter(rows_of(text, separator, 1)), [])


def header_names(line: bytes, errors: str = "strict") -> tuple[str, ...]:
    """The columns that the first line of a log names."""
    names = line.decode("utf-8", errors).removeprefix("\ufeff").rstrip("\r").split("\t")
    return tuple(name.strip('"') for name in names)


def parsed(
    body: bytes, schema: Mapping[str, pl.DataType], separator: str = "\t", null_values: str | None = None
) -> pl.DataFrame:
    """Records without a header as columns; a blank cell is null, `""` is empty. PolarsError where they do not parse."""
    if not body:
        return pl.DataFrame(schema=dict(schema))
    return pl.read_csv(body, separator=separator, has_header=False, schema=dict(schema), null_values=null_values)


def unreadable() -> tuple[type[BaseException], ...]:
    """What Polars raises on a file that it cannot read."""
    return pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError


def scanned(data: bytes, separator: int) -> Iterator[tuple[Marks, Marks, Marks]]:
    """Piece by piece: which bytes are newlines, which of these end a record, and which part its cells.

    Counting quotes is enough to know what lies within them: a doubled quote opens and closes at once.
    """
    codes = np.frombuffer(data, np.uint8)
    quoted, inside = b'"' in data, False
    for start in range(0, codes.size, _CHUNK):
        chunk = codes[start : start + _CHUNK]
        newline, cut = chunk == _NEWLINE, chunk == separator
        if not quoted:
            yield newline, newline, cut
            continue
        within = np.bitwise_xor.accumulate(chunk == _QUOTE) ^ inside
        inside = bool(within[-1])
        yield newline, newline & ~within, cut & ~within
