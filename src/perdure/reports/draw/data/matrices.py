"""What figures of pairs of tasks show: transfer forwards and backwards, the accuracy matrix, what each task lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from perdure.curves.arrays import Array
from perdure.frozen import frozen
from perdure.gather.model import Life
from perdure.log.accuracy_matrix import AccuracyMatrix, Unit
from perdure.metrics import METRICS
from perdure.reports.draw.data.folded import Fold
from perdure.reports.draw.data.view import (
    Flagged,
    Nothing,
    View,
    Whose,
    counted_text,
    flags_in,
    flags_of,
    lifetimes_text,
    whose,
)
from perdure.reports.material import Material

__all__ = [
    "AccuracyData",
    "Cells",
    "Counts",
    "ForgettingData",
    "LearningFinalData",
    "OverviewData",
    "TransferData",
    "TransferMatrix",
    "accuracy",
    "array_of",
    "departures",
    "forgetting",
    "learning_final",
    "overview",
    "transfer",
]

Cells = tuple[tuple[float | None, ...], ...]
Counts = tuple[tuple[int, ...], ...]


@frozen
class TransferMatrix:
    """One kind of transfer: a row is learned, a column evaluated just before and after."""

    metric: str
    meaning: str
    """What the columns have in common."""
    tasks: tuple[str, ...]
    cells: Cells
    """The mean over lifetimes; None where none has a value."""
    counts: Counts
    """How many lifetimes have a value."""
    threshold: float
    ahead: Cells
    """How far each cell lies from the threshold, on the scale of the colours."""
    ticks: tuple[tuple[float, str], ...]
    """Places on that scale, and what they mean."""
    flags: tuple[Flagged, ...]
    caption: str
    """How many lifetimes are behind the cells; nothing for one lifetime alone."""


@frozen
class TransferData:
    """Forward and backward transfer, never in one cell: one task may be evaluated for both."""

    name: str
    lifetimes: int
    matrices: tuple[TransferMatrix, ...]


@frozen
class AccuracyData:
    """How well each task (row) is done after each task (column) was learned."""

    name: str
    lifetimes: int
    tasks: tuple[str, ...]
    cells: Cells
    counts: Counts
    y: str
    limits: tuple[float, float]
    """Where the colours begin and end."""
    flags: tuple[Flagged, ...]
    caption: str
    """Whose values these are, and how many lifetimes are behind them."""


@frozen
class LearningFinalData:
    """Each task just after it was learned and at the end, over lifetimes of any order."""

    name: str
    lifetimes: int
    tasks: tuple[str, ...]
    learned: tuple[float | None, ...]
    learned_counts: tuple[int, ...]
    final: tuple[float | None, ...]
    final_counts: tuple[int, ...]
    y: str
    flags: tuple[Flagged, ...]
    caption: str


@frozen
class ForgettingData:
    """What each task lost, over lifetimes of any order that learned another after it."""

    name: str
    lifetimes: int
    tasks: tuple[str, ...]
    lost: tuple[float | None, ...]
    counts: tuple[int, ...]
    y: str
    flags: tuple[Flagged, ...]
    caption: str


@frozen
class OverviewData:
    """What an accuracy matrix shows, side by side."""

    accuracy: AccuracyData
    learning_final: LearningFinalData
    forgetting: ForgettingData | Nothing


_NO_MATRIX = "no accuracy matrix: nothing was learned and evaluated"


def transfer(material: Material, view: View | None = None, most: int | None = None) -> TransferData | Nothing:
    """The mean over lifetimes of each ordered pair's first value, forward and backward transfer apart.

    Of more than `most` tasks, neighbours are folded into one row.
    """
    found = whose(material, view or View())
    meanings = {one.name: one.words.pairs for one in METRICS if one.words and one.words.pairs}
    values = {name: _first_values(material, found.lives, name) for name in meanings if name in material.survey.metrics}
    values = {name: pairs for name, pairs in values.items() if pairs}
    if not values:
        return Nothing("no task is evaluated just before and just after another is learned")
    thresholds = {name: _threshold(material, name) for name in values}
    means = {name: {pair: float(np.mean(known)) for pair, known in pairs.items()} for name, pairs in values.items()}
    # The same colour means the same in both, so they share one scale where they share a threshold.
    reach = {
        threshold: _reach(
            [one for name in means if thresholds[name] == threshold for one in means[name].values()], threshold
        )
        for threshold in set(thresholds.values())
    }
    matrices = []
    for name, pairs in values.items():
        involved = {task for pair in pairs for task in pair}
        tasks = tuple(dict.fromkeys((*(task for task in material.tasks if task in involved), *sorted(involved))))
        place = {task: at for at, task in enumerate(tasks)}
        found_means, found_counts = np.full((len(tasks), len(tasks)), np.nan), np.zeros((len(tasks), len(tasks)))
        for (learned, other), known in pairs.items():
            found_means[place[learned], place[other]] = means[name][learned, other]
            found_counts[place[learned], place[other]] = len(known)
        fold = Fold.of(len(tasks), most)
        cells, counts = fold.means(found_means), _counts(fold.most(found_counts))
        ahead, ticks = departures(cells, thresholds[name], reach[thresholds[name]])
        matrices.append(
            TransferMatrix(
                metric=name,
                meaning=meanings[name],
                tasks=fold.tasks(tasks),
                cells=_cells(cells),
                counts=counts,
                threshold=thresholds[name],
                ahead=_cells(ahead),
                ticks=tuple(ticks.items()),
                flags=flags_of(found.lives, name),
                caption=counted_text(found, _flat(counts)) + fold.note,
            )
        )
    return TransferData(found.name, len(found.lives), tuple(matrices))


def accuracy(material: Material, view: View | None = None, most: int | None = None) -> AccuracyData | Nothing:
    """The accuracy matrix of a lifetime, or the mean over those that learn the same tasks in the commonest order.

    Of more than `most` tasks, neighbours are folded into one row.
    """
    found = whose(material, view or View())
    known = [(one, one.sketch.matrix) for one in found.lives if one.sketch.matrix is not None]
    if not known:
        return Nothing(_NO_MATRIX)
    tasks = Counter(matrix.tasks for _, matrix in known).most_common(1)[0][0]
    same = [(one, matrix) for one, matrix in known if matrix.tasks == tasks]
    fold = Fold.of(len(tasks), most)
    stacked = np.stack([matrix.after for _, matrix in same])
    there = ~np.isnan(stacked)
    count = there.sum(axis=0)
    total = np.where(there, stacked, 0.0).sum(axis=0)
    mean = fold.means(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))
    counts = _counts(fold.most(count))
    left = len(known) - len(same)
    unit = _unit([matrix for _, matrix in same])
    return AccuracyData(
        name=found.name,
        lifetimes=len(found.lives),
        tasks=fold.tasks(tasks),
        cells=_cells(mean),
        counts=counts,
        y=_words(unit, [one for one, _ in same]),
        limits=_limits(mean, unit),
        flags=flags_in(matrix.flags for _, matrix in same),
        caption=lifetimes_text(found, _flat(counts))
        + (f" ({left} with other tasks or orders left out)" if left else "")
        + fold.note,
    )


def learning_final(material: Material, view: View | None = None) -> LearningFinalData | Nothing:
    """The mean over lifetimes of each task's evaluation after it was learned, and of its last."""
    found = whose(material, view or View())
    learned = _by_task(found.lives, lambda after, row: after[row, row])
    final = _by_task(found.lives, lambda after, row: after[row, -1])
    tasks = tuple(task for task in material.tasks if task in learned or task in final)
    if not tasks:
        return Nothing(_NO_MATRIX)
    counts = [tuple(len(values.get(task, ())) for task in tasks) for values in (learned, final)]
    return LearningFinalData(
        name=found.name,
        lifetimes=len(found.lives),
        tasks=tasks,
        learned=_means(learned, tasks),
        learned_counts=counts[0],
        final=_means(final, tasks),
        final_counts=counts[1],
        caption=lifetimes_text(found, (*counts[0], *counts[1])),
        **_about(found),
    )


