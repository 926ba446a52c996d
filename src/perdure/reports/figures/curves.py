"""Curves and evaluations of a lifetime: the values that figures draw, and their places on the axes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.errors import PerdureError
from perdure.gather.model import ScoredLifetime
from perdure.reports.axes import ends_of
from perdure.reports.figures.declare import FigureView, NothingToDrawError, averaged_lives, lifetimes_text
from perdure.reports.thinned import STEP_COLUMNS, ThinnedBlock, ThinnedCurve, ThinnedLifetime, thinned_lifetime
from perdure.scenario.model import Mode
from perdure.stats.groups import GroupedSurvey
from perdure.stats.interval import t_interval
from perdure.stats.model import LEVEL
from perdure.text import plural

MANY_TASKS = 8
"""More tasks share their panel with thinner lines and without intervals."""
_INTERVALS, _SINGLES = " with 95 % intervals (t, at each point)", "; faint: single lifetimes"
MEAN_NOTE = f"Means over lifetimes{_INTERVALS}{_SINGLES}."
MOST_FAINT = 50
"""Maximum number of single lifetimes that are drawn behind their mean."""
_MOST_POINTS = 240  # of a learning block of a mean


class Span(msgspec.Struct, frozen=True):
    """A block on the x axis."""

    task: str
    mode: Mode
    asleep: bool
    first: float
    last: float
    experiences: int


class Points(msgspec.Struct, frozen=True, eq=False):
    """Points of a line."""

    x: Array
    y: Array


_NO_POINTS = Points(np.array([]), np.array([]))


class LearningCurve(msgspec.Struct, frozen=True, eq=False):
    """A learning block: as logged, and smoothed."""

    task: str
    measured: Points
    """Empty for a mean of lifetimes."""
    smoothed: Points
    low: Array | None = None
    """Lower ends of the 95 % intervals of a mean of lifetimes."""
    high: Array | None = None


class EvaluatedBlock(msgspec.Struct, frozen=True):
    """An evaluation block: its mean with a 95 % interval over its experiences, or over lifetimes."""

    task: str
    x: float
    mean: float
    low: float | None
    """None for a single experience."""
    high: float | None
    n: int
    """Experiences, or lifetimes."""
    run: int
    """Learning blocks of the task so far."""
    ahead: bool
    """Whether the task was not learned yet."""
    counted: str = "experience"
    """Unit that `n` counts."""


class LifetimeCurves(msgspec.Struct, frozen=True, eq=False):
    """Curves and evaluations of a lifetime, or means of several, as a figure places them on its axes."""

    id: str
    x: str
    y: str
    tasks: tuple[str, ...]
    spans: tuple[Span, ...]
    learning: tuple[LearningCurve, ...]
    evaluations: tuple[EvaluatedBlock, ...]
    each: tuple[LifetimeCurves, ...] = ()
    """The lifetimes behind a mean."""
    left_out: str = ""
    """How blocks were stretched, and which lifetimes of the group are left out."""

    def note(self, *, intervals: bool = True, singles: bool = True) -> str:
        """Return the meaning of a mean, as far as it is drawn, and the lifetimes that it leaves out."""
        mean = f"Means over lifetimes{_INTERVALS if intervals else ''}{_SINGLES if singles else ''}."
        return " ".join(filter(None, (mean if self.each else "", self.left_out)))


class Means(msgspec.Struct, frozen=True, eq=False):
    """Means over lifetimes with the ends of 95 % t intervals; NaN if unknown."""

    mean: Array
    low: Array
    high: Array
    counts: npt.NDArray[np.int64]


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


def group_curves(data: GroupedSurvey, view: FigureView, why: str = "there is no lifetime") -> LifetimeCurves:
    """Return the curves of the view's lifetime, or means over its group's lifetimes with one order of blocks.

    If lifetimes of the group have other orders, the most frequent order counts. If each has its own, the first lifetime
    is shown. The note names the lifetimes that are left out.
    """
    lives, name = averaged_lives(data, view)
    known = [life for life in lives if thinned_lifetime(life).blocks]
    if not known:
        raise NothingToDrawError(why)
    same = max(lifetimes_by_order(known).values(), key=len)
    left = (
        plural(len(known) - len(same), "lifetime") + " with another order of blocks" if len(same) < len(known) else ""
    )
    if len(same) == 1:
        curves = lifetime_curves(same[0], view)
        return msgspec.structs.replace(curves, left_out=f"One lifetime; left out: {left}." if left else "")
    # Measured and scaled values are never averaged: one lifetime that must be scaled scales all.
    scaled = any(uses_scaled(thinned_lifetime(life), view) for life in same)
    shared = msgspec.structs.replace(view, values="scaled" if scaled else view.values)
    each = [lifetime_curves(life, shared) for life in same]
    stretched = len({tuple(span.experiences for span in curves.spans) for curves in each}) > 1
    notes = [
        "Blocks of different lengths are stretched to their mean length." if stretched else "",
        f"Left out: {left}." if left else "",
    ]
    return msgspec.structs.replace(
        _mean_curves(each), id=lifetimes_text(lives, name, [len(same)]), left_out=" ".join(filter(None, notes))
    )


def lifetimes_by_order(lives: Iterable[ScoredLifetime]) -> dict[tuple[Any, ...], list[ScoredLifetime]]:
    """Return order of blocks → the lifetimes that have it."""
    by_order: dict[tuple[Any, ...], list[ScoredLifetime]] = {}
    for life in lives:
        blocks = [block.block for block in thinned_lifetime(life).blocks]
        by_order.setdefault(tuple((block.mode, block.task, block.subtype) for block in blocks), []).append(life)
    return by_order


def means_over_lifetimes(values: Array) -> Means:
    """Average over the first axis, without missing values. An interval needs two values."""
    known = ~np.isnan(values)
    counts = known.sum(axis=0)
    total = np.where(known, values, 0.0).sum(axis=0)
    mean = np.divide(total, counts, out=np.full(total.shape, np.nan), where=counts > 0)
    squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0)
    several = np.maximum(counts, 2)
    low, high = t_interval(mean, np.sqrt(squares / (several - 1)), several, LEVEL)
    return Means(mean, np.where(counts > 1, low, np.nan), np.where(counts > 1, high, np.nan), counts)


def _mean_curves(each: Sequence[LifetimeCurves]) -> LifetimeCurves:
    """Return the mean of lifetimes whose blocks have one order, each block at its mean place and length."""

    def mean_of(values: Iterable[float]) -> float:
        return float(np.mean(list(values)))

    spans = tuple(
        msgspec.structs.replace(
            same[0],
            first=mean_of(span.first for span in same),
            last=mean_of(span.last for span in same),
            experiences=round(mean_of(span.experiences for span in same)),
        )
        for same in zip(*(curves.spans for curves in each), strict=True)
    )
    aligned = [_stretch(curves, spans) for curves in each]
    learning = []
    for same in zip(*(curves.learning for curves in aligned), strict=True):
        x = np.unique(np.concatenate([curve.smoothed.x for curve in same]))
        x = x[np.unique(np.linspace(0, len(x) - 1, _MOST_POINTS).round().astype(np.int64))]
        means = means_over_lifetimes(np.stack([np.interp(x, curve.smoothed.x, curve.smoothed.y) for curve in same]))
        learning.append(LearningCurve(same[0].task, _NO_POINTS, Points(x, means.mean), means.low, means.high))
    evaluations = []
    for evaluated in zip(*(curves.evaluations for curves in aligned), strict=True):
        means = means_over_lifetimes(np.array([evaluation.mean for evaluation in evaluated]))
        mean, low, high = float(means.mean), float(means.low), float(means.high)
        evaluations.append(
            msgspec.structs.replace(evaluated[0], mean=mean, low=low, high=high, n=len(each), counted="lifetime")
        )
    return msgspec.structs.replace(
        each[0], spans=spans, learning=tuple(learning), evaluations=tuple(evaluations), each=tuple(aligned)
    )


def _stretch(curves: LifetimeCurves, spans: Sequence[Span]) -> LifetimeCurves:
    """Return a lifetime whose blocks are moved and stretched to `spans`. Only its smoothed curves are kept."""
    pairs = list(zip(curves.spans, spans, strict=True))
    # An accuracy matrix has no learning curves.
    learned = [pair for pair in pairs if pair[0].mode == "learn"] if curves.learning else []
    evaluated, around = [], pairs[0]
    for pair in pairs:
        around = around if pair[0].mode == "probe" else pair  # a probe is drawn inside its learning block
        if pair[0].mode != "learn":
            evaluated.append(around)
    learning = tuple(
        LearningCurve(curve.task, _NO_POINTS, Points(_move(curve.smoothed.x, *pair), curve.smoothed.y))
        for curve, pair in zip(curves.learning, learned, strict=True)
    )
    evaluations = tuple(
        msgspec.structs.replace(evaluation, x=float(_move(np.array(evaluation.x), *pair)))
        for evaluation, pair in zip(curves.evaluations, evaluated, strict=True)
    )
    return msgspec.structs.replace(curves, spans=tuple(spans), learning=learning, evaluations=evaluations)


def _move(x: Array, old: Span, new: Span) -> Array:
    return new.first + (x - old.first) * ((new.last - new.first) / ((old.last - old.first) or 1.0))


def uses_scaled(thinned: ThinnedLifetime, view: FigureView) -> bool:
    """Return whether values are scaled per task: on request, or if the tasks' ranges do not share an axis."""
    return view.values == "scaled" or (view.values == "auto" and not thinned.ranges_agree)


