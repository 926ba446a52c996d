"""Read the JSON of a syllabus, with limits on nesting and size, and collect its problems."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from perdure import files
from perdure.errors import ScenarioError

LARGEST_BYTES = files.HEADER_LIMIT
MOST_LEVELS = 100

_EXAMPLE = 'a syllabus is {"instructions": [{"$phase": "1.train"}, …]}'
# An unterminated string reaches to the end; the decoder reports it.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_NOT_BRACKETS = re.compile(r"[^\[\]{}]+")
_HERE = Path()


class DuplicateKeys(dict[str, Any]):
    """A JSON object in which a key occurs more than once; the last value counts, as in `json`."""

    duplicates: tuple[str, ...] = ()


def read_source(place: str | os.PathLike[str], folder: Path = _HERE) -> tuple[str, str]:
    """Return the text of a syllabus and its place.

    `place` is a file, a log's folder (its `scenario_info.json` is read), or "-" for standard input. A bare name that
    is not a file in `folder` is looked up in `$L2DATA/syllabi`, with or without `.json`.
    """
    if os.fspath(place) == "-":
        if sys.stdin is None:
            raise ScenarioError("standard input is closed", "give the path of a syllabus, or pipe one in")
        return _text(sys.stdin.buffer.read(LARGEST_BYTES + 1), "standard input"), "standard input"
    path = folder / place
    if not path.exists() and len(Path(place).parts) == 1:
        shared = files.data_folder() / "syllabi"
        path = next((file for file in (shared / place, shared / f"{place}.json") if file.is_file()), path)
    if path.is_dir():
        if not (path / "scenario_info.json").is_file():
            raise ScenarioError("a folder without scenario_info.json", "give the path of a syllabus", file=path)
        path /= "scenario_info.json"
    text = _read(path)
    if '"input_file"' in text:
        value = decode(text, str(path))
        target = value.get("input_file")
        if "instructions" not in value and isinstance(target, str):
            file = path.parent / target
            if not file.is_file():
                raise ScenarioError(
                    f"'input_file' names {target!r}, and there is no such file", "put it beside this one", file=path
                )
            text = _read(file)
    return text, str(path)


def name_of(place: str) -> str:
    """Return the name of a syllabus found at `place`: its file's name, or its log's for a `scenario_info.json`."""
    path = Path(place)
    return path.parent.name or path.stem if path.name == "scenario_info.json" else path.stem


def decode(content: str | bytes, name: str = "syllabus") -> dict[str, Any]:
    """Return the JSON object in `content`; refuse anything else with line and column."""
    _check_size(len(content), name)
    text = _text(content, name) if isinstance(content, bytes) else content
    if _is_deeper(text, MOST_LEVELS):
        raise ScenarioError(
            f"nested more than {MOST_LEVELS} levels deep",
            "nested $repeat multiply, so write their product once",
            file=name,
        )
    try:
        value = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as problem:
        raise ScenarioError(
            f"not JSON: {problem.msg}, column {problem.colno}", _EXAMPLE, file=name, line=problem.lineno
        ) from problem
    except ValueError as problem:  # an integer of thousands of digits
        raise ScenarioError(
            "holds a number of thousands of digits", "write numbers that a computer can hold", file=name
        ) from problem
    if not isinstance(value, dict):
        raise ScenarioError(f"not an object (it begins {text.lstrip()[:20]!r})", _EXAMPLE, file=name)
    return value


def duplicate_key(value: Any) -> str | None:
    """Return a key that occurs twice in one object, at any depth of a decoded value, or None."""
    if isinstance(value, DuplicateKeys):
        return value.duplicates[0]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((key for key in map(duplicate_key, inner) if key is not None), None)


def is_finite(value: Any) -> bool:
    """Return whether every number in a decoded value is finite."""
    if isinstance(value, float):
        return math.isfinite(value)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(is_finite, inner))


def _read(path: Path) -> str:
    with files.reading(path, "give the path of a syllabus", ScenarioError):
        _check_size(path.stat().st_size, str(path))
        return _text(files.read_bytes(path, LARGEST_BYTES), str(path))


def _text(content: bytes, name: str) -> str:
    _check_size(len(content), name)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise ScenarioError(
            f"not UTF-8 text (byte {problem.start} is {content[problem.start]:#04x})", "save it as UTF-8", file=name
        ) from problem


def _check_size(size: int, name: str) -> None:
    if size > LARGEST_BYTES:
        raise ScenarioError(
            f"{size / 1e6:,.0f} MB, more than the {LARGEST_BYTES / 1e6:,.0f} MB a syllabus may have",
            'write equal episodes once, as {"$repeat": …, "count": N}',
            file=name,
        )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    keys = [key for key, _ in pairs]
    value = DuplicateKeys(value)
    value.duplicates = tuple(dict.fromkeys(key for key in keys if keys.count(key) > 1))
    return value


def _is_deeper(text: str, levels: int) -> bool:
    """Return whether brackets nest deeper than `levels`, without parsing: each pass removes the innermost ones."""
    brackets = _NOT_BRACKETS.sub("", _STRING.sub("", text))
    for _ in range(levels):
        brackets = brackets.replace("{}", "").replace("[]", "")
        if not brackets:
            return False
    # The rest is too deep, or unbalanced. Unbalanced brackets hurt the parser only if many are open.
    return "{}" in brackets or "[]" in brackets or brackets.count("[") + brackets.count("{") > levels


# --- problems ------------------------------------------------------------------------------------


Steps = tuple[str | int, ...]
"""The way from the root of a document to a value: keys and indices."""

_WORD = re.compile(r"[$\w/-]+")

Level = Literal["error", "warning", "advice"]

LEVELS: tuple[Level, ...] = ("error", "warning", "advice")


class SyllabusProblem(Struct, frozen=True):
    """A problem with its place and its fix.

    An error makes the syllabus unfit to run; a warning is probably a mistake; advice improves the metrics.
    `where` is a path such as `instructions[3].$repeat[1]`, empty for the whole file.
    """

    level: Level
    where: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.where or 'syllabus'}: {self.what}; {self.fix}"


class Notes:
    """The problems found so far, each once even if its instruction is repeated."""

    def __init__(self) -> None:
        self._problems: dict[tuple[Steps, str], SyllabusProblem] = {}

    def __call__(self, level: Level, steps: Steps, what: str, fix: str) -> None:
        """Add a problem of the instruction at `steps`."""
        steps = instruction_steps(steps)
        self._problems.setdefault((steps, what), SyllabusProblem(level, place_text(steps), what, fix))

    def problems(self) -> tuple[SyllabusProblem, ...]:
        """Return all problems in the order found."""
        return tuple(self._problems.values())


def place_text(steps: Steps) -> str:
    """Return `instructions[3].$repeat[1]` for `("instructions", 3, "$repeat", 1)`."""
    return "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" if _WORD.fullmatch(step) else f"[{json.dumps(step)}]"
        for step in steps
    ).removeprefix(".")


def quote(value: Any) -> str:
    """Return a value as messages quote it: at most 58 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def instruction_steps(steps: Steps) -> Steps:
    """Return the place of the whole instruction: the only content of a `$repeat` belongs to it."""
    while steps and steps[-1] == "$repeat":
        steps = steps[:-1]
    return steps
