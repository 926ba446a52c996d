"""Curves and evaluations of a lifetime: the values that figures draw, and their places on the axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeVar

import msgspec
import numpy as np

from perdure.curves.arrays import Array
from perdure.errors import PerdureError
from perdure.gather.model import ScoredLifetime
from perdure.reports.axes import ends_of
from perdure.reports.figures.declare import FigureView, NothingToDrawError
from perdure.reports.thinned import STEP_COLUMNS, ThinnedBlock, ThinnedCurve, ThinnedLifetime, thinned_lifetime

MANY_TASKS = 8
"""More tasks share their panel with thinner lines and without intervals."""


class Span(msgspec.Struct, frozen=True):
    """A block on the x axis."""

    task: str
    mode: Literal["learn", "evaluate"]
    asleep: bool
    first: float
    last: float
    experiences: int


class Points(msgspec.Struct, frozen=True, eq=False):
    """Points of a line."""

    x: Array
    y: Array


class LearningCurve(msgspec.Struct, frozen=True, eq=False):
    """A learning block: as logged, and smoothed."""

    task: str
    measured: Points
    smoothed: Points


class EvaluatedBlock(msgspec.Struct, frozen=True):
    """An evaluation block: its mean with a 95 % interval."""

    task: str
    x: float
    mean: float
    low: float | None
    """None for a single experience."""
    high: float | None
    n: int
    """Experiences."""
    run: int
    """Learning blocks of the task so far."""
    ahead: bool
    """Whether the task was not learned yet."""


class LifetimeCurves(msgspec.Struct, frozen=True, eq=False):
    """Curves and evaluations of a lifetime, as a figure places them on its axes."""

    id: str
    x: str
    y: str
    tasks: tuple[str, ...]
    spans: tuple[Span, ...]
    learning: tuple[LearningCurve, ...]
    evaluations: tuple[EvaluatedBlock, ...]


Part = TypeVar("Part", EvaluatedBlock, LearningCurve, Span)


# --- values and places of a lifetime ---------------------------------------------------------------


def lifetime_curves(life: ScoredLifetime, view: FigureView | None = None) -> LifetimeCurves:
    """Return the curves and evaluations of a lifetime. Raise `NothingToDrawError` if its blocks are not known."""
    view, thinned = view or FigureView(), thinned_lifetime(life)
    if not thinned.blocks:
        raise NothingToDrawError("there is no lifetime")
    learning = []
    for block in thinned.blocks:
        if block.smoothed is not None:
            measured, smoothed = (_points(thinned, block, curve, view) for curve in (block.measured, block.smoothed))
            learning.append(LearningCurve(block.block.task, measured, smoothed))
    return LifetimeCurves(
        id=life.id,
        x=x_label(thinned, view),
        y=y_label(life, view),
        tasks=life.score.tasks,
        spans=tuple(span_of(block, view) for block in thinned.blocks),
        learning=tuple(learning),
        evaluations=tuple(evaluated_blocks(thinned, view)),
    )


def uses_scaled(thinned: ThinnedLifetime, view: FigureView) -> bool:
    """Return whether values are scaled per task: on request, or if the tasks' ranges do not share an axis."""
    return view.values == "scaled" or (view.values == "auto" and not thinned.ranges_agree)


def scale_values(thinned: ThinnedLifetime, view: FigureView, task: str, values: Array) -> Array:
    """Return measured values, scaled if the view scales them."""
    return thinned.scale(task, values) if uses_scaled(thinned, view) else values


def x_label(thinned: ThinnedLifetime, view: FigureView) -> str:
    """Return the label of the x axis."""
    return view.axis if view.axis == "experiences" else f"{thinned.steps or 'steps'} taken"


def block_ends(block: ThinnedBlock, view: FigureView) -> tuple[float, float]:
    """Return the first and the last x of a block."""
    if view.axis == "experiences":
        return block.first, block.first + block.length
    if block.steps is None:
        raise PerdureError(
            f"no column of this log counts steps (looked for: {', '.join(STEP_COLUMNS)})",
            "log one, or draw over experiences",
        )
    return block.steps


def value_range(curves: LifetimeCurves) -> list[float]:
    """Return the ends of everything that the y axis must cover."""
    lines = [points.y for curve in curves.learning for points in (curve.measured, curve.smoothed)]
    if len(curves.tasks) > MANY_TASKS:  # no intervals are drawn
        means = np.array([evaluation.mean for evaluation in curves.evaluations])
        return [*ends_of(lines), *ends_of([means])]
    return [*ends_of(lines), *ends_of([evaluation_range(curves.evaluations)])]


def y_label(life: ScoredLifetime, view: FigureView) -> str:
    """Return the label of the y axis."""
    thinned = thinned_lifetime(life)
    return f"{thinned.measure}, each task scaled 1–101" if uses_scaled(thinned, view) else measured_label(life, thinned)


def measured_label(life: ScoredLifetime, thinned: ThinnedLifetime) -> str:
    """Return the name of measured values."""
    lower = thinned.lower and thinned.lower.issuperset(life.score.tasks)
    return thinned.measure + (" (lower is better)" if lower else "")


def span_of(block: ThinnedBlock, view: FigureView) -> Span:
    """Return a block on the x axis."""
    first, last = block_ends(block, view)
    return Span(block.block.task, block.block.mode, block.block.subtype == "sleep", first, last, block.length)


def _points(thinned: ThinnedLifetime, block: ThinnedBlock, curve: ThinnedCurve, view: FigureView) -> Points:
    if view.axis == "experiences":
        x = (block.first + curve.x).astype(np.float64)
    else:
        block_ends(block, view)
        assert curve.steps is not None
        x = curve.steps
    return Points(x, scale_values(thinned, view, block.block.task, curve.y))


def evaluated_blocks(thinned: ThinnedLifetime, view: FigureView) -> Iterator[EvaluatedBlock]:
    """Yield the evaluations of a lifetime in order."""
    learned: dict[str, int] = {}
    for block in thinned.blocks:
        task = block.block.task
        if block.block.mode == "learn":
            learned[task] = learned.get(task, 0) + 1
            continue
        known = [value for value in (block.mean, block.low, block.high) if value is not None]
        mean, *ends = (float(value) for value in scale_values(thinned, view, task, np.array(known)))
        low, high = (min(ends), max(ends)) if len(ends) == 2 else (None, None)
        middle = sum(block_ends(block, view)) / 2
        yield EvaluatedBlock(task, middle, mean, low, high, block.length, learned.get(task, 0), task not in learned)


def evaluation_range(evaluations: Sequence[EvaluatedBlock]) -> Array:
    """Return means and ends of intervals; an interval may reach beyond all values."""
    return np.array([value for item in evaluations for value in (item.mean, item.low, item.high) if value is not None])


def group_by_task(parts: Iterable[Part]) -> dict[str, list[Part]]:
    """Return task → its parts, in order."""
    by_task: dict[str, list[Part]] = {}
    for part in parts:
        by_task.setdefault(part.task, []).append(part)
    return by_task
