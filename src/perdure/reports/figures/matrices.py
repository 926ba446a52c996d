"""Figures of the accuracy matrix: the matrix, forgetting, trajectories, and all in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.gather.model import ScoredLifetime
from perdure.log.accuracy_matrix import AccuracyMatrix
from perdure.log.model import Unit
from perdure.reports.axes import (
    Entry,
    Looks,
    Panel,
    Scale,
    compose,
    frame,
    lay_out_columns,
    legend,
    margin,
    scale_over,
    task_entries,
)
from perdure.reports.figures.declare import (
    FigureView,
    NothingToDrawError,
    Numbers,
    averaged_lives,
    figure,
    lifetimes_text,
    task_looks,
)
from perdure.reports.figures.heatmap import MOST_TASKS, NUMBERED_TASKS, heatmap
from perdure.reports.palette import mix
from perdure.reports.svg import (
    Canvas,
    Figure,
    colour_marks,
    ellipsize,
    marker,
    path,
    rect,
    rule,
    stroke,
    text,
    text_width,
    wrap_text,
)
from perdure.reports.thinned import thinned_lifetime
from perdure.stats.decide import flags_in
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import Flagged
from perdure.text import number

_PALEST, _DEEPEST = "#f1f5f9", "#0a4f86"
_NO_MATRIX = "no accuracy matrix: nothing was learned and evaluated"


class MeanMatrix(msgspec.Struct, frozen=True, eq=False):
    """Mean performance on each task (row) after each task (column) was learned."""

    name: str
    lifetimes: int
    tasks: tuple[str, ...]
    cells: Array
    counts: npt.NDArray[np.int64]
    y: str
    limits: tuple[float, float]
    """Values of the palest and of the deepest colour."""
    flags: tuple[Flagged, ...]
    caption: str


@figure
def accuracy(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the performance on each task (row) after each task (column) was learned, in numbers once learned."""
    return draw_accuracy(mean_matrix(data, view), canvas)


def mean_matrix(data: GroupedSurvey, view: FigureView) -> MeanMatrix:
    """Return the accuracy matrix of a lifetime, or the mean over those that learn the tasks in the commonest order."""
    lives, name = averaged_lives(data, view)
    known = [(life, matrix) for life in lives if (matrix := thinned_lifetime(life).matrix) is not None]
    if not known:
        raise NothingToDrawError(_NO_MATRIX)
    tasks = Counter(matrix.tasks for _, matrix in known).most_common(1)[0][0]
    same = [(life, matrix) for life, matrix in known if matrix.tasks == tasks]
    stacked = np.stack([matrix.after for _, matrix in same])
    is_known = ~np.isnan(stacked)
    counts = is_known.sum(axis=0)
    total = np.where(is_known, stacked, 0.0).sum(axis=0)
    cells = np.divide(total, counts, out=np.full(total.shape, np.nan), where=counts > 0)
    others = len(known) - len(same)
    unit = _unit([matrix for _, matrix in same])
    return MeanMatrix(
        name=name,
        lifetimes=len(lives),
        tasks=tasks,
        cells=cells,
        counts=counts,
        y=_value_label(unit, [life for life, _ in same]),
        limits=_limits(cells, unit),
        flags=flags_in(matrix.flags for _, matrix in same),
        caption=lifetimes_text(lives, name, counts.ravel())
        + (f" ({others} with other tasks or orders left out)" if others else ""),
    )


def draw_accuracy(matrix: MeanMatrix, canvas: Canvas) -> Figure:
    """Draw an accuracy matrix; `canvas.limits` are those of its colours, if several figures share them."""
    title = f"Accuracy matrix · {matrix.caption}"

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        return _accuracy_panel(matrix, inner, top)

    return compose(canvas, title, title, draw, note=matrix.y, data=msgspec.structs.asdict(matrix))


def _accuracy_panel(matrix: MeanMatrix, canvas: Canvas, top: float) -> tuple[str, float]:
    low, high = canvas.limits or matrix.limits

    def colour(value: float) -> tuple[str, float]:
        part = min(1.0, max(0.0, (value - low) / max(high - low, 1e-12)))
        return mix(_PALEST, _DEEPEST, part), part * 1.2

    narrow = canvas.with_width(min(canvas.width, canvas.size * (22 + 2.2 * len(matrix.tasks))))
    names = ("evaluated", "after learning")
    return heatmap(matrix.tasks, matrix.cells, matrix.counts, narrow, top, names, colour, later=True)


