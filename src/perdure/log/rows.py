"""Read delimited text. Journals, learnkit trees, tables and `check` all use this module.

Files are read in pieces of whole records, about 16 MB each, and Polars parses them. Two counts show whether each record
has as many cells as the header. If they do not fit, or if Polars fails, `examine` reads the file again as text and
reports each line that is wrong: Polars' errors carry no line, and its row index is wrong after a quoted newline.
"""

from __future__ import annotations

import csv
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import numpy.typing as npt

from perdure import files
from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log.places import Source
from perdure.log.problem import Level, Note, Problem

Counts = npt.NDArray[np.int64]
Opened = Callable[[Source], AbstractContextManager[IO[bytes]]]

_PIECE_BYTES = 1 << 24
_RECORD_BYTES = 1 << 26  # a longer record is an unclosed quote, or not a table
_SCANNED_BYTES = 1 << 24
_NEWLINE, _QUOTE = 10, 34
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class UnparsedError(Exception):
    """Some line does not fit; `examine` finds out which. Never leaves `perdure.log`."""


class Checksums(msgspec.Struct, frozen=True):
    """CRC-32 of the first bytes of files, taken while they are read."""

    lengths: Mapping[str, int] = msgspec.field(default_factory=dict)
    """The number of bytes of each file, by its relative path."""
    found: dict[str, int] = msgspec.field(default_factory=dict)


class RecordSpan(msgspec.Struct, frozen=True, eq=False):
    """Whole records of one file, without its header."""

    source: Source
    body: bytes
    line: int
    """The line of the first record."""


class Piece(msgspec.Struct, frozen=True, eq=False):
    """Records of one file, or of several files with the same header."""

    header: tuple[str, ...]
    spans: tuple[RecordSpan, ...]

    @property
    def path(self) -> Path:
        """The first file."""
        return self.spans[0].source.path


class Part(msgspec.Struct, frozen=True, eq=False):
    """The rows of a table that come from one file, or from one piece of it.

    `lines` holds the line of each row; None if each row is one line and the first is on line `first`. `counted` is
    "row" for files that have no lines.
    """

    path: Path
    start: int
    lines: Counts | None = None
    counted: str = "line"
    first: int = 2

    def lines_of(self, rows: Counts) -> Counts:
        """Return the lines of some rows of this part."""
        if self.lines is not None:
            lines: Counts = self.lines[rows - self.start]
            return lines
        return rows - self.start + (1 if self.counted == "row" else self.first)


class TextTable(msgspec.Struct, frozen=True, eq=False):
    """Rows of one or several files that have the same columns."""

    rows: pl.DataFrame
    parts: tuple[Part, ...]
    called: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The files' name of each column that has another name here."""

    def refusal(self, row: int, what: str, fix: str) -> LogError:
        """Return an error that names the file and line of a row."""
        part = self.parts[int(np.searchsorted([part.start for part in self.parts], row, side="right")) - 1]
        line = int(part.lines_of(np.array([row]))[0])
        if part.counted == "row":
            return LogError(what, fix, file=f"{part.path}, row {line}")
        return LogError(what, fix, file=part.path, line=line)

    def note(self, row: int, level: Level, what: str, fix: str) -> Note:
        """Return a note on a row, which readers work around."""
        place = self.refusal(row, what, fix)
        return Note(Problem(level, Path(place.file or ".").name, place.line, what, fix, tolerated=True))

    def taken(self, rows: pl.DataFrame, origins: Counts) -> TextTable:
        """Return a table of `rows`, which come from the rows `origins` of this table; it has one file."""
        starts = [part.start for part in self.parts]
        owner = np.searchsorted(starts, origins, side="right") - 1
        lines = np.empty(len(origins), np.int64)
        for number in np.unique(owner).tolist():
            lines[owner == number] = self.parts[number].lines_of(origins[owner == number])
        return TextTable(rows, (Part(self.parts[0].path, 0, lines, self.parts[0].counted),), self.called)

    def call(self, name: str) -> str:
        """Return the name of a column for messages: ours, and the file's if that differs."""
        original = self.called.get(name, name)
        return name if original == name else f"{name} ({original!r} in the file)"


class Examined(msgspec.Struct, frozen=True, eq=False):
    """One file, gone through record by record."""

    header: tuple[str, ...]
    table: pl.DataFrame | None
    """The sound records: `line`, then every column as text. None if there are none."""
    problems: tuple[Problem, ...]


