"""The joint learner, whose last evaluations are the baseline of intransigence and the omegas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from msgspec.structs import replace

from perdure.curves.model import Curves
from perdure.errors import LogError
from perdure.gather.find import FoundLog
from perdure.gather.model import ScoredLifetime, count_once
from perdure.log.accuracy_matrix import MatrixPassage
from perdure.log.model import Identity
from perdure.metrics.matrix import matrix_of
from perdure.settings import Settings
from perdure.text import plural

JOINT = "joint"
"""Name of a learner that is trained on all tasks together, or of its folder if its name is not recorded."""

LogScores = Sequence[tuple[FoundLog, ScoredLifetime]]
ScoreAgain = Callable[[Sequence[FoundLog], Settings, Callable[[Curves, int], Any] | None], Sequence[LogScores]]
"""Scores the lifetimes of logs again, with other settings and another hook for their curves."""


def is_joint(identity: Identity) -> bool:
    """Return whether a lifetime is a joint learner's."""
    return (identity.learner or PurePath(identity.holder).name).lower() == JOINT


def final_accuracies(curves: Curves, _count: int = 1) -> dict[str, float]:
    """Return the last evaluation of each task, as measured."""
    passage = curves.passage
    matrix = passage.matrix if isinstance(passage, MatrixPassage) else matrix_of(curves)
    sign = -1.0 if matrix.negated else 1.0
    last = ((task, sign * matrix.value(row, len(matrix.tasks))) for row, task in enumerate(matrix.tasks))
    return {task: value for task, value in last if not np.isnan(value)}


def joint_accuracies(lifetimes: Sequence[ScoredLifetime], place: str) -> dict[str, float]:
    """Return the mean of each task's `final_accuracies`; raise LogError if a task has none."""
    accuracies: dict[str, list[float]] = {}
    for lifetime in lifetimes:
        for task, value in lifetime.seen.items():
            accuracies.setdefault(task, []).append(value)
    missing = sorted({task for lifetime in lifetimes for task in lifetime.score.tasks} - accuracies.keys())
    if missing or not accuracies:
        subject = f"task {missing[0]!r} is not" if missing else "nothing is"
        raise LogError(
            f"{subject} evaluated at the end of the joint learner's lifetime, so it is no baseline",
            "evaluate every task at its end",
            file=place,
        )
    return {task: float(np.mean(values)) for task, values in accuracies.items()}


def compare_with_joint(
    logs: Sequence[tuple[FoundLog, LogScores]], settings: Settings, metrics: Sequence[str], score_again: ScoreAgain
) -> list[tuple[FoundLog, ScoredLifetime]]:
    """Compare lifetimes with a joint learner of the same tasks and measure among them, and return all lifetimes.

    Without such a learner, or if joint accuracies were given, the lifetimes are returned unchanged. Otherwise
    `metrics`, which need the accuracies, are scored again.
    """
    pairs = [pair for _, scores in logs for pair in scores]
    if settings.joint is not None or not metrics or len({_is_joint(lifetime) for _, lifetime in pairs}) < 2:
        return pairs
    joint_settings = replace(settings, metrics=tuple(metrics))
    joint_logs = [log for log, scores in logs if any(_is_joint(lifetime) for _, lifetime in scores)]
    rescored = score_again(joint_logs, joint_settings, final_accuracies)
    joint = count_once(lifetime for scores in rescored for _, lifetime in scores if _is_joint(lifetime)).lifetimes
    compared = {id(lifetime): lifetime for _, lifetime in pairs}
    for kind in dict.fromkeys(map(_kind, joint)):
        baseline = [lifetime for lifetime in joint if _kind(lifetime) == kind]
        by_log = {
            log: {
                member.identity.id: lifetime
                for member, lifetime in scores
                if _kind(lifetime) == kind and not _is_joint(lifetime)
            }
            for log, scores in logs
        }
        by_log = {log: lifetimes for log, lifetimes in by_log.items() if lifetimes}
        try:
            accuracies = joint_accuracies(baseline, baseline[0].id)
        except LogError:
            continue  # the metrics report that they need one
        rescored = score_again([*by_log], replace(joint_settings, joint=accuracies), None)
        for lifetimes, scores in zip(by_log.values(), rescored, strict=True):
            for member, lifetime in scores:
                original = lifetimes.get(member.identity.id)
                if original is not None:
                    compared[id(original)] = _with_metrics(original, lifetime, len(baseline))
    return [(log, compared[id(lifetime)]) for log, lifetime in pairs]


def _is_joint(lifetime: ScoredLifetime) -> bool:
    return is_joint(lifetime.score.identity)


def _kind(lifetime: ScoredLifetime) -> tuple[object, ...]:
    """Return the facts that a lifetime and the joint learner compared with it have in common."""
    identity = lifetime.score.identity
    return identity.measure, identity.unit, identity.direction, frozenset(identity.tasks)


def _with_metrics(lifetime: ScoredLifetime, rescored: ScoredLifetime, count: int) -> ScoredLifetime:
    """Return a lifetime with the metrics that were scored again, and a note on the joint learner."""
    score = lifetime.score
    metrics = {name: rescored.score.metrics.get(name, measured) for name, measured in score.metrics.items()}
    lifetimes = plural(count, "lifetime")
    note = f"{', '.join(rescored.score.metrics)}: beside the last evaluations of {lifetimes} of the joint learner"
    return replace(lifetime, score=replace(score, metrics=metrics, notes=(*score.notes, note)))
