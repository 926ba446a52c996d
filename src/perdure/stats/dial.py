"""Two dials for metrics beside experts: the power of so many lifetimes with so many experts of each task."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from perdure.stats.crossing import FEW_EXPERTS, TOO_FEW_EXPERTS
from perdure.stats.model import Tails
from perdure.stats.power import ExpertSample, Question, lifetimes_exact, power

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


def dial(
    k: float, alpha: float, beta: float, beside: ExpertSample, tails: Tails = "two", question: Question = "threshold"
) -> Dial:
    """The power to see `k` sd with experts that differ as those `beside` do, among them as many as these are."""
    columns = [replace(beside, each=each) for each in sorted({*_EXPERTS, beside.each})]

    def reached(lifetimes: int, column: ExpertSample) -> float:
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
