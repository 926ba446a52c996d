"""Split the spread between lifetimes into parts: the order of tasks, noise of evaluations, experts, and the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from perdure.metrics import METRICS
from perdure.metrics.declare import AveragedAs, Threshold
from perdure.metrics.score import Score
from perdure.settings.presets import STANDARD
from perdure.stats.crossing import expert_noise
from perdure.stats.decide import Sample, is_judged, leads, sampled
from perdure.stats.interval import constant
from perdure.stats.model import LEVEL, Array, SpreadParts
from perdure.stats.one_lifetime import weights_of

_REPEATED = "needs at least two orders of tasks with two lifetimes each"
_MOST_RATIO = 1e12  # of the variance between orders to that within; more is all of the spread


def spreads_by_order(
    lives: Sequence[Score], bars: Mapping[str, Threshold], level: float = LEVEL
) -> dict[str, SpreadParts] | None:
    """Return the parts of the spread of each headline metric; None unless the order of tasks differs."""
    if len({life.order for life in lives}) < 2:
        return None
    papers = any(life.preset != STANDARD for life in lives)
    parts: dict[str, SpreadParts] = {}
    for metric, bar in bars.items():
        valued = [life for life in lives if life.value(metric) is not None]
        if leads(bar, lives) and len(valued) > 1:
            sample = sampled(valued, metric, bar, judged=is_judged(bar, lives), papers=papers)
            if len(sample.values) > 1:
                parts[metric] = spread_of(sample, valued, metric, level)
    return parts


def spread_of(sample: Sample, lives: Sequence[Score], metric: str, level: float = LEVEL) -> SpreadParts:
    """Return the parts of the spread of a metric over lifetimes that all have a value."""
    crossing = sample.crossing
    lives = crossing.lives if crossing else lives
    by_order: dict[tuple[str, ...], list[float]] = {}
    for life, value in zip(lives, sample.values, strict=True):
        by_order.setdefault(life.order, []).append(float(value))
    lifetimes = tuple(sorted(map(len, by_order.values()), reverse=True))
    own = expert_noise(lives, metric, sample.scale) if crossing and crossing.sharing == "own" else None
    shared = sum(part for part, _ in crossing.parts()) if crossing and crossing.fewest > 1 else None
    spread = SpreadParts(float(sample.values.var(ddof=1)), lifetimes=lifetimes, shared_experts=shared, level=level)
    if constant(sample.values):
        return replace(spread, total=0.0, why="all values are the same")
    if () in by_order:
        spread = replace(spread, why="the order of tasks is not known for all lifetimes")
    else:
        # A collapsed lifetime with an order of its own would look like an effect of that order.
        repeated = [np.array(values) for values in by_order.values() if len(values) > 1]
        spread = _split_by_order(spread, repeated) if len(repeated) > 1 else replace(spread, why=_REPEATED)
    rest = spread.total - (spread.order or 0.0)
    noise = evaluation_noise(lives, metric, sample.scale)
    evaluations = None if noise is None else min(noise, rest)
    rest -= evaluations or 0.0
    experts = None if own is None else min(own, rest)
    return replace(spread, evaluations=evaluations, experts=experts, seed=rest - (experts or 0.0))


def _split_by_order(spread: SpreadParts, orders: Sequence[Array]) -> SpreadParts:
    """Add the variance between orders, by a one-way random-effects model, and the interval of its share.

    The interval is Wald's (1940), exact for normal values and any numbers of lifetimes per order: for the true ratio η
    of the variance between orders to that within, `_f_ratio` has the F distribution. The estimate is the η at which it
    is 1, the mean of mean squares without an effect; with equal numbers of lifetimes this is the ANOVA estimate.
    """
    from scipy.special import fdtri  # type: ignore[import-untyped]

    counts, means = np.array([len(values) for values in orders]), np.array([values.mean() for values in orders])
    between, within = len(orders) - 1, int(counts.sum()) - len(orders)
    inside = sum(float(((values - values.mean()) ** 2).sum()) for values in orders) / within
    tail = (1 - spread.level) / 2
    goals = (1.0, float(fdtri(between, within, 1 - tail)), float(fdtri(between, within, tail)))
    ratio, low, high = (_ratio_at(goal, counts, means, inside) for goal in goals)
    share, low, high = (1.0 if math.isinf(eta) else eta / (1 + eta) for eta in (ratio, low, high))
    order = float(means.var(ddof=1)) if math.isinf(ratio) else ratio * inside
    return replace(spread, total=order + inside, order=order, share=share, low=low, high=high)


def _ratio_at(goal: float, counts: Array, means: Array, inside: float) -> float:
    """Return the ratio of variances, 0 or more, at which `_f_ratio` falls to `goal`."""
    if _f_ratio(0.0, counts, means, inside) <= goal:
        return 0.0
    if _f_ratio(_MOST_RATIO, counts, means, inside) > goal:
        return math.inf
    # By bisection of the logarithm, because the ratio may be any size; loading SciPy's root finders takes longer.
    low, high = 0.0, math.log1p(_MOST_RATIO)
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if _f_ratio(math.expm1(middle), counts, means, inside) > goal else (low, middle)
    return math.expm1(high)


def _f_ratio(ratio: float, counts: Array, means: Array, inside: float) -> float:
    weights = counts / (1 + ratio * counts)
    middle = float(weights @ means / weights.sum())
    return float(weights @ (means - middle) ** 2) / (len(counts) - 1) / inside if inside else math.inf


def evaluation_noise(lives: Sequence[Score], metric: str, scale: AveragedAs) -> float | None:
    """Return the variance of a lifetime's value because its evaluations are a sample; None if it is not known.

    Evaluations that follow one another resemble each other. Their correlation is taken over all lifetimes and corrected
    for its bias, without the allowance for error that the marks of a single lifetime need.
    """
    declared = METRICS.get(metric) if metric in METRICS else None
    if declared is None or declared.compares is None:
        return 0.0 if declared and declared.expert else None  # relative to experts, only learning blocks are read
    if (declared.scale != "log" and declared.unit != "points") or any(metric in life.measure_for for life in lives):
        return None
    rows: list[tuple[float, ...]] = []
    for life in lives:
        blocks = tuple(life.blocks)
        if not blocks:
            return None
        value = life.value(metric) or 0.0
        for at, weight in weights_of(life, metric, declared.compares).items():
            summary = blocks[at]
            count, level = summary.block.length or 0, summary.mean or 0.0
            if summary.squares is None or summary.lagged is None or count < 2:
                return None
            if declared.scale == "log" and level <= 0:
                return None
            # A small change of a ratio is relative to the level.
            slope = weight * (1.0 if declared.scale != "log" else (1.0 if scale == "log" else value) / level)
            rows.append((slope**2 * summary.squares / (count - 1) / count, summary.squares, summary.lagged, count))
    noise, squares, lagged, experiences = np.sum(rows, axis=0) if rows else np.zeros(4)
    if not squares:
        return 0.0
    length = experiences / len(rows)
    alike = max(0.0, (lagged / squares + 1 / length) / (1 - 3 / length)) if length > 3 else 0.0
    return float(noise / len(lives) * (1 + alike) / (1 - alike)) if alike < 1 else None
