"""Figures of one lifetime: what was learned when, what was kept, and how experts did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TypeVar

import numpy as np

from perdure.curves.arrays import Array
from perdure.reports.draw.data import lives
from perdure.reports.draw.data.lives import (
    Evaluated,
    EvaluationsData,
    ExpertsData,
    Learned,
    LifetimeData,
    RawData,
    ScenarioData,
    Span,
    Stroke,
)
from perdure.reports.draw.kinds import figure
from perdure.reports.draw.svg.axes import (
    Entry,
    Looks,
    Panel,
    Scale,
    compose,
    ends_of,
    frame,
    margin,
    scale_over,
    task_entries,
)
from perdure.reports.draw.svg.multiples import Cell, multiples
from perdure.reports.draw.svg.paper import (
    Figure,
    Paper,
    coloured,
    fitting,
    marker,
    path,
    rect,
    rule,
    stroke,
    text,
    width_of,
)
from perdure.reports.palette import Look
from perdure.words import number

__all__ = ["evaluations", "experts", "life_panel", "lifetime", "raw", "scenario", "values_of"]

Some = TypeVar("Some", Evaluated, Learned, Span)
_MOST_TOLD = 240  # evaluations that say their value when pointed at; more are dots alone
_MOST_DOTS = 1500  # evaluations that have a dot; more are lines alone
_MOST_SHOWN = 6000  # evaluations that are drawn at all
_MOST_SPANS = 3000
_MOST_ROWS = 60  # tasks of a scenario
_MANY = 8  # tasks; more share their panel with thinner lines
_KNOWN = 60  # learning blocks; more are not shaded one by one


@figure(lives.lifetime)
def lifetime(data: LifetimeData, looks: Looks, paper: Paper) -> Figure:
    """One lifetime: learning curves in the colour of their task, evaluations as dots with 95 % intervals."""
    return compose(
        paper,
        data.id,
        _label(data),
        lambda inner, top: life_panel(data, looks, inner, top)[:2],
        task_entries(data.tasks, looks),
    )


def life_panel(data: LifetimeData, looks: Looks, paper: Paper, top: float) -> tuple[str, float, Panel]:
    """The panel of a lifetime below `top`: its markup, how deep it reaches, and its scales."""
    em, parts = paper.size, list[str]()
    top += em * 1.5
    height = paper.tall * min(em * 18, max(em * 12, paper.width * 0.36))
    y = scale_over(
        paper.limits or values_of(data), top + em * 1.5 + height, top + em * 1.5, room=0 if paper.limits else 0.05
    )
    left = margin(y, paper)
    x = Scale(data.spans[0].first, max(data.spans[-1].last, data.spans[0].first + 1), left, paper.width - em * 0.3)
    panel = Panel(x, y)
    learning, tested = _by_task(data.learning), _by_task(_thinned(data))
    parts.append(_shades(data.spans, panel, looks, em, paper.small))
    parts.append(frame(panel, paper, x=data.x))
    parts.append(text(0, top - em * 0.6, fitting(data.y, paper.small, paper.width), paper.small, "soft"))
    count = sum(map(len, tested.values()))
    numbers = {task: at for at, task in enumerate(looks)}
    body = "".join(
        coloured(
            looks[task],
            _curves(learning.get(task, ()), panel, em)
            + _evaluations(tested.get(task, ()), panel, looks[task], em, count, many=len(data.tasks) > _MANY),
            task=numbers[task],
        )
        for task in data.tasks
    )
    parts.append(panel.inside(body))
    return "".join(parts), panel.bottom + paper.small * 3.1, panel


@figure(lives.raw)
def raw(data: RawData, looks: Looks, paper: Paper) -> Figure:
    """What was logged and what smoothing makes of it, one panel per task."""
    shared = [one.measured.y for panel in data.panels for one in panel.learning]
    cells = [
        Cell(
            one.task,
            [part.measured.x for part in one.learning],
            shared if data.one_axis else [part.measured.y for part in one.learning],
        )
        for one in data.panels
    ]

    def drawn(at: int, panel: Panel, inner: Paper) -> str:
        one, em = data.panels[at], inner.size
        logged = _lines([part.measured for part in one.learning], panel, em * 0.07, 0.55)
        smoothed = _lines([part.smoothed for part in one.learning], panel, em * 0.13)
        return _boundaries(one.boundaries, panel) + coloured(looks[one.task], logged) + coloured("ink", smoothed)

    key = [Entry("as logged, in the task's colour", "soft", width=0.9), Entry("smoothed", "ink", width=1.6)]
    label = f"What {data.id} logged while learning, and smoothed, task by task"
    return multiples(cells, drawn, paper, data.id, label, x="learning experiences with the task", y=data.y, key=key)


@figure(lives.evaluations)
def evaluations(data: EvaluationsData, looks: Looks, paper: Paper) -> Figure:
    """How well each task is done over life: every evaluation with its 95 % interval, one panel per task."""
    every = [_reach(one.evaluations) for one in data.panels]
    whole = [max((one.last for one in each.learning), default=0.0) for each in data.panels]
    ends = np.array([0.0, max([*whole, *(one.x for each in data.panels for one in each.evaluations)])])
    cells = [Cell(one.task, [ends], every if data.one_axis else [every[at]]) for at, one in enumerate(data.panels)]

    def drawn(at: int, panel: Panel, inner: Paper) -> str:
        one, deep = data.panels[at], panel.bottom - panel.top
        shades = "".join(
            rect(panel.x(span.first), panel.top, panel.x(span.last) - panel.x(span.first), deep, opacity=0.14)
            for span in one.learning[:_MOST_SPANS]
        )
        dots = _evaluations(one.evaluations, panel, looks[one.task], inner.size, len(one.evaluations))
        return coloured(looks[one.task], shades + dots)

    key = [Entry("while it is learned", "soft", "area", opacity=0.25)]
    label = f"Every evaluation of {data.id}, task by task"
    return multiples(cells, drawn, paper, data.id, label, x=data.x, y=data.y, key=key)


@figure(lives.experts)
def experts(data: ExpertsData, looks: Looks, paper: Paper) -> Figure:
    """Each task's learning, stitched together, against its experts; crosses mark where each is first at its best."""
    own = [[one.learner.y, *(each.line.y for each in one.experts)] for one in data.panels]
    together = [values for each in own for values in each]
    cells = [
        Cell(
            one.task,
            [one.learner.x, *(each.line.x for each in one.experts)],
            together if data.one_axis else own[at],
        )
        for at, one in enumerate(data.panels)
    ]

    def drawn(at: int, panel: Panel, inner: Paper) -> str:
        one, em = data.panels[at], inner.size
        beside = "".join(
            _lines([each.line], panel, em * 0.09, 0.8, dash=(4, 1.5 + rank % 3), words=f"expert {each.id}")
            + _best(each.best, panel, "plus", em * 0.36, each.id)
            for rank, each in enumerate(one.experts)
        )
        learner = _lines([one.learner], panel, em * 0.18, words="the learner")
        learner += _best(one.best, panel, "cross", em * 0.42, one.task)
        return _boundaries(one.boundaries, panel) + coloured("soft", beside) + coloured(looks[one.task], learner)

    key = [
        Entry("the learner, in the task's colour", "ink"),
        Entry("experts", "soft", dash=(4, 1.5), width=1.2),
        Entry("a new block", "soft", dash=(1.5, 2), width=1),
    ]
    label = f"{data.id} against experts of single tasks"
    return multiples(cells, drawn, paper, data.id, label, x="experiences with the task", y=data.y, key=key)


