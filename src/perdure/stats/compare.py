"""Compare two systems, metric by metric: one test gives direction, interval, p-value and words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perdure.metrics.declare import METRICS, Better, ComparedAs, Threshold
from perdure.metrics.score import Score
from perdure.settings.presets import STANDARD
from perdure.stats.decide import (
    EQUAL,
    FEWEST,
    MOST_LIFETIMES,
    flags_of_scores,
    leads,
    margin_of,
    on_scale,
    rounding,
    settings_of,
    values_of,
)
from perdure.stats.interval import (
    Interval,
    exact_rank_sum_test,
    holm,
    interval_of,
    part_of,
    sign_flip_test,
    signed_rank_test,
    weighted_interval_of,
)
from perdure.stats.learning import NO_CURVES
from perdure.stats.model import LEVEL, Array, Flagged
from perdure.stats.pairing import Pairing, Want, pair
from perdure.stats.power import DESIGN, chance_to_decide, needed
from perdure.stats.robust import almost_stochastic_order, hedges_g, probability_of_improvement
from perdure.stats.sentences import lead, sentence
from perdure.text import digits_width, join_words, plural

DifferenceScale = Literal["difference", "ratio"]
DifferenceVerdict = Literal["better", "worse", "no worse", "no better", "as good", "undecided"]
_UNEQUAL = 2  # times as many lifetimes on one side: Welch's test is then wrong in 15 % of comparisons of 3 with 20


class Difference(Struct, frozen=True):
    """One metric of a system compared with a baseline. Unknown values are None, and `why` gives the reason."""

    JSON: ClassVar = (
        *("n", "baseline_n", "paired", "scale", "mean", "baseline_mean", "sd", "baseline_sd", "difference"),
        *("low", "high", "level", "test", "statistic", "df", "p", "p_holm", "family", "verdict", "word", "likely"),
        *("margin", "margin_low", "margin_high", "margin_level", "rank_p"),
        *("permutation_p", "improvement", "cliffs_delta", "hedges_g", "order", "better", "lifetimes_for_90_percent"),
        *("why", "flags", "sentence"),
    )

    metric: str
    n: int
    baseline_n: int
    """The same as n if lifetimes are paired."""
    paired: bool = False
    scale: DifferenceScale = "difference"
    """Whether `difference` is system minus baseline, or system over baseline (then 1 is none)."""
    mean: float | None = None
    baseline_mean: float | None = None
    """For ratios the geometric mean."""
    sd: float | None = None
    baseline_sd: float | None = None
    """Of logarithms if `scale` is ratio."""
    difference: float | None = None
    """As measured: positive, or above 1, is larger, not necessarily better."""
    low: float | None = None
    high: float | None = None
    """Ends of the interval for this metric alone."""
    level: float = LEVEL
    test: str | None = None
    statistic: float | None = None
    df: float | None = None
    p: float | None = None
    """Two-sided, the interval's dual."""
    p_holm: float | None = None
    """Adjusted over the family, whichever of its metrics are shown. It decides."""
    family: int = 0
    """Number of metrics tested together."""
    verdict: DifferenceVerdict | None = None
    """None for exploratory metrics, and if nothing varies."""
    word: str | None = None
    """The verdict in the metric's own words, such as `keeps more`."""
    likely: Literal["better", "worse"] | None = None
    """Direction of a difference that this metric shows alone, but not after the adjustment."""
    margin: float | None = None
    """Difference that does not matter: in the metric's unit, or a factor for ratios."""
    margin_low: float | None = None
    margin_high: float | None = None
    margin_level: float | None = None
    """Interval that is compared with the margin, and its level."""
    rank_p: float | None = None
    permutation_p: float | None = None
    """Rank and permutation tests, not adjusted, for information only."""
    improvement: float | None = None
    """The chance that a lifetime of the system does better than one of the baseline; ties count half."""
    cliffs_delta: float | None = None
    hedges_g: float | None = None
    """Both effect sizes are positive if the system does better."""
    order: float | None = None
    """Almost stochastic order: below 0.5 the system is almost always better. None unless asked for."""
    better: Better = "higher"
    lifetimes_for_90_percent: int | None = None
    """Lifetimes of each system that decide an undecided metric with a chance of 90 % if the true difference equals the
    estimate and no other metric differs. None if more than 1,000 are needed."""
    why: str | None = None
    flags: tuple[Flagged, ...] = ()
    """Flags of the values of both systems, with the number of lifetimes."""
    sentence: str = ""
    """The result in words."""

    @property
    def ahead(self) -> float:
        """The lead of the system, on the scale that decides."""
        if self.difference is None:
            return 0.0
        away = math.log(self.difference) if self.scale == "ratio" else self.difference
        return away if self.better == "higher" else -away

    @property
    def width(self) -> float | None:
        """The width that sets the digits of the difference."""
        return digits_width(self.difference, self.low, self.high, ratio=self.scale == "ratio")


