"""Decide: from lifetimes, and the experts of a metric, to an estimate, its interval, and a verdict.

The interval decides and p is its dual, so that the two never disagree. Presets other than `standard` decide as
the papers did: arithmetic means, a one-tailed t test with the interval that agrees with it, experts as constants.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, structs
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.metrics.declare import AveragedAs, Threshold
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.measure import Flag
from perdure.metrics.score import Score, deciding_settings
from perdure.metrics.transfer import backward_transfer
from perdure.settings.presets import STANDARD
from perdure.stats.crossing import FEW_EXPERTS, TOO_FEW_EXPERTS, Crossing, crossed
from perdure.stats.interval import (
    Interval,
    Part,
    group_interval_of,
    part_of,
    sign_test,
    signed_rank_test,
    two_sided_sign_test,
)
from perdure.stats.learned import LEAST_GAIN, failing_experts
from perdure.stats.model import LEVEL, Array, Decision, Estimate, Flagged, InterquartileMean, Verdict, Withheld
from perdure.stats.one_lifetime import within_life
from perdure.stats.power import DESIGN, chance_to_decide, needed
from perdure.stats.robust import RESAMPLES, iqm_intervals
from perdure.stats.sentences import meaning, word_of, words_of
from perdure.text import p_words, plural

FEWEST = 3
"""Lifetimes; two have values only."""
EQUAL = "all equal, untested"
MOST_LIFETIMES = 1000
"""Lifetimes; beyond them a decision is not within reach."""
_THESE_EXPERTS = "the interval does not include variation between experts"
_RELIES = "this verdict relies on the experts varying less than the lifetimes; run more experts"
_ONE = "one lifetime does not predict the next"


def leads(bar: Threshold, lives: Sequence[Score]) -> bool:
    """Return whether a metric is a headline metric of these lifetimes, logs or matrices."""
    return bar.headline == _kind(lives)


def is_judged(bar: Threshold, lives: Sequence[Score]) -> bool:
    """Return whether these lifetimes get a verdict on the metric."""
    return bar.threshold is not None and leads(bar, lives)


def values_of(lives: Sequence[Score], metric: str) -> Array:
    """Return the value of each lifetime, NaN if it has none."""
    return np.array([math.nan if (value := life.value(metric)) is None else value for life in lives], dtype=np.float64)


def _kind(lives: Sequence[Score]) -> str:
    return "matrix" if any(life.identity.unit for life in lives) else "log"


def rounding(bar: Threshold, lives: Sequence[Score], values: Array, *, logs: bool) -> float:
    """Return the size below which a difference counts as 0: 1e-7 of 100 points, 1e-9 in logarithms and fractions."""
    if logs:
        return 1e-9
    unit = lives[0].identity.unit
    points = unit == "percent" or (unit is None and settings_of(lives[0]).get("scale") != "none")
    if leads(bar, lives) and (points or unit == "fraction"):
        return 1e-7 if points else 1e-9
    return max(1e-12 * float(np.abs(values).max(initial=0.0)), 1e-300)


def margin_of(bar: Threshold, lives: Sequence[Score]) -> tuple[float, str]:
    """Return the margin in the metric's unit, and a note; a declared margin is in points of 100."""
    if bar.margin_given or not bar.margin or not lives:
        return bar.margin, ""
    if any(life.preset != STANDARD for life in lives):
        return 0.0, ""
    without = "there is no scale of 100 and bounds are not known, so the margin is 0; --margin sets one"
    if _kind(lives) == "matrix":
        unit = lives[0].identity.unit
        return {"percent": (bar.margin, ""), "fraction": (bar.margin / 100, "")}.get(str(unit), (0.0, without))
    if settings_of(lives[0]).get("scale") != "none":
        return bar.margin, ""
    first = lives[0]
    said = {task: (one["min"], one["max"]) for task, one in (settings_of(first).get("bounds") or {}).items()}
    known = {**said, **first.bounds}  # a table of scores has its settings alone
    widths = {task: known[task][1] - known[task][0] for task in first.tasks if task in known}
    if not widths or len(widths) < len(first.tasks):
        return 0.0, without
    return bar.margin / 100 * first.mean_over_tasks(widths), ""


