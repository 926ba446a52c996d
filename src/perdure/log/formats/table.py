"""Read tables: CSV, TSV, Parquet or Arrow files and data frames, of one lifetime or of many."""

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
from perdure.log.formats import long, packed, wide
from perdure.log.formats.bulk import BULK
from perdure.log.formats.column_names import NEEDED, TableLayout, layout, table_shape
from perdure.log.formats.long import Counts, Owners, owners_of
from perdure.log.formats.matrix_files import looks_like_matrix
from perdure.log.model import Lifetime
from perdure.log.places import as_text
from perdure.log.problem import Note
from perdure.log.read import Options, SeveralLifetimes
from perdure.log.rows import Part, TextTable, bytes_of, unreadable
from perdure.text import join_names

_WHOLE = "all"
_PIECE = 1 << 20  # rows that are read at once of a file of many lifetimes

# Parts of a log, which have the columns of a long table; and the tables that `score --out` writes.
_PARTS_OF_LOGS = {"data-log.tsv", "block-report.tsv"}
_OUTPUTS = ({"lifetime", "block", "experiences_to_saturation"}, {"lifetime", "block", "prepared"})

_SHAPES = {
    "long": long.lifetimes,
    "stream": long.lifetimes,
    "wide": wide.wide_lifetimes,
    "triplets": wide.triplet_lifetimes,
    "tagged": wide.tagged_lifetimes,
}


