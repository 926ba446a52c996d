"""The tables of a protocol document: which keys each may have, and what each key takes.

Those of `[score]` are the settings, and stand where these are declared.
`perdure/schemas/protocol.schema.json` says the same for editors; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from perdure.errors import PerdureError, nearest

__all__ = ["KEYS", "Table", "Takes", "checked"]


@dataclass(frozen=True)
class Takes:
    """What a key takes: in words, and as a test."""

    what: str
    fits: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _whole(least: int) -> Takes:
    def fits(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and value >= least

    return Takes(f"a whole number, {least} or more", fits)


def _between(low: float, high: float) -> Takes:
    return Takes(f"a number between {low:g} and {high:g}", lambda value: _is_number(value) and low < value < high)


def _is_bounds(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)) and value[0] < value[1]


def _is_folder_name(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != "" and value.isprintable() and not set(value) & set("/\\")


_TEXT = Takes("text", lambda value: isinstance(value, str) and value.strip() != "")
_NAME = Takes("a name without slashes", _is_folder_name)
_TABLE = Takes("a table", lambda value: isinstance(value, Mapping))
_TABLES = Takes("tables, each under [[scenarios]]", lambda value: isinstance(value, list))
_TEXTS = Takes(
    "a list of texts",
    lambda value: isinstance(value, list) and value != [] and all(isinstance(one, str) and one for one in value),
)
_SWITCH = Takes("true or false", lambda value: isinstance(value, bool))
_LIFETIMES = Takes('a whole number, 1 or more, or "auto"', lambda value: value == "auto" or _whole(1).fits(value))

KEYS: Mapping[str, Mapping[str, Takes]] = {
    "protocol": {
        "name": _NAME,
        "description": _TEXT,
        "seed": _whole(0),
        "lifetimes": _LIFETIMES,
        "experts": _whole(0),
        "twin": _SWITCH,
        "learner": _TABLE,
        "scenarios": _TABLES,
        "tasks": _TABLE,
        "pre_deployment": _TABLE,
        "power": _TABLE,
        "seeds": _TABLE,
        "limits": _TABLE,
        "score": _TABLE,
    },
    "learner": {"use": _TEXT, "name": _NAME, "params": _TABLE},
    "scenario": {
        "name": _NAME,
        "file": _TEXT,
        "syllabus": _TABLE,
        "layout": _TEXT,
        "tasks": _TEXTS,
        "learn": _whole(1),
        "evaluate": _whole(0),
        "superblocks": _whole(1),
        "seed": _whole(0),
    },
    "task": {
        "env": _TEXT,
        "bounds": Takes("[low, high], two numbers that rise", _is_bounds),
        "params": _TABLE,
        "variants": _TABLE,
    },
    "power": {
        "effect": _between(0, 100),
        "alpha": _between(0, 1),
        "power": _between(0, 1),
    },
    "seeds": {"learner": _whole(0), "scenario": _whole(0), "environment": _whole(0)},
    "limits": {
        "steps_per_episode": _whole(1),
        "seconds_per_life": _between(0, 1e9),
        "gigabytes_per_life": _between(0, 1e6),
    },
}


@dataclass(frozen=True)
class Table:
    """A table whose keys and values are known to fit."""

    content: Mapping[str, Any] = field(hash=False)
    where: str

    def get(self, key: str, otherwise: Any) -> Any:
        """What stands under `key`, or `otherwise`."""
        return self.content.get(key, otherwise)

    def required(self, key: str, example: str) -> Any:
        """What stands under `key`; where nothing does, an example is given."""
        if key not in self.content:
            raise PerdureError(f"{self.where}: no {key!r}; write, for example, {example}".replace("\n", " "))
        return self.content[key]


def checked(content: Any, keys: Mapping[str, Takes], where: str) -> Table:
    """`content` as a table of these keys; an unknown key offers the nearest, a wrong value says what is taken."""
    if not isinstance(content, Mapping):
        raise PerdureError(f"{where} is {content!r}; expected a table")
    for key, value in content.items():
        if key not in keys:
            raise PerdureError(f"{where}: unknown key {key!r}; {nearest(key, keys)}")
        if not keys[key].fits(value):
            raise PerdureError(f"{where}: {key!r} is {value!r}; expected {keys[key].what}")
    return Table(content, where)
