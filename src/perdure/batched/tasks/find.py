"""The families that tasks belong to, by the names that protocols use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from perdure.batched.tasks.family import Family
from perdure.errors import TaskError, nearest
from perdure.scenario.model import Task
from perdure.tasks.digits import PAIRS

FAMILIES: Mapping[str, str] = {
    "pong": "perdure.batched.tasks.arcade:arcade",
    "breakout": "perdure.batched.tasks.arcade:arcade",
    "freeway": "perdure.batched.tasks.arcade:arcade",
    "digits": "perdure.batched.tasks.streams:digits",
    "gaussians": "perdure.batched.tasks.streams:gaussians",
}
"""Where each family's maker is: a function of its name and of the parameters of all tasks that belong to it."""


_LIBRARIES = {one: f"perdure.batched.tasks.{one}:{one}_family" for one in ("gymnax", "navix")}
_PAIRS = {pair: {"classes": [2 * at, 2 * at + 1]} for at, pair in enumerate(PAIRS)}
_PAIRS |= {f"task-{at + 1}-{pair}": _PAIRS[pair] for at, pair in enumerate(PAIRS)}


def kind_of(task: Task) -> tuple[str, Mapping[str, Any]]:
    """The name by which a task's family is looked up, and what the task's own name says of its parameters.

    A family of one's own is named `module:maker`.
    """
    named = task.env or task.name
    folded = named if ":" in named else named.lower()
    return ("digits", _PAIRS[folded]) if folded in _PAIRS else (folded, {})


def family_of(kind: str, several: Sequence[Mapping[str, Any]]) -> Family:
    """The family of this name, large enough for tasks of these parameters."""
    place = _LIBRARIES.get(kind.partition(":")[0]) or FAMILIES.get(kind, kind)
    if ":" not in place:
        raise TaskError(
            f"the batched engine has no family for the task {kind!r}",
            f"{nearest(kind, FAMILIES)} (one of your own is written package.module:maker; --engine local takes "
            "any task)",
        )
    module, _, maker = place.partition(":")
    try:
        found = getattr(import_module(module), maker)
    except (ModuleNotFoundError, AttributeError) as problem:
        raise TaskError(f"the family {place!r} cannot be found: {problem}", "write package.module:maker") from problem
    family = found(kind, several)
    if not isinstance(family, Family):
        raise TaskError(
            f"{place!r} gives {type(family).__name__}, and the batched engine needs a Family", "return one from it"
        )
    return family