def scale_values(thinned: ThinnedLifetime, view: FigureView, task: str, values: Array) -> Array:
    """Return measured values, scaled if the view scales them."""
    return thinned.scale(task, values) if uses_scaled(thinned, view) else values


def x_label(thinned: ThinnedLifetime, view: FigureView) -> str:
    """Return the label of the x axis."""
    if view.axis == "steps":
        return f"{thinned.steps or 'steps'} taken"
    return "tasks learned" if any(block.learned for block in thinned.blocks) else "experiences"


def block_ends(block: ThinnedBlock, view: FigureView) -> tuple[float, float]:
    """Return the first and the last x of a block."""
    if view.axis == "experiences":
        return block.learned or (block.first, block.first + block.length)
    if block.steps is None:
        raise PerdureError(
            f"no column of this log counts steps (looked for: {', '.join(STEP_COLUMNS)})",
            "log one, or draw over experiences",
        )
    return block.steps


def value_range(curves: LifetimeCurves) -> list[float]:
    """Return the ends of everything that the y axis must cover."""
    lines = [points.y for curve in curves.learning for points in (curve.measured, curve.smoothed)]
    lines += [end for curve in curves.learning for end in (curve.low, curve.high) if end is not None]
    lines += [curve.smoothed.y for single in curves.each[:MOST_FAINT] for curve in single.learning]
    if len(curves.tasks) > MANY_TASKS:  # neither intervals nor evaluations before learning are drawn
        means = np.array([evaluation.mean for evaluation in curves.evaluations if not evaluation.ahead])
        return [*ends_of(lines), *ends_of([means])]
    return [*ends_of(lines), *ends_of([evaluation_range(curves.evaluations)])]