class _Tables(SeveralLifetimes[Lifetime]):
    name = "table"
    summary = (
        "a CSV, TSV (also .gz or .zip), Parquet or Arrow table with a header of names: one row per experience, "
        "or wide, or triplets, or a column per tag (eval/TASK/MEASURE); of one lifetime, "
        "or of many with columns lifetime, learner, seed"
    )

    def recognises(self, path: Path) -> bool:
        """Return whether the suffix is that of a table and a text begins with a line of names that no matrix has."""
        if not packed.is_table_name(path) or not path.is_file():
            return False
        if packed.kind(path) in packed.BINARY:
            return not BULK.recognises(path)
        names = [cell for cell in packed.first_line(path) or () if cell]
        return len(names) > 1 and not all(map(cells.is_number, names)) and not looks_like_matrix(path)

    def claims(self, path: Path, options: Options) -> bool:
        """Return whether the header has every column that its shape needs."""
        if path.name in _PARTS_OF_LOGS:
            return False
        header = _header(path)
        if not header or table_shape(header, options) is None or any(names.issubset(header) for names in _OUTPUTS):
            return False
        try:
            return not layout(header, path, options).missing()
        except LogError:
            return False

    def parts(self, path: Path, options: Options) -> Sequence[str]:
        """Return pieces of whole lifetimes if a Parquet file holds many, else one."""
        if packed.kind(path) != ".parquet":
            return (_WHOLE,)
        columns = _binary_layout(path, options)
        if columns.shape != "long" or not columns.identity:
            return (_WHOLE,)
        owners = _parquet_owners(path, columns, options)
        rows_before = np.append(0, np.cumsum(np.bincount(owners.of_row, minlength=len(owners.each))))
        if rows_before[-1] <= _PIECE or len(owners.each) == 1:
            return (_WHOLE,)
        starts = np.unique(rows_before[:-1] // _PIECE, return_index=True)[1].tolist()
        return [f"{first}-{last}" for first, last in zip(starts, (*starts[1:], len(owners.each)), strict=True)]

    def holds_experts(self, path: Path, options: Options) -> bool:
        """Return whether a column of roles calls some of its lifetimes experts or twins, or holds a twin's values."""
        header = {name.lower() for name in _header(path) or ()}
        if options.columns.get("twin", "").lower() in header:
            return True
        if options.columns.get("role", "role").lower() not in header:
            return False
        return any(lifetime.role != "life" for lifetime in self.lifetimes(path, options))

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[Lifetime]:
        """Yield every lifetime in this table, in order of appearance."""
        if part is None:
            for piece in self.parts(path, options):
                yield from self.lifetimes(path, options, piece)
            return
        notes: list[str] = []
        if part == _WHOLE:
            table, columns = _whole_table(path, options, notes)
            owners = _owners(table, columns, tuple(options.columns))
        else:
            columns = _binary_layout(path, options)
            first, _, last = part.partition("-")
            owners, rows = _parquet_owners(path, columns, options).between(int(first), int(last))
            table = _parquet_rows(path, columns, rows)
        yield from _named(as_text(packed.stem(path)), path, table, columns, owners, options, notes)


TABLE = _Tables()


def is_frame(value: object) -> bool:
    """Return whether `value` is a table in memory: of Polars, pandas or Arrow."""
    library, name = type(value).__module__.partition(".")[0], type(value).__name__
    return library in ("polars", "pandas", "pyarrow") and name in ("DataFrame", "LazyFrame", "Table")


def frame_lifetimes(frame: Any, options: Options, name: str = "table") -> tuple[Lifetime, ...]:
    """Return the lifetimes in a table in memory by the rules of tables in files; messages call it `name`."""
    lifetimes = rows_lifetimes(_as_polars(frame), Path(name), options, name=name)
    return tuple(replace(lifetime, path=None) for lifetime in lifetimes)


def rows_lifetimes(rows: pl.DataFrame, path: Path, options: Options, *, name: str) -> Iterator[Lifetime]:
    """Yield the lifetimes in rows that another reader took from `path`, by the rules of tables."""
    columns = layout(rows.columns, path, options)
    table = _rename(TextTable(rows, (Part(path, 0, counted="row"),)), path, columns)
    yield from _named(name, path, table, columns, _owners(table, columns, tuple(options.columns)), options, ())


def _as_polars(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    if isinstance(frame, pl.DataFrame):
        return frame
    if type(frame).__module__.startswith("pyarrow"):
        table = pl.from_arrow(frame)
        assert isinstance(table, pl.DataFrame)
        return table
    columns = {}  # pandas: its index is not a column, and a gap is NaN also in a column of text
    for name in frame.columns:
        cells_and_gaps = zip(frame[name].tolist(), frame[name].isna().tolist(), strict=True)
        columns[str(name)] = [None if gap else cell for cell, gap in cells_and_gaps]
    return pl.DataFrame(columns, strict=False)


def _named(
    name: str,
    path: Path,
    table: TextTable,
    columns: TableLayout,
    owners: Owners,
    options: Options,
    notes: Sequence[str],
) -> Iterator[Lifetime]:
    for lifetime in _SHAPES[columns.shape](table, owners, options):
        all_notes = (*columns.notes, *owners.notes, *lifetime.notes)
        placed = (note if isinstance(note, Note) else f"{path.name}: {note}" for note in all_notes)
        lifetime_id = f"{name}#{lifetime.inside}" if lifetime.inside else name
        yield replace(lifetime, id=lifetime_id, notes=(*notes, *placed))


def _owners(table: TextTable, columns: TableLayout, declared: tuple[str, ...]) -> Owners:
    blocks = long.BLOCKS if columns.shape in ("long", "stream") else ()
    return owners_of(table, columns.identity, declared, blocks)


# --- files ---------------------------------------------------------------------------------------


def _header(path: Path) -> list[str] | None:
    """Return the names of the columns, None if they cannot be read."""
    if packed.kind(path) not in packed.BINARY:
        return packed.first_line(path)
    try:
        return list(_scan(path).collect_schema())
    except unreadable():
        return None


def _scan(path: Path) -> pl.LazyFrame:
    if packed.kind(path) == ".parquet":
        return pl.scan_parquet(path, glob=False, hive_partitioning=False)
    content = bytes_of(path)  # Arrow comes as a file, which begins with a magic word, or as a stream
    return (pl.read_ipc(content) if content.startswith(b"ARROW1") else pl.read_ipc_stream(content)).lazy()


def _collect(path: Path, frame: pl.LazyFrame) -> pl.DataFrame:
    try:
        return frame.collect()
    except unreadable() as problem:
        raise _unreadable(path, problem) from problem


def _unreadable(path: Path, problem: BaseException) -> LogError:
    reason = (str(problem).splitlines() or [type(problem).__name__])[0]
    return LogError(f"not a readable {packed.kind(path)[1:]} file: {reason}", "write it again", file=path)


def _binary_layout(path: Path, options: Options) -> TableLayout:
    """Return the layout of a binary file without reading its rows."""
    try:
        header = list(_scan(path).collect_schema())
    except unreadable() as problem:
        raise _unreadable(path, problem) from problem
    return layout(header, path, options)


def _whole_table(path: Path, options: Options, notes: list[str]) -> tuple[TextTable, TableLayout]:
    suffix = packed.kind(path)
    if suffix in packed.BINARY:
        columns = _binary_layout(path, options)
        table: TextTable | None = TextTable(_collect(path, _scan(path)), (Part(path, 0, counted="row"),))
    elif packed.is_table_name(path):
        table = packed.table(path, notes, options.max_unpacked)
        if table is None:
            what = f"no table here ({'; '.join(notes)})"
            raise LogError(what, "expected a header of names and rows below it", file=path)
        columns = layout(table.rows.columns, path, options)
    else:
        known = packed.shown_suffixes()
        raise LogError("a table is read by its suffix", f"{suffix or 'no suffix'} is none of {known}", file=path)
    assert table is not None
    return _rename(table, path, columns), columns


def _rename(table: TextTable, path: Path, columns: TableLayout) -> TextTable:
    """Return a table with our names of columns; raise LogError if it has no rows or lacks a column."""
    rows = table.rows
    if not rows.height:
        raise LogError(f"a header and no rows (columns: {join_names(rows.columns)})", "nothing was logged", file=path)
    for needed in columns.missing():
        fix = f"map your column to it, for example with --column {needed}={NEEDED[columns.shape][needed]}"
        if columns.shape == "long":
            fix += "; where every row was scored before it was learned, --shape stream"
        if rows.width - 1 in (rows.height, rows.height - 1):
            fix += "; an accuracy matrix is numbers alone, or JSON, which may name its tasks"
        raise LogError(f"no column {needed!r} (found: {join_names(rows.columns)})", fix, file=path)
    renamed = rows.select(pl.col(name).alias(column) for column, name in columns.columns.items())
    return TextTable(renamed, table.parts, columns.called)


# --- pieces of a Parquet file --------------------------------------------------------------------


def _parquet_owners(path: Path, columns: TableLayout, options: Options) -> Owners:
    state = path.stat()
    return _read_owners(path, (state.st_size, state.st_mtime_ns), columns, tuple(options.columns))


@lru_cache(maxsize=1)  # one process reads several pieces of a file
def _read_owners(path: Path, _state: tuple[int, int], columns: TableLayout, declared: tuple[str, ...]) -> Owners:
    """Return the owner of each row from the identifying columns. `_state` is that of the file."""
    needed = [name for name in (*columns.identity, *long.BLOCKS) if name in columns.columns]
    if {"lifetime", "learner"} & set(columns.identity):
        needed = list(columns.identity)  # a seed is then identity, whatever the blocks are
    rows = _collect(path, _scan(path).select(pl.col(columns.columns[name]).alias(name) for name in needed))
    return _owners(TextTable(rows, (Part(path, 0, counted="row"),), columns.called), columns, declared)


def _parquet_rows(path: Path, columns: TableLayout, rows: Counts) -> TextTable:
    """Return some rows of a Parquet file, without reading the others if they are adjacent."""
    first, count = int(rows[0]), len(rows)
    adjacent = int(rows[-1]) - first + 1 == count
    scan = _scan(path).select(pl.col(name).alias(column) for column, name in columns.columns.items())
    frame = _collect(path, scan.slice(first, count) if adjacent else scan)
    table = TextTable(frame, (Part(path, 0, counted="row"),), columns.called)
    return table.taken(frame if adjacent else frame[rows], rows)
