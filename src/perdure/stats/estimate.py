"""What a group of lifetimes comes to, metric by metric: the decision, and robust means beside it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import structs

from perdure.metrics.engine.metric import Bar, Flag
from perdure.metrics.engine.score import Score
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.transfer import backward_transfer
from perdure.stats.decide import decide, on_scale
from perdure.stats.model import LEVEL, Array, Decision, Estimate, Flagged, InterquartileMean
from perdure.stats.robust import RESAMPLES, iqm_intervals
from perdure.text import plural

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
    decided = {name: decide(lives, name, bar, level) for name, bar in bars.items()}
    values = {name: defined(lives, name) for name in bars}
    scaled = {
        name: on_scale(bars[name], one)[0] if decided[name].scale == "log" else one
        for name, one in values.items()
        if len(one) >= ENOUGH_FOR_BOOTSTRAP
    }
    # All at once, so that what is drawn for one serves the others and need not be kept.
    robust = dict(zip(scaled, iqm_intervals(list(scaled.values()), seed, level, resamples), strict=True))
    keeping, backward = decided.get(performance_maintenance.name), decided.get(backward_transfer.name)
    if keeping and backward and keeping.word in ("keeps", "gains") and backward.word == "harms":
        said = f"has no margin: performance maintenance {keeping.word} all the same, by its own"
        decided[backward_transfer.name] = structs.replace(backward, notes=(*backward.notes, said))
    return {
        name: Estimate(
            **structs.asdict(decision),
            metric=name,
            group=group,
            n=len(values[name]),
            missing=len(lives) - len(values[name]),
            median=float(np.median(values[name])) if len(values[name]) else None,
            iqm=_iqm(decision, robust[name]) if name in robust else None,
            bar=bars[name],
            absent=_reasons(lives, name) or None,
            flags=flags_of_scores(lives, name),
        )
        for name, decision in decided.items()
    }


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
    return estimates(lives, {metric: bar or Bar()}, group, level=level, seed=seed, resamples=resamples)[metric]


def _iqm(decision: Decision, robust: tuple[float, float, float]) -> InterquartileMean:
    value, low, high = map(math.exp, robust) if decision.scale == "log" else robust
    return InterquartileMean(value, low, high) if decision.lives_alone else InterquartileMean(value)


def _reasons(lives: Sequence[Score], metric: str) -> str:
    """The commonest reason why lives have no value of `metric`, and how many others there are."""
    missing = (life.metrics.get(metric) for life in lives if life.value(metric) is None)
    counted = Counter((one and one.why) or "it was not scored" for one in missing).most_common()
    if not counted:
        return ""
    others = len(counted) - 1
    return counted[0][0] + (f" (and {plural(others, 'other reason')})" if others else "")


# --- flags travel: what lifetimes' values carry, counted over lifetimes ---------------------------


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
