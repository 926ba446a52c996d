"""Encode records as text by the rules of L2Logger 1.1."""

from __future__ import annotations

import json
import math
import operator
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import msgspec
import numpy as np

from perdure.errors import RecordError, nearest
from perdure.lazy import pl
from perdure.log.model import Direction
from perdure.log.rules import BEYOND, CONTROL, RULES, STANDARD_COLUMNS

DEFAULT_WORKER = "worker-default"


class Record(msgspec.Struct, frozen=True, gc=False):
    """One record as a line of its file, and its place."""

    block_num: int
    exp_num: int
    block_type: str
    line: bytes


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


def records_of(columns: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """Return the records in columns. A single value is the same in every record."""
    lists = [_as_list(column) for column in columns]
    lengths = {len(values) for values in lists if values is not None}
    if len(lengths) > 1:
        what = f"the columns differ in length ({', '.join(map(str, sorted(lengths)))})"
        raise RecordError(what, "give as many values of each, or one for all")
    count = next(iter(lengths), 1)
    pairs = zip(columns, lists, strict=True)
    return zip(*(repeat(column, count) if values is None else values for column, values in pairs), strict=True)


def _as_list(column: Any) -> Sequence[Any] | None:
    """Return the values of a column, None if it is a single value."""
    if isinstance(column, np.ndarray):
        if column.ndim > 1:
            raise RecordError(f"a column has the shape {column.shape}", "expected one dimension")
        return column.tolist() if column.ndim else None
    if isinstance(column, pl.Series):
        return column.to_list()
    return column if isinstance(column, Sequence) and not isinstance(column, (str, bytes)) else None
