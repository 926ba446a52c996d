"""Figures of one lifetime: what was learned when, what was kept, and how experts did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.report.draw.data.lives import EvaluationsData, ExpertsData, LifetimeData, RawData, ScenarioData
from perdure.report.draw.matplotlib.axes import INK, PALE, Looks, counted, paper, short, task_legend, tidy, wrapped
from perdure.report.draw.matplotlib.marks import (
    draw_dots,
    draw_evaluations,
    draw_key,
    draw_strip,
    label_all,
    shade,
    small_multiples,
)
from perdure.report.palette import NEUTRAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["evaluations", "experts", "lifetime", "raw", "scenario"]


def lifetime(data: LifetimeData, looks: Looks) -> Figure:
    """One lifetime: learning curves in the colour of their task, evaluations as dots with 95 % intervals."""
    figure = paper(4.4)
    strip, axes = figure.subplots(2, 1, sharex=True, height_ratios=[1, 14], gridspec_kw={"hspace": 0.02})
    tidy(axes, "", data.x, data.y)
    shade(axes, data.spans, looks)
    for one in data.learning:
        colour = looks[one.task].colour
        axes.plot(one.measured.x, one.measured.y, color=colour, linewidth=0.6, alpha=0.30, zorder=2)
        axes.plot(one.smoothed.x, one.smoothed.y, color=colour, linewidth=2.0, zorder=4)
    draw_evaluations(axes, data, looks)
    draw_strip(strip, data.spans, looks)
    strip.set_title(wrapped(data.id, 105), loc="left", fontsize=10.5, color=INK)
    axes.set_xlim(data.spans[0].first, data.spans[-1].last)
    counted(axes)
    task_legend(figure, data.tasks, looks)
    return figure


def raw(data: RawData, looks: Looks) -> Figure:
    """What was logged and what smoothing makes of it, one panel per task."""
    figure, panels = small_multiples(len(data.panels), 1.9, share_y=data.one_axis)
    for panel, axes in zip(data.panels, panels, strict=False):
        tidy(axes, short(panel.task, 40))
        for place in panel.boundaries:
            axes.axvline(place, color=PALE, linewidth=0.8, linestyle=(0, (3, 3)))
        for one in panel.learning:
            axes.plot(one.measured.x, one.measured.y, color=looks[one.task].colour, linewidth=0.6, alpha=0.45)
            axes.plot(one.smoothed.x, one.smoothed.y, color=INK, linewidth=1.3)
    label_all(figure, panels, "learning experiences with the task", data.y)
    draw_key(figure, [("as logged", PALE, 0.8), ("smoothed", INK, 1.6)])
    return figure


def evaluations(data: EvaluationsData, looks: Looks) -> Figure:
    """How well each task is done over life: every evaluation with its 95 % interval, one panel per task."""
    count = len(data.panels)
    figure, panels = small_multiples(count, 2.0, share_y=data.one_axis)
    for panel, axes in zip(data.panels, panels, strict=False):
        look = looks[panel.task]
        tidy(axes, short(panel.task, 40))
        for one in panel.learning:
            axes.axvspan(one.first, one.last, color=look.colour, alpha=0.14, linewidth=0)
        draw_dots(axes, panel.evaluations, look, size=5 if count <= 8 else 3, line=1.2)
    label_all(figure, panels, data.x, data.y)
    draw_key(figure, [("shaded: the task is being learned", PALE, 6)])
    return figure


def experts(data: ExpertsData, looks: Looks) -> Figure:
    """Each task's learning, stitched together, against its experts; crosses mark where each is first at its best."""
    figure, panels = small_multiples(len(data.panels), 2.4, share_y=data.one_axis)
    for panel, axes in zip(data.panels, panels, strict=False):
        colour = looks[panel.task].colour
        tidy(axes, short(panel.task, 40))
        for place in panel.boundaries:
            axes.axvline(place, color=PALE, linewidth=0.8, linestyle=(0, (3, 3)))
        for at, one in enumerate(panel.experts):
            axes.plot(one.line.x, one.line.y, color=NEUTRAL, linewidth=1.1, alpha=0.9, linestyle=(0, (4, 1 + at)))
            axes.plot(*one.best, "+", color=NEUTRAL, markersize=9, markeredgewidth=1.6)
        axes.plot(panel.learner.x, panel.learner.y, color=colour, linewidth=1.9)
        axes.plot(*panel.best, "x", color=colour, markersize=8, markeredgewidth=2.2)
    label_all(figure, panels, "experiences with the task", data.y)
    draw_key(
        figure, [("learner, in the task's colour", INK, 1.9), ("experts", NEUTRAL, 1.1), ("a new block", PALE, 0.8)]
    )
    return figure


def scenario(data: ScenarioData, looks: Looks) -> Figure:
    """What is learned and evaluated when: one row per task, learning as bars, evaluations as ticks."""
    row = {task: at for at, task in enumerate(data.tasks)}
    figure = paper(max(1.6, 0.9 + 0.28 * len(row)))
    axes = tidy(figure.subplots(), wrapped(data.id, 60), data.x)
    whole = data.spans[-1].last
    for one in data.spans:
        learns, width = one.mode == "learn", one.last - one.first
        axes.barh(
            row[one.task],
            width if learns else max(width, whole * 0.0015),
            left=one.first,
            height=0.72 if learns else 0.34,
            color=looks[one.task].colour,
            alpha=(0.5 if one.asleep else 0.95) if learns else 0.55,
            hatch="..." if one.asleep else None,
            edgecolor="white" if learns else None,
            linewidth=0.6 if learns else 0,
        )
    axes.set_yticks(range(len(row)), [short(task, 26) for task in row])
    axes.invert_yaxis()
    axes.set_xlim(0, whole)
    counted(axes)
    axes.grid(visible=False, axis="y")
    slept = any(one.asleep for one in data.spans)
    words = "high bars: learned · low bars: evaluated" + (" · dotted: asleep" if slept else "")
    axes.set_title(words, loc="right", fontsize=8, color=PALE)
    return figure