def settings_of(life: Score) -> Mapping[str, Any]:
    """Return the settings that decided a lifetime's values."""
    return deciding_settings(life.how)


def least_gain_of(bars: Mapping[str, Threshold], lives: Sequence[Score]) -> float:
    """Return the margin of performance maintenance: a task whose curves rise by less was not learned."""
    bar = bars.get(performance_maintenance.name)
    return LEAST_GAIN if bar is None else margin_of(bar, lives)[0]


def averaged_first(lives: Sequence[Score]) -> Withheld | None:
    """Return the reason why experts are not a sample, if they were averaged first or tasks by their median."""
    settings = settings_of(lives[0])
    if settings.get("expert_average") == "time":
        return Withheld.AVERAGED
    return Withheld.MEDIANS if settings.get("aggregate") == "median" else None


def on_scale(bar: Threshold, values: Array) -> tuple[Array, AveragedAs]:
    """Return the values on the scale that decides; logarithms need positive ratios."""
    if bar.scale == "log" and (values > 0).all():
        return np.log(values), "log"
    return values, "linear"


# --- one group ------------------------------------------------------------------------------------


class Sample(Struct, frozen=True, eq=False):
    """Lifetimes on the scale that decides: one value each, and the parts of the variance of their mean."""

    values: Array
    scale: AveragedAs
    parts: tuple[Part, ...] = ()
    """The part of lifetimes first, then those of experts; empty if the variance is not known."""
    withheld: Withheld | None = None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    crossing: Crossing | None = None

    @property
    def lives_alone(self) -> bool:
        """Whether only lifetimes add to the spread."""
        return len(self.parts) == 1 and not self.withheld

    @property
    def sd(self) -> float:
        """Over lifetimes."""
        return float(self.values.std(ddof=1))


def decide(
    lives: Sequence[Score], metric: str, bar: Threshold, level: float = LEVEL, least_gain: float = LEAST_GAIN
) -> Decision:
    """Return the decision about one metric of one group; lifetimes without a value are left out.

    `level` is that of the interval and of the verdict; a task whose curves rise by less than `least_gain` was not
    learned.
    """
    valued = [life for life in lives if life.value(metric) is not None]
    judged = is_judged(bar, lives)
    papers = any(life.preset != STANDARD for life in lives)
    margin, margin_note = margin_of(bar, valued)
    start = Decision(
        level=max(0.0, 2 * level - 1) if papers else level,  # a one-tailed test at .05 agrees with the 90 % interval
        margin=margin,
        verdict="undecided" if judged else None,
        tails="one" if papers else "two",
    )
    if not valued:
        return replace(start, notes=("no lifetime has a value",) if judged else ())
    values = values_of(valued, metric)
    if not np.isfinite(values).all():
        raise PerdureError(
            "a value is not finite", "leave it out and say why it is missing", where=metric or "a metric"
        )
    if len(valued) == 1:
        return _decide_one(valued[0], metric, bar, replace(start, mean=float(values[0])), level)
    sample = sampled(valued, metric, bar, judged=judged, papers=papers, least_gain=least_gain)
    if margin_note and judged:
        sample = replace(sample, notes=(*sample.notes, margin_note))
    if papers and judged:
        remark = f"decided as {valued[0].preset} does: one-tailed t at {1 - level:.2g}, experts as constants"
        sample = replace(sample, remarks=(*sample.remarks, remark))
    return _decide_several(start, sample, metric, bar, valued)


