"""The joint learner: its last evaluations are what the others are held against by intransigence and the omegas."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from perdure.curves.model import Curves
from perdure.errors import LogError
from perdure.frozen import replace
from perdure.gather.copies import count_once
from perdure.gather.find import Found
from perdure.gather.model import Life
from perdure.log.accuracy_matrix import MatrixPassage
from perdure.log.model import Identity
from perdure.metrics.engine.metric import Metric
from perdure.metrics.matrix.cells import matrix_of
from perdure.settings import Settings

__all__ = ["JOINT", "compare_with_joint", "finals", "is_joint", "joint_accuracies", "needing", "place_of"]

JOINT = "joint"
"""What a learner is called that was trained on all tasks together, or the folder of one whose name is not recorded."""

Lives = Sequence[tuple[Found, Life]]
Again = Callable[[Sequence[Found], Settings, Callable[[Curves, int], Any] | None], Sequence[Lives]]
"""Scores the lives at places once more, by other settings, and says what was seen of each."""


def is_joint(who: Identity) -> bool:
    """Whether a lifetime is a joint learner's."""
    return (who.learner or PurePath(who.holder).name).lower() == JOINT


def needing(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """Which of these metrics are relative to a joint learner."""
    return tuple(name for name, one in metrics.items() if one.joint)


def place_of(joint: Any) -> str | None:
    """Where the joint learner's lifetimes lie, where a place was given and no numbers."""
    return os.fspath(joint) if isinstance(joint, str | os.PathLike) else None


def finals(curves: Curves, _count: int = 1) -> dict[str, float]:
    """Task → its last evaluation, as measured."""
    passage = curves.passage
    matrix = passage.matrix if isinstance(passage, MatrixPassage) else matrix_of(curves)
    sign = -1.0 if matrix.negated else 1.0
    last = ((task, sign * matrix.value(row, len(matrix.tasks))) for row, task in enumerate(matrix.tasks))
    return {task: value for task, value in last if not np.isnan(value)}


def joint_accuracies(lives: Sequence[Life], place: str) -> dict[str, float]:
    """The mean over lifetimes that `finals` looked at of each task's last evaluation; LogError where one has none."""
    found: dict[str, list[float]] = {}
    for one in lives:
        for task, value in one.seen.items():
            found.setdefault(task, []).append(value)
    absent = sorted({task for one in lives for task in one.score.tasks} - found.keys())
    if absent or not found:
        what = f"task {absent[0]!r} is not" if absent else "nothing is"
        raise LogError(
            f"{what} evaluated at the end of the joint learner's lifetime, so it is no baseline",
            "evaluate every task at its end",
            file=place,
        )
    return {task: float(np.mean(values)) for task, values in found.items()}


def compare_with_joint(
    places: Sequence[tuple[Found, Lives]], settings: Settings, metrics: Sequence[str], again: Again
) -> list[tuple[Found, Life]]:
    """Every life; those that share tasks and measure with a joint learner among them are held against it.

    Only where nobody said what the joint learner does: then `metrics`, which need it, are scored once more by `again`.
    """
    lives = [pair for _, there in places for pair in there]
    if settings.joint is not None or not metrics or len({_is_joint(one) for _, one in lives}) < 2:
        return lives
    asked = settings.replace(metrics=tuple(metrics))
    holding = [place for place, there in places if any(_is_joint(one) for _, one in there)]
    looked = count_once(one for there in again(holding, asked, finals) for _, one in there if _is_joint(one)).lives
    made = {id(one): one for _, one in lives}
    for kind in dict.fromkeys(map(_kind, looked)):
        known = [one for one in looked if _kind(one) == kind]
        waiting = {
            place: {pair.identity.id: one for pair, one in there if _kind(one) == kind and not _is_joint(one)}
            for place, there in places
        }
        waiting = {place: wanted for place, wanted in waiting.items() if wanted}
        try:
            told = asked.replace(joint=joint_accuracies(known, known[0].id))
        except LogError:
            continue  # they say themselves that they need one
        for wanted, there in zip(waiting.values(), again([*waiting], told, None), strict=True):
            for place, one in there:
                if place.identity.id in wanted:
                    before = wanted[place.identity.id]
                    made[id(before)] = _fed(before, one, len(known))
    return [(place, made[id(one)]) for place, one in lives]


def _is_joint(life: Life) -> bool:
    return is_joint(life.score.identity)


def _kind(life: Life) -> tuple[object, ...]:
    """What a lifetime and the joint learner it is held against have in common."""
    who = life.score.identity
    return who.measure, who.unit, who.direction, frozenset(who.tasks)


def _fed(life: Life, again: Life, count: int) -> Life:
    """A lifetime with the metrics that were scored again beside the joint learner, and a note of whom that was."""
    score = life.score
    metrics = {name: again.score.metrics.get(name, measured) for name, measured in score.metrics.items()}
    lives = "1 lifetime" if count == 1 else f"{count} lifetimes"
    note = f"{', '.join(again.score.metrics)}: beside the last evaluations of {lives} of the joint learner"
    return replace(life, score=replace(score, metrics=metrics, notes=(*score.notes, note)))
