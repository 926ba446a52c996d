"""Intervals and tests: t intervals, whose variance may have parts; sign, rank and permutation tests; Holm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, combinations, permutations

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from perdure.metrics.arithmetic import student_975
from perdure.stats.model import LEVEL, Array

Part = tuple[float, float]
"""A part of the variance of a mean, and its degrees of freedom."""
_ROUNDING = 1e-12  # values that differ by less than this share of their size are the same value
_EXACT_RANKS = 60  # differences; up to here all 2ⁿ signs are counted, by their rank sums


class Interval(Struct, frozen=True):
    """A mean with the variance of that mean and its degrees of freedom."""

    mean: float
    variance: float
    freedom: float
    level: float = LEVEL
    weighted: tuple[Part, ...] = ()
    """Parts of the variance whose t quantiles are averaged by their size, instead of one t with `freedom`."""

    @property
    def half(self) -> float:
        """Half the width."""
        return self.quantile(0.5 + self.level / 2) * math.sqrt(self.variance) if self.variance else 0.0

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.half

    def side(self, of: float) -> int:
        """Return 1 if the interval is above `of`, −1 if it is below, and 0 if it contains `of`."""
        above = 1 if self.mean > of else -1
        away, error = abs(self.mean - of), math.sqrt(self.variance)
        if self.variance and self.level == LEVEL and self.freedom >= 1 and not self.weighted:
            low, high = student_975(self.freedom)  # one of the two decides almost always, without SciPy
            if away <= low * error:
                return 0
            if away > high * error:
                return above
        return above if away > self.half else 0

    def t(self, against: float = 0.0) -> float | None:
        """Return by how many standard errors the mean exceeds `against`; None without spread."""
        return (self.mean - against) / math.sqrt(self.variance) if self.variance else None

    def p(self, against: float = 0.0) -> float | None:
        """Return the two-sided p: below 1 − level exactly if the interval excludes `against`."""
        t = self.t(against)
        return None if t is None else 2 * self.below(-abs(t))

    def quantile(self, chance: float) -> float:
        """Return the t that is exceeded with a chance of 1 − `chance`."""
        from scipy.special import stdtrit  # type: ignore[import-untyped]

        parts = self.weighted or ((1.0, self.freedom),)
        return sum(part * float(stdtrit(freedom, chance)) for part, freedom in parts) / sum(part for part, _ in parts)

    def below(self, t: float) -> float:
        """Return the chance of a t below this: the inverse of `quantile`."""
        from scipy.special import stdtr

        if not self.weighted:
            return float(stdtr(self.freedom, t))
        chances = [float(stdtr(freedom, t)) for _, freedom in self.weighted]
        low, high = min(chances), max(chances)  # a weighted mean of quantiles lies between them
        while low < (middle := (low + high) / 2) < high:
            low, high = (middle, high) if self.quantile(middle) < t else (low, middle)
        return high


def part_of(values: Array) -> Part:
    """Return the share of the spread of values in the variance of their mean."""
    return float(values.var(ddof=1)) / len(values), len(values) - 1.0


def interval_of(mean: float, parts: Sequence[Part], level: float = LEVEL) -> Interval:
    """Return the interval of a mean whose variance is the sum of `parts`; degrees of freedom by Satterthwaite."""
    variance = sum(part for part, _ in parts)
    below = sum(part**2 / freedom for part, freedom in parts if part)
    # Squares of the smallest variances underflow; one freedom is then as good as another.
    freedom = variance**2 / below if below > 0 else min(freedom for _, freedom in parts)
    return Interval(mean, variance, freedom, level)


def weighted_interval_of(mean: float, parts: Sequence[Part], level: float = LEVEL) -> Interval:
    """Return the interval whose t quantile is the mean of those of `parts`, weighted by their variances.

    Cochran and Cox's approximation. It is wider than Satterthwaite's, which is too narrow if the part with the
    fewest degrees of freedom is estimated too small by chance.
    """
    interval = interval_of(mean, parts, level)
    return replace(interval, weighted=tuple(part for part in parts if part[0] > 0))


_FEW_FREEDOM = 3  # of 4 lifetimes


def group_interval_of(mean: float, parts: Sequence[Part], level: float = LEVEL) -> Interval:
    """Return the interval of one group's mean; `parts` are the part of its lifetimes, then those of experts.

    With 3 or 4 lifetimes and experts, the quantiles of both are weighted.
    """
    lifetimes, *experts = parts
    if not experts or lifetimes[1] > _FEW_FREEDOM:
        return interval_of(mean, parts, level)
    pooled = interval_of(mean, experts)
    return weighted_interval_of(mean, [lifetimes, (pooled.variance, pooled.freedom)], level)


def signed_rank_test(differences: Array) -> float:
    """Return the two-sided p of Wilcoxon's signed-rank test, exact up to 60 differences that are not 0.

    SciPy's is not exact with ties. Here the sums of all 2ⁿ signs are counted: doubled mid-ranks are whole numbers.
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
    """Return the t interval of a mean. With five values a 95 % percentile bootstrap interval covers 83 %."""
    from scipy.special import stdtrit

    half = stdtrit(np.asarray(n) - 1.0, 0.5 + level / 2) * np.asarray(sd) / np.sqrt(n)
    return np.asarray(mean - half), np.asarray(mean + half)


