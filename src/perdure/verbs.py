"""The verbs that span rooms, as functions: what the command line does, for scripts and notebooks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from perdure.errors import PerdureError, ScenarioError, UnknownName
from perdure.gather.model import Life, Survey
from perdure.gather.survey import Frame, Source, survey
from perdure.settings import Settings
from perdure.settings.presets import FRAMEWORK_2019

if TYPE_CHECKING:
    from perdure.metrics.engine.declare import Bar, Metric
    from perdure.metrics.engine.score import Score
    from perdure.scenario.lint import LintReport
    from perdure.scenario.syllabus import Syllabus
    from perdure.stats.correlate import Correlations
    from perdure.stats.pilot import PilotMetric
    from perdure.stats.plan import Plan
    from perdure.stats.power import Question
    from perdure.stats.systems import Comparisons

__all__ = ["compare", "correlate", "lint", "plan", "shows_2019"]

_WITHOUT_PILOT = (
    "There is no pilot, so the spread is that of 36 kinds of lives in a study (Ten thousand lives, in the docs): half "
    "of them stayed below sd, nine in ten below upper sd; ranges go from the one to the other. A pilot of your own "
    "says more."
)

Logs = Survey | Source | Sequence[Source] | Frame


def compare(
    logs: Logs,
    experts: Source | Sequence[Source] | Frame = (),
    settings: Settings | None = None,
    *,
    baseline: str | None = None,
    scenario_types: bool = False,
    paired: Literal["auto", "yes", "no"] = "auto",
    order: bool = False,
    seed: int = 0,
) -> Comparisons:
    """Which system does better, by how much, and how sure that is; the last one is the baseline unless it is named.

    Each place of `logs` is a system, one that holds several learners a system for each; with `scenario_types` the
    scenario types that each learner lived are. `order` adds almost stochastic order; `seed` is that of resampling.
    """
    from perdure.stats.scenario_types import compare_scenario_types
    from perdure.stats.systems import compare_systems, systems_of

    settings = settings or Settings()
    found = _apart(_surveyed(logs, experts, settings), settings.group, as_learners=scenario_types)
    how: dict[str, Any] = {
        "metrics": settings.ids,
        "paired": paired,
        "level": settings.level,
        "order": order,
        "seed": seed,
    }
    if scenario_types:
        return compare_scenario_types(found, baseline, **how)
    return compare_systems(systems_of(found), baseline, **how)


def correlate(
    logs: Logs,
    experts: Source | Sequence[Source] | Frame = (),
    settings: Settings | None = None,
    *,
    across: bool = False,
) -> Correlations:
    """Rank correlations between metrics over all lifetimes given; `across` pools protocols and measures too."""
    from perdure.stats.correlate import Correlations
    from perdure.stats.correlate import correlate as correlations
    from perdure.stats.groups import check_pool_across, left_out_of, split, usable

    settings = settings or Settings()
    pool = _surveyed(logs, experts, settings)
    lives, partial = usable(pool.scores)
    if settings.group:
        lives = tuple(life for part in split(lives, settings.group).values() for life in part)
    check_pool_across(lives, widely=across)
    found = correlations(lives, _answered(settings.ids, pool.bars, lives))
    left_out = (*pool.left_out, *left_out_of(pool.scores, partial))
    return Correlations(found, len(lives), lives[0].preset if lives else pool.preset, left_out)


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
    from perdure.stats.power import Beside

    settings, each = settings or Settings(), experts_per_task or FEW_EXPERTS
    question: Question = compare or "threshold"
    alpha = round(1 - settings.level, 12) if alpha is None else alpha
    if pilot is None and detect:
        if k is not None or expert_sd is not None:
            raise PerdureError(
                "an effect in a metric's unit has a spread and experts of its own", "give `detect`, or k"
            )
        return _from_priors(detect, alpha, beta, question, each, tasks, lifetimes)
    if pilot is None:
        beside = Beside(each, tasks, expert_sd) if expert_sd is not None else None
        return make_plan(1.0 if k is None else k, alpha, beta, question=question, beside=beside, lifetimes=lifetimes)
    if k is not None or expert_sd is not None:
        raise PerdureError("a pilot has its own spread and experts", "give the effect with `detect`, not k")
    import numpy as np

    pool, sides = _pilot_sides(_surveyed(pilot, experts, settings), settings, scenario, question)
    made = make_plan(1.0, alpha, beta, question=question, tails=tails_of(sides[0], question), lifetimes=lifetimes)
    found = pilot_metrics(
        sides[0],
        _bars(pool, settings.ids),
        made.lifetimes,
        other=sides[1] if len(sides) > 1 else (),
        question=question,
        alpha=alpha,
        beta=beta,
        detect=detect,
        each=each,
        rng=np.random.default_rng(seed),
    )
    return replace(made, pilot=found, notes=_notes(pool.name, sides, found, detect or {}, question))


def lint(
    syllabus: str | os.PathLike[str] | Syllabus, settings: Settings | None = None, *, kind: str | None = None
) -> LintReport:
    """Whether a syllabus is sound, and which metrics it can answer: a path, its text, or one that was composed.

    `kind` is one of the 2019 types, whose rules then apply; without it the header's `scenario_type` decides.
    """
    from perdure.scenario.lint import lint as linted
    from perdure.scenario.sources import source
    from perdure.scenario.syllabus import Syllabus

    settings = settings or Settings()
    variants = settings.variants or "name"

    def asked(of_kind: str | None) -> Iterable[Metric]:
        return _metrics_of(settings, of_kind)

    if isinstance(syllabus, Syllabus):
        return linted(syllabus, kind=kind, metrics=asked, variants=variants)
    given = os.fspath(syllabus)
    if given.endswith(".toml"):
        raise ScenarioError("a protocol, and no syllabus", "perdure.lint_protocol looks at each of its own", file=given)
    text, place = (given, "syllabus") if given.lstrip().startswith("{") else source(given)
    return linted(text, kind=kind, metrics=asked, place=place, variants=variants)


# --- parts ----------------------------------------------------------------------------------------


def _surveyed(logs: Logs, experts: Source | Sequence[Source] | Frame, settings: Settings) -> Survey:
    """The lifetimes; metrics asked for by name restrict what is shown, not what is tested beside it."""
    if isinstance(logs, Survey):
        return logs
    return survey(logs, experts, replace(settings, metrics=settings.files))


def _apart(found: Survey, pattern: str | None, *, as_learners: bool) -> Survey:
    """The survey as it is, or each group of a pattern as if it were an argument, or a learner."""
    if pattern is None:
        return found
    from perdure.stats.groups import split

    groups = {life.id: name for name, lives in split(found.scores, pattern).items() for life in lives}

    def named(life: Life) -> Life:
        who, name = life.score.identity, groups[life.id]
        who = replace(who, learner=name) if as_learners else replace(who, argument=name)
        return replace(life, score=replace(life.score, identity=who))

    return replace(found, lives=tuple(named(one) for one in found.lives if one.id in groups))


def _pilot_sides(
    found: Survey, settings: Settings, scenario: str | None, question: Question
) -> tuple[Survey, list[tuple[Score, ...]]]:
    """The pilot's whole lifetimes in one scenario type: of one learner, or of two that are to be compared."""
    from perdure.stats.groups import check_poolable, split, usable

    lives, partial = usable(found.scores)
    types = dict.fromkeys(str(life.scenario_type) for life in lives)
    if scenario is not None:
        if scenario not in types:
            raise UnknownName("scenario type of the pilot", scenario, types)
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
    for name, part in parts.items():
        check_poolable(part, "--pilot")
        if len(part) < 2:
            raise PerdureError(
                f"one lifetime ({name}) has no spread", "give two or more, ideally eleven", where="--pilot"
            )
    named = replace(found, name=" and ".join(parts), left_out=(*found.left_out, *partial))
    return named, list(parts.values())


