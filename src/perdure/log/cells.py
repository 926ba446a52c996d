"""Convert columns of text into typed ones; an error names the file and line of the first cell that does not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log.rules import STANDARD_COLUMNS, is_object
from perdure.scenario.model import LONGEST_NAME

if TYPE_CHECKING:
    from perdure.log.rows import TextTable


_L2LOGGER_TIME = "%Y%m%dT%H%M%S%.6f"  # TIMESTAMP_FORMAT as Polars spells it; its %f has nine digits
_JSON_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_TRUTH = {"true": 1.0, "false": 0.0}


def numbers(table: TextTable, name: str) -> pl.Series:
    """Return a measure as floats, null for a blank cell; a column of true and false only counts as 1 and 0."""
    column = table.rows[name] if _countable(table.rows[name]) else _text(table, name)
    values = _numbers(column)
    if values.null_count() == column.null_count():  # each query costs as much as a short column
        return values
    refuse(table, name, column.is_not_null() & values.is_null(), "a number, or nothing where there is no value")
    return values


def is_measurable(column: pl.Series) -> bool:
    """Return whether a column looks like a measure: at least half of its cells that are not blank are numbers.

    Half rather than all, so that one damaged cell is an error with its line, and the column stays a measure.
    """
    if column.dtype != pl.String and not _countable(column):
        return False
    written = column.len() - column.null_count()
    return written > 0 and 2 * _numbers(column).count() >= written


def counts(table: TextTable, name: str) -> pl.Series:
    """Return whole numbers that are not negative; `3.0` is one."""
    column = table.rows[name] if _countable(table.rows[name]) else _text(table, name)
    integers = column.cast(pl.Int64, strict=False) if column.dtype == pl.String else _whole(column)
    if integers.null_count() and column.dtype == pl.String:
        integers = integers.fill_null(_whole(_numbers(column)))
    refuse(table, name, integers.is_null() | (integers < 0), "a whole number, 0 or more")
    return integers


def names(table: TextTable, name: str, *, strip: bool = False) -> pl.Series:
    """Return names as text; a blank cell is an error."""
    column = _text(table, name)
    if strip:
        column = _each(column, lambda text: text.strip() or None)
    refuse(table, name, column.is_null(), "a name")
    refuse(table, name, column.str.len_chars() > LONGEST_NAME, f"a name of at most {LONGEST_NAME} characters")
    return column


def labels(table: TextTable, name: str) -> pl.Series:
    """Return labels as text: blank is null, and 3.0 is 3, because a column of numbers with gaps is written so."""
    column = table.rows[name]
    if column.dtype.is_nested():
        raise LogError(f"{table.call(name)} holds {column.dtype}", "expected text or numbers", file=table.parts[0].path)
    if column.dtype.is_float():
        column = column.fill_nan(None)
        integers = _whole(column)
        column = integers if integers.null_count() == column.null_count() else column
    text = column.cast(pl.String).str.strip_chars()
    if column.dtype == pl.String:
        text = text.replace("", None).str.replace(r"^(\d+)\.0+$", "${1}")
    return text


def words(table: TextTable, name: str, meanings: Mapping[str, str], blank: str | None = None) -> pl.Series:
    """Return our word for each of a few words in any case; `blank` is the meaning of a blank cell."""
    column = _text(table, name)
    texts = _each(column, lambda text: text.strip().lower() or None)
    meant = _each(texts, meanings.get)
    refuse(table, name, meant.is_null() & (texts.is_not_null() | (blank is None)), f"one of {', '.join(meanings)}")
    return meant.fill_null(blank or "").cast(STANDARD_COLUMNS[name])


def objects(table: TextTable, name: str) -> pl.Series:
    """Return parameters as JSON objects in text; a blank cell is `{}`."""
    column = table.rows[name]
    if column.dtype == pl.Struct:
        return column.struct.json_encode()
    column = _text(table, name).fill_null("{}").replace("", "{}")
    broken = [text for text in column.unique() if not is_object(text)]
    refuse(table, name, column.is_in(broken), 'a JSON object such as {"width": 0.2}, or nothing')
    return column


def moments(table: TextTable, name: str) -> pl.Series:
    """Return timestamps as text, as recorded; a column of dates and times is written as L2Logger writes them."""
    column = table.rows[name]
    return column.dt.strftime(_L2LOGGER_TIME) if isinstance(column.dtype, pl.Datetime) else _text(table, name)


def standard(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with our columns in the types that every reader delivers."""
    return rows.with_columns(pl.col(name).cast(kind) for name, kind in STANDARD_COLUMNS.items() if name in rows.columns)


