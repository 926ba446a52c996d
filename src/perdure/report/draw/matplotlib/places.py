"""Figures of where and when metrics are read: values over a lifetime, and the evaluations they compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perdure.report.draw.data.places import AnnotatedData, Mark, OverTimeData
from perdure.report.draw.matplotlib.axes import INK, Looks, headed, plain, task_legend, tidy
from perdure.report.draw.matplotlib.lives import lifetime
from perdure.report.draw.matplotlib.marks import label_all, small_multiples
from perdure.words import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["annotated", "over_time"]

_DASHED = (0, (4, 2))
_MOST_WORDS = 30  # more places than this are arrows without numbers


def over_time(data: OverTimeData, looks: Looks) -> Figure:
    """How the values behind each metric change over a lifetime, one panel per metric, a line per task or pair."""
    figure, panels = small_multiples(len(data.panels), 2.2)
    label_all(figure, panels, "", "")
    for at, (panel, axes) in enumerate(zip(data.panels, panels, strict=True)):
        below = axes.get_subplotspec()
        last = at == len(panels) - 1 or (below is not None and below.is_last_row())
        tidy(axes, plain(panel.metric.replace("_", " ")), data.x if last else "", panel.unit)
        if panel.threshold is not None:
            axes.axhline(panel.threshold, color=INK, linewidth=1.0, linestyle=(0, (3, 2)))
        for line in panel.lines:
            look = looks[line.task]
            x, y = [one.x for one in line.moments], [one.value for one in line.moments]
            axes.plot(x, y, color=look.colour, linestyle=look.line, linewidth=1.3, marker=look.marker, markersize=5)
    headed(figure, data.id)
    task_legend(figure, data.tasks, looks)
    return figure


def annotated(data: AnnotatedData, looks: Looks) -> Figure:
    """One lifetime with the places where PM, FT and BT are read: dashed at what is compared with, an arrow to what is.

    Metrics that compare the same two evaluations share an arrow.
    """
    figure = lifetime(data.life, looks)
    figure.set_figheight(figure.get_figheight() + 1.2)
    axes = figure.axes[1]
    places: dict[tuple[int, int], list[Mark]] = {}
    for one in data.marks:
        places.setdefault(one.blocks, []).append(one)
    for marks in places.values():
        _draw_place(axes, marks, looks[marks[0].task].colour, worded=len(places) <= _MOST_WORDS)
    axes.margins(y=0.1)
    words = "dashed: at the evaluation compared with · arrow: to the one compared · PM in points, FT and BT ratios"
    axes.set_xlabel(f"{plain(data.life.x)}\n{words}")
    return figure


def _draw_place(axes: Axes, marks: Sequence[Mark], colour: str, *, worded: bool) -> None:
    (x0, y0), (x1, y1) = marks[0].before, marks[0].after
    axes.plot([x0, x1], [y0, y0], color=colour, linewidth=0.9, linestyle=_DASHED, alpha=0.8, zorder=8)
    arrow = {"arrowstyle": "->", "color": colour, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x1, y1), xytext=(x1, y0), arrowprops=arrow, zorder=9)
    if not worded:
        return
    said = axes.annotate(
        "\n".join(f"{short(one.metric)} {one.value:.3g}" for one in marks),
        (x1, y0),
        xytext=(-3, 4 if y1 < y0 else -4),
        textcoords="offset points",
        zorder=10,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
    )
    said.set(fontsize=7.5, color=colour, ha="right", va="bottom" if y1 < y0 else "top")