@figure
def learning_final(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the performance on each task just after it was learned, and at the end."""
    numbers = _learned_and_final(data, view)
    title = f"Just learned, and at the end · {numbers['caption']}"
    return compose(canvas, title, title, lambda inner, top: _learned_and_final_panel(numbers, inner, top), data=numbers)


def _learned_and_final(data: GroupedSurvey, view: FigureView) -> Numbers:
    """Return means over lifetimes of each task's evaluation after it was learned, and of its last."""
    lives, name = averaged_lives(data, view)
    learned = _values_by_task(lives, lambda after, row: after[row, row])
    final = _values_by_task(lives, lambda after, row: after[row, -1])
    tasks = [task for task in data.tasks if task in learned or task in final]
    if not tasks:
        raise NothingToDrawError(_NO_MATRIX)
    counts = [[len(values.get(task, ())) for task in tasks] for values in (learned, final)]
    return {
        "name": name,
        "lifetimes": len(lives),
        "tasks": tasks,
        "learned": _means(learned, tasks),
        "learned_counts": counts[0],
        "final": _means(final, tasks),
        "final_counts": counts[1],
        "y": _matrix_label(lives),
        "flags": _matrix_flags(lives),
        "caption": lifetimes_text(lives, name, (*counts[0], *counts[1])),
    }


def _learned_and_final_panel(numbers: Numbers, canvas: Canvas, top: float) -> tuple[str, float]:
    key = [Entry("just learned", "good", "area", opacity=0.45), Entry("at the end", "poor", "area")]
    names, top = legend(key, canvas, top)
    series = (("good", numbers["learned"], 0.45, "just learned"), ("poor", numbers["final"], 1.0, "at the end"))
    body, bottom = _bars(numbers["tasks"], series, numbers["y"], canvas, top)
    return names + body, bottom


@figure
def forgetting(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the loss per task: performance just after learning minus performance at the end; below 0: a gain."""
    numbers = _losses(data, view)
    title = f"Forgetting by task · {numbers['caption']}"
    return compose(canvas, title, title, lambda inner, top: _losses_panel(numbers, inner, top), data=numbers)


def _losses(data: GroupedSurvey, view: FigureView) -> Numbers:
    """Return means over lifetimes of each task's evaluation after it was learned minus its last: −`bwt`, by task.

    The metric `forgetting` takes the best evaluation instead, so that noise alone makes it positive.
    """
    lives, name = averaged_lives(data, view)

    def loss(after: Array, row: int) -> float:
        return float(after[row, row] - after[row, -1]) if row < len(after) - 1 else np.nan

    lost = _values_by_task(lives, loss)
    tasks = [task for task in data.tasks if task in lost]
    if not tasks:
        raise NothingToDrawError("forgetting needs two learned tasks, the first evaluated once learned and at the end")
    counts = [len(lost[task]) for task in tasks]
    return {
        "name": name,
        "lifetimes": len(lives),
        "tasks": tasks,
        "lost": _means(lost, tasks),
        "counts": counts,
        "y": f"lost {_matrix_label(lives)}",
        "flags": _matrix_flags(lives),
        "caption": lifetimes_text(lives, name, counts),
    }


def _losses_panel(numbers: Numbers, canvas: Canvas, top: float) -> tuple[str, float]:
    values, counts = numbers["lost"], numbers["counts"]
    lost = [value if value is not None and value >= 0 else None for value in values]
    gained = [value if value is not None and value < 0 else None for value in values]
    differ = len(set(counts)) > 1
    names = [f"{task} ({count})" if differ else task for task, count in zip(numbers["tasks"], counts, strict=True)]
    label = f"{numbers['y']}{' (in brackets: lifetimes)' if differ else ''}"
    series = (("poor", lost, 1.0, "lost"), ("good", gained, 1.0, "gained"))
    return _bars(names, series, label, canvas, top, [value is None for value in values], over=True)


@figure
def trajectories(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the performance on each task after it and each later task were learned."""
    matrix, looks = mean_matrix(data, view), task_looks(data)
    title = f"Trajectories · {matrix.caption}"

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        return _trajectories_panel(matrix, looks, inner, top)

    return compose(canvas, title, title, draw, task_entries(matrix.tasks, looks), data=msgspec.structs.asdict(matrix))


@figure
def overview(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the accuracy matrix, learned and final performance, forgetting, and trajectories in one figure."""
    matrix, learned_final, looks = mean_matrix(data, view), _learned_and_final(data, view), task_looks(data)
    try:
        lost, why = _losses(data, view), ""
    except NothingToDrawError as problem:
        lost, why = {}, problem.why

    def lost_panel(part: Canvas, top: float) -> tuple[str, float]:
        if lost:
            return _losses_panel(lost, part, top)
        lines = wrap_text(why, part.small, part.width, 3)
        texts = [
            text(0, top + part.small * (1 + 1.4 * index), line, part.small, "soft") for index, line in enumerate(lines)
        ]
        return "".join(texts), top + part.small * 5

    panels: dict[str, Callable[[Canvas, float], tuple[str, float]]] = {
        "Accuracy matrix": lambda part, top: _accuracy_panel(matrix, part, top),
        "Just learned, and at the end": lambda part, top: _learned_and_final_panel(learned_final, part, top),
        "Trajectories": lambda part, top: _trajectories_panel(matrix, looks, part, top),
        "Forgetting by task (below 0: gained)": lost_panel,
    }

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        em = inner.size
        columns = 2 if inner.width > em * 45 else 1
        part = inner.with_width((inner.width - em * 2 * (columns - 1)) / columns)

        def titled(name: str) -> Callable[[float], tuple[str, float]]:
            def paint(row: float) -> tuple[str, float]:
                body, bottom = panels[name](part, row + em * 1.6)
                return text(0, row + em, name, em, "strong") + body, bottom

            return paint

        return lay_out_columns([titled(name) for name in panels], columns, part.width + em * 2, em * 1.5, top)

    label = f"What an accuracy matrix shows · {matrix.caption}"
    numbers = {"accuracy": matrix, "learning_final": learned_final, "forgetting": lost or {"why": why}}
    return compose(canvas, matrix.caption, label, draw, task_entries(matrix.tasks, looks), data=numbers)


def _trajectories_panel(matrix: MeanMatrix, looks: Looks, canvas: Canvas, top: float) -> tuple[str, float]:
    em, values = canvas.size, matrix.cells
    stages = np.arange(len(matrix.tasks), dtype=np.float64)
    y = scale_over(values[np.isfinite(values)].tolist(), top + em * 1.4 + em * 14 * canvas.tall, top + em * 1.4)
    panel = Panel(Scale(-0.3, max(len(stages) - 0.7, 0.3), margin(y, canvas), canvas.width), y)
    names, deep = _task_names(matrix.tasks, panel, canvas, "after learning")
    parts = [frame(panel, canvas, y=matrix.y, x_ticks=False), names]
    for index, task in enumerate(matrix.tasks):
        x, line, look = panel.x(stages), panel.y(values[index]), looks[task]
        body = stroke(path(x[: index + 1], line[: index + 1]), 1.0, dash=(1, 2.5), opacity=0.4)
        body += stroke(path(x[index:], line[index:]), em * 0.16, dash=look.dash)
        for stage in range(index, len(stages)):
            if np.isfinite(values[index, stage]) and len(matrix.tasks) <= MOST_TASKS:
                words = f"{task}, after {matrix.tasks[stage]}: {number(values[index, stage])}"
                body += marker(look.shape, x[stage], line[stage], em * 0.36, words)
        parts.append(colour_marks(look, body, task=look.position))
    return "".join(parts), panel.bottom + deep


# --- parts -----------------------------------------------------------------------------------------


def _values_by_task(lives: Sequence[ScoredLifetime], pick: Callable[[Array, int], float]) -> dict[str, list[float]]:
    """Return task → the value that `pick` returns for its row, for each lifetime that has one."""
    by_task: dict[str, list[float]] = {}
    for life in lives:
        matrix = thinned_lifetime(life).matrix
        for row, task in enumerate(matrix.tasks if matrix is not None else ()):
            assert matrix is not None
            value = float(pick(matrix.after, row))
            if not np.isnan(value):
                by_task.setdefault(task, []).append(value)
    return by_task


def _means(values: Mapping[str, Sequence[float]], tasks: Sequence[str]) -> list[float | None]:
    return [float(np.mean(values[task])) if values.get(task) else None for task in tasks]


def _matrices_of(lives: Sequence[ScoredLifetime]) -> list[AccuracyMatrix]:
    return [matrix for life in lives if (matrix := thinned_lifetime(life).matrix) is not None]


def _matrix_label(lives: Sequence[ScoredLifetime]) -> str:
    return _value_label(_unit(_matrices_of(lives)), lives)


def _matrix_flags(lives: Sequence[ScoredLifetime]) -> tuple[Flagged, ...]:
    return flags_in(matrix.flags for matrix in _matrices_of(lives))


def _unit(matrices: Sequence[AccuracyMatrix]) -> Unit:
    units = {matrix.unit for matrix in matrices}
    return units.pop() if len(units) == 1 else "raw"


def _value_label(unit: Unit, lives: Sequence[ScoredLifetime]) -> str:
    """Return the label of the values; in an accuracy matrix, higher is always better."""
    if unit != "raw":
        return {"percent": "accuracy (%)", "fraction": "accuracy"}[unit]
    if any(thinned_lifetime(life).lower for life in lives):
        return "performance, as measured, negated where lower is better"
    return "performance, as measured"


def _limits(values: Array, unit: Unit) -> tuple[float, float]:
    fixed: Mapping[str, tuple[float, float]] = {"percent": (0, 100), "fraction": (0, 1)}
    if unit in fixed:
        return fixed[unit]
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _bars(
    tasks: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None], float, str]],
    y: str,
    canvas: Canvas,
    top: float,
    absent: Sequence[bool] | None = None,
    *,
    over: bool = False,
) -> tuple[str, float]:
    """Return bars from 0: one per task and series, in the same place if `over`. A missing value has a dash."""
    em, small = canvas.size, canvas.small
    known = [value for _, values, _, _ in series for value in values if value is not None]
    scale = scale_over([0.0, *known], top + em * 1.6 + em * 13 * canvas.tall, top + em * 1.6, room=0.06)
    low = scale.low if min([0.0, *known]) < 0 else 0.0
    # If nothing was lost or gained, the axis shows that.
    scale = msgspec.structs.replace(scale, low=low, high=scale.high if low == 0 or max(known) > 0 else 0.0)
    panel = Panel(Scale(-0.5, len(tasks) - 0.5, margin(scale, canvas), canvas.width), scale)
    names, deep = _task_names(tasks, panel, canvas)
    parts = [frame(panel, canvas, y=y, x_ticks=False), names]
    slots = 1 if over else len(series)
    wide = min(em * 3, (panel.right - panel.left) / len(tasks) * 0.8 / slots)
    for index, (kind, values, opacity, name) in enumerate(series):
        rects = list[str]()
        for task, value in enumerate(values):
            left = panel.x(task) + ((0 if over else index) - slots / 2) * wide
            if value is not None:
                ends = sorted((panel.y(0.0), panel.y(value)))
                words = f"{tasks[task]}, {name}: {number(value)}"
                height = max(0.8, ends[1] - ends[0])
                rects.append(rect(left, ends[0], wide * 0.92, height, opacity=opacity, words=words))
            elif absent[task] if absent is not None and index == 0 else absent is None:
                parts.append(text(left + wide / 2, panel.y(0.0) - small * 0.3, "–", small, "soft", anchor="middle"))
        parts.append(colour_marks(kind, "".join(rects)))
    parts.append(rule(panel.left, panel.y(0.0), panel.right, panel.y(0.0), "axis"))
    return "".join(parts), panel.bottom + deep


def _task_names(tasks: Sequence[str], panel: Panel, canvas: Canvas, below: str = "") -> tuple[str, float]:
    """Return the names of tasks along an x axis on which they are counted from 0, and their height."""
    small = canvas.small if len(tasks) <= NUMBERED_TASKS else canvas.small * 0.8
    middle = (panel.left + panel.right) / 2
    if len(tasks) > MOST_TASKS:
        words = f"{len(tasks)} tasks in the order of learning"
        return text(middle, panel.bottom + small * 1.4, words, small, "soft", anchor="middle"), small * 2
    each = (panel.right - panel.left) / len(tasks)
    widest = max(text_width(task, small) for task in tasks)
    slanted = each > small * 1.4
    if widest <= each * 0.95:
        parts = [
            text(panel.x(index), panel.bottom + small * 1.3, task, small, anchor="middle")
            for index, task in enumerate(tasks)
        ]
        deep = small * 2
    else:
        turned = -45 if slanted else -90
        parts = [
            text(
                panel.x(index) + small * 0.3,
                panel.bottom + small,
                ellipsize(task, small, small * 9),
                small,
                anchor="end",
                turned=turned,
            )
            for index, task in enumerate(tasks)
        ]
        deep = min(widest, small * 9) * (0.72 if slanted else 1) + small * 1.5
    if below:
        parts.append(text(middle, panel.bottom + deep + small * 0.4, below, small, "soft", anchor="middle"))
        deep += small
    return "".join(parts), deep
