"""What figures of a lifetime are made of: shaded blocks, a strip of names, evaluations, small multiples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.report.draw.data.lives import Evaluated, LifetimeData, Span
from perdure.report.draw.matplotlib.axes import INK, PALE, Looks, counted, paper, plain, short
from perdure.report.palette import Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "draw_dots",
    "draw_evaluations",
    "draw_key",
    "draw_strip",
    "label_all",
    "shade",
    "small_multiples",
]


def shade(axes: Axes, spans: Sequence[Span], looks: Looks) -> None:
    """The background: each learning block in the colour of its task, sleep dotted."""
    for one in spans:
        if one.mode == "learn":
            axes.axvspan(one.first, one.last, color=looks[one.task].colour, alpha=0.09, linewidth=0)
        if one.asleep:
            axes.axvspan(one.first, one.last, facecolor="none", edgecolor=PALE, alpha=0.35, hatch="..", linewidth=0)


def draw_strip(axes: Axes, spans: Sequence[Span], looks: Looks) -> None:
    """The tasks being learned, named where there is room."""
    axes.set_axis_off()
    whole = spans[-1].last - spans[0].first
    for one in spans:
        if one.mode != "learn":
            continue
        axes.axvspan(one.first, one.last, color=looks[one.task].colour, alpha=0.85, linewidth=0)
        letters = int((one.last - one.first) / whole * 105) if whole else 0
        name = one.task + (" (sleep)" if one.asleep else "")
        if letters >= 3:
            axes.text(
                (one.first + one.last) / 2,
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


def draw_evaluations(axes: Axes, data: LifetimeData, looks: Looks) -> None:
    """Every evaluation; the line from one to the next is left out where the task is learned in between."""
    many = len(data.tasks) > 8
    runs: dict[tuple[str, int], list[Evaluated]] = {}
    for one in data.evaluations:
        runs.setdefault((one.task, one.run), []).append(one)
    for (task, _), own in runs.items():
        draw_dots(
            axes,
            own,
            looks[task],
            size=3 if many else 6,
            line=0.8 if many else 1.1,
            intervals=not many,
            faint=many and own[0].ahead,
        )


def draw_dots(
    axes: Axes,
    own: Sequence[Evaluated],
    look: Look,
    *,
    size: float,
    line: float,
    intervals: bool = True,
    faint: bool = False,
) -> None:
    """A task's evaluations: dots, the intervals where there are any, a thin line from one to the next."""
    x = [one.x for one in own]
    mean = np.array([one.mean for one in own])
    if faint:
        axes.plot(x, mean, ".", color=PALE, markersize=1.5, alpha=0.5, zorder=3)
        return
    axes.plot(x, mean, color=look.colour, linestyle=look.line, linewidth=line, alpha=0.75, zorder=5)
    known = [one for one in own if one.low is not None and one.high is not None]
    if intervals and known:
        reach = [[one.mean - (one.low or 0.0) for one in known], [(one.high or 0.0) - one.mean for one in known]]
        axes.errorbar(
            [one.x for one in known],
            [one.mean for one in known],
            yerr=np.maximum(reach, 0),
            fmt="none",
            ecolor=look.colour,
            elinewidth=1.2,
            capsize=2,
            zorder=6,
        )
    axes.plot(
        x,
        mean,
        look.marker,
        color=look.colour,
        markersize=size,
        markeredgecolor="white",
        markeredgewidth=0.1 * size,
        zorder=7,
    )


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