def pieces(
    sources: Iterable[Source],
    notes: list[str],
    checksums: Checksums | None = None,
    separator: str = "\t",
    opened: Opened | None = None,
) -> Iterator[Piece]:
    """Read files in pieces of whole records; small files with the same header share a piece.

    A last line without its newline is torn, even if it parses: it is left out, with a note. Raise `UnparsedError` if a
    quote is never closed.
    """
    header: tuple[str, ...] = ()
    spans: list[RecordSpan] = []
    size = 0
    for source in sources:
        for names, span in _spans(source, notes, checksums or Checksums(), separator, opened or _open):
            if spans and (names != header or size >= _PIECE_BYTES):
                yield Piece(header, tuple(spans))
                spans, size = [], 0
            header = names
            spans.append(span)
            size += len(span.body)
    if spans:
        yield Piece(header, tuple(spans))


def _spans(
    source: Source, notes: list[str], checksums: Checksums, separator: str, opened: Opened
) -> Iterator[tuple[tuple[str, ...], RecordSpan]]:
    header: tuple[str, ...] = ()
    rest, line, crc, position = b"", 1, 0, 0
    length = checksums.lengths.get(source.relative)
    with files.reading(source.name), opened(source) as stream:
        while chunk := stream.read(min(_PIECE_BYTES, source.size - position)):
            if length is not None and position < length:
                crc = zlib.crc32(chunk[: length - position], crc)
            data = rest + (chunk if position else chunk.removeprefix(_BYTE_ORDER_MARK))
            position += len(chunk)
            end = end_of_records(data)
            body, rest = data[:end], data[end:]
            if body and not header:
                cut = _end_of_first(body)
                header = header_names(body[: cut - 1], separator, source.path)
                line += body.count(b"\n", 0, cut)
                body = body[cut:]
            if body:
                yield header, RecordSpan(source, body[: len(body) - _blank_tail(body)], line)
                line += body.count(b"\n")
            if len(rest) > _RECORD_BYTES:
                raise UnparsedError(f"a record of more than {_RECORD_BYTES >> 20} MiB")
    if length is not None:
        checksums.found[source.relative] = crc
    if b"\n" in rest:
        raise UnparsedError("a quote is never closed")
    if not position:
        notes.append(Note(_empty(source.relative)))
    elif rest:
        notes.append(Note(_torn(source.relative, line, rest)))


def parse(
    piece: Piece, schema: Mapping[str, pl.DataType], separator: str = "\t", null_values: str | None = None
) -> tuple[pl.DataFrame, list[tuple[int, Counts | None]]]:
    """Parse a piece; return its rows and, for each span, the number of records and the line of each.

    The lines are None if every record is one line. Raise `UnparsedError` if a record does not fit its header or types.
    """
    body = b"".join(span.body for span in piece.spans)
    if b"\0" in body:
        raise UnparsedError("a NUL byte, which is not text")
    try:
        rows = pl.read_csv(
            body,
            separator=separator,
            has_header=False,
            schema=dict(schema),
            null_values=null_values,
            raise_if_empty=False,
        )
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as problem:
        raise UnparsedError(str(problem)) from problem
    newlines = body.count(b"\n")
    fits = rows.height == newlines and body.count(separator.encode()) == (len(piece.header) - 1) * newlines
    # A quoted separator can make up for one that is missing; Polars fills a record that is too short with nulls.
    if fits and (b'"' not in body or not rows.get_column(rows.columns[-1]).null_count()):
        return rows, [(span.body.count(b"\n"), None) for span in piece.spans]
    counts = [_count(span, len(piece.header), separator) for span in piece.spans]
    if sum(count for count, _ in counts) != rows.height:
        raise UnparsedError("quotes that do not fit")
    return rows, counts


def tables(
    sources: Sequence[Source], separator: str, notes: list[str], opened: Opened | None = None
) -> list[TextTable]:
    """Read files as text; those with the same header make one table.

    Raise LogError with file and line for text that is not UTF-8, for a NUL byte, for quotes that do not fit, and for
    more or fewer cells than the header has.
    """
    frames: dict[tuple[str, ...], list[pl.DataFrame]] = {}
    parts: dict[tuple[str, ...], list[Part]] = {}
    heights: Counter[tuple[str, ...]] = Counter()
    piece = None
    try:
        for piece in pieces(sources, notes, None, separator, opened):
            header = _unique_names(piece.header, piece.path)
            rows, counts = parse(piece, dict.fromkeys(header, pl.String()), separator)
            frames.setdefault(header, []).append(rows)
            for span, (count, lines) in zip(piece.spans, counts, strict=True):
                parts.setdefault(header, []).append(Part(span.source.path, heights[header], lines, first=span.line))
                heights[header] += count
    except UnparsedError as problem:
        raise first_error(sources, separator, str(problem), opened) from problem
    return [
        TextTable(frame[0] if len(frame) == 1 else pl.concat(frame), tuple(parts[header]))
        for header, frame in frames.items()
    ]


