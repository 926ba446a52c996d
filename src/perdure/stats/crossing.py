"""Lifetimes × experts: the experts of each lifetime, and the share of their choice in the variance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from perdure.metrics.declare import AveragedAs
from perdure.metrics.measure import Measured
from perdure.metrics.score import Score
from perdure.stats.interval import Part, part_of
from perdure.stats.model import Array

TOO_FEW_EXPERTS: int = 3
"""Experts per task below which nothing is decided."""
FEW_EXPERTS: int = 5
"""Experts per task below which a decision is flagged."""
_CLOSE = 1e-9

Sharing = Literal["shared", "own", "partly", "unknown"]
"""All lifetimes have the same experts, each its own, something between, or experts are not known."""


class Crossing(Struct, frozen=True, eq=False):
    """The lifetimes of one side, and the experts of each."""

    sharing: Sharing
    lives: tuple[Score, ...]
    """Those with experts of every task."""
    values: Array
    """Each lifetime's mean over experts, then tasks, on the scale that decides."""
    tables: tuple[Array, ...] = ()
    """If they are shared: for each task lifetimes × experts."""
    shares: tuple[float, ...] = ()
    """The share of each of these tasks in a mean over tasks."""
    left_out: tuple[str, ...] = ()
    """Lifetimes that lack a task's experts."""

    @property
    def fewest(self) -> int:
        """Number of experts of the task that has fewest."""
        return min((table.shape[1] for table in self.tables), default=0)

    def parts(self, *, at_least_lives: bool = False) -> list[Part]:
        """Return the share of each task's experts in the variance of the mean.

        With `at_least_lives` a task's experts are assumed to vary at least as much as its lifetimes.
        """
        found: list[Part] = []
        for table, share in zip(self.tables, self.shares, strict=True):
            spread, count = float(table.mean(axis=0).var(ddof=1)), table.shape[1]
            if at_least_lives:
                spread = max(spread, float(table.mean(axis=1).var(ddof=1)))
            found.append((share**2 * spread / count, count - 1.0))
        return found


def crossed(lives: Sequence[Score], metric: str, scale: AveragedAs) -> Crossing:
    """Return the experts of each of `lives`, which all have a value."""
    measured = [life.metrics[metric] for life in lives]
    by_life = [_by_task(life, metric, scale) for life in lives]
    if not all(by_life):
        values = np.array([_scaled(one.value or 0.0, scale) for one in measured])
        return Crossing("unknown", tuple(lives), values)
    tasks = tuple(dict.fromkeys(task for one in by_life for task in one))
    there = [at for at, one in enumerate(by_life) if all(task in one for task in tasks)]
    left_out = tuple(life.id for at, life in enumerate(lives) if at not in set(there))
    tables = [by_life[at] for at in there]
    each = tuple(
        frozenset((task, name) for task in tasks for name in _names(measured[at], task, len(by_life[at][task])))
        for at in there
    )
    means = [{task: float(one[task].mean()) for task in tasks} for one in tables]
    values = np.array([lives[at].mean_over_tasks(of_tasks) for at, of_tasks in zip(there, means, strict=True)])
    kept = tuple(lives[at] for at in there)
    as_many = len({tuple(len(one[task]) for task in tasks) for one in tables}) == 1  # a copy of one has its name
    if len(set(each)) <= 1 and as_many:
        grid = tuple(
            np.stack([_in_order(one, measured[at], task) for at, one in zip(there, tables, strict=True)])
            for task in tasks
        )
        return Crossing("shared", kept, values, grid, tuple(lives[0].shares(tasks)), left_out)
    alone = sum(map(len, each)) == len(frozenset().union(*each))
    return Crossing("own" if alone else "partly", kept, values, (), (), left_out)


def expert_noise(lives: Sequence[Score], metric: str, scale: AveragedAs) -> float | None:
    """Return the variance of a lifetime's value because its own experts are a sample; None with one expert of a task.

    It is that of `lives` whose experts are all different.
    """
    by_life = [_by_task(life, metric, scale) for life in lives]
    if any(len(values) < 2 for by_task in by_life for values in by_task.values()):
        return None
    noises = [
        sum(share**2 * part_of(values)[0] for share, values in zip(life.shares(by_task), by_task.values(), strict=True))
        for life, by_task in zip(lives, by_life, strict=True)
    ]
    return float(np.mean(noises))


def _scaled(value: float, scale: AveragedAs) -> float:
    return math.log(value) if scale == "log" else value


def _by_task(life: Score, metric: str, scale: AveragedAs) -> dict[str, Array]:
    """Return the values relative to its experts by task, without the constant tasks that its mean leaves out."""
    one = life.metrics[metric]
    found = {task: np.array(values, dtype=np.float64) for task, values in one.by.items() if values}
    if scale == "log":
        if any((values <= 0).any() for values in found.values()):
            return {}
        found = {task: np.log(values) for task, values in found.items()}
    target = _scaled(one.value or 0.0, scale)
    mean = life.mean_over_tasks({task: float(values.mean()) for task, values in found.items()}) if found else target
    if not math.isclose(mean, target, rel_tol=_CLOSE, abs_tol=_CLOSE):
        changing = {task: values for task, values in found.items() if values.any()}
        return changing or found
    return found


def _names(one: Measured, task: str, count: int) -> tuple[str, ...]:
    """Return the names of a task's experts, or their places if names are not known."""
    names = one.experts.get(task, ())
    return names if len(names) == count else tuple(f"#{at}" for at in range(count))


def _in_order(by_task: Mapping[str, Array], one: Measured, task: str) -> Array:
    values = by_task[task]
    names = _names(one, task, len(values))
    return values[sorted(range(len(names)), key=lambda at: names[at])]