class Summary(Struct, frozen=True):
    """One metric of one system, averaged on the scale that decides."""

    n: int
    mean: float | None
    sd: float | None


class Comparison(Struct, frozen=True):
    """A system compared with a baseline over all metrics they share.

    Attributes
    ----------
    system
        Name of the system.
    baseline
        Name of the baseline.
    scenario_type
        Scenario type of the lifetimes.
    measure
        Measure that was scored.
    pairing
        The lifetimes of both, in pairs if they are paired.
    differences
        Metric that is shown → the difference, with its interval, p-value and verdict.
    alone
        Metric → the summary of each system over all its lifetimes, with or without a partner.
    only_in
        System → metrics without a value in the other.
    notes
        Remarks about the comparison.
    tested
        Metric of the family, shown or not → its difference; also metrics that lack a value.
    learner
        Learner whose scenario types are the systems, if they are.
    primary
        Metric that a protocol named beforehand. It is tested alone, before the others.
    unit
        Unit of differences, such as ` points`.
    section
        Scenario type, measure or learner that tells this comparison from others.

    Examples
    --------
    >>> comparison = perdure.compare("logs", baseline="naive").comparisons[0]
    >>> comparison.system, comparison.baseline
    ('replay', 'naive')
    """

    JSON: ClassVar = (
        *("system", "baseline", "learner", "scenario_type", "measure", "paired:pairing.paired", "pairing:pairing.told"),
        *("n:pairing.n", "baseline_n:pairing.baseline_n", "family", "primary", "answer", "metrics:differences"),
        *("only_in", "notes"),
    )

    system: str
    baseline: str
    scenario_type: str | None
    measure: str | None
    pairing: Pairing
    differences: Mapping[str, Difference]
    alone: Mapping[str, tuple[Summary, Summary]] = {}
    only_in: Mapping[str, tuple[str, ...]] = {}
    notes: tuple[str, ...] = ()
    tested: Mapping[str, Difference] = {}
    learner: str | None = None
    primary: str | None = None
    unit: str = ""
    section: str = ""

    @property
    def family(self) -> tuple[str, ...]:
        """The metrics that are tested together."""
        return tuple(name for name, difference in self.tested.items() if difference.difference is not None)

    @property
    def level_reached(self) -> Difference | None:
        """The difference in final performance, or in average accuracy: the answer to which one ends up better."""
        declared = {name: METRICS.get(name).compared for name in self.tested if name in METRICS}
        named = (name for name, words in declared.items() if words and words.better == "better")
        return next((self.tested[name] for name in named), None)

    @property
    def answer(self) -> str:
        """The answer in one or two sentences: which one ends up better, then the other metrics that differ."""
        text = "".join(lead(self))
        return f"{self.section}: {text}" if self.section and text else text


