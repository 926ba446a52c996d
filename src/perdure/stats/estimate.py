"""What a group of lifetimes comes to, metric by metric: the decision, and robust means beside it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from perdure.metrics.engine.arithmetic import median
from perdure.metrics.engine.declare import Bar
from perdure.metrics.engine.score import Score
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.transfer import backward_transfer
from perdure.stats.decide import decide, on_scale
from perdure.stats.flags import flags_of_scores
from perdure.stats.model import LEVEL, Array, Estimate
from perdure.stats.robust import RESAMPLES, iqm_intervals
from perdure.words import plural

__all__ = ["ENOUGH_FOR_BOOTSTRAP", "defined", "estimate", "estimates"]

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
