"""Read many lifetimes from one Parquet file, or from a folder of such files.

The file is a long table: one row per experience, with identity columns for other tools. The key `perdure.bulk` of its
metadata describes each lifetime and holds a checksum of the whole file, which is compared before anything is parsed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from perdure import files
from perdure.errors import LogError, nearest
from perdure.lazy import pl
from perdure.log.model import Direction, Lifetime, Role
from perdure.log.places import as_text
from perdure.log.read import Options, SeveralLifetimes
from perdure.log.rows import unreadable
from perdure.log.rules import STANDARD_COLUMNS

KEY = "perdure.bulk"
SUFFIX = ".parquet"
IDENTITY = ("lifetime", "learner", "seed", "role", "scenario_type")
ROW_GROUP = 1 << 18
"""Rows that are read at once, unless one lifetime has more."""

_VERSION = 2
_BLANK = "0" * 64  # in place of the checksum while it is computed
_CHECKSUM = b'"sha256":"'
_CHUNK = 1 << 20
_LONGEST_FOOTER = 1 << 28


class BulkLifetime(msgspec.Struct, frozen=True, array_like=True):
    """One lifetime of a file, which owns the `rows` rows after those of the lifetimes before it."""

    id: str
    rows: int
    learner: str | None
    seed: int | None
    role: Role
    scenario_type: str | None
    complete: bool | None
    info: int
    """Position of its scenario info in `BulkHeader.values`."""
    manifest: dict[str, int]
    """Key of its manifest → position of the value in `BulkHeader.values`."""
    notes: tuple[str, ...] = ()


class BulkHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The metadata of one file."""

    version: int = _VERSION
    measures: dict[str, Direction]
    lifetimes: list[BulkLifetime]
    values: list[Any]
    """Parts of manifests and scenario infos; most lifetimes share most of them."""
    part: int = 0
    last: bool = True
    """Whether the folder has no further part."""
    write: str = ""
    """Identifies the call that wrote the parts of a folder."""
    sha256: str = _BLANK
    """Checksum of the file with this field blank. It must be the last field, because `seal` looks for the last one."""


class _BulkReader(SeveralLifetimes[Lifetime]):
    name = "bulk"
    summary = (
        f"a {SUFFIX} file, or a folder of part-*{SUFFIX}, that perdure.write_lifetimes wrote: many lifetimes in one"
    )

    def recognises(self, path: Path) -> bool:
        """Return whether the footer of the file, or of the first part of the folder, has our key."""
        file = next(iter(sorted(path.glob(f"part-*{SUFFIX}"))), path) if path.is_dir() else path
        footer = _read_footer(file) if file.suffix.lower() == SUFFIX else None
        return footer is not None and KEY.encode() in footer[1]

    def parts(self, path: Path, options: Options) -> Sequence[str]:
        """Return names of pieces of whole lifetimes: `file:first-last`."""
        return [
            f"{number}:{first}-{last}"
            for number, part in enumerate(_open_parts(path, options))
            for first, last in part.pieces()
        ]

    def holds_experts(self, path: Path, options: Options) -> bool:
        """Return whether some lifetime is an expert or a twin."""
        return any(lifetime.role != "life" for part in _open_parts(path, options) for lifetime in part.header.lifetimes)

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[Lifetime]:
        """Yield the lifetimes of one piece or of all, with at most one piece in memory."""
        if part is None:
            for opened in _open_parts(path, options):
                for first, last in opened.pieces():
                    yield from opened.lifetimes(options, first, last)
            return
        try:
            number, _, span = part.partition(":")
            first, last = (int(position) for position in span.split("-"))
            file = _part_files(path)[int(number)]
        except (ValueError, IndexError):
            raise LogError(f"no piece {part!r}", "parts() names them", file=path) from None
        yield from _open(path, file, options).lifetimes(options, first, last)


def part_name(number: int) -> str:
    """Return the name of a file in a folder of parts."""
    return f"part-{number:05d}{SUFFIX}"


