"""Decode the JSON of a syllabus, with guards against duplicate keys, deep nesting and huge files."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from perdure import files
from perdure.errors import ScenarioError

__all__ = [
    "LARGEST_BYTES",
    "MOST_LEVELS",
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

# A string may be unterminated: then it reaches to the end, and the decoder says so.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_WORD = re.compile(r"[$\w/-]+")
_NOT_BRACKETS = re.compile(r"[^\[\]{}]+")


class TwiceNamed(dict[str, Any]):
    """An object in which a key occurs more than once; the last value is kept, as `json` does."""

    keys_twice: tuple[str, ...] = ()


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


def decode(text: str, name: str = "syllabus") -> dict[str, Any]:
    """Return the JSON object in `text`; refuse anything else with line and column."""
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


def _decoded(text: str, name: str) -> dict[str, Any]:
    value = _DECODER.decode(text)
    if not isinstance(value, dict):
        raise ScenarioError(
            f"not an object (it begins {text.lstrip()[:20]!r})",
            'a syllabus is {"instructions": [{"$phase": "1.train"}, …]}',
            file=name,
        )
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    keys = [key for key, _ in pairs]
    twice = TwiceNamed(value)
    twice.keys_twice = tuple(dict.fromkeys(key for key in keys if keys.count(key) > 1))
    return twice


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


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
