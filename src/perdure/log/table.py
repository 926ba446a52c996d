"""A long table of one's own: one row per experience, in CSV, TSV, Parquet or Arrow."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from perdure import files
from perdure.errors import LogError, nearest
from perdure.log import cells
from perdure.log.blocks import in_order
from perdure.log.delimited import Part, Table, bytes_of, tables
from perdure.log.model import EXPERIENCE_STATUSES, STANDARD_COLUMNS, Direction, Lifetime
from perdure.log.places import as_text
from perdure.log.read import Options

__all__ = ["TABLE"]

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def _arrow(content: bytes) -> pl.DataFrame:
    """Arrow comes as a file, with its magic word in front, or as a stream without."""
    return pl.read_ipc(content) if content.startswith(b"ARROW1") else pl.read_ipc_stream(content)


_BINARY: Mapping[str, Callable[[bytes], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
    ".ipc": _arrow,
}
_GLANCE = 1 << 16

# A row index that a spreadsheet or pandas wrote: a number per row, and no measure.
_INDEX = re.compile(r"unnamed[_: ]+\d+|__index_level_\d+__", re.IGNORECASE)

_MODES = {
    "train": "train",
    "test": "test",
    "learn": "train",
    "training": "train",
    "evaluate": "test",
    "eval": "test",
    "evaluation": "test",
    "testing": "test",
}
_SUBTYPES = {"wake": "wake", "sleep": "sleep"}
_STATUSES = {status: status for status in EXPERIENCE_STATUSES}

# What L2Logger writes where its caller says nothing. It has no word for a time that nobody noted.
_DEFAULTS: Mapping[str, str | None] = {
    "worker_id": "worker-default",
    "block_subtype": "wake",
    "task_params": "{}",
    "exp_status": "complete",
    "timestamp": None,
}
_EXAMPLES = {"task_name": "env", "block_type": "phase"}


class _LongTable:
    name = "table"
    summary = "a CSV, TSV, Parquet or Arrow table with one row per experience and a header of names"

    def recognises(self, path: Path) -> bool:
        """By its suffix and, for text, by a first line of names; a line of numbers alone starts a matrix."""
        suffix = path.suffix.lower()
        if not path.is_file():
            return False
        return suffix in _BINARY or (suffix in _SEPARATORS and _has_names(path, _SEPARATORS[suffix]))

    def read(self, path: Path, options: Options) -> Lifetime:
        """The lifetime in this table; columns of other names are found through `options.columns`."""
        notes: list[str] = []
        table = _mapped(_loaded(path, notes), path, options.columns)
        measures = _measures(table, path, options)
        return Lifetime(
            id=as_text(path.stem),
            experiences=_experiences(table, measures),
            measures=measures,
            path=path,
            notes=tuple(notes),
        )


def _has_names(path: Path, separator: str) -> bool:
    try:
        with files.opened(path) as file:
            line = file.read(_GLANCE).partition(b"\n")[0]
    except OSError:
        return False
    text = line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").strip("\r\n")
    try:
        fields = [field.strip() for field in next(csv.reader([text], delimiter=separator), [])]
    except csv.Error:
        return False
    written = [field for field in fields if field]
    return len(fields) > 1 and bool(written) and not all(cells.is_number(field) for field in written)


def _loaded(path: Path, notes: list[str]) -> Table:
    suffix = path.suffix.lower()
    if suffix in _SEPARATORS:
        found = tables([path], _SEPARATORS[suffix], notes)
        if not found:
            raise LogError(f"{path}: no table here ({'; '.join(notes)}); expected a header of names and rows below it")
        table = found[0]
    elif suffix in _BINARY:
        content = bytes_of(path)
        try:
            table = Table(_BINARY[suffix](content), (Part(path, 0, counted="row"),))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as problem:
            reason = (str(problem).splitlines() or [type(problem).__name__])[0]
            raise LogError(f"{path}: not a readable {suffix[1:]} file: {reason}; write it again") from problem
    else:
        known = ", ".join((*_SEPARATORS, *_BINARY))
        raise LogError(f"{path}: a table is read by its suffix; {suffix or 'no suffix'} is none of {known}")
    if not table.rows.height:
        raise LogError(f"{path}: a header and no rows (columns: {', '.join(table.rows.columns)}); nothing was logged")
    return table


def _mapped(table: Table, path: Path, columns: Mapping[str, str]) -> Table:
    """The table with our names first; a column that one of ours displaces is kept as `<name>_in_file`."""
    present = table.rows.columns
    for ours, theirs in columns.items():
        if theirs not in present:
            raise LogError(f"{path}: no column {theirs!r} for {ours}; {_offer(theirs, present)}")
    used = set(columns.values())
    kept = {name: f"{name}_in_file" if name in columns else name for name in present if name not in used}
    taken = [*columns, *kept.values()]
    if twice := {name for name in taken if taken.count(name) > 1}:
        raise LogError(f"{path}: two columns would be called {', '.join(sorted(twice))}; rename one in the file")
    rows = table.rows.select(
        *(pl.col(theirs).alias(ours) for ours, theirs in columns.items()),
        *(pl.col(theirs).alias(ours) for theirs, ours in kept.items()),
    )
    for needed, example in _EXAMPLES.items():
        if needed not in rows.columns:
            raise LogError(
                f"{path}: no column {needed!r} (found: {', '.join(present)}); say which one it is, "
                f"as in --column {needed}={example} or columns={{{needed!r}: {example!r}}}{_square(table.rows)}"
            )
    return Table(rows, table.parts, dict(columns))


def _square(rows: pl.DataFrame) -> str:
    """What to say of a table that may be an accuracy matrix with names about it."""
    if rows.width - 1 not in (rows.height, rows.height - 1):
        return ""
    return "; an accuracy matrix is numbers alone, or JSON, which may name its tasks"


def _offer(name: str, present: list[str]) -> str:
    offer = nearest(name, present)
    return offer if offer.startswith("known") else f"{offer} (found: {', '.join(present)})"


def _measures(table: Table, path: Path, options: Options) -> dict[str, Direction]:
    rows = table.rows
    others = [name for name in rows.columns if name not in STANDARD_COLUMNS]
    if options.measures is not None:
        for name in options.measures:
            if name not in others:
                raise LogError(f"{path}: no column for the measure {name!r}; {_offer(name, others)}")
        found = dict(options.measures)
    else:
        found = {name: "higher" for name in others if not _INDEX.fullmatch(name) and cells.is_measurable(rows[name])}
    if not found:
        raise LogError(
            f"{path}: no measure: none of the columns {', '.join(others) or '(none left)'} holds numbers; "
            "log a number per experience, such as a reward"
        )
    return found


def _experiences(table: Table, measures: Mapping[str, Direction]) -> pl.DataFrame:
    rows = table.rows
    column: dict[str, pl.Series | pl.Expr] = {
        "task_name": cells.names(table, "task_name", strip=True).str.to_lowercase(),
        "block_type": cells.words(table, "block_type", _MODES),
    }
    readings: Mapping[str, Callable[[], pl.Series]] = {
        "block_num": lambda: cells.counts(table, "block_num"),
        "exp_num": lambda: cells.counts(table, "exp_num"),
        "worker_id": lambda: cells.names(table, "worker_id", strip=True),
        "block_subtype": lambda: cells.words(table, "block_subtype", _SUBTYPES, blank="wake"),
        "task_params": lambda: cells.objects(table, "task_params"),
        "exp_status": lambda: cells.words(table, "exp_status", _STATUSES, blank="complete"),
        "timestamp": lambda: cells.moments(table, "timestamp"),
    }
    for name, reading in readings.items():
        if name in rows.columns:
            column[name] = reading()
        elif name in _DEFAULTS:
            column[name] = pl.lit(_DEFAULTS[name], STANDARD_COLUMNS[name])
    column.setdefault("exp_num", pl.int_range(pl.len(), dtype=pl.Int64))
    column.setdefault("block_num", (pl.struct("block_type", "task_name").rle_id()).cast(pl.Int64))
    column |= {name: cells.numbers(table, name) for name in measures}
    extras = [name for name in rows.columns if name not in STANDARD_COLUMNS and name not in measures]
    column |= {name: cells.typed(rows[name]) for name in extras}
    given = rows.select(one.alias(name) for name, one in column.items() if isinstance(one, pl.Series))
    given = given.with_columns(one.alias(name) for name, one in column.items() if isinstance(one, pl.Expr))
    return in_order(cells.standard(given.select(*STANDARD_COLUMNS, *measures, *extras)))


TABLE = _LongTable()
