"""The decision: from lifetimes, and experts where a metric has them, to an estimate, its interval, and a verdict.

The interval decides and p is its dual, so that the two never disagree. Presets other than `standard` decide as
the papers did: arithmetic means, a one-tailed t test with the interval that agrees with it, experts as constants.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct, structs
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.metrics.declare import AveragedAs, Threshold
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.measure import Flag
from perdure.metrics.score import Score
from perdure.metrics.transfer import backward_transfer
from perdure.settings.presets import STANDARD
from perdure.stats.crossing import FEW_EXPERTS, TOO_FEW_EXPERTS, Crossing, crossed
from perdure.stats.interval import (
    Interval,
    Part,
    interval_of,
    part_of,
    sign_test,
    signed_rank_test,
    two_sided_sign_test,
)
from perdure.stats.model import LEVEL, Array, Decision, Estimate, Flagged, InterquartileMean, Verdict, Withheld
from perdure.stats.one_lifetime import within_life
from perdure.stats.robust import RESAMPLES, iqm_intervals
from perdure.stats.sentences import meaning, word_of, words_of
from perdure.text import p_words, plural

FEWEST = 3
"""Lifetimes; of two there are values only."""
EQUAL = "all equal, untested"
_MOST_MORE = 10_000
_THESE_EXPERTS = "the interval holds for these experts only"
_ONE = "one lifetime does not predict the next"


def leads(bar: Threshold, lives: Sequence[Score]) -> bool:
    """Whether a metric is a headline number of these lifetimes: a log's, or a matrix's."""
    return bar.headline == _kind(lives)


def is_judged(bar: Threshold, lives: Sequence[Score]) -> bool:
    """Whether these lifetimes are to be decided against a threshold."""
    return bar.threshold is not None and leads(bar, lives)


def _kind(lives: Sequence[Score]) -> str:
    return "matrix" if any(life.identity.unit for life in lives) else "log"


def rounding(bar: Threshold, lives: Sequence[Score], values: Array, *, logs: bool) -> float:
    """What counts as no difference: 1e-7 of 100 points, 1e-9 in logarithms and fractions, else by the values' size."""
    if logs:
        return 1e-9
    unit = lives[0].identity.unit
    points = unit == "percent" or (unit is None and _settings(lives[0]).get("scale") != "none")
    if leads(bar, lives) and (points or unit == "fraction"):
        return 1e-7 if points else 1e-9
    return max(1e-12 * float(np.abs(values).max(initial=0.0)), 1e-300)


def margin_of(bar: Threshold, lives: Sequence[Score]) -> tuple[float, str]:
    """The margin in the metric's own unit, and what to say of it; one that was declared is meant of 100 points."""
    if bar.margin_given or not bar.margin or not lives:
        return bar.margin, ""
    if any(life.preset != STANDARD for life in lives):
        return 0.0, ""
    without = "there is no scale of 100 and bounds are not known, so the margin is 0; --margin sets one"
    if _kind(lives) == "matrix":
        unit = lives[0].identity.unit
        return {"percent": (bar.margin, ""), "fraction": (bar.margin / 100, "")}.get(str(unit), (0.0, without))
    if _settings(lives[0]).get("scale") != "none":
        return bar.margin, ""
    first = lives[0]
    said = {task: (one["min"], one["max"]) for task, one in (_settings(first).get("bounds") or {}).items()}
    known = {**said, **first.bounds}  # a table of scores has its settings alone
    widths = [known[task][1] - known[task][0] for task in first.tasks if task in known]
    if not widths or len(widths) < len(first.tasks):
        return 0.0, without
    return bar.margin / 100 * sum(widths) / len(widths), ""


def _settings(life: Score) -> dict[str, Any]:
    return _parsed(life.how)


def averaged_first(lives: Sequence[Score]) -> Withheld | None:
    """Why experts are no sample, where they or the tasks were not averaged one by one."""
    settings = _settings(lives[0])
    if settings.get("expert_average") == "time":
        return Withheld.AVERAGED
    return Withheld.MEDIANS if settings.get("aggregate") == "median" else None


