"""Problem: one thing that is wrong, doubtful or improvable in a syllabus, with its place."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from perdure.scenario.document import Steps, where

__all__ = ["LEVELS", "Level", "Notes", "Problem", "of_instruction", "shown"]

Level = Literal["error", "warning", "advice"]

LEVELS: tuple[Level, ...] = ("error", "warning", "advice")


class Problem(Struct, frozen=True):
    """What is wrong, where, and what to do about it.

    An error makes the syllabus unfit to run; a warning is probably a slip; advice says what a
    metric would gain. `where` is a path such as `instructions[3].$repeat[1]`, empty for the whole file.
    """

    level: Level
    where: str
    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.where or 'syllabus'}: {self.what}; {self.fix}"


class Notes:
    """Problems found so far; each is kept once, however often its instruction is repeated."""

    def __init__(self) -> None:
        self._problems: dict[tuple[Steps, str], Problem] = {}

    def __call__(self, level: Level, steps: Steps, what: str, fix: str) -> None:
        """Note a problem of the instruction at `steps`."""
        steps = of_instruction(steps)
        if (steps, what) not in self._problems:
            self._problems[steps, what] = Problem(level, where(steps), what, fix)

    def problems(self) -> tuple[Problem, ...]:
        """All of them, in the order found."""
        return tuple(self._problems.values())


def shown(value: Any) -> str:
    """A value as a message quotes it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def of_instruction(steps: Steps) -> Steps:
    """The place of the whole instruction: what a `$repeat` holds alone belongs to it."""
    while steps and steps[-1] == "$repeat":
        steps = steps[:-1]
    return steps