def table_in(content: bytes, path: Path, separator: str, notes: list[str], line: int = 1) -> TextTable | None:
    """Return the rows in `content` as text; None, with a note, if there are none. The header is on line `line`."""
    source = Source(str(path), path.name, len(content))
    try:
        frames = tables([source], separator, notes, lambda _: io.BytesIO(content))
    except LogError as problem:
        raise LogError(problem.detail, problem.fix, file=path, line=(problem.line or 1) + line - 1) from problem
    if not frames:
        return None
    shifted = (_shift(part, line - 1) for part in frames[0].parts)
    return frames[0] if line == 1 else TextTable(frames[0].rows, tuple(shifted))


def first_error(sources: Iterable[Source], separator: str, otherwise: str, opened: Opened | None = None) -> LogError:
    """Return an error for the first line that is wrong in any of the files."""
    path = None
    for source in sources:
        path = source.path
        with files.reading(source.name), (opened or _open)(source) as stream:
            content = b"".join(iter(partial(stream.read, _PIECE_BYTES), b""))[: source.size]
        for problem in examine(source.relative, content, separator).problems:
            if problem.level == "error" and not problem.tolerated:
                return LogError(problem.what, problem.fix, file=path, line=problem.line)
    return LogError(f"cannot be read as a table: {otherwise}", "write it again", file=path)


def examine(file: str, content: bytes, separator: str = "\t") -> Examined:
    """Go through delimited text record by record; nothing is assumed about it."""
    data = content.removeprefix(_BYTE_ORDER_MARK)
    if not data:
        return Examined((), None, (_empty(file),))
    problems: list[Problem] = []
    ends, separators, next_lines = _layout(data, ord(separator))
    end = int(ends[-1]) + 1 if ends.size else 0
    if end < len(data):
        line = int(next_lines[-1]) if ends.size else 1
        if b"\n" in data[end:]:
            what = "a quote in the record that begins here is never closed"
            problems.append(Problem("error", file, line, what, "close it, or remove it"))
        else:
            problems.append(_torn(file, line, data[end:]))
    data = data[:end]
    problems += _foreign_bytes(file, data)
    count = ends.size - data.count(b"\n", len(data) - _blank_tail(data))
    if not count:
        if data:
            problems.append(Problem("warning", file, None, "only blank lines, no record in it", "harmless", True))
        return Examined((), None, tuple(problems))
    starts, lines = np.append(0, ends[:-1] + 1)[1:count], next_lines[: count - 1]
    ends, separators, first_end = ends[1:count], separators[1:count], int(ends[0])
    header = tuple(_names(data[:first_end].decode("utf-8", "replace"), separator))
    if not ends.size:
        problems.append(Problem("warning", file, 1, "a header only, no record", "harmless", True))
        return Examined(header, None, tuple(problems))
    even = separators == len(header) - 1
    for record in np.flatnonzero(~even).tolist():
        text = data[int(starts[record]) : int(ends[record])].decode("utf-8", "replace")
        problems.append(_ragged(file, int(lines[record]), int(separators[record]) + 1, len(header), text))
    body = data[int(starts[0]) : int(ends[-1]) + 1]
    if not even.all():
        body = np.frombuffer(body, np.uint8)[np.repeat(even, ends - starts + 1)].tobytes()
    table, broken = _as_text(body.replace(b"\0", b""), lines[even], header, separator)
    if broken is not None:
        what, fix = "the quotes on this line do not fit", "close each quote, and double the quotes inside a quoted cell"
        problems.append(Problem("error", file, broken, what, fix))
    return Examined(header, table, tuple(problems))


