"""The families that tasks belong to, by the names that protocols use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from perdure.errors import TaskError, nearest
from perdure.scenario.model import Task
from perdure.tasks.batched.family import Family

__all__ = ["FAMILIES", "family_of", "kind_of"]

FAMILIES: Mapping[str, str] = {
    "pong": "perdure.tasks.batched.arcade:arcade",
    "breakout": "perdure.tasks.batched.arcade:arcade",
    "freeway": "perdure.tasks.batched.arcade:arcade",
}
"""Where each family's maker is: a function of its name and of the parameters of all tasks that belong to it."""


def kind_of(task: Task) -> str:
    """The name by which a task's family is looked up; `module:maker` for one of one's own."""
    named = task.env or task.name
    return named if ":" in named else named.lower()


def family_of(kind: str, several: Sequence[Mapping[str, Any]]) -> Family:
    """The family of this name, large enough for tasks of these parameters."""
    place = FAMILIES.get(kind, kind)
    if ":" not in place:
        raise TaskError(
            f"the batched engine has no family for the task {kind!r}; {nearest(kind, FAMILIES)}; "
            "one of your own is written package.module:maker; --engine local takes any task"
        )
    module, _, maker = place.partition(":")
    try:
        found = getattr(import_module(module), maker)
    except (ModuleNotFoundError, AttributeError) as problem:
        raise TaskError(f"the family {place!r} cannot be found: {problem}; write package.module:maker") from problem
    family = found(kind, several)
    if not isinstance(family, Family):
        raise TaskError(
            f"{place!r} gives {type(family).__name__}; the batched engine needs a Family, and is given tasks"
        )
    return family
