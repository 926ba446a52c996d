"""What figures of a lifetime are made of: shaded blocks, a strip of names, evaluations, small multiples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perdure.curves.model import Array
from perdure.report.figures.axes import INK, PALE, View, counted, paper, plain, short, span, used
from perdure.report.material import Material
from perdure.report.sketch import Sketch, Stretch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "Values",
    "axis_words",
    "chosen_sketch",
    "draw_dots",
    "draw_evaluations",
    "draw_key",
    "draw_strip",
    "label_all",
    "one_axis",
    "shade",
    "small_multiples",
    "values_of",
]

Values = Callable[[str, Array], Array]
"""A task and values as measured → the values drawn."""


def chosen_sketch(material: Material, view: View) -> Sketch | None:
    """The lifetime that a figure shows: the one asked for, or the first of its group."""
    lives = material.together(view.lifetime, view.group)[0]
    return lives[0].sketch if lives else None


def values_of(sketch: Sketch, view: View) -> tuple[Values, str]:
    """What turns values as measured into those drawn, and what the axis says."""
    better = " (lower is better)" if sketch.lower_is_better else ""
    if used(sketch, view) == "measured":
        return (lambda _task, y: y), sketch.measure + better
    return (
        lambda task, y: sketch.scaled(task, np.asarray(y, dtype=float))
    ), f"{sketch.measure}, each task scaled 1–101"


def one_axis(sketch: Sketch, view: View) -> bool:
    """Whether all tasks can share a y axis: scaled they can, as measured only if their ranges go together."""
    return used(sketch, view) == "scaled" or used(sketch, View()) == "measured"


def axis_words(sketch: Sketch, view: View) -> str:
    """What the x axis is called."""
    return view.axis if view.axis == "experiences" else f"{sketch.steps or 'steps'} taken"


def shade(axes: Axes, sketch: Sketch, material: Material, view: View) -> None:
    """The background: each learning block in the colour of its task, sleep dotted."""
    for one in sketch.stretches:
        if one.block.mode == "learn":
            axes.axvspan(*span(one, view), color=material.looks[one.block.task].colour, alpha=0.09, linewidth=0)
        if one.block.subtype == "sleep":
            axes.axvspan(*span(one, view), facecolor="none", edgecolor=PALE, alpha=0.35, hatch="..", linewidth=0)


def draw_strip(axes: Axes, sketch: Sketch, material: Material, view: View) -> None:
    """The tasks being learned, named where there is room."""
    axes.set_axis_off()
    whole = span(sketch.stretches[-1], view)[1] - span(sketch.stretches[0], view)[0]
    for one in sketch.stretches:
        if one.block.mode != "learn":
            continue
        first, last = span(one, view)
        axes.axvspan(first, last, color=material.looks[one.block.task].colour, alpha=0.85, linewidth=0)
        letters = int((last - first) / whole * 105) if whole else 0
        name = one.block.task + (" (sleep)" if one.block.subtype == "sleep" else "")
        if letters >= 3:
            axes.text(
                (first + last) / 2,
                0.5,
                short(name, max(3, letters)),
                ha="center",
                va="center",
                fontsize=7.5,
                color="white",
                fontweight="bold",
                clip_on=True,
            )
    axes.set_ylim(0, 1)


def draw_evaluations(axes: Axes, sketch: Sketch, material: Material, view: View, values: Values) -> None:
    """Every evaluation; the line from one to the next is left out where the task is learned in between."""
    many = len(sketch.tasks) > 8
    for task in sketch.tasks:
        runs: list[list[Stretch]] = [[]]
        for one in sketch.stretches:
            if one.block.task == task:
                if one.block.mode == "evaluate":
                    runs[-1].append(one)
                elif runs[-1]:
                    runs.append([])
        learned = [one.first for one in sketch.stretches if one.block.mode == "learn" and one.block.task == task]
        for own in runs:
            if not own:
                continue
            ahead = many and (not learned or own[0].first < learned[0])
            draw_dots(
                axes,
                own,
                material,
                view,
                values,
                size=3 if many else 6,
                line=0.8 if many else 1.1,
                intervals=not many,
                faint=ahead,
            )


def draw_dots(
    axes: Axes,
    own: Sequence[Stretch],
    material: Material,
    view: View,
    values: Values,
    *,
    size: float,
    line: float,
    intervals: bool = True,
    faint: bool = False,
) -> None:
    """A task's evaluations: dots, the intervals where there are any, a thin line from one to the next."""
    task = own[0].block.task
    look = material.looks[task]
    x = np.array([sum(span(one, view)) / 2 for one in own])
    mean = values(task, np.array([one.mean for one in own]))
    if faint:
        axes.plot(x, mean, ".", color=PALE, markersize=1.5, alpha=0.5, zorder=3)
        return
    axes.plot(x, mean, color=look.colour, linestyle=look.line, linewidth=line, alpha=0.75, zorder=5)
    dots: dict[str, Any] = {
        "color": look.colour,
        "markersize": size,
        "markeredgecolor": "white",
        "markeredgewidth": 0.1 * size,
        "zorder": 6,
    }
    if not intervals:
        axes.plot(x, mean, look.marker, **dots)
        return
    ends = [
        values(task, np.array([one.mean if end is None else end for one, end in zip(own, side, strict=True)]))
        for side in ([one.low for one in own], [one.high for one in own])
    ]
    low, high = np.minimum(*ends), np.maximum(*ends)
    errors = [np.maximum(mean - low, 0), np.maximum(high - mean, 0)]
    axes.errorbar(x, mean, yerr=errors, fmt=look.marker, elinewidth=1.2, capsize=2, **dots)


def small_multiples(count: int, height: float, *, share_y: bool = False) -> tuple[Figure, list[Axes]]:
    """Small multiples: one column for one or two, two for up to eight, then as many as fit."""
    columns = 1 if count <= 2 else 3 if count == 3 or 8 < count <= 15 else 2 if count <= 8 else 5
    rows = -(-count // columns)
    figure = paper(0.4 + rows * height * (1.35 if count <= 3 else 1.0 if count <= 8 else 0.72))
    grid = figure.subplots(rows, columns, sharex=True, sharey=share_y, squeeze=False)
    panels = list(grid.flat)
    for spare in panels[count:]:
        spare.set_axis_off()
    return figure, panels[:count]


def label_all(figure: Figure, panels: Sequence[Axes], x: str, y: str) -> None:
    """One label for all panels, and ticks that fit their size."""
    figure.supxlabel(plain(x), fontsize=9, color=INK)
    figure.supylabel(plain(y), fontsize=9, color=INK)
    small = len(panels) > 8
    for axes in panels:
        counted(axes)
        axes.title.set_fontsize(8 if small else 9.5)
        axes.tick_params(labelsize=7 if small else 8.5, labelbottom=True)
        if small:
            axes.locator_params(axis="x", nbins=3)
            axes.locator_params(axis="y", nbins=4)


def draw_key(figure: Figure, lines: Sequence[tuple[str, str, float]]) -> None:
    """What lines mean, above the figure."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, linewidth=width, alpha=0.35 if width > 5 else 1) for _, colour, width in lines
    ]
    figure.legend(
        handles,
        [name for name, _, _ in lines],
        loc="outside upper right",
        ncols=len(lines),
        fontsize=8,
        frameon=False,
        labelcolor=INK,
    )
