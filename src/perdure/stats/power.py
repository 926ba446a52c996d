"""How many lifetimes: the paper's rule, the exact answer, and the power really reached."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from perdure.errors import PerdureError
from perdure.stats.model import Array
from perdure.stats.threshold import one_tailed_t

__all__ = ["PowerPoint", "Sides", "curve", "lifetimes_exact", "lifetimes_normal", "power", "rejection_rate"]

Sides = Literal["one", "two"]
_MOST = 10_000_000  # lifetimes; beyond it no one will run them


@dataclass(frozen=True)
class PowerPoint:
    """The power of both tests at one number of lifetimes."""

    lifetimes: int
    two_sided: float
    one_sided: float

    def as_json(self) -> dict[str, Any]:
        """The point as one JSON object."""
        return {"lifetimes": self.lifetimes, "two_sided": self.two_sided, "one_sided": self.one_sided}


def lifetimes_normal(k: float, alpha: float = 0.05, beta: float = 0.1) -> int:
    """`ceil(((z₁₋α⸝₂ + z₁₋β)/k)²)`, the rule of Baker et al. 2023, App. D: 11 for k = 1, α = .05, β = .1.

    It takes the sd as known, and so asks for a little less than the test needs.
    """
    from scipy.special import ndtri  # type: ignore[import-untyped]

    _check(k, alpha, beta)
    exact = float((ndtri(1 - alpha / 2) + ndtri(1 - beta)) / k) ** 2
    return max(1, math.ceil(exact - 1e-9))


def power(lifetimes: int, k: float, alpha: float = 0.05, sides: Sides = "two") -> float:
    """The chance that a t test finds an effect of `k` standard deviations, by the noncentral t."""
    from scipy.special import stdtrit

    if lifetimes < 2:
        return 0.0
    freedom, shift = lifetimes - 1.0, k * math.sqrt(lifetimes)
    if sides == "one":
        return 1 - _noncentral_below(freedom, shift, float(stdtrit(freedom, 1 - alpha)))
    edge = float(stdtrit(freedom, 1 - alpha / 2))
    return 1 - _noncentral_below(freedom, shift, edge) + _noncentral_below(freedom, shift, -edge)


def _noncentral_below(freedom: float, shift: float, edge: float) -> float:
    """The chance that a noncentral t lies below `edge`; SciPy gives NaN where it is too small to be told from 0."""
    from scipy.special import nctdtr

    below = float(nctdtr(freedom, shift, edge))
    if math.isnan(below):
        assert shift > 5 and edge < shift, (freedom, shift, edge)  # noqa: PT018 - one thought
        return 0.0
    return below


def lifetimes_exact(k: float, alpha: float = 0.05, beta: float = 0.1, sides: Sides = "two") -> int:
    """The fewest lifetimes at which the t test has power 1 − β; it grows with n, so the search halves."""
    _check(k, alpha, beta)
    wanted = 1 - beta
    high = 2
    while power(high, k, alpha, sides) < wanted:
        high *= 2
        if high > _MOST:
            raise PerdureError(f"an effect of {k:g} standard deviations needs more than {_MOST:,} lifetimes")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle, k, alpha, sides) >= wanted else (middle, high)
    return high


def curve(k: float, alpha: float, counts: Sequence[int]) -> tuple[PowerPoint, ...]:
    """The power at each number of lifetimes."""
    return tuple(PowerPoint(n, power(n, k, alpha, "two"), power(n, k, alpha, "one")) for n in counts)


def rejection_rate(
    pilot: Array,
    threshold: float,
    lifetimes: int,
    rng: np.random.Generator,
    *,
    alpha: float = 0.05,
    sign: float = 1.0,
    resamples: int = 20_000,
) -> float:
    """How often groups redrawn from a pilot pass the one-tailed t test: the real power for skewed metrics.

    Shifted so that its mean is the threshold, a pilot gives the real error rate instead. A group whose
    lifetimes all drew the same value counts by that value.
    """
    if lifetimes < 2 or len(pilot) < 2:
        raise PerdureError(f"{len(pilot)} pilot lifetimes, groups of {lifetimes}: a spread needs two of both")
    rejected = done = 0
    at_once = max(1, 2_000_000 // lifetimes)
    while done < resamples:
        count = min(at_once, resamples - done)
        drawn = pilot[rng.integers(len(pilot), size=(count, lifetimes))]
        mean, sd = drawn.mean(axis=1), drawn.std(axis=1, ddof=1)
        spread = sd > 1e-12 * np.maximum(1.0, np.abs(mean))
        _, p = one_tailed_t(mean[spread], sd[spread], lifetimes, threshold, sign)
        rejected += int(np.count_nonzero(p < alpha))
        rejected += int(np.count_nonzero(sign * (mean[~spread] - threshold) > 1e-12))
        done += count
    return rejected / resamples


def _check(k: float, alpha: float, beta: float) -> None:
    if not (math.isfinite(k) and k > 0):
        raise PerdureError(f"k is {k:g}; the effect to be seen is a positive number of standard deviations")
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 < value < 1:
            raise PerdureError(f"{name} is {value:g}; an error rate lies between 0 and 1")
    if alpha + beta >= 1:
        raise PerdureError(f"alpha {alpha:g} and beta {beta:g} together reach 1; such a test knows nothing")
