"""plan: how many lifetimes are needed, and what they cost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.model import Survey
from perdure.gather.survey import Frame, Source
from perdure.settings import Settings
from perdure.text import plural
from perdure.verbs.logs import Logs, surveyed

if TYPE_CHECKING:
    from perdure.metrics.declare import Threshold
    from perdure.metrics.score import Score
    from perdure.stats.pilot import PilotMetric
    from perdure.stats.plan import Plan
    from perdure.stats.power import Design, Question


_WITHOUT_PILOT = (
    "There is no pilot, so the spread is that of 36 kinds of lives in a study (Ten thousand lives, in the docs): half "
    "of them stayed below sd, nine in ten below upper sd; ranges go from the one to the other. A pilot of your own "
    "says more."
)


def plan(
    k: float | None = None,
    *,
    alpha: float | None = None,
    beta: float = 0.1,
    lifetimes: int | None = None,
    compare: Literal["paired", "unpaired"] | None = None,
    pilot: Logs | None = None,
    detect: Mapping[str, float] | None = None,
    scenario: str | None = None,
    experts: Source | Sequence[Source] | Frame = (),
    settings: Settings | None = None,
    experts_per_task: int | None = None,
    expert_sd: float | None = None,
    tasks: int = 3,
    seed: int = 0,
) -> Plan:
    """How many lifetimes are needed: the paper's rule, and the number for the test that decides.

    `k` is the effect in standard deviations. Of a `pilot` only the spread is used, and `detect` says the effect to be
    seen, metric by metric; without a pilot the spreads of a study stand in. `compare` plans for two learners;
    `expert_sd` and `tasks` for a metric beside experts.
    """
    from perdure.stats.crossing import FEW_EXPERTS
    from perdure.stats.pilot import pilot_metrics, tails_of
    from perdure.stats.plan import make_plan
    from perdure.stats.power import Design, ExpertSample

    settings, each = Settings.given_or_default(settings), experts_per_task or FEW_EXPERTS
    if compare not in (None, "paired", "unpaired"):
        raise UnknownNameError("comparison", str(compare), ("paired", "unpaired"))
    question: Question = compare or "threshold"
    alpha = round(1 - settings.level, 12) if alpha is None else alpha
    if pilot is None and detect:
        if k is not None or expert_sd is not None:
            raise PerdureError(
                "an effect in a metric's unit has a spread and experts of its own", "give `detect`, or k"
            )
        return _from_priors(detect, Design(question, alpha, beta), each, tasks, lifetimes)
    if pilot is None:
        sample = ExpertSample(each, tasks, expert_sd) if expert_sd is not None else None
        return make_plan(1.0 if k is None else k, Design(question, alpha, beta, experts=sample), lifetimes=lifetimes)
    if k is not None or expert_sd is not None:
        raise PerdureError("a pilot has its own spread and experts", "give the effect with `detect`, not k")
    import numpy as np

    pool, sides = _pilot_sides(surveyed(pilot, experts, settings), settings, scenario, question)
    design = Design(question, alpha, beta, tails_of(sides[0], question))
    made = make_plan(1.0, design, lifetimes=lifetimes)
    found = pilot_metrics(
        sides[0],
        _bars(pool, settings.ids),
        made.power_at.lifetimes,
        design,
        other=sides[1] if len(sides) > 1 else (),
        detect=detect,
        each=each,
        rng=np.random.default_rng(seed),
    )
    return replace(made, pilot=found, notes=_notes(pool.name, sides, found, detect or {}, question))


def estimate_cost(
    plan: Plan,
    protocol: str | os.PathLike[str],
    *,
    lifetimes: int | None = None,
    experts: int | None = None,
    pilot: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] = (),
    machines: int = 1,
) -> Plan:
    """The plan, and what it costs to run it as a protocol: as many lifetimes as it asks for, unless they are given.

    `experts` per task are the protocol's unless given. How long it takes is known by the timestamps of a `pilot`.
    """
    from perdure.runner.plan import RunPlan
    from perdure.runner.protocol import read_protocols
    from perdure.stats.plan import cost_of, timed_in

    most = max((one.lifetimes or 0 for one in plan.metrics.values()), default=0)
    one = read_protocols(os.fspath(protocol))[0].with_lifetimes(lifetimes or most or plan.exact or plan.rule)
    jobs = RunPlan(one.with_experts(one.experts if experts is None else experts))
    lives, beside = [job.experiences for job in jobs.lives], [job.experiences for job in jobs.experts]
    pilot = (pilot,) if isinstance(pilot, str | os.PathLike) else pilot
    return replace(plan, cost=cost_of(lives, beside, timed_in(pilot), machines))


def experts_in(path: str | os.PathLike[str]) -> int:
    """How many experts a protocol has for each task variant."""
    from perdure.runner.protocol import read_protocols

    return read_protocols(os.fspath(path))[0].experts


def _pilot_sides(
    found: Survey, settings: Settings, scenario: str | None, question: Question
) -> tuple[Survey, list[tuple[Score, ...]]]:
    """The pilot's whole lifetimes in one scenario type: of one learner, or of two that are to be compared."""
    from perdure.stats.groups import check_comparable, check_poolable, split, usable

    lives, partial = usable(found.scores)
    types = dict.fromkeys(str(life.scenario_type) for life in lives)
    if scenario is not None:
        if scenario not in types:
            raise UnknownNameError("scenario type of the pilot", scenario, types)
        lives = tuple(life for life in lives if life.scenario_type == scenario)
    elif len(types) > 1:
        raise PerdureError(
            f"{len(types)} scenario types", f"choose one: --scenario {' or '.join(types)}", where="--pilot"
        )
    parts = split(lives, settings.group, pool=settings.pool)
    most = 1 if question == "threshold" else 2
    if not 1 <= len(parts) <= most:
        what = "one learner" if most == 1 else "one learner, or the two learners to compare"
        raise PerdureError(
            f"{len(parts)} groups ({'; '.join(parts)}), and a pilot is {what}, in one scenario type",
            "give the paths of those alone",
            where="--pilot",
        )
    check_comparable([life for part in parts.values() for life in part], "--pilot")
    for name, part in parts.items():
        check_poolable(part, "--pilot")
        if len(part) < 2:
            raise PerdureError(
                f"one lifetime ({name}) has no spread", "give two or more, ideally eleven", where="--pilot"
            )
    named = replace(found, name=" and ".join(parts), left_out=(*found.left_out, *partial))
    return named, list(parts.values())