@lru_cache(maxsize=64)
def _parsed(how: str) -> dict[str, Any]:
    try:
        found = json.loads(how) if how else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def on_scale(bar: Threshold, values: Array) -> tuple[Array, AveragedAs]:
    """The values on the scale that decides; a ratio that is not positive has no logarithm."""
    if bar.scale == "log" and (values > 0).all():
        return np.log(values), "log"
    return values, "linear"


# --- one group ------------------------------------------------------------------------------------


class Sample(Struct, frozen=True, eq=False):
    """Lifetimes on the scale that decides: one value each, and the parts of the variance of their mean."""

    values: Array
    scale: AveragedAs
    parts: tuple[Part, ...] = ()
    """The lives' part first, then those of experts; empty where the variance is not known."""
    withheld: Withheld | None = None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    crossing: Crossing | None = None

    @property
    def lives_alone(self) -> bool:
        """Whether lifetimes are all there is to the spread, so that one may look at them alone."""
        return len(self.parts) == 1 and not self.withheld

    @property
    def sd(self) -> float:
        """Over lifetimes."""
        return float(self.values.std(ddof=1))


def decide(lives: Sequence[Score], metric: str, bar: Threshold, level: float = LEVEL) -> Decision:
    """What the lifetimes of one group say about one metric; those without a value are passed over.

    `level` is of the interval and of the verdict; papers' one-tailed tests have the interval that agrees.
    """
    found = [life for life in lives if life.value(metric) is not None]
    judged = is_judged(bar, lives)
    papers = any(life.preset != STANDARD for life in lives)
    margin, of_margin = margin_of(bar, found)
    start = Decision(level=_level(level, papers), margin=margin, verdict="undecided" if judged else None)
    if papers:
        start = replace(start, tails="one")
    if not found:
        return replace(start, notes=("no lifetime has a value",) if judged else ())
    values = np.array([life.value(metric) for life in found], dtype=np.float64)
    if not np.isfinite(values).all():
        raise PerdureError(
            "a value is not finite", "leave it out and say why it is missing", where=metric or "a metric"
        )
    if len(found) == 1:
        return _alone(found[0], metric, bar, replace(start, mean=float(values[0])), level)
    sample = sampled(found, metric, bar, judged=judged, papers=papers)
    if of_margin and judged:
        sample = replace(sample, notes=(*sample.notes, of_margin))
    if papers and judged:
        said = f"decided as {found[0].preset} does: one-tailed t at {1 - level:.2g}, experts as constants"
        sample = replace(sample, remarks=(*sample.remarks, said))
    return _decided(start, sample, metric, bar, found)


def _level(level: float, papers: bool) -> float:
    """A one-tailed test at .05 agrees with the 90 % interval."""
    return max(0.0, 2 * level - 1) if papers else level


def sampled(found: Sequence[Score], metric: str, bar: Threshold, *, judged: bool, papers: bool) -> Sample:
    """Lifetimes that all have a value, on the scale that decides, with the parts of the variance of their mean."""
    values = np.array([life.value(metric) for life in found], dtype=np.float64)
    scaled, scale = on_scale(replace(bar, scale="linear") if papers else bar, values)
    lost = ("a ratio of 0 or less has no logarithm, so they are averaged as measured",)
    plain = Sample(scaled, scale, (part_of(scaled),), notes=lost if bar.scale != scale and not papers else ())
    if papers or not bar.expert:
        return plain
    if not judged:
        return replace(plain, notes=(*plain.notes, _THESE_EXPERTS))
    if averaged := averaged_first(found):
        return replace(plain, withheld=averaged, notes=(*plain.notes, _THESE_EXPERTS))
    held = crossed(found, metric, scale)
    if held.sharing == "unknown":
        return replace(plain, withheld=Withheld.UNKNOWN, notes=(*plain.notes, _THESE_EXPERTS))
    if not held.lives:
        return replace(plain, withheld=Withheld.NOT_HELD)
    made = Sample(held.values, scale, crossing=held)
    if held.left_out:
        made = replace(made, notes=(f"{len(held.left_out)} left out: no experts of every task",))
    if len(held.lives) < 2:
        return replace(made, withheld=Withheld.FEW_HELD)
    parts: tuple[Part, ...] = (part_of(held.values),)
    if held.sharing == "partly":
        return replace(made, parts=parts, withheld=Withheld.PARTLY)
    if held.sharing == "own":
        return replace(made, parts=parts)
    if held.fewest < TOO_FEW_EXPERTS:
        known = (*parts, *held.parts()) if held.fewest > 1 else ()
        return replace(made, parts=known, withheld=Withheld.FEW_EXPERTS)
    remarks = ("few experts",) if held.fewest < FEW_EXPERTS else ()
    return replace(made, parts=(*parts, *held.parts()), remarks=remarks)


