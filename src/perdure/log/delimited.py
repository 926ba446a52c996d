"""Delimited text as tables in which every row knows its file and line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perdure import files
from perdure.errors import LogError
from perdure.frozen import frozen
from perdure.lazy import pl
from perdure.log import text
from perdure.log.problem import Note, Problem

__all__ = ["Part", "Table", "bytes_of", "table_in", "tables"]

Counts = npt.NDArray[np.int64]


@frozen(eq=False)
class Part:
    """One file's share of a table: where its rows begin, and the line of each.

    `lines` is None where every row is one line and the first stands on line 2; `counted` is "row"
    for files that have no lines, and are counted from 1.
    """

    path: Path
    start: int
    lines: Counts | None = None
    counted: str = "line"

    def refusal(self, row: int, what: str, fix: str) -> LogError:
        """What is wrong with a row of this part, at its line."""
        within, first = row - self.start, 1 if self.counted == "row" else 2
        line = within + first if self.lines is None else int(self.lines[within])
        if self.counted == "row":
            return LogError(what, fix, file=f"{self.path}, row {line}")
        return LogError(what, fix, file=self.path, line=line)


@frozen(eq=False)
class Table:
    """Rows of one or several files that have the same columns."""

    rows: pl.DataFrame
    parts: tuple[Part, ...]
    called: Mapping[str, str] = field(default_factory=dict)
    """What the files call a column that has another name here."""

    def refusal(self, row: int, what: str, fix: str) -> LogError:
        """What is wrong with a row, in its file, at its line."""
        starts = [part.start for part in self.parts]
        return self.parts[int(np.searchsorted(starts, row, side="right")) - 1].refusal(row, what, fix)

    def taken(self, rows: pl.DataFrame, origins: Counts) -> Table:
        """Other rows, made of the rows `origins` of this table, which has one file: each keeps its line."""
        (part,) = self.parts
        first = 1 if part.counted == "row" else 2
        lines = origins + first if part.lines is None else part.lines[origins]
        return Table(rows, (Part(part.path, 0, lines, part.counted),), self.called)

    def call(self, name: str) -> str:
        """A column as messages name it: by our name, with the file's where that differs."""
        theirs = self.called.get(name, name)
        return name if theirs == name else f"{name} ({theirs!r} in the file)"


@frozen(eq=False)
class _File:
    """A file that is read, and where its lines end."""

    path: Path
    header: tuple[str, ...]
    body: bytes
    ends: Counts
    lines: Counts | None


def tables(files: Iterable[Path], separator: str, notes: list[str], root: Path | None = None) -> list[Table]:
    """The rows of `files`, all columns as text; files with the same header make one table.

    A last line without its newline is torn, even where it parses: it is left out, and `notes` says
    so, with paths relative to `root`. LogError names the line where text is not UTF-8, holds a NUL
    byte, or has more or fewer fields than its header.
    """
    groups: dict[tuple[str, ...], list[_File]] = {}
    for path in files:
        content = bytes_of(path)
        shown = path.relative_to(root) if root else path.name
        if file := _file(path, content, separator, notes, shown):
            groups.setdefault(file.header, []).append(file)
    return [_joined(header, group, separator) for header, group in groups.items()]


def table_in(content: bytes, path: Path, separator: str, notes: list[str]) -> Table | None:
    """The rows in `content`, read from `path`, all columns as text; None, and a note, where there are none."""
    file = _file(path, content, separator, notes, path.name)
    return _joined(file.header, [file], separator) if file else None


def bytes_of(path: Path) -> bytes:
    """What a file holds; LogError where it cannot be read."""
    try:
        return files.read_bytes(path)
    except OSError as problem:
        raise LogError(f"cannot be read: {problem.strerror}", "let it be read, or leave it out", file=path) from problem


