"""Plans by metric: the lifetimes that show an effect named beforehand, by a pilot's spread or by that of a study.

The effect is never that of the pilot's own mean: of plans made so, half to four fifths hold. The spread is taken at the
upper 97.5 % bound that the pilot leaves open, and the shape from its own values, redrawn. Without a pilot the spreads
are those of 360 000 lifetimes: `studies/ten-thousand-lives` ran six learners through three families of tasks in two
layouts, 36 kinds of lifetimes. A test compares the numbers here with its results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.metrics.declare import METRICS, AveragedAs, Threshold
from perdure.metrics.efficiency import relative_performance, sample_efficiency
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.presets import compared
from perdure.metrics.score import Score
from perdure.metrics.transfer import backward_transfer, forward_transfer
from perdure.settings.presets import STANDARD
from perdure.stats.compare import is_compared
from perdure.stats.crossing import FEW_EXPERTS, Crossing, expert_noise
from perdure.stats.decide import is_judged, margin_of, on_scale, sampled
from perdure.stats.interval import constant
from perdure.stats.model import Array, Tails
from perdure.stats.pairing import pair
from perdure.stats.power import (
    DESIGN,
    Design,
    ExpertSample,
    Narrower,
    PowerGrid,
    Question,
    lifetimes_exact,
    narrowed,
    needed,
    power,
    power_grid,
    redrawn_power,
    smallest_effect,
)
from perdure.stats.spread import evaluation_noise
from perdure.text import join_words

_MOST_REDRAWN = 3_000  # lifetimes; the mean of more is as good as normal, whatever their shape
Spread = tuple[float, float]
"""An sd that half of the kinds of lifetimes stayed below, and one that nine in ten did."""


class PilotMetric(Struct, frozen=True):
    """The plan of one metric. Unknown values are None, and `why` gives the reason."""

    metric: str
    n: int
    """Lifetimes with a value, or pairs of them."""
    mean: float | None = None
    """For the eye alone; no number rests on it. Of two learners the difference, or the ratio."""
    sd: float | None = None
    """Of logarithms where `scale` is log; of pairs that of differences."""
    sd_upper: float | None = None
    """The upper 97.5 % bound of the true sd."""
    scale: AveragedAs = "linear"
    against: float | None = None
    """The threshold minus its margin; None for two learners."""
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
    """The effect that this number of lifetimes shows, at the upper bound, in the unit of `detect`."""
    experts: int | None = None
    """Experts per task that are counted on."""
    narrower: Narrower | None = None
    """The gain from twice the lifetimes, evaluations or experts, at the number of lifetimes that was asked about."""
    grid: PowerGrid | None = field(default=None, name="dial")
    """Power by lifetimes (rows) and experts per task (columns)."""
    why: str | None = None


def check_effect(metric: str, wanted: float, *, logs: bool) -> None:
    """Refuse an effect that cannot be one: for a ratio a factor of 1 or less, else a number that is not positive."""
    if logs and wanted <= 1:
        raise PerdureError(
            "of a ratio that is no effect", "give a factor above 1, such as 1.2", where=f"{metric}={wanted:g}"
        )
    if not (0 < wanted < math.inf):
        raise PerdureError("that is no effect to detect", "give a positive number", where=f"{metric}={wanted:g}")


def tails_of(lives: Sequence[Score], question: Question) -> Tails:
    """Return the tails of the test that decides: the papers test one learner's lifetimes one-tailed."""
    return "one" if question == "threshold" and any(life.preset != STANDARD for life in lives) else "two"


def _with_smallest(made: PilotMetric, lifetimes: int, upper: Design) -> PilotMetric:
    """Add the effect that `lifetimes` show at the upper sd."""
    effect, sd = smallest_effect(lifetimes, upper), made.sd_upper
    experts = upper.experts.each if upper.experts else None
    if effect is None or sd is None:
        return replace(made, experts=experts)
    away = effect * sd
    return replace(made, experts=experts, sees=away if made.scale != "log" else math.exp(away) if away < 50 else None)


