"""Open files that hold a table: by their suffix, in a zip or gzip, unpacked to a limited size."""

from __future__ import annotations

import gzip
import io
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from perdure import files
from perdure.errors import LogError
from perdure.log.places import Source
from perdure.log.rows import TextTable, bytes_of, cells, tables

SEPARATORS = {".csv": ",", ".tsv": "\t"}
BINARY = (".parquet", ".arrow", ".feather", ".ipc")

_GLANCE = 1 << 20
_CHUNK = 1 << 24
_BROKEN = (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError)
# zipfile raises RuntimeError if a password is needed.


def kind(path: Path) -> str:
    """Return the last suffix of a name in lower case, with the one before it if that is `.gz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    return "".join(suffixes) if suffixes[-1:] == [".gz"] else "".join(suffixes[-1:])


def inner_kind(path: Path) -> str:
    """Return the suffix of the unpacked file; `.zip` if an archive does not hold exactly one table."""
    suffix = kind(path)
    if suffix != ".zip" or not path.is_file():
        return suffix.removesuffix(".gz")
    try:
        with _open(path) as (_, inner):
            return inner
    except (*_BROKEN, LogError):
        return suffix


def is_table_name(path: Path) -> bool:
    """Return whether a file of this name may hold a table."""
    return kind(path) in _KINDS


def stem(path: Path) -> str:
    """Return the file's name without the suffixes that `kind` returns."""
    return path.name[: len(path.name) - len(kind(path))] if is_table_name(path) else path.stem


def shown_suffixes() -> str:
    """Return every suffix that is read, for messages."""
    return ", ".join(_KINDS)


def first_line(path: Path) -> list[str] | None:
    """Return the cells of the first line of a text table without surrounding blanks, None if it cannot be read."""
    try:
        with _open(path) as (file, suffix):
            line = file.readline(_GLANCE)
    except (*_BROKEN, LogError):
        return None
    return cells(line.decode("utf-8-sig", errors="replace").strip("\r\n"), SEPARATORS[suffix])


def beginning(path: Path, most: int) -> str:
    """Return the text in the first `most` bytes of a file, unpacked; empty if it cannot be read."""
    try:
        with _open(path) as (file, _):
            return file.read(most).decode("utf-8-sig", errors="replace")
    except (*_BROKEN, LogError):
        return ""


def trouble(path: Path) -> tuple[str, str] | None:
    """Return the problem of a file that is named like a text table, with a fix; None if it seems sound."""
    if kind(path) not in _TEXTS:
        return None
    try:
        with _open(path) as (file, suffix):
            head = file.readline(_GLANCE)
    except LogError as problem:
        return problem.detail, problem.fix
    except _BROKEN as problem:
        return f"does not unpack ({problem})", "pack it again, or give the file itself"
    if not head.strip():
        return "its first line is blank" if head else "an empty file", "expected the names of the columns"
    if head.count(b";") > head.count(SEPARATORS[suffix].encode()):
        return "its first line is divided by semicolons", "write commas or tabs between cells, and points in numbers"
    return None


def damaged(path: Path) -> bool:
    """Return whether a packed table does not unpack, or a Parquet file has no footer."""
    suffix = kind(path)
    if suffix == ".parquet":
        try:
            with files.open_regular(path) as file:
                if not file.seek(0, io.SEEK_END):
                    return False  # an empty file holds no table
                file.seek(-min(4, file.tell()), io.SEEK_END)
                return file.read(4) != b"PAR1"
        except OSError:
            return False
    if suffix in SEPARATORS or suffix not in _TEXTS:
        return False
    try:
        with _open(path) as (stream, _):
            stream.readline(_GLANCE)
    except LogError:
        return False  # a zip without a table, or with several
    except _BROKEN:
        return True
    return False


