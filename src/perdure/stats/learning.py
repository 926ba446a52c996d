"""Learning metrics of compared lifetimes: performance and speed over equal lengths, by a target common to all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from msgspec.structs import replace

from perdure.curves.arrays import LOWEST, Array, clamp, mean, near, scale, smooth, start, terminal
from perdure.curves.experts import CLOSE
from perdure.metrics.arithmetic import Aggregate, Average, floored
from perdure.metrics.efficiency import NEVER_REACHED
from perdure.metrics.learning import learning_performance, learning_speed
from perdure.metrics.measure import Flag, Measured
from perdure.metrics.score import Score, deciding_settings, is_scaled

LEARNING_PERFORMANCE, LEARNING_SPEED = learning_performance.name, learning_speed.name
NO_CURVES = "learning curves are not in a score file; compare the logs"
_NOTHING_LEARNED = "needs a task learned while awake"
_CONSTANT = "all its values are the same, so it carries no information"
_NOTEWORTHY = 1.1  # ratio of the longest to the shortest curve from which the common length is reported

Systems = Mapping[str, Sequence[Score]]


def add_learning_metrics(systems: Systems) -> tuple[dict[str, tuple[Score, ...]], tuple[str, ...]]:
    """Add `learning_performance` and `learning_speed` to the metrics of lifetimes that are compared.

    Both read a task's wake learning blocks, joined and cut to the shortest in the comparison. The target of
    `learning_speed` comes from the experts of all systems, or from their lifetimes if a system has no experts.

    Parameters
    ----------
    systems
        System → its lifetimes, surveyed with `learning=True` and scaled by one range per task.

    Returns
    -------
    tuple
        The systems with both metrics in each score; and notes on lengths and on numbers of learning blocks.
    """
    scores = [score for lifetimes in systems.values() for score in lifetimes]
    curves = {
        task: _TaskCurves(task, systems)
        for task in dict.fromkeys(task for score in scores for task in score.learning)
        if not all(_is_constant(score, task) for score in scores if task in score.learning)
    }
    unlearned = [task for task, task_curves in curves.items() if not task_curves.reference_learned]
    no_speed = f"the reference did not learn {', '.join(unlearned)}" if unlearned else ""
    added = {
        name: tuple(
            replace(
                score,
                metrics={
                    **score.metrics,
                    LEARNING_PERFORMANCE: _combined(score, curves, _TaskCurves.performance),
                    LEARNING_SPEED: _combined(score, curves, _TaskCurves.speed, no_speed),
                },
            )
            for score in lifetimes
        )
        for name, lifetimes in systems.items()
    }
    return added, (*_length_notes(curves.values()), *_count_notes(systems, curves))


class _TaskCurves:
    """The learning curves of one task in all systems, with their common lengths and target."""

    def __init__(self, task: str, systems: Systems) -> None:
        self.task = task
        self._expert_ends: dict[tuple[Any, ...], tuple[float, float]] = {}
        learned = [[score for score in lifetimes if task in score.learning] for lifetimes in systems.values()]
        learned = [lifetimes for lifetimes in learned if lifetimes]
        scores = [score for lifetimes in learned for score in lifetimes]
        self.lengths = [len(score.learning[task]) for score in scores]
        own = {id(curve): len(curve) for score in scores for curve in score.expert_learning.get(task, ())}
        self.speed_lengths = [*self.lengths, *own.values()]
        self.length, self.speed_length = min(self.lengths), min(self.speed_lengths)
        with_experts = [[score for score in scores if score.expert_learning.get(task)] for scores in learned]
        by_experts = all(with_experts)
        reference = with_experts if by_experts else learned
        ends = self._ends_of_experts if by_experts else self._ends_of_lifetime
        means = np.mean([np.mean([ends(score) for score in lifetimes], axis=0) for lifetimes in reference], axis=0)
        self.begin, self.end = map(float, means)

    @property
    def reference_learned(self) -> bool:
        """Whether the mean end of the reference is above its mean start, by more than rounding."""
        return near(self.end) > self.begin

    def performance(self, score: Score) -> tuple[float, tuple[str, ...]]:
        """Return the mean of the learning curve, and flags."""
        return _at_least_floor(score, mean(self._prepare(score, score.learning[self.task], self.length)))

    def speed(self, score: Score) -> tuple[float, tuple[str, ...]]:
        """Return the end of the learning curve divided by the experiences to the target, and flags."""
        curve = self._prepare(score, score.learning[self.task], self.speed_length)
        height, flags = _at_least_floor(score, terminal(curve))
        reached = np.flatnonzero(curve >= near(self.begin + CLOSE * (self.end - self.begin)))
        if len(reached):
            return height / (int(reached[0]) + 1), flags
        return height / (len(curve) + 1), (*flags, NEVER_REACHED)

    def _ends_of_experts(self, score: Score) -> tuple[float, float]:
        """Return the mean first and last tenth of a lifetime's experts."""
        pairs = [self._ends_of_expert(score, curve) for curve in score.expert_learning[self.task]]
        return fmean(begin for begin, _ in pairs), fmean(end for _, end in pairs)

    def _ends_of_expert(self, score: Score, values: Array) -> tuple[float, float]:
        # An expert serves many lifetimes, which share its curve.
        key = (id(values), score.how, score.ranges.get(self.task), score.clamps.get(self.task))
        if key not in self._expert_ends:
            curve = self._prepare(score, values, self.speed_length)
            self._expert_ends[key] = start(curve), terminal(curve)
        return self._expert_ends[key]

    def _ends_of_lifetime(self, score: Score) -> tuple[float, float]:
        curve = self._prepare(score, score.learning[self.task], self.speed_length)
        return start(curve), terminal(curve)

    def _prepare(self, score: Score, values: Array, length: int) -> Array:
        """Return a curve cut, smoothed, clamped and scaled."""
        settings = deciding_settings(score.how)
        chosen = {name: settings[name] for name in ("window", "width", "alignment") if name in settings}
        curve = smooth(values[:length], np.array([0, length]), (0,), **chosen)
        if self.task in score.clamps:
            curve = clamp(curve, score.clamps[self.task])
        return scale(curve, score.ranges[self.task]) if is_scaled(score.how) else curve