def seal(path: Path) -> None:
    """Write the checksum of a new Parquet file into its footer."""
    position = _checksum_position(path)
    assert position is not None, "the footer was written without a checksum field"
    checksum = _compute_checksum(path, position)
    with path.open("r+b") as file:
        file.seek(position)
        file.write(checksum.encode())
        file.flush()
        os.fsync(file.fileno())


def _part_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    names = sorted(file.name for file in path.glob(f"part-*{SUFFIX}"))
    for number, name in enumerate(names):
        if name != part_name(number):
            raise LogError(f"{part_name(number)} is missing (found: {name})", "restore it from a copy", file=path)
    return [path / name for name in names]


def _open_parts(path: Path, options: Options) -> list[_BulkFile]:
    return [_open(path, file, options) for file in _part_files(path)]


def _open(place: Path, file: Path, options: Options) -> _BulkFile:
    try:
        return _verify(place, file, options.verified, _state(file), place.stat().st_mtime_ns)
    except unreadable() as problem:
        raise _unreadable(file, problem) from problem


@lru_cache(maxsize=8)  # pieces of one file are read one by one
def _verify(place: Path, file: Path, verified: bool, state: tuple[int, ...], _folder_state: int) -> _BulkFile:
    """Open a file and compare its checksum, once for each state of the file."""
    wrong = _find_damage(file)
    if wrong and verified:
        raise LogError(wrong, "restore it from a copy, or write it again", file=file)
    header = _read_header(file)
    if header.version != _VERSION:
        raise LogError(f"of version {header.version}, and this Perdure reads {_VERSION}", "write it again", file=file)
    if file != place:
        _check_part(place, file, header)
    elif header.part or not header.last:
        raise LogError(
            f"part {header.part} of a folder that perdure.write_lifetimes wrote", "give the folder", file=file
        )
    rows = int(pl.scan_parquet(file, glob=False).select(pl.len()).collect().item())
    stated = sum(lifetime.rows for lifetime in header.lifetimes)
    if stated != rows or not rows or any(lifetime.rows < 1 for lifetime in header.lifetimes):
        raise LogError(f"{rows} rows, and its metadata speaks of {stated}", "write it again", file=file)
    return _BulkFile(place, file, state, header, (f"{file.name}: {wrong}",) if wrong else ())


def _check_part(folder: Path, file: Path, header: BulkHeader) -> None:
    if file.is_symlink():
        files.refuse_outside_link(file, folder)
    if file.name != part_name(header.part):
        raise LogError(f"was written as {part_name(header.part)}", "restore the folder from a copy", file=file)
    if header.part and header.write != _read_header(folder / part_name(0)).write:
        raise LogError(f"of another writing than {part_name(0)}", "restore the folder from a copy", file=file)
    following = file.with_name(part_name(header.part + 1))
    if header.last == following.exists():
        wrong = "is not part of this folder" if header.last else "is missing"
        raise LogError(wrong, "restore the folder from a copy", file=following)


def _read_header(file: Path) -> BulkHeader:
    text = pl.read_parquet_metadata(file).get(KEY)
    if text is None:
        raise LogError("not written by perdure.write_lifetimes", "read it as a table", file=file)
    return msgspec.json.decode(text, type=BulkHeader)


def _unreadable(file: Path, problem: BaseException) -> LogError:
    reason = (str(problem).splitlines() or [type(problem).__name__])[0]
    return LogError(f"cannot be read as Parquet: {reason}", "restore it from a copy, or write it again", file=file)