def table(path: Path, notes: list[str], limit: float) -> TextTable | None:
    """Read a text table, unpacked piece by piece to at most `limit` MiB; None, with a note, if it has no rows."""
    packed = kind(path) not in SEPARATORS

    @contextmanager
    def stream(source: Source) -> Iterator[IO[bytes]]:
        with _open(source.path) as (file, _):
            yield cast("IO[bytes]", _Bounded(source.path, file, limit))

    with _unpacking(path) if packed else files.reading(path):
        # Rows take several times as much memory as their text: a file that is too large is refused before it is parsed.
        if packed:
            with stream(Source(str(path), path.name, sys.maxsize)) as unpacked:
                while unpacked.read(_CHUNK):
                    pass
        size = sys.maxsize if packed else path.stat().st_size
        separator = _separator_in(path)
        frames = tables([Source(str(path), path.name, size)], separator, notes, stream if packed else None)
    return frames[0] if frames else None


def content(path: Path, limit: float) -> bytes:
    """Return all of a file, unpacked; raise LogError if it does not unpack to at most `limit` MiB."""
    if kind(path) == inner_kind(path):
        return bytes_of(path)
    with _unpacking(path), _open(path) as (file, _):
        stream, chunks = _Bounded(path, file, limit), []
        while chunk := stream.read(_CHUNK):
            chunks.append(chunk)
    return b"".join(chunks)


def too_large(path: Path, limit: float) -> LogError:
    """Return an error for a file that unpacks to more than `limit` MiB."""
    fix = "if it is meant to be so large, allow more with --max-unpacked MIB (max_unpacked=…), or unpack it yourself"
    return LogError(f"unpacks to more than {limit:g} MiB", fix, file=path)


def _separator_in(path: Path) -> str:
    with _open(path) as (_, suffix):
        return SEPARATORS[suffix]


@contextmanager
def _unpacking(path: Path) -> Iterator[None]:
    try:
        yield
    except _BROKEN as problem:
        raise LogError(f"does not unpack ({problem})", "pack it again, or give the file itself", file=path) from problem


@contextmanager
def _open(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """Open the text of a table, unpacked; yield the stream and the suffix of the table."""
    suffix = kind(path)
    with io.BufferedReader(files.open_regular(path)) as plain:
        if suffix == ".zip":
            with zipfile.ZipFile(plain) as archive:
                name = _only_table(path, archive)
                with archive.open(name) as file:
                    yield file, PurePosixPath(name).suffix.lower()
        elif suffix.endswith(".gz"):
            with gzip.GzipFile(fileobj=plain) as unpacked:
                yield io.BufferedReader(unpacked), suffix.removesuffix(".gz")
        else:
            yield plain, suffix


def _only_table(path: Path, archive: zipfile.ZipFile) -> str:
    names = [name for name in archive.namelist() if not name.endswith("/")]
    # macOS adds a hidden file for each file.
    members = [
        name for name in names if not name.startswith("__MACOSX/") and not PurePosixPath(name).name.startswith(".")
    ]
    matching = [name for name in members if PurePosixPath(name).suffix.lower() in SEPARATORS]
    if len(matching) == 1:
        return matching[0]
    listed = ", ".join(members[:6]) + (", …" if len(members) > 6 else "")
    what = f"{len(matching)} tables" if matching else "no table"
    raise LogError(
        f"{what} in it (found: {listed or 'nothing'})", "a zip holds one CSV or TSV: unpack it here", file=path
    )


class _Bounded:
    """A stream that refuses to unpack to more than `limit` MiB. The size that the file itself states is not used."""

    def __init__(self, path: Path, stream: IO[bytes], limit: float) -> None:
        self._path, self._stream, self._limit, self._size = path, stream, limit, 0

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes."""
        chunk = self._stream.read(size)
        self._size += len(chunk)
        if self._size > self._limit * 2**20:
            raise too_large(self._path, self._limit)
        return chunk


_TEXTS = (*SEPARATORS, *(f"{suffix}.gz" for suffix in SEPARATORS), ".zip")
_KINDS = (*_TEXTS, *BINARY)
