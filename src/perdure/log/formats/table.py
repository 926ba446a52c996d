"""Tables of one's own: CSV, TSV, Parquet or Arrow, of one lifetime or of many, long, wide or as triplets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.formats import long, packed, tagged, triplets, wide
from perdure.log.formats.bulk import BULK
from perdure.log.formats.column_names import NEEDED, TableLayout, layout, table_shape
from perdure.log.formats.matrix_files import looks_like_matrix
from perdure.log.formats.row_identity import Counts, Lives, lives
from perdure.log.model import Lifetime
from perdure.log.places import as_text
from perdure.log.problem import Note
from perdure.log.read import Options, SeveralLifetimes
from perdure.log.rows import Part, Table, bytes_of, unreadable
from perdure.text import some

_WHOLE = "all"
_PIECE = 1 << 20  # rows that are read at once of a file of many lifetimes

# Parts of a log, which have the columns of a long table and are no lifetime; and what `score --out` writes.
_PARTS_OF_LOGS = {"data-log.tsv", "block-report.tsv"}
_OUTPUTS = ({"lifetime", "block", "experiences_to_saturation"}, {"lifetime", "block", "prepared"})


class _Tables(SeveralLifetimes[Lifetime]):
    name = "table"
    summary = (
        "a CSV, TSV (also .gz or .zip), Parquet or Arrow table with a header of names: one row per experience, "
        "or wide, or triplets, or a column per tag (eval/TASK/MEASURE); of one lifetime, "
        "or of many with columns lifetime, learner, seed"
    )

    def recognises(self, path: Path) -> bool:
        """By its suffix and, for text, by a first line of names, unless what they stand about is a matrix."""
        if not packed.is_table_name(path) or not path.is_file():
            return False
        if packed.kind(path) in packed.BINARY:
            return not BULK.recognises(path)
        written = [cell for cell in packed.first_line(path) or () if cell]
        return len(written) > 1 and not all(map(cells.is_number, written)) and not looks_like_matrix(path)

    def claims(self, path: Path, options: Options) -> bool:
        """Whether a file that nobody named is such a table: its header has every column that its shape needs."""
        if path.name in _PARTS_OF_LOGS:
            return False
        header = _header(path)
        if not header or table_shape(header, options) is None or any(ours.issubset(header) for ours in _OUTPUTS):
            return False
        try:
            return not layout(header, path, options).missing()
        except LogError:
            return False

    def parts(self, path: Path, options: Options) -> Sequence[str]:
        """Pieces of whole lifetimes where a Parquet file holds many; else one."""
        if packed.kind(path) != ".parquet":
            return (_WHOLE,)
        how = _layout(path, options)
        if how.shape != "long" or not how.identity:
            return (_WHOLE,)
        return _pieces(_whose(path, how, options))

    def holds_experts(self, path: Path, options: Options) -> bool:
        """Whether a column of roles calls some of its lifetimes experts."""
        column = options.columns.get("role", "role").lower()
        if column not in {name.lower() for name in _header(path) or ()}:
            return False
        return any(one.role == "expert" for one in self.lifetimes(path, options))

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[Lifetime]:
        """Every lifetime in this table, in order of appearance; columns of other names by `options.columns`."""
        if part is None:
            for piece in self.parts(path, options):
                yield from self.lifetimes(path, options, piece)
            return
        notes: list[str] = []
        if part == _WHOLE:
            table, how = _loaded(path, options, notes)
            whose = _lives(table, how, tuple(options.columns))
        else:
            how = _layout(path, options)
            whose, rows = _whose(path, how, options).between(*_range(part))
            table = _piece(path, how, rows)
        yield from _named(as_text(packed.stem(path)), path, table, how, whose, options, notes)


def is_frame(given: object) -> bool:
    """Whether this is a table in memory: of Polars, pandas or Arrow."""
    library, name = type(given).__module__.partition(".")[0], type(given).__name__
    return library in ("polars", "pandas", "pyarrow") and name in ("DataFrame", "LazyFrame", "Table")


def frame_lifetimes(frame: Any, options: Options, name: str = "table") -> tuple[Lifetime, ...]:
    """The lifetimes in a table in memory, by the rules of tables in files; messages call it `name`."""
    return tuple(replace(one, path=None) for one in rows_lifetimes(_as_polars(frame), Path(name), options, name=name))


def rows_lifetimes(
    rows: pl.DataFrame, path: Path, options: Options, notes: Sequence[str] = (), *, name: str = ""
) -> Iterator[Lifetime]:
    """The lifetimes in rows that another reader took from `path`, by the rules of tables."""
    how = layout(rows.columns, path, options)
    table = _under_our_names(Table(rows, (Part(path, 0, counted="row"),)), path, how)
    whose = _lives(table, how, tuple(options.columns))
    yield from _named(name or as_text(packed.stem(path)), path, table, how, whose, options, notes)


def _as_polars(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    if type(frame).__module__.startswith("pyarrow"):
        found = pl.from_arrow(frame)
        assert isinstance(found, pl.DataFrame)
        return found
    columns = {}  # pandas; its index is no column, and a gap is NaN there in a column of text too
    for name in frame.columns:
        cells_and_gaps = zip(frame[name].tolist(), frame[name].isna().tolist(), strict=True)
        columns[str(name)] = [None if gap else cell for cell, gap in cells_and_gaps]
    return pl.DataFrame(columns, strict=False)


def _named(
    name: str, path: Path, table: Table, how: TableLayout, whose: Lives, options: Options, notes: Sequence[str]
) -> Iterator[Lifetime]:
    for one in _SHAPES[how.shape](table, whose, options):
        told = (
            note if isinstance(note, Note) else f"{path.name}: {note}"
            for note in (*how.notes, *whose.notes, *one.notes)
        )
        yield replace(one, id=f"{name}#{one.inside}" if one.inside else name, notes=(*notes, *told))


_SHAPES = {"long": long.lifetimes, "wide": wide.lifetimes, "triplets": triplets.lifetimes, "tagged": tagged.lifetimes}


def _header(path: Path) -> list[str] | None:
    """The names of the columns, at a glance; None where there are none to be read."""
    if packed.kind(path) not in packed.BINARY:
        return packed.first_line(path)
    try:
        return list(_scan(path).collect_schema())
    except unreadable():
        return None


def _scan(path: Path) -> pl.LazyFrame:
    if packed.kind(path) == ".parquet":
        return pl.scan_parquet(path, glob=False, hive_partitioning=False)
    content = bytes_of(path)  # Arrow comes as a file, with its magic word in front, or as a stream without
    return (pl.read_ipc(content) if content.startswith(b"ARROW1") else pl.read_ipc_stream(content)).lazy()


def _collected(path: Path, frame: pl.LazyFrame) -> pl.DataFrame:
    try:
        return frame.collect()
    except unreadable() as problem:
        raise _unreadable(path, problem) from problem


def _unreadable(path: Path, problem: BaseException) -> LogError:
    reason = (str(problem).splitlines() or [type(problem).__name__])[0]
    return LogError(f"not a readable {packed.kind(path)[1:]} file: {reason}", "write it again", file=path)


def _layout(path: Path, options: Options) -> TableLayout:
    """How a binary file is laid out, without reading its rows."""
    try:
        header = list(_scan(path).collect_schema())
    except unreadable() as problem:
        raise _unreadable(path, problem) from problem
    return layout(header, path, options)


def _loaded(path: Path, options: Options, notes: list[str]) -> tuple[Table, TableLayout]:
    """All rows, under our names."""
    suffix = packed.kind(path)
    if suffix in packed.BINARY:
        how = _layout(path, options)
        table = Table(_collected(path, _scan(path)), (Part(path, 0, counted="row"),))
    elif packed.is_table_name(path):
        found = packed.table(path, notes, options.max_unpacked)
        if found is None:
            raise LogError(
                f"no table here ({'; '.join(notes)})", "expected a header of names and rows below it", file=path
            )
        table, how = found, layout(found.rows.columns, path, options)
    else:
        known = packed.shown_suffixes()
        raise LogError("a table is read by its suffix", f"{suffix or 'no suffix'} is none of {known}", file=path)
    return _under_our_names(table, path, how), how


def _under_our_names(table: Table, path: Path, how: TableLayout) -> Table:
    if not table.rows.height:
        raise LogError(f"a header and no rows (columns: {some(table.rows.columns)})", "nothing was logged", file=path)
    _require(table.rows, path, how)
    rows = table.rows.select(pl.col(theirs).alias(ours) for ours, theirs in how.columns.items())
    return Table(rows, table.parts, how.called)


def _require(rows: pl.DataFrame, path: Path, how: TableLayout) -> None:
    for needed in how.missing():
        example = NEEDED[how.shape][needed]
        raise LogError(
            f"no column {needed!r} (found: {some(rows.columns)})",
            f"say which one it is, as in --column {needed}={example} or columns={{{needed!r}: {example!r}}}"
            f"{_square(rows)}",
            file=path,
        )


def _square(rows: pl.DataFrame) -> str:
    """What to say of a table that may be an accuracy matrix with names about it."""
    if rows.width - 1 not in (rows.height, rows.height - 1):
        return ""
    return "; an accuracy matrix is numbers alone, or JSON, which may name its tasks"


def _lives(table: Table, how: TableLayout, declared: tuple[str, ...]) -> Lives:
    return lives(table, how.identity, declared, long.BLOCKS if how.shape == "long" else ())


def _whose(path: Path, how: TableLayout, options: Options) -> Lives:
    """Whose each row of a Parquet file is; looked up once for all the pieces that a process reads of it."""
    state = path.stat()
    return _found(path, (state.st_size, state.st_mtime_ns), how, tuple(options.columns))


@lru_cache(maxsize=1)
def _found(path: Path, state: tuple[int, int], how: TableLayout, declared: tuple[str, ...]) -> Lives:  # noqa: ARG001
    """Whose each row is, from no more than the columns that tell; `state` is of the file that is remembered."""
    needed = [name for name in (*how.identity, *long.BLOCKS) if name in how.columns]
    if {"lifetime", "learner"} & set(how.identity):
        needed = list(how.identity)  # a seed then needs no blocks to be believed
    rows = _collected(path, _scan(path).select(pl.col(how.columns[name]).alias(name) for name in needed))
    return _lives(Table(rows, (Part(path, 0, counted="row"),), how.called), how, declared)


def _pieces(whose: Lives) -> Sequence[str]:
    """Ranges of lifetimes with about as many rows as one reads at once."""
    rows_before = np.concatenate([[0], np.cumsum(np.bincount(whose.of_row, minlength=len(whose.who)))])
    if rows_before[-1] <= _PIECE or len(whose.who) == 1:
        return (_WHOLE,)
    starts = np.unique(rows_before[:-1] // _PIECE, return_index=True)[1].tolist()
    return [f"{first}-{last}" for first, last in zip(starts, (*starts[1:], len(whose.who)), strict=True)]


def _range(part: str) -> tuple[int, int]:
    first, _, last = part.partition("-")
    return int(first), int(last)


def _piece(path: Path, how: TableLayout, rows: Counts) -> Table:
    """Some rows of a Parquet file; they usually stand together, and the rest is then not read."""
    columns = [pl.col(theirs).alias(ours) for ours, theirs in how.columns.items()]
    first, count = int(rows[0]), len(rows)
    together = int(rows[-1]) - first + 1 == count
    scan = _scan(path).select(columns)
    found = _collected(path, scan.slice(first, count) if together else scan)
    whole = Table(found, (Part(path, 0, counted="row"),), how.called)
    return whole.taken(found if together else found[rows], rows)


TABLE = _Tables()