def _as_text(
    body: bytes, lines: Counts, header: Sequence[str], separator: str
) -> tuple[pl.DataFrame | None, int | None]:
    """Return sound records with their lines; if Polars refuses them, no table and the line of the first broken one."""
    if not lines.size or len(set(header)) != len(header):
        return None, None
    body = body.decode("utf-8", "replace").encode()
    table = _text_frame(body, len(header), separator)
    if table is not None and table.height == lines.size:
        table.columns = list(header)
        return table.insert_column(0, pl.Series("line", lines, pl.Int64)), None
    ends, _, _ = _layout(body, ord(separator))
    good, bad = 0, int(ends.size)
    while bad - good > 1:  # the first record that does not parse, by halving
        middle = (good + bad) // 2
        part = _text_frame(body[: int(ends[middle - 1]) + 1], len(header), separator)
        good, bad = (middle, bad) if part is not None and part.height == middle else (good, middle)
    return None, int(lines[min(good, lines.size - 1)])


def _text_frame(body: bytes, width: int, separator: str) -> pl.DataFrame | None:
    schema = {f"column_{number}": pl.String() for number in range(width)}
    try:
        return pl.read_csv(body, separator=separator, has_header=False, schema=schema)
    except (pl.exceptions.PolarsError, UnicodeDecodeError):
        return None


def _foreign_bytes(file: str, data: bytes) -> Iterator[Problem]:
    """Yield a problem for NUL bytes, and one for bytes that are not UTF-8."""
    nul = data.find(b"\0")
    if nul >= 0:
        what = f"a NUL byte ({data.count(bytes(1))} in this file): it is not text, or it was damaged"
        yield Problem("error", file, data.count(b"\n", 0, nul) + 1, what, "restore this part from a copy")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        what = f"not UTF-8 text (byte 0x{data[problem.start]:02x}: {problem.reason})"
        yield Problem("error", file, data.count(b"\n", 0, problem.start) + 1, what, "save it as UTF-8")


def _empty(file: str) -> Problem:
    return Problem("warning", file, None, "an empty file, no record in it", "harmless", True)


def _torn(file: str, line: int, text: bytes) -> Problem:
    excerpt = text[:60].decode("utf-8", "replace")
    what = f"the last line is torn ({len(text)} bytes without a newline); left out: {excerpt!r}"
    return Problem("error", file, line, what, "restore it from a copy, or add the newline if the line is whole", True)


def _ragged(file: str, line: int, fields: int, width: int, text: str) -> Problem:
    excerpt = text[:60] + ("…" if len(text) > 60 else "")
    what = f"{fields} fields where the header has {width} ({excerpt!r})"
    fix = "restore a line that was torn or joined with the next, or quote a cell that holds the separator"
    return Problem("error", file, line, what, fix)


def _count(span: RecordSpan, width: int, separator: str) -> tuple[int, Counts | None]:
    """Return the number of records, and their lines if some have several. Raise UnparsedError if widths differ."""
    ends, separators, next_lines = _layout(span.body, ord(separator))
    if not ends.size or int(ends[-1]) != len(span.body) - 1 or (separators != width - 1).any():
        raise UnparsedError("a line with more or fewer cells than the header")
    if int(next_lines[-1]) == ends.size + 1:
        return ends.size, None
    return ends.size, np.append(1, next_lines[:-1]) + (span.line - 1)


def _layout(data: bytes, separator: int) -> tuple[Counts, Counts, Counts]:
    """Return the end of each record, its number of separators, and the first line of the next record.

    Counting quotes is enough to know what is inside them: a doubled quote closes and opens again.
    """
    codes = np.frombuffer(data, np.uint8)
    quoted, quote_open = b'"' in data, False
    offset, separators_before, newlines_before = 0, 0, 0
    ends, separators, lines = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for start in range(0, codes.size, _SCANNED_BYTES):
        chunk = codes[start : start + _SCANNED_BYTES]
        newlines = ending = chunk == _NEWLINE
        cutting = chunk == separator
        if quoted:
            within = np.bitwise_xor.accumulate(chunk == _QUOTE) ^ quote_open
            quote_open = bool(within[-1])
            ending, cutting = newlines & ~within, cutting & ~within
        end, cuts, every = np.flatnonzero(ending), np.flatnonzero(cutting), np.flatnonzero(newlines)
        ends.append(end + offset)
        separators.append(np.searchsorted(cuts, end) + separators_before)
        lines.append(np.searchsorted(every, end, side="right") + newlines_before + 1)
        offset, separators_before = offset + chunk.size, separators_before + cuts.size
        newlines_before += every.size
    widths = np.concatenate(separators)
    widths[1:] -= widths[:-1].copy()
    return np.concatenate(ends), widths, np.concatenate(lines)


