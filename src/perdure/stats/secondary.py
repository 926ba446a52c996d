"""What is said beside a comparison and never decides: rank and permutation tests, effect sizes, stochastic order."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perdure.stats.exact import shared_out_test, sign_flip_test
from perdure.stats.interval import constant, signed_rank_test
from perdure.stats.model import Array
from perdure.stats.order import almost_stochastic_order
from perdure.stats.robust import probability_of_improvement

if TYPE_CHECKING:
    from perdure.stats.compare import Difference

__all__ = ["hedges_g", "with_secondary"]


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
