"""Encode records as text by the rules of L2Logger 1.1, one by one or as columns."""

from __future__ import annotations

import io
import json
import math
import operator
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from perdure.errors import RecordError, nearest
from perdure.lazy import pl
from perdure.log.model import Direction
from perdure.log.rules import BEYOND, CONTROL, RULES, STANDARD_COLUMNS

DEFAULT_WORKER = "worker-default"

_UNREADABLE = re.compile(r"[\x00\ud800-\udfff]")
_MUST_QUOTE = re.compile(r'[\t\n\r"]')


def whole_number(field: str, value: Any) -> int:
    """Return the number of a block or an experience; raise RecordError if it is not whole, negative or a bool."""
    try:
        number = -1 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < BEYOND:
        raise RecordError(f"{field} is {value!r}", f"expected {RULES['exp_num'].expected}")
    return number


def validate(field: str, value: Any) -> None:
    """Raise RecordError if a text breaks the rule of its field."""
    rule = RULES[field]
    if not isinstance(value, str) or not rule.sound(value):
        raise RecordError(f"{field} is {reprlib.repr(value)}", f"expected {rule.expected}")


def params_json(value: Any) -> bytes:
    """Return task parameters, a mapping, as JSON."""
    if type(value) is not dict and not isinstance(value, Mapping):  # the check for a Mapping takes longer than encoding
        raise RecordError(f"task_params is {value!r}", f"expected {RULES['task_params'].expected}, a dict")
    try:
        return _encode(value)
    except (TypeError, ValueError, NotImplementedError, RecursionError, msgspec.MsgspecError) as problem:
        raise _no_json(problem) from problem


def params_text(value: Any) -> str:
    """Return task parameters as JSON text; raise RecordError for NaN, which JSON would change."""
    text = params_json(value).decode()
    if "null" in text:  # the encoder writes NaN so
        try:
            json.dumps(msgspec.to_builtins(value, enc_hook=_plain), allow_nan=False)
        except ValueError as problem:
            raise _no_json(problem) from problem
    return text


def _no_json(problem: Exception) -> RecordError:
    return RecordError(f"task_params cannot be written as JSON: {problem}", "use text, numbers, lists, objects")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} is not a JSON value")


_encode = msgspec.json.Encoder(enc_hook=_plain).encode


