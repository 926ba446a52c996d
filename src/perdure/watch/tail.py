"""A log that is being written: what has grown since the last look, kept as block sums and a thin curve.

Nothing here grows with the log but the number of its blocks, and only new bytes are read.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from perdure import files
from perdure.curves.arrays import Array
from perdure.curves.model import Prep
from perdure.curves.prepare import smooth, width_for
from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log.rows import header_names, records
from perdure.log.sources import DATA_FILE

__all__ = ["Bins", "BlockSoFar", "Seen", "Tail"]

_READ_AT_MOST = 1 << 24  # bytes of one file in one look; a large log is caught up with in several
_FEW = 1 << 16  # bytes; fewer are split faster than a table is made of them
_ALL_EVERY = 8  # looks; in between only the newest files are looked at, because older ones rarely change
_NEWEST = 2
_BINS = 240
_LARGEST = 1e300  # what lies beyond is not scored, and said; drawn, it would leave nothing of the rest
_KEY = ("block_num", "block_type", "task_name")

Key = tuple[int, str, str, str]
"""Block number, type, task and subtype."""


class Bins:
    """Lowest, highest and mean value of each stretch of a block, in at most `most` stretches however long it gets."""

    def __init__(self, most: int = _BINS) -> None:
        self.most = most
        self.width = 1
        self.count = 0
        self._low = np.full(most, np.inf)
        self._high = np.full(most, -np.inf)
        self._sum = np.zeros(most)

    def add(self, values: Array) -> None:
        """Further values, in order."""
        while self.count + len(values) > self.most * self.width:
            self._fold()
        where = (self.count + np.arange(len(values))) // self.width
        np.minimum.at(self._low, where, values)
        np.maximum.at(self._high, where, values)
        np.add.at(self._sum, where, values)
        self.count += len(values)

    def line(self) -> tuple[Array, Array]:
        """Where and how high: two points per stretch, or one where it holds one value."""
        used = -(-self.count // self.width)
        first = np.arange(used, dtype=float) * self.width
        if self.width == 1:
            return first, self._low[:used].copy()
        x = np.stack([first, first + self.width / 2], axis=1).ravel()
        return x, np.stack([self._low[:used], self._high[:used]], axis=1).ravel()

    def smoothed(self, prep: Prep) -> tuple[Array, Array]:
        """Where and how high the block is once smoothed; exactly as a report has it while a stretch is one value."""
        used = -(-self.count // self.width)
        counts = np.full(used, float(self.width))
        counts[-1:] = self.count - self.width * (used - 1)
        means = self._sum[:used] / counts
        wide = width_for(self.count, prep.width) // self.width
        made = means
        if wide >= 3:
            ends = np.array([0, used])
            made = smooth(means, ends, (0,), window=prep.window, width=wide, alignment=prep.alignment)
        return np.arange(used) * self.width + (counts - 1) / 2, made

    def _fold(self) -> None:
        half = self.most // 2
        low, high = np.full(self.most, np.inf), np.full(self.most, -np.inf)
        low[:half] = self._low.reshape(half, 2).min(axis=1)
        high[:half] = self._high.reshape(half, 2).max(axis=1)
        total = np.zeros(self.most)
        total[:half] = self._sum.reshape(half, 2).sum(axis=1)
        self._low, self._high, self._sum = low, high, total
        self.width *= 2


@dataclass
class BlockSoFar:
    """One block as far as it was logged."""

    number: int
    mode: str
    task: str
    subtype: str
    bins: Bins = field(default_factory=Bins)
    total: float = 0.0
    squares: float = 0.0

    @property
    def count(self) -> int:
        """Experiences that count."""
        return self.bins.count

    @property
    def mean(self) -> float:
        """Their mean."""
        return self.total / self.count if self.count else 0.0

    @property
    def half_width(self) -> float:
        """Half of an approximate 95 % interval of the mean; the report has the exact one."""
        if self.count < 2:
            return 0.0
        variance = max(0.0, (self.squares - self.total * (self.total / self.count)) / (self.count - 1))
        if not math.isfinite(variance):  # the square of a value may be too large, though the value is not
            return 0.0
        return 1.96 * math.sqrt(variance / self.count)

    def add(self, values: Array) -> None:
        """Further values, in order."""
        self.bins.add(values)
        self.total += float(values.sum())
        with np.errstate(over="ignore"):
            self.squares += float(np.square(values).sum())


@dataclass
class Seen:
    """How far one file was read."""

    inode: int
    offset: int = 0
    size: int = 0
    header: tuple[str, ...] = ()


class Tail:
    """One lifetime that is being written. `look` reads what is new; what was cut short or replaced is read again."""

    def __init__(self, path: Path, measure: str) -> None:
        self.path = path
        self.measure = measure
        self.blocks: dict[Key, BlockSoFar] = {}
        self.rows = 0
        self.resets = 0
        """How often the log was cut short or replaced, and read again from its beginning."""
        self.torn = False
        """Whether a last line is waiting for its end."""
        self.behind = False
        """Whether there is more to read than one look takes."""
        self.written = 0.0
        """When its newest file was last written, by the clock of its disk."""
        self._files: dict[str, Seen] = {}
        self._listed: dict[str, tuple[int, dict[str, str]]] = {}
        """Of each worker: when its folder was last changed, and its blocks' folders with the data file in each."""
        self._looks = 0

    def look(self) -> bool:
        """Read what is new; whether anything was. A log that is gone counts as empty."""
        names, found = self._found(everything=self._looks % _ALL_EVERY == 0)
        self._looks += 1
        gone = not self._files.keys() <= names
        if gone or any(self._cut(self._files[name], state) for name, state in found.items() if name in self._files):
            _, found = self._found(everything=True)
            self.blocks.clear()
            self._files.clear()
            self.rows = 0
            self.resets += 1
            self._read(found)
            return True
        return self._read(found)

    @property
    def size(self) -> int:
        """How much was read."""
        return sum(seen.offset for seen in self._files.values())

    def ordered(self) -> list[BlockSoFar]:
        """The blocks that hold anything, in the order of a lifetime."""
        filled = (one for one in self.blocks.values() if one.count)
        return sorted(filled, key=lambda one: one.number)

    def _found(self, *, everything: bool) -> tuple[set[str], dict[str, os.stat_result]]:
        """Every data file, and the state of those that were looked at; folders that vanish are passed by."""
        there: set[str] = set()
        found: dict[str, os.stat_result] = {}
        for worker in _folders(self.path):
            names = self._names(worker)
            there.update(names)
            few = [*(one for one in names[:-_NEWEST] if one not in self._files), *names[-_NEWEST:]]
            for name in names if everything else few:
                try:
                    found[name] = os.stat(name, follow_symlinks=False)
                except OSError:
                    there.discard(name)
        return there, found

    def _names(self, worker: os.DirEntry[str]) -> list[str]:
        """The data files of a worker in the order of their blocks; listed again only where a folder came or went."""
        try:
            changed = os.stat(worker.path).st_mtime_ns
        except OSError:
            return []
        known = self._listed.get(worker.path)
        if known is None or known[0] != changed:
            names = known[1] if known else {}
            found = {one.name: one for one in _folders(worker.path)}
            new = sorted(found.keys() - names.keys(), key=_block_number)
            if not names.keys() <= found.keys() or (names and new and _block_number(new[0]) < _last(names)):
                names, new = {}, sorted(found, key=_block_number)
            names = {**names, **{one: os.path.join(found[one].path, DATA_FILE) for one in new}}
            known = self._listed[worker.path] = (changed, names)
        return list(known[1].values())

    @staticmethod
    def _cut(seen: Seen, state: os.stat_result) -> bool:
        return state.st_ino != seen.inode or state.st_size < seen.offset

    def _read(self, found: dict[str, os.stat_result]) -> bool:
        grew = False
        self.torn = self.behind = False
        for name, state in found.items():
            self.written = max(self.written, state.st_mtime)
            seen = self._files.setdefault(name, Seen(state.st_ino))
            if state.st_size > seen.offset and state.st_size != seen.size:
                grew = self._read_file(name, seen) or grew
            seen.size = state.st_size if not self.behind else seen.size
            self.torn = self.torn or (bool(seen.header) and seen.offset < seen.size)
        return grew

    def _read_file(self, name: str, seen: Seen) -> bool:
        try:
            with files.opened(name) as file:
                file.seek(seen.offset)
                chunk = file.read(_READ_AT_MOST)
        except OSError:
            return False
        self.behind = self.behind or len(chunk) == _READ_AT_MOST
        end = chunk.rfind(b"\n") + 1
        body = chunk[:end]
        if not seen.header and body:
            first, _, body = body.partition(b"\n")
            seen.header = header_names(first)
        seen.offset += end
        return self._add(body, seen.header) if body else False

    def _add(self, body: bytes, header: tuple[str, ...]) -> bool:
        wanted = ["block_num", "block_type", "task_name", "exp_status", self.measure]
        if any(name not in header for name in wanted):
            raise LogError(
                f"a file here has no column {', '.join(set(wanted) - set(header))}",
                "see perdure check, or choose a --measure that all files have",
                file=self.path,
            )
        rows = 0
        for key, values in (_split if len(body) < _FEW else _tabled)(body, header, self.measure):
            # A block is there, and scored, whatever its values are; what cannot be drawn is left out here.
            drawn = values[np.abs(values) <= _LARGEST]
            rows += len(drawn)
            if key not in self.blocks:
                learns = key[1] == "train"
                # Of an evaluation only the mean is drawn.
                bins = Bins(_BINS if learns else 2)
                self.blocks[key] = BlockSoFar(key[0], "learn" if learns else "evaluate", key[2], key[3], bins)
            self.blocks[key].add(drawn)
        self.rows += rows
        return rows > 0