def sampled(
    valued: Sequence[Score],
    metric: str,
    bar: Threshold,
    *,
    judged: bool,
    papers: bool,
    least_gain: float = LEAST_GAIN,
) -> Sample:
    """Return lifetimes that all have a value on the scale that decides, with the parts of their mean's variance."""
    values = values_of(valued, metric)
    scaled, scale = on_scale(replace(bar, scale="linear") if papers else bar, values)
    lost = ("a ratio of 0 or less has no logarithm, so they are averaged as measured",)
    plain = Sample(scaled, scale, (part_of(scaled),), notes=lost if bar.scale != scale and not papers else ())
    if papers or not bar.expert:
        return plain
    if not judged:
        return replace(plain, notes=(*plain.notes, _THESE_EXPERTS))
    if averaged := averaged_first(valued):
        return replace(plain, withheld=averaged, notes=(*plain.notes, _THESE_EXPERTS))
    held = crossed(valued, metric, scale)
    if held.sharing == "unknown":
        return replace(plain, withheld=Withheld.UNKNOWN, notes=(*plain.notes, _THESE_EXPERTS))
    if not held.lives:
        return replace(plain, withheld=Withheld.NOT_HELD)
    left_out = (f"{len(held.left_out)} left out: no experts of every task",) if held.left_out else ()
    sample = Sample(held.values, scale, notes=left_out, crossing=held)
    if len(held.lives) < 2:
        return replace(sample, withheld=Withheld.FEW_HELD)
    of_lives = part_of(held.values)
    if held.sharing == "partly":
        return replace(sample, parts=(of_lives,), withheld=Withheld.PARTLY)
    if held.sharing == "own":
        return replace(sample, parts=(of_lives,))
    if held.fewest < TOO_FEW_EXPERTS:
        known = (of_lives, *held.parts()) if held.fewest > 1 else ()
        return replace(sample, parts=known, withheld=Withheld.FEW_EXPERTS)
    sample = replace(sample, parts=(of_lives, *held.parts()))
    if failing_experts(held.lives, least_gain):
        return replace(sample, withheld=Withheld.FAILING)
    return replace(sample, remarks=("few experts",) if held.fewest < FEW_EXPERTS else ())


def _decide_several(start: Decision, sample: Sample, metric: str, bar: Threshold, lives: Sequence[Score]) -> Decision:
    n, back = len(sample.values), (math.exp if sample.scale == "log" else float)
    mean = float(sample.values.mean())
    none = rounding(bar, lives, sample.values, logs=sample.scale == "log")
    made = replace(
        start,
        mean=back(mean),
        scale=sample.scale,
        sd=None if n < 2 else 0.0 if float(np.ptp(sample.values)) <= none else sample.sd,
        notes=sample.notes,
        remarks=sample.remarks,
        lives_alone=sample.lives_alone,
    )
    parts = sample.parts
    if parts and math.sqrt(sum(part for part, _ in parts)) <= none:
        parts = tuple((0.0, freedom) for _, freedom in parts)
    decidable = n >= FEWEST or (made.tails == "one" and n == 2)
    interval = group_interval_of(mean, parts, made.level) if parts and decidable else None
    if interval:
        made = replace(made, low=back(interval.low), high=back(interval.high))
    if made.verdict is None:
        return made
    if sample.withheld:
        return replace(made, word="undecided", notes=(sample.withheld, *made.notes))
    assert bar.threshold is not None
    ahead = bar.sign * (values_of(lives, metric) - bar.threshold) + made.margin
    beyond = int(np.count_nonzero(ahead >= 0 if bar.inclusive else ahead > 0))
    made = replace(made, above=beyond / len(lives), above_count=beyond)
    if interval is None:
        return replace(made, notes=("two lifetimes: values only", *made.notes))
    return _judge(made, interval, sample, metric, bar, none)


