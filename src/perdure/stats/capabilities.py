"""The Core Capabilities of 2019: a score per syllabus, and over syllabi a score per capability (S003 §2, App. A).

A syllabus of type CL asks about continual learning, one of type ANT about adapting to new tasks. Its score is the mean
of those of its values that can be averaged, which are the ratios to experts; the others are averaged over syllabi each
for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import ClassVar

from msgspec import Struct

from perdure.gather.model import Survey
from perdure.metrics.declare import ADAPTING, CONTINUAL
from perdure.metrics.presets import PRESETS
from perdure.metrics.score import Score
from perdure.scenario.model import Task
from perdure.settings.presets import FRAMEWORK_2019

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
    """One learner in one syllabus: the mean over its lifetimes of each value, and the mean of the ratios to experts."""

    name: str
    lifetimes: int
    score: float | None
    values: Mapping[str, float]


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


def capabilities(found: Survey) -> tuple[Capability, ...]:
    """Return every learner's score in every Core Capability; nothing unless lifetimes were scored as in 2019."""
    if found.preset != FRAMEWORK_2019:
        return ()
    learners: dict[str, list[Score]] = {}
    for one in found.scores:
        learners.setdefault(one.learner or one.identity.holder or "learner", []).append(one)
    return tuple(_capability(learner, name, scores) for learner, scores in learners.items() for name in CAPABILITIES)


def _capability(learner: str, name: str, scores: Sequence[Score]) -> Capability:
    syllabi: dict[tuple[object, ...], list[Score]] = {}
    asked = False
    for one in scores:
        if _asks(one) != name:
            continue
        asked = True
        if one.complete is not False:  # as everywhere, a life cut short is no sample of whole lives
            key = (one.scenario_type, one.order, one.tasks, one.measure, one.identity.direction, len(one.blocks))
            syllabi.setdefault(key, []).append(one)
    made = tuple(_syllabus(lives) for lives in syllabi.values())
    if not made:
        why = "no lifetime that measures it is complete" if asked else "no syllabus measures it"
        return Capability(learner, name, None, why)
    answers = []
    for metric, question in _questions(name):
        values = [one.values[metric] for one in made if metric in one.values]
        if values:
            answers.append(CapabilityAnswer(question, metric, fmean(values), len(values)))
    known = [one.score for one in made if one.score is not None]
    reason = None if known else "a score is a mean of ratios to experts, and there are none"
    return Capability(learner, name, fmean(known) if known else None, reason, made, tuple(answers))


def _questions(capability: str) -> Iterator[tuple[str, str]]:
    """Yield the metrics that answer for a capability, with their questions; all of them if none declares it."""
    declared = PRESETS.get(FRAMEWORK_2019).metrics
    known = any(capability in one.answers for one in declared.values())
    for name, one in declared.items():
        if one.answers and (not known or capability in one.answers):
            yield name, one.answers.get(capability) or list(one.answers.values())[-1]


def _syllabus(lives: Sequence[Score]) -> SyllabusScore:
    values: dict[str, float] = {}
    for metric in lives[0].metrics:
        known = [value for one in lives if metric in one.metrics and (value := one[metric]) is not None]
        if known:
            values[metric] = fmean(known)
    ratios = [values[metric] for metric in _RATIOS if metric in values]
    kind = lives[0].scenario_type or "syllabus"
    return SyllabusScore(f"{kind}: {', '.join(lives[0].tasks)}", len(lives), fmean(ratios) if ratios else None, values)


def _asks(one: Score) -> str:
    """Return the capability that a lifetime's syllabus measures, by its type, else by its number of tasks."""
    kind = (one.scenario_type or "").lower()
    if kind in CAPABILITIES:
        return kind
    if kind == "cl" or kind.startswith("ant"):
        return CONTINUAL if kind == "cl" else ADAPTING
    return CONTINUAL if len({Task.parse(task).name for task in one.tasks}) == 1 else ADAPTING