def end_of_records(data: bytes) -> int:
    """Return the end of the last whole record: after the last newline that is not inside quotes."""
    end = data.rfind(b"\n") + 1
    while end and data.count(b'"', 0, end) % 2:
        end = data.rfind(b"\n", 0, data.rfind(b'"', 0, end)) + 1
    return end


def _end_of_first(data: bytes) -> int:
    end = data.find(b"\n") + 1
    while data.count(b'"', 0, end) % 2:
        end = data.find(b"\n", end) + 1
    return end


def _blank_tail(data: bytes) -> int:
    """Return the number of bytes in blank lines at the end."""
    stripped = data.rstrip(b"\r\n")
    return len(data) - (data.find(b"\n", len(stripped)) + 1) if stripped else len(data)


def _shift(part: Part, by: int) -> Part:
    return Part(part.path, part.start, None if part.lines is None else part.lines + by, part.counted, part.first + by)


def separator_of(text: str) -> str:
    """Return a tab if the first line that is not blank has one, else a comma."""
    return "\t" if "\t" in text.lstrip("\r\n").partition("\n")[0] else ","


def records(text: str, separator: str, most: int | None = None) -> list[tuple[int, list[str]]]:
    """Return the cells of each record, or of the first `most`, with the line that it begins on."""
    limit = csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        records, begins = [], 1
        for fields in islice(reader, most):
            records.append((begins, fields))
            begins = reader.line_num + 1
        return records
    finally:
        csv.field_size_limit(limit)


def rows_of(text: str, separator: str, most: int | None = None) -> list[list[str]]:
    """Return the cells of each record, or of the first `most`, without surrounding blanks."""
    return [[cell.strip() for cell in fields] for _, fields in records(text, separator, most)]


def cells(text: str, separator: str) -> list[str]:
    """Return the cells of the first record, without surrounding blanks."""
    return next(iter(rows_of(text, separator, 1)), [])


def header_names(line: bytes, separator: str = "\t", path: Path | None = None) -> tuple[str, ...]:
    """Return the columns that a header names; with `path`, raise LogError if it is not UTF-8 text."""
    try:
        text = line.decode("utf-8", "strict" if path else "replace")
    except UnicodeDecodeError as problem:
        what = f"not UTF-8 text (byte 0x{line[problem.start]:02x}: {problem.reason})"
        raise LogError(what, "save it as UTF-8", file=path, line=1) from problem
    return tuple(_names(text.removeprefix("\ufeff"), separator))


def _names(text: str, separator: str) -> list[str]:
    return cells(text.replace("\0", ""), separator) or [""]


def header_of(path: Path) -> tuple[tuple[str, ...], int]:
    """Return the column names of a journal's data file and the offset of its first record."""
    with files.open_regular(path) as file:
        begin = file.read(_PIECE_BYTES)
    end = begin.find(b"\n")
    return (header_names(begin[:end], path=path), end + 1) if end >= 0 else ((), len(begin))


def records_in(content: bytes) -> int:
    """Count the records that follow the header; a quoted newline is part of a cell."""
    ends = content.count(b"\n") if b'"' not in content else _layout(content, 0)[0].size
    return max(ends - 1, 0)


def _unique_names(names: Sequence[str], path: Path) -> tuple[str, ...]:
    counts = Counter(names)
    repeated = sorted(name for name, count in counts.items() if name and count > 1)
    if repeated:
        what = f"the header names {', '.join(map(repr, repeated[:5]))} more than once"
        raise LogError(what, "rename one of them", file=path, line=1)
    used = set(names)
    # Spreadsheets and pandas leave the name of an index column blank.
    return tuple(name or _unused(f"unnamed_{number}", used) for number, name in enumerate(names, 1))


def _unused(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    used.add(name)
    return name


def bytes_of(path: Path) -> bytes:
    """Return the content of a file; raise LogError if it cannot be read."""
    with files.reading(path):
        return files.read_bytes(path)


def json_in(
    content: bytes, path: Path, fix: str, what: str = "not JSON", kind: Any = Any, line: int | None = None
) -> Any:
    """Return the JSON value in `content`; raise LogError if there is none of this kind."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        reason = f"{what}: {problem}"
        raise LogError(reason, fix, file=path, line=line) from problem


def unreadable() -> tuple[type[BaseException], ...]:
    """Return the exceptions that Polars raises for a file that it cannot read."""
    return pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError


def _open(source: Source) -> IO[bytes]:
    return files.open_regular(source.name)