def _judge(made: Decision, interval: Interval, sample: Sample, metric: str, bar: Threshold, none: float) -> Decision:
    """Return the decision with the verdict that the interval gives, in the direction in which more is better."""
    assert bar.threshold is not None
    threshold, less = bar.threshold, bar.threshold - bar.sign * made.margin
    if sample.scale == "log":
        threshold, less = math.log(threshold), math.log(less) if less > 0 else -math.inf
    sign, n, one_tailed = bar.sign, len(sample.values), made.tails == "one"
    ends = sorted((sign * (interval.low - threshold), sign * (interval.high - threshold)))
    slack = sign * (threshold - less)
    verdict: Verdict = "met" if ends[0] > -slack + none else "not met" if ends[1] < -slack - none else "undecided"
    words = words_of(metric, bar)
    word = word_of(words, verdict, (ends[0], ends[1]), slack, none)
    against = threshold if word in ("gains", "loses") else less
    shown = math.exp(against) if sample.scale == "log" else float(against)
    made = replace(made, verdict=verdict, word=word, against=shown if math.isfinite(against) else 0.0)
    # With other experts all lifetimes would have moved together; tests of lifetimes only would call that an effect.
    if sample.lives_alone:
        away = np.where(np.abs(sample.values - against) <= none, 0.0, sign * (sample.values - against))
        sign_p = sign_test(int(np.count_nonzero(away > 0)), n) if one_tailed else two_sided_sign_test(away)
        # Rounded once, so that values that are equal up to rounding are tied.
        made = replace(made, sign_p=sign_p, rank_p=signed_rank_test(np.round(away / none) * none))
    if not interval.variance:
        made = replace(made, remarks=(*made.remarks, EQUAL))
    else:
        t = sign * (interval.t(against) or 0.0)
        p = interval.below(-t) if one_tailed else 2 * interval.below(-abs(t))
        notes = (*_disagreements(made, p, n), *made.notes)
        made = replace(made, t=t, df=None if interval.weighted else interval.freedom, p=p, notes=notes)
        if _relies_on_experts(made, interval, sample, sign, less, none):
            made = replace(made, notes=(*made.notes, _RELIES))
        gap = abs(interval.mean - less)
        if verdict == "undecided" and gap > none:
            made = replace(made, lifetimes_for_90_percent=_lifetimes_needed(sample, gap, made.level))
    return replace(made, says=meaning(metric, words, made, n) or None)


def _disagreements(made: Decision, p: float, n: int) -> tuple[str, ...]:
    """Return notes on sign and rank tests that disagree; with few lifetimes they cannot confirm anything."""
    alpha = (1 - made.level) / 2 if made.tails == "one" else 1 - made.level
    surest = sign_test(n, n) if made.tails == "one" else 2 * sign_test(n, n)
    beside = (("sign", made.sign_p),) if made.tails == "one" else (("sign", made.sign_p), ("signed-rank", made.rank_p))
    otherwise = [
        f"{name} test ({p_words(other)})" for name, other in beside if other is not None and other < alpha <= p
    ]
    if otherwise:
        verb = "says" if len(otherwise) == 1 else "say"
        return (f"the {' and the '.join(otherwise)} {verb} otherwise: a few lifetimes dominate the mean",)
    silent = [f"{name} test ({p_words(other)})" for name, other in beside if other is not None and p < alpha <= other]
    return (f"not confirmed by the {' and the '.join(silent)}",) if silent and surest < alpha else ()


def _relies_on_experts(
    made: Decision, interval: Interval, sample: Sample, sign: float, less: float, none: float
) -> bool:
    """Return whether the verdict would change if the experts of a task varied as much as its lifetimes."""
    if made.verdict == "undecided" or sample.crossing is None or sample.crossing.sharing != "shared":
        return False
    parts = (sample.parts[0], *sample.crossing.parts(at_least_lives=True))
    wider = group_interval_of(interval.mean, parts, interval.level)
    ends = sorted((sign * (wider.low - less), sign * (wider.high - less)))
    return ends[0] <= none and ends[1] >= -none


def _lifetimes_needed(sample: Sample, gap: float, level: float) -> int | None:
    """Return the size of a new group that decides with a 90 % chance if the mean is `gap` away; None if out of reach.

    A new group has experts of its own, of the same number.
    """
    spread = float(sample.values.var(ddof=1))

    def decides(count: int) -> bool:
        interval = group_interval_of(gap, [(spread / count, count - 1.0), *sample.parts[1:]])
        return chance_to_decide(interval, 1 - level) >= 1 - DESIGN.beta

    return needed(decides, FEWEST, MOST_LIFETIMES)


# --- one lifetime ---------------------------------------------------------------------------------


