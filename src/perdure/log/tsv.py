"""Many small TSV files as one table: found without following links, read in one columnar pass."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from perdure.errors import LogError

__all__ = ["DATA_FILE", "HEADER_LIMIT", "Source", "Unparsed", "header_of", "load", "sources"]

DATA_FILE = "data-log.tsv"
HEADER_LIMIT = 1 << 20

# Above this size Polars reads a file in place; below, opening costs more than copying, and small
# files are gathered in memory and parsed together (10 000 tiny files: 0.3 s instead of 1.1 s).
_IN_PLACE = 1 << 18
_GATHER_AT_MOST = 1 << 28

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Source:
    """One data file of a log, as it was when the log was looked at."""

    path: Path
    relative: str
    size: int
    mtime_ns: int


class Unparsed(Exception):
    """The table as a whole does not parse; `perdure.log.check` finds out where. Never leaves this package."""


def sources(root: Path, name: str = DATA_FILE) -> tuple[Source, ...]:
    """Every file called `name` below `root`, in an order that no file system decides.

    A link that leads out of the folder is refused: what it points at is not part of this log.
    """
    inside = root.resolve()
    found: list[Source] = []

    def refuse(problem: OSError) -> None:
        raise LogError(f"{problem.filename}: cannot be listed ({problem.strerror}); check its permissions")

    for folder, folders, files in os.walk(root, onerror=refuse):
        linked = [one for one in folders if os.path.islink(os.path.join(folder, one))]
        for link in (*linked, *(one for one in files if one == name)):
            place = Path(folder, link)
            if place.is_symlink() and not place.resolve().is_relative_to(inside):
                raise LogError(
                    f"{place}: a link that leads out of the log, to {place.resolve()}; "
                    "copy what it points at into the log, or remove it"
                )
        folders[:] = [one for one in folders if not one.startswith(".")]
        if name in files:
            place = Path(folder, name)
            try:
                state = place.stat()
            except OSError as problem:
                raise LogError(f"{place}: cannot be read: {problem.strerror}") from problem
            found.append(Source(place, place.relative_to(root).as_posix(), state.st_size, state.st_mtime_ns))
    found.sort(key=lambda source: _log_order(source.relative))
    return tuple(found)


def _log_order(relative: str) -> tuple[int, str]:
    """Block folders by number (`2-test` before `10-train`), so that most logs are read in order."""
    number = _NUMBER.match(Path(relative).parent.name)
    return (int(number.group()) if number else -1, relative)


def header_of(path: Path) -> tuple[tuple[str, ...], int, bytes]:
    """The column names, where the first record starts, and the bytes read on the way."""
    with path.open("rb", buffering=0) as file:
        start = file.read(_IN_PLACE)
        while b"\n" not in start and len(start) < HEADER_LIMIT:
            more = file.read(_IN_PLACE)
            if not more:
                break
            start += more
    end = start.find(b"\n")
    if end < 0:
        return (), len(start), start
    line = start[:end].removeprefix(b"\xef\xbb\xbf").rstrip(b"\r")
    try:
        names = line.decode("utf-8").split("\t")
    except UnicodeDecodeError as problem:
        raise LogError(f"{path}:1: the header is not UTF-8 text ({problem.reason})") from problem
    return tuple(one.strip('"') for one in names), end + 1, start


def load(
    files: Sequence[Source],
    schema: Callable[[tuple[str, ...], Path], Mapping[str, pl.DataType]],
    notes: list[str],
) -> pl.DataFrame | None:
    """All records of `files` as one table; None where there are none.

    `schema` gives the column types for a header, or raises. A last line without its newline is torn,
    even where it parses: it is left out, and `notes` says so. Raises Unparsed where some line does
    not fit its types.
    """
    frames: list[pl.DataFrame] = []
    gathered: dict[tuple[str, ...], io.BytesIO] = {}
    in_place: list[Path] = []
    in_place_header: tuple[str, ...] = ()

    def flush_in_place() -> None:
        if in_place:
            frames.append(_parsed(list(in_place), schema(in_place_header, in_place[0]), 1))
            in_place.clear()

    def flush_gathered() -> None:
        for header, buffer in gathered.items():
            buffer.seek(0)
            frames.append(_parsed(buffer, schema(header, files[0].path), 0))
        gathered.clear()

    for source in files:
        if source.size == 0:
            notes.append(f"{source.relative}: an empty file, no record in it")
            continue
        try:
            header, start, head = header_of(source.path)
            if not header:
                notes.append(f"{source.relative}:1: the header line is torn, no record in it")
                continue
            schema(header, source.path)
            if source.size > _IN_PLACE and _ends_whole(source):
                if in_place_header != header:
                    flush_in_place()
                    in_place_header = header
                in_place.append(source.path)
                continue
            flush_in_place()
            body = (head if source.size <= len(head) else source.path.read_bytes())[start : source.size]
        except OSError as problem:
            raise LogError(f"{source.path}: cannot be read: {problem.strerror}") from problem
        if body and not body.endswith(b"\n"):
            kept = body.rfind(b"\n") + 1
            line = body.count(b"\n") + 2
            notes.append(
                f"{source.relative}:{line}: the last line is torn "
                f"({len(body) - kept} bytes without a newline); left out"
            )
            body = body[:kept]
        if body:
            buffer = gathered.setdefault(header, io.BytesIO())
            buffer.write(body)
            if buffer.tell() > _GATHER_AT_MOST:
                flush_gathered()
    flush_in_place()
    flush_gathered()
    frames = [frame for frame in frames if frame.height]
    if not frames:
        return None
    return frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed")


def _ends_whole(source: Source) -> bool:
    with source.path.open("rb", buffering=0) as file:
        file.seek(source.size - 1)
        return file.read() == b"\n"  # more than one byte: the file grew, so read exactly what was seen


def _parsed(where: list[Path] | io.BytesIO, schema: Mapping[str, pl.DataType], skip: int) -> pl.DataFrame:
    try:
        if isinstance(where, list):
            return pl.scan_csv(where, separator="\t", schema=dict(schema), glob=False).collect()
        return pl.read_csv(where, separator="\t", schema=dict(schema), has_header=bool(skip))
    except (pl.exceptions.PolarsError, UnicodeDecodeError) as problem:
        raise Unparsed(str(problem)) from problem
