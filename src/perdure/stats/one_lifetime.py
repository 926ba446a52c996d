"""One lifetime: the interval of a change by the spread within its own evaluation blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from operator import mul

from perdure.metrics import METRICS
from perdure.metrics.measure import OverItems
from perdure.metrics.score import BlockSummary, Score
from perdure.scenario import sites
from perdure.scenario.model import Block, Scenario
from perdure.stats.interval import Interval, interval_of
from perdure.stats.model import LEVEL

FEWEST_EVALUATIONS = 10
"""In each evaluation block, below which one lifetime decides nothing."""
_MANY = 1e9
"""Degrees of freedom if the number of items is unknown."""
MOST_ALIKE = 0.8
"""Correlation of neighbouring evaluations, from which one lifetime decides nothing."""


def within_life(life: Score, metric: str, level: float = LEVEL) -> Interval | str:
    """Return the difference in points behind the metric, by the spread within blocks; or the reason for none.

    A matrix whose evaluations have standard errors gives the interval of its value over their items.
    Each evaluation block counts once, with its summed weight. Evaluations that follow one another resemble
    each other, so the standard error grows by √((1 + ρ)/(1 − ρ)), with `neighbour_correlation` as ρ.
    """
    if metric in life.measure_for:
        return f"the spread of its evaluations is known for {life.measure} only"
    measured = life.metrics.get(metric)
    if measured is not None and measured.over_items is not None and measured.value is not None:
        return _over_items(measured.value, measured.over_items, level)
    compared = METRICS.get(metric).compares if metric in METRICS else None
    if compared is None:
        return "one lifetime has no spread to judge it by"
    blocks = tuple(life.blocks)  # which may be kept packed, and are looked at again and again
    if not blocks:
        return "its blocks are not known"
    weights = weights_of(life, metric, compared)
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
    alike = neighbour_correlation(sum(lagged) / total, counts)
    if alike >= MOST_ALIKE:
        return "its evaluations resemble their neighbours too much to judge it by"
    grown = (1 + alike) / (1 - alike)
    independent = (1 - alike**2) / (1 + alike**2)  # as a share of the evaluations
    parts = [
        (weight**2 * square / (count - 1) / count * grown, max(1.0, count * independent - 1))
        for weight, square, count in zip(weights.values(), squares, counts, strict=True)
    ]
    return interval_of(sum(map(mul, weights.values(), means)), parts, level)


def _over_items(value: float, spread: OverItems, level: float) -> Interval | str:
    if spread.items is not None and spread.items < FEWEST_EVALUATIONS:
        return f"an evaluation has fewer than {FEWEST_EVALUATIONS} items"
    if spread.error <= 0:
        return "no item varies"
    return interval_of(value, [(spread.error**2, spread.df or _MANY)], level)


def neighbour_correlation(observed: float, counts: Sequence[int]) -> float:
    """Return the correlation of neighbouring evaluations that is allowed for, from the one observed in these blocks.

    In blocks of m the observed one is too low by about (1 + 3ρ)/m, and uncertain by 1/√N over all N evaluations.
    """
    shortest = min(counts)
    return max(0.0, (observed + 1 / shortest + 0.75 / math.sqrt(sum(counts))) / (1 - 3 / shortest))


def weights_of(life: Score, metric: str, compared: tuple[str, str]) -> dict[int, float]:
    """Return the weight of each evaluation block; later blocks and their references have opposite signs."""
    blocks = tuple(life.blocks)
    by_key = _sites(metric, tuple(one.block for one in blocks))
    # A task that never changes carries no information, and is left out of the metric too.
    changing = {key: found for key, found in by_key.items() if not _still(blocks, found)}
    weights: dict[int, float] = {}
    signed = tuple(zip(compared, (1.0, -1.0), strict=True))
    shares = life.shares([sites.key_text(key) for key in changing])
    for (key, found), of_key in zip(changing.items(), shares, strict=True):
        chosen = found[:1] if isinstance(key, tuple) else found  # of a transfer the first place counts alone
        share = of_key / len(chosen)
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
    """Return whether no evaluation of a task varies, and all are the same."""
    means: set[float | None] = set()
    for site in found:
        for one in map(blocks.__getitem__, chain.from_iterable(site.blocks.values())):
            if one.block.mode == "evaluate":
                means.add(one.mean)
                if one.squares or len(means) > 1:
                    return False
    return True
