"""The joint learner: intransigence and the omegas compare the others with its last evaluations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from msgspec.structs import replace

from perdure.curves.model import Curves
from perdure.errors import LogError
from perdure.gather.find import Found
from perdure.gather.model import ScoredLifetime, count_once
from perdure.log.accuracy_matrix import MatrixPassage
from perdure.log.model import Identity
from perdure.metrics.declare import Metric
from perdure.metrics.matrix import matrix_of
from perdure.settings import Settings

JOINT = "joint"
"""Name of a learner that is trained on all tasks together, or of its folder if its name is not recorded."""

Lives = Sequence[tuple[Found, ScoredLifetime]]
ScoreAgain = Callable[[Sequence[Found], Settings, Callable[[Curves, int], Any] | None], Sequence[Lives]]
"""Scores the lifetimes at places again, with other settings and another hook for their curves."""


def is_joint(identity: Identity) -> bool:
    """Return whether a lifetime is a joint learner's."""
    return (identity.learner or PurePath(identity.holder).name).lower() == JOINT


def needing(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """Return the metrics that are relative to a joint learner."""
    return tuple(name for name, metric in metrics.items() if metric.joint)


def place_of(joint: Any) -> str | None:
    """Return the place of the joint learner's lifetimes; None if numbers were given, or nothing."""
    return os.fspath(joint) if isinstance(joint, str | os.PathLike) else None


def finals(curves: Curves, _count: int = 1) -> dict[str, float]:
    """Return the last evaluation of each task, as measured."""
    passage = curves.passage
    matrix = passage.matrix if isinstance(passage, MatrixPassage) else matrix_of(curves)
    sign = -1.0 if matrix.negated else 1.0
    last = ((task, sign * matrix.value(row, len(matrix.tasks))) for row, task in enumerate(matrix.tasks))
    return {task: value for task, value in last if not np.isnan(value)}


def joint_accuracies(lives: Sequence[ScoredLifetime], place: str) -> dict[str, float]:
    """Return the mean over lifetimes of each task's `finals`; raise LogError if a task has none."""
    found: dict[str, list[float]] = {}
    for life in lives:
        for task, value in life.seen.items():
            found.setdefault(task, []).append(value)
    absent = sorted({task for life in lives for task in life.score.tasks} - found.keys())
    if absent or not found:
        what = f"task {absent[0]!r} is not" if absent else "nothing is"
        raise LogError(
            f"{what} evaluated at the end of the joint learner's lifetime, so it is no baseline",
            "evaluate every task at its end",
            file=place,
        )
    return {task: float(np.mean(values)) for task, values in found.items()}


def compare_with_joint(
    places: Sequence[tuple[Found, Lives]], settings: Settings, metrics: Sequence[str], score_again: ScoreAgain
) -> list[tuple[Found, ScoredLifetime]]:
    """Return every lifetime; those with the tasks and measure of a joint learner among them are compared with it.

    This happens only if no joint accuracies were given: `metrics`, which need them, are then scored again.
    """
    lives = [pair for _, there in places for pair in there]
    if settings.joint is not None or not metrics or len({_is_joint(life) for _, life in lives}) < 2:
        return lives
    wanted = replace(settings, metrics=tuple(metrics))
    holding = [place for place, there in places if any(_is_joint(life) for _, life in there)]
    scored = (life for there in score_again(holding, wanted, finals) for _, life in there if _is_joint(life))
    joint = count_once(scored).lifetimes
    compared = {id(life): life for _, life in lives}
    for kind in dict.fromkeys(map(_kind, joint)):
        baseline = [life for life in joint if _kind(life) == kind]
        waiting = {
            place: {found.identity.id: life for found, life in there if _kind(life) == kind and not _is_joint(life)}
            for place, there in places
        }
        waiting = {place: others for place, others in waiting.items() if others}
        try:
            accuracies = joint_accuracies(baseline, baseline[0].id)
        except LogError:
            continue  # the metrics report that they need one
        again = score_again([*waiting], replace(wanted, joint=accuracies), None)
        for others, there in zip(waiting.values(), again, strict=True):
            for found, life in there:
                before = others.get(found.identity.id)
                if before is not None:
                    compared[id(before)] = _with_metrics(before, life, len(baseline))
    return [(found, compared[id(life)]) for found, life in lives]


def _is_joint(life: ScoredLifetime) -> bool:
    return is_joint(life.score.identity)


def _kind(life: ScoredLifetime) -> tuple[object, ...]:
    """Return what a lifetime and the joint learner it is compared with have in common."""
    identity = life.score.identity
    return identity.measure, identity.unit, identity.direction, frozenset(identity.tasks)


def _with_metrics(life: ScoredLifetime, again: ScoredLifetime, count: int) -> ScoredLifetime:
    """Return a lifetime with the metrics that were scored again, and a note on the joint learner."""
    score = life.score
    metrics = {name: again.score.metrics.get(name, measured) for name, measured in score.metrics.items()}
    lives = "1 lifetime" if count == 1 else f"{count} lifetimes"
    note = f"{', '.join(again.score.metrics)}: beside the last evaluations of {lives} of the joint learner"
    return replace(life, score=replace(score, metrics=metrics, notes=(*score.notes, note)))
