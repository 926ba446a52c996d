"""What a group of lifetimes comes to: mean, spread, interval, robust mean, and verdict, metric by metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from perdure.errors import PerdureError
from perdure.metrics.declare import Bar
from perdure.metrics.score import Score
from perdure.stats.model import LEVEL, Array, Estimate
from perdure.stats.robust import RESAMPLES, iqm_intervals
from perdure.stats.threshold import constant, judge, t_interval

__all__ = ["ENOUGH_FOR_BOOTSTRAP", "defined", "estimate", "estimates"]

ENOUGH_FOR_BOOTSTRAP = 10


def defined(lives: Sequence[Score], metric: str) -> Array:
    """The values of `metric` in the lives that have one, in order."""
    found = (life.values.get(metric) for life in lives)
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
    """Every metric of a group of lifetimes."""
    return {
        name: estimate(
            defined(lives, name),
            bar,
            name,
            group,
            missing=sum(life.values.get(name) is None for life in lives),
            absent=_reasons(lives, name),
            level=level,
            seed=seed,
            resamples=resamples,
        )
        for name, bar in bars.items()
    }


def estimate(
    values: Array,
    bar: Bar | None = None,
    metric: str = "",
    group: str = "",
    *,
    missing: int = 0,
    absent: str = "",
    level: float = LEVEL,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Estimate:
    """One metric over lifetimes: what is known of its mean, and how it stands to its bar.

    One lifetime has a mean and nothing else; lifetimes that agree exactly have no t.
    """
    bar = bar or Bar()
    values = np.asarray(values, dtype=np.float64)
    if not np.isfinite(values).all():
        raise PerdureError(f"{metric or 'a metric'}: a value is not finite; leave it out and say why it is missing")
    n = len(values)
    found = judge(values, bar)
    notes = [found.why] if found.why else []
    if missing:
        notes.append(f"{missing} of {missing + n} lifetimes have no value" + (f": {absent}" if absent else ""))
    facts: dict[str, float | None] = {}
    if n:
        facts |= {"mean": float(values.mean()), "median": float(np.median(values))}
    if n > 1:
        spread = 0.0 if constant(values) else float(values.std(ddof=1))
        low, high = t_interval(float(values.mean()), spread, n, level)
        facts |= {"sd": spread, "low": float(low), "high": float(high)}
    if n >= ENOUGH_FOR_BOOTSTRAP:
        ((iqm, iqm_low, iqm_high),) = iqm_intervals([values], seed, level, resamples)
        facts |= {"iqm": iqm, "iqm_low": iqm_low, "iqm_high": iqm_high}
    return Estimate(
        metric=metric,
        group=group,
        n=n,
        missing=missing,
        level=level,
        bar=bar,
        t=found.t,
        p=found.p,
        above=found.above,
        above_count=found.above_count,
        sign_p=found.sign_p,
        verdict=found.verdict,
        why="; ".join(notes) or None,
        note=found.why,
        absent=absent or None,
        **facts,
    )


def _reasons(lives: Sequence[Score], metric: str) -> str:
    """The commonest reason why lives have no value of `metric`, and how many others there are."""
    counted = Counter(
        life.why.get(metric) or "it was not scored" for life in lives if life.values.get(metric) is None
    ).most_common()
    if not counted:
        return ""
    others = len(counted) - 1
    return counted[0][0] + (f" (and {others} other reason{'s' if others > 1 else ''})" if others else "")
