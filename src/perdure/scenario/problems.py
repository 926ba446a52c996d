"""Problems of a syllabus, and the places that they name."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from msgspec import Struct

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
        steps = of_instruction(steps)
        self._problems.setdefault((steps, what), SyllabusProblem(level, where(steps), what, fix))

    def problems(self) -> tuple[SyllabusProblem, ...]:
        """Return all problems in the order found."""
        return tuple(self._problems.values())


def where(steps: Steps) -> str:
    """Return `instructions[3].$repeat[1]` for `("instructions", 3, "$repeat", 1)`."""
    return "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" if _WORD.fullmatch(step) else f"[{json.dumps(step)}]"
        for step in steps
    ).removeprefix(".")


def shown(value: Any) -> str:
    """Return a value as messages quote it: at most 58 characters."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def of_instruction(steps: Steps) -> Steps:
    """Return the place of the whole instruction: the only content of a `$repeat` belongs to it."""
    while steps and steps[-1] == "$repeat":
        steps = steps[:-1]
    return steps