def _file(path: Path, content: bytes, separator: str, notes: list[str], shown: Path | str) -> _File | None:
    data = content.removeprefix(b"\xef\xbb\xbf")
    if not data:
        notes.append(_harmless(shown, "an empty file, no record in it"))
        return None
    ends, separators, lines = _layout(data, ord(separator))
    whole = int(ends[-1]) + 1 if ends.size else 0
    last = int(lines[-1]) if lines.size else 1
    if data.count(b'"') % 2 and b"\n" in data[whole:]:
        raise LogError(
            "a quote in the record that begins here is never closed", "close it, or remove it", file=path, line=last
        )
    if whole < len(data):
        what = f"the last line is torn ({len(data) - whole} bytes without a newline); left out "
        what += "(if it is whole, add the newline)"
        notes.append(Note(Problem("error", str(shown), last, what, "cut the file after its last newline", True)))
    data = data[:whole]
    if not data:
        return None
    _refuse_foreign_bytes(path, data)
    kept = ends.size - _blank_tail(data)
    ends, separators, lines = ends[:kept], separators[:kept], lines[:kept]
    if not ends.size:
        notes.append(_harmless(shown, "only blank lines, no record in it"))
        return None
    header = _header(path, data[: int(ends[0])], separator)
    uneven = np.flatnonzero(separators != len(header) - 1)
    if uneven.size:
        first = int(uneven[0])
        line = 1 if first == 0 else int(lines[first - 1])
        raise LogError(
            f"{int(separators[first]) + 1} fields where the header has {len(header)}",
            "give every line as many fields as the header, and quote a field that holds the separator",
            file=path,
            line=line,
        )
    start = int(ends[0]) + 1
    broken = b'"' in data and int(lines[-1]) != lines.size + 1
    return _File(path, header, data[start : int(ends[-1]) + 1], ends[1:] - start, lines[:-1] if broken else None)


def _harmless(shown: Path | str, what: str) -> Note:
    return Note(Problem("warning", str(shown), None, what, "harmless", True))


def _refuse_foreign_bytes(path: Path, data: bytes) -> None:
    at = data.find(b"\x00")
    if at >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise LogError("a NUL byte", "this is not text, or it was damaged", file=path, line=line)
    if data.isascii():
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise LogError(
            f"not UTF-8 text (byte 0x{data[problem.start]:02x}: {problem.reason})",
            "save it as UTF-8",
            file=path,
            line=line,
        ) from problem


def _layout(data: bytes, separator: int) -> tuple[Counts, Counts, Counts]:
    """Where records end, how many separators each has, and on which line the next begins."""
    at, separators_before, newlines_before = 0, 0, 0
    ends, separators, lines = [], [], []
    for newlines, ending, cutting in text.scanned(data, separator):
        end, cuts, every = np.flatnonzero(ending), np.flatnonzero(cutting), np.flatnonzero(newlines)
        ends.append(end + at)
        separators.append(np.searchsorted(cuts, end) + separators_before)
        lines.append(np.searchsorted(every, end, side="right") + newlines_before + 1)
        at, separators_before, newlines_before = (
            at + ending.size,
            separators_before + cuts.size,
            newlines_before + every.size,
        )
    upto = np.concatenate(separators)
    upto[1:] -= upto[:-1].copy()
    return np.concatenate(ends), upto, np.concatenate(lines)


def _blank_tail(data: bytes) -> int:
    """How many blank lines follow the last record."""
    records = data.rstrip(b"\r\n")
    return data.count(b"\n", len(records)) - (1 if records else 0)


def _header(path: Path, line: bytes, separator: str) -> tuple[str, ...]:
    names = text.cells(line.decode("utf-8"), separator)
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise LogError(
            f"the header names {', '.join(map(repr, twice))} more than once", "rename one of them", file=path, line=1
        )
    taken = set(names)
    # Spreadsheets and pandas leave the name of an index column blank.
    return tuple(name or _unused(f"unnamed_{number}", taken) for number, name in enumerate(names, 1))


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _joined(header: tuple[str, ...], files: Sequence[_File], separator: str) -> Table:
    parts: list[Part] = []
    start = 0
    for file in files:
        parts.append(Part(file.path, start, file.lines))
        start += file.ends.size
    body = files[0].body if len(files) == 1 else b"".join(file.body for file in files)
    rows = _parsed(body, header, separator)
    if rows is not None and rows.height == start:
        return Table(rows, tuple(parts))
    for file, part in zip(files, parts, strict=True):  # one of them is broken: find out which
        rows = _parsed(file.body, header, separator)
        if rows is None or rows.height != file.ends.size:
            raise part.refusal(part.start + _first_broken(file, separator), *_QUOTES)
    raise AssertionError("files that parse one by one parse together")


_QUOTES = (
    "the quotes on this line do not fit",
    "a field that starts with a quote ends with one, and quotes in it are doubled",
)


def _parsed(body: bytes, header: Sequence[str], separator: str) -> pl.DataFrame | None:
    """Records as columns of text, or None where they do not parse."""
    try:
        return text.parsed(body, dict.fromkeys(header, pl.String()), separator)
    except pl.exceptions.PolarsError:
        return None


def _first_broken(file: _File, separator: str) -> int:
    """The first record that does not parse, by halving."""
    good, bad = 0, int(file.ends.size)
    while bad - good > 1:
        middle = (good + bad) // 2
        rows = _parsed(file.body[: int(file.ends[middle - 1]) + 1], file.header, separator)
        if rows is not None and rows.height == middle:
            good = middle
        else:
            bad = middle
    return good