def sign_test(above: int, n: int) -> float:
    """Return the probability that `above` or more of `n` values exceed their median."""
    from scipy.special import bdtrc

    return float(bdtrc(above - 1, n, 0.5)) if above else 1.0


def two_sided_sign_test(differences: Array) -> float:
    """Return the two-sided p of the sign test; zeros count for neither side."""
    above, below = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    return min(1.0, 2 * sign_test(max(above, below), above + below)) if above + below else 1.0


def constant(values: Array) -> bool:
    """Return whether all values are the same up to rounding, so that their sd is meaningless."""
    size = max(1.0, float(np.abs(values).max()))
    return float(values.max() - values.min()) <= _ROUNDING * size


# --- one lifetime by itself, for want of a second -------------------------------------------------


ALL_ORDERS = 8
"""Lifetimes; up to here all n! orders are tried, for Student's t is far off there."""
_ALL_SIGNS = 16  # pairs; up to here all 2ⁿ signs are
_WAYS = 50_000  # of sharing values out between two systems; up to here all are
_FLIPS = 9999


def sign_flip_test(differences: Array, rng: np.random.Generator, flips: int = _FLIPS) -> float:
    """Return the two-sided p of a permutation test of paired differences, by changing signs.

    Exact up to 16 pairs; beyond that from `flips` random draws, the observed one counted in.
    """
    n = len(differences)
    observed = abs(float(differences.sum()))
    enough = observed * (1 - 1e-12)  # rounding must not turn the observed sum into a larger one
    if n <= _ALL_SIGNS:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float(np.mean(np.abs(signs @ differences) >= enough))
    octets = -(-n // 8)
    drawn = np.frombuffer(rng.bytes(flips * octets), dtype=np.uint8).reshape(flips, octets)
    flipped = np.unpackbits(drawn, axis=1, count=n).astype(np.float64) @ differences
    beyond = int(np.count_nonzero(np.abs(differences.sum() - 2 * flipped) >= enough))
    return (beyond + 1) / (flips + 1)


def exact_rank_sum_test(ours: Array, theirs: Array) -> float | None:
    """Return the two-sided p of the rank sum over all ways to divide the values; None without ties or if too many.

    SciPy takes the normal approximation if values are tied; two lifetimes may pass it that could not pass this.
    """
    together = np.concatenate([ours, theirs])
    ways = math.comb(len(together), len(ours))
    if ways > _WAYS or len(set(together.tolist())) == len(together):
        return None
    ordered = np.sort(together)
    ranks = (np.searchsorted(ordered, together, "left") + np.searchsorted(ordered, together, "right")) / 2.0
    chosen = np.fromiter(chain.from_iterable(combinations(range(len(together)), len(ours))), np.intp)
    sums = ranks[chosen].reshape(ways, len(ours)).sum(axis=1)
    away = np.abs(sums - sums.mean())
    return float(np.mean(away >= abs(float(ranks[: len(ours)].sum()) - float(sums.mean())) - 1e-9))


def exact_spearman_test(ours: Array, theirs: Array) -> float:
    """Return the share of all orders of one column with at least the observed correlation with the other."""
    from scipy import stats  # type: ignore[import-untyped]

    first, second = (ranks - ranks.mean() for ranks in (stats.rankdata(ours), stats.rankdata(theirs)))
    found = abs(float((first * second).sum()))
    return float(np.mean(np.abs((second[_orders(len(second))] * first).sum(axis=1)) >= found - 1e-9))


@lru_cache(maxsize=ALL_ORDERS)
def _orders(n: int) -> npt.NDArray[np.intp]:
    return np.array(list(permutations(range(n))), dtype=np.intp)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values with Holm's step-down adjustment, in the order given (Holm 1979)."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(one) for one in adjusted]