def folded(names: pl.Series) -> pl.Series:
    """Return task names in lower case, each distinct name converted once."""
    if all(name == name.lower() for name in names.unique().to_list() if name is not None):
        return names
    return _each(names.cast(pl.String), str.lower).cast(names.dtype)


def typed(column: pl.Series) -> pl.Series:
    """Return an extra column as numbers if every cell is one, else unchanged; 007 is a name."""
    if column.dtype != pl.String:
        return column
    integers = column.cast(pl.Int64, strict=False)
    if integers.null_count() == column.null_count():
        return integers if (integers.cast(pl.String) == column).all() else column
    real = column.cast(pl.Float64, strict=False)
    return real if real.null_count() == column.null_count() else column


def _each(column: pl.Series, change: Callable[[str], str | None]) -> pl.Series:
    """Return text with each distinct value changed once."""
    changed = {text: new for text in column.unique().to_list() if text is not None and (new := change(text)) != text}
    return column.replace(changed) if changed else column


def as_json(column: pl.Series) -> pl.Series:
    """Return each cell as JSON text: a number if it is one, else a string; null if it is blank."""
    text = column.cast(pl.String).str.strip_chars().replace("", None)
    real = text.cast(pl.Float64, strict=False)
    written = pl.select(pl.struct(pl.lit(column.cast(pl.String)).alias("x")).struct.json_encode()).to_series()
    return pl.select(
        pl.when(pl.lit(text.is_null()))
        .then(None)
        .when(pl.lit(text.str.contains(_JSON_NUMBER)))
        .then(pl.lit(text))  # unchanged, so that every digit counts
        .when(pl.lit(real.is_nan()))
        .then(pl.lit("NaN"))
        .when(pl.lit(real.is_infinite()))
        .then(pl.when(pl.lit(real > 0)).then(pl.lit("Infinity")).otherwise(pl.lit("-Infinity")))
        .when(pl.lit(real.is_not_null()))
        .then(pl.lit(real.cast(pl.String)))
        .otherwise(pl.lit(written.str.slice(5).str.strip_suffix("}")))
        .alias(column.name)
    ).to_series()


def _countable(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype == pl.Boolean


def _numbers(column: pl.Series) -> pl.Series:
    values = column.cast(pl.Float64, strict=False)
    if column.dtype != pl.String or values.null_count() == column.null_count():
        return values
    stripped = column.str.strip_chars()
    truth = stripped.str.to_lowercase().replace_strict(_TRUTH, default=None, return_dtype=pl.Float64)
    if truth.null_count() == column.null_count():
        return truth
    return values.fill_null(stripped.cast(pl.Float64, strict=False))


def _text(table: TextTable, name: str) -> pl.Series:
    column = table.rows[name]
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as problem:
        raise LogError(
            f"{table.call(name)} holds {column.dtype}", "expected text", file=table.parts[0].path
        ) from problem


def _whole(column: pl.Series) -> pl.Series:
    """Return Int64 if a number is whole, else null; beyond 2⁵³ a float does not determine a whole number."""
    if column.dtype.is_integer():
        return column.cast(pl.Int64, strict=False)
    real = column.cast(pl.Float64, strict=False)
    exact = (real.floor() == real) & (real.abs() <= 2.0**53)
    return real.set(~exact.fill_null(False), None).cast(pl.Int64, strict=False)


def is_number(text: str) -> bool:
    """Return whether `text` is a number, which may be infinite or NaN."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def refuse(table: TextTable, name: str, bad: pl.Series, expected: str) -> None:
    """Raise LogError for the first bad row, if there is one, with its place, its cell and the expected value."""
    if not bad.any():
        return
    row = int(bad.arg_true()[0])
    cell = table.rows[name][row]
    text = "blank" if cell is None else repr(cell)
    text = text if len(text) <= 80 else f"{text[:76]} …"
    more = f" ({bad.sum()} such rows)" if bad.sum() > 1 else ""
    raise table.refusal(row, f"{table.call(name)} is {text}", f"expected {expected}{more}")
