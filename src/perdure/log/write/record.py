"""A record as text, by the rules of L2Logger 1.1: single values, for journals and for columns of them."""

from __future__ import annotations

import json
import math
import operator
import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from perdure.errors import RecordError, nearest
from perdure.log.model import Direction
from perdure.log.rules import BEYOND, CONTROL, RULES, STANDARD_COLUMNS

DEFAULT_WORKER = "worker-default"

_UNREADABLE = re.compile(r"[\x00\ud800-\udfff]")
_MUST_QUOTE = re.compile(r'[\t\n\r"]')


def whole_number(field: str, value: Any) -> int:
    """A number of a block or an experience: whole, not negative, not a bool, at most 2⁶³ − 1."""
    try:
        number = -1 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < BEYOND:
        raise RecordError(f"{field} is {value!r}", f"expected {RULES['exp_num'].expected}")
    return number


def validate(field: str, value: Any) -> None:
    """A field of text must keep the rule of its column."""
    rule = RULES[field]
    if not isinstance(value, str) or not rule.sound(value):
        raise RecordError(f"{field} is {reprlib.repr(value)}", f"expected {rule.expected}")


def params_json(value: Any) -> bytes:
    """Task parameters as JSON. They must be an object, and all of it must be JSON."""
    if type(value) is not dict and not isinstance(value, Mapping):  # asking for a Mapping takes longer than encoding
        raise RecordError(f"task_params is {value!r}", f"expected {RULES['task_params'].expected}, a dict")
    try:
        return _encode(value)
    except (TypeError, ValueError, NotImplementedError, RecursionError, msgspec.MsgspecError) as problem:
        raise _no_json(problem) from problem


def params_text(value: Any) -> str:
    """Task parameters as JSON text, which a parameter must not change on its way to: NaN is refused."""
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
    """The columns after the standard ones, in alphabetical order, as the first record fixes them."""
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
    """A measure as text: None and NaN are blank, a bool counts 0 or 1, infinity is refused."""
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
    """Any other column as text: None and NaN are blank, infinity is refused."""
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
    """`text` as one TSV field: quoted only where it must be."""
    return '"' + text.replace('"', '""') + '"' if _MUST_QUOTE.search(text) else text


def checked_words(
    worker_id: str, block_type: str, block_subtype: str, task_name: str, exp_status: str, task_params: Any
) -> str:
    """The fields between the numbers and the timestamp, as they stand in the file."""
    words = {"worker_id": worker_id, "block_type": block_type, "block_subtype": block_subtype}
    for field, value in {**words, "exp_status": exp_status, "task_name": task_name}.items():
        validate(field, value)
    params = params_text({} if task_params is None else task_params)
    return "\t".join((worker_id, block_type, block_subtype, quoted(task_name), quoted(params), exp_status))


def declared_measures(measures: Sequence[str] | Mapping[str, Direction]) -> dict[str, Direction]:
    """The measures and which way each is better; a list means that higher is."""
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
    """The error of a record whose columns are not those of the first."""
    missing = [name for name in columns if name not in values]
    new = [name for name in values if name not in columns]
    said = [f"without {', '.join(missing)}"] if missing else []
    said += [f"with {', '.join(new)}"] if new else []
    return RecordError(
        f"this record comes {' and '.join(said)}",
        f"every record must have the columns of the first ({', '.join(columns)}); give None where there is no value",
    )
