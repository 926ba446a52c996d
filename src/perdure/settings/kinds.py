"""Kinds of settings: what a value is, in words, as plain data of a file, and as text of a command line."""

# ruff: noqa: TRY004 - what does not fit does not fit, by its type or by its value

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from perdure import files
from perdure.errors import PerdureError
from perdure.frozen import frozen

__all__ = [
    "Kind",
    "baseline",
    "bounds",
    "choice",
    "measure",
    "named_numbers",
    "named_texts",
    "names",
    "number",
    "numbers_in_file",
    "text",
    "width",
    "yes_no",
]


@frozen
class Kind:
    """What a setting takes. `read` makes a value of plain data, `from_text` of what stands on a command line.

    Both raise ValueError where it is not one; the message, where there is any, is a PerdureError's.
    """

    what: str
    """Completes "expected …"."""
    read: Callable[[Any], Any]
    schema: Mapping[str, Any]
    """The plain data it takes, as JSON Schema says it."""
    takes: Any = str
    """What one word of a command line is read as."""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    several: bool = False
    """Whether its flag may be given more than once."""
    hashable: bool = True
    """Whether its values can be told apart by hash."""
    from_text: Callable[[Any], Any] | None = None
    """None where `read` takes it as it is."""

    def of_text(self, given: Any) -> Any:
        """The value that stands on a command line."""
        return (self.from_text or self.read)(given)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _number(value: Any) -> float:
    if not _is_number(value):
        raise ValueError
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _table(value: Any, read: Callable[[Any], Any], folded: Callable[[str], str] = str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError
    return {folded(_text(name)): read(one) for name, one in value.items()}


def text(metavar: str, what: str = "a text") -> Kind:
    """Any text."""
    return Kind(what, _text, {"type": "string"}, metavar=metavar)


def choice(*choices: str, also: Mapping[str, str] | None = None) -> Kind:
    """One of these words; `also` are further words for them."""
    words = {one: one for one in choices} | dict(also or {})

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError
        return words[value]

    shown = "|".join(choices) if len(choices) < 5 else f"{choices[0]}|{choices[1]}|…"
    return Kind(f"one of {', '.join(words)}", read, {"enum": [*words]}, metavar=shown, choices=tuple(words))


def yes_no() -> Kind:
    """True or false; on the command line a flag."""

    def read(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value

    return Kind("true or false", read, {"type": "boolean"}, takes=bool)


def width() -> Kind:
    """The length of a window: a whole number of experiences, or a share of the block below 1."""

    def read(value: Any) -> float:
        if not 0 < _number(value) < math.inf or (value > 1 and value != int(value)):
            raise ValueError
        return int(value) if value >= 1 else float(value)

    schema = {"type": "number", "exclusiveMinimum": 0}
    return Kind("a whole number, 1 or more, or a share of the block below 1", read, schema, takes=float, metavar="N")


def number(low: float, high: float | None = None, metavar: str = "X") -> Kind:
    """A finite number, `low` or more, and at most `high`."""

    def read(value: Any) -> float:
        if not low <= _number(value) <= (math.inf if high is None else high):
            raise ValueError
        return float(value)

    schema = {"type": "number", "minimum": low} | ({} if high is None else {"maximum": high})
    what = f"a number, {low:g} or more" if high is None else f"a number from {low:g} to {high:g}"
    return Kind(what, read, schema, takes=float, metavar=metavar)


def names(metavar: str) -> Kind:
    """A list of texts; a comma on the command line stands between two."""

    def read(value: Any) -> tuple[str, ...]:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise ValueError
        return tuple(map(_text, value))

    def from_text(words: Sequence[str]) -> tuple[str, ...]:
        return tuple(part.strip() for word in words for part in word.split(",") if part.strip())

    schema = {"type": "array", "items": {"type": "string"}}
    return Kind("a list of texts", read, schema, metavar=metavar, several=True, from_text=from_text)


def named_texts(metavar: str, example: str) -> Kind:
    """A table of texts; `NAME=TEXT` on the command line, as often as there are names."""

    def from_text(words: Sequence[str]) -> dict[str, str]:
        return {name: _text(value) for name, value in map(_pair, words)}

    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    read = _reader(_text)
    return Kind(f"{metavar}, as in {example}", read, schema, metavar=metavar, several=True, from_text=from_text)


def named_numbers(metavar: str, example: str) -> Kind:
    """A table of numbers, 0 or more; `NAME=X` on the command line, as often as there are names."""

    def positive(value: Any) -> float:
        if _number(value) < 0:
            raise ValueError
        return float(value)

    def from_text(words: Sequence[str]) -> dict[str, float]:
        return {name: positive(float(value)) for name, value in map(_pair, words)}

    schema = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}}
    what = f"{metavar} with X of 0 or more, as in {example}"
    return Kind(what, _reader(positive), schema, metavar=metavar, several=True, from_text=from_text)