def _with_numbers(made: PilotMetric, effect: float, lifetimes: int, plain: Design, upper: Design) -> PilotMetric:
    """Add the lifetimes that `effect` needs at the sd and at the upper sd, and the power of `lifetimes`."""
    assert made.sd is not None
    assert made.sd_upper is not None
    k, least = effect / made.sd, effect / made.sd_upper
    count, most = lifetimes_exact(k, plain), lifetimes_exact(least, upper)
    return replace(
        made,
        plain=count,
        upper=most,
        lifetimes=most,
        power_plain=power(lifetimes, k, plain),
        power_upper=power(lifetimes, least, upper),
        grid=power_grid(least, upper),
    )


# --- from a pilot ---------------------------------------------------------------------------------


class _Pilot(Struct, frozen=True):
    """One metric of a pilot on the scale that decides: the values of each side, and experts that vary."""

    sides: tuple[Array, ...]
    scale: AveragedAs
    experts: Crossing | None = None
    """Those that its lifetimes share."""
    own_experts: float | None = None
    """The part of the variance that is due to each lifetime's own experts."""
    why: str | None = None

    @property
    def sd(self) -> float:
        return math.sqrt(sum(float(values.var(ddof=1)) for values in self.sides) / len(self.sides))

    @property
    def freedom(self) -> float:
        """Degrees of freedom of `sd`. A learner used for both sides counts once."""
        return sum(len(values) - 1.0 for values in {id(values): values for values in self.sides}.values())


def spread_bound(freedom: float, level: float = 0.975) -> float:
    """Return the factor by which the true sd may exceed one seen with `freedom`, with confidence `level`."""
    from scipy.special import chdtri  # type: ignore[import-untyped]

    return math.sqrt(freedom / float(chdtri(freedom, level)))


def pilot_metrics(
    lives: Sequence[Score],
    bars: Mapping[str, Threshold],
    lifetimes: int,
    design: Design = DESIGN,
    *,
    other: Sequence[Score] = (),
    detect: Mapping[str, float] | None = None,
    each: int = FEW_EXPERTS,
    rng: np.random.Generator | None = None,
) -> dict[str, PilotMetric]:
    """Return the lifetimes, of each learner, that show the effects in `detect`, by the pilot's headline metrics.

    `detect` names a distance beyond the threshold minus its margin, or between two learners; for ratios a factor. A
    metric with a margin needs no effect: the margin is one. Without an effect the plan has the one `lifetimes` show.
    `other` is the second learner's pilot; unpaired, the first's spread can replace it. `each`: experts per task.
    """
    every = (*lives, *other)
    one = design.question == "threshold"
    shown = [name for name, bar in bars.items() if (is_judged(bar, every) if one else is_compared(name, bar, every))]
    if not shown:
        raise PerdureError(
            "the pilot has no headline metric with a verdict to plan for", "score it with metrics that have thresholds"
        )
    wanted = {METRICS.canonical(name): effect for name, effect in (detect or {}).items()}
    if unknown := set(wanted) - set(shown):
        raise PerdureError(f"the plan does not test {', '.join(sorted(unknown))}", f"choose of {', '.join(shown)}")
    design, rng = replace(design, tails=tails_of(every, design.question)), rng or np.random.default_rng(0)
    pilots = [side for side in (tuple(lives), tuple(other)) if side]
    return {
        name: _from_pilot(name, bars[name], pilots, wanted.get(name), lifetimes, design, each, rng) for name in shown
    }


