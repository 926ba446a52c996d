"""What is said beside a comparison and never decides: rank and permutation tests, effect sizes, stochastic order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from perdure.stats.exact import shared_out_test, sign_flip_test
from perdure.stats.interval import constant, signed_rank_test
from perdure.stats.model import Array
from perdure.stats.robust import probability_of_improvement

if TYPE_CHECKING:
    from perdure.stats.difference import Difference


def with_secondary(
    made: Difference,
    ours: Array,
    theirs: Array,
    sign: float,
    none: float,
    *,
    order: bool,
    rng: np.random.Generator,
) -> Difference:
    """What else can be said of two systems' values, on the scale that decides.

    Rounded once: what the last bits of a float say is no difference, and ties are ties in percent and in fractions.
    """
    away = np.round((ours - theirs) / none) * none if made.paired else ours
    ours, theirs = (np.round(side / none) * none for side in (ours, theirs))
    delta = 2 * probability_of_improvement(sign * ours, sign * theirs) - 1
    made = replace(made, cliffs_delta=delta, improvement=(delta + 1) / 2)
    if made.paired:
        made = replace(made, improvement=float(np.mean(sign * away > 0) + np.mean(away == 0) / 2))
    if min(len(ours), len(theirs)) < 2:
        return made
    made = replace(made, hedges_g=hedges_g(ours, theirs, sign))
    if order:
        made = replace(made, order=almost_stochastic_order(sign * ours, sign * theirs, rng))
    if made.paired:
        return replace(made, rank_p=signed_rank_test(away), permutation_p=sign_flip_test(away, rng))
    return replace(made, rank_p=_mann_whitney(ours, theirs))


def _mann_whitney(ours: Array, theirs: Array) -> float:
    p = shared_out_test(ours, theirs)
    if p is not None:
        return p
    from scipy import stats  # type: ignore[import-untyped]

    return float(stats.mannwhitneyu(ours, theirs, alternative="two-sided").pvalue)


def hedges_g(ours: Array, theirs: Array, sign: float) -> float | None:
    """The difference in pooled standard deviations, corrected for small n (Hedges 1981); None where both sd are 0."""
    freedom = len(ours) + len(theirs) - 2
    pooled = ((len(ours) - 1) * ours.var(ddof=1) + (len(theirs) - 1) * theirs.var(ddof=1)) / freedom
    if pooled <= 0 or (constant(ours) and constant(theirs)):
        return None
    return float(sign * (ours.mean() - theirs.mean()) / math.sqrt(pooled) * (1 - 3 / (4 * freedom - 1)))


# --- does one beat the other over most of their distributions (Dror et al. 2019)? -----------------


def violation_ratio(ours: Array, theirs: Array) -> Array:
    """The share of the squared distance between two quantile functions where ours lies below theirs.

    0: ours is at least theirs at every quantile; 1: the reverse; 0.5 where they are the same. The last
    axis holds the values, so many resamples are one call.
    """
    n, m = ours.shape[-1], theirs.shape[-1]
    edges = np.unique(np.concatenate([np.arange(1, n + 1) * m, np.arange(1, m + 1) * n]))  # in units of 1/(n·m)
    widths = np.diff(edges, prepend=0)
    gap = np.sort(ours, axis=-1)[..., (edges - 1) // m] - np.sort(theirs, axis=-1)[..., (edges - 1) // n]
    squared = gap**2 * widths
    total = squared.sum(axis=-1)
    below = np.where(gap < 0, squared, 0.0).sum(axis=-1)
    return np.asarray(np.divide(below, total, out=np.full(total.shape, 0.5), where=total > 0))


def almost_stochastic_order(
    ours: Array, theirs: Array, rng: np.random.Generator, *, confidence: float = 0.95, resamples: int = 1000
) -> float:
    """The upper confidence bound ε of the violation ratio: below 0.5 ours is almost always better, near 0 always.

    The spread of the ratio is bootstrapped, as in del Barrio, Cuesta-Albertos and Matrán 2018.
    """
    from scipy.special import ndtri  # type: ignore[import-untyped]

    n, m = len(ours), len(theirs)
    scale = math.sqrt(n * m / (n + m))
    found = float(violation_ratio(ours, theirs))
    drawn = violation_ratio(ours[rng.integers(n, size=(resamples, n))], theirs[rng.integers(m, size=(resamples, m))])
    spread = float(np.std(scale * (drawn - found)))
    return float(np.clip(found - spread / scale * ndtri(1 - confidence), 0.0, 1.0))