def _from_priors(detect: Mapping[str, float], design: Design, each: int, tasks: int, lifetimes: int | None) -> Plan:
    from perdure.stats.pilot import prior_metrics
    from perdure.stats.plan import make_plan

    made = make_plan(1.0, design, lifetimes=lifetimes)
    found = prior_metrics(detect, made.power_at.lifetimes, design, each=each, tasks=tasks)
    experts = f"Relative to experts, the numbers are for {each} per task; --experts-per-task asks for others."
    notes = (experts, _WITHOUT_PILOT) if any(one.experts for one in found.values()) else (_WITHOUT_PILOT,)
    return replace(made, prior=found, notes=notes)


def _bars(pool: Survey, metrics: Sequence[str]) -> dict[str, Threshold]:
    """What the pilot's metrics are held against: all of them, or those that are named."""
    for name in metrics:
        if name not in pool.bars:
            raise UnknownNameError("metric of the pilot", name, pool.bars)
    return {name: bar for name, bar in pool.bars.items() if not metrics or name in metrics}


def _notes(
    name: str,
    sides: Sequence[Sequence[Score]],
    found: Mapping[str, PilotMetric],
    named: Mapping[str, float],
    question: Question,
) -> tuple[str, ...]:
    """What a pilot's plan rests on, and what so few lifetimes cannot know."""
    from perdure.stats.pilot import tails_of
    from perdure.stats.plan import family

    n = sum(map(len, sides))
    range_of = "from the number at the pilot's sd to the larger of two numbers at its upper 97.5 % bound"
    said = [
        f"pilot: {name}, {plural(n, 'lifetime')}",
        f"Lifetimes: {range_of}, by the noncentral t and by resampling the pilot's values.",
    ]
    said += [
        f"{metric}: the effect to detect is its margin: that a learner which loses nothing keeps what it learned."
        for metric, one in found.items()
        if one.detect is not None and metric not in named
    ]
    if tails_of(sides[0], question) == "one":
        said.append(
            f"Planned for the test of {sides[0][0].preset}: one-tailed, without a margin, experts as constants."
        )
    if question != "threshold":
        said.append(
            f"After Holm over {family()} headline metrics one that differs alone is held against α / {family()}; "
            "--alpha says so."
        )
    known = [one for one in found.values() if one.sd and one.sd_upper]
    if known:
        bound = max((one.sd_upper or 0.0) / (one.sd or 1.0) for one in known)
        few = min(one.n for one in known)
        said.append(
            f"The true sd may be {bound:.1f} times the one seen, so the larger number is up to {bound**2:.1f} times "
            "the smaller (from 11 lifetimes two to three times what a known spread would need); of such plans about "
            "four in five or more really have 80 % power."
        )
        said.append(
            f"A pilot of {few} misses a group of 10 % of lifetimes in {0.9**few:.0%} of cases; no plan can see it."
        )
    return tuple(said)
