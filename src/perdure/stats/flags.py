"""Flags travel: what lifetimes' values carry, counted over lifetimes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perdure.metrics.engine.score import Score

__all__ = ["Flagged", "flags_in", "flags_of_scores"]


@dataclass(frozen=True)
class Flagged:
    """What a reader of values should know, and of how many lifetimes it holds."""

    flag: str
    n: int


_COUNTED = re.compile(r"^\d+ of \d+ (?=left out: )| \(\d+ of \d+ values\)$")
_LEFT_OUT, _SEVERAL = "left out: ", "left out for several reasons"
_MOST_REASONS = 2


def flags_in(each: Iterable[Iterable[str]]) -> tuple[Flagged, ...]:
    """The flags of several lifetimes' values, each once, with how many lifetimes carry it.

    How many of one lifetime's values carry a flag is part of its text; over lifetimes it is left out, so
    that the same flag is counted as the same. Reasons for values left out name tasks, and may be as many
    as there are lifetimes: more than two are counted as one, and each lifetime's own table has its own.
    """
    carried = [tuple(dict.fromkeys(_COUNTED.sub("", one) for one in flags)) for flags in each]
    reasons = {flag for flags in carried for flag in flags if flag.startswith(_LEFT_OUT)}
    if len(reasons) > _MOST_REASONS:
        carried = [tuple(dict.fromkeys(_SEVERAL if one in reasons else one for one in flags)) for flags in carried]
    found = Counter(flag for flags in carried for flag in flags)
    return tuple(Flagged(flag, count) for flag, count in found.items())


def flags_of_scores(lives: Sequence[Score], metric: str) -> tuple[Flagged, ...]:
    """The flags of a metric's values over lifetimes; a lifetime without a value has none."""
    measured = (one.metrics.get(metric) for one in lives)
    return flags_in(one.flags for one in measured if one is not None and one.value is not None)