def y_label(life: ScoredLifetime, view: FigureView) -> str:
    """Return the label of the y axis."""
    thinned = thinned_lifetime(life)
    return f"{thinned.measure}, each task scaled 1–101" if uses_scaled(thinned, view) else measured_label(life, thinned)


def measured_label(life: ScoredLifetime, thinned: ThinnedLifetime) -> str:
    """Return the name of measured values."""
    lower = thinned.lower and thinned.lower.issuperset(life.score.tasks)
    unit = " (%)" if life.score.identity.unit == "percent" else ""
    return f"{thinned.measure}{unit}{' (lower is better)' if lower else ''}"


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
    learning: ThinnedBlock | None = None
    for block in thinned.blocks:
        task = block.block.task
        if block.block.mode == "learn":
            learned[task] = learned.get(task, 0) + 1
            learning = block
            continue
        known = [value for value in (block.mean, block.low, block.high) if value is not None]
        mean, *ends = (float(value) for value in scale_values(thinned, view, task, np.array(known)))
        low, high = (min(ends), max(ends)) if len(ends) == 2 else (None, None)
        middle = sum(block_ends(block, view)) / 2
        if block.block.inside and learning:  # a probe is drawn inside its learning block
            first, last = block_ends(learning, view)
            middle = first + (last - first) * min(block.block.inside / learning.length, 1.0)
        yield EvaluatedBlock(task, middle, mean, low, high, block.length, learned.get(task, 0), task not in learned)


def evaluation_range(evaluations: Sequence[EvaluatedBlock], *, ends: bool = True) -> Array:
    """Return means, and ends of intervals, which may reach beyond all values."""
    values = [value for item in evaluations for value in (item.mean, *((item.low, item.high) if ends else ()))]
    return np.array([value for value in values if value is not None])


def group_by_task(parts: Iterable[Part]) -> dict[str, list[Part]]:
    """Return task → its parts, in order."""
    by_task: dict[str, list[Part]] = {}
    for part in parts:
        by_task.setdefault(part.task, []).append(part)
    return by_task