def _from_priors(
    detect: Mapping[str, float],
    alpha: float,
    beta: float,
    question: Question,
    each: int,
    tasks: int,
    lifetimes: int | None,
) -> Plan:
    from perdure.stats.plan import make_plan
    from perdure.stats.priors import prior_metrics

    made = make_plan(1.0, alpha, beta, question=question, lifetimes=lifetimes)
    found = prior_metrics(detect, made.lifetimes, question=question, alpha=alpha, beta=beta, each=each, tasks=tasks)
    experts = f"Relative to experts, the numbers are for {each} per task; --experts-per-task asks for others."
    notes = (experts, _WITHOUT_PILOT) if any(one.beside for one in found.values()) else (_WITHOUT_PILOT,)
    return replace(made, prior=found, notes=notes)


def _bars(pool: Survey, metrics: Sequence[str]) -> dict[str, Bar]:
    """What the pilot's metrics are held against: all of them, or those that are named."""
    for name in metrics:
        if name not in pool.bars:
            raise UnknownName("metric of the pilot", name, pool.bars)
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
    from perdure.words import plural

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


def _answered(ids: Sequence[str], bars: Mapping[str, Bar], lives: Sequence[Score]) -> Sequence[str]:
    """The metrics to correlate: those asked for, else those that some lifetime answered."""
    for name in ids:
        if name not in bars:
            raise UnknownName("metric of these scores", name, bars)
    chosen = ids or _valued(bars, lives)
    if len(chosen) < 2:
        raise PerdureError(
            f"a correlation needs two metrics that have values (found: {', '.join(chosen) or 'none'})",
            "name two or more with --metrics, or score more of them",
        )
    return chosen


def _valued(bars: Mapping[str, Bar], lives: Sequence[Score]) -> list[str]:
    """The metrics with a threshold that some lifetime has a value of; all that have values where none has one."""
    valued = [name for name in bars if any(life.value(name) is not None for life in lives)]
    return [name for name in valued if bars[name].threshold is not None] or valued


def _metrics_of(settings: Settings, kind: str | None) -> Iterable[Metric]:
    """Every metric, or those of the preset or the ids asked for; beside them what the files asked for declare.

    A syllabus of a 2019 type was made for the metrics of 2019, and shows these unless told otherwise.
    """
    from perdure.metrics.engine.declare import METRICS
    from perdure.metrics.engine.load import chosen
    from perdure.metrics.engine.presets import preset

    if _chosen(settings):
        return chosen(preset(settings.preset), settings.metrics).values()
    if kind is not None:
        return chosen(preset(FRAMEWORK_2019), settings.files).values()
    own = chosen(preset(settings.preset), settings.files)
    return [*METRICS, *(metric for name, metric in own.items() if name not in METRICS.names())]


def shows_2019(settings: Settings, kind: str | None) -> bool:
    """Whether a syllabus shows the metrics of 2019: it is of a type of then, and nobody asked for others."""
    return kind is not None and not _chosen(settings)


def _chosen(settings: Settings) -> bool:
    """Whether somebody said which metrics are meant."""
    return "preset" in settings.origins or settings.preset != Settings().preset or bool(settings.ids)
