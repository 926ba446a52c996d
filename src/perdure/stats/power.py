"""Power: the chance that lifetimes decide, by the noncentral t or by resampling, and the number that is needed."""

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
from perdure.stats.interval import Interval, Part, group_interval_of, interval_of
from perdure.stats.model import LEVEL, Array, Tails

Question = Literal["threshold", "paired", "unpaired"]
"""One learner against a threshold minus its margin; two learners whose lifetimes are pairs; two whose are not."""
_MOST = 10_000_000  # lifetimes; no study has more
_FEWEST: dict[Tails, int] = {"two": 3, "one": 2}  # two lifetimes are decided only under the papers' presets
_AT_ONCE = 2_000_000
_GRID_LIVES = (5, 11, 20, 50, 100)
_GRID_EXPERTS = (TOO_FEW_EXPERTS, FEW_EXPERTS, 10, 20)
_UNLIMITED = 1_000_000  # lifetimes: the power of more is the same


class ExpertSample(Struct, frozen=True):
    """Experts of every task: `each` per task, which differ by `spread` sd of lifetimes."""

    each: int
    tasks: int
    spread: float

    @property
    def part(self) -> Part:
        """The share of one task's experts in the variance of the mean."""
        return self.spread**2 / (self.each * self.tasks**2), self.each - 1.0


class Design(Struct, frozen=True):
    """A planned test: its question, error rates and tails, and the experts that values are relative to."""

    question: Question = "threshold"
    alpha: float = 0.05
    beta: float = 0.1
    """The power wanted is 1 − β."""
    tails: Tails = "two"
    experts: ExpertSample | None = None


DESIGN = Design()


def power(lifetimes: int, k: float, design: Design = DESIGN) -> float:
    """Return the chance that an effect of `k` sd is decided, by the noncentral t; of two learners each has `lifetimes`.

    k counts in sd of lifetimes, of paired learners in sd of differences. Experts add their part to the variance. With
    fewer than three experts of a task nothing is decided.
    """
    experts = design.experts
    if lifetimes < 2 or (experts is not None and experts.each < TOO_FEW_EXPERTS):
        return 0.0
    return chance_to_decide(_planned_interval(k, lifetimes, design), design.alpha, design.tails)


def chance_to_decide(interval: Interval, alpha: float, tails: Tails = "two") -> float:
    """Return the chance that intervals with this mean, variance and degrees of freedom exclude 0, by noncentral t."""
    shift = interval.mean / math.sqrt(interval.variance)
    if tails == "one":
        return 1 - _noncentral_cdf(interval.freedom, shift, interval.quantile(1 - alpha))
    edge = interval.quantile(1 - alpha / 2)
    return 1 - _noncentral_cdf(interval.freedom, shift, edge) + _noncentral_cdf(interval.freedom, shift, -edge)


def _planned_interval(
    mean: float, lifetimes: float, design: Design, share: float = 1.0, level: float = LEVEL
) -> Interval:
    """Return the interval that the design will have if lifetimes keep `share` of their variance."""
    one = design.question == "threshold"
    parts: list[Part] = [(share / lifetimes, lifetimes - 1.0)] * (2 if design.question == "unpaired" else 1)
    if design.experts is not None:
        parts += [design.experts.part] * design.experts.tasks
    return (group_interval_of if one else interval_of)(mean, parts, level)


class Narrower(Struct, frozen=True):
    """The share of its width that an interval loses with twice the number. None if unknown or without effect."""

    lifetimes: float
    evaluations: float | None = None
    """With twice the evaluations in each block."""
    same_cost: float | None = None
    """With lifetimes instead of evaluations, for the experiences that twice the evaluations cost."""
    experts: float | None = None
    """With twice the experts of each task."""


