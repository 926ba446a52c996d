"""A lifetime that is being written: what was read before is kept, and only what came since is read and parsed."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from perdure import files
from perdure.errors import LogError
from perdure.frozen import frozen
from perdure.lazy import pl
from perdure.log.blocks import in_order
from perdure.log.formats.l2logger import L2Logger, schema_of
from perdure.log.kept import Kept
from perdure.log.model import Direction, Lifetime
from perdure.log.read import Options
from perdure.log.tsv import (
    DATA_FILE,
    Checksums,
    Source,
    Unparsed,
    beginning,
    load,
    log_order,
    look_into,
    parsed,
    sources,
)
from perdure.log.verify import Ledger, Lines, ledger_of

__all__ = ["Growing"]

_NEWEST = 2  # blocks of a worker that may still be growing
_IN_TURN = 64  # other blocks that are looked at each time


class _NotGrown(Exception):
    """Something other than further records happened to the log."""


@frozen
class _Read:
    """How far one file was read."""

    size: int
    mtime_ns: int
    header: tuple[str, ...] = ()
    offset: int = 0
    """Behind the last whole line."""
    crc32: int = 0
    """Of everything up to there."""


class _Listing:
    """The data files of a log that grows: folders of new and of the newest blocks are looked into, others in turn."""

    def __init__(self) -> None:
        self._folders: dict[str, list[Source]] = {}
        """Folder of a block → its files, in the order of blocks."""
        self._turn = 0

    def look(self, path: Path) -> Sequence[Source]:
        """Every data file, in the order of blocks."""
        workers, found = _block_folders(path)
        before = self._folders
        new = sorted(found - before.keys(), key=_order)
        if not before.keys() <= found or (before and new and _order(new[0]) < _order(next(reversed(before)))):
            before, new = {}, []
        if not before:  # the first time, or something else than further blocks turned up
            self._folders = {one: [] for one in sorted(found, key=_order)}
            for source in sources(path):
                self._folders.setdefault(source.relative.removesuffix(DATA_FILE), []).append(source)
        else:
            names = list(before)
            looked = {*names[-_NEWEST * workers :], *(names[(self._turn + at) % len(names)] for at in range(_IN_TURN))}
            self._turn += _IN_TURN
            self._folders = {**before, **{one: look_into(path, one) for one in (*looked, *new)}}
        return [source for some in self._folders.values() for source in some]


def _block_folders(path: Path) -> tuple[int, set[str]]:
    """How many workers write, and the folders of their blocks, as far as it can be told without looking into them."""
    workers, found = 0, set[str]()
    with contextlib.suppress(OSError):  # said better where files are looked for
        for worker in os.scandir(path):
            if worker.is_dir(follow_symlinks=False) and not worker.name.startswith("."):
                workers += 1
                found.update(
                    f"{worker.name}/{one.name}/"
                    for one in os.scandir(worker.path)
                    if one.is_dir(follow_symlinks=False) and not one.name.startswith(".")
                )
    return workers, found


def _order(folder: str) -> tuple[int, str]:
    return log_order(f"{folder}{DATA_FILE}")


class Growing(L2Logger):
    """Reads one folder again and again, as the reader of such folders does, and gives the same lifetime.

    Where anything but further records turns up, as a file that was cut or a column whose type changes, all is read
    anew. Ledger and checksums are compared each time, with the checksums of the bytes as they were read.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Keep nothing: the next time, all is read."""
        self._files: dict[str, _Read] = {}
        self._whole: dict[str, Source] = {}
        """Files that were read to their end, as they were then."""
        self._listing = _Listing()
        self._lines = Lines()
        self._pieces_kept: list[pl.DataFrame] = []
        self._measures: Mapping[str, Direction] = {}
        self._made = Kept()

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return sum(int(one.estimated_size()) for one in self._pieces_kept)

    def read(self, path: Path, options: Options) -> Lifetime:
        """The lifetime as far as it was written, with what was made of it before."""
        found = super().read(path, options)
        return replace(found, kept=self._made)

    def _listed(self, path: Path) -> tuple[Ledger | None, Sequence[Source]]:
        return ledger_of(path, self._lines), self._listing.look(path)

    def _rows(
        self,
        path: Path,
        found: Sequence[Source],
        measures: Mapping[str, Direction],
        notes: list[str],
        checksums: Checksums,
    ) -> pl.DataFrame:
        for _ in range(2):
            try:
                return self._grown(path, found, measures, notes, checksums)
            except (_NotGrown, LogError, Unparsed, OSError, pl.exceptions.PolarsError):
                self.forget()
                notes.clear()
                checksums.found.clear()
        return super()._rows(path, found, measures, notes, checksums)

    def _grown(
        self,
        path: Path,
        found: Sequence[Source],
        measures: Mapping[str, Direction],
        notes: list[str],
        checksums: Checksums,
    ) -> pl.DataFrame:
        if self._pieces_kept and measures != self._measures:
            raise _NotGrown
        state = dict(self._files)
        whole = dict(self._whole)
        texts: list[tuple[tuple[str, ...], Path, bytes]] = []
        for source in (one for one in found if self._whole.get(one.relative) is not one):
            before = self._files.get(source.relative, _Read(0, 0))
            if (before.size, before.mtime_ns) == (source.size, source.mtime_ns):
                now = before
            elif before.size >= source.size and before.mtime_ns:
                raise _NotGrown
            else:
                now, text = _further(source, before)
                if text:
                    texts.append((now.header, source.path, text))
            state[source.relative] = now
            if now.offset < source.size or not source.size:  # empty or torn; the reader knows how to say it
                load([source], lambda header, file: schema_of(header, file, measures), notes, Checksums())
                whole.pop(source.relative, None)
            else:
                whole[source.relative] = source
        if len(state) > len(found):
            raise _NotGrown  # one is gone
        for relative, length in checksums.lengths.items():
            if (read := state.get(relative)) is not None:
                if read.offset != length:
                    raise _NotGrown
                checksums.found[relative] = read.crc32
        frames: list[pl.DataFrame] = []
        for header, group in groupby(texts, lambda one: one[0]):
            of_header = list(group)
            schema = schema_of(header, of_header[0][1], measures)
            frames.append(parsed(b"".join(text for _, _, text in of_header), schema))
        if frames:
            self._add(self._columns(path, pl.concat(frames, how="diagonal_relaxed"), measures))
        if not self._pieces_kept:
            raise _NotGrown
        self._files, self._whole, self._measures = state, whole, dict(measures)
        return pl.concat(self._pieces_kept, rechunk=False)

    def _add(self, further: pl.DataFrame) -> None:
        """Put further rows in their place, which usually is behind all others."""
        further = in_order(further)
        pieces = self._pieces_kept
        if pieces and pieces[0].schema != further.schema:
            raise _NotGrown
        while pieces and (joint := pl.concat([pieces[-1][-1:], further])) is not in_order(joint):
            last = pieces.pop()
            before = int(last["block_num"].search_sorted(further["block_num"][0], "left"))
            further = in_order(pl.concat([last[before:], further]))
            if before:
                pieces.append(last[:before])
        self._made.read_again(sum(one.height for one in pieces))
        pieces.append(further)
        # Pieces double in size from the last to the first: each row is moved a few times, however many polls there are.
        while len(pieces) > 1 and pieces[-2].height < 2 * pieces[-1].height:
            pieces[-2:] = [pl.concat(pieces[-2:], rechunk=True)]


def _further(source: Source, before: _Read) -> tuple[_Read, bytes]:
    """The whole lines that a file has more than before, and how far it is read with them."""
    with files.opened(source.name) as file:
        if before.header:
            file.seek(before.offset)
            header, offset, crc32 = before.header, before.offset, before.crc32
        else:
            header, offset, begun = beginning(file, source.name)
            crc32 = zlib.crc32(begun[:offset])
            file.seek(offset)
        now = _Read(source.size, source.mtime_ns)
        if not header or offset > source.size:
            return now, b""
        text = file.read(source.size - offset) or b""
    text = text[: text.rfind(b"\n") + 1]
    if text.count(b'"') % 2:  # a line break within a cell
        raise _NotGrown
    return replace(now, header=header, offset=offset + len(text), crc32=zlib.crc32(text, crc32)), text