def forgetting(material: Material, view: View | None = None) -> ForgettingData | Nothing:
    """The mean over lifetimes of each task's evaluation after it was learned, less its last: minus `bwt`, by task.

    The metric `forgetting` goes by the best evaluation instead, so noise alone makes it positive.
    """
    found = whose(material, view or View())
    lost = _by_task(found.lives, _lost)
    tasks = tuple(task for task in material.tasks if task in lost)
    if not tasks:
        return Nothing("forgetting needs two learned tasks, the first evaluated once learned and at the end")
    counts = tuple(len(lost[task]) for task in tasks)
    about = _about(found)
    return ForgettingData(
        name=found.name,
        lifetimes=len(found.lives),
        tasks=tasks,
        lost=_means(lost, tasks),
        counts=counts,
        caption=lifetimes_text(found, counts),
        **{**about, "y": f"lost {about['y']}"},
    )


def overview(material: Material, view: View | None = None) -> OverviewData | Nothing:
    """The accuracy matrix and what follows from it."""
    matrix, both = accuracy(material, view), learning_final(material, view)
    if isinstance(matrix, Nothing) or isinstance(both, Nothing):
        return Nothing(_NO_MATRIX)
    return OverviewData(matrix, both, forgetting(material, view))


def departures(cells: Array, threshold: float, reach: float | None = None) -> tuple[Array, dict[float, str]]:
    """How far each cell lies from the threshold, and five places on that scale with what they mean.

    A ratio of 2 helps as much as one of ½ harms, so about 1 it is the logarithm that counts.
    """
    ahead = _away(cells, threshold)
    most = _reach(cells[np.isfinite(cells)].tolist(), threshold) if reach is None else reach
    places = [float(tick) for tick in np.linspace(-most, most, 5)]
    return ahead, {tick: f"{2**tick if threshold == 1 else tick + threshold:.2g}" for tick in places}


