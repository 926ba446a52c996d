"""What a pilot says of each headline metric: how many lifetimes show an effect that is named beforehand.

The effect is never that of the pilot's own mean: of plans made so, half to four fifths hold. The spread is taken at the
upper 97.5 % bound of what the pilot leaves open, and the shape from its own values, redrawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import PerdureError, closest, nearest
from perdure.metrics.declare import METRICS, AveragedAs, Threshold
from perdure.metrics.efficiency import relative_performance, sample_efficiency
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.score import Score
from perdure.metrics.transfer import backward_transfer, forward_transfer
from perdure.settings.presets import STANDARD
from perdure.stats.crossing import FEW_EXPERTS, Crossing, crossed, one_set
from perdure.stats.decide import is_judged, leads, margin_of, on_scale, sampled
from perdure.stats.interval import constant
from perdure.stats.model import Array, Tails
from perdure.stats.pairing import pair
from perdure.stats.power import (
    Dial,
    ExpertSample,
    Question,
    dial,
    lifetimes_exact,
    needed,
    power,
    redrawn_power,
    smallest_seen,
)
from perdure.text import listed

_MOST_REDRAWN = 3_000  # lifetimes; the mean of more is as good as normal, whatever their shape


class PilotMetric(Struct, frozen=True):
    """What a pilot says of one metric; None is what could not be said, and `why` says why."""

    metric: str
    n: int
    """Lifetimes with a value, or pairs of them."""
    mean: float | None = None
    """For the eye alone; no number rests on it. Of two learners the difference, or the ratio."""
    sd: float | None = None
    """Of logarithms where `scale` is log; of pairs that of differences."""
    sd_upper: float | None = None
    """The upper 97.5 % bound of what the true sd may be."""
    scale: AveragedAs = "linear"
    against: float | None = None
    """The threshold less its margin; None for two learners."""
    detect: float | None = None
    """The effect to be seen: a distance in the metric's unit, of a ratio the factor."""
    k: float | None = None
    """The same in sd, as seen."""
    plain: int | None = None
    """Lifetimes at the sd as seen, by the noncentral t."""
    upper: int | None = None
    """At its upper bound."""
    redrawn: int | None = None
    """At its upper bound, from the pilot's own values redrawn."""
    lifetimes: int | None = None
    """The larger of the two: the plan."""
    power_plain: float | None = None
    power_upper: float | None = None
    """At the number of lifetimes that was asked about, with the sd as seen and at its bound."""
    sees: float | None = None
    """The effect that so many would see, at the upper bound, in the unit of `detect`."""
    experts: int | None = None
    """Experts per task that are counted on."""
    dial: Dial | None = None
    """Power by lifetimes (rows) and experts per task (columns)."""
    why: str | None = None


class _Seen(Struct, frozen=True):
    """One metric of a pilot on the scale that decides: the values of each side, and experts that vary."""

    sides: tuple[Array, ...]
    scale: AveragedAs
    experts: tuple[Crossing, ...] = ()
    """Of each side that has a set of its own, shared by its lifetimes."""
    why: str | None = None

    @property
    def sd(self) -> float:
        return math.sqrt(sum(float(one.var(ddof=1)) for one in self.sides) / len(self.sides))

    @property
    def freedom(self) -> float:
        """Of the sd; a learner that stands for both sides counts once."""
        return sum(len(one) - 1.0 for one in {id(one): one for one in self.sides}.values())


def spread_bound(freedom: float, level: float = 0.975) -> float:
    """How many times the sd seen, with so many degrees of freedom, the true one may be, with confidence `level`."""
    from scipy.special import chdtri  # type: ignore[import-untyped]

    return math.sqrt(freedom / float(chdtri(freedom, level)))


def tails_of(lives: Sequence[Score], question: Question) -> Tails:
    """Of the test that will decide: the papers held one learner's lifetimes against thresholds by a one-tailed one."""
    return "one" if question == "threshold" and any(life.preset != STANDARD for life in lives) else "two"


