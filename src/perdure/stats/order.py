"""Almost stochastic order: does one system beat another over most of their distributions (Dror et al. 2019)?"""

from __future__ import annotations

import math

import numpy as np

from perdure.stats.model import Array

__all__ = ["almost_stochastic_order", "violation_ratio"]


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