def narrowed(
    lifetimes: int,
    design: Design,
    evaluations: float | None = None,
    own_experts: float | None = None,
    cost: float | None = None,
) -> Narrower:
    """Return how much narrower the interval of the design gets with twice the lifetimes, evaluations or experts.

    `evaluations` and `own_experts` are the shares of the variance between lifetimes that are due to them, `cost` is the
    share of experiences that are evaluations.
    """
    level = 1 - design.alpha * (2 if design.tails == "one" else 1)

    def narrower(count: float, changed: Design, share: float = 1.0) -> float:
        first = _planned_interval(0.0, lifetimes, design, level=level)
        return 1 - _planned_interval(0.0, count, changed, share, level).half / first.half

    experts = None if own_experts is None else narrower(lifetimes, design, 1 - own_experts / 2)
    if design.experts is not None:
        more = replace(design.experts, each=2 * design.experts.each)
        experts = narrower(lifetimes, replace(design, experts=more))
    return Narrower(
        narrower(2 * lifetimes, design),
        None if evaluations is None else narrower(lifetimes, design, 1 - evaluations / 2),
        None if not (evaluations and cost) else narrower((1 + cost) * lifetimes, design),
        experts,
    )


def _noncentral_cdf(freedom: float, shift: float, t: float) -> float:
    from scipy.special import nctdtr  # type: ignore[import-untyped]

    if shift < 0:
        return 1 - _noncentral_cdf(freedom, -shift, -t)
    chance = float(nctdtr(freedom, float(shift), t))  # SciPy gives NaN more often in 32 bits
    if math.isnan(chance):  # SciPy gives NaN if the chance underflows
        assert shift > 5 and t < shift, (freedom, shift, t)  # noqa: PT018 - one condition
        return 0.0
    return chance


def lifetimes_exact(k: float, design: Design = DESIGN) -> int | None:
    """Return the fewest lifetimes, of each learner, with power 1 − β; None if experts are too few for any number."""
    check_rates(k, design.alpha, design.beta)
    count = needed(lambda count: power(count, k, design) >= 1 - design.beta, _FEWEST[design.tails])
    if count is None and design.experts is None:
        raise PerdureError(
            f"an effect of {k:g} standard deviations needs more than {_MOST:,} lifetimes", "plan for a larger effect"
        )
    return count


def smallest_effect(lifetimes: int, design: Design = DESIGN) -> float | None:
    """Return the smallest effect, in sd to three digits, that these lifetimes show with power 1 − β; None if none."""
    thousandths = needed(lambda count: power(lifetimes, count / 1000, design) >= 1 - design.beta, 1, 1_000_000)
    return None if thousandths is None else thousandths / 1000


def needed(reaches: Callable[[int], bool], fewest: int = 3, most: int = _MOST) -> int | None:
    """Return the first number from `fewest` on that reaches the goal, by bisection; None if `most` does not."""
    low, high = fewest - 1, fewest
    while not reaches(high):
        if high >= most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


class PowerGrid(Struct, frozen=True):
    """The power to see an effect at each number of lifetimes and of experts per task."""

    tasks: int
    spread: float
    """The sd of a task's experts, in sd of lifetimes."""
    lives: tuple[int, ...]
    experts: tuple[int, ...]
    power: tuple[tuple[float, ...], ...]
    """A row for each number of lifetimes."""
    ceiling: tuple[float, ...]
    """For each number of experts the power that no number of lifetimes exceeds."""
    needed: tuple[int | None, ...]
    """For each number of experts the lifetimes that reach the wanted power; None where none do."""


def power_grid(k: float, design: Design) -> PowerGrid | None:
    """Return the power to see `k` sd by lifetimes and experts per task; None if the design has no experts."""
    experts = design.experts
    if experts is None:
        return None
    columns = [replace(design, experts=replace(experts, each=each)) for each in sorted({*_GRID_EXPERTS, experts.each})]
    return PowerGrid(
        experts.tasks,
        experts.spread,
        _GRID_LIVES,
        tuple(column.experts.each for column in columns if column.experts),
        tuple(tuple(power(lifetimes, k, column) for column in columns) for lifetimes in _GRID_LIVES),
        tuple(power(_UNLIMITED, k, column) for column in columns),
        tuple(lifetimes_exact(k, column) for column in columns),
    )


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
    """Return how often groups redrawn from `sides` show `effect`: the real power if values are not normal.

    `sides` holds a learner's values (or differences of pairs), or those of two learners; only their shape and spread
    count. `experts` holds, for every task that has its own, their sd over the number of tasks, and their number; these
    are drawn as normal. With an effect of 0 it is the real error rate. A group without any spread counts by its mean.
    """
    from scipy.special import stdtrit

    if lifetimes < 2 or any(len(values) < 2 for values in sides):
        counts = " and ".join(str(len(values)) for values in sides)
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
