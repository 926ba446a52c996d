"""The tables of a protocol document: which keys each may have, and what each key takes.

Those of `[score]` are the settings, and stand where these are declared.
`perdure/schemas/protocol.py` says the same for editors; a test holds the two together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from perdure import files
from perdure.errors import PerdureError, nearest
from perdure.frozen import frozen

__all__ = ["KEYS", "MOST_LIVES", "Section", "Takes", "checked", "refuse_strange"]

MOST_LIVES = 100_000
"""Lives of one protocol; more are several protocols."""

_LONGEST_SHOWN = 200
_DEEPEST = 100
_NOT_CUSTOM = frozenset({"cpu", "gpu", "memory", "object_store_memory"})
_BEYOND = 2**63  # TOML's own whole numbers


@frozen
class Takes:
    """What a key takes: in words, and as a test."""

    what: str
    fits: Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _whole(least: int, most: int | None = None) -> Takes:
    def fits(value: Any) -> bool:
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
        return whole and (most is None or value <= most)

    return Takes(f"a whole number, {least} or more" if most is None else f"a whole number, {least} to {most:,}", fits)


def _between(low: float, high: float) -> Takes:
    return Takes(f"a number between {low:g} and {high:g}", lambda value: _is_number(value) and low < value < high)


def _is_bounds(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)) and value[0] < value[1]


def _is_amounts(value: Any) -> bool:
    if not isinstance(value, Mapping) or any(name.lower() in _NOT_CUSTOM or not name.strip() for name in value):
        return False
    return all(_AMOUNT.fits(one) for one in value.values())


_FILE = Takes("the name of a file", lambda value: isinstance(value, str) and value.strip() != "" and "\0" not in value)
_TEXT = Takes("text", lambda value: isinstance(value, str) and value.strip() != "")
_NAME = Takes(
    "a name without slashes, of at most 200 characters (bytes in UTF-8), that does not start with a dot",
    lambda value: files.name_fault(value) is None,
)
_TABLE = Takes("a table", lambda value: isinstance(value, Mapping))
_TABLES = Takes("tables, each under [[scenarios]]", lambda value: isinstance(value, list))
_TEXTS = Takes(
    "a list of texts",
    lambda value: isinstance(value, list) and value != [] and all(isinstance(one, str) and one for one in value),
)
_AMOUNT = Takes(
    "a part of 1, or a whole number up to 10,000",  # as Ray has it
    lambda value: _is_number(value) and 0 <= value <= 10_000 and (value <= 1 or value == int(value)),
)
_SWITCH = Takes("true or false", lambda value: isinstance(value, bool))
_LIFETIMES = Takes(
    f'a whole number, 1 to {MOST_LIVES:,}, or "auto"',
    lambda value: value == "auto" or _whole(1, MOST_LIVES).fits(value),
)

KEYS: Mapping[str, Mapping[str, Takes]] = {
    "protocol": {
        "name": _NAME,
        "description": _TEXT,
        "seed": _whole(0),
        "lifetimes": _LIFETIMES,
        "experts": _whole(0, MOST_LIVES),
        "twin": _SWITCH,
        "learner": _TABLE,
        "learners": Takes("tables, each under [[learners]]", lambda value: isinstance(value, list) and value != []),
        "scenarios": _TABLES,
        "tasks": _TABLE,
        "pre_deployment": _TABLE,
        "power": _TABLE,
        "seeds": _TABLE,
        "limits": _TABLE,
        "resources": _TABLE,
        "score": _TABLE,
    },
    "learner": {"use": _TEXT, "name": _NAME, "params": _TABLE},
    "scenario": {
        "name": _NAME,
        "file": _FILE,
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
        "bounds": Takes("[low, high], two increasing numbers", _is_bounds),
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
        "lives_at_once": _whole(1, MOST_LIVES),
    },
    "resources": {
        "cpus": _AMOUNT,
        "gpus": _AMOUNT,
        "gigabytes": _between(0, 1e6),
        "custom": Takes("names of your own, each with a part of 1 or a whole number", _is_amounts),
    },
}


@frozen
class Section:
    """A section of a protocol whose keys and values are known to fit."""

    content: Mapping[str, Any] = field(hash=False)
    where: str

    def get(self, key: str, otherwise: Any) -> Any:
        """What stands under `key`, or `otherwise`."""
        return self.content.get(key, otherwise)

    def required(self, key: str, example: str) -> Any:
        """What stands under `key`; where nothing does, an example is given."""
        if key not in self.content:
            example = example.replace("\n", " ")
            raise PerdureError(f"no {key!r}", f"write, for example, {example}", file=self.where)
        return self.content[key]


def checked(content: Any, keys: Mapping[str, Takes], where: str) -> Section:
    """`content` as a table of these keys; an unknown key offers the nearest, a wrong value says what is taken."""
    if not isinstance(content, Mapping):
        raise PerdureError(f"is {_shown(content)}", "expected a table", file=where)
    for key, value in content.items():
        if key not in keys:
            raise PerdureError(f"unknown key {_shown(key)}", nearest(key[:_LONGEST_SHOWN], keys), file=where)
        if not keys[key].fits(value):
            raise PerdureError(f"{key!r} is {_shown(value)}", f"expected {keys[key].what}", file=where)
    return Section(content, where)


def refuse_strange(content: Any) -> None:
    """Refuse what no protocol needs and what could not be kept: depth without end, huge or infinite numbers, dates."""
    waiting: list[tuple[str, int, Any]] = [("", 0, content)]
    while waiting:
        where, depth, value = waiting.pop()
        if depth > _DEEPEST:
            raise PerdureError(f"{where[:60]}…: nested more than {_DEEPEST} levels deep", "write it flatter")
        if isinstance(value, Mapping):
            waiting += [(f"{where}.{key}" if where else str(key), depth + 1, one) for key, one in value.items()]
        elif isinstance(value, list):
            waiting += [(where, depth + 1, one) for one in value]
        elif isinstance(value, int) and abs(value) >= _BEYOND:
            raise PerdureError(f"a number of {value.bit_length()} bits", "write one that 64 bits hold", file=where)
        elif isinstance(value, float) and not math.isfinite(value):
            raise PerdureError(f"{where} is {value}, which is not finite", "write a finite number")
        elif value is not None and not isinstance(value, bool | int | float | str):
            raise PerdureError(f"{where} is {value}, a {type(value).__name__}", "write it as text, in quotes")


def _shown(value: Any) -> str:
    """A value for a message, which need not hold all of it."""
    said = repr(value)
    return said if len(said) <= _LONGEST_SHOWN else f"{said[:_LONGEST_SHOWN]}…"
