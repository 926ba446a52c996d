"""One lifetime by itself: whether its own evaluations rule chance out, for want of a second lifetime."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain

from perdure.metrics import METRICS
from perdure.metrics.engine.blocks import BlockSummary
from perdure.metrics.engine.score import Score
from perdure.scenario import sites
from perdure.scenario.model import Block, Scenario
from perdure.stats.interval import Interval, interval_of
from perdure.stats.model import LEVEL

__all__ = ["FEWEST_EVALUATIONS", "within_life"]

FEWEST_EVALUATIONS = 10


def within_life(life: Score, metric: str, level: float = LEVEL) -> Interval | str:
    """The difference in points that the metric is about, by the spread within blocks; or why that cannot be known.

    Each evaluation block counts once, with its summed weight. Evaluations that follow one another resemble
    each other, so the standard error grows by √((1 + ρ)/(1 − ρ)), ρ their lag-1 correlation over all blocks used.
    """
    compared = METRICS.get(metric).compares if metric in METRICS.names() else None
    if compared is None:
        return "one lifetime has no spread to judge it by"
    if not life.blocks:
        return "its blocks are not known"
    weights = _weights(life, metric, compared)
    used = {at: life.blocks[at] for at, weight in weights.items() if weight}
    if not used:
        return "no evaluation differs"
    if any(_count(one) < FEWEST_EVALUATIONS for one in used.values()):
        return f"an evaluation has fewer than {FEWEST_EVALUATIONS} experiences"
    if any(one.squares is None or one.lagged is None or one.mean is None for one in used.values()):
        return "the spread of its evaluations is not known"
    squares = sum(one.squares or 0.0 for one in used.values())
    if squares <= 0:
        return "no evaluation varies"
    alike = max(0.0, sum(one.lagged or 0.0 for one in used.values()) / squares)
    if alike >= 1:
        return "its evaluations repeat each other"
    grown = (1 + alike) / (1 - alike)
    mean = sum(weights[at] * (one.mean or 0.0) for at, one in used.items())
    parts = [
        (weights[at] ** 2 * (one.squares or 0.0) / (count - 1) / count * grown, count - 1.0)
        for at, one in used.items()
        for count in (_count(one),)
    ]
    return interval_of(mean, parts, level)


def _count(block: BlockSummary) -> int:
    return block.block.length or 0


def _weights(life: Score, metric: str, compared: tuple[str, str]) -> dict[int, float]:
    """Evaluation block → how much it counts; later ones and what they are held against have opposite signs."""
    by_key = _sites(metric, tuple(one.block for one in life.blocks))
    # A task that never changes carries no information, and is left out of the metric too.
    changing = {key: found for key, found in by_key.items() if not _still(life, found)}
    weights: dict[int, float] = {}
    for key, found in changing.items():
        chosen = found[:1] if isinstance(key, tuple) else found  # of a transfer the first place counts alone
        share = 1 / (len(chosen) * len(changing))
        for site in chosen:
            for role, sign in zip(compared, (1.0, -1.0), strict=True):
                for at in site.blocks[role]:
                    weights[at] = weights.get(at, 0.0) + sign * share / len(site.blocks[role])
    return {at: weight for at, weight in weights.items() if not math.isclose(weight, 0.0, abs_tol=1e-15)}


@lru_cache(maxsize=64)  # lifetimes of one group are alike
def _sites(metric: str, blocks: tuple[Block, ...]) -> dict[sites.Key, list[sites.Site]]:
    by_key: dict[sites.Key, list[sites.Site]] = {}
    for site in METRICS.get(metric).sites(Scenario("", (), blocks)):
        by_key.setdefault(site.key, []).append(site)
    return by_key


def _still(life: Score, found: list[sites.Site]) -> bool:
    used = [life.blocks[at] for at in {at for one in found for at in chain.from_iterable(one.blocks.values())}]
    used = [one for one in used if one.block.mode == "evaluate"]
    return all(not one.squares for one in used) and len({one.mean for one in used}) < 2