def array_of(cells: Cells) -> Array:
    """Cells as an array, NaN for None: for what draws, never for what counts."""
    return np.array([[np.nan if value is None else value for value in row] for row in cells], dtype=np.float64)


# --- parts ---------------------------------------------------------------------------------------


def _first_values(material: Material, lives: Sequence[Life], name: str) -> dict[tuple[str, str], list[float]]:
    """Ordered pair of tasks → the first value of each lifetime that has one."""
    tasks = frozenset(material.tasks)
    values: dict[tuple[str, str], list[float]] = {}
    for one in lives:
        measured = one.score.metrics.get(name)
        for text, found in measured.by.items() if measured else ():
            pair = _pair(text, tasks)
            if found and pair:
                values.setdefault(pair, []).append(found[0])
    return values


def _pair(text: str, tasks: frozenset[str]) -> tuple[str, str] | None:
    """The pair that is written `a→b`, where at least the second is one of the tasks."""
    parts = text.split("→")
    ways = [("→".join(parts[:at]), "→".join(parts[at:])) for at in range(1, len(parts))]
    known = [pair for pair in ways if tasks.issuperset(pair)]
    # The source may be a task in all its variants, which is none of the tasks that were scored.
    return next(iter(known or [pair for pair in ways[:1] if pair[1] in tasks]), None)


def _threshold(material: Material, name: str) -> float:
    declared = material.survey.metrics[name].threshold
    return 1.0 if declared is None else declared


def _away(cells: Array, threshold: float) -> Array:
    return np.log2(np.maximum(cells, 1e-3)) if threshold == 1 else cells - threshold


def _reach(values: Sequence[float], threshold: float) -> float:
    return max(0.05, float(np.abs(_away(np.array(values), threshold)).max())) if values else 1.0


def _by_task(lives: Sequence[Life], pick: Callable[[Array, int], float]) -> dict[str, list[float]]:
    """Task → what `pick` finds in the row of each lifetime that has it."""
    found: dict[str, list[float]] = {}
    for one in lives:
        matrix = one.sketch.matrix
        for row, task in enumerate(matrix.tasks if matrix is not None else ()):
            assert matrix is not None
            value = float(pick(matrix.after, row))
            if not np.isnan(value):
                found.setdefault(task, []).append(value)
    return found


def _lost(after: Array, row: int) -> float:
    return float(after[row, row] - after[row, -1]) if row < len(after) - 1 else np.nan


def _means(values: Mapping[str, Sequence[float]], tasks: Sequence[str]) -> tuple[float | None, ...]:
    return tuple(float(np.mean(values[task])) if values.get(task) else None for task in tasks)


def _about(found: Whose) -> dict[str, Any]:
    known = [one.sketch.matrix for one in found.lives if one.sketch.matrix is not None]
    return {"y": _words(_unit(known), found.lives), "flags": flags_in(matrix.flags for matrix in known)}


def _unit(found: Sequence[AccuracyMatrix]) -> Unit:
    units = {matrix.unit for matrix in found}
    return units.pop() if len(units) == 1 else "raw"


def _words(unit: Unit, lives: Sequence[Life]) -> str:
    """What the values are called; an accuracy matrix counts upwards also where lower is better."""
    if unit != "raw":
        return {"percent": "accuracy (%)", "fraction": "accuracy"}[unit]
    if any(one.sketch.lower for one in lives):
        return "performance, as measured, negated where lower is better"
    return "performance, as measured"


def _limits(values: Array, unit: Unit) -> tuple[float, float]:
    fixed: Mapping[str, tuple[float, float]] = {"percent": (0, 100), "fraction": (0, 1)}
    if unit in fixed:
        return fixed[unit]
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _cells(values: Array) -> Cells:
    return tuple(tuple(None if np.isnan(one) else float(one) for one in row) for row in values)


def _counts(values: Array) -> Counts:
    return tuple(tuple(int(one) for one in row) for row in values)


def _flat(counts: Counts) -> list[int]:
    return [one for row in counts for one in row]