def name_sections(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Give each comparison the name of its section: the scenario type, measure and learner in which they differ."""
    strata = [(item.learner, item.scenario_type, item.measure) for item in comparisons]
    varying = [len(set(values)) > 1 for values in zip(*strata, strict=True)]
    sections = (
        " · ".join(part for part, varies in zip(stratum, varying, strict=True) if part and varies) for stratum in strata
    )
    return tuple(replace(item, section=section) for item, section in zip(comparisons, sections, strict=True))


def compared_as(metric: str, bar: Threshold | None = None) -> ComparedAs:
    """Return the words and margin of a metric in comparisons; plain words if it declares none."""
    declared = METRICS.get(metric).compared if metric in METRICS else None
    return (bar.compared if bar else None) or declared or ComparedAs(margin=0.0)


def is_compared(metric: str, bar: Threshold, lifetimes: Sequence[Score]) -> bool:
    """Return whether a metric is tested when these lifetimes are compared. Paper presets test their headline."""
    if any(lifetime.preset != STANDARD for lifetime in lifetimes):
        return leads(bar, lifetimes)
    words = bar.compared or (METRICS.get(metric).compared if metric in METRICS else None)
    return words is not None and leads(replace(bar, headline=words.of), lifetimes)


def compare_lives(
    ours: Sequence[Score],
    theirs: Sequence[Score],
    bars: Mapping[str, Threshold],
    *,
    names: tuple[str, str] = ("A", "B"),
    paired: Want = "auto",
    level: float = LEVEL,
    order: bool = False,
    seed: int = 0,
    metrics: Sequence[str] = (),
    primary: str | None = None,
) -> Comparison:
    """Compare the metrics of `bars` that are tested in comparisons, or show `metrics`, which changes no p."""
    lifetimes = (*ours, *theirs)
    pairing = pair(ours, theirs, paired)
    judged = [name for name, bar in bars.items() if is_compared(name, bar, lifetimes)]
    # Gains over own experts are shown but not tested: worse experts would make a learner better.
    own_experts = [name for name, bar in bars.items() if judged and leads(bar, lifetimes) and name not in judged]
    shown = tuple(metrics) or tuple(judged + own_experts) or _untested(bars)
    tests: dict[str, _Test] = {}
    only_in: dict[str, list[str]] = {names[0]: [], names[1]: []}
    for place, (metric, bar) in enumerate(bars.items()):
        if metric not in judged and metric not in shown:
            continue
        has = [any(lifetime.value(metric) is not None for lifetime in side) for side in (ours, theirs)]
        if has[0] != has[1]:
            only_in[names[0] if has[0] else names[1]].append(metric)
        # A metric that only comparisons test is undecided, with the reason, if the logs give no value.
        if all(has) or (metric in judged and not bar.headline and _reason(lifetimes, metric) not in ("", NO_CURVES)):
            rng = np.random.default_rng([seed, place])
            tests[metric] = _test(pairing, bar, metric, metric in judged, level, order, rng)
    blocked = _different_tasks(ours, theirs, names)
    differences = {name: test.difference for name, test in tests.items()}
    differences |= _judged({name: tests[name] for name in judged if name in tests}, primary, blocked)
    differences = {
        name: replace(difference, sentence=sentence(difference, *names)) for name, difference in differences.items()
    }
    return Comparison(
        *names,
        lifetimes[0].scenario_type,
        lifetimes[0].measure,
        pairing,
        {name: differences[name] for name in (shown if metrics else bars) if name in differences and name in shown},
        {name: (_summary(ours, name, bars[name]), _summary(theirs, name, bars[name])) for name in differences},
        {name: tuple(only) for name, only in only_in.items() if only},
        _notes(lifetimes),
        {name: differences[name] for name in judged if name in differences},
        primary=primary,
        unit=_unit(lifetimes[0]),
    )


def _unit(lifetime: Score) -> str:
    if lifetime.identity.unit:
        return " percentage points" if lifetime.identity.unit == "percent" else ""
    return "" if settings_of(lifetime).get("scale") == "none" else " points"


def _untested(bars: Mapping[str, Threshold]) -> tuple[str, ...]:
    """Return the metrics to show if none is tested: those with a threshold, else all."""
    return tuple(name for name, bar in bars.items() if bar.threshold is not None) or tuple(bars)


def _different_tasks(ours: Sequence[Score], theirs: Sequence[Score], names: tuple[str, str]) -> str | None:
    """Return the reason for no verdict if the systems practise different tasks."""
    practised = [{frozenset(lifetime.order) for lifetime in side if lifetime.order} for side in (ours, theirs)]
    if not all(practised) or len(practised[0] | practised[1]) == 1:
        return None
    first, second = (frozenset().union(*tasks) for tasks in practised)
    only = [
        f"only {name} practises {join_words(sorted(tasks)[:5])}"
        for name, tasks in zip(names, (first - second, second - first), strict=True)
        if tasks
    ]
    return f"{'; '.join(only) or 'lifetimes practise different sets of tasks'}; give both the same tasks"


def _notes(lifetimes: Sequence[Score]) -> tuple[str, ...]:
    preset = next((lifetime.preset for lifetime in lifetimes if lifetime.preset != STANDARD), "")
    return (f"{preset}: arithmetic means, experts as constants",) if preset else ()


# --- the test of one metric ----------------------------------------------------------------------


class _Test(Struct, frozen=True, eq=False):
    """The difference of one metric with its interval; without words, which need the whole family."""

    difference: Difference
    interval: Interval | None = None
    bar: Threshold = Threshold()
    margin: float = 0.0
    """On the scale that decides; 0 if there is none."""


def _test(
    pairing: Pairing,
    bar: Threshold,
    metric: str,
    judged: bool,
    level: float,
    order: bool,
    rng: np.random.Generator,
) -> _Test:
    """Compare one metric; a lifetime without a value is left out, with its partner."""
    ours, theirs, paired = pairing.ours, pairing.theirs, pairing.paired
    lifetimes = (*ours, *theirs)
    mine, other = _with_values(ours, theirs, metric, paired=paired)
    notes = _missing((len(ours), len(theirs)), (len(mine), len(other)), paired)
    flags = flags_of_scores((*mine, *other), metric)
    difference = Difference(
        metric, len(mine), len(other), paired, level=level, better=bar.better, why=notes, flags=flags
    )
    if not mine or not other:
        return _Test(replace(difference, why=_reason(lifetimes, metric) or "a system has no value"))
    values, logs = _scaled(bar, lifetimes, values_of(mine, metric), values_of(other, metric))
    first, second = values[: len(mine)], values[len(mine) :]
    none = rounding(replace(bar, headline=compared_as(metric, bar).of) if judged else bar, lifetimes, values, logs=logs)
    back = math.exp if logs else float
    mean = float(first.mean() - second.mean())
    mean = 0.0 if abs(mean) <= none else mean
    difference = replace(
        difference,
        scale="ratio" if logs else "difference",
        mean=back(float(first.mean())),
        baseline_mean=back(float(second.mean())),
        difference=back(mean),
    )
    difference = with_secondary(difference, first, second, bar.sign, none, order=order, rng=rng)
    fewest = min(len(first), len(second))
    if fewest > 1:
        difference = replace(difference, sd=_sd(first, none), baseline_sd=_sd(second, none))
    if fewest < FEWEST:
        few = "one lifetime" if fewest == 1 else "two lifetimes"
        return _Test(replace(difference, why=_joined(f"{few}: values only", difference.why)))
    interval = _interval(first, second, mean, none, paired=paired, level=level)
    difference = replace(difference, low=back(interval.low), high=back(interval.high))
    if not judged:
        experts = "gain over own experts, which vary too" if bar.expert else None
        return _Test(replace(difference, why=_joined(experts, difference.why)))
    if not interval.variance:
        return _Test(replace(difference, why=_joined(EQUAL, difference.why)), bar=bar)
    uneven = "with a weighted quantile" if interval.weighted else ""
    difference = replace(
        difference,
        test="paired t" if paired else f"Welch's t {uneven}".rstrip(),
        statistic=interval.t(),
        df=interval.freedom,
        p=interval.p(),
    )
    if lifetimes[0].preset != STANDARD:
        return _Test(difference, interval, bar)
    margin, note = _margin(metric, bar, lifetimes, logs=logs)
    shown = back(margin) if margin else None
    return _Test(replace(difference, margin=shown, why=_joined(difference.why, note)), interval, bar, margin)


def _interval(ours: Array, theirs: Array, mean: float, none: float, *, paired: bool, level: float) -> Interval:
    parts = [part_of(ours - theirs)] if paired else [part_of(ours), part_of(theirs)]
    if math.sqrt(sum(part for part, _ in parts)) <= none:
        parts = [(0.0, freedom) for _, freedom in parts]
    sizes = sorted((len(ours), len(theirs)))
    uneven = not paired and sizes[1] >= _UNEQUAL * sizes[0]
    return (weighted_interval_of if uneven else interval_of)(mean, parts, level)


def _margin(metric: str, bar: Threshold, lifetimes: Sequence[Score], *, logs: bool) -> tuple[float, str]:
    """Return the margin on the scale that decides, and a note if there is none."""
    declared = compared_as(metric, bar).margin
    if not logs:
        return margin_of(bar if bar.margin_given else replace(bar, margin=declared), lifetimes)
    factor = bar.margin if bar.margin_given else declared
    # A given margin below 1 is a distance from the threshold 1, as in verdicts on one group.
    return math.log(factor) if factor >= 1 else -math.log1p(-factor), ""


def _with_values(
    ours: Sequence[Score], theirs: Sequence[Score], metric: str, *, paired: bool
) -> tuple[list[Score], list[Score]]:
    def has(lifetime: Score) -> bool:
        return lifetime.value(metric) is not None

    if not paired:
        return list(filter(has, ours)), list(filter(has, theirs))
    both = [(mine, other) for mine, other in zip(ours, theirs, strict=True) if has(mine) and has(other)]
    return [mine for mine, _ in both], [other for _, other in both]


def _scaled(bar: Threshold, lifetimes: Sequence[Score], *values: Array) -> tuple[Array, bool]:
    """Return all values in one array on the scale that decides, and whether that is logarithms."""
    joined = np.concatenate(values)
    if any(lifetime.preset != STANDARD for lifetime in lifetimes):
        return joined, False
    scaled, scale = on_scale(bar, joined)
    return scaled, scale == "log"


def _summary(lifetimes: Sequence[Score], metric: str, bar: Threshold) -> Summary:
    values = values_of(lifetimes, metric)
    known = values[~np.isnan(values)]
    if not len(known):
        return Summary(0, None, None)
    scaled, logs = _scaled(bar, lifetimes, known)
    mean = float(scaled.mean())
    spread = None if len(known) < 2 else _sd(scaled, 1e-12)
    return Summary(len(known), math.exp(mean) if logs else mean, spread)


def _sd(values: Array, none: float) -> float:
    return 0.0 if np.ptp(values) <= none else float(values.std(ddof=1))


def _missing(given: tuple[int, int], used: tuple[int, int], paired: bool) -> str | None:
    lost = given[0] - used[0] if paired else given[0] - used[0] + given[1] - used[1]
    noun = plural(lost, "pair" if paired else "lifetime")
    return f"{noun} without a value {'is' if lost == 1 else 'are'} left out" if lost else None


def _reason(lifetimes: Sequence[Score], metric: str) -> str:
    """Return the reason that a lifetime which practises a task gives for a missing value; empty if none does."""
    return next(filter(None, (lifetime.why.get(metric) for lifetime in lifetimes if lifetime.order)), "")


def _joined(*reasons: str | None) -> str | None:
    return "; ".join(reason for reason in reasons if reason) or None


# --- words: the family, its adjustment, and the margins -------------------------------------------


def _judged(tests: Mapping[str, _Test], primary: str | None, blocked: str | None) -> dict[str, Difference]:
    """Return the differences of a family with their verdicts.

    Metrics that cannot be tested cost the others nothing. A primary metric is tested alone; the others count only if
    it differs.
    """
    if blocked:
        return {name: _worded(test, _not_tested(test.difference, blocked)) for name, test in tests.items()}
    tested = [name for name, test in tests.items() if test.difference.p is not None and name != primary]
    p_values = dict(zip(tested, holm([tests[name].difference.p or 0.0 for name in tested]), strict=True))
    judged: dict[str, Difference] = {}
    first = tests.get(primary) if primary else None
    if first is not None and primary:
        judged[primary] = _verdict(first, first.difference.p, 1)
    counts = not primary or (first is not None and judged[primary].verdict in ("better", "worse"))
    for name, test in tests.items():
        if name == primary:
            continue
        if counts:
            judged[name] = _verdict(test, p_values.get(name), len(tested))
        else:
            lacking = "has no value" if first is None or first.difference.difference is None else "does not differ"
            why = _joined(f"not tested: the primary metric, {primary}, {lacking}", test.difference.why)
            judged[name] = replace(test.difference, family=len(tested), why=why)
    return {name: judged[name] for name in tests}


def _not_tested(difference: Difference, why: str) -> Difference:
    untested = replace(difference, test=None, statistic=None, df=None, p=None)
    return replace(untested, verdict="undecided", why=_joined(why, difference.why))


def _verdict(test: _Test, p_holm: float | None, family: int) -> Difference:
    """Return the difference with its verdict: by the adjusted p, else by the interval that is tested on the margin."""
    difference, sign = test.difference, test.bar.sign
    difference = replace(difference, family=family, p_holm=p_holm)
    if test.interval is None or difference.p is None or p_holm is None:
        return _worded(
            test, replace(difference, verdict=None if difference.n >= FEWEST <= difference.baseline_n else "undecided")
        )
    error = 1 - difference.level
    side: Literal["better", "worse"] = "better" if difference.ahead > 0 else "worse"
    if p_holm < error:
        return _worded(test, replace(difference, verdict=side))
    likely = side if difference.p < error else None
    verdict: DifferenceVerdict = "undecided"
    if test.margin > 0:
        wide = replace(test.interval, level=1 - error / family)
        back = math.exp if difference.scale == "ratio" else float
        low, high = sorted((sign * wide.low, sign * wide.high))
        no_worse, no_better = low > -test.margin, high < test.margin
        verdict = "as good" if no_worse and no_better else "no worse" if no_worse else "undecided"
        verdict = "no better" if no_better and not no_worse else verdict
        difference = replace(
            difference, margin_low=back(wide.low), margin_high=back(wide.high), margin_level=wide.level
        )
    if verdict == "undecided":
        difference = replace(difference, lifetimes_for_90_percent=_lifetimes_needed(difference, test.interval, family))
    return _worded(test, replace(difference, verdict=verdict, likely=likely))


def _lifetimes_needed(difference: Difference, interval: Interval, family: int) -> int | None:
    """Return the lifetimes of each system, or pairs, that show a true difference like this one in 90 % of cases."""
    spreads = [interval.variance * difference.n]
    if not difference.paired:
        spreads = [(sd or 0.0) ** 2 for sd in (difference.sd, difference.baseline_sd)]

    def decides(count: int) -> bool:
        planned = interval_of(interval.mean, [(spread / count, count - 1.0) for spread in spreads])
        return chance_to_decide(planned, (1 - difference.level) / family) >= 1 - DESIGN.beta

    return needed(decides, FEWEST, MOST_LIFETIMES)


def _worded(test: _Test, difference: Difference) -> Difference:
    words = compared_as(difference.metric, test.bar)
    own = {"better": words.better, "worse": words.worse, "as good": "as good as"}
    return replace(difference, word=own.get(difference.verdict or "", difference.verdict))


# --- for information: rank tests and effect sizes -------------------------------------------------


def with_secondary(
    difference: Difference,
    ours: Array,
    theirs: Array,
    sign: float,
    none: float,
    *,
    order: bool,
    rng: np.random.Generator,
) -> Difference:
    """Add rank tests and effect sizes of two systems' values, on the scale that decides.

    Values are rounded once, so that ties are ties in percent and in fractions.
    """
    away = np.round((ours - theirs) / none) * none if difference.paired else ours
    ours, theirs = (np.round(side / none) * none for side in (ours, theirs))
    delta = 2 * probability_of_improvement(sign * ours, sign * theirs) - 1
    difference = replace(difference, cliffs_delta=delta, improvement=(delta + 1) / 2)
    if difference.paired:
        difference = replace(difference, improvement=float(np.mean(sign * away > 0) + np.mean(away == 0) / 2))
    if min(len(ours), len(theirs)) < 2:
        return difference
    difference = replace(difference, hedges_g=hedges_g(ours, theirs, sign))
    if order:
        difference = replace(difference, order=almost_stochastic_order(sign * ours, sign * theirs, rng))
    if difference.paired:
        return replace(difference, rank_p=signed_rank_test(away), permutation_p=sign_flip_test(away, rng))
    return replace(difference, rank_p=_mann_whitney(ours, theirs))


def _mann_whitney(ours: Array, theirs: Array) -> float:
    p = exact_rank_sum_test(ours, theirs)
    if p is not None:
        return p
    from scipy import stats  # type: ignore[import-untyped]

    return float(stats.mannwhitneyu(ours, theirs, alternative="two-sided").pvalue)
