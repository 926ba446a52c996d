"""Figures of the accuracy matrix: the matrix, forgetting, trajectories, and all in one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial

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
    PanelSpec,
    Scale,
    compose,
    ends_of,
    frame,
    lay_out_columns,
    legend,
    margin,
    multiples,
    scale_over,
    task_entries,
)
from perdure.reports.figures.curves import MEAN_NOTE, MOST_FAINT, Means, means_over_lifetimes
from perdure.reports.figures.declare import (
    FigureView,
    NothingToDrawError,
    Numbers,
    averaged_lives,
    display_names,
    figure,
    lifetimes_text,
    task_looks,
)
from perdure.reports.figures.heatmap import MOST_TASKS, NUMBERED_TASKS, heatmap
from perdure.reports.palette import Look, looks, mix
from perdure.reports.svg import (
    Canvas,
    Figure,
    area,
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
from perdure.text import decimals_of, interval, number

_PALEST, _DEEPEST = "#f1f5f9", "#0a4f86"
_BEFORE = "before"
"""Heading of the evaluations before any learning."""
_INTERVALS = "Lines on bars: 95 % intervals over lifetimes."
_NO_MATRIX = "no accuracy matrix: nothing was learned and evaluated"


class MeanMatrix(msgspec.Struct, frozen=True, eq=False):
    """Mean performance on each task (row) before learning and after each task (column) was learned."""

    name: str
    lifetimes: int
    tasks: tuple[str, ...]
    """The learned tasks, in order."""
    rows: tuple[str, ...]
    """The learned tasks, and those that were only evaluated."""
    columns: tuple[str, ...]
    """`before` if a task was evaluated before any learning, and the learned tasks."""
    cells: Array
    low: Array
    """Lower ends of the cells' 95 % intervals over lifetimes; NaN for a single lifetime."""
    high: Array
    counts: npt.NDArray[np.int64]
    each: Array
    """The cells of each lifetime."""
    y: str
    limits: tuple[float, float]
    """Values of the palest and of the deepest colour."""
    flags: tuple[Flagged, ...]
    caption: str

    @property
    def moments(self) -> tuple[str, ...]:
        """Times of the columns: `before learning`, `after task1`."""
        first = len(self.columns) - len(self.tasks)
        return ("before learning",) * first + tuple(f"after {task}" for task in self.tasks)


