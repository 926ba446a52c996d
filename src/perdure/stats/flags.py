"""Flags travel: what lifetimes' values carry, counted over lifetimes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perdure.metrics.engine.flag import Flag
from perdure.metrics.engine.score import Score

__all__ = ["Flagged", "flags_in", "flags_of_scores"]


@dataclass(frozen=True)
class Flagged:
    """What a reader of values should know, and of how many lifetimes it holds."""

    flag: str
    n: int


_SEVERAL = "left out for several reasons"
_MOST_REASONS = 2


def flags_in(each: Iterable[Iterable[str]]) -> tuple[Flagged, ...]:
    """The flags of several lifetimes' values, each once, with how many lifetimes carry it.

    How many of one lifetime's values carry a flag is no part of what it is about, so that the same flag is
    counted as the same. Reasons for values left out name tasks, and may be as many as there are lifetimes: more
    than two are counted as one, and each lifetime's own table has its own.
    """
    carried = [[one if isinstance(one, Flag) else Flag(one) for one in flags] for flags in each]
    several = len({one.about for flags in carried for one in flags if one.left_out}) > _MOST_REASONS
    found = Counter(
        about
        for flags in carried
        for about in dict.fromkeys(_SEVERAL if several and one.left_out else one.about for one in flags)
    )
    return tuple(Flagged(flag, count) for flag, count in found.items())


def flags_of_scores(lives: Sequence[Score], metric: str) -> tuple[Flagged, ...]:
    """The flags of a metric's values over lifetimes; a lifetime without a value has none."""
    measured = (one.metrics.get(metric) for one in lives)
    return flags_in(one.flags for one in measured if one is not None and one.value is not None)
