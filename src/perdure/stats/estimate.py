"""What a group of lifetimes comes to, metric by metric: the decision, and robust means beside it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perdure.metrics.engine.arithmetic import median
from perdure.metrics.engine.declare import Bar
from perdure.metrics.engine.flag import Flag
from perdure.metrics.engine.score import Score
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.transfer import backward_transfer
from perdure.stats.decide import decide, on_scale
from perdure.stats.model import LEVEL, Array, Estimate
from perdure.stats.robust import RESAMPLES, iqm_intervals
from perdure.words import plural

__all__ = ["ENOUGH_FOR_BOOTSTRAP", "Flagged", "defined", "estimate", "estimates", "flags_in", "flags_of_scores"]

ENOUGH_FOR_BOOTSTRAP = 10


def defined(lives: Sequence[Score], metric: str) -> Array:
    """The values of `metric` in the lives that have one, in order."""
    found = (life.value(metric) for life in lives)
    return np.array([value for value in found if value is not None], dtype=np.float64)


def estimates(
    lives: Sequence[Score],
    bars: Mapping[str, Bar],
    group: str = "",
    *,
    level: float = LEVEL,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Estimate]:
    """Every metric of a group of lifetimes; where two of them seem to contradict each other, that is remarked on."""
    found = {
        name: estimate(lives, name, bar, group, level=level, seed=seed, resamples=resamples)
        for name, bar in bars.items()
    }
    keeping, backward = found.get(performance_maintenance.name), found.get(backward_transfer.name)
    if keeping and backward and keeping.word in ("keeps", "gains") and backward.word == "harms":
        said = f"has no margin: performance maintenance {keeping.word} all the same, by its own"
        made = replace(backward.decision, notes=(*backward.decision.notes, said))
        found[backward.metric] = replace(backward, decision=made)
    return found


def estimate(
    lives: Sequence[Score],
    metric: str,
    bar: Bar | None = None,
    group: str = "",
    *,
    level: float = LEVEL,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Estimate:
    """One metric over lifetimes: what is decided of its mean, and what stands beside it."""
    bar = bar or Bar()
    made = decide(lives, metric, bar, level)
    values = defined(lives, metric)
    facts: dict[str, float | None] = {}
    if len(values):
        facts |= {"median": median(values)}
    if len(values) >= ENOUGH_FOR_BOOTSTRAP:
        scaled = on_scale(bar, values)[0] if made.scale == "log" else values
        back = math.exp if made.scale == "log" else float
        ((iqm, low, high),) = iqm_intervals([scaled], seed, level, resamples)
        facts |= {"iqm": back(iqm)}
        if made.lives_alone:
            facts |= {"iqm_low": back(low), "iqm_high": back(high)}
    return Estimate(
        metric=metric,
        group=group,
        n=len(values),
        missing=len(lives) - len(values),
        decision=made,
        bar=bar,
        absent=_reasons(lives, metric) or None,
        carried=tuple((one.flag, one.n) for one in flags_of_scores(lives, metric)),
        **facts,
    )


def _reasons(lives: Sequence[Score], metric: str) -> str:
    """The commonest reason why lives have no value of `metric`, and how many others there are."""
    missing = (life.metrics.get(metric) for life in lives if life.value(metric) is None)
    counted = Counter((one and one.why) or "it was not scored" for one in missing).most_common()
    if not counted:
        return ""
    others = len(counted) - 1
    return counted[0][0] + (f" (and {plural(others, 'other reason')})" if others else "")


# --- flags travel: what lifetimes' values carry, counted over lifetimes ---------------------------


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
