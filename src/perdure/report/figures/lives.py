"""Figures of one lifetime: what was learned when, what was kept, and how experts did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.report.figures.axes import (
    INK,
    PALE,
    View,
    counted,
    empty,
    paper,
    places,
    short,
    span,
    task_legend,
    tidy,
    used,
    wrapped,
)
from perdure.report.figures.marks import (
    axis_words,
    chosen_sketch,
    draw_dots,
    draw_evaluations,
    draw_key,
    draw_strip,
    label_all,
    shade,
    small_multiples,
    values_of,
)
from perdure.report.material import Material
from perdure.report.palette import NEUTRAL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["evaluations", "experts", "lifetime", "raw", "scenario"]


def lifetime(material: Material, view: View | None = None) -> Figure:
    """One lifetime: learning curves in the colour of their task, evaluations as dots with 95 % intervals."""
    view = view or View()
    sketch = chosen_sketch(material, view)
    if sketch is None or not sketch.stretches:
        return empty("there is no lifetime")
    figure = paper(4.4)
    strip, axes = figure.subplots(2, 1, sharex=True, height_ratios=[1, 14], gridspec_kw={"hspace": 0.02})
    values, unit = values_of(sketch, view)
    tidy(axes, "", axis_words(sketch, view), unit)
    shade(axes, sketch, material, view)
    for one in sketch.stretches:
        if one.smoothed is None:
            continue
        look = material.looks[one.block.task]
        axes.plot(
            places(one, one.measured, view),
            values(one.block.task, one.measured.y),
            color=look.colour,
            linewidth=0.6,
            alpha=0.30,
            zorder=2,
        )
        axes.plot(
            places(one, one.smoothed, view),
            values(one.block.task, one.smoothed.y),
            color=look.colour,
            linewidth=2.0,
            zorder=4,
        )
    draw_evaluations(axes, sketch, material, view, values)
    draw_strip(strip, sketch, material, view)
    strip.set_title(wrapped(sketch.id, 105), loc="left", fontsize=10.5, color=INK)
    axes.set_xlim(span(sketch.stretches[0], view)[0], span(sketch.stretches[-1], view)[1])
    counted(axes)
    task_legend(figure, sketch.tasks, material.looks)
    return figure


def raw(material: Material, view: View | None = None) -> Figure:
    """What was logged and what smoothing makes of it, one panel per task."""
    view = view or View()
    sketch = chosen_sketch(material, view)
    learning = [one for one in sketch.stretches if one.smoothed is not None] if sketch else []
    if sketch is None or not learning:
        return empty("no lifetime that learns anything")
    tasks = [task for task in sketch.tasks if any(one.block.task == task for one in learning)]
    figure, panels = small_multiples(len(tasks), 1.9, share_y=used(sketch, view) == "measured")
    for task, axes in zip(tasks, panels, strict=False):
        look, done = material.looks[task], 0
        tidy(axes, short(task, 40))
        for one in learning:
            if one.block.task != task or one.smoothed is None:
                continue
            if done:
                axes.axvline(done, color=PALE, linewidth=0.8, linestyle=(0, (3, 3)))
            axes.plot(done + one.measured.x, one.measured.y, color=look.colour, linewidth=0.6, alpha=0.45)
            axes.plot(done + one.smoothed.x, one.smoothed.y, color=INK, linewidth=1.3)
            done += one.length
    label_all(figure, panels, "learning experiences with the task", sketch.measure)
    draw_key(figure, [("as logged", PALE, 0.8), ("smoothed", INK, 1.6)])
    return figure


def evaluations(material: Material, view: View | None = None) -> Figure:
    """How well each task is done over life: every evaluation with its 95 % interval, one panel per task."""
    view = view or View()
    sketch = chosen_sketch(material, view)
    tests = [one for one in sketch.stretches if one.block.mode == "evaluate"] if sketch else []
    if sketch is None or not tests:
        return empty("no lifetime with evaluations")
    tasks = [task for task in sketch.tasks if any(one.block.task == task for one in tests)]
    figure, panels = small_multiples(
        len(tasks), 2.0, share_y=True if view.values != "measured" else used(sketch, View()) == "measured"
    )
    values, unit = values_of(sketch, view)
    for task, axes in zip(tasks, panels, strict=False):
        tidy(axes, short(task, 40))
        for one in sketch.stretches:
            if one.block.mode == "learn" and one.block.task == task:
                axes.axvspan(*span(one, view), color=material.looks[task].colour, alpha=0.14, linewidth=0)
        own = [one for one in tests if one.block.task == task]
        draw_dots(axes, own, material, view, values, size=5 if len(tasks) <= 8 else 3, line=1.2)
    label_all(figure, panels, axis_words(sketch, view), unit)
    draw_key(figure, [("shaded: the task is being learned", PALE, 6)])
    return figure


def experts(material: Material, view: View | None = None) -> Figure:
    """Each task's learning, stitched together, against its experts; crosses mark where each is first at its highest."""
    view = view or View()
    sketch = chosen_sketch(material, view)
    if sketch is None or not sketch.beside:
        return empty("no task of this lifetime has an expert")
    figure, panels = small_multiples(len(sketch.beside), 2.4, share_y=used(sketch, view) == "measured")
    for one, axes in zip(sketch.beside, panels, strict=False):
        look = material.looks[one.task]
        tidy(axes, short(one.task, 40))
        for place in one.boundaries:
            axes.axvline(place, color=PALE, linewidth=0.8, linestyle=(0, (3, 3)))
        for at, (_, line) in enumerate(one.experts):
            axes.plot(line.x + 1, line.y, color=NEUTRAL, linewidth=1.1, alpha=0.9, linestyle=(0, (4, 1 + at)))
            axes.plot(line.peak[0] + 1, line.peak[1], "+", color=NEUTRAL, markersize=9, markeredgewidth=1.6)
        axes.plot(one.learner.x + 1, one.learner.y, color=look.colour, linewidth=1.9)
        best, height = one.learner.peak
        axes.plot(best + 1, height, "x", color=look.colour, markersize=8, markeredgewidth=2.2)
    label_all(figure, panels, "experiences with the task", sketch.measure)
    draw_key(
        figure, [("learner, in the task's colour", INK, 1.9), ("experts", NEUTRAL, 1.1), ("a new block", PALE, 0.8)]
    )
    return figure


