"""Thousands of lifetimes in one Parquet file, or in a folder of them: one row per experience, read in pieces.

Identity stands in columns, and what all lifetimes share in the file's metadata under `perdure.bulk`, beside
how many rows each has and a checksum of every byte, which is compared before anything is parsed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from perdure import files
from perdure.errors import LogError, nearest
from perdure.lazy import pl
from perdure.log.alike import Alike
from perdure.log.manifest import role_of
from perdure.log.model import STANDARD_COLUMNS, Direction, Lifetime
from perdure.log.places import as_text
from perdure.log.read import Options
from perdure.log.rows import unreadable
from perdure.log.seal import BLANK, believe, broken_seal, footer_of, word_of

__all__ = ["BULK", "FACTS", "IDENTITY", "KEY", "PER_PIECE", "SUFFIX", "VERSION", "Own", "Shared", "part_name"]

KEY = "perdure.bulk"
VERSION = 1
SUFFIX = ".parquet"
FACTS = "facts"
"""The column in which a lifetime's first row says, as JSON, what of its manifest is not the shared one."""
PER_PIECE = 1 << 20
"""Rows that are written and read in one go; a lifetime is never divided."""
_LIVES = 256  # of a piece at most: many processes share out short lives

IDENTITY = ("lifetime", "learner", "seed", "role", "scenario_type")
_BESIDE = frozenset({"expert", "twin"})  # what lives are held against
_TIMES = "timestamp"  # the one standard column in which lives of the same blocks differ

Counts = npt.NDArray[np.int64]


class Shared(msgspec.Struct, kw_only=True):
    """What the metadata says: everything that the lifetimes of one file have in common."""

    version: int = VERSION
    measures: dict[str, Direction]
    filled: dict[str, str | int | None] = {}
    """The columns that were left out because they hold one value, and that value."""
    manifest: dict[str, Any] = {}
    info: dict[str, Any] = {}
    complete: bool | None = None
    lives: list[tuple[int, int]] = []
    """How many rows a lifetime has, and how many lifetimes in a row have as many."""
    alike: bool = False
    """Whether those have the very same rows, but for what was measured and when; they are read once then."""
    who: dict[str, list[str | int | None]] = {}
    """Of long lifetimes, what the columns of identity say of each: then nobody reads a million rows for ten names."""
    part: int = 0
    last: bool = True
    """Whether no part of a folder comes after this one."""
    write: str = ""
    """Which writing the parts of a folder come from."""
    sha256: str = BLANK  # the last field, where the seal looks for it


class Own(msgspec.Struct, omit_defaults=True):
    """What one lifetime says of itself that is not shared."""

    manifest: dict[str, Any] = {}
    without: list[str] = []
    info: dict[str, Any] | None = None
    complete: bool | Literal["unknown"] | None = None
    notes: list[str] = []


class _Bulk:
    name = "bulk"
    summary = f"a {SUFFIX} file, or a folder of part-*{SUFFIX}, that perdure.write_lives wrote: many lifetimes in one"

    def recognises(self, path: Path) -> bool:
        """By the key in its footer, or in that of one of its parts."""
        file = next(iter(sorted(path.glob(f"part-*{SUFFIX}"))), path) if path.is_dir() else path
        found = footer_of(file) if file.suffix.lower() == SUFFIX else None
        return found is not None and KEY.encode() in found[1]

    def read(self, path: Path, options: Options) -> Lifetime:
        """The only lifetime of a file that holds one."""
        several = [_part(path, file, options) for file in _files(path)]
        count = sum(len(one.lengths) for one in several)
        if count != 1:
            raise LogError(
                f"holds {count} lifetimes, and one was asked for", "score the file to see them all", file=path
            )
        return next(several[0].lifetimes(options))

    def parts(self, path: Path, options: Options) -> Sequence[str]:
        """Pieces of whole lifetimes, a million rows or a few hundred lifetimes each: `file:first+count@word`.

        The word is that the file was found whole: another process that takes it need not read every byte again.
        """
        return [
            f"{at}:{first}+{last - first}@{word_of(file)}"
            for at, file in enumerate(_files(path))
            for first, last in _pieces(_part(path, file, options).lengths)
        ]

    def holds_experts(self, path: Path, options: Options) -> bool:
        """Whether experts are among its lifetimes; a role that all share may be no column."""
        return any(_part(path, file, options).holds_experts() for file in _files(path))

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[Lifetime]:
        """The lifetimes in their order, of one piece or of all; never more than a piece in memory."""
        files = _files(path)
        if part is None:
            for one in [_part(path, file, options) for file in files]:  # all found whole before the first is read
                yield from one.lifetimes(options)
            return
        try:
            which, _, rest = part.partition(":")
            span, _, word = rest.partition("@")
            first, count = (int(number) for number in span.split("+"))
            file = files[int(which)]
        except (ValueError, IndexError):
            raise LogError(f"no piece {part!r}", "parts() names them", file=path) from None
        yield from _part(path, file, options, word).lifetimes(options, first, first + count)


