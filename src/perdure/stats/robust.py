"""Robust summaries, as in rliable (Agarwal et al. 2021), and effect sizes.

Random functions take a generator, and give the same interval for the same seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from perdure.errors import PerdureError
from perdure.stats.interval import constant
from perdure.stats.model import LEVEL, Array

RESAMPLES = 2000
_AT_ONCE = 1 << 17  # draws looked at in one go: few enough to stay in the cache
Statistic = Callable[[Array], Array]
"""Scores, the last axis pooled → their summary."""


def interquartile_mean(scores: Array) -> Array:
    """Compute the mean of the middle half of the scores along the last axis.

    A quarter of the scores, rounded down, is cut off at either end.

    Parameters
    ----------
    scores
        Array of scores.

    Returns
    -------
    Array
        The means, without the last axis.

    Raises
    ------
    PerdureError
        If there are no scores, or one is NaN.

    Examples
    --------
    >>> float(perdure.interquartile_mean([0, 2, 4, 100]))
    3.0
    """
    ordered = np.sort(_some(scores), axis=-1)
    cut = ordered.shape[-1] // 4
    return np.asarray(ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1))


def optimality_gap(scores: Array, target: float = 1.0) -> Array:
    """Compute the mean shortfall of the scores from `target` along the last axis.

    Parameters
    ----------
    scores
        Array of scores. Those above `target` count as `target`.
    target
        Score that is considered sufficient.

    Returns
    -------
    Array
        The mean shortfalls, without the last axis.

    Raises
    ------
    PerdureError
        If there are no scores, or one is NaN.

    Examples
    --------
    >>> float(perdure.optimality_gap([0.5, 1.0, 2.0, 1.5]))
    0.125
    """
    return np.asarray(target - np.minimum(_some(scores), target).mean(axis=-1))


def _some(scores: Array) -> Array:
    values = np.asarray(scores, dtype=np.float64)
    if not values.ndim or not values.shape[-1]:
        raise PerdureError("there are no scores", "give one or more along the last axis")
    if np.isnan(values).any():  # in order they come last, where they would be cut off as if they were high
        raise PerdureError("a score is NaN", "leave out what has no value")
    return values


def iqm_intervals(
    columns: Sequence[Array], seed: int = 0, level: float = LEVEL, resamples: int = RESAMPLES
) -> tuple[tuple[float, float, float], ...]:
    """Return the interquartile mean of each column with its percentile-bootstrap interval.

    The number of times each rank is drawn does not depend on the values, so all columns of one length share one draw
    of weights, and a thousand lifetimes cost one matrix product.
    """
    wanted = _ends(level, resamples)
    drawn = [np.empty(resamples) for _ in columns]
    for n in {len(column) for column in columns}:
        ordered = [(means, np.sort(column)) for means, column in zip(drawn, columns, strict=True) if len(column) == n]
        first = 0
        for weights in _rank_weights(n, seed, resamples):
            for means, values in ordered:
                means[first : first + len(weights)] = weights @ values
            first += len(weights)
    ends = [np.quantile(means, wanted).tolist() for means in drawn]
    return tuple(
        (float(interquartile_mean(column)), low, high) for column, (low, high) in zip(columns, ends, strict=True)
    )


def _ends(level: float, resamples: int) -> list[float]:
    """Return the quantiles that enclose the share `level` of resamples."""
    if not 0 < level < 1:
        raise PerdureError(f"level is {level}", "give a share between 0 and 1, as 0.95")
    if resamples < 1:
        raise PerdureError(f"{resamples} resamples", "give 1 or more, as 2000")
    return [0.5 - level / 2, 0.5 + level / 2]


def _rank_weights(n: int, seed: int, resamples: int) -> Iterator[Array]:
    """Yield rows with the weight of each rank of n values in the interquartile mean of one resample, in batches."""
    cut = n // 4
    for ends in _drawn_up_to(n, np.random.default_rng([seed, n]), resamples):
        inner = np.clip(ends, cut, n - cut) - cut
        yield np.diff(inner / (n - 2 * cut), axis=1, prepend=0.0)


def _drawn_up_to(n: int, rng: np.random.Generator, resamples: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield rows with the number of draws of each of n ranks and those below it in one resample, in batches."""
    together = max(1, _AT_ONCE // n)
    for first in range(0, resamples, together):
        count = min(together, resamples - first)
        drawn = rng.integers(n, size=(count, n)) + np.arange(count)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=count * n).reshape(count, n).cumsum(axis=1)


def probability_of_improvement(ours: Array, theirs: Array) -> float:
    """Return the chance that a lifetime of ours is above one of theirs; ties count half (Mann–Whitney U over n·m)."""
    ordered = np.sort(theirs)
    below = np.searchsorted(ordered, ours, side="left") + np.searchsorted(ordered, ours, side="right")
    return float(below.mean() / (2 * len(theirs)))


