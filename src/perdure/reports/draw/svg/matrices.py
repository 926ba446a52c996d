"""Figures of who helps whom and what is kept: transfer, the accuracy matrix, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from perdure.frozen import replace
from perdure.reports.draw.data import matrices
from perdure.reports.draw.data.matrices import (
    AccuracyData,
    ForgettingData,
    LearningFinalData,
    OverviewData,
    TransferData,
    TransferMatrix,
    departures,
)
from perdure.reports.draw.data.view import Nothing
from perdure.reports.draw.kinds import figure
from perdure.reports.draw.svg.axes import (
    Entry,
    Looks,
    Panel,
    Scale,
    compose,
    frame,
    legend,
    margin,
    scale_over,
    task_entries,
)
from perdure.reports.draw.svg.heat import MOST, NUMBERED, counts_differ, heat
from perdure.reports.draw.svg.paper import (
    Figure,
    Paper,
    broken,
    coloured,
    fitting,
    marker,
    n,
    path,
    rect,
    rule,
    stroke,
    text,
    width_of,
)
from perdure.reports.palette import GOOD, POOR, mixed
from perdure.words import number

__all__ = ["accuracy", "forgetting", "learning_final", "overview", "trajectories", "transfer"]

_PALEST, _DEEPEST = "#f1f5f9", "#0a4f86"


@figure(matrices.transfer)
def transfer(data: TransferData, looks: Looks, paper: Paper) -> Figure:
    """How learning one task (row) changes another (column): not learned yet (forward), learned before (backward)."""
    del looks
    beyond = " and ".join(f"{one:g}" for one in sorted({one.threshold for one in data.matrices}))
    experts = all(one.metric.startswith("ste_") for one in data.matrices)
    said = "1: as good as its expert" if experts else f"beyond {beyond}: it helps"
    title = " · ".join(part for part in (f"Transfer ({said})", data.name) if part)

    def draw(inner: Paper, top: float) -> tuple[str, float]:
        em = inner.size
        beside = min(len(data.matrices), max(1, int(inner.width / (em * 25))))
        gap = em * 2
        wide = (inner.width - gap * (beside - 1)) / beside
        parts, deepest, row = list[str](), top, top
        for at, one in enumerate(data.matrices):
            if at % beside == 0:
                row = deepest + (em if at else 0)
            body, bottom = _transfer(one, replace(inner, width=min(wide, em * 44)), row)
            parts.append(f'<g transform="translate({n((at % beside) * (wide + gap))} 0)">{body}</g>')
            deepest = max(deepest, bottom)
        return "".join(parts), deepest

    return compose(paper, title, title, draw)


def _transfer(one: TransferMatrix, paper: Paper, top: float) -> tuple[str, float]:
    way = one.metric.removeprefix("ste_").partition("_")[0].capitalize()
    brackets = " (in brackets)" if counts_differ(one.counts) else ""
    parts: list[str] = []
    for words, kind in ((f"{way}: {one.meaning}", "strong"), (one.caption + brackets if one.caption else "", "soft")):
        for line in broken(words, paper.small * paper.grown, paper.width):
            top += paper.small * 1.35 * paper.grown
            parts.append(text(0, top - paper.small * 0.3, line, paper.small, kind))
    reach = max(place for place, _ in one.ticks) or 1.0

    def colour(value: float) -> tuple[str, float]:
        deep = float(departures(np.array([[value]]), one.threshold, reach)[0][0, 0]) / reach
        # Not to the ends of the scale: a number must be readable on either.
        return mixed("#f4f5f6", GOOD if deep > 0 else POOR, min(1.0, abs(deep)) * 0.9), abs(deep)

    body, bottom = heat(one.tasks, one.cells, one.counts, paper, top, ("learned", "evaluated"), colour)
    return "".join(parts) + body, bottom


@figure(matrices.accuracy)
def accuracy(data: AccuracyData, looks: Looks, paper: Paper) -> Figure:
    """How well each task is done after each task was learned; numbers where the task had been learned."""
    del looks
    title = f"Accuracy matrix · {data.caption}"
    return compose(paper, title, title, lambda inner, top: _accuracy(data, inner, top), note=data.y)


def _accuracy(data: AccuracyData, paper: Paper, top: float) -> tuple[str, float]:
    low, high = data.limits

    def colour(value: float) -> tuple[str, float]:
        part = min(1.0, max(0.0, (value - low) / max(high - low, 1e-12)))
        return mixed(_PALEST, _DEEPEST, part), part * 1.2

    narrow = replace(paper, width=min(paper.width, paper.size * (22 + 2.2 * len(data.tasks))))
    names = ("evaluated", "after learning")
    return heat(data.tasks, data.cells, data.counts, narrow, top, names, colour, later=True)


@figure(matrices.learning_final)
def learning_final(data: LearningFinalData, looks: Looks, paper: Paper) -> Figure:
    """Each task just after it was learned, and at the end."""
    del looks
    title = f"Just learned, and at the end · {data.caption}"
    return compose(paper, title, title, lambda inner, top: _learning_final(data, inner, top))


def _learning_final(data: LearningFinalData, paper: Paper, top: float) -> tuple[str, float]:
    key = [Entry("just learned", "good", "area", opacity=0.45), Entry("at the end", "poor", "area")]
    parts, top = legend(key, paper, top)
    body, bottom = _bars(
        data.tasks,
        (("good", data.learned, 0.45, "just learned"), ("poor", data.final, 1.0, "at the end")),
        data.y,
        paper,
        top,
    )
    return parts + body, bottom


@figure(matrices.forgetting)
def forgetting(data: ForgettingData, looks: Looks, paper: Paper) -> Figure:
    """What each task lost: just learned, less the end; what lies below 0 was gained."""
    del looks
    title = f"Forgetting by task · {data.caption}"
    return compose(paper, title, title, lambda inner, top: _forgetting(data, inner, top))


def _forgetting(data: ForgettingData, paper: Paper, top: float) -> tuple[str, float]:
    lost = tuple(None if one is None or one < 0 else one for one in data.lost)
    gained = tuple(one if one is not None and one < 0 else None for one in data.lost)
    absent = [one is None for one in data.lost]
    differ = len(set(data.counts)) > 1
    names = [f"{task} ({count})" if differ else task for task, count in zip(data.tasks, data.counts, strict=True)]
    words = f"{data.y}{' (in brackets: lifetimes)' if differ else ''}"
    return _bars(
        names, (("poor", lost, 1.0, "lost"), ("good", gained, 1.0, "gained")), words, paper, top, absent, over=True
    )


@figure(matrices.accuracy)
def trajectories(data: AccuracyData, looks: Looks, paper: Paper) -> Figure:
    """Each task from its own learning on: how well it is done after each later task was learned."""
    title = f"Trajectories · {data.caption}"
    entries = task_entries(data.tasks, looks)
    return compose(paper, title, title, lambda inner, top: _trajectories(data, looks, inner, top), entries)


@figure(matrices.overview)
def overview(data: OverviewData, looks: Looks, paper: Paper) -> Figure:
    """The accuracy matrix, just learned against the end, what each task lost, and trajectories, in one figure."""

    def lost(part: Paper, top: float) -> tuple[str, float]:
        if not isinstance(data.forgetting, Nothing):
            return _forgetting(data.forgetting, part, top)
        said = broken(data.forgetting.why, part.small, part.width, 3)
        lines = [text(0, top + part.small * (1 + 1.4 * at), one, part.small, "soft") for at, one in enumerate(said)]
        return "".join(lines), top + part.small * 5

    shown: tuple[tuple[str, Callable[[Paper, float], tuple[str, float]]], ...] = (
        ("Accuracy matrix", lambda part, top: _accuracy(data.accuracy, part, top)),
        ("Just learned, and at the end", lambda part, top: _learning_final(data.learning_final, part, top)),
        ("Trajectories", lambda part, top: _trajectories(data.accuracy, looks, part, top)),
        ("Forgetting by task (below 0: gained)", lost),
    )

    def draw(inner: Paper, top: float) -> tuple[str, float]:
        em = inner.size
        beside = 2 if inner.width > em * 45 else 1
        part = replace(inner, width=(inner.width - em * 2 * (beside - 1)) / beside)
        parts, row, deepest = list[str](), top, top
        for at, (name, paint) in enumerate(shown):
            if at % beside == 0:
                row = deepest + (em * 1.5 if at else 0)
            body, bottom = paint(part, row + em * 1.6)
            head = text(0, row + em, name, em, "strong")
            parts.append(f'<g transform="translate({n((at % beside) * (part.width + em * 2))} 0)">{head}{body}</g>')
            deepest = max(deepest, bottom)
        return "".join(parts), deepest

    title = data.accuracy.caption
    entries = task_entries(data.accuracy.tasks, looks)
    return compose(paper, title, f"What an accuracy matrix shows · {title}", draw, entries)


def _trajectories(data: AccuracyData, looks: Looks, paper: Paper, top: float) -> tuple[str, float]:
    em = paper.size
    values = np.array([[np.nan if one is None else one for one in row] for row in data.cells])
    stages = np.arange(len(data.tasks), dtype=np.float64)
    y = scale_over(values[np.isfinite(values)].tolist(), top + em * 1.4 + em * 14 * paper.tall, top + em * 1.4)
    left = margin(y, paper)
    panel = Panel(Scale(-0.3, max(len(stages) - 0.7, 0.3), left, paper.width), y)
    names = _along(data.tasks, panel, paper, "after learning")
    parts = [frame(panel, paper, y=data.y, x_ticks=False), names[0]]
    for at, task in enumerate(data.tasks):
        x, line, look = panel.x(stages), panel.y(values[at]), looks[task]
        before = stroke(path(x[: at + 1], line[: at + 1]), 1.0, dash=(1, 2.5), opacity=0.4)
        after = stroke(path(x[at:], line[at:]), em * 0.16, dash=look.dash)
        dots = "".join(
            marker(
                look.shape,
                x[stage],
                line[stage],
                em * 0.36,
                f"{task}, after {data.tasks[stage]}: {number(values[at, stage])}",
            )
            for stage in range(at, len(stages))
            if np.isfinite(values[at, stage]) and len(data.tasks) <= MOST
        )
        parts.append(coloured(look, before + after + dots, task=list(looks).index(task)))
    return "".join(parts), panel.bottom + names[1]


# --- parts ---------------------------------------------------------------------------------------


def _bars(
    tasks: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None], float, str]],
    y: str,
    paper: Paper,
    top: float,
    absent: Sequence[bool] | None = None,
    *,
    over: bool = False,
) -> tuple[str, float]:
    """Bars from 0 for each task, series beside (or `over`) each other; what is absent has a dash, and no height."""
    em, small = paper.size, paper.small
    known = [value for _, values, _, _ in series for value in values if value is not None]
    scale = scale_over([0.0, *known], top + em * 1.6 + em * 13 * paper.tall, top + em * 1.6, room=0.06)
    low = scale.low if min([0.0, *known]) < 0 else 0.0
    # Where nothing was lost, and nothing gained, there is still an axis to say so.
    scale = replace(scale, low=low, high=scale.high if low == 0 or max(known) > 0 else 0.0)
    panel = Panel(Scale(-0.5, len(tasks) - 0.5, margin(scale, paper), paper.width), scale)
    names, deep = _along(tasks, panel, paper)
    parts = [frame(panel, paper, y=y, x_ticks=False), names]
    each = (panel.right - panel.left) / len(tasks)
    slots = 1 if over else len(series)
    wide = min(em * 3, each * 0.8 / slots)
    for at, (kind, values, opacity, called) in enumerate(series):
        drawn = list[str]()
        for task, value in enumerate(values):
            left = panel.x(task) + ((0 if over else at) - slots / 2) * wide
            if value is not None:
                ends = sorted((panel.y(0.0), panel.y(value)))
                words = f"{tasks[task]}, {called}: {number(value)}"
                drawn.append(
                    rect(left, ends[0], wide * 0.92, max(0.8, ends[1] - ends[0]), opacity=opacity, words=words)
                )
            elif absent[task] if absent is not None and at == 0 else absent is None:
                parts.append(text(left + wide / 2, panel.y(0.0) - small * 0.3, "–", small, "soft", at="middle"))
        parts.append(coloured(kind, "".join(drawn)))
    parts.append(rule(panel.left, panel.y(0.0), panel.right, panel.y(0.0), "axis"))
    return "".join(parts), panel.bottom + deep


def _along(tasks: Sequence[str], panel: Panel, paper: Paper, below: str = "") -> tuple[str, float]:
    """The tasks' names along an x axis on which they are counted from 0, and how deep they reach."""
    many = len(tasks) > MOST
    small = paper.small if len(tasks) <= NUMBERED else paper.small * 0.8
    each = (panel.right - panel.left) / len(tasks)
    widest = max(width_of(task, small) for task in tasks)
    if many:
        return text(
            (panel.left + panel.right) / 2,
            panel.bottom + small * 1.4,
            f"{len(tasks)} tasks in the order of learning",
            small,
            "soft",
            at="middle",
        ), small * 2
    steep = widest > each * 0.95
    parts = []
    for at, task in enumerate(tasks):
        if steep:
            parts.append(
                text(
                    panel.x(at) + small * 0.3,
                    panel.bottom + small,
                    fitting(task, small, small * 9),
                    small,
                    at="end",
                    turned=-45 if each > small * 1.4 else -90,
                )
            )
        else:
            parts.append(text(panel.x(at), panel.bottom + small * 1.3, task, small, at="middle"))
    deep = min(widest, small * 9) * (0.72 if each > small * 1.4 else 1) + small * 1.5 if steep else small * 2
    if below:
        parts.append(
            text((panel.left + panel.right) / 2, panel.bottom + deep + small * 0.4, below, small, "soft", at="middle")
        )
        deep += small
    return "".join(parts), deep
