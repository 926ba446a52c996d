"""The rules of one record: L2Logger 1.1's, said once, for single records and for columns of them."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from perdure.errors import RecordError, nearest
from perdure.log.model import BLOCK_SUBTYPES, BLOCK_TYPES, EXPERIENCE_STATUSES, STANDARD_COLUMNS, Direction
from perdure.scenario.model import UNSAFE_PATH

__all__ = [
    "DEFAULT_WORKER",
    "WORKER_PATTERN",
    "cell",
    "changed_columns",
    "checked_words",
    "declared_measures",
    "measure_cell",
    "params_json",
    "params_text",
    "quoted",
    "validate_choice",
    "validate_task_name",
    "validate_worker",
    "value_columns",
    "whole_number",
]

DEFAULT_WORKER = "worker-default"
WORKER_PATTERN = re.compile(r"[0-9A-Za-z_.-]+")

_CHOICES = {"block_type": BLOCK_TYPES, "block_subtype": BLOCK_SUBTYPES, "exp_status": EXPERIENCE_STATUSES}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MUST_QUOTE = re.compile(r'[\t\n\r"]')


def whole_number(field: str, value: Any) -> int:
    """A number of a block or an experience: whole, not negative, not a bool, at most 2⁶³ − 1."""
    if isinstance(value, (bool, np.bool_)):
        raise RecordError(f"{field} is {value!r}; expected a whole number")
    try:
        number = operator.index(value)
    except TypeError:
        raise RecordError(f"{field} is {value!r}; expected a whole number") from None
    if not 0 <= number < 2**63:
        raise RecordError(f"{field} is {number}; expected a whole number that is not negative, below 2⁶³")
    return number


def validate_choice(field: str, value: Any) -> None:
    """`block_type`, `block_subtype` and `exp_status` take one of two words."""
    choices = _CHOICES[field]
    if value not in choices:
        raise RecordError(f"{field} is {value!r}; expected {' or '.join(map(repr, choices))}")


def validate_worker(value: Any) -> None:
    """A worker id names a folder: letters, digits, `_`, `.`, `-`, and never `.` or `..`."""
    if not isinstance(value, str) or not WORKER_PATTERN.fullmatch(value) or value in (".", "..") or len(value) > 200:
        raise RecordError(
            f"worker_id is {value!r}; expected at most 200 letters, digits, '_', '-' and '.', and not '.' or '..'"
        )


def validate_task_name(value: Any) -> None:
    """A task name is free text on one line that leads nowhere in a file system."""
    if not isinstance(value, str) or not value.strip():
        raise RecordError(f"task_name is {value!r}; expected text")
    if _CONTROL.search(value) or UNSAFE_PATH.search(value):
        raise RecordError(f"task_name is {value!r}; expected one line of text without '../' or control characters")


def params_json(value: Any) -> bytes:
    """Task parameters as JSON. They must be an object, and all of it must be JSON."""
    if type(value) is not dict and not isinstance(value, Mapping):  # asking for a Mapping takes longer than encoding
        raise RecordError(f"task_params is {value!r}; expected a dict")
    try:
        return _encode(value)
    except (TypeError, ValueError, NotImplementedError, RecursionError, msgspec.MsgspecError) as problem:
        raise RecordError(f"task_params cannot be written as JSON: {problem}") from problem


def params_text(value: Any) -> str:
    """Task parameters as JSON text, which a parameter must not change on its way to: NaN is refused."""
    text = params_json(value).decode()
    if "null" in text:  # the encoder writes NaN so
        try:
            json.dumps(msgspec.to_builtins(value, enc_hook=_plain), allow_nan=False)
        except ValueError as problem:
            raise RecordError(f"task_params cannot be written as JSON: {problem}") from problem
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} is no JSON value")


_encode = msgspec.json.Encoder(enc_hook=_plain).encode


def value_columns(names: Mapping[str, Any], measures: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns after the standard ones, in alphabetical order, as the first record fixes them."""
    for measure in measures:
        if measure not in names:
            raise RecordError(f"the measure {measure!r} is missing from the first record (found: {', '.join(names)})")
    for name in names:
        if name in STANDARD_COLUMNS or not name or _CONTROL.search(name) or '"' in name:
            close = "" if name in STANDARD_COLUMNS else f"; {nearest(name, STANDARD_COLUMNS)}"
            raise RecordError(f"{name!r} cannot be a column of one's own{close}")
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
        raise RecordError(f"{name} is {value!r}; expected a number") from None
    if isinstance(value, str):
        raise RecordError(f"{name} is {value!r}; expected a number, not text")
    if math.isinf(number):
        raise RecordError(f"{name} is {number}; an infinite value says nothing about performance")
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
    if "\x00" in text:
        raise RecordError(f"{name} holds a NUL character, which no reader of TSV can take")
    return quoted(text)


def quoted(text: str) -> str:
    """`text` as one TSV field: quoted only where it must be."""
    return '"' + text.replace('"', '""') + '"' if _MUST_QUOTE.search(text) else text


def checked_words(
    worker_id: str, block_type: str, block_subtype: str, task_name: str, exp_status: str, task_params: Any
) -> str:
    """The fields between the numbers and the timestamp, as they stand in the file."""
    validate_worker(worker_id)
    validate_choice("block_type", block_type)
    validate_choice("block_subtype", block_subtype)
    validate_choice("exp_status", exp_status)
    validate_task_name(task_name)
    params = params_text({} if task_params is None else task_params)
    return "\t".join((worker_id, block_type, block_subtype, quoted(task_name), quoted(params), exp_status))


def declared_measures(measures: Sequence[str] | Mapping[str, Direction]) -> dict[str, Direction]:
    """The measures and which way each is better; a list means that higher is."""
    if isinstance(measures, str):
        raise RecordError(f"measures is the text {measures!r}; expected a list of names, [{measures!r}]")
    if len(set(measures)) != len(measures):
        raise RecordError(f"measures names a column twice: {', '.join(map(str, measures))}")
    directions: dict[str, Direction] = (
        dict(measures) if isinstance(measures, Mapping) else dict.fromkeys(measures, "higher")
    )
    if not directions:
        raise RecordError("measures is empty; name at least one column to be measured")
    for name, direction in directions.items():
        if not isinstance(name, str):
            raise RecordError(f"measures holds {name!r}; expected names of columns")
        if direction not in ("higher", "lower"):
            raise RecordError(f"measure {name!r} is {direction!r}-better; expected 'higher' or 'lower'")
    value_columns(directions, {})
    return directions


def changed_columns(columns: Sequence[str], values: Mapping[str, Any]) -> str:
    """What to say of a record whose columns are not those of the first."""
    missing = [name for name in columns if name not in values]
    new = [name for name in values if name not in columns]
    said = [f"without {', '.join(missing)}"] if missing else []
    said += [f"with {', '.join(new)}"] if new else []
    return (
        f"this record comes {' and '.join(said)}; every record must have the columns of the first "
        f"({', '.join(columns)}); give None for what there is no value of"
    )
