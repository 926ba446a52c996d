"""Read the header of a syllabus: its name, its authors, and the declarations of its tasks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from perdure.errors import closest, nearest
from perdure.scenario.document import DuplicateKeys, duplicate_key, is_finite
from perdure.scenario.layouts import LAYOUTS
from perdure.scenario.problems import Notes, Steps, shown

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


class Declared(Struct, frozen=True):
    """The declaration of one task: its environment, its bounds, its variants' parameters."""

    env: str | None = None
    bounds: tuple[float, float] | None = None
    variants: Mapping[str, Mapping[str, Any]] = {}


class Header(Struct, frozen=True):
    """The top of a syllabus; `tasks` by folded name, `info` everything else, verbatim."""

    name: str
    tasks: Mapping[str, Declared]
    info: Mapping[str, Any]


def read_header(value: Mapping[str, Any], name: str, note: Notes) -> Header:
    """Read the header of a decoded syllabus. Whatever is wrong in it is noted and left out."""
    info: dict[str, Any] = {}
    for key, content in value.items():
        if key != "instructions" and duplicate_key(content) is not None:
            note("error", (key,), f"in {key!r} the key {duplicate_key(content)!r} occurs twice", "keep one of them")
        if key in ("input_file", "instructions", "scenario", "tasks"):
            continue
        if not is_finite(content):
            note("error", (key,), f"{key!r} holds a number that is not finite", "write a finite number, or null")
            continue
        if key not in _KNOWN:
            near = closest(key, [known for known in _KNOWN if known not in value])
            hint = f"did you mean {near!r}?" if near else "remove it, or keep it: it is recorded and otherwise ignored"
            note("warning", (key,), f"the header has no {key!r}", hint)
        elif key in _TEXTS and not isinstance(content, str):
            note("error", (key,), f"{key!r} is {shown(content)}", "write it as text, in double quotes")
            continue
        elif key in _WORDS and (not isinstance(content, str) or content.lower() not in map(str.lower, _WORDS[key])):
            note("warning", (key,), f"{key!r} is {shown(content)}", f"L2Logger knows {', '.join(_WORDS[key])}")
        if key != "name":
            info[key] = content
    for key in value.duplicates if isinstance(value, DuplicateKeys) else ():
        note("error", (key,), f"the key {key!r} occurs twice", "keep one of them: only the last would count")
    title = value.get("name")
    return Header(
        title if isinstance(title, str) and title.isprintable() and title else name,
        _tasks(value.get("tasks", {}), note),
        info,
    )


def _tasks(value: Any, note: Notes) -> dict[str, Declared]:
    if not isinstance(value, dict):
        note("error", ("tasks",), f"'tasks' is {shown(value)}", 'write {"Pong": {"env": …, "bounds": [low, high]}}')
        return {}
    tasks: dict[str, Declared] = {}
    for name, content in value.items():
        steps: Steps = ("tasks", name)
        if not isinstance(content, dict):
            note("error", steps, f"task {name!r} is {shown(content)}", 'write {"env": …, "bounds": [low, high]}')
            continue
        if name.lower() in tasks:
            note("error", steps, f"task {name!r} is described twice (names fold case)", "keep one description")
            continue
        for key in content:
            if key not in _TASK_KEYS:
                note("warning", (*steps, key), f"a task has no {key!r}", nearest(key, _TASK_KEYS))
        env = content.get("env")
        if env is not None and not isinstance(env, str):
            note("error", (*steps, "env"), f"'env' is {shown(env)}", "write the environment's name as text")
            env = None
        tasks[name.lower()] = Declared(
            env,
            _bounds(content.get("bounds"), steps, note),
            _variants(content.get("variants", {}), steps, note),
        )
    return tasks


def _bounds(value: Any, steps: Steps, note: Notes) -> tuple[float, float] | None:
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
    note("error", (*steps, "bounds"), f"'bounds' is {shown(value)}", "write [low, high], two increasing numbers")
    return None


def _variants(value: Any, steps: Steps, note: Notes) -> dict[str, Mapping[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(params, dict) for params in value.values()):
        note(
            "error",
            (*steps, "variants"),
            f"'variants' is {shown(value)}",
            'name each variant with its parameters: {"wide": {"bot/paddle/width": 0.3}}',
        )
        return {}
    return {name.lower(): params for name, params in value.items()}