@figure
def accuracy(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the performance on each task (row) before learning and after each task (column) was learned, in numbers."""
    return draw_accuracy(mean_matrix(data, view), canvas)


def mean_matrix(data: GroupedSurvey, view: FigureView) -> MeanMatrix:
    """Return the accuracy matrix of a lifetime, or the mean over those that learn the tasks in the commonest order."""
    lives, name = averaged_lives(data, view)
    known = [(life, matrix) for life in lives if (matrix := thinned_lifetime(life).matrix) is not None]
    if not known:
        raise NothingToDrawError(_NO_MATRIX)
    tasks = Counter(matrix.tasks for _, matrix in known).most_common(1)[0][0]
    same = [(life, matrix) for life, matrix in known if matrix.tasks == tasks]
    only_evaluated = tuple(dict.fromkeys(task for _, matrix in same for task in matrix.others))
    unknown = np.full(len(tasks) + 1, np.nan)
    each = np.stack(
        [
            np.vstack([matrix.values, *(matrix.others.get(task, unknown) for task in only_evaluated)])
            for _, matrix in same
        ]
    )
    with_before = len(tasks) < MOST_TASKS and not np.isnan(each[:, :, 0]).all()
    each = each if with_before else each[:, :, 1:]
    means = means_over_lifetimes(each)
    others = len(known) - len(same)
    unit = _unit([matrix for _, matrix in same])
    return MeanMatrix(
        name=name,
        lifetimes=len(lives),
        tasks=tasks,
        rows=(*tasks, *only_evaluated),
        columns=(_BEFORE, *tasks) if with_before else tasks,
        cells=means.mean,
        low=means.low,
        high=means.high,
        counts=means.counts,
        each=each,
        y=_value_label(unit, [life for life, _ in same]),
        limits=_limits(means.mean, unit),
        flags=flags_in(matrix.flags for _, matrix in same),
        caption=lifetimes_text(lives, name, means.counts.ravel())
        + (f" ({others} with other tasks or orders left out)" if others else ""),
    )


def draw_accuracy(matrix: MeanMatrix, canvas: Canvas) -> Figure:
    """Draw an accuracy matrix; `canvas.limits` are those of its colours, if several figures share them."""
    title = f"Accuracy matrix · {matrix.caption}"

    note = matrix.y if canvas.legend else ""
    draw = partial(_accuracy_panel, matrix)
    return compose(canvas, title, title, draw, note=note, data=msgspec.structs.asdict(matrix))


def _accuracy_panel(matrix: MeanMatrix, canvas: Canvas, top: float) -> tuple[str, float]:
    low, high = canvas.limits or matrix.limits
    decimals = decimals_of(matrix.cells[np.isfinite(matrix.cells)].tolist())

    def colour(value: float) -> str:
        return mix(_PALEST, _DEEPEST, min(1.0, max(0.0, (value - low) / max(high - low, 1e-12))))

    def words(value: float) -> str:
        return f"{value:.{decimals}f}".replace("-", "−")

    names = ("evaluated", "after learning")
    return heatmap(matrix.rows, matrix.columns, matrix.cells, matrix.counts, canvas, top, names, colour, words)


@figure
def learning_final(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the performance on each task just after it was learned, and at the end, with 95 % intervals."""
    numbers = _learned_and_final(data, view)
    title = f"Just learned, and at the end · {numbers['caption']}"
    note = _INTERVALS if numbers["lifetimes"] > 1 else ""
    return compose(canvas, title, title, partial(_learned_and_final_panel, numbers), note=note, data=numbers)


def _learned_and_final(data: GroupedSurvey, view: FigureView) -> Numbers:
    """Return means over lifetimes of each task's evaluation after it was learned, and of its last."""
    lives, name = averaged_lives(data, view)
    learned = _values_by_task(lives, lambda after, row: after[row, row])
    final = _values_by_task(lives, lambda after, row: after[row, -1])
    tasks = [task for task in data.tasks if task in learned or task in final]
    if not tasks:
        raise NothingToDrawError(_NO_MATRIX)
    numbers = {"learned": _means(learned, tasks), "final": _means(final, tasks)}
    return {
        "name": name,
        "lifetimes": len(lives),
        "tasks": tasks,
        **numbers,
        "y": _matrix_label(lives),
        "flags": _matrix_flags(lives),
        "caption": lifetimes_text(lives, name, np.concatenate([means.counts for means in numbers.values()])),
    }


def _learned_and_final_panel(numbers: Numbers, canvas: Canvas, top: float) -> tuple[str, float]:
    key = [Entry("just learned", "good", "area", opacity=0.45), Entry("at the end", "poor", "area")]
    names, top = legend(key, canvas, top)
    series = [
        Bars(numbers["learned"], lambda _: "good", lambda _: "just learned", 0.45),
        Bars(numbers["final"], lambda _: "poor", lambda _: "at the end"),
    ]
    body, bottom = _bars(numbers["tasks"], series, numbers["y"], canvas, top)
    return names + body, bottom


@figure
def forgetting(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the loss per task and group with 95 % intervals: just after learning minus the end; below 0: a gain."""
    numbers = _losses(data, view)
    title = f"Forgetting by task · {numbers['caption']}"
    names = [group["name"] for group in numbers["groups"]]
    shown = display_names(data)
    entries = [Entry(shown.get(name, name), look, "area") for name, look in looks(names).items()]
    note = _INTERVALS if any(group["lifetimes"] > 1 for group in numbers["groups"]) else ""
    entries = entries if len(names) > 1 else []
    return compose(canvas, title, title, partial(_losses_panel, numbers), entries, note, numbers)


def _losses(data: GroupedSurvey, view: FigureView) -> Numbers:
    """Return means over lifetimes of each task's evaluation after it was learned minus its last: −`bwt`, by task.

    Without a group or lifetime in the view, all groups with the same unit as the first have bars. The metric
    `forgetting` takes the best evaluation instead, so that noise alone makes it positive.
    """
    views = [view]
    if view.group is None and view.lifetime is None and len(data.groups) > 1:
        views = [msgspec.structs.replace(view, group=group.group) for group in data.groups]

    def loss(after: Array, row: int) -> float:
        return float(after[row, row] - after[row, -1]) if row < len(after) - 1 else np.nan

    groups: list[Numbers] = []
    every: list[ScoredLifetime] = []
    largest: Sequence[ScoredLifetime] = ()
    label = ""
    for chosen in views:
        lives, name = averaged_lives(data, chosen)
        lost = _values_by_task(lives, loss)
        if lost and (not groups or _matrix_label(lives) == label):
            label = label or _matrix_label(lives)
            groups.append({"name": name, "lifetimes": len(lives), "lost": lost})
            every += lives
            largest = max(largest, lives, key=len)
    tasks = [task for task in data.tasks if any(task in group["lost"] for group in groups)]
    if not tasks:
        raise NothingToDrawError("forgetting needs two learned tasks, the first evaluated once learned and at the end")
    groups = [{**group, "lost": _means(group["lost"], tasks)} for group in groups]
    counts = np.concatenate([group["lost"].counts for group in groups])
    return {
        "tasks": tasks,
        "groups": groups,
        "y": f"lost {label}",
        "flags": _matrix_flags(every),
        "caption": lifetimes_text(largest, f"{len(groups)} groups" if len(groups) > 1 else groups[0]["name"], counts),
    }


def _losses_panel(numbers: Numbers, canvas: Canvas, top: float) -> tuple[str, float]:
    tasks, groups = numbers["tasks"], numbers["groups"]
    label, names = numbers["y"], tasks
    counts = groups[0]["lost"].counts
    if len(groups) == 1 and len(set(counts.tolist())) > 1:
        names = [f"{task} ({count})" for task, count in zip(tasks, counts, strict=True)]
        label += " (in brackets: lifetimes)"
    of_group = looks(group["name"] for group in groups)
    series = [
        _loss_bars(group, of_group[group["name"]]) if len(groups) > 1 else _loss_bars(group, None) for group in groups
    ]
    return _bars(names, series, label, canvas, top)


def _loss_bars(group: Numbers, look: Look | None) -> Bars:
    """Return the bars of a group, in its colour, or else in those of losses and gains."""

    def colour(value: float) -> Look | str:
        return look or ("poor" if value >= 0 else "good")

    def name(value: float) -> str:
        return f"{group['name']}, " * bool(look) + ("lost" if value >= 0 else "gained")

    return Bars(group["lost"], colour, name)


@figure
def trajectories(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the performance on each task after each task was learned; a group's mean has a panel per task and a band."""
    matrix, of_task = mean_matrix(data, view), task_looks(data)
    title = f"Trajectories · {matrix.caption}"
    numbers = msgspec.structs.asdict(matrix)
    if len(matrix.each) > 1 and len(matrix.rows) <= MOST_TASKS:
        return _trajectories_by_task(matrix, of_task, canvas, title, numbers)
    draw = partial(_trajectories_panel, matrix, of_task)
    return compose(canvas, title, title, draw, task_entries(matrix.rows, of_task), data=numbers)


def _trajectories_by_task(matrix: MeanMatrix, of_task: Looks, canvas: Canvas, title: str, numbers: Numbers) -> Figure:
    """Draw a panel per task: the mean with its band, and single lifetimes."""
    stages = np.arange(len(matrix.columns), dtype=np.float64) - (len(matrix.columns) - len(matrix.tasks)) + 1
    faint = matrix.each[:MOST_FAINT]
    specs = [
        PanelSpec(task, [stages], [matrix.low[index], matrix.high[index], faint[:, index].ravel()])
        for index, task in enumerate(matrix.rows)
    ]

    def draw(index: int, panel: Panel, inner: Canvas) -> str:
        task, em, x = matrix.rows[index], inner.size, panel.x(stages)
        look, mean = of_task[task], matrix.cells[index]
        body = "".join(stroke(path(x, panel.y(cells[index])), 0.7, opacity=0.3) for cells in faint)
        body += area(x, panel.y(matrix.low[index]), panel.y(matrix.high[index]), 0.2)
        body += stroke(path(x, panel.y(mean)), em * 0.16, dash=look.dash)
        for stage in np.flatnonzero(np.isfinite(mean)).tolist():
            ends = _ends(matrix.low[index, stage], matrix.high[index, stage])
            words = f"{task}, {matrix.moments[stage]}: {number(float(mean[stage]))}{ends}"
            body += marker(look.shape, x[stage], panel.y(float(mean[stage])), em * 0.32, words)
        learned = panel.x(float(index + 1))
        when = rule(learned, panel.top, learned, panel.bottom, "axis", 0.7, "2 3") if index < len(matrix.tasks) else ""
        return when + colour_marks(look, body, task=look.position)

    key = [Entry("the task is learned", "soft", dash=(3, 3), width=1)]
    return multiples(
        specs, draw, canvas, title, title, x="tasks learned", y=matrix.y, key=key, note=MEAN_NOTE, data=numbers
    )


@figure
def overview(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the accuracy matrix, learned and final performance, forgetting, and trajectories in one figure."""
    matrix, learned_final, of_task = mean_matrix(data, view), _learned_and_final(data, view), task_looks(data)
    group = data.groups[0].group if data.groups and view.lifetime is None else None
    try:
        lost, why = _losses(data, msgspec.structs.replace(view, group=view.group or group)), ""
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
        "Accuracy matrix": partial(_accuracy_panel, matrix),
        "Just learned, and at the end": partial(_learned_and_final_panel, learned_final),
        "Trajectories": partial(_trajectories_panel, matrix, of_task),
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
    return compose(canvas, matrix.caption, label, draw, task_entries(matrix.rows, of_task), data=numbers)


def _trajectories_panel(matrix: MeanMatrix, of_task: Looks, canvas: Canvas, top: float) -> tuple[str, float]:
    em, values = canvas.size, matrix.cells
    stages = np.arange(len(matrix.columns), dtype=np.float64)
    y = scale_over(ends_of([values]), top + em * 1.4 + em * 14 * canvas.tall, top + em * 1.4)
    panel = Panel(Scale(-0.5, len(stages) - 0.5, margin(y, canvas), canvas.width), y)
    names, deep = _task_names(matrix.columns, panel, canvas, "after learning")
    parts, x = [frame(panel, canvas, y=matrix.y, x_ticks=False), names], panel.x(stages)
    for index, task in enumerate(matrix.rows):
        # The line is dotted before the task is learned, and never for tasks that are only evaluated.
        first = len(stages) - len(matrix.tasks) + index if index < len(matrix.tasks) else 0
        line, look = panel.y(values[index]), of_task[task]
        body = stroke(path(x[: first + 1], line[: first + 1]), 1.0, dash=(1, 2.5), opacity=0.4)
        body += stroke(path(x[first:], line[first:]), em * 0.16, dash=look.dash)
        for stage in range(first, len(stages)):
            if np.isfinite(values[index, stage]) and len(matrix.tasks) <= MOST_TASKS:
                words = f"{task}, {matrix.moments[stage]}: {number(float(values[index, stage]))}"
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


def _means(values: Mapping[str, Sequence[float]], tasks: Sequence[str]) -> Means:
    """Return means over lifetimes, task by task; lifetimes without a value of a task do not count for it."""
    by_task = np.full((max(map(len, values.values())), len(tasks)), np.nan)
    for column, task in enumerate(tasks):
        known = values.get(task, ())
        by_task[: len(known), column] = known
    return means_over_lifetimes(by_task)


def _ends(low: float, high: float) -> str:
    return f", 95 % interval {interval(low, high, ' to ')}" if np.isfinite(low) else ""


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


class Bars(msgspec.Struct, frozen=True, eq=False):
    """One bar per task: the means with their intervals, and the colour and the name of a value."""

    means: Means
    look: Callable[[float], Look | str]
    name: Callable[[float], str]
    opacity: float = 1.0


def _bars(tasks: Sequence[str], series: Sequence[Bars], y: str, canvas: Canvas, top: float) -> tuple[str, float]:
    """Return bars from 0, side by side for each task. A missing value has a dash."""
    em, small = canvas.size, canvas.small
    known = ends_of([values for bars in series for values in (bars.means.mean, bars.means.low, bars.means.high)])
    scale = scale_over([0.0, *known], top + em * 1.6 + em * 13 * canvas.tall, top + em * 1.6, room=0.06)
    low = scale.low if min([0.0, *known]) < 0 else 0.0
    # If nothing was lost or gained, the axis shows that.
    scale = msgspec.structs.replace(scale, low=low, high=scale.high if low == 0 or max(known) > 0 else 0.0)
    panel = Panel(Scale(-0.5, len(tasks) - 0.5, margin(scale, canvas), canvas.width), scale)
    names, deep = _task_names(tasks, panel, canvas)
    parts = [frame(panel, canvas, y=y, x_ticks=False), names]
    wide = min(em * 3, (panel.right - panel.left) / len(tasks) * 0.8 / len(series))
    for index, bars in enumerate(series):
        means = bars.means
        for task, (value, least, most) in enumerate(zip(means.mean, means.low, means.high, strict=True)):
            left = panel.x(task) + (index - len(series) / 2) * wide
            middle = left + wide * 0.46
            if not np.isfinite(value):
                parts.append(text(middle, panel.y(0.0) - small * 0.3, "–", small, "soft", anchor="middle"))
                continue
            ends = sorted((panel.y(0.0), panel.y(float(value))))
            words = f"{tasks[task]}, {bars.name(value)}: {number(float(value))}{_ends(least, most)}"
            bar = rect(left, ends[0], wide * 0.92, max(0.8, ends[1] - ends[0]), opacity=bars.opacity, words=words)
            parts.append(colour_marks(bars.look(value), bar))
            if np.isfinite(least):
                reach = path([middle, middle], [panel.y(float(least)), panel.y(float(most))])
                parts.append(colour_marks("ink", stroke(reach, em * 0.11)))
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
    widest = max(text_width(task, small) for task in tasks) * canvas.enlargement
    slanted = each > small * 1.4
    if widest <= each * 0.95 or each > small * 10:
        parts = [
            text(
                panel.x(index),
                panel.bottom + small * 1.3,
                ellipsize(task, small * canvas.enlargement, each * 0.95),
                small,
                anchor="middle",
            )
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