def _from_pilot(
    name: str,
    bar: Threshold,
    pilots: Sequence[Sequence[Score]],
    wanted: float | None,
    lifetimes: int,
    design: Design,
    each: int,
    rng: np.random.Generator,
) -> PilotMetric:
    valued = [[life for life in side if life.value(name) is not None] for side in pilots]
    count = min(len(side) for side in valued)
    if count < 2:
        reasons = [why for side in pilots for life in side if (why := life.why.get(name))]
        lacking = f"{count} of {len(min(pilots, key=len))} pilot lifetimes have a value; a spread needs two"
        return PilotMetric(name, count, why=lacking + (f" ({reasons[0]})" if reasons else ""))
    pilot = _read_pilot(name, bar, valued, design.question)
    margin, _ = margin_of(bar, valued[0])
    against = None if bar.threshold is None or design.question != "threshold" else bar.threshold - bar.sign * margin
    logs = pilot.scale == "log"
    mean = pilot.sides[0].mean() - (pilot.sides[1].mean() if len(valued) > 1 and len(pilot.sides) > 1 else 0.0)
    made = PilotMetric(
        name,
        len(pilot.sides[0]),
        math.exp(mean) if logs else float(mean),
        pilot.sd,
        scale=pilot.scale,
        against=against,
        why=pilot.why,
    )
    if any(constant(values) for values in pilot.sides):
        return replace(made, sd=0.0, why="the pilot has no spread (sd 0), so nothing can be planned from it")
    bound = spread_bound(pilot.freedom)
    made = replace(made, sd_upper=bound * pilot.sd)
    if pilot.experts and pilot.experts.fewest < 2:
        return replace(made, why="one expert per task does not show how much experts differ; run 3")
    tables, shares = (pilot.experts.tables, pilot.experts.shares) if pilot.experts else ((), ())
    # On the scale of a mean over tasks.
    spreads = [share * float(table.mean(axis=0).std(ddof=1)) for share, table in zip(shares, tables, strict=True)]
    tasks = len(tables)
    plain = upper = design
    experts_bound = 1.0
    if spreads:
        experts_bound = spread_bound(sum(table.shape[1] - 1.0 for table in tables))
        typical = tasks * math.sqrt(sum(spread**2 for spread in spreads) / len(spreads)) / pilot.sd
        plain = replace(design, experts=ExpertSample(each, tasks, typical))
        upper = replace(design, experts=ExpertSample(each, tasks, experts_bound * typical / bound))
    gains = _narrowed(name, pilot, valued, lifetimes, plain)
    made = replace(_with_smallest(made, lifetimes, upper), narrower=gains)
    if wanted is None and against is not None and margin and not logs:
        wanted = margin
    if wanted is None:
        return made
    check_effect(name, wanted, logs=logs)
    effect = math.log(wanted) if logs else wanted
    made = replace(made, detect=wanted, k=effect / pilot.sd)
    try:
        made = _with_numbers(made, effect, lifetimes, plain, upper)
    except PerdureError as problem:
        return replace(made, why=problem.detail)
    # Values redrawn from n values have a smaller spread than the population of those n.
    shapes = [
        bar.sign * (values - values.mean()) * bound * math.sqrt(len(values) / (len(values) - 1))
        for values in pilot.sides
    ]
    experts = [(experts_bound * spread, each) for spread in spreads]
    stream = int(rng.integers(2**32))

    def redrawn(count: int) -> float:
        draws = np.random.default_rng(stream)  # the same draws for every count, so that counts can be compared
        return redrawn_power(shapes, effect, count, draws, alpha=design.alpha, tails=design.tails, experts=experts)

    count_redrawn = None
    if made.upper is not None and made.upper <= _MOST_REDRAWN:
        count_redrawn = needed(lambda count: redrawn(count) >= 1 - design.beta, most=2 * _MOST_REDRAWN)
    assert made.power_upper is not None
    power_upper = made.power_upper
    if lifetimes <= _MOST_REDRAWN and (not spreads or each >= 3):
        power_upper = min(power_upper, redrawn(lifetimes))
    return replace(
        made,
        redrawn=count_redrawn,
        lifetimes=None if made.upper is None else max(made.upper, count_redrawn or 0),
        power_upper=power_upper,
    )


def _narrowed(name: str, pilot: _Pilot, valued: Sequence[Sequence[Score]], lifetimes: int, design: Design) -> Narrower:
    noise = _noise([evaluation_noise(side, name, pilot.scale) for side in valued], design.question)
    evaluations, own = (None if part is None else min(1.0, part / pilot.sd**2) for part in (noise, pilot.own_experts))
    lives = [life for side in valued for life in side]
    evaluated = sum(life.evaluation_experiences for life in lives)
    experiences = evaluated + sum(life.learning_experiences for life in lives)
    return narrowed(lifetimes, design, evaluations, own, evaluated / experiences if experiences else None)


