"""Figures of a lifetime, or of the mean of a group: learning curves, evaluations, experts, and the order of blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import numpy as np
from msgspec import structs

from perdure.gather.model import ScoredLifetime
from perdure.reports.axes import (
    Entry,
    Looks,
    Panel,
    PanelSpec,
    Scale,
    compose,
    frame,
    margin,
    multiples,
    scale_over,
    task_entries,
)
from perdure.reports.figures.curves import (
    MANY_TASKS,
    MOST_FAINT,
    EvaluatedBlock,
    LearningCurve,
    LifetimeCurves,
    Points,
    Span,
    evaluation_range,
    group_by_task,
    group_curves,
    measured_label,
    span_of,
    value_range,
    x_label,
)
from perdure.reports.figures.declare import FigureView, NothingToDrawError, Numbers, figure, first_life, task_looks
from perdure.reports.palette import Look
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
)
from perdure.reports.thinned import ThinnedCurve, thinned_lifetime
from perdure.stats.groups import GroupedSurvey
from perdure.text import number, plural

SCENARIO_NOTE = "High bars: learned; low bars: evaluated."
_MOST_TOOLTIPS = 240  # evaluations; with more of them, dots have no tooltips
_MOST_DOTS = 1500  # evaluations with a dot; more are lines only
_MOST_EVALUATIONS = 6000
_MOST_SPANS = 3000
_MOST_SHADED = 60  # learning blocks with their own shade behind the curves
_MOST_ROWS = 60  # tasks of a scenario


@figure
def lifetime(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot learning curves and evaluations with 95 % intervals: of one lifetime, or the mean of a group with a band."""
    return draw_lifetime(group_curves(data, view), task_looks(data), canvas)


def draw_lifetime(curves: LifetimeCurves, looks: Looks, canvas: Canvas) -> Figure:
    """Draw the learning curves and evaluations of a lifetime, or of the mean of several."""
    label = f"Learning curves and evaluations of {curves.id}: {len(curves.tasks)} tasks over {len(curves.spans)} blocks"

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        body, bottom, _ = lifetime_panel(curves, looks, inner, top)
        return body, bottom

    learning = bool(curves.learning)
    note = curves.note(intervals=learning or len(curves.tasks) <= MANY_TASKS, singles=learning)
    entries = task_entries(curves.tasks, looks)
    return compose(canvas, curves.id, label, draw, entries, note if canvas.legend else "", structs.asdict(curves))