def _decided(start: Decision, sample: Sample, metric: str, bar: Threshold, lives: Sequence[Score]) -> Decision:
    n, back = len(sample.values), (math.exp if sample.scale == "log" else float)
    mean = float(sample.values.mean())
    none = rounding(bar, lives, sample.values, logs=sample.scale == "log")
    start = replace(start, mean=back(mean), scale=sample.scale, notes=sample.notes, remarks=sample.remarks)
    start = replace(start, lives_alone=sample.lives_alone)
    if n > 1:
        still = float(np.ptp(sample.values)) <= none
        start = replace(start, sd=0.0 if still else sample.sd)
    parts = sample.parts
    if parts and math.sqrt(sum(part for part, _ in parts)) <= none:
        parts = tuple((0.0, freedom) for _, freedom in parts)
    two_of_papers = start.tails == "one" and n == 2
    if parts and (n >= FEWEST or two_of_papers):
        interval = interval_of(mean, parts, start.level)
        start = replace(start, low=back(interval.low), high=back(interval.high))
    if start.verdict is None:
        return start
    if sample.withheld:
        return replace(start, word="undecided", notes=(sample.withheld, *start.notes))
    assert bar.threshold is not None
    target = _place(bar, start.margin, sample.scale)
    start = _counted(start, lives, metric, bar)
    if n < FEWEST and not two_of_papers:
        return replace(start, notes=("two lifetimes: values only", *start.notes))
    return _verdict(start, interval_of(mean, parts, start.level), sample, metric, bar, target, none)


def _place(bar: Threshold, margin: float, scale: AveragedAs) -> tuple[float, float]:
    """The threshold, and the threshold less the margin, on the scale that decides."""
    assert bar.threshold is not None
    less = bar.threshold - bar.sign * margin
    if scale == "linear":
        return bar.threshold, less
    return math.log(bar.threshold), math.log(less) if less > 0 else -math.inf


def _counted(start: Decision, lives: Sequence[Score], metric: str, bar: Threshold) -> Decision:
    """How many lifetimes lie beyond the threshold less its margin."""
    assert bar.threshold is not None
    values = np.array([life.value(metric) for life in lives], dtype=np.float64)
    ahead = bar.sign * (values - bar.threshold) + start.margin
    beyond = int(np.count_nonzero(ahead >= 0 if bar.inclusive else ahead > 0))
    return replace(start, above=beyond / len(values), above_count=beyond)


def _verdict(
    start: Decision,
    found: Interval,
    sample: Sample,
    metric: str,
    bar: Threshold,
    target: tuple[float, float],
    none: float,
) -> Decision:
    """Where the interval lies, in the direction in which more is better."""
    threshold, less = target
    sign, n = bar.sign, len(sample.values)
    ends = sorted((sign * (found.low - threshold), sign * (found.high - threshold)))
    slack = sign * (threshold - less)
    verdict: Verdict = "met" if ends[0] > -slack + none else "not met" if ends[1] < -slack - none else "undecided"
    words = words_of(metric, bar)
    word = word_of(words, verdict, (ends[0], ends[1]), slack, none)
    place = threshold if word in ("gains", "loses") else less
    back = math.exp if sample.scale == "log" else float
    away = np.where(np.abs(sample.values - place) <= none, 0.0, sign * (sample.values - place))
    made = replace(
        start,
        verdict=verdict,
        word=word,
        against=back(place) if math.isfinite(place) else 0.0,
    )
    # With other experts all lives would have moved together; tests of the lives alone would call that an effect.
    if sample.lives_alone:
        one_tailed = start.tails == "one"
        sign_p = sign_test(int(np.count_nonzero(away > 0)), n) if one_tailed else two_sided_sign_test(away)
        made = replace(made, sign_p=sign_p, rank_p=signed_rank_test(_ranked(away, none)))
    if not found.variance:
        made = replace(made, remarks=(*made.remarks, EQUAL))
    else:
        t = found.t(place)
        assert t is not None
        t *= sign
        p = found.below(-t) if made.tails == "one" else 2 * found.below(-abs(t))
        made = replace(made, t=t, df=found.freedom, p=p, notes=(*_checks(made, p, n), *made.notes))
        made = replace(made, notes=(*made.notes, *_fragile(made, found, sample, sign, less, none)))
    if verdict == "undecided" and found.variance:
        gap = sign * (found.mean - less)
        made = replace(made, more_lifetimes=_more(sample, abs(gap), n, made.level) if abs(gap) > none else None)
    return replace(made, says=meaning(metric, words, made, n) or None)


