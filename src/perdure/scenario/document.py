"""A JSON document that remembers where its values stand.

`json` forgets positions, and most are never asked for; the text is therefore scanned again, as far as needed,
when a problem has to name its line.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any

from perdure import files
from perdure.errors import ScenarioError
from perdure.frozen import frozen

__all__ = [
    "LARGEST_BYTES",
    "MOST_LEVELS",
    "Document",
    "Steps",
    "TwiceNamed",
    "as_text",
    "decode",
    "is_finite",
    "key_twice",
    "read_text",
    "where",
]

LARGEST_BYTES = files.HEADER_LIMIT
MOST_LEVELS = 100

Steps = tuple[str | int, ...]
"""The way from the root to a value: keys and indices."""

_SPACE = re.compile(r"[ \t\n\r]*")
# A string may be unterminated: then it reaches to the end, and the decoder says so.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_WORD = re.compile(r"[$\w/-]+")
_NOT_BRACKETS = re.compile(r"[^\[\]{}]+")


class TwiceNamed(dict[str, Any]):
    """An object in which a key occurs more than once; the last value is kept, as `json` does."""

    keys_twice: tuple[str, ...] = ()


@frozen
class Document:
    """A decoded JSON object and its text."""

    text: str = field(repr=False)
    value: dict[str, Any]
    _scans: dict[int, _Scan] = field(default_factory=dict, repr=False, compare=False)

    def line(self, steps: Steps) -> int:
        """The line, from 1, on which the value at the end of `steps` (as far as they lead) begins."""
        return bisect_left(self._line_ends, self._offset(steps)) + 1

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def _offset(self, steps: Steps) -> int:
        offset = _after_space(self.text, 0)
        value: Any = self.value
        for step in steps:
            if self.text[offset] not in "{[":
                break
            if offset not in self._scans:
                self._scans[offset] = _Scan(self.text, offset, to_end=isinstance(value, TwiceNamed))
            start = self._scans[offset].start(step)
            if start is None:
                break
            offset, value = start, value[step]
        return offset


class _Scan:
    """Where the entries of one object or array begin, found as far as they were asked for.

    Kept from one problem to the next, because many may lie in one long array.
    """

    def __init__(self, text: str, offset: int, to_end: bool) -> None:
        self._entries = _entries(text, offset)
        # Of two equal keys the last counts, as it does for `json`.
        self._starts: dict[str | int, int] = dict(self._entries) if to_end else {}

    def start(self, step: str | int) -> int | None:
        """The offset of an entry's value; None where there is no such entry."""
        if step not in self._starts:
            for key, start in self._entries:
                self._starts[key] = start
                if key == step:
                    break
        return self._starts.get(step)


def where(steps: Steps) -> str:
    """`("instructions", 3, "$repeat", 1)` as `instructions[3].$repeat[1]`."""
    return "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" if _WORD.fullmatch(step) else f"[{json.dumps(step)}]"
        for step in steps
    ).removeprefix(".")


def key_twice(value: Any) -> str | None:
    """A key that occurs twice in one object, at any depth of a decoded value; None where there is none."""
    if isinstance(value, TwiceNamed):
        return value.keys_twice[0]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((key for key in map(key_twice, inner) if key is not None), None)


def is_finite(value: Any) -> bool:
    """Whether every number in a decoded value is finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(is_finite(inner) for inner in value.values())
    return not isinstance(value, list) or all(is_finite(inner) for inner in value)


def read_text(path: Path) -> str:
    """The text of a file; too large a file is refused before it is read."""
    try:
        _check_size(path.stat().st_size, str(path))
        return as_text(files.read_bytes(path, LARGEST_BYTES), str(path))
    except OSError as problem:
        raise ScenarioError(
            f"cannot be read: {problem.strerror}", "give the path of a syllabus", file=path
        ) from problem


def as_text(content: bytes, name: str) -> str:
    """UTF-8 text, with or without a byte order mark."""
    _check_size(len(content), name)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ScenarioError(
            f"not UTF-8 text (byte {problem.start} is {content[problem.start]:#04x})", "save it as UTF-8", file=name
        ) from problem


def decode(text: str, name: str = "syllabus") -> Document:
    """The document that `text` holds; what is not a JSON object is refused with line and column."""
    _check_size(len(text), name)
    if _is_deeper(text, MOST_LEVELS):
        raise ScenarioError(
            f"nested more than {MOST_LEVELS} levels deep",
            "nested $repeat multiply, so write their product once",
            file=name,
        )
    try:
        return _decoded(text, name)
    except json.JSONDecodeError as problem:
        raise ScenarioError(
            f"not JSON: {problem.msg}, column {problem.colno}",
            'a syllabus is {"instructions": [{"$phase": "1.train"}, …]}',
            file=name,
            line=problem.lineno,
        ) from problem
    except ValueError as problem:  # an integer of thousands of digits
        raise ScenarioError(
            "holds a number of thousands of digits", "write numbers that a computer can hold", file=name
        ) from problem


def _decoded(text: str, name: str) -> Document:
    value = _DECODER.decode(text)
    if not isinstance(value, dict):
        raise ScenarioError(
            f"not an object (it begins {text.lstrip()[:20]!r})",
            'a syllabus is {"instructions": [{"$phase": "1.train"}, …]}',
            file=name,
        )
    return Document(text, value)


def _entries(text: str, offset: int) -> Iterator[tuple[str | int, int]]:
    """Key or index, and offset of the value, of each entry of the object or array at `offset` (in sound JSON)."""
    is_object = text[offset] == "{"
    position = _after_space(text, offset + 1)
    index = 0
    while text[position] not in "}]":
        key: str | int = index
        if is_object:
            key, position = _key(text, position)
        yield key, position
        _, end = _DECODER.raw_decode(text, position)
        position = _after_space(text, end)
        if text[position] == ",":
            position = _after_space(text, position + 1)
        index += 1


def _key(text: str, position: int) -> tuple[str, int]:
    key, end = _DECODER.raw_decode(text, position)
    colon = _after_space(text, end)
    return key, _after_space(text, colon + 1)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    keys = [key for key, _ in pairs]
    twice = TwiceNamed(value)
    twice.keys_twice = tuple(dict.fromkeys(key for key in keys if keys.count(key) > 1))
    return twice


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _check_size(size: int, name: str) -> None:
    if size > LARGEST_BYTES:
        raise ScenarioError(
            f"{size / 1e6:,.0f} MB, more than the {LARGEST_BYTES / 1e6:,.0f} MB a syllabus may have",
            'write equal episodes once, as {"$repeat": …, "count": N}',
            file=name,
        )


def _is_deeper(text: str, levels: int) -> bool:
    """Whether brackets nest deeper than `levels`, found without parsing: each pass peels the innermost ones."""
    brackets = _NOT_BRACKETS.sub("", _STRING.sub("", text))
    for _ in range(levels):
        brackets = brackets.replace("{}", "").replace("[]", "")
        if not brackets:
            return False
    # What is left is too deep, or unbalanced; of the latter only many open brackets could hurt the parser.
    return "{}" in brackets or "[]" in brackets or brackets.count("[") + brackets.count("{") > levels