def lifetime_panel(curves: LifetimeCurves, looks: Looks, canvas: Canvas, top: float) -> tuple[str, float, Panel]:
    """Draw the panel of a lifetime below `top`. Return its markup, its bottom, and the panel."""
    em, parts = canvas.size, list[str]()
    top += em * 1.5
    height = canvas.tall * min(em * 18, max(em * 12, canvas.width * 0.36))
    values, room = (canvas.limits, 0.0) if canvas.limits else (value_range(curves), 0.05)
    y = scale_over(values, top + em * 1.5 + height, top + em * 1.5, room=room)
    first = curves.spans[0].first
    x = Scale(first, max(curves.spans[-1].last, first + 1), margin(y, canvas), canvas.width - em * 0.3)
    panel = Panel(x, y)
    parts.append(_shades(curves.spans, panel, looks, em, canvas.small))
    parts.append(frame(panel, canvas, x=curves.x))
    parts.append(text(0, top - em * 0.6, ellipsize(curves.y, canvas.small, canvas.width), canvas.small, "soft"))
    step = -(-len(curves.evaluations) // _MOST_EVALUATIONS) or 1
    listed = set(curves.tasks[::step])
    evaluated = group_by_task(evaluation for evaluation in curves.evaluations if evaluation.task in listed)
    learning, count = group_by_task(curves.learning), sum(map(len, evaluated.values()))
    many = len(curves.tasks) > MANY_TASKS
    faint = [group_by_task(single.learning) for single in curves.each[:MOST_FAINT]]
    smoothed = f"mean of {len(curves.each)} lifetimes" if curves.each else "smoothed"
    body = ""
    for task in curves.tasks:
        learned = learning.get(task, ())
        lines = _lines([curve.measured for curve in learned], panel, em * 0.07, 0.35, "as logged")
        for single in faint:
            lines += _lines([curve.smoothed for curve in single.get(task, ())], panel, em * 0.06, 0.3)
        lines += "".join(
            area(panel.x(curve.smoothed.x), panel.y(curve.low), panel.y(curve.high), 0.25)
            for curve in learned
            if curve.low is not None and curve.high is not None
        )
        lines += _lines([curve.smoothed for curve in learned], panel, em * 0.17, words=smoothed)
        dots = _evaluation_marks(evaluated.get(task, ()), panel, looks[task], em, count, many=many)
        body += colour_marks(looks[task], lines + dots, task=looks[task].position)
    parts.append(panel.plot_area(body))
    return "".join(parts), panel.bottom + canvas.small * 3.1, panel


@figure
def raw(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the logged values and their smoothed curves, one panel per task."""
    why = "no lifetime that learns anything"
    life = first_life(data, view, why)
    thinned, looks = thinned_lifetime(life), task_looks(data)
    panels: list[tuple[str, list[LearningCurve], list[int]]] = []
    for task in life.score.tasks:
        blocks = [block for block in thinned.blocks if block.smoothed is not None and block.block.task == task]
        if blocks:
            stops: list[int] = np.cumsum([block.length for block in blocks]).tolist()
            curves = [
                LearningCurve(task, _shift(block.measured, before), _shift(block.smoothed, before))
                for block, before in zip(blocks, [0, *stops[:-1]], strict=True)
                if block.smoothed is not None
            ]
            panels.append((task, curves, stops[:-1]))
    if not panels:
        raise NothingToDrawError(why)
    label_y = measured_label(life, thinned)
    specs = [
        PanelSpec(task, [curve.measured.x for curve in curves], [curve.measured.y for curve in curves])
        for task, curves, _ in panels
    ]

    def draw(index: int, panel: Panel, inner: Canvas) -> str:
        (task, curves, boundaries), em = panels[index], inner.size
        logged = _lines([curve.measured for curve in curves], panel, em * 0.07, 0.55)
        smoothed = _lines([curve.smoothed for curve in curves], panel, em * 0.13)
        return _boundaries(boundaries, panel) + colour_marks(looks[task], logged) + colour_marks("ink", smoothed)

    return multiples(
        specs,
        draw,
        canvas,
        life.id,
        f"What {life.id} logged while learning, and smoothed, task by task",
        x="learning experiences with the task",
        y=label_y,
        key=[Entry("as logged, in the task's colour", "soft", width=0.9), Entry("smoothed", "ink", width=1.6)],
        data={
            "id": life.id,
            "y": label_y,
            "panels": [dict(zip(("task", "learning", "boundaries"), panel, strict=True)) for panel in panels],
        },
    )


@figure
def evaluations(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot every evaluation with its 95 % interval, one panel per task: of one lifetime, or the mean of a group."""
    why = "no lifetime with evaluations"
    # Each panel has its own axis, so that tasks with different units need no scaling.
    curves = group_curves(data, structs.replace(view, values=view.values.replace("auto", "measured")), why)
    looks, by_task = task_looks(data), group_by_task(curves.evaluations)
    if not by_task:
        raise NothingToDrawError(why)
    spans = group_by_task(span for span in curves.spans if span.mode == "learn")
    faint = [group_by_task(single.evaluations) for single in curves.each[:MOST_FAINT]]
    panels = [(task, spans.get(task, []), by_task[task]) for task in curves.tasks if task in by_task]
    last = max(
        [
            *(max((span.last for span in learned), default=0.0) for _, learned, _ in panels),
            *(evaluation.x for _, _, evaluated in panels for evaluation in evaluated),
        ]
    )
    specs = [
        PanelSpec(
            task,
            [np.array([0.0, last])],
            [evaluation_range(evaluated), *(evaluation_range(single.get(task, ()), ends=False) for single in faint)],
        )
        for task, _, evaluated in panels
    ]

    def draw(index: int, panel: Panel, inner: Canvas) -> str:
        task, learned, evaluated = panels[index]
        deep = panel.bottom - panel.top
        shades = "".join(
            rect(panel.x(span.first), panel.top, panel.x(span.last) - panel.x(span.first), deep, opacity=0.14)
            for span in learned[:_MOST_SPANS]
        )
        for single in faint:
            shades += "".join(_joined(run, panel, 0.6, 0.3) for run in _runs(single.get(task, ())))
        return colour_marks(
            looks[task], shades + _evaluation_marks(evaluated, panel, looks[task], inner.size, len(evaluated))
        )

    return multiples(
        specs,
        draw,
        canvas,
        curves.id,
        f"Every evaluation of {curves.id}, task by task",
        x=curves.x,
        y=curves.y,
        key=[Entry("while it is learned", "soft", "area", opacity=0.25)],
        note=curves.note(),
        data={
            "id": curves.id,
            "x": curves.x,
            "y": curves.y,
            "panels": [dict(zip(("task", "learning", "evaluations"), panel, strict=True)) for panel in panels],
            "lifetimes": len(curves.each) or 1,
        },
    )


@figure
def experts(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot each task's joined learning blocks against its experts; crosses mark the first best value of each."""
    why = "no task of this lifetime has an expert"
    life = first_life(data, view, why)
    thinned, looks = thinned_lifetime(life), task_looks(data)
    if not thinned.experts:
        raise NothingToDrawError(why)
    panels: list[Numbers] = [
        {
            "task": task.task,
            "learner": _shift(task.learner, 1),
            "best": _best(task.learner, lower=task.task in thinned.lower),
            "boundaries": task.boundaries,
            "experts": [
                {"id": name, "line": _shift(curve, 1), "best": _best(curve, lower=task.task in thinned.lower)}
                for name, curve in task.experts
            ],
        }
        for task in thinned.experts
    ]
    lines = [[panel["learner"], *(expert["line"] for expert in panel["experts"])] for panel in panels]
    label_y = measured_label(life, thinned)
    specs = [
        PanelSpec(panel["task"], [line.x for line in line_group], [line.y for line in line_group])
        for panel, line_group in zip(panels, lines, strict=True)
    ]

    def draw(index: int, panel: Panel, inner: Canvas) -> str:
        numbers, em = panels[index], inner.size
        compared = "".join(
            _lines([expert["line"]], panel, em * 0.09, 0.8, f"expert {expert['id']}", dash=(4, 1.5 + rank % 3))
            + _best_mark(expert["best"], panel, "plus", em * 0.36, expert["id"])
            for rank, expert in enumerate(numbers["experts"])
        )
        learner = _lines([numbers["learner"]], panel, em * 0.18, words="the learner")
        learner += _best_mark(numbers["best"], panel, "cross", em * 0.42, numbers["task"])
        body = colour_marks("soft", compared) + colour_marks(looks[numbers["task"]], learner)
        return _boundaries(numbers["boundaries"], panel) + body

    return multiples(
        specs,
        draw,
        canvas,
        life.id,
        f"{life.id} against experts of single tasks",
        x="experiences with the task",
        y=label_y,
        key=[
            Entry("the learner, in the task's colour", "ink"),
            Entry("experts", "soft", dash=(4, 1.5), width=1.2),
            Entry("a new block", "soft", dash=(1.5, 2), width=1),
        ],
        data={"id": life.id, "y": label_y, "panels": panels},
    )


def _best(curve: ThinnedCurve, *, lower: bool) -> tuple[float, float]:
    """Return the experience, counted from 1, at which a curve first has its best value, and the value."""
    index = int(curve.y.argmin() if lower else curve.y.argmax())
    return float(curve.x[index] + 1), float(curve.y[index])


def _best_mark(place: tuple[float, float], panel: Panel, shape: str, radius: float, name: str) -> str:
    words = f"{name}, at its best: {number(place[1])}"
    return marker(shape, panel.x(place[0]), panel.y(place[1]), radius, words)


@figure
def scenario(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the order of blocks: one row per task, learning as bars, evaluations as ticks."""
    return draw_scenario(first_life(data, view), task_looks(data), canvas, view)


def draw_scenario(life: ScoredLifetime, looks: Looks, canvas: Canvas, view: FigureView | None = None) -> Figure:
    """Draw the blocks of a lifetime."""
    view, thinned, every = view or FigureView(), thinned_lifetime(life), life.score.tasks
    spans = [span_of(block, view) for block in thinned.blocks]
    if not spans:
        raise NothingToDrawError("there is no lifetime")
    step = -(-len(every) // _MOST_ROWS)
    tasks = every[::step]
    note = SCENARIO_NOTE if canvas.legend else ""
    note += " Hollow bars: asleep." if any(span.asleep for span in spans) else ""
    note += f" One task of {step} is shown." if step > 1 else ""

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        small = inner.small if len(tasks) <= 40 else inner.small * 0.75
        row = small * (2.0 if len(tasks) <= 12 else 1.45)
        most = min(inner.width * 0.3, small * 16)
        left = min(most, max(text_width(task, small) for task in tasks)) + small * 0.8
        y = Scale(len(tasks), 0, top + row * len(tasks), top)
        panel = Panel(Scale(0, max(spans[-1].last, 1), left, inner.width), y)
        place = {task: top + row * (index + 0.5) for index, task in enumerate(tasks)}
        parts = [frame(panel, inner, x=x_label(thinned, view), y_ticks=False, across=False)]
        bars = group_by_task([span for span in spans if span.task in place][:_MOST_SPANS])
        for task, middle in place.items():
            name = ellipsize(task, small, left)
            parts.append(text(left - small * 0.6, middle + small * 0.34, name, small, anchor="end"))
            body = "".join(_bar(span, panel, middle, row) for span in bars.get(task, ()))
            parts.append(colour_marks(looks[task], body, task=looks[task].position))
        return "".join(parts), panel.bottom + inner.small * 3.1

    learning = sum(span.mode == "learn" for span in spans)
    label = f"{learning} learning and {len(spans) - learning} evaluation blocks of {len(every)} tasks"
    data = {"id": life.id, "x": x_label(thinned, view), "tasks": every, "spans": spans}
    return compose(canvas, life.id, label, draw, note=note, data=data)


# --- marks -----------------------------------------------------------------------------------------


def _shades(spans: Sequence[Span], panel: Panel, looks: Looks, em: float, small: float) -> str:
    """Return each learning block in its task's colour: faint behind the curves, strong and named in a strip above."""
    learned = [span for span in spans if span.mode == "learn"]
    few = len(learned) <= _MOST_SHADED
    parts: list[str] = []
    top, deep = panel.top - em * 1.45, em * 1.25
    for span in learned[:_MOST_SPANS]:
        left, right = panel.x(span.first), panel.x(span.last)
        words = f"{span.task}: learned{' asleep' if span.asleep else ''}{_counted(span.experiences)}"
        opacity = 0.3 if span.asleep else 0.85
        body = rect(left, top, max(0.6, right - left), deep, opacity=opacity, words=words if few else "")
        if few:
            body += rect(left, panel.top, right - left, panel.bottom - panel.top, opacity=0.08)
        name = "" if span.asleep else ellipsize(span.task, small * 0.92, right - left - em * 0.5)
        body += text((left + right) / 2, top + deep * 0.72, name, small * 0.92, "light name", anchor="middle")
        parts.append(colour_marks(looks[span.task], body, task=looks[span.task].position))
    return "".join(parts)


def _lines(
    lines: Sequence[Points],
    panel: Panel,
    width: float,
    opacity: float = 1.0,
    words: str = "",
    dash: Sequence[float] = (),
) -> str:
    """Return the curves of several blocks as one line with gaps."""
    joined = "".join(path(panel.x(line.x), panel.y(line.y)) for line in lines)
    return stroke(joined, width, opacity=opacity, words=words, dash=dash)


def _evaluation_marks(
    blocks: Sequence[EvaluatedBlock], panel: Panel, look: Look, em: float, count: int, *, many: bool = False
) -> str:
    """Return a task's evaluations, of `count` in all; a line joins those between two of its learning blocks.

    With `many` tasks, intervals and evaluations before a task is learned are omitted.
    """
    listed = [evaluation for evaluation in blocks if not (many and evaluation.ahead)]
    with_tooltips = count <= _MOST_TOOLTIPS
    parts = [_joined(run, panel, em * 0.09, 0.75, look.dash or (2.5, 2)) for run in _runs(listed)]
    bars = "".join(
        path([panel.x(evaluation.x)] * 2, [panel.y(evaluation.low), panel.y(evaluation.high)])
        for evaluation in listed
        if evaluation.low is not None and evaluation.high is not None and not many
    )
    parts.append(stroke(bars, em * 0.11, opacity=0.85))
    radius = em * (0.4 if with_tooltips and not many else 0.22)
    for evaluation in listed if count <= _MOST_DOTS else ():
        words = _evaluation_text(evaluation) if with_tooltips else ""
        parts.append(marker(look.shape, panel.x(evaluation.x), panel.y(evaluation.mean), radius, words, edge=not many))
    return "".join(parts)


def _runs(blocks: Iterable[EvaluatedBlock]) -> Iterator[list[EvaluatedBlock]]:
    """Yield the evaluations between two learning blocks of their task."""
    return (list(run) for _, run in groupby(blocks, key=lambda evaluation: evaluation.run))


def _joined(
    run: Sequence[EvaluatedBlock], panel: Panel, width: float, opacity: float, dash: Sequence[float] = ()
) -> str:
    line = path([panel.x(evaluation.x) for evaluation in run], [panel.y(evaluation.mean) for evaluation in run])
    return stroke(line, width, dash=dash, opacity=opacity)


def _evaluation_text(evaluation: EvaluatedBlock) -> str:
    ends = (
        ""
        if evaluation.low is None or evaluation.high is None
        else f", 95 % interval {number(evaluation.low)} to {number(evaluation.high)}"
    )
    return f"{evaluation.task}, evaluated: {number(evaluation.mean)}{ends}{_counted(evaluation.n, evaluation.counted)}"


def _counted(count: int, noun: str = "experience") -> str:
    """Return the number of experiences or lifetimes behind a mark; empty for one, as of an accuracy matrix."""
    return f", {plural(count, noun)}" if count > 1 else ""


def _shift(curve: ThinnedCurve, by: float) -> Points:
    return Points((curve.x + by).astype(np.float64), curve.y)


def _boundaries(places: Sequence[int], panel: Panel) -> str:
    return "".join(
        rule(panel.x(place), panel.top, panel.x(place), panel.bottom, "axis", 0.7, "2 3") for place in places
    )


def _bar(span: Span, panel: Panel, middle: float, row: float) -> str:
    learns = span.mode == "learn"
    deep = row * (0.74 if learns else 0.34)
    left, right = panel.x(span.first), panel.x(span.last)
    wide = max(1.2, right - left - (0.6 if learns and right - left > 3 else 0))
    done = f"{'learned' if learns else 'evaluated'}{' asleep' if span.asleep else ''}"
    words = f"{span.task}: {done}{_counted(span.experiences)}"
    hollow = ' stroke="currentColor" stroke-width="1" fill-opacity=".2"' if span.asleep else ""
    return rect(left, middle - deep / 2, wide, deep, opacity=0.95 if learns else 0.55, words=words, more=hollow)
