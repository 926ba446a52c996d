"""What stands above the instructions: name, authorship, and what is known of each task."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from perdure.errors import closest, nearest
from perdure.scenario.document import Steps, TwiceNamed, is_finite, key_twice
from perdure.scenario.layouts import LAYOUTS
from perdure.scenario.problems import Level, shown

__all__ = ["SCENARIO_TYPES", "Declared", "Header", "read_header"]

SCENARIO_TYPES = (*dict.fromkeys(one.scenario_type for one in LAYOUTS.values()), "custom")

# L2Logger compares these three without case, and so do we.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "complexity": ("1-low", "2-intermediate", "3-high"),
    "difficulty": ("1-easy", "2-medium", "3-hard"),
    "scenario_type": SCENARIO_TYPES,
}
_KNOWN = (
    "$schema",
    "author",
    "complexity",
    "composed",
    "description",
    "difficulty",
    "input_file",
    "instructions",
    "name",
    "pre_deployment",
    "scenario",
    "scenario_type",
    "tasks",
)
_TEXTS = ("author", "description", "name")
_TASK_KEYS = ("bounds", "env", "variants")

Report = Callable[[Level, Steps, str, str], None]
"""Takes a problem's level, place, what and fix."""


class Declared(Struct, frozen=True):
    """What the header says of one task: its environment, its bounds, its variants' parameters."""

    env: str | None = None
    bounds: tuple[float, float] | None = None
    variants: Mapping[str, Mapping[str, Any]] = {}


class Header(Struct, frozen=True):
    """The top of a syllabus; `tasks` by folded name, `info` everything else, verbatim."""

    name: str
    tasks: Mapping[str, Declared]
    info: Mapping[str, Any]


def read_header(value: Mapping[str, Any], name: str, report: Report) -> Header:
    """The header of a decoded syllabus; what is wrong in it is reported, and left out."""
    info: dict[str, Any] = {}
    for key, content in value.items():
        if key != "instructions" and key_twice(content) is not None:
            report("error", (key,), f"in {key!r} the key {key_twice(content)!r} occurs twice", "keep one of them")
        if key in ("input_file", "instructions", "scenario", "tasks"):
            continue
        if not is_finite(content):
            report("error", (key,), f"{key!r} holds a number that is not finite", "write a finite number, or null")
            continue
        if key not in _KNOWN:
            near = closest(key, [known for known in _KNOWN if known not in value])
            hint = f"did you mean {near!r}?" if near else "remove it, or keep it: it is recorded and otherwise ignored"
            report("warning", (key,), f"the header has no {key!r}", hint)
        elif key in _TEXTS and not isinstance(content, str):
            report("error", (key,), f"{key!r} is {shown(content)}", "write it as text, in double quotes")
            continue
        elif key in _WORDS and (not isinstance(content, str) or content.lower() not in _folded(_WORDS[key])):
            report("warning", (key,), f"{key!r} is {shown(content)}", f"L2Logger knows {', '.join(_WORDS[key])}")
        if key != "name":
            info[key] = content
    if isinstance(value, TwiceNamed):
        for key in value.keys_twice:
            report("error", (key,), f"the key {key!r} occurs twice", "keep one of them: only the last would count")
    title = value.get("name")
    return Header(
        title if isinstance(title, str) and title.isprintable() and title else name,
        _tasks(value.get("tasks", {}), report),
        info,
    )


def _tasks(value: Any, report: Report) -> dict[str, Declared]:
    if not isinstance(value, dict):
        report("error", ("tasks",), f"'tasks' is {shown(value)}", 'write {"Pong": {"env": …, "bounds": [low, high]}}')
        return {}
    tasks: dict[str, Declared] = {}
    for name, content in value.items():
        steps: Steps = ("tasks", name)
        if not isinstance(content, dict):
            report("error", steps, f"task {name!r} is {shown(content)}", 'write {"env": …, "bounds": [low, high]}')
            continue
        if name.lower() in tasks:
            report("error", steps, f"task {name!r} is described twice (names fold case)", "keep one description")
            continue
        for key in content:
            if key not in _TASK_KEYS:
                report("warning", (*steps, key), f"a task has no {key!r}", nearest(key, _TASK_KEYS))
        tasks[name.lower()] = Declared(
            _env(content.get("env"), steps, report),
            _bounds(content.get("bounds"), steps, report),
            _variants(content.get("variants", {}), steps, report),
        )
    return tasks


def _env(value: Any, steps: Steps, report: Report) -> str | None:
    if value is None or isinstance(value, str):
        return value
    report("error", (*steps, "env"), f"'env' is {shown(value)}", "write the environment's name as text")
    return None


def _bounds(value: Any, steps: Steps, report: Report) -> tuple[float, float] | None:
    if value is None:
        return None
    if (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(end, int | float) and not isinstance(end, bool) for end in value)
        and all(abs(end) < 1e300 and not math.isnan(end) for end in value)
        and value[0] < value[1]
    ):
        return float(value[0]), float(value[1])
    report("error", (*steps, "bounds"), f"'bounds' is {shown(value)}", "write [low, high], two increasing numbers")
    return None


def _variants(value: Any, steps: Steps, report: Report) -> dict[str, Mapping[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(params, dict) for params in value.values()):
        report(
            "error",
            (*steps, "variants"),
            f"'variants' is {shown(value)}",
            'name each variant with its parameters: {"wide": {"bot/paddle/width": 0.3}}',
        )
        return {}
    return {name.lower(): params for name, params in value.items()}


def _folded(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)