def part_name(number: int) -> str:
    """What the files of a folder are called."""
    return f"part-{number:05d}{SUFFIX}"


def _write_of(folder: Path) -> str:
    """Which writing the first part of a folder comes from."""
    return msgspec.json.decode(pl.read_parquet_metadata(folder / part_name(0))[KEY], type=Shared).write


def _files(path: Path) -> list[Path]:
    """The file itself, or the parts of a folder, in order and without a gap."""
    if not path.is_dir():
        return [path]
    names = sorted(one.name for one in path.glob(f"part-*{SUFFIX}"))
    for number, name in enumerate(names):
        if name != part_name(number):
            raise LogError(f"{part_name(number)} is missing (found: {name})", "restore it from a copy", file=path)
    return [path / name for name in names]


def _pieces(lengths: Counts) -> Iterator[tuple[int, int]]:
    """Neighbouring lifetimes that make up a piece, from one to before another."""
    ends = np.cumsum(lengths)
    first, before = 0, 0
    while first < len(lengths):
        last = max(first + 1, min(first + _LIVES, int(np.searchsorted(ends, before + PER_PIECE, side="right"))))
        yield first, last
        first, before = last, int(ends[last - 1])


def _part(place: Path, file: Path, options: Options, word: str = "") -> _Part:
    """One file, found whole here or by who gave his word; pieces that are asked for one by one find it open."""
    try:
        of_file, of_place = file.stat(), place.stat()
        believe(file, word)
    except OSError as problem:
        raise LogError(
            f"cannot be read ({problem.strerror})", "let it be read, or leave it out", file=file
        ) from problem
    changed = (of_file.st_ctime_ns, of_place.st_mtime_ns)
    return _opened(place, file, options.verified, _content(of_file), changed)


def _content(found: os.stat_result) -> tuple[int, ...]:
    """What is another where the bytes of a file are others."""
    return found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=1)
def _opened(place: Path, file: Path, verified: bool, content: tuple[int, ...], _changed: tuple[int, ...]) -> _Part:
    return _Part(place, file, verified, content)


