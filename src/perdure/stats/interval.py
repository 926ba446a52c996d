"""Intervals: a mean whose variance is a sum of parts, its t interval, the p that is its dual; sign and rank tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from operator import mul

import numpy as np
from msgspec import Struct

from perdure.metrics import METRICS
from perdure.metrics.engine.arithmetic import student_975
from perdure.metrics.engine.score import BlockSummary, Score
from perdure.scenario import sites
from perdure.scenario.model import Block, Scenario
from perdure.stats.model import LEVEL, Array

FEWEST_EVALUATIONS = 10
"""Of one lifetime whose own evaluations are to rule chance out, in each of them."""
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


# --- one lifetime by itself, for want of a second -------------------------------------------------


def within_life(life: Score, metric: str, level: float = LEVEL) -> Interval | str:
    """The difference in points that the metric is about, by the spread within blocks; or why that cannot be known.

    Each evaluation block counts once, with its summed weight. Evaluations that follow one another resemble
    each other, so the standard error grows by √((1 + ρ)/(1 − ρ)), ρ their lag-1 correlation over all blocks used.
    """
    compared = METRICS.get(metric).compares if metric in METRICS else None
    if compared is None:
        return "one lifetime has no spread to judge it by"
    blocks = tuple(life.blocks)  # which may be kept packed, and are looked at again and again
    if not blocks:
        return "its blocks are not known"
    weights = _weights(blocks, metric, compared)
    if not weights:
        return "no evaluation differs"
    used = [blocks[at] for at in weights]
    counts = [one.block.length or 0 for one in used]
    if min(counts) < FEWEST_EVALUATIONS:
        return f"an evaluation has fewer than {FEWEST_EVALUATIONS} experiences"
    squares = [one.squares for one in used if one.squares is not None]
    lagged = [one.lagged for one in used if one.lagged is not None]
    means = [one.mean for one in used if one.mean is not None]
    if min(len(squares), len(lagged), len(means)) < len(used):
        return "the spread of its evaluations is not known"
    total = sum(squares)
    if total <= 0:
        return "no evaluation varies"
    alike = max(0.0, sum(lagged) / total)
    if alike >= 1:
        return "its evaluations repeat each other"
    grown = (1 + alike) / (1 - alike)
    parts = [
        (weight**2 * square / (count - 1) / count * grown, count - 1.0)
        for weight, square, count in zip(weights.values(), squares, counts, strict=True)
    ]
    return interval_of(sum(map(mul, weights.values(), means)), parts, level)


def _weights(blocks: Sequence[BlockSummary], metric: str, compared: tuple[str, str]) -> dict[int, float]:
    """Evaluation block → how much it counts; later ones and what they are held against have opposite signs."""
    by_key = _sites(metric, tuple(one.block for one in blocks))
    # A task that never changes carries no information, and is left out of the metric too.
    changing = {key: found for key, found in by_key.items() if not _still(blocks, found)}
    weights: dict[int, float] = {}
    signed = tuple(zip(compared, (1.0, -1.0), strict=True))
    for key, found in changing.items():
        chosen = found[:1] if isinstance(key, tuple) else found  # of a transfer the first place counts alone
        share = 1 / (len(chosen) * len(changing))
        for site in chosen:
            for role, sign in signed:
                read = site.blocks[role]
                for at in read:
                    weights[at] = weights.get(at, 0.0) + sign * share / len(read)
    return {at: weight for at, weight in weights.items() if not math.isclose(weight, 0.0, abs_tol=1e-15)}


@lru_cache(maxsize=64)  # lifetimes of one group are alike
def _sites(metric: str, blocks: tuple[Block, ...]) -> dict[sites.Key, list[sites.Site]]:
    by_key: dict[sites.Key, list[sites.Site]] = {}
    for site in METRICS.get(metric).sites(Scenario("", (), blocks)):
        by_key.setdefault(site.key, []).append(site)
    return by_key


def _still(blocks: Sequence[BlockSummary], found: list[sites.Site]) -> bool:
    """Whether no evaluation of a task varies, and all are the same."""
    means: set[float | None] = set()
    for site in found:
        for one in map(blocks.__getitem__, chain.from_iterable(site.blocks.values())):
            if one.block.mode == "evaluate":
                means.add(one.mean)
                if one.squares or len(means) > 1:
                    return False
    return True
