"""Tasks that were not learned: the rise of learning curves over lifetimes, and maintenance without such tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from perdure.metrics.declare import METRICS
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.measure import restricted
from perdure.metrics.score import LearningGain, Score, deciding_settings
from perdure.stats.interval import interval_of, part_of
from perdure.stats.model import LEVEL, LearnedState

MAINTENANCE_OVER_LEARNED = "maintenance_over_learned_tasks"
LEAST_GAIN = performance_maintenance.margin
"""Points of 100; a task that rises by less was not learned."""
_FEWEST = 3
_HALVED = 1 - (1 - LEVEL) / 2  # either of two gains may show that a task was learned


def learned_tasks(lives: Sequence[Score], margin: float = LEAST_GAIN) -> Mapping[str, LearnedState]:
    """Return whether the lifetimes of a group learned each task; nothing if fewer than 3 have a known gain.

    A task is learned if its curve rises, from its first tenth or from the evaluation before it is learned, and not
    learned if both rises are below `margin`. The evaluation that performance maintenance refers to is not used.
    """
    if not all(life.learning_gains for life in lives):
        return {}
    tasks = dict.fromkeys(task for life in lives for task in life.learning_gains)
    gains = {task: [life.learning_gains[task] for life in lives if task in life.learning_gains] for task in tasks}
    return {task: learned_state(of_task, margin) for task, of_task in gains.items() if len(of_task) >= _FEWEST}


def learned_state(gains: Sequence[LearningGain], margin: float = LEAST_GAIN) -> LearnedState:
    """Return whether three or more lifetimes, or experts, learned a task, by t intervals of their gains."""
    evaluated = [gain.from_evaluation for gain in gains if gain.from_evaluation is not None]
    from_start = [gain.from_start for gain in gains]
    both = len(evaluated) == len(gains)
    rises = [from_start, evaluated] if both else [from_start]
    if any(_ends(rise, _HALVED if both else LEVEL)[0] > 0 for rise in rises):
        return "learned"
    if all(_ends(rise, LEVEL)[1] < margin for rise in rises):
        return "not learned" if both else "no gain seen after the first tenth"
    return "unclear"


def _ends(values: Sequence[float], level: float) -> tuple[float, float]:
    rises = np.array(values, dtype=np.float64)
    interval = interval_of(float(rises.mean()), [part_of(rises)], level)
    return interval.low, interval.high


def failing_experts(lives: Sequence[Score], margin: float = LEAST_GAIN) -> bool:
    """Return whether a task with 3 or 4 experts may be one that they, or these lifetimes, did not learn."""
    experts = {task: gains for life in lives[:1] for task, gains in life.expert_gains.items()}
    states = learned_tasks(lives, margin)
    uncertain = ("not learned", "unclear")
    return any(
        states.get(task) in uncertain or learned_state([LearningGain(gain) for gain in gains], margin) in uncertain
        for task, gains in experts.items()
        if len(gains) >= _FEWEST
    )


def over_learned_tasks(lives: Sequence[Score], learned: Mapping[str, LearnedState]) -> tuple[Score, ...]:
    """Return the lifetimes with performance maintenance over the tasks that are not *not learned*."""
    name = performance_maintenance.name
    return tuple(
        replace(
            life,
            metrics={
                MAINTENANCE_OVER_LEARNED: restricted(
                    METRICS.get(name),
                    measured,
                    frozenset(task for task in measured.by if learned.get(task) != "not learned"),
                    deciding_settings(life.how).get("aggregate", "mean"),
                    life.weights,
                )
            },
        )
        for life in lives
        if (measured := life.metrics.get(name)) is not None
    )
