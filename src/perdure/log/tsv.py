"""Many small TSV files as one table: found without following links, read in one columnar pass."""

from __future__ import annotations

import io
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

import numpy as np

from perdure import files
from perdure.errors import LogError
from perdure.frozen import frozen
from perdure.lazy import pl
from perdure.log import text

__all__ = [
    "DATA_FILE",
    "Checksums",
    "Source",
    "Unparsed",
    "beginning",
    "bodies",
    "header_of",
    "load",
    "log_order",
    "look_into",
    "parsed",
    "pieces",
    "records_in",
    "sources",
]

DATA_FILE = "data-log.tsv"
_HEADER_LIMIT = 1 << 20

# Records are gathered in memory and parsed together: opening files one by one in the parser takes four
# times as long for ten thousand small ones. A part at a time, so that the peak stays near the table's size.
_AT_ONCE = 1 << 24
_GLANCE = 1 << 12  # a header fits; what stands behind it is read to where it stays
_DEEPEST = 50

_NEWLINE = 10
_NUMBER = re.compile(r"\d+")


@frozen
class Source:
    """One data file of a log, as it was when the log was looked at."""

    name: str
    """Its path; as text, because a log may have ten thousand."""
    relative: str
    size: int
    mtime_ns: int

    @property
    def path(self) -> Path:
        return Path(self.name)


@frozen
class Checksums:
    """CRC-32 of the first bytes of files, taken while they are read."""

    lengths: Mapping[str, int] = field(default_factory=dict)
    """How many bytes of each file, by its relative path."""
    found: dict[str, int] = field(default_factory=dict)


class Unparsed(Exception):
    """The table as a whole does not parse; `perdure.log.check` finds out where. Never leaves this package."""


def sources(root: Path, name: str = DATA_FILE) -> tuple[Source, ...]:
    """Every file called `name` below `root`, in an order that no file system decides.

    A link that leads out of the folder is refused: what it points at is not part of this log.
    """
    found = look_into(root, "", name)
    found.sort(key=lambda source: log_order(source.relative))
    return tuple(found)


def look_into(root: Path, within: str = "", name: str = DATA_FILE) -> list[Source]:
    """The same of one folder of it, in any order; `within` is its path from the root with a slash behind it."""
    found: list[Source] = []
    waiting = [(f"{root}/{within}".rstrip("/"), within, within.count("/"))]
    while waiting:
        folder, relative, depth = waiting.pop()
        if depth > _DEEPEST:
            raise LogError(f"folders nested more than {_DEEPEST} deep", "this is not a log", file=root)
        try:
            entries = list(os.scandir(folder))
        except OSError as problem:
            raise LogError(f"cannot be listed ({problem.strerror})", "check its permissions", file=folder) from problem
        for entry in entries:
            here = f"{relative}{entry.name}"
            if entry.is_symlink() and (entry.name == name or not os.path.isfile(entry.path)):
                files.refuse_way_out(Path(entry.path), root)
            if entry.name == name:
                try:
                    state = entry.stat()
                    files.refuse_irregular(state)
                except OSError as problem:
                    raise LogError(
                        f"cannot be read: {problem.strerror}", "let it be read, or leave it out", file=entry.path
                    ) from problem
                found.append(Source(entry.path, here, state.st_size, state.st_mtime_ns))
            elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, f"{here}/", depth + 1))
    return found


def log_order(relative: str) -> tuple[int, str]:
    """Block folders by number (`2-test` before `10-train`), so that most logs are read in order."""
    number = _NUMBER.match(relative.rpartition("/")[0].rpartition("/")[2])
    return (int(number.group()) if number else -1, relative)


def header_of(path: Path) -> tuple[tuple[str, ...], int]:
    """The column names, and where the first record starts."""
    with files.opened(path) as file:
        names, start, _ = beginning(file, str(path))
    return names, start


def beginning(file: io.FileIO, name: str) -> tuple[tuple[str, ...], int, bytes]:
    """The column names, where the first record starts, and the bytes read on the way."""
    begun = file.read(_GLANCE)
    while b"\n" not in begun and len(begun) < _HEADER_LIMIT:
        more = file.read(len(begun))
        if not more:
            break
        begun += more
    end = begun.find(b"\n")
    if end < 0:
        return (), len(begun), begun
    try:
        return text.header_names(begun[:end]), end + 1, begun
    except UnicodeDecodeError as problem:
        raise LogError(
            f"the header is not UTF-8 text ({problem.reason})", "save it as UTF-8", file=name, line=1
        ) from problem