def _split(body: bytes, header: tuple[str, ...], measure: str) -> Iterator[tuple[Key, Array]]:
    """The values of complete experiences in a few lines, by block; what does not fit is left to `perdure check`."""
    number, kind, task, status, value = (header.index(name) for name in (*_KEY, "exp_status", measure))
    subtype = header.index("block_subtype") if "block_subtype" in header else None
    found: dict[Key, list[float]] = {}
    for _, line in records(body.decode("utf-8", "replace").replace("\0", ""), "\t"):
        if len(line) != len(header) or line[status] != "complete":
            continue
        try:
            measured, block = float(line[value]), int(line[number])
        except ValueError:
            continue
        slept = line[subtype] if subtype is not None else ""
        found.setdefault((block, line[kind], line[task].lower(), slept or "wake"), []).append(measured)
    yield from ((key, np.array(values)) for key, values in found.items())


def _tabled(body: bytes, header: tuple[str, ...], measure: str) -> Iterator[tuple[Key, Array]]:
    """The same for many lines at once."""
    rows = _parsed(body, header)
    if "block_subtype" not in rows.columns:
        rows = rows.with_columns(pl.lit("wake").alias("block_subtype"))
    value = pl.col(measure).cast(pl.Float64, strict=False)
    kept = rows.filter((pl.col("exp_status") == "complete") & value.is_not_null()).select(
        pl.col("block_num").cast(pl.Int64, strict=False),
        "block_type",
        pl.col("task_name").str.to_lowercase(),
        pl.col("block_subtype").fill_null("wake"),
        value.alias("value"),
    )
    keys = [*_KEY, "block_subtype"]
    for part in kept.drop_nulls("block_num").partition_by(keys, maintain_order=True):
        number, kind, task, subtype = part.select(keys).row(0)
        yield (int(number), str(kind), str(task), str(subtype)), part["value"].to_numpy()


def _parsed(body: bytes, header: tuple[str, ...]) -> pl.DataFrame:
    """The lines as text; one that does not fit its header is dropped here, and named by `perdure check`."""
    try:
        return pl.read_csv(
            io.BytesIO(body),
            separator="\t",
            has_header=False,
            new_columns=list(header),
            infer_schema=False,
            truncate_ragged_lines=True,
            encoding="utf8-lossy",
        )
    except pl.exceptions.PolarsError:
        return pl.DataFrame(schema=dict.fromkeys(header, pl.String))


def _folders(path: str | Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return [one for one in entries if not one.name.startswith(".") and one.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _block_number(name: str) -> tuple[int, str]:
    number = name.partition("-")[0]
    return (int(number) if number.isdigit() else -1, name)


def _last(names: dict[str, str]) -> tuple[int, str]:
    return _block_number(next(reversed(names)))
