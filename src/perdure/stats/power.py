"""Power: how likely lifetimes are to decide, by the noncentral t or with values redrawn, and how many it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.sample_size import check_rates
from perdure.stats.crossing import FEW_EXPERTS, TOO_FEW_EXPERTS
from perdure.stats.interval import Part, interval_of
from perdure.stats.model import Array, Tails

Question = Literal["threshold", "paired", "unpaired"]
"""One learner against a threshold less its margin; two whose lifetimes are pairs; two whose are not."""
_MOST = 10_000_000  # lifetimes; beyond it no one will run them
_FEWEST: dict[Tails, int] = {"two": 3, "one": 2}  # of two there are values only, except under the papers' presets
_AT_ONCE = 2_000_000


class ExpertSample(Struct, frozen=True):
    """The experts beside the lifetimes: `each` of every task, differing by `spread` sd of lifetimes."""

    each: int
    tasks: int
    spread: float

    @property
    def part(self) -> Part:
        """What one task's experts add to the variance of the mean."""
        return self.spread**2 / (self.each * self.tasks**2), self.each - 1.0


def power(
    lifetimes: int,
    k: float,
    alpha: float = 0.05,
    tails: Tails = "two",
    *,
    question: Question = "threshold",
    beside: ExpertSample | None = None,
) -> float:
    """The chance that an effect of `k` sd is decided, by the noncentral t; of two learners each has `lifetimes`.

    k counts in sd of lifetimes, of paired learners in sd of differences. Experts beside them add their part to
    the variance, each learner's its own; with fewer than three of a task nothing is decided.
    """
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    if lifetimes < 2 or (beside is not None and beside.each < TOO_FEW_EXPERTS):
        return 0.0
    parts: list[Part] = [(1 / lifetimes, lifetimes - 1.0)] * (2 if question == "unpaired" else 1)
    if beside is not None:
        parts += [beside.part] * (beside.tasks * (1 if question == "threshold" else 2))
    found = interval_of(k, parts)
    shift = k / math.sqrt(found.variance)
    if tails == "one":
        return 1 - _noncentral_below(found.freedom, shift, float(stdtrit(found.freedom, 1 - alpha)))
    edge = float(stdtrit(found.freedom, 1 - alpha / 2))
    return 1 - _noncentral_below(found.freedom, shift, edge) + _noncentral_below(found.freedom, shift, -edge)


def _noncentral_below(freedom: float, shift: float, edge: float) -> float:
    """The chance that a noncentral t lies below `edge`; SciPy gives NaN where it is too small to be told from 0."""
    from scipy.special import nctdtr

    below = float(nctdtr(freedom, float(shift), edge))  # in 32 bits it is NaN more often
    if math.isnan(below):
        assert shift > 5 and edge < shift, (freedom, shift, edge)  # noqa: PT018 - one thought
        return 0.0
    return below


def lifetimes_exact(
    k: float,
    alpha: float = 0.05,
    beta: float = 0.1,
    tails: Tails = "two",
    *,
    question: Question = "threshold",
    beside: ExpertSample | None = None,
) -> int | None:
    """The fewest lifetimes, of each learner, with power 1 − β; None where experts are too few for any number."""
    check_rates(k, alpha, beta)
    found = needed(
        lambda count: power(count, k, alpha, tails, question=question, beside=beside) >= 1 - beta, _FEWEST[tails]
    )
    if found is None and beside is None:
        raise PerdureError(
            f"an effect of {k:g} standard deviations needs more than {_MOST:,} lifetimes", "plan for a larger effect"
        )
    return found


def smallest_seen(
    lifetimes: int,
    alpha: float = 0.05,
    beta: float = 0.1,
    tails: Tails = "two",
    *,
    question: Question = "threshold",
    beside: ExpertSample | None = None,
) -> float | None:
    """The smallest effect, in sd to three digits, that so many lifetimes see with power 1 − β; None if none is."""

    def enough(thousandths: int) -> bool:
        return power(lifetimes, thousandths / 1000, alpha, tails, question=question, beside=beside) >= 1 - beta

    found = needed(enough, 1, 1_000_000)
    return None if found is None else found / 1000


def needed(reaches: Callable[[int], bool], fewest: int = 3, most: int = _MOST) -> int | None:
    """The first number that reaches what is wanted, from `fewest` on; what is reached grows, so the search halves."""
    low, high = fewest - 1, fewest
    while not reaches(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def redrawn_power(
    sides: Sequence[Array],
    effect: float,
    lifetimes: int,
    rng: np.random.Generator,
    *,
    alpha: float = 0.05,
    tails: Tails = "two",
    experts: Sequence[tuple[float, int]] = (),
    resamples: int = 10_000,
) -> float:
    """How often groups redrawn from what was seen show `effect`: the real power where values are not normal.

    `sides` holds a learner's values (or differences of pairs), or those of two learners; only their shape and spread
    count. `experts` holds, for every task that has its own, their sd over the number of tasks, and how many; these are
    drawn as normal. With an effect of 0 it is the real error rate. A group without any spread counts by its mean.
    """
    from scipy.special import stdtrit

    if lifetimes < 2 or any(len(one) < 2 for one in sides):
        counts = " and ".join(str(len(one)) for one in sides)
        raise PerdureError(
            f"{counts} pilot lifetimes and groups of {lifetimes} have no spread", "give two or more of both"
        )
    shown = done = 0
    while done < resamples:
        count = max(1, min(_AT_ONCE // lifetimes, resamples - done))
        mean, parts = np.full(count, float(effect)), []
        for sign, values in zip((1.0, -1.0), sides, strict=False):
            drawn = values[rng.integers(len(values), size=(count, lifetimes))]
            mean += sign * (drawn.mean(axis=1) - values.mean())
            parts.append((drawn.var(axis=1, ddof=1) / lifetimes, lifetimes - 1.0))
        for sd, each in experts:
            drawn = rng.normal(0.0, sd, size=(count, each))
            mean += drawn.mean(axis=1)
            parts.append((drawn.var(axis=1, ddof=1) / each, each - 1.0))
        variance = np.sum([part for part, _ in parts], axis=0)
        spread = variance > 1e-24 * np.maximum(1.0, mean**2)
        below = np.sum([part**2 / freedom for part, freedom in parts], axis=0)
        freedom = variance[spread] ** 2 / below[spread]
        edge = stdtrit(freedom, 1 - alpha / (2 if tails == "two" else 1))
        shown += int(np.count_nonzero(mean[spread] > edge * np.sqrt(variance[spread])))
        shown += int(np.count_nonzero(mean[~spread] > 1e-12))
        done += count
    return shown / resamples


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