def stratified_bootstrap(
    by_task: Sequence[Array],
    statistic: Statistic,
    rng: np.random.Generator,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> tuple[float, float, float]:
    """Compute a statistic of the pooled scores of all tasks, with its interval.

    The bootstrap draws lifetimes within each task.

    Parameters
    ----------
    by_task
        Scores of each task, such as the values of `Survey.by_task`.
    statistic
        Function that reduces the last axis, such as `interquartile_mean`.
    rng
        Source of randomness.
    level
        Confidence level of the interval.
    resamples
        Number of resamples.

    Returns
    -------
    tuple of float
        The statistic, and the lower and upper end of its interval.

    Raises
    ------
    PerdureError
        If a task has no scores.

    Examples
    --------
    >>> import numpy as np
    >>> by_task = [[0.2, 0.4, 0.6, 0.8], [0.5, 0.5, 0.6, 0.6]]
    >>> value, low, high = perdure.stratified_bootstrap(by_task, perdure.interquartile_mean, np.random.default_rng(0))
    >>> low <= value <= high
    True
    """
    ends, tasks = _ends(level, resamples), [np.asarray(scores, dtype=np.float64) for scores in by_task]
    if not tasks or any(not len(scores) for scores in tasks):
        raise PerdureError("a stratified bootstrap needs one score or more of every task", "leave empty tasks out")
    drawn = np.concatenate(
        [scores[rng.integers(len(scores), size=(resamples, len(scores)))] for scores in tasks], axis=1
    )
    low, high = np.quantile(statistic(drawn), ends)
    return float(statistic(np.concatenate(tasks))), float(low), float(high)


def performance_profile(
    by_task: Sequence[Array],
    levels: Array,
    rng: np.random.Generator,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
) -> tuple[Array, Array, Array]:
    """Compute the share of scores above each of `levels`, averaged over tasks, with a pointwise band.

    Parameters
    ----------
    by_task
        Scores of each task, such as the values of `Survey.by_task`.
    levels
        Scores at which the profile is computed.
    rng
        Source of randomness.
    level
        Confidence level of the band.
    resamples
        Number of resamples.

    Returns
    -------
    tuple of Array
        The shares, and the lower and upper ends of their intervals.

    Raises
    ------
    PerdureError
        If a task has no scores.

    Examples
    --------
    >>> import numpy as np
    >>> shares, low, high = perdure.performance_profile([[1, 2, 3, 4]], [0, 2], np.random.default_rng(0))
    >>> shares.tolist()
    [1.0, 0.5]
    """
    if not len(by_task) or any(not len(scores) for scores in by_task):
        raise PerdureError("a performance profile needs one score or more of every task", "leave empty tasks out")
    ends, shares = _ends(level, resamples), list[Array]()
    redrawn = np.zeros((resamples, len(levels)))  # summed, because there may be thousands of tasks
    for scores in by_task:
        values = np.sort(np.asarray(scores, dtype=np.float64))
        # The share above a level follows from how often the ranks above it are drawn.
        first_above = np.searchsorted(values, levels, side="right")
        shares.append(1 - first_above / len(values))
        first = 0
        for drawn in _drawn_up_to(len(values), rng, resamples):
            below = np.pad(drawn, ((0, 0), (1, 0)))[:, first_above]
            redrawn[first : first + len(drawn)] += 1 - below / len(values)
            first += len(drawn)
    low, high = np.quantile(redrawn / len(by_task), ends, axis=0)
    return np.mean(shares, axis=0), low, high


def hedges_g(ours: Array, theirs: Array, sign: float) -> float | None:
    """Return the difference in pooled sd, corrected for small n (Hedges 1981); None if both sd are 0."""
    freedom = len(ours) + len(theirs) - 2
    pooled = ((len(ours) - 1) * ours.var(ddof=1) + (len(theirs) - 1) * theirs.var(ddof=1)) / freedom
    if pooled <= 0 or (constant(ours) and constant(theirs)):
        return None
    return float(sign * (ours.mean() - theirs.mean()) / math.sqrt(pooled) * (1 - 3 / (4 * freedom - 1)))


# --- does one beat the other over most of their distributions (Dror et al. 2019)? -----------------


def violation_ratio(ours: Array, theirs: Array) -> Array:
    """Return the share of the squared distance between two quantile functions with ours below theirs.

    0: ours is at least theirs at every quantile; 1: the reverse; 0.5 if they are the same. The last axis holds the
    values, so many resamples are one call.
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
    """Return the upper confidence bound ε of the violation ratio: below 0.5 ours is almost always better.

    The spread of the ratio is bootstrapped, as in del Barrio, Cuesta-Albertos and Matrán 2018.
    """
    from scipy.special import ndtri  # type: ignore[import-untyped]

    n, m = len(ours), len(theirs)
    scale = math.sqrt(n * m / (n + m))
    found = float(violation_ratio(ours, theirs))
    drawn = violation_ratio(ours[rng.integers(n, size=(resamples, n))], theirs[rng.integers(m, size=(resamples, m))])
    spread = float(np.std(scale * (drawn - found)))
    return float(np.clip(found - spread / scale * ndtri(1 - confidence), 0.0, 1.0))
