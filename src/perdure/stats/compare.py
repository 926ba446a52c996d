"""Compare two systems, metric by metric: one estimand gives direction, interval, p-value and words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perdure.metrics.declare import Better, Threshold
from perdure.metrics.score import Score
from perdure.results import LeftOutLifetime
from perdure.settings.presets import STANDARD
from perdure.stats.crossing import FEW_EXPERTS, TOO_FEW_EXPERTS, Crossing, apart, crossed, one_set
from perdure.stats.decide import EQUAL, FEWEST, averaged_first, leads, on_scale, rounding, values_of
from perdure.stats.interval import (
    Part,
    exact_rank_sum_test,
    holm,
    interval_of,
    part_of,
    sign_flip_test,
    signed_rank_test,
)
from perdure.stats.model import LEVEL, Array, Withheld
from perdure.stats.pairing import Pairing, Want, pair
from perdure.stats.robust import almost_stochastic_order, hedges_g, probability_of_improvement
from perdure.stats.sentences import sentence

DifferenceScale = Literal["difference", "ratio"]


class Difference(Struct, frozen=True):
    """One metric of a system compared with a baseline. Unknown values are None, and `why` gives the reason."""

    JSON: ClassVar = (
        *("n", "baseline_n", "paired", "scale", "mean", "baseline_mean", "sd", "baseline_sd", "difference"),
        *("low", "high", "level", "test", "statistic", "df", "p", "p_holm", "family", "word", "rank_p"),
        *("permutation_p", "improvement", "cliffs_delta", "hedges_g", "order", "better", "why", "sentence"),
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
    level: float = LEVEL
    test: str | None = None
    statistic: float | None = None
    df: float | None = None
    p: float | None = None
    """Two-sided, the interval's dual."""
    p_holm: float | None = None
    """Adjusted over the family, whichever of its metrics are shown."""
    family: int = 0
    """Number of headline metrics tested, because both systems have values."""
    word: str | None = None
    """better, worse, likely better, likely worse, undecided; None for exploratory metrics."""
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
    why: str | None = None
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
        """The interval's width."""
        return None if self.low is None or self.high is None else self.high - self.low

    @property
    def told_apart(self) -> bool:
        """Whether the adjusted test shows a difference."""
        return self.word in ("better", "worse")


class Summary(Struct, frozen=True):
    """One metric of one system, averaged on the scale that decides."""

    n: int
    mean: float | None
    sd: float | None


class Comparison(Struct, frozen=True):
    """A system compared with a baseline over all metrics they share."""

    JSON: ClassVar = (
        *("system", "baseline", "learner", "scenario_type", "measure", "paired:pairing.paired", "pairing:pairing.told"),
        *("n:pairing.n", "baseline_n:pairing.baseline_n", "family", "metrics:differences", "only_in"),
        *("left_out:excluded", "notes"),
    )

    system: str
    baseline: str
    scenario_type: str | None
    measure: str | None
    pairing: Pairing
    differences: Mapping[str, Difference]
    """The metrics shown."""
    alone: Mapping[str, tuple[Summary, Summary]] = {}
    """Metric → the summary of each system over all its lifetimes, with or without a partner."""
    only_in: Mapping[str, tuple[str, ...]] = {}
    """System → metrics without a value in the other."""
    left_out: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    tested: Mapping[str, Difference] = {}
    """The family, whichever of its metrics are shown."""
    learner: str | None = None
    """The learner whose scenario types are the systems, if they are."""

    @property
    def family(self) -> tuple[str, ...]:
        """The metrics over which Holm's adjustment ran."""
        return tuple(self.tested)

    @property
    def excluded(self) -> tuple[LeftOutLifetime, ...]:
        """Lifetimes that do not count."""
        return tuple(LeftOutLifetime(name, why) for name, why in self.left_out)