def _noise(of_sides: Sequence[float | None], question: Question) -> float | None:
    """Return the variance of a value by noise: of the difference of a pair the sum of both sides', else their mean."""
    known = [noise for noise in of_sides if noise is not None]
    if not known or len(known) < len(of_sides):
        return None
    return sum(known) / (1 if question == "paired" else len(known))


def _read_pilot(name: str, bar: Threshold, valued: Sequence[Sequence[Score]], question: Question) -> _Pilot:
    papers = any(life.preset != STANDARD for side in valued for life in side)
    if question == "threshold":
        sample = sampled(valued[0], name, bar, judged=True, papers=papers)
        held = sample.crossing
        if held is not None and held.sharing == "shared":
            return _Pilot((sample.values,), sample.scale, held)
        own = expert_noise(held.lives, name, sample.scale) if held and held.sharing == "own" else None
        withheld = f"{sample.withheld}; planned as if experts did not vary" if sample.withheld else None
        return _Pilot((sample.values,), sample.scale, own_experts=own, why=withheld)
    if question == "paired":
        if len(valued) < 2:
            raise PerdureError("a paired plan needs the spread of the differences", "give a pilot of both learners")
        matched = pair(valued[0], valued[1], "yes")
        valued = (matched.ours, matched.theirs)
    together = np.array([life.value(name) for side in valued for life in side], dtype=np.float64)
    scaled, scale = on_scale(replace(bar, scale="linear") if papers else bar, together)
    values = np.split(scaled, np.cumsum([len(side) for side in valued])[:-1])
    sides = (values[0] - values[1],) if question == "paired" else (values[0], values[-1])
    return _Pilot(sides, scale)


# --- from a study, without a pilot ----------------------------------------------------------------


class Prior(Struct, frozen=True):
    """The spread of one metric on the scale that decides: points, or logarithms of ratios."""

    scale: AveragedAs
    lives: Spread
    """The sd of lifetimes of one learner, relative to the same experts."""
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
    detect: Mapping[str, float], lifetimes: int, design: Design = DESIGN, *, each: int = FEW_EXPERTS, tasks: int = 3
) -> dict[str, PilotMetric]:
    """Return the lifetimes, of each learner, that show the effects in `detect` if they differ as those of the study.

    `sd` is what half of its kinds of lifetimes stayed below and `sd_upper` what nine in ten did; nothing is redrawn.
    """
    plans: dict[str, PilotMetric] = {}
    for given, wanted in detect.items():
        name = METRICS.canonical(given)
        declared = METRICS.get(name)
        known = PRIORS if design.question == "threshold" else [metric for metric in PRIORS if metric in compared()]
        if name not in known:
            raise PerdureError(
                "no prior spread of this metric is known",
                f"add a pilot, or choose {join_words(known, 'or')}",
                where=given,
            )
        prior = PRIORS[name]
        logs = prior.scale == "log"
        check_effect(name, wanted, logs=logs)
        sds = prior.pairs if design.question == "paired" else prior.lives
        plain = upper = design
        if prior.experts:
            plain, upper = (
                replace(design, experts=ExpertSample(each, tasks, experts / sd))
                for sd, experts in zip(sds, prior.experts, strict=True)
            )
        effect = math.log(wanted) if logs else wanted
        threshold = declared.threshold if design.question == "threshold" else None
        made = PilotMetric(
            name,
            0,
            sd=sds[0],
            sd_upper=sds[1],
            scale=prior.scale,
            against=None if threshold is None else threshold - declared.margin,
            detect=wanted,
            k=effect / sds[0],
        )
        plans[name] = _with_numbers(_with_smallest(made, lifetimes, upper), effect, lifetimes, plain, upper)
    return plans