def value_columns(names: Mapping[str, Any], measures: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of the first record after the standard ones, in alphabetical order."""
    for measure in measures:
        if measure not in names:
            raise RecordError(
                f"the measure {measure!r} is missing from the first record (found: {', '.join(names)})",
                "give None where there is no value",
            )
    for name in names:
        if name in STANDARD_COLUMNS or not name or re.search(CONTROL, name) or '"' in name:
            fix = "rename it" if name in STANDARD_COLUMNS else nearest(name, STANDARD_COLUMNS)
            raise RecordError(f"{name!r} cannot be a column of your own", fix)
    return tuple(sorted(names))


def measure_cell(name: str, value: Any) -> str:
    """Return a measure as text: None and NaN are blank, a bool is 0 or 1. Raise RecordError for infinity."""
    if value is None:
        return ""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(int(value))
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise RecordError(f"{name} is {value!r}", "expected a number") from None
    if isinstance(value, str):
        raise RecordError(f"{name} is {value!r}", "expected a number, not text")
    if math.isinf(number):
        raise RecordError(f"{name} is {number}", "an infinite value says nothing about performance")
    return "" if math.isnan(number) else str(value) if isinstance(value, int) else repr(number)


def cell(name: str, value: Any) -> str:
    """Return any other value as text: None and NaN are blank. Raise RecordError for infinity."""
    if value is None:
        return ""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return measure_cell(name, value)
    text = str(value)
    if _UNREADABLE.search(text):
        raise RecordError(
            f"{name} holds a NUL character or half a surrogate pair, which a TSV file cannot hold", "remove it"
        )
    return quoted(text)


def quoted(text: str) -> str:
    """Return `text` as one TSV field, quoted if necessary."""
    return '"' + text.replace('"', '""') + '"' if _MUST_QUOTE.search(text) else text


def checked_words(
    worker_id: str, block_type: str, block_subtype: str, task_name: str, exp_status: str, task_params: Any
) -> str:
    """Return the fields between the numbers and the timestamp as text; raise RecordError if one is unsound."""
    words = {"worker_id": worker_id, "block_type": block_type, "block_subtype": block_subtype}
    for field, value in {**words, "exp_status": exp_status, "task_name": task_name}.items():
        validate(field, value)
    params = params_text({} if task_params is None else task_params)
    return "\t".join((worker_id, block_type, block_subtype, quoted(task_name), quoted(params), exp_status))


def declared_measures(measures: Sequence[str] | Mapping[str, Direction]) -> dict[str, Direction]:
    """Return the measures with their directions; in a list, higher is better."""
    if isinstance(measures, str):
        raise RecordError(f"measures is the text {measures!r}", f"expected a list of names, [{measures!r}]")
    if len(set(measures)) != len(measures):
        raise RecordError(f"measures names a column twice: {', '.join(map(str, measures))}", "name each once")
    directions: dict[str, Direction] = (
        dict(measures) if isinstance(measures, Mapping) else dict.fromkeys(measures, "higher")
    )
    if not directions:
        raise RecordError("measures is empty", "name at least one column to be measured")
    for name, direction in directions.items():
        if not isinstance(name, str):
            raise RecordError(f"measures holds {name!r}", "expected names of columns")
        if direction not in ("higher", "lower"):
            raise RecordError(f"measure {name!r} is {direction!r}-better", "expected 'higher' or 'lower'")
    value_columns(directions, {})
    return directions


def changed_columns(columns: Sequence[str], values: Mapping[str, Any]) -> RecordError:
    """Return the error for a record whose columns are not those of the first."""
    missing = [name for name in columns if name not in values]
    new = [name for name in values if name not in columns]
    parts = [f"without {', '.join(missing)}"] if missing else []
    parts += [f"with {', '.join(new)}"] if new else []
    return RecordError(
        f"this record comes {' and '.join(parts)}",
        f"every record must have the columns of the first ({', '.join(columns)}); give None where there is no value",
    )


_ROWS_AT_ONCE = 1 << 14


class BlockRecords(msgspec.Struct, frozen=True, eq=False):
    """Records for one file: consecutive ones of one worker, block and mode."""

    worker: str
    block_num: int
    block_type: str
    first: int
    last: int
    table: pl.DataFrame

    def texts(self) -> Iterator[memoryview]:
        """Yield the records as TSV, a few megabytes at a time."""
        for start in range(0, self.table.height, _ROWS_AT_ONCE):
            text = io.BytesIO()
            self.table[start : start + _ROWS_AT_ONCE].write_csv(
                text, separator="\t", include_header=False, null_value="", quote_style="never"
            )
            yield text.getbuffer()


def parts(
    fields: Mapping[str, Any], values: Mapping[str, Any], measures: Mapping[str, Any]
) -> tuple[BlockRecords, ...]:
    """Return the records as text, cut at changes of worker, block or mode; raise RecordError for an invalid one."""
    length = _length({**fields, **values})
    numbers = [_numbers(name, fields[name], length) for name in ("block_num", "exp_num")]
    words = {name: _words(name, value) for name, value in fields.items() if name not in ("block_num", "exp_num")}
    columns = [_values(name, value, length, name in measures) for name, value in values.items()]
    if not length:
        return ()
    # Words that are the same in every record are joined once into one column.
    if all(isinstance(word, str) for word in words.values()):
        joined = pl.repeat("\t".join(map(quoted, words.values())), length, eager=True)  # type: ignore[arg-type]
    else:
        joined = pl.select(pl.concat_str([_quote(word) for word in words.values()], separator="\t")).to_series()
    table = pl.DataFrame([*numbers, joined.alias("words"), *columns])
    if not any(_many(fields[name]) for name in ("block_num", "worker_id", "block_type")):
        # Usually the records are one block, in one file.
        block, experiences = numbers
        _refuse_fall(experiences)
        return (
            BlockRecords(fields["worker_id"], block[0], fields["block_type"], experiences[0], experiences[-1], table),
        )
    keys = pl.DataFrame([*numbers, *(_fill(words[name], length).alias(name) for name in ("worker_id", "block_type"))])
    _check_order(keys)
    cuts = _cuts(keys)
    return tuple(_part(keys[start:stop], table[start:stop]) for start, stop in pairwise(cuts))


def _part(keys: pl.DataFrame, table: pl.DataFrame) -> BlockRecords:
    head = keys.row(0, named=True)
    return BlockRecords(
        head["worker_id"], head["block_num"], head["block_type"], head["exp_num"], keys["exp_num"][-1], table
    )


def _length(columns: Mapping[str, Any]) -> int:
    lengths = {name: len(value) for name, value in columns.items() if _many(value)}
    if len(set(lengths.values())) > 1:
        lengths_text = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise RecordError(
            f"the columns differ in length ({lengths_text})", "give as many values of each, or one for all"
        )
    return next(iter(lengths.values()), 1)


def _many(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        if value.ndim > 1:
            raise RecordError(f"a column has the shape {value.shape}", "expected one dimension")
        return value.ndim == 1
    return isinstance(value, (Sequence, pl.Series)) and not isinstance(value, (str, bytes))


def _words(name: str, value: Any) -> str | pl.Series:
    """Return a standard column of text, after checks: one text for all records, or one for each."""
    if not _many(value):
        if name == "task_params":
            return params_text(value)
        validate(name, value)
        return str(value)
    if name == "task_params":
        return pl.Series(name, [params_text(item) for item in value], dtype=pl.String)
    words = value.to_list() if isinstance(value, pl.Series) else list(value)
    for word in dict.fromkeys(words):
        validate(name, word)
    return pl.Series(name, words, dtype=pl.String)


def _fill(words: str | pl.Series, length: int) -> pl.Series:
    return pl.repeat(words, length, dtype=pl.String, eager=True) if isinstance(words, str) else words


def _quote(words: str | pl.Series) -> pl.Expr:
    if isinstance(words, str):
        return pl.lit(quoted(words))
    column = pl.lit(words)
    must = column.str.contains(r'[\t\n\r"]')
    return pl.when(must).then('"' + column.str.replace_all('"', '""', literal=True) + '"').otherwise(column)


def _numbers(name: str, value: Any, length: int) -> pl.Series:
    if not _many(value):
        return pl.repeat(whole_number(name, value), length, dtype=pl.Int64, eager=True).alias(name)
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        if array.size == 0:
            return pl.Series(name, [], dtype=pl.Int64)
        for item in array.tolist():
            whole_number(name, item)
        raise RecordError(f"{name} holds {array.dtype} values", "expected whole numbers")
    if array.size and int(array.min()) < 0:
        whole_number(name, int(array.min()))
    if array.size and int(array.max()) >= BEYOND:
        whole_number(name, int(array.max()))
    return pl.Series(name, array.astype(np.int64))


def _values(name: str, value: Any, length: int, measure: bool) -> pl.Series:
    """Return another column: numbers unchanged with NaN blank, everything else as `log` writes it."""
    if not _many(value):
        text = measure_cell(name, value) if measure else cell(name, value)
        return pl.repeat(text or None, length, dtype=pl.String, eager=True).alias(name)
    column = _series(name, value)
    if column is None or not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        write = measure_cell if measure else cell
        return pl.Series(name, [write(name, item) or None for item in value], dtype=pl.String)
    if column.dtype == pl.Boolean:
        return column.cast(pl.Int8) if measure else column.cast(pl.String).str.to_titlecase()
    if column.dtype.is_float():
        if column.is_infinite().any():
            index = int(column.is_infinite().arg_max() or 0)
            raise RecordError(f"{name}[{index}] is {column[index]}", "an infinite value says nothing about performance")
        return column.fill_nan(None)
    return column


def _series(name: str, value: Any) -> pl.Series | None:
    try:
        return value.alias(name) if isinstance(value, pl.Series) else pl.Series(name, value)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return None  # mixed kinds: written cell by cell


def _check_order(table: pl.DataFrame) -> None:
    """Raise RecordError if numbers fall for some worker, or if a block has two modes."""
    for group in table.partition_by("worker_id", maintain_order=True) if _several(table) else (table,):
        _refuse_fall(group["block_num"])
        _refuse_fall(group["exp_num"])
        modes = group.select("block_num", "block_type").unique()
        if modes["block_num"].is_duplicated().any():
            number = modes.filter(pl.col("block_num").is_duplicated())["block_num"][0]
            raise RecordError(f"block {number} is both train and test", "a new mode needs a new block_num")


def _refuse_fall(numbers: pl.Series) -> None:
    falls = np.flatnonzero(np.diff(numbers.to_numpy()) < 0)
    if falls.size:
        before, after = numbers[int(falls[0])], numbers[int(falls[0]) + 1]
        raise RecordError(f"{numbers.name} falls from {before} to {after}", "it must never decrease")


def _several(table: pl.DataFrame) -> bool:
    return table["worker_id"].n_unique() > 1


def _cuts(table: pl.DataFrame) -> list[int]:
    changed = table.select(
        pl.any_horizontal(pl.col(name) != pl.col(name).shift() for name in ("worker_id", "block_num", "block_type"))
    ).to_series()
    starts: list[int] = np.flatnonzero(changed.fill_null(True).to_numpy()).tolist()
    return [*starts, table.height]