def _combined(
    score: Score,
    curves: Mapping[str, _TaskCurves],
    measured: Callable[[_TaskCurves, Score], tuple[float, tuple[str, ...]]],
    why: str = "",
) -> Measured:
    """Return the geometric mean, or median, of a lifetime's values over its tasks."""
    tasks = [task for task in score.learning if task in curves and not _is_constant(score, task)]
    if not tasks:
        practised = NO_CURVES if score.order else _NOTHING_LEARNED
        return Measured(None, why=_CONSTANT if score.learning else practised)
    if why:
        return Measured(None, why=why)
    values = {task: measured(curves[task], score) for task in tasks}
    not_positive = [task for task, (value, _) in values.items() if value <= 0]
    if not_positive:
        return Measured(None, why=f"a mean of {', '.join(not_positive)} is not positive, so it has no logarithm")
    found = [flag for _, flags in values.values() for flag in flags]
    flags = (
        Flag(flag) if found.count(flag) == len(tasks) else Flag.of_some(flag, found.count(flag), len(tasks))
        for flag in dict.fromkeys(found)
    )
    aggregate: Aggregate = deciding_settings(score.how).get("aggregate", "mean")
    value = math.exp(Average.over(values, aggregate, score.weights)([math.log(value) for value, _ in values.values()]))
    return Measured(value, {task: (value,) for task, (value, _) in values.items()}, flags=tuple(flags))


def _at_least_floor(score: Score, level: float) -> tuple[float, tuple[str, ...]]:
    flags, (value,) = floored(LOWEST if is_scaled(score.how) else None, level)
    return value, flags


def _is_constant(score: Score, task: str) -> bool:
    settings = deciding_settings(score.how)
    return is_scaled(score.how) and not settings.get("keep_constant") and score.ranges[task].constant


# --- notes ---------------------------------------------------------------------------------------


def _length_notes(curves: Iterable[_TaskCurves]) -> Iterator[str]:
    for task_curves in curves:
        kinds = (
            (LEARNING_PERFORMANCE, task_curves.length, max(task_curves.lengths)),
            (LEARNING_SPEED, task_curves.speed_length, max(task_curves.speed_lengths)),
        )
        cut = {name: length for name, length, longest in kinds if longest > _NOTEWORTHY * length}
        for length in dict.fromkeys(cut.values()):
            names = " and ".join(name for name, own in cut.items() if own == length)
            yield f"{task_curves.task}: {names} by the first {length} experiences of learning, the shortest curve"


def _count_notes(systems: Systems, tasks: Iterable[str]) -> Iterator[str]:
    differ = [
        task
        for task in tasks
        if len({frozenset(score.order.count(task) for score in scores) for scores in systems.values()}) > 1
    ]
    if differ:
        yield f"systems differ in their numbers of learning blocks of {', '.join(differ)}"
