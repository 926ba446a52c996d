"""Plan effects in the units of metrics, from the lifetimes of a pilot or from the spreads of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.model import Survey
from perdure.metrics.score import Score
from perdure.settings import Settings
from perdure.stats.groups import check_comparable, check_poolable, split, usable, why_not_pooled
from perdure.stats.learning import Systems
from perdure.stats.pilot import PilotMetric, pilot_metrics, prior_metrics, tails_of
from perdure.stats.plan import Plan, family, make_plan
from perdure.stats.power import Design, Question
from perdure.stats.systems import on_common_references
from perdure.text import plural

_WITHOUT_PILOT = (
    "There is no pilot: `sd` is the median spread over 36 kinds of lifetimes in a study (Ten thousand lives, in the "
    "docs), `upper sd` the 90th percentile. A pilot of your own is more reliable."
)


def plan_from_priors(
    detect: Mapping[str, float], design: Design, *, lifetimes: int | None, experts_per_task: int, tasks: int
) -> Plan:
    """Return the plan for the effects in `detect`, metric by metric, from the spreads of a study."""
    plan = make_plan(1.0, design, lifetimes=lifetimes)
    metrics = prior_metrics(detect, plan.power_at.lifetimes, design, each=experts_per_task, tasks=tasks)
    experts = f"Relative to experts, the numbers are for {experts_per_task} per task (see --experts-per-task)."
    notes = (experts, _WITHOUT_PILOT) if any(metric.experts for metric in metrics.values()) else (_WITHOUT_PILOT,)
    return replace(plan, prior=metrics, notes=notes)


def plan_from_pilot(
    pilot: Survey,
    settings: Settings,
    design: Design,
    *,
    lifetimes: int | None,
    detect: Mapping[str, float],
    scenario: str | None,
    experts_per_task: int,
    seed: int,
) -> Plan:
    """Return the plan for the effects in `detect`, metric by metric, from the spread of a pilot's lifetimes."""
    sides, bars = _pilot_sides(pilot, settings, scenario, design.question), pilot.bars
    if design.question != "threshold":
        sides, bars, _ = on_common_references(sides, bars)
    for metric in settings.ids:
        if metric not in bars:
            raise UnknownNameError("metric of the pilot", metric, bars)
    first, *others = sides.values()
    design = replace(design, tails=tails_of(first, design.question))
    plan = make_plan(1.0, design, lifetimes=lifetimes)
    metrics = pilot_metrics(
        first,
        {name: bar for name, bar in bars.items() if not settings.ids or name in settings.ids},
        plan.power_at.lifetimes,
        design,
        other=others[0] if others else (),
        detect=detect,
        each=experts_per_task,
        rng=np.random.default_rng(seed),
    )
    return replace(plan, pilot=metrics, notes=tuple(_notes(sides, metrics, detect, design)))


def _pilot_sides(pilot: Survey, settings: Settings, scenario: str | None, question: Question) -> Systems:
    """Return the complete lifetimes of one learner, or of the two that are compared, in one scenario type."""
    lives, _ = usable(pilot.scores)
    types = dict.fromkeys(str(life.scenario_type) for life in lives)
    if scenario is not None:
        if scenario not in types:
            raise UnknownNameError("scenario type of the pilot", scenario, types)
        lives = tuple(life for life in lives if life.scenario_type == scenario)
    elif len(types) > 1:
        raise PerdureError(
            f"{len(types)} scenario types", f"choose one: --scenario {' or '.join(types)}", where="--pilot"
        )
    groups = split(lives, settings.group, pool=settings.pool)
    most = 1 if question == "threshold" else 2
    if not 1 <= len(groups) <= most:
        learners = "one learner" if most == 1 else "one learner, or the two learners to compare"
        raise PerdureError(
            f"{len(groups)} groups ({'; '.join(groups)}), and a pilot is {learners}, in one scenario type",
            why_not_pooled(pilot) or "give the paths of those only",
            where="--pilot",
        )
    check_comparable([life for group in groups.values() for life in group], "--pilot")
    for name, group in groups.items():
        check_poolable(group, "--pilot")
        if len(group) < 2:
            raise PerdureError(
                f"one lifetime ({name}) has no spread", "give two or more, ideally eleven", where="--pilot"
            )
    return groups


def _notes(
    sides: Mapping[str, Sequence[Score]],
    metrics: Mapping[str, PilotMetric],
    detect: Mapping[str, float],
    design: Design,
) -> Iterator[str]:
    """Yield the assumptions of a plan, and the limits of a pilot with few lifetimes."""
    first = next(iter(sides.values()))
    yield f"pilot: {' and '.join(sides)}, {plural(sum(map(len, sides.values())), 'lifetime')}"
    yield (
        "Lifetimes: from the number at the pilot's sd to the larger of two numbers at its upper 97.5 % bound, by the "
        "noncentral t and by resampling the pilot's values."
    )
    for name, metric in metrics.items():
        if metric.detect is not None and name not in detect:
            yield f"{name}: the effect to detect is its margin, so that a learner that loses nothing passes."
    if design.tails == "one":
        yield f"Planned for the test of {first[0].preset}: one-tailed, without a margin, experts as constants."
    if design.question != "threshold":
        yield (
            f"With Holm's adjustment over {family()} metrics, a metric that differs alone is tested at "
            f"α / {family()}; set it with --alpha."
        )
    spread = [metric for metric in metrics.values() if metric.sd and metric.sd_upper]
    if spread:
        bound = max((metric.sd_upper or 0.0) / (metric.sd or 1.0) for metric in spread)
        few = min(metric.n for metric in spread)
        yield (
            f"The true sd may be {bound:.1f} times the one seen, so the larger number is up to {bound**2:.1f} times "
            "the smaller (from 11 lifetimes two to three times what a known spread would need); of such plans about "
            "four in five or more really have 80 % power."
        )
        yield f"A pilot of {few} misses a group of 10 % of lifetimes in {0.9**few:.0%} of cases; no plan can see it."
