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
from perdure.reports.thinned import STEP_COLUMNS, ThinnedBlock, ThinnedCurve, ThinnedLifetime, thinned

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
    """What is drawn of a lifetime over its length."""

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
    view, drawn = view or FigureView(), thinned(life)
    if not drawn.blocks:
        raise NothingToDrawError("there is no lifetime")
    learning = []
    for block in drawn.blocks:
        if block.smoothed is not None:
            measured, smoothed = (_points(drawn, block, curve, view) for curve in (block.measured, block.smoothed))
            learning.append(LearningCurve(block.block.task, measured, smoothed))
    return LifetimeCurves(
        id=life.id,
        x=x_label(drawn, view),
        y=y_label(life, view),
        tasks=life.score.tasks,
        spans=tuple(span_of(block, view) for block in drawn.blocks),
        learning=tuple(learning),
        evaluations=tuple(evaluated_blocks(drawn, view)),
    )


def uses_scaled(drawn: ThinnedLifetime, view: FigureView) -> bool:
    """Return whether values are scaled per task: if asked for, or if the tasks' ranges do not share an axis."""
    return view.values == "scaled" or (view.values == "auto" and not drawn.ranges_agree)


def drawn_values(drawn: ThinnedLifetime, view: FigureView, task: str, values: Array) -> Array:
    """Return measured values as they are drawn."""
    return drawn.scaled(task, values) if uses_scaled(drawn, view) else values


def x_label(drawn: ThinnedLifetime, view: FigureView) -> str:
    """Return what the x axis counts."""
    return view.axis if view.axis == "experiences" else f"{drawn.steps or 'steps'} taken"


def block_ends(block: ThinnedBlock, view: FigureView) -> tuple[float, float]:
    """Return where a block begins and ends on the x axis."""
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
    """Return what the y axis shows."""
    drawn = thinned(life)
    return f"{drawn.measure}, each task scaled 1–101" if uses_scaled(drawn, view) else measured_label(life, drawn)


def measured_label(life: ScoredLifetime, drawn: ThinnedLifetime) -> str:
    """Return the name of measured values."""
    lower = drawn.lower and drawn.lower.issuperset(life.score.tasks)
    return drawn.measure + (" (lower is better)" if lower else "")


def span_of(block: ThinnedBlock, view: FigureView) -> Span:
    """Return a block on the x axis."""
    first, last = block_ends(block, view)
    return Span(block.block.task, block.block.mode, block.block.subtype == "sleep", first, last, block.length)


def _points(drawn: ThinnedLifetime, block: ThinnedBlock, curve: ThinnedCurve, view: FigureView) -> Points:
    if view.axis == "experiences":
        x = (block.first + curve.x).astype(np.float64)
    else:
        block_ends(block, view)
        assert curve.steps is not None
        x = curve.steps
    return Points(x, drawn_values(drawn, view, block.block.task, curve.y))


def evaluated_blocks(drawn: ThinnedLifetime, view: FigureView) -> Iterator[EvaluatedBlock]:
    """Yield the evaluations of a lifetime in order."""
    learned: dict[str, int] = {}
    for block in drawn.blocks:
        task = block.block.task
        if block.block.mode == "learn":
            learned[task] = learned.get(task, 0) + 1
            continue
        known = [value for value in (block.mean, block.low, block.high) if value is not None]
        mean, *ends = (float(value) for value in drawn_values(drawn, view, task, np.array(known)))
        low, high = (min(ends), max(ends)) if len(ends) == 2 else (None, None)
        middle = sum(block_ends(block, view)) / 2
        yield EvaluatedBlock(task, middle, mean, low, high, block.length, learned.get(task, 0), task not in learned)


def evaluation_range(evaluations: Sequence[EvaluatedBlock]) -> Array:
    """Return means and ends of intervals; an interval may reach beyond all values."""
    return np.array([value for one in evaluations for value in (one.mean, one.low, one.high) if value is not None])


def parts_by_task(parts: Iterable[Part]) -> dict[str, list[Part]]:
    """Return task → its parts, in order."""
    found: dict[str, list[Part]] = {}
    for part in parts:
        found.setdefault(part.task, []).append(part)
    return found