def family_of(bars: Mapping[str, Threshold], ours: Sequence[Score], theirs: Sequence[Score]) -> tuple[str, ...]:
    """Return the headline metrics with values on both sides, the family of Holm's adjustment in every verb."""
    return tuple(
        name
        for name, bar in bars.items()
        if leads(bar, (*ours, *theirs))
        and all(any(life.value(name) is not None for life in side) for side in (ours, theirs))
    )


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
) -> Comparison:
    """Compare the headline metrics of `bars` that both systems have, or show `metrics`, which changes no p."""
    pairing = pair(ours, theirs, paired)
    family = family_of(bars, pairing.ours, pairing.theirs)
    shown = tuple(metrics) or _shown(bars, (*ours, *theirs))
    made: dict[str, Difference] = {}
    only_in: dict[str, list[str]] = {names[0]: [], names[1]: []}
    for place, (metric, bar) in enumerate(bars.items()):
        if metric not in family and metric not in shown:
            continue
        there = [any(life.value(metric) is not None for life in side) for side in (pairing.ours, pairing.theirs)]
        if there[0] != there[1]:
            only_in[names[0] if there[0] else names[1]].append(metric)
        if all(there):
            rng = np.random.default_rng([seed, place])
            made[metric] = compare_metric(
                pairing.ours, pairing.theirs, bar, metric, paired=pairing.paired, level=level, order=order, rng=rng
            )
    # What cannot be tested, for want of experts or of spread, costs the others nothing.
    tested = [name for name in family if made[name].p is not None]
    adjusted = dict(zip(tested, holm([made[name].p or 0.0 for name in tested]), strict=True))
    for name in family:
        made[name] = _worded(made[name], adjusted.get(name, 1.0), len(tested))
    first = (*ours, *theirs)[0]
    differences = {
        name: replace(made[name], sentence=sentence(made[name], *names))
        for name in (shown if metrics else bars)
        if name in made and name in shown
    }
    return Comparison(
        names[0],
        names[1],
        first.scenario_type,
        first.measure,
        pairing,
        differences,
        {name: (_summary(ours, name, bars[name]), _summary(theirs, name, bars[name])) for name in made},
        {name: tuple(only) for name, only in only_in.items() if only},
        pairing.left_out,
        _papers(ours, theirs),
        {name: made[name] for name in family},
    )


def _shown(bars: Mapping[str, Threshold], lives: Sequence[Score]) -> tuple[str, ...]:
    """Return the headline metrics; without any, those with a threshold, else all, untested."""
    leading = tuple(name for name, bar in bars.items() if leads(bar, lives))
    return leading or tuple(name for name, bar in bars.items() if bar.threshold is not None) or tuple(bars)


def _papers(ours: Sequence[Score], theirs: Sequence[Score]) -> tuple[str, ...]:
    preset = next((life.preset for life in (*ours, *theirs) if life.preset != STANDARD), "")
    return (f"{preset}: arithmetic means, experts as constants",) if preset else ()


def _worded(one: Difference, p_holm: float, family: int) -> Difference:
    """Add the word of the verdict: by the adjusted p, or by the constant if nothing varies and there is no p."""
    side = "better" if one.ahead > 0 else "worse"
    alone = one.p
    one = replace(one, family=family)
    if alone is None:
        return replace(one, word=side if one.test and one.ahead else "undecided")
    one = replace(one, p_holm=p_holm)
    if p_holm < 1 - one.level:
        return replace(one, word=side)
    return replace(one, word=f"likely {side}" if alone < 1 - one.level else "undecided")


def _summary(lives: Sequence[Score], metric: str, bar: Threshold) -> Summary:
    values = values_of(lives, metric)
    known = values[~np.isnan(values)]
    if not len(known):
        return Summary(0, None, None)
    scaled, back = _scaled(bar, lives, known)
    mean = float(scaled.mean())
    spread = None if len(known) < 2 else 0.0 if np.ptp(scaled) <= 1e-12 else float(scaled.std(ddof=1))
    return Summary(len(known), math.exp(mean) if back else mean, spread)


def _scaled(bar: Threshold, lives: Sequence[Score], *values: Array) -> tuple[Array, bool]:
    """Return all values in one array on the scale that decides, and whether that is logarithms."""
    together = np.concatenate(values)
    if any(life.preset != STANDARD for life in lives):
        return together, False
    scaled, scale = on_scale(bar, together)
    return scaled, scale == "log"