def pilot_metrics(
    lives: Sequence[Score],
    bars: Mapping[str, Threshold],
    lifetimes: int,
    *,
    other: Sequence[Score] = (),
    question: Question = "threshold",
    alpha: float = 0.05,
    beta: float = 0.1,
    detect: Mapping[str, float] | None = None,
    each: int = FEW_EXPERTS,
    rng: np.random.Generator | None = None,
) -> dict[str, PilotMetric]:
    """How many lifetimes, of each learner, show the effects in `detect`, by what a pilot says of each headline metric.

    `detect` names a distance beyond the threshold less its margin, or between two learners; of ratios a factor. What
    has a margin needs no name: that the learner keeps, the margin away. Without an effect it says what `lifetimes` see.
    `other` is the second learner's pilot; unpaired, the first's spread can stand for both. `each`: experts per task.
    """
    every = (*lives, *other)
    asks = is_judged if question == "threshold" else leads
    shown = [name for name, bar in bars.items() if asks(bar, every)]
    if not shown:
        raise PerdureError(
            "the pilot has no headline metric with a verdict to plan for", "score it with metrics that have thresholds"
        )
    wanted = {METRICS.canonical(name): effect for name, effect in (detect or {}).items()}
    if unknown := set(wanted) - set(shown):
        raise PerdureError(
            f"not among the pilot's headline metrics: {', '.join(sorted(unknown))}", f"choose of {', '.join(shown)}"
        )
    ask = _Ask(question, lifetimes, alpha, beta, tails_of(every, question), each, rng or np.random.default_rng(0))
    return {
        name: ask.of(name, bars[name], [one for one in (tuple(lives), tuple(other)) if one], wanted.get(name))
        for name in shown
    }


def check_effect(metric: str, wanted: float, *, logs: bool) -> None:
    """Refuse an effect that cannot be one: of a ratio a factor of 1 or less, else what is not positive."""
    if logs and wanted <= 1:
        raise PerdureError(
            "of a ratio that is no effect", "give a factor above 1, such as 1.2", where=f"{metric}={wanted:g}"
        )
    if not (0 < wanted < math.inf):
        raise PerdureError("that is no effect to detect", "give a positive number", where=f"{metric}={wanted:g}")