class _Part:
    """One file, found whole."""

    def __init__(self, place: Path, file: Path, verified: bool, content: tuple[int, ...]) -> None:
        self.place = place
        self.file = file
        self.content = content
        self.notes: tuple[str, ...] = ()
        self.shared = self._opened(verified)
        rows, counts = (np.array(one, dtype=np.int64) for one in zip(*self.shared.lives, strict=True))
        self.lengths: Counts = np.repeat(rows, counts)
        self.starts: Counts = np.concatenate([[0], np.cumsum(self.lengths)])
        # Of a file that is not as it was written, nothing is taken for granted.
        self.who = {} if self.notes else self.shared.who
        runs = counts if self.shared.alike and not self.notes else np.ones(len(self.lengths), dtype=np.int64)
        self.first_alike: list[int] = np.repeat(np.cumsum(runs) - runs, runs).tolist()
        """Of each lifetime, the first of those that share its rows."""

    def _opened(self, verified: bool) -> Shared:
        """The metadata of a file whose every byte is as it was written."""
        file = self.file
        try:
            wrong = broken_seal(file)
            if wrong and verified:
                raise LogError(wrong, "restore it from a copy, or write it again", file=file)
            self.notes = (f"{file.name}: {wrong}",) if wrong else ()
            shared = msgspec.json.decode(pl.read_parquet_metadata(file)[KEY], type=Shared)
            rows = int(self._scan.select(pl.len()).collect().item())
        except KeyError:
            raise LogError("not written by perdure.write_lives", "read it as a table", file=file) from None
        except unreadable() as problem:
            raise self._unreadable(problem) from problem
        if shared.version != VERSION:
            raise LogError(
                f"of version {shared.version}, and this Perdure reads {VERSION}", "use a newer one", file=file
            )
        if file == self.place and (shared.part or not shared.last):
            raise LogError(
                f"part {shared.part} of a folder that perdure.write_lives wrote", "give the folder", file=file
            )
        if file != self.place and file.is_symlink():
            files.refuse_way_out(file, self.place)
        if file != self.place and shared.write != _write_of(self.place):
            raise LogError(f"of another writing than {part_name(0)}", "restore the folder from a copy", file=file)
        if file != self.place and file.name != part_name(shared.part):
            raise LogError(f"was written as {part_name(shared.part)}", "restore the folder from a copy", file=file)
        following = file.with_name(part_name(shared.part + 1))
        if file != self.place and shared.last == following.exists():
            what = "is not part of this folder" if shared.last else "is missing"
            raise LogError(what, "restore the folder from a copy", file=following)
        stated = sum(length * count for length, count in shared.lives)
        if stated != rows or not rows or any(length < 1 or count < 1 for length, count in shared.lives):
            raise LogError(f"{rows} rows, and its metadata speaks of {stated}", "write it again", file=file)
        lives = sum(count for _, count in shared.lives)
        for name, told in shared.who.items():
            if len(told) != lives:
                raise LogError(f"{lives} lifetimes, and {len(told)} of {name} for them", "write it again", file=file)
        return shared

    def holds_experts(self) -> bool:
        """Whether some lifetime here is an expert."""
        if "role" in self.shared.filled:
            return self.shared.filled["role"] in _BESIDE
        try:
            roles = self._scan.select(pl.col("role").cast(pl.String).unique()).collect().to_series()
        except unreadable() as problem:
            raise self._unreadable(problem) from problem
        return not _BESIDE.isdisjoint(roles.to_list())

    def _measures(self, asked: Mapping[str, Direction] | None) -> dict[str, Direction]:
        known = self.shared.measures
        for name in asked or ():
            if name not in known:
                raise LogError(f"no measure {name!r}", nearest(name, known), file=self.file)
        return dict(asked or known)

    @cached_property
    def _scan(self) -> pl.LazyFrame:
        """The file to Polars, which reads its footer once."""
        return pl.scan_parquet(self.file, glob=False, hive_partitioning=False)

    def _unchanged(self) -> None:
        if _content(self.file.stat()) != self.content:
            raise LogError("was written anew while it was read", "read it again", file=self.file)

    def _unreadable(self, problem: BaseException) -> LogError:
        reason = (str(problem).splitlines() or [type(problem).__name__])[0]
        return LogError(
            f"cannot be read as Parquet: {reason}", "restore it from a copy, or write it again", file=self.file
        )

    def lifetimes(self, options: Options, first: int = 0, last: int | None = None) -> Iterator[Lifetime]:
        """The lifetimes from one to before another."""
        last = len(self.lengths) if last is None else last
        if not 0 <= first < last <= len(self.lengths):
            raise LogError(f"has {len(self.lengths)} lifetimes", f"{first} to {last} are none of them", file=self.file)
        measures = self._measures(options.measures)
        for begin, end in _pieces(self.lengths[first:last]):
            yield from self._piece(measures, first + begin, first + end)

    def _piece(self, measures: Mapping[str, Direction], first: int, last: int) -> Iterator[Lifetime]:
        start = int(self.starts[first])
        try:
            elsewhere = [*(name for name in STANDARD_COLUMNS if name != _TIMES), *self.who]
            rows = self.rows(start, int(self.starts[last]), pl.exclude(elsewhere))
            known = {*IDENTITY, FACTS, _TIMES, *measures}
            own = [one for one in rows if one.name == _TIMES]
            own += rows.select(pl.col(name).cast(pl.Float64) for name in measures).get_columns()
            own += [one for one in rows if one.name not in known]
            who = self._identities(rows, first, last)
            for number in range(first, last):
                at, length = int(self.starts[number]) - start, int(self.lengths[number])
                standard, found = _standard(self, self.first_alike[number])
                experiences = standard.hstack([one.slice(at, length) for one in own])
                names = {name: values[number - first] for name, values in who.items()}
                yield self._lifetime(experiences, measures, found, names)
        except unreadable() as problem:
            raise self._unreadable(problem) from problem

    def rows(self, start: int, end: int, columns: pl.Expr) -> pl.DataFrame:
        """Some columns of the rows from one to before another."""
        self._unchanged()
        found = self._scan.select(columns).slice(start, end - start).collect()
        self._unchanged()
        return found

    def _identities(self, rows: pl.DataFrame, first: int, last: int) -> dict[str, Sequence[Any]]:
        """What each lifetime's first row says of it, by name."""
        at = (self.starts[first:last] - self.starts[first]).tolist()
        found: dict[str, Sequence[Any]] = {
            name: [self.shared.filled.get(name)] * len(at) for name in (*IDENTITY, FACTS) if name not in rows.columns
        }
        found |= {name: told[first:last] for name, told in self.who.items()}
        return found | {one.name: one[at].to_list() for one in rows if one.name in (*IDENTITY, FACTS)}

    def _lifetime(
        self,
        experiences: pl.DataFrame,
        measures: Mapping[str, Direction],
        found: dict[Any, Any],
        who: Mapping[str, Any],
    ) -> Lifetime:
        shared = self.shared
        manifest, info, complete, notes = shared.manifest, shared.info, shared.complete, self.notes
        if who[FACTS]:
            own = msgspec.json.decode(who[FACTS], type=Own)
            manifest = {key: value for key, value in {**manifest, **own.manifest}.items() if key not in own.without}
            info = info if own.info is None else own.info
            if own.complete is not None:
                complete = None if own.complete == "unknown" else own.complete
            notes = (*notes, *own.notes)
        return Lifetime(
            id=str(who["lifetime"]),
            experiences=experiences,
            measures=measures,
            learner=who["learner"],
            seed=who["seed"],
            role=role_of(who["role"], self.file),
            complete=complete,
            path=self.place,
            info=info,
            manifest=manifest,
            notes=notes,
            inside=as_text(str(who["lifetime"])),
            stated_type=who["scenario_type"],
            alike=Alike(experiences, found),
        )


@lru_cache(maxsize=1)
def _standard(part: _Part, life: int) -> tuple[pl.DataFrame, dict[Any, Any]]:
    """A lifetime's rows but for values and times, and room for what is found in them: kept for those who share them."""
    filled = part.shared.filled
    kinds = {name: kind for name, kind in STANDARD_COLUMNS.items() if name in filled or name != _TIMES}
    there = pl.col([name for name in kinds if name not in filled])
    rows = part.rows(int(part.starts[life]), int(part.starts[life + 1]), there)
    standard = rows.select(
        pl.lit(filled[name]).cast(kind).alias(name) if name in filled else pl.col(name).cast(kind)
        for name, kind in kinds.items()
    )
    return standard, {}


BULK = _Bulk()