def _decide_one(life: Score, metric: str, bar: Threshold, start: Decision, level: float) -> Decision:
    interval = within_life(life, metric, level)
    if not isinstance(interval, str) and life.metrics[metric].over_items is not None:
        start = replace(start, low=interval.low, high=interval.high, level=level, over="items")
    if start.verdict is None:
        return start
    assert bar.threshold is not None
    assert start.mean is not None
    ahead = bar.sign * (start.mean - bar.threshold)
    none = rounding(bar, (life,), np.array([start.mean]), logs=False)
    beyond = int(ahead > none or (bar.inclusive and ahead >= -none))
    # Within one life the question is whether anything changed at all, so no margin applies.
    made = replace(start, against=bar.threshold, margin=0.0, above=float(beyond), above_count=beyond)
    if isinstance(interval, str):
        return replace(made, notes=(interval, _ONE))
    if interval.side(none) > 0 and ahead > 0:
        return replace(made, verdict="met", notes=(_ONE,))
    if interval.side(-none) < 0 and ahead < 0:
        return replace(made, verdict="not met", notes=(_ONE,))
    source = "items" if made.over == "items" else "own evaluations"
    return replace(made, notes=(f"its {source} vary too much to rule out chance", _ONE))


ENOUGH_FOR_BOOTSTRAP = 10


def estimates(
    lives: Sequence[Score],
    bars: Mapping[str, Threshold],
    group: str = "",
    *,
    level: float = LEVEL,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Estimate]:
    """Return the decision and the robust means of every metric of a group of lifetimes."""
    least_gain = least_gain_of(bars, lives)
    decided = {name: decide(lives, name, bar, level, least_gain) for name, bar in bars.items()}
    columns = {name: (values := values_of(lives, name))[~np.isnan(values)] for name in bars}
    scaled = {
        name: np.log(values) if decided[name].scale == "log" else values
        for name, values in columns.items()
        if len(values) >= ENOUGH_FOR_BOOTSTRAP
    }
    # All in one call, so that columns of one length share the resamples.
    intervals = iqm_intervals(list(scaled.values()), seed, level, resamples) if scaled else ()
    robust = dict(zip(scaled, intervals, strict=True))
    keeping, backward = decided.get(performance_maintenance.name), decided.get(backward_transfer.name)
    if keeping and backward and keeping.word in ("keeps", "gains") and backward.word == "harms":
        # Two verdicts that seem to contradict each other.
        note = f"has no margin: performance maintenance {keeping.word} all the same, by its own"
        decided[backward_transfer.name] = replace(backward, notes=(*backward.notes, note))
    return {
        name: Estimate(
            **structs.asdict(decision),
            metric=name,
            group=group,
            n=len(columns[name]),
            missing=len(lives) - len(columns[name]),
            median=float(np.median(columns[name])) if len(columns[name]) else None,
            iqm=_iqm(decision, robust[name]) if name in robust else None,
            bar=bars[name],
            absent=_commonest_reason(lives, name),
            flags=flags_of_scores(lives, name),
        )
        for name, decision in decided.items()
    }


def _iqm(decision: Decision, robust: tuple[float, float, float]) -> InterquartileMean:
    value, low, high = map(math.exp, robust) if decision.scale == "log" else robust
    return InterquartileMean(value, low, high) if decision.lives_alone else InterquartileMean(value)


def _commonest_reason(lives: Sequence[Score], metric: str) -> str | None:
    missing = (life.metrics.get(metric) for life in lives if life.value(metric) is None)
    counted = Counter((value and value.why) or "it was not scored" for value in missing).most_common()
    if not counted:
        return None
    others = len(counted) - 1
    return counted[0][0] + (f" (and {plural(others, 'other reason')})" if others else "")


# --- flags travel: what lifetimes' values carry, counted over lifetimes ---------------------------


_SEVERAL = "left out for several reasons"
_MOST_REASONS = 2


def flags_in(each: Iterable[Iterable[str]]) -> tuple[Flagged, ...]:
    """Return the flags of several lifetimes' values, each once, with the number of lifetimes.

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
    """Return the flags of a metric's values over lifetimes; a lifetime without a value has none."""
    measured = (one.metrics.get(metric) for one in lives)
    return flags_in(one.flags for one in measured if one is not None and one.value is not None)