def records_in(content: bytes) -> int:
    """How many records follow the header; a newline within quotes is part of a cell."""
    return max(sum(int(np.count_nonzero(ending)) for _, ending, _ in text.scanned(content, 0)) - 1, 0)


def load(
    found: Sequence[Source],
    schema: Callable[[tuple[str, ...], Path], Mapping[str, pl.DataType]],
    notes: list[str],
    checksums: Checksums,
) -> pl.DataFrame | None:
    """All records of the files as one table; None where there are none."""
    frames = list(pieces(found, schema, notes, checksums))
    if not frames:
        return None
    return frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")


def pieces(
    found: Sequence[Source],
    schema: Callable[[tuple[str, ...], Path], Mapping[str, pl.DataType]],
    notes: list[str],
    checksums: Checksums,
) -> Iterator[pl.DataFrame]:
    """The records of the files in tables of some hundred thousand, none of them empty.

    `schema` gives the column types for a header, or raises. Raises Unparsed where some line does not fit its types.
    """
    for header, path, body in bodies(found, notes, checksums):
        frame = parsed(bytes(body), schema(header, path))
        if frame.height:
            yield frame


def bodies(
    found: Sequence[Source], notes: list[str], checksums: Checksums, at_once: int = _AT_ONCE, beyond: int = 0
) -> Iterator[tuple[tuple[str, ...], Path, memoryview]]:
    """The records of the files as text, those of many small ones together: header, the first of the files, and bytes.

    A last line without its newline is torn, even where it parses: it is left out, and `notes` says so. `checksums`
    are filled in from the same bytes. Behind each text are `beyond` bytes of nothing; the next one takes its place.
    """
    sizes = [one.size for one in found]
    room = memoryview(bytearray(min(sum(sizes), at_once + max(sizes, default=0)) + beyond))
    header: tuple[str, ...] = ()
    first, at = Path(), 0

    def gathered() -> tuple[tuple[str, ...], Path, memoryview]:
        room[at : at + beyond] = bytes(beyond)
        return header, first, room[: at + beyond]

    for source in found:
        if not source.size:
            notes.append(f"{source.relative}: an empty file, no record in it")
            continue
        try:
            with files.opened(source.name) as file:
                names, start, begun = beginning(file, source.name)
                if not names:
                    notes.append(f"{source.relative}:1: the header line is torn, no record in it")
                    continue
                if header and (names != header or at > at_once):
                    yield gathered()
                    at = 0
                if not at:
                    header, first = names, source.path
                here = room[at : at + max(0, source.size - start)]
                filled = _fill(here, begun[start:], file)
                length = checksums.lengths.get(source.relative)
                if length is not None:  # of what comes from the disk, before anything is made of it
                    rest = here[: min(filled, max(0, length - start))]
                    checksums.found[source.relative] = zlib.crc32(rest, zlib.crc32(begun[: min(start, length)]))
        except OSError as problem:
            raise LogError(
                f"cannot be read: {problem.strerror}", "let it be read, or leave it out", file=source.name
            ) from problem
        whole = filled and here[filled - 1] == _NEWLINE
        kept = filled if whole else bytes(here[:filled]).rfind(b"\n") + 1
        at += kept
        if kept < source.size - start:
            line = files.read_bytes(source.name)[: source.size].count(b"\n") + 1
            cut = source.size - start - kept
            notes.append(f"{source.relative}:{line}: the last line is torn ({cut} bytes without a newline); left out")
    if header:
        yield gathered()


def _fill(room: memoryview, begun: bytes, file: io.FileIO) -> int:
    """Put there what was read of a file, and what is left of it; how many bytes these are."""
    filled = min(len(begun), len(room))
    room[:filled] = memoryview(begun)[:filled]
    while filled < len(room) and (more := file.readinto(room[filled:])):
        filled += more
    return filled


def parsed(body: bytes, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Records without their header as a table; Unparsed where some line does not fit its types."""
    if b"\x00" in body:
        raise Unparsed("a NUL byte, which is not text")
    try:
        return text.parsed(body, schema, null_values="")
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as problem:
        raise Unparsed(str(problem)) from problem
