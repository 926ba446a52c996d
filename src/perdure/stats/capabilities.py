"""The Core Capabilities of 2019: a score per syllabus, and over syllabi a score per capability (S003 §2, App. A).

A syllabus of type CL asks about continual learning, one of type ANT about adapting to new tasks. Its score is the mean
of those of its values that can be averaged, which are the ratios to experts; the others are averaged over syllabi each
for itself. A custom metric that declares a capability joins the values of its score, in syllabi of any type: if it is a
ratio, next to the ratios to experts, or in place of them if there are none and all such metrics have one unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import ClassVar

from msgspec import Struct

from perdure.gather.model import Survey
from perdure.metrics.declare import ADAPTING, CONTINUAL, Metric
from perdure.metrics.presets import PRESETS
from perdure.metrics.score import Score
from perdure.scenario.model import Task
from perdure.settings.presets import FRAMEWORK_2019
from perdure.text import join_words

CAPABILITIES: Mapping[str, str] = {
    CONTINUAL: "copes with changes within one task",
    ADAPTING: "learns new tasks without losing old ones, and uses what they share",
    "goal-driven perception": "takes constraints of the system and the task into account when it learns",
    "selective plasticity": "processes the same input differently for different tasks",
    "safety": "keeps to safety constraints, and notices what differs from its training",
}
"""Capability → its description, after S003 App. A."""

_RATIOS = ("ste_relative", "ste_forward_transfer", "ste_reverse_transfer")


class SyllabusScore(Struct, frozen=True):
    """One learner in one syllabus: the mean over its lifetimes of each value, and the mean of those that count."""

    name: str
    lifetimes: int
    score: float | None
    values: Mapping[str, float]
    counted: tuple[str, ...] = ()
    """The metrics whose mean is the score."""


class CapabilityAnswer(Struct, frozen=True):
    """A question, the metric that answers it, and its mean over the syllabi that have a value."""

    question: str
    metric: str
    value: float
    syllabi: int


class Capability(Struct, frozen=True):
    """One Core Capability of one learner."""

    JSON: ClassVar = ("learner", "capability:name", "score", "why", "syllabi", "answers")

    learner: str
    name: str
    score: float | None
    """The mean over syllabi of their scores."""
    why: str | None
    """The reason if there is no score."""
    syllabi: tuple[SyllabusScore, ...] = ()
    answers: tuple[CapabilityAnswer, ...] = ()

    @property
    def meaning(self) -> str:
        """The meaning of the score, or the reason if there is none."""
        counted = dict.fromkeys(metric for syllabus in self.syllabi for metric in syllabus.counted)
        custom = [metric for metric in counted if metric not in _RATIOS]
        if self.why:
            return self.why
        if not custom:
            return "mean ratio to experts"
        return f"mean of {join_words(custom)}{', and of ratios to experts' if len(custom) < len(counted) else ''}"


def capabilities(found: Survey) -> tuple[Capability, ...]:
    """Return every learner's score in every Core Capability; nothing unless lifetimes were scored as in 2019."""
    if found.preset != FRAMEWORK_2019:
        return ()
    learners: dict[str, list[Score]] = {}
    for one in found.scores:
        learners.setdefault(one.learner or one.identity.holder or "learner", []).append(one)
    custom = {
        name: tuple(metric for metric in found.metrics.values() if is_custom(metric) and name in _declared_by(metric))
        for name in CAPABILITIES
    }
    return tuple(
        _capability(learner, name, scores, custom[name])
        for learner, scores in learners.items()
        for name in CAPABILITIES
    )


def is_custom(metric: Metric) -> bool:
    """Return whether a metric comes from a file or a plug-in."""
    return not metric.formula.__module__.startswith("perdure.")


def _declared_by(metric: Metric) -> frozenset[str]:
    """Return the capabilities that a metric declares."""
    return frozenset((metric.capability, *metric.answers))


def _capability(learner: str, name: str, scores: Sequence[Score], custom: Sequence[Metric]) -> Capability:
    syllabi: dict[tuple[object, ...], list[Score]] = {}
    asked = False
    for one in scores:
        if _asks(one) != name and all(one.value(metric.name) is None for metric in custom):
            continue
        asked = True
        if one.complete is not False:  # as everywhere, a life cut short is no sample of whole lives
            key = (one.scenario_type, one.order, one.tasks, one.measure, one.identity.direction, len(one.blocks))
            syllabi.setdefault(key, []).append(one)
    made = tuple(_syllabus(lives, custom, asks=_asks(lives[0]) == name) for lives in syllabi.values())
    if not made:
        why = "no lifetime that measures it is complete" if asked else "no syllabus or metric measures it"
        return Capability(learner, name, None, why)
    answers = []
    for metric, question in (*_questions(name), *((metric.name, _question(metric, name)) for metric in custom)):
        values = [one.values[metric] for one in made if metric in one.values]
        if values:
            answers.append(CapabilityAnswer(question, metric, fmean(values), len(values)))
    known = [one.score for one in made if one.score is not None]
    reason = None if known else _reason(custom)
    return Capability(learner, name, fmean(known) if known else None, reason, made, tuple(answers))


def _questions(capability: str) -> Iterator[tuple[str, str]]:
    """Yield the metrics that answer for a capability, with their questions; all of them if none declares it."""
    declared = PRESETS.get(FRAMEWORK_2019).metrics
    known = any(capability in one.answers for one in declared.values())
    for name, one in declared.items():
        if one.answers and (not known or capability in one.answers):
            yield name, one.answers.get(capability) or list(one.answers.values())[-1]


def _question(metric: Metric, capability: str) -> str:
    return metric.answers.get(capability) or metric.summary


def _syllabus(lives: Sequence[Score], custom: Sequence[Metric], *, asks: bool) -> SyllabusScore:
    """Score a syllabus. One that does not ask about the capability counts only with the metrics that declare it."""
    values: dict[str, float] = {}
    for metric in lives[0].metrics if asks else [metric.name for metric in custom]:
        known = [value for one in lives if metric in one.metrics and (value := one[metric]) is not None]
        if known:
            values[metric] = fmean(known)
    ratios = [*_RATIOS, *(metric.name for metric in custom if metric.unit == "ratio" and metric.better == "higher")]
    counted = [metric for metric in ratios if metric in values]
    if not counted and _have_one_unit(custom):
        counted = [metric.name for metric in custom if metric.name in values]
    score = fmean(values[metric] for metric in counted) if counted else None
    name = f"{lives[0].scenario_type or 'syllabus'}: {', '.join(lives[0].tasks)}"
    return SyllabusScore(name, len(lives), score, values, tuple(counted))


def _have_one_unit(custom: Sequence[Metric]) -> bool:
    return len({metric.unit for metric in custom}) == 1 and all(metric.better == "higher" for metric in custom)


def _reason(custom: Sequence[Metric]) -> str:
    if not custom:
        return "a score is a mean of ratios to experts, and there are none"
    names = ", ".join(metric.name for metric in custom)
    return f"a score is a mean of ratios, or of metrics of one unit of which higher is better; found {names}"


def _asks(one: Score) -> str:
    """Return the capability that a lifetime's syllabus measures, by its type, else by its number of tasks."""
    kind = (one.scenario_type or "").lower()
    if kind in CAPABILITIES:
        return kind
    if kind == "cl" or kind.startswith("ant"):
        return CONTINUAL if kind == "cl" else ADAPTING
    return CONTINUAL if len({Task.parse(task).name for task in one.tasks}) == 1 else ADAPTING
