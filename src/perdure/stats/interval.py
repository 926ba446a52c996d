"""Intervals: a mean whose variance is a sum of parts, its t interval, the p that is its dual; sign and rank tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perdure.metrics.engine.arithmetic import student_975
from perdure.stats.model import LEVEL, Array

__all__ = [
    "Interval",
    "Part",
    "constant",
    "interval_of",
    "part_of",
    "sign_test",
    "signed_rank_test",
    "t_interval",
    "two_sided_sign_test",
]

Part = tuple[float, float]
"""A part of the variance of a mean, and its degrees of freedom."""
_ROUNDING = 1e-12  # values that differ by less than this share of their size are the same value
_EXACT_RANKS = 60  # differences; up to here all 2ⁿ signs are counted, by their rank sums


@dataclass(frozen=True)
class Interval:
    """A mean with the variance of that mean and its degrees of freedom."""

    mean: float
    variance: float
    freedom: float
    level: float = LEVEL

    @property
    def half(self) -> float:
        """Half its width."""
        from scipy.special import stdtrit  # type: ignore[import-untyped]

        return float(stdtrit(self.freedom, 0.5 + self.level / 2)) * math.sqrt(self.variance) if self.variance else 0.0

    @property
    def low(self) -> float:
        """Its lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.mean + self.half

    def side(self, of: float) -> int:
        """1 where all of it lies above `of`, −1 where all of it lies below, and 0 where it holds `of`."""
        above = 1 if self.mean > of else -1
        away, error = abs(self.mean - of), math.sqrt(self.variance)
        if self.variance and self.level == LEVEL and self.freedom >= 1:
            low, high = student_975(self.freedom)  # one of the two decides almost always, without SciPy
            if away <= low * error:
                return 0
            if away > high * error:
                return above
        return above if away > self.half else 0

    def t(self, against: float = 0.0) -> float | None:
        """How many standard errors the mean lies above `against`; None where there is no spread."""
        return (self.mean - against) / math.sqrt(self.variance) if self.variance else None

    def p(self, against: float = 0.0) -> float | None:
        """Two-sided: below 1 − level exactly where the interval leaves `against` out."""
        t = self.t(against)
        return None if t is None else 2 * self.below(-abs(t))

    def below(self, t: float) -> float:
        """How likely a t below this is by chance."""
        from scipy.special import stdtr

        return float(stdtr(self.freedom, t))


def part_of(values: Array) -> Part:
    """What the spread of values adds to the variance of their mean."""
    return float(values.var(ddof=1)) / len(values), len(values) - 1.0


def interval_of(mean: float, parts: Sequence[Part], level: float = LEVEL) -> Interval:
    """The interval of a mean whose variance is the sum of `parts`; degrees of freedom by Satterthwaite."""
    variance = sum(part for part, _ in parts)
    below = sum(part**2 / freedom for part, freedom in parts if part)
    # Squares of the smallest variances underflow; one freedom is then as good as another.
    freedom = variance**2 / below if below > 0 else min(freedom for _, freedom in parts)
    return Interval(mean, variance, freedom, level)


def signed_rank_test(differences: Array) -> float:
    """Wilcoxon's signed-rank test, two-sided: exact also with ties, up to 60 differences that are not 0.

    Signs are what chance deals out, so ties need no table of their own: doubled middle ranks are whole numbers.
    """
    away = differences[differences != 0]
    n = len(away)
    if not n:
        return 1.0
    size = np.abs(away)
    ordered = np.sort(size)
    doubled = np.searchsorted(ordered, size, "left") + np.searchsorted(ordered, size, "right") + 1
    total, above = int(doubled.sum()), int(doubled[away > 0].sum())
    if n > _EXACT_RANKS:
        from scipy.special import ndtr

        spread = math.sqrt(float((doubled.astype(np.float64) ** 2).sum()) / 4)
        return 2 * float(ndtr(-abs(above - total / 2) / spread))
    ways = np.zeros(total + 1)
    ways[0] = 1.0
    for rank in doubled:
        ways[rank:] = ways[rank:] + ways[:-rank]
    tail = ways[: min(above, total - above) + 1].sum()
    return min(1.0, float(2 * tail / 2.0**n))


def t_interval(mean: Array | float, sd: Array | float, n: Array | float, level: float) -> tuple[Array, Array]:
    """The t interval of a mean. At five lifetimes a percentile bootstrap would cover 83 % where it says 95 %."""
    from scipy.special import stdtrit

    half = stdtrit(np.asarray(n) - 1.0, 0.5 + level / 2) * np.asarray(sd) / np.sqrt(n)
    return np.asarray(mean - half), np.asarray(mean + half)


def sign_test(above: int, n: int) -> float:
    """How likely it is that `above` or more of `n` lie beyond a threshold that is the median."""
    from scipy.special import bdtrc

    return float(bdtrc(above - 1, n, 0.5)) if above else 1.0


def two_sided_sign_test(differences: Array) -> float:
    """How likely so uneven a share of signs is by chance; what lies at 0 speaks for neither side."""
    above, below = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    return min(1.0, 2 * sign_test(max(above, below), above + below)) if above + below else 1.0


def constant(values: Array) -> bool:
    """Whether all values are the same up to rounding, so that their sd means nothing."""
    size = max(1.0, float(np.abs(values).max()))
    return float(values.max() - values.min()) <= _ROUNDING * size
