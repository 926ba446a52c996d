"""Two dials for metrics beside experts: the power of so many lifetimes with so many experts of each task."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from perdure.stats.crossing import FEW_EXPERTS, TOO_FEW_EXPERTS
from perdure.stats.model import Tails
from perdure.stats.power import Beside, Question, lifetimes_exact, power

__all__ = ["Dial", "dial"]

_LIVES = (5, 11, 20, 50, 100)
_EXPERTS = (TOO_FEW_EXPERTS, FEW_EXPERTS, 10, 20)
_ALL = 1_000_000  # lifetimes: as many as anyone likes


class Dial(Struct, frozen=True):
    """The power to see an effect at each number of lifetimes and of experts per task."""

    tasks: int
    spread: float
    """By how many sd of lifetimes the experts of a task differ."""
    lives: tuple[int, ...]
    experts: tuple[int, ...]
    power: tuple[tuple[float, ...], ...]
    """A row for each number of lifetimes."""
    ceiling: tuple[float, ...]
    """For each number of experts the power that no number of lifetimes exceeds."""
    needed: tuple[int | None, ...]
    """For each number of experts the lifetimes that reach the wanted power; None where none do."""

    def as_json(self) -> dict[str, Any]:
        """The dial as one JSON object."""
        return {
            "tasks": self.tasks,
            "spread": self.spread,
            "lives": list(self.lives),
            "experts": list(self.experts),
            "power": [list(row) for row in self.power],
            "ceiling": list(self.ceiling),
            "needed": list(self.needed),
        }


def dial(
    k: float, alpha: float, beta: float, beside: Beside, tails: Tails = "two", question: Question = "threshold"
) -> Dial:
    """The power to see `k` sd with experts that differ as those `beside` do, among them as many as these are."""
    columns = [replace(beside, each=each) for each in sorted({*_EXPERTS, beside.each})]

    def reached(lifetimes: int, column: Beside) -> float:
        return power(lifetimes, k, alpha, tails, question=question, beside=column)

    return Dial(
        beside.tasks,
        beside.spread,
        _LIVES,
        tuple(one.each for one in columns),
        tuple(tuple(reached(lifetimes, one) for one in columns) for lifetimes in _LIVES),
        tuple(reached(_ALL, one) for one in columns),
        tuple(lifetimes_exact(k, alpha, beta, tails, question=question, beside=one) for one in columns),
    )