class _Sides(Struct, frozen=True, eq=False):
    """Both systems on the scale that decides, and the share of experts in the variance."""

    ours: Array
    theirs: Array
    parts: tuple[Part, ...] = ()
    withheld: Withheld | None = None
    notes: tuple[str, ...] = ()


def compare_metric(
    ours: Sequence[Score],
    theirs: Sequence[Score],
    bar: Threshold,
    metric: str,
    *,
    paired: bool = False,
    level: float = LEVEL,
    order: bool = False,
    rng: np.random.Generator | None = None,
) -> Difference:
    """Compare one metric of two systems; a lifetime without a value is left out, with its partner."""
    rng = rng or np.random.default_rng(0)
    every = (*ours, *theirs)
    judged = leads(bar, every)
    mine, other = _valued(ours, theirs, metric, paired=paired)
    notes = _missing((len(ours), len(theirs)), (len(mine), len(other)), paired)
    made = Difference(metric, len(mine), len(other), paired, level=level, better=bar.better, why=notes)
    if not mine or not other:
        return replace(made, why="no pair has both values" if paired else "a system has no value")
    together, logs = _scaled(bar, every, values_of(mine, metric), values_of(other, metric))
    sides = _Sides(together[: len(mine)], together[len(mine) :])
    if judged and bar.expert and all(life.preset == STANDARD for life in every):
        sides = _beside_experts(sides, mine, other, metric, logs=logs, paired=paired)
    none = rounding(bar, every, together, logs=logs)
    return _tested(made, sides, bar, none, judged=judged, logs=logs, order=order, rng=rng)


def _valued(
    ours: Sequence[Score], theirs: Sequence[Score], metric: str, *, paired: bool
) -> tuple[list[Score], list[Score]]:
    def has(life: Score) -> bool:
        return life.value(metric) is not None

    if not paired:
        return [one for one in ours if has(one)], [one for one in theirs if has(one)]
    both = [(one, two) for one, two in zip(ours, theirs, strict=True) if has(one) and has(two)]
    return [one for one, _ in both], [two for _, two in both]


def _beside_experts(
    sides: _Sides, mine: Sequence[Score], other: Sequence[Score], metric: str, *, logs: bool, paired: bool
) -> _Sides:
    """Add the variance of experts, unless both systems have the same ones."""
    scale: Literal["log", "linear"] = "log" if logs else "linear"
    if averaged := averaged_first(mine):
        return replace(sides, withheld=averaged)
    held, against = crossed(mine, metric, scale), crossed(other, metric, scale)
    if "unknown" in (held.sharing, against.sharing):
        return replace(sides, withheld=Withheld.UNKNOWN)
    if held.left_out or against.left_out:
        if paired:
            kept = {life.id for life in held.lives}, {life.id for life in against.lives}
            both = [(a, b) for a, b in zip(mine, other, strict=True) if a.id in kept[0] and b.id in kept[1]]
            mine, other = [a for a, _ in both], [b for _, b in both]
        else:
            mine, other = held.lives, against.lives
        lost = len(held.left_out) + len(against.left_out)
        if not mine or not other:
            return replace(sides, withheld=Withheld.NOT_HELD)
        held, against = crossed(mine, metric, scale), crossed(other, metric, scale)
        sides = replace(sides, notes=(f"{lost} left out: no experts of every task",))
    sides = replace(sides, ours=held.values, theirs=against.values)
    if one_set(held, against, paired=paired):
        return sides
    if "partly" in (held.sharing, against.sharing) or not apart(held, against):
        return replace(sides, withheld=Withheld.PARTLY)
    shared: list[Crossing] = [one for one in (held, against) if one.sharing == "shared"]
    fewest = min((one.fewest for one in shared), default=FEW_EXPERTS)
    if fewest < TOO_FEW_EXPERTS:
        parts = tuple(part for one in shared for part in one.parts()) if fewest > 1 else ()
        return replace(sides, parts=parts, withheld=Withheld.FEW_EXPERTS)
    notes = (*sides.notes, "few experts") if fewest < FEW_EXPERTS else sides.notes
    return replace(sides, parts=tuple(part for one in shared for part in one.parts()), notes=notes)


