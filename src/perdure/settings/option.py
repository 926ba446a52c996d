"""Option: the way one setting is given, in a file, on the command line and in a call."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from perdure import files
from perdure.errors import PerdureError


class Option(msgspec.Struct, frozen=True):
    """The flags, help and values of one setting. Its key in files and in JSON is the name of its field."""

    flags: str
    """The flag, or a switch and its opposite: `--clamp/--no-clamp`."""
    help: str
    panel: str | None = None
    """The panel of the help. Everyday options come first, without a panel."""
    metavar: str | None = None
    """The placeholder in the help. An option with choices shows them instead."""
    words: str = ""
    """Completes "expected …" in messages. By default it is derived from the type."""
    otherwise: Literal["preset", "log"] = "preset"
    """The source of the value if it is not given."""
    decides: bool = True
    """Whether lifetimes scored with different values must not be pooled."""
    prepares: bool = False
    """Whether it is a field of `Preparation`, in which None means the value of the preset."""
    shortcuts: Mapping[str, Any] = {}
    """Further flags, each with its value."""
    synonyms: Mapping[str, str] = {}
    """Further words for choices."""
    normalise: Callable[[Any], Any] | None = None
    """Turns a value of the right type into the setting. Raises ValueError if the value does not fit."""
    parse: Callable[[str], Any] | None = None
    """Turns one word of a command line into plain data. None if the word itself is the value."""
    in_file: bool = False
    """Whether a word of a command line is the path of a JSON file with a value for each task."""
    type: Any = None
    """The type of its values, without None. Set from the annotation of the field."""

    def __repr__(self) -> str:
        # `help(Settings)` shows every option in one signature.
        return f"Option({self.flags!r})"

    @property
    def flag(self) -> str:
        """The first flag."""
        return self.flags.partition("/")[0]

    @property
    def further_flags(self) -> dict[str, Any]:
        """Further flags, each with its value, including the opposite of a switch."""
        opposite = self.flags.partition("/")[2]
        return {**self.shortcuts, **({opposite: False} if opposite else {})}

    @property
    def choices(self) -> tuple[str, ...]:
        """The accepted words; empty if others are accepted too."""
        return (*get_args(self.type), *self.synonyms) if get_origin(self.type) is Literal else ()

    @property
    def is_repeatable(self) -> bool:
        """Whether its flag may be given more than once."""
        return self.parse in (parse_list, parse_pairs, parse_number_pairs)

    @property
    def word_type(self) -> Any:
        """The type of its value on the command line."""
        if self.choices:
            return Literal[self.choices]
        if self.is_repeatable:
            return list[str]
        number = getattr(self.type, "__origin__", None) is float
        return bool if self.type is bool else float if number else str

    @property
    def placeholder(self) -> str | None:
        """The placeholder of its value in the help."""
        words = get_args(self.type)
        if not self.choices:
            return self.metavar
        return "|".join(words) if len(words) < 5 else f"{words[0]}|{words[1]}|…"

    @property
    def expected(self) -> str:
        """The end of the message "expected …"."""
        if self.words:
            return self.words
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.type is bool:
            return "true or false"
        limits = next(item for item in self.type.__metadata__ if isinstance(item, msgspec.Meta))
        if limits.le is None:
            return f"a number, {limits.ge:g} or more"
        return f"a number from {limits.ge:g} to {limits.le:g}"

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its values."""
        return {"enum": [*self.choices]} if self.choices else msgspec.json.schema(self.type)

    def read(self, value: Any) -> Any:
        """Convert plain data to the setting. Raise ValueError if it does not fit."""
        if isinstance(value, str) and value in self.synonyms:
            return self.synonyms[value]
        try:
            converted = msgspec.convert(_plain(value), self.type)
        except msgspec.ValidationError as problem:
            raise ValueError(str(problem)) from None
        return self.normalise(converted) if self.normalise else converted

    def read_text(self, word: str) -> Any:
        """Convert a word of a command line to the setting. Raise ValueError if it does not fit."""
        if self.in_file:
            return self._read_file(Path(word))
        value = self.parse(word) if self.parse else word
        return value if isinstance(value, Path) else self.read(value)

    def _read_file(self, path: Path) -> Any:
        try:
            content = files.parse_json(files.read_text(path, files.HEADER_LIMIT))
        except OSError as problem:
            fix = f"give a file of {self.expected}"
            raise PerdureError(f"cannot be read ({problem.strerror})", fix, file=path) from problem
        except ValueError as problem:
            raise PerdureError(f"not JSON ({problem})", f"expected {self.expected}", file=path) from problem
        if not isinstance(content, dict):
            raise PerdureError(f"holds a {type(content).__name__}", f"expected {self.expected}", file=path)
        for name, value in content.items():
            try:
                self.read({name: value})
            except ValueError:
                raise PerdureError(f"{name!r} is {value!r}", f"expected {self.expected}", file=path) from None
        return self.read(content)


def _plain(value: Any) -> Any:
    """Return `value` as Python's own numbers, lists and dicts. Refuse NaN, infinity and empty text, as types cannot.

    msgspec 0.22 crashes on `Meta(pattern=…)` inside a dict or a list.
    """
    if isinstance(value, numbers.Real) and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not finite")
    if isinstance(value, str) and not value.strip():
        raise ValueError("empty")
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value


def fold_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by lower-case name, because tasks fold case."""
    return {name.lower(): value for name, value in values.items()}


def read_width(width: float) -> float:
    """Return the length of a window: a whole number of experiences, or a share of the block below 1."""
    if width > 1 and width != int(width):
        raise ValueError("between two whole numbers")
    return int(width) if width >= 1 else width


def read_list(names: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names, of which one may be given without a list."""
    return (names,) if isinstance(names, str) else tuple(names)


def read_bounds(bounds: Mapping[str, Mapping[str, float]]) -> dict[str, tuple[float, float]]:
    """Return the least and the greatest value of each task."""
    pairs = {}
    for task, ends in fold_names(bounds).items():
        if set(ends) != {"min", "max"} or ends["min"] > ends["max"]:
            raise ValueError("not two increasing numbers")
        pairs[task] = ends["min"], ends["max"]
    return pairs


def parse_list(word: str) -> list[str]:
    """Return the names between commas."""
    return [part.strip() for part in word.split(",") if part.strip()]


def parse_pairs(word: str) -> dict[str, str]:
    """Return `NAME=VALUE` as a dict of one entry."""
    name, _, value = (part.strip() for part in word.partition("="))
    if not (name and value):
        raise ValueError("half a pair")
    return {name: value}


def parse_number_pairs(word: str) -> dict[str, float]:
    """Return `NAME=X,…` as a dict."""
    return {name: float(value) for part in word.split(",") for name, value in parse_pairs(part).items()}


def parse_measure(word: str) -> str | dict[str, str]:
    """Return the name of a measure, or that of each task for `TASK=NAME,…`."""
    if "=" not in word:
        return word.strip()
    parts = re.split(r",(?=[^,=]*=)", word)  # of language models, a score may be exact_match,strict-match
    return {task: name for part in parts for task, name in parse_pairs(part).items()}


def parse_baseline(word: str, flag: str) -> Any:
    """Read a number, numbers between commas, or a file of them."""
    from perdure.log.formats.matrix_files import read_baseline

    return read_baseline(word, flag)


def parse_joint(word: str, flag: str) -> Any:
    """Read a baseline, or return the path of the lifetimes of a jointly trained learner."""
    try:
        return parse_baseline(word, flag)
    except PerdureError:
        if Path(word).exists():
            return Path(word)
        raise