class _Ask(Struct, frozen=True):
    """What is asked of every metric alike."""

    question: Question
    lifetimes: int
    alpha: float
    beta: float
    tails: Tails
    each: int
    rng: np.random.Generator

    def of(self, name: str, bar: Threshold, pilots: Sequence[Sequence[Score]], wanted: float | None) -> PilotMetric:
        """What the pilots say of one metric, whose effect to be seen is `wanted`."""
        found = [[life for life in one if life.value(name) is not None] for one in pilots]
        count = min(len(one) for one in found)
        if count < 2:
            reasons = [why for one in pilots for life in one if (why := life.why.get(name))]
            said = f"{count} of {len(min(pilots, key=len))} pilot lifetimes have a value; a spread needs two"
            return PilotMetric(name, count, why=said + (f" ({reasons[0]})" if reasons else ""))
        seen = self._seen(name, bar, found)
        margin, _ = margin_of(bar, found[0])
        against = None if bar.threshold is None or self.question != "threshold" else bar.threshold - bar.sign * margin
        back = math.exp if seen.scale == "log" else float
        mean = seen.sides[0].mean() - (seen.sides[1].mean() if len(found) > 1 and len(seen.sides) > 1 else 0.0)
        made = PilotMetric(
            name, len(seen.sides[0]), back(mean), seen.sd, scale=seen.scale, against=against, why=seen.why
        )
        if any(constant(one) for one in seen.sides):
            return replace(made, sd=0.0, why="the pilot has no spread (sd 0), so nothing can be planned from it")
        if wanted is None and against is not None and margin and seen.scale == "linear":
            wanted = margin
        return self._numbers(made, seen, bar.sign, wanted)

    def _seen(self, name: str, bar: Threshold, found: Sequence[Sequence[Score]]) -> _Seen:
        papers = any(life.preset != STANDARD for one in found for life in one)
        if self.question == "threshold":
            sample = sampled(found[0], name, bar, judged=True, papers=papers)
            held = sample.crossing
            if held is not None and held.sharing == "shared":
                return _Seen((sample.values,), sample.scale, (held,))
            lost = f"{sample.withheld}; planned as if experts did not vary" if sample.withheld else None
            return _Seen((sample.values,), sample.scale, why=lost)
        if self.question == "paired":
            if len(found) < 2:
                raise PerdureError("a paired plan needs the spread of the differences", "give a pilot of both learners")
            matched = pair(found[0], found[1], "yes")
            found = (matched.ours, matched.theirs)
        together = np.array([life.value(name) for one in found for life in one], dtype=np.float64)
        scaled, scale = on_scale(replace(bar, scale="linear") if papers else bar, together)
        values = np.split(scaled, np.cumsum([len(one) for one in found])[:-1])
        sides = (values[0] - values[1],) if self.question == "paired" else (values[0], values[-1])
        held_by = [crossed(one, name, scale) for one in found] if bar.expert and not papers else []
        if len(held_by) > 1 and one_set(held_by[0], held_by[1], paired=self.question == "paired"):
            held_by = []
        experts = tuple(one for one in held_by if one.sharing == "shared")
        known = all(one.sharing in ("shared", "own") for one in held_by)
        return _Seen(
            sides, scale, experts, None if known else "the spread between experts is unknown; planned without it"
        )

    def _numbers(self, made: PilotMetric, seen: _Seen, sign: float, wanted: float | None) -> PilotMetric:
        bound, logs = spread_bound(seen.freedom), seen.scale == "log"
        upper = bound * seen.sd
        if any(one.fewest < 2 for one in seen.experts):
            return replace(made, sd_upper=upper, why="one expert per task does not show how much experts differ; run 3")
        spreads = [float(table.mean(axis=0).std(ddof=1)) for one in seen.experts for table in one.tables]
        tasks = max((len(one.tables) for one in seen.experts), default=0)
        plain_beside = upper_beside = None
        by_experts = 1.0
        if spreads:
            by_experts = spread_bound(sum(table.shape[1] - 1.0 for one in seen.experts for table in one.tables))
            typical = math.sqrt(sum(one**2 for one in spreads) / len(spreads))
            plain_beside = ExpertSample(self.each, tasks, typical / seen.sd)
            upper_beside = ExpertSample(self.each, tasks, by_experts * typical / upper)
        made = replace(
            made,
            sd_upper=upper,
            experts=self.each if spreads else None,
            sees=self._sees(upper, upper_beside, logs=logs),
        )
        if wanted is None:
            return made
        check_effect(made.metric, wanted, logs=logs)
        effect = math.log(wanted) if logs else wanted

        def reached(count: int, sd: float, beside: ExpertSample | None) -> float:
            return power(count, effect / sd, self.alpha, self.tails, question=self.question, beside=beside)

        def count_at(sd: float, beside: ExpertSample | None) -> int | None:
            k = effect / sd
            return lifetimes_exact(k, self.alpha, self.beta, self.tails, question=self.question, beside=beside)

        made = replace(made, detect=wanted, k=effect / seen.sd)
        try:
            plain, most = count_at(seen.sd, plain_beside), count_at(upper, upper_beside)
        except PerdureError as problem:
            return replace(made, why=problem.said)
        # Values drawn again from n have a smaller spread than those n were drawn from.
        shapes = [sign * (one - one.mean()) * bound * math.sqrt(len(one) / (len(one) - 1)) for one in seen.sides]
        repeats = 2 if self.question != "threshold" and len(seen.experts) == 1 else 1
        experts = [(by_experts * one / tasks, self.each) for one in spreads] * repeats
        stream = int(self.rng.integers(2**32))

        def redrawn(count: int) -> float:
            rng = np.random.default_rng(stream)  # the same luck for every number, so that they can be compared
            return redrawn_power(shapes, effect, count, rng, alpha=self.alpha, tails=self.tails, experts=experts)

        again = None
        if most is not None and most <= _MOST_REDRAWN:
            again = needed(lambda count: redrawn(count) >= 1 - self.beta, most=2 * _MOST_REDRAWN)
        upper_power = reached(self.lifetimes, upper, upper_beside)
        if self.lifetimes <= _MOST_REDRAWN and (upper_beside is None or self.each >= 3):
            upper_power = min(upper_power, redrawn(self.lifetimes))
        return replace(
            made,
            plain=plain,
            upper=most,
            redrawn=again,
            lifetimes=None if most is None else max(most, again or 0),
            power_plain=reached(self.lifetimes, seen.sd, plain_beside),
            power_upper=upper_power,
            dial=None
            if upper_beside is None
            else dial(effect / upper, self.alpha, self.beta, upper_beside, self.tails, self.question),
        )

    def _sees(self, sd: float, beside: ExpertSample | None, *, logs: bool) -> float | None:
        """The effect that the lifetimes asked about see with the power wanted, to three digits."""
        found = smallest_seen(self.lifetimes, self.alpha, self.beta, self.tails, question=self.question, beside=beside)
        if found is None:
            return None
        effect = found * sd
        return math.exp(effect) if logs and effect < 50 else None if logs else effect