class _BulkFile(msgspec.Struct, frozen=True, eq=False):
    """One file whose checksum was compared."""

    place: Path
    file: Path
    state: tuple[int, ...]
    header: BulkHeader
    notes: tuple[str, ...]

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of lifetimes with about ROW_GROUP rows each."""
        first, rows = 0, 0
        for number, lifetime in enumerate(self.header.lifetimes):
            if number > first and rows + lifetime.rows > ROW_GROUP:
                yield first, number
                first, rows = number, 0
            rows += lifetime.rows
        yield first, len(self.header.lifetimes)

    def lifetimes(self, options: Options, first: int, last: int) -> Iterator[Lifetime]:
        """Read one piece and yield its lifetimes."""
        known = self.header.measures
        for name in options.measures or ():
            if name not in known:
                raise LogError(f"no measure {name!r}", nearest(name, known), file=self.file)
        measures = dict(options.measures or known)
        described = self.header.lifetimes[first:last]
        if not described:
            count = len(self.header.lifetimes)
            raise LogError(f"has {count} lifetimes", f"{first} to {last} are not among them", file=self.file)
        start = sum(lifetime.rows for lifetime in self.header.lifetimes[:first])
        starts = list(accumulate((lifetime.rows for lifetime in described), initial=0))
        typed = {**STANDARD_COLUMNS, **dict.fromkeys(measures, pl.Float64())}
        columns = [*(pl.col(name).cast(kind) for name, kind in typed.items()), pl.exclude([*IDENTITY, *typed])]
        scan = pl.scan_parquet(self.file, glob=False, hive_partitioning=False)
        try:
            rows = scan.slice(start, starts[-1]).select(columns).collect()
            if _state(self.file) != self.state:
                raise LogError("was written anew while it was read", "read it again", file=self.file)
        except unreadable() as problem:
            raise _unreadable(self.file, problem) from problem
        for lifetime, position in zip(described, starts[:-1], strict=True):
            yield self._lifetime(lifetime, rows.slice(position, lifetime.rows), measures)

    def _lifetime(
        self, lifetime: BulkLifetime, experiences: pl.DataFrame, measures: Mapping[str, Direction]
    ) -> Lifetime:
        values = self.header.values
        return Lifetime(
            id=lifetime.id,
            experiences=experiences,
            measures=measures,
            learner=lifetime.learner,
            seed=lifetime.seed,
            role=lifetime.role,
            complete=lifetime.complete,
            path=self.place,
            info=values[lifetime.info],
            manifest={key: values[position] for key, position in lifetime.manifest.items()},
            notes=(*self.notes, *lifetime.notes),
            inside=as_text(lifetime.id),
            stated_type=lifetime.scenario_type,
        )


def _state(file: Path) -> tuple[int, ...]:
    """Return numbers that change when a file is written again. Copying tools can set mtime, but not ctime."""
    state = file.stat()
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


def _read_footer(path: Path) -> tuple[int, bytes] | None:
    """Return the position and bytes of a Parquet footer, or None if `path` is not a regular file that has one."""
    try:
        with files.open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - 8))
            ending = file.read(8)
            length = int.from_bytes(ending[:4], "little")
            if not ending.endswith(b"PAR1") or length > min(size - 12, _LONGEST_FOOTER):
                return None
            start = size - 8 - length
            file.seek(start)
            return start, file.read(length)
    except OSError:
        return None


def _checksum_position(path: Path) -> int | None:
    footer = _read_footer(path)
    if footer is None:
        return None
    start, content = footer
    index = content.rfind(_CHECKSUM)
    end = index + len(_CHECKSUM) + len(_BLANK)
    return start + index + len(_CHECKSUM) if index >= 0 and content[end : end + 1] == b'"' else None


def _find_damage(path: Path) -> str | None:
    """Return how a file differs from the written content, or None."""
    position = _checksum_position(path)
    if position is None:
        return "its footer is damaged"
    with files.open_regular(path) as file:
        file.seek(position)
        stated = file.read(len(_BLANK)).decode("ascii", errors="replace")
    checksum = _compute_checksum(path, position)
    if checksum == stated:
        return None
    return f"altered after it was written: its bytes give the checksum {checksum[:12]}…, and it states {stated[:12]}…"


def _compute_checksum(path: Path, position: int) -> str:
    digest = hashlib.sha256()
    with files.open_regular(path) as file:
        left = position
        while left and (chunk := file.read(min(_CHUNK, left))):
            digest.update(chunk)
            left -= len(chunk)
        digest.update(_BLANK.encode())
        file.seek(position + len(_BLANK))
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


BULK = _BulkReader()