def scenario(material: Material, view: View | None = None) -> Figure:
    """What is learned and evaluated when: one row per task, learning as bars, evaluations as ticks."""
    view = view or View()
    sketch = chosen_sketch(material, view)
    if sketch is None or not sketch.stretches:
        return empty("there is no lifetime")
    row = {task: at for at, task in enumerate(sketch.tasks)}
    figure = paper(max(1.6, 0.9 + 0.28 * len(row)))
    axes = tidy(figure.subplots(), wrapped(sketch.id, 60), axis_words(sketch, view))
    _, whole = span(sketch.stretches[-1], view)
    for one in sketch.stretches:
        first, last = span(one, view)
        look, sleeps = material.looks[one.block.task], one.block.subtype == "sleep"
        if one.block.mode == "learn":
            axes.barh(
                row[one.block.task],
                last - first,
                left=first,
                height=0.72,
                color=look.colour,
                alpha=0.5 if sleeps else 0.95,
                hatch="..." if sleeps else None,
                edgecolor="white",
                linewidth=0.6,
            )
        else:
            axes.barh(
                row[one.block.task],
                max(last - first, whole * 0.0015),
                left=first,
                height=0.34,
                color=look.colour,
                alpha=0.55,
                hatch="..." if sleeps else None,
                linewidth=0,
            )
    axes.set_yticks(range(len(row)), [short(task, 26) for task in row])
    axes.invert_yaxis()
    axes.set_xlim(0, whole)
    counted(axes)
    axes.grid(visible=False, axis="y")
    slept = any(one.block.subtype == "sleep" for one in sketch.stretches)
    words = "high bars: learned · low bars: evaluated" + (" · dotted: asleep" if slept else "")
    axes.set_title(words, loc="right", fontsize=8, color=PALE)
    return figure