Spread = tuple[float, float]
"""What half of the kinds of lives stayed below, and nine in ten of them."""


class Prior(Struct, frozen=True):
    """How one metric differed, on the scale that decides: points, or logarithms of ratios."""

    scale: AveragedAs
    lives: Spread
    """The sd of lifetimes of one learner, held against the same experts."""
    pairs: Spread
    """That of the differences of two learners' lifetimes of the same seed and order."""
    experts: Spread | None = None
    """That of the experts of one task."""


PRIORS: Mapping[str, Prior] = {
    performance_maintenance.name: Prior("linear", (3.5, 10.0), (3.6, 16.0)),
    forward_transfer.name: Prior("log", (0.18, 0.51), (0.15, 0.65)),
    backward_transfer.name: Prior("log", (0.061, 0.38), (0.085, 0.49)),
    relative_performance.name: Prior("log", (0.046, 0.17), (0.053, 0.41), (0.075, 0.18)),
    sample_efficiency.name: Prior("log", (0.19, 0.93), (0.2, 1.3), (0.33, 1.2)),
}
"""By metric, to two digits."""


def prior_metrics(
    detect: Mapping[str, float],
    lifetimes: int,
    *,
    question: Question = "threshold",
    alpha: float = 0.05,
    beta: float = 0.1,
    each: int = FEW_EXPERTS,
    tasks: int = 3,
) -> dict[str, PilotMetric]:
    """How many lifetimes, of each learner, show the effects in `detect`, if they differ as those of the study did.

    `sd` is what half of its kinds of lives stayed below and `sd_upper` what nine in ten did; nothing was redrawn.
    """
    found: dict[str, PilotMetric] = {}
    for given, effect in detect.items():
        name = METRICS.canonical(given)
        if name not in PRIORS:
            raise PerdureError(
                "how much its lifetimes differ is not known beforehand",
                nearest(name, PRIORS) if closest(name, PRIORS) else f"add a pilot, or choose {listed(PRIORS, 'or')}",
                where=given,
            )
        found[name] = _planned(name, effect, lifetimes, question, alpha, beta, each, tasks)
    return found


def _planned(
    name: str, wanted: float, lifetimes: int, question: Question, alpha: float, beta: float, each: int, tasks: int
) -> PilotMetric:
    prior, declared = PRIORS[name], METRICS.get(name)
    logs = prior.scale == "log"
    check_effect(name, wanted, logs=logs)
    effect = math.log(wanted) if logs else wanted
    sds = prior.pairs if question == "paired" else prior.lives
    besides = [
        None if prior.experts is None else ExpertSample(each, tasks, experts / sd)
        for sd, experts in zip(sds, prior.experts or sds, strict=True)
    ]
    counts = [
        lifetimes_exact(effect / sd, alpha, beta, question=question, beside=beside)
        for sd, beside in zip(sds, besides, strict=True)
    ]
    powers = [
        power(lifetimes, effect / sd, alpha, question=question, beside=beside)
        for sd, beside in zip(sds, besides, strict=True)
    ]
    smallest = smallest_seen(lifetimes, alpha, beta, question=question, beside=besides[1])
    away = None if smallest is None else smallest * sds[1]
    threshold = declared.threshold if question == "threshold" else None
    return PilotMetric(
        name,
        0,
        sd=sds[0],
        sd_upper=sds[1],
        scale=prior.scale,
        against=None if threshold is None else threshold - declared.margin,
        detect=wanted,
        k=effect / sds[0],
        plain=counts[0],
        upper=counts[1],
        lifetimes=counts[1],
        power_plain=powers[0],
        power_upper=powers[1],
        sees=math.exp(away) if logs and away is not None and away < 50 else None if logs else away,
        experts=None if besides[1] is None else each,
        dial=None if besides[1] is None else dial(effect / sds[1], alpha, beta, besides[1], "two", question),
    )