def _tested(
    made: Difference,
    sides: _Sides,
    bar: Threshold,
    none: float,
    *,
    judged: bool,
    logs: bool,
    order: bool,
    rng: np.random.Generator,
) -> Difference:
    back = math.exp if logs else float
    ours, theirs = sides.ours, sides.theirs
    middle = float(ours.mean() - theirs.mean())
    middle = 0.0 if abs(middle) <= none else middle
    made = replace(
        made,
        n=len(ours),
        baseline_n=len(theirs),
        scale="ratio" if logs else "difference",
        mean=back(float(ours.mean())),
        baseline_mean=back(float(theirs.mean())),
        difference=back(middle),
        why=_joined(*sides.notes, made.why),
    )
    made = with_secondary(made, ours, theirs, bar.sign, none, order=order, rng=rng)
    if sides.parts or sides.withheld:
        # Tests of the lives alone would take two sets of experts for two learners.
        made = replace(made, rank_p=None, permutation_p=None, order=None)
    fewest = min(len(ours), len(theirs))
    if fewest > 1:
        made = replace(made, sd=_sd(ours, none), baseline_sd=_sd(theirs, none))
    if fewest < FEWEST:
        few = "one lifetime" if fewest == 1 else "two lifetimes"
        return replace(made, why=_joined(f"{few}: values only", made.why))
    away = ours - theirs if made.paired else None
    lives = [part_of(away)] if away is not None else [part_of(ours), part_of(theirs)]
    parts = [*lives, *sides.parts]
    if math.sqrt(sum(part for part, _ in parts)) <= none:
        parts = [(0.0, freedom) for _, freedom in parts]
    interval = interval_of(middle, parts, made.level)
    if sides.withheld is not Withheld.FEW_EXPERTS or sides.parts:
        made = replace(made, low=back(interval.low), high=back(interval.high))
    if not judged or sides.withheld:
        return replace(made, why=_joined(sides.withheld, made.why))
    made = replace(made, test="paired t" if made.paired else "Welch's t")
    if not interval.variance:
        if not middle:
            return replace(made, p=1.0, why=_joined("the systems agree", made.why))
        return replace(made, why=_joined(EQUAL, made.why))
    return replace(made, statistic=interval.t(), df=interval.freedom, p=interval.p())


def _sd(values: Array, none: float) -> float:
    return 0.0 if np.ptp(values) <= none else float(values.std(ddof=1))


def _missing(given: tuple[int, int], used: tuple[int, int], paired: bool) -> str | None:
    lost = given[0] - used[0] if paired else given[0] - used[0] + given[1] - used[1]
    return f"{lost} {'pairs' if paired else 'lifetimes'} without a value are left out" if lost else None


def _joined(*said: str | None) -> str | None:
    return "; ".join(one for one in said if one) or None


def with_secondary(
    made: Difference,
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
    away = np.round((ours - theirs) / none) * none if made.paired else ours
    ours, theirs = (np.round(side / none) * none for side in (ours, theirs))
    delta = 2 * probability_of_improvement(sign * ours, sign * theirs) - 1
    made = replace(made, cliffs_delta=delta, improvement=(delta + 1) / 2)
    if made.paired:
        made = replace(made, improvement=float(np.mean(sign * away > 0) + np.mean(away == 0) / 2))
    if min(len(ours), len(theirs)) < 2:
        return made
    made = replace(made, hedges_g=hedges_g(ours, theirs, sign))
    if order:
        made = replace(made, order=almost_stochastic_order(sign * ours, sign * theirs, rng))
    if made.paired:
        return replace(made, rank_p=signed_rank_test(away), permutation_p=sign_flip_test(away, rng))
    return replace(made, rank_p=_mann_whitney(ours, theirs))


def _mann_whitney(ours: Array, theirs: Array) -> float:
    p = exact_rank_sum_test(ours, theirs)
    if p is not None:
        return p
    from scipy import stats  # type: ignore[import-untyped]

    return float(stats.mannwhitneyu(ours, theirs, alternative="two-sided").pvalue)