def _ranked(away: Array, none: float) -> Array:
    """Rounded once, so that what is equal up to rounding is tied."""
    return np.round(away / none) * none


def _checks(made: Decision, p: float, n: int) -> tuple[str, ...]:
    """What to say where the tests beside it disagree; at few lifetimes their silence says nothing."""
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


def _fragile(made: Decision, found: Interval, sample: Sample, sign: float, less: float, none: float) -> tuple[str, ...]:
    """A verdict that rests on experts being more alike than lives are says so."""
    if made.verdict == "undecided" or sample.crossing is None or sample.crossing.sharing != "shared":
        return ()
    parts = (sample.parts[0], *sample.crossing.parts(at_least_lives=True))
    wider = interval_of(found.mean, parts, found.level)
    ends = sorted((sign * (wider.low - less), sign * (wider.high - less)))
    if ends[0] > none or ends[1] < -none:
        return ()
    return ("would not hold if experts differed as much as lifetimes do",)


def _more(sample: Sample, gap: float, n: int, level: float) -> int | None:
    """About how many more lifetimes would decide it; None where more lifetimes alone never would."""
    spread = float(sample.values.var(ddof=1))

    def decides(count: int) -> bool:
        parts = [(spread / count, count - 1.0), *sample.parts[1:]]
        return interval_of(0.0, parts, level).half < gap

    if not decides(n + _MOST_MORE):
        return None
    low, high = n, n + _MOST_MORE
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high - n


# --- one lifetime ---------------------------------------------------------------------------------


def _alone(life: Score, metric: str, bar: Threshold, start: Decision, level: float) -> Decision:
    """One lifetime: its own evaluations decide, or nothing does."""
    if start.verdict is None:
        return start
    assert bar.threshold is not None
    assert start.mean is not None
    ahead = bar.sign * (start.mean - bar.threshold)
    none = rounding(bar, (life,), np.array([start.mean]), logs=False)
    beyond = int(ahead > none or (bar.inclusive and ahead >= -none))
    # Within one life the question is whether anything changed at all, so no margin applies.
    start = replace(
        start, against=bar.threshold, margin=0.0, above=float(beyond), above_count=beyond, remarks=("one lifetime",)
    )
    found = within_life(life, metric, level)
    if isinstance(found, str):
        return replace(start, notes=(found, _ONE))
    if found.side(none) > 0 and ahead > 0:
        return replace(start, verdict="met", notes=(_ONE,))
    if found.side(-none) < 0 and ahead < 0:
        return replace(start, verdict="not met", notes=(_ONE,))
    return replace(start, notes=("its own evaluations vary too much to rule out chance", _ONE))


ENOUGH_FOR_BOOTSTRAP = 10


def defined(lives: Sequence[Score], metric: str) -> Array:
    """The values of `metric` in the lives that have one, in order."""
    found = (life.value(metric) for life in lives)
    return np.array([value for value in found if value is not None], dtype=np.float64)


def estimates(
    lives: Sequence[Score],
    bars: Mapping[str, Threshold],
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
    bar: Threshold | None = None,
    group: str = "",
    *,
    level: float = LEVEL,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Estimate:
    """One metric over lifetimes: what is decided of its mean, and what stands beside it."""
    return estimates(lives, {metric: bar or Threshold()}, group, level=level, seed=seed, resamples=resamples)[metric]


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