def numbers_in_file() -> Kind:
    """A table from tasks to numbers, which the command line takes from a JSON file; names fold case."""
    read = _reader(_number, str.lower)
    schema = {"type": "object", "additionalProperties": {"type": "number"}}
    what = 'a finite number for each task: {"task": 0.8}'
    return Kind(what, read, schema, metavar="FILE", from_text=lambda path: _from_json(path, read, what))


def bounds() -> Kind:
    """A table from tasks to the least and the greatest value, which the command line takes from a JSON file."""

    def pair(value: Any) -> tuple[float, float]:
        if not isinstance(value, Mapping) or set(value) != {"min", "max"}:
            raise ValueError
        low, high = _number(value["min"]), _number(value["max"])
        if low > high:
            raise ValueError
        return low, high

    read = _reader(pair, str.lower)
    ends = {"type": "object", "required": ["min", "max"], "additionalProperties": False}
    ends["properties"] = {end: {"type": "number"} for end in ("min", "max")}
    what = 'two increasing finite numbers for each task: {"task": {"min": 0, "max": 1}}'
    return Kind(
        what,
        read,
        {"type": "object", "additionalProperties": ends},
        metavar="FILE",
        hashable=False,
        from_text=lambda path: _from_json(path, read, what),
    )


def baseline(flag: str, *, lives: bool = False) -> Kind:
    """A number for all tasks, one for each in order, or one by name; the command line also takes a file of them.

    With `lives` it takes lifetimes as well: a place that holds no numbers by itself is looked at by the survey.
    """

    def read(value: Any) -> float | tuple[float, ...] | dict[str, float]:
        if isinstance(value, Mapping):
            return _table(value, _number)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return tuple(map(_number, value))
        return _number(value)

    def from_text(given: str) -> Any:
        from perdure.log.formats.matrix import read_baseline  # it knows every file that a matrix may be in

        try:
            return read_baseline(given, flag)
        except PerdureError:
            if lives and Path(given).exists():
                return given
            raise

    one = {"type": "number"}
    forms = [one, {"type": "array", "items": one}, {"type": "object", "additionalProperties": one}]
    what = "a number, a list of numbers, or a number for each task"
    return Kind(
        what,
        read,
        {"anyOf": forms},
        metavar="X|X,…|FILE|LOG" if lives else "X|X,…|FILE",
        hashable=False,
        from_text=from_text,
    )


def measure() -> Kind:
    """A name, or a table that gives each task a name of its own; as text `TASK=NAME,…`."""

    def read(value: Any) -> str | dict[str, str]:
        return _table(value, _text, str.lower) if isinstance(value, Mapping) else from_text(_text(value))

    def from_text(given: str) -> str | dict[str, str]:
        if "=" not in given:
            return _text(given.strip())
        pairs = [_pair(part.strip()) for part in given.split(",")]
        return {task.lower(): _text(name) for task, name in pairs}

    forms = [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]
    what = "a name, or TASK=NAME for each task, as in pong=reward,battle=units"
    return Kind(what, read, {"anyOf": forms}, metavar="NAME|TASK=NAME,…", from_text=from_text)


def _reader(read: Callable[[Any], Any], folded: Callable[[str], str] = str) -> Callable[[Any], dict[str, Any]]:
    return lambda value: _table(value, read, folded)


def _pair(word: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in word.partition("="))
    if not (name and equals and value):
        raise ValueError
    return name, value


def _from_json(given: str, read: Callable[[Any], Any], what: str) -> Any:
    """What a JSON file holds; what is wrong with it is said of the file, and of the entry where there is one."""
    path = Path(given)
    try:
        found = files.parse_json(files.read_text(path, files.HEADER_LIMIT))
    except OSError as problem:
        raise PerdureError(f"cannot be read ({problem.strerror})", f"give a file of {what}", file=path) from problem
    except ValueError as problem:
        raise PerdureError(f"not JSON ({problem})", f"expected {what}", file=path) from problem
    if not isinstance(found, dict):
        raise PerdureError(f"holds a {type(found).__name__}", f"expected {what}", file=path)
    for name, value in found.items():
        try:
            read({name: value})
        except ValueError:
            raise PerdureError(f"{name!r} is {value!r}", f"expected {what}", file=path) from None
    return read(found)