def _best(place: tuple[float, float], panel: Panel, shape: str, radius: float, whose: str) -> str:
    words = f"{whose}, at its best: {number(place[1])}"
    return marker(shape, panel.x(place[0]), panel.y(place[1]), radius, words)


@figure(lives.scenario)
def scenario(data: ScenarioData, looks: Looks, paper: Paper) -> Figure:
    """What is learned and evaluated when: one row per task, learning as bars, evaluations as ticks."""
    learning = sum(one.mode == "learn" for one in data.spans)
    label = f"{learning} learning and {len(data.spans) - learning} evaluation blocks of {len(data.tasks)} tasks"
    slept = any(one.asleep for one in data.spans)
    step = -(-len(data.tasks) // _MOST_ROWS)
    tasks = data.tasks[::step]
    note = "High bars: learned; low bars: evaluated" + ("; hollow bars: asleep." if slept else ".")
    note += f" One task of {step} is shown." if step > 1 else ""

    def draw(inner: Paper, top: float) -> tuple[str, float]:
        small = inner.small if len(tasks) <= 40 else inner.small * 0.75
        row = small * (2.0 if len(tasks) <= 12 else 1.45)
        most = min(inner.width * 0.3, small * 16)
        left = min(most, max(width_of(task, small) for task in tasks)) + small * 0.8
        whole = max(data.spans[-1].last, 1)
        y = Scale(len(tasks), 0, top + row * len(tasks), top)
        panel = Panel(Scale(0, whole, left, inner.width), y)
        place = {task: top + row * (at + 0.5) for at, task in enumerate(tasks)}
        parts = [frame(panel, inner, x=data.x, y_ticks=False, across=False)]
        bars = _by_task([one for one in data.spans if one.task in place][:_MOST_SPANS])
        numbers = {task: at for at, task in enumerate(looks)}
        for task, middle in place.items():
            parts.append(text(left - small * 0.6, middle + small * 0.34, fitting(task, small, left), small, at="end"))
            drawn = "".join(_bar(one, panel, middle, row) for one in bars.get(task, ()))
            parts.append(coloured(looks[task], drawn, task=numbers[task]))
        return "".join(parts), panel.bottom + inner.small * 3.1

    return compose(paper, data.id, label, draw, note=note)


# --- parts ---------------------------------------------------------------------------------------


def _by_task(parts: Iterable[Some]) -> dict[str, list[Some]]:
    found: dict[str, list[Some]] = {}
    for one in parts:
        found.setdefault(one.task, []).append(one)
    return found


def _thinned(data: LifetimeData) -> list[Evaluated]:
    """The evaluations of as many tasks, evenly chosen, as a picture can hold."""
    step = -(-len(data.evaluations) // _MOST_SHOWN) or 1
    kept = set(data.tasks[::step])
    return [one for one in data.evaluations if one.task in kept]


def _label(data: LifetimeData) -> str:
    return f"Learning curves and evaluations of {data.id}: {len(data.tasks)} tasks over {len(data.spans)} blocks"


def values_of(data: LifetimeData) -> list[float]:
    """What a lifetime's y axis must have room for."""
    curves = [line.y for one in data.learning for line in (one.measured, one.smoothed)]
    if len(data.tasks) > _MANY:  # no intervals are drawn
        return [*ends_of(curves), *ends_of([np.array([one.mean for one in data.evaluations])])]
    return [*ends_of(curves), *ends_of([_reach(data.evaluations)])]


def _reach(found: Sequence[Evaluated]) -> Array:
    """Means and the ends of intervals; on a scale of its own an interval may be wider than all there is."""
    return np.array([value for one in found for value in (one.mean, one.low, one.high) if value is not None])


def _shades(spans: Sequence[Span], panel: Panel, looks: Looks, em: float, small: float) -> str:
    """Each learning block in its task's colour: faint behind the curves, strong and named in a strip above."""
    learned = [one for one in spans if one.mode == "learn"]
    numbers = {task: at for at, task in enumerate(looks)}
    parts: list[str] = []
    top, deep = panel.top - em * 1.45, em * 1.25
    for one in learned[:_MOST_SPANS]:
        left, right = panel.x(one.first), panel.x(one.last)
        words = f"{one.task}: learned{' asleep' if one.asleep else ''}, {one.experiences} experiences"
        drawn = rect(
            left,
            top,
            max(0.6, right - left),
            deep,
            opacity=0.3 if one.asleep else 0.85,
            words=words if len(learned) <= _KNOWN else "",
        )
        if len(learned) <= _KNOWN:
            drawn += rect(left, panel.top, right - left, panel.bottom - panel.top, opacity=0.08)
        name = "" if one.asleep else fitting(one.task, small * 0.92, right - left - em * 0.5)
        words = text((left + right) / 2, top + deep * 0.72, name, small * 0.92, "light name", at="middle")
        parts.append(coloured(looks[one.task], drawn + words, task=numbers[one.task]))
    return "".join(parts)


def _curves(learning: Sequence[Learned], panel: Panel, em: float) -> str:
    return _lines([one.measured for one in learning], panel, em * 0.07, 0.35, "as logged") + _lines(
        [one.smoothed for one in learning], panel, em * 0.17, words="smoothed"
    )


def _lines(
    strokes: Sequence[Stroke],
    panel: Panel,
    width: float,
    opacity: float = 1.0,
    words: str = "",
    dash: Sequence[float] = (),
) -> str:
    """Several blocks' curves as one line with gaps."""
    drawn = "".join(path(panel.x(one.x), panel.y(one.y)) for one in strokes)
    return stroke(drawn, width, opacity=opacity, words=words, dash=dash)


def _evaluations(
    own: Sequence[Evaluated], panel: Panel, look: Look, em: float, count: int, *, many: bool = False
) -> str:
    """A task's evaluations, of `count` in all: no line from one to the next where the task is learned in between.

    Among many tasks those that it has not learned yet are left out, and intervals too.
    """
    shown = [one for one in own if not (many and one.ahead)]
    told = count <= _MOST_TOLD
    parts: list[str] = []
    for _, group in groupby(shown, key=lambda one: one.run):
        run = list(group)
        line = path([panel.x(one.x) for one in run], [panel.y(one.mean) for one in run])
        parts.append(stroke(line, em * 0.09, dash=look.dash or (2.5, 2), opacity=0.75))
    bars = "".join(
        path([panel.x(one.x)] * 2, [panel.y(one.low), panel.y(one.high)])
        for one in shown
        if one.low is not None and one.high is not None and not many
    )
    parts.append(stroke(bars, em * 0.11, opacity=0.85))
    radius = em * (0.4 if told and not many else 0.22)
    parts += [
        marker(look.shape, panel.x(one.x), panel.y(one.mean), radius, _told(one) if told else "", edge=not many)
        for one in shown
        if told or count <= _MOST_DOTS
    ]
    return "".join(parts)


def _told(one: Evaluated) -> str:
    reach = "" if one.low is None or one.high is None else f", 95 % interval {number(one.low)} to {number(one.high)}"
    return f"{one.task}, evaluated: {number(one.mean)}{reach}, {one.n} experiences"


def _boundaries(places: Sequence[int], panel: Panel) -> str:
    return "".join(rule(panel.x(one), panel.top, panel.x(one), panel.bottom, "axis", 0.7, "2 3") for one in places)


def _bar(one: Span, panel: Panel, middle: float, row: float) -> str:
    learns = one.mode == "learn"
    deep = row * (0.74 if learns else 0.34)
    left, right = panel.x(one.first), panel.x(one.last)
    wide = max(1.2, right - left - (0.6 if learns and right - left > 3 else 0))
    done = f"{'learned' if learns else 'evaluated'}{' asleep' if one.asleep else ''}"
    words = f"{one.task}: {done}, {one.experiences} experiences"
    hollow = ' stroke="currentColor" stroke-width="1" fill-opacity=".2"' if one.asleep else ""
    return rect(left, middle - deep / 2, wide, deep, opacity=0.95 if learns else 0.55, words=words, more=hollow)
