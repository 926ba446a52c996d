"""Figures of who helps whom and what is kept: transfer, the accuracy matrix, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.curves.model import Array
from perdure.report.draw.data.matrices import (
    AccuracyData,
    Counts,
    ForgettingData,
    LearningFinalData,
    OverviewData,
    TransferData,
    array_of,
)
from perdure.report.draw.data.view import Nothing
from perdure.report.draw.matplotlib.axes import INK, PALE, Looks, fitted, headed, paper, plain, short, task_legend, tidy
from perdure.report.palette import GOOD, POOR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

__all__ = ["accuracy", "forgetting", "learning_final", "overview", "trajectories", "transfer"]


def transfer(data: TransferData, looks: Looks) -> Figure:
    """How learning one task (row) changes another (column): not learned yet (forward), learned before (backward)."""
    del looks
    count = max(len(one.tasks) for one in data.matrices)
    longest = max(len(task) for one in data.matrices for task in one.tasks)
    side = fitted(count, 3.4, 0.34, 10)
    width = max(5.0, side + 1.2 + 0.055 * min(18, longest))
    figure = paper(side + 0.3, width * len(data.matrices))
    panels = figure.subplots(1, len(data.matrices), squeeze=False)[0]
    for one, axes in zip(data.matrices, panels, strict=True):
        ahead, reach = array_of(one.ahead), max(place for place, _ in one.ticks)
        picture = axes.imshow(ahead, cmap=_diverging(), vmin=-reach, vmax=reach, aspect="equal")
        _grid(axes, one.tasks, "evaluated", "learned")
        _annotate(axes, array_of(one.cells), ahead / reach, one.counts)
        brackets = " (in brackets)" if _differ(one.counts) else ""
        way = one.metric.removeprefix("ste_").partition("_")[0].capitalize()
        words = (f"{way}: {one.meaning}", one.caption + brackets)
        axes.set_title("\n".join(part for part in words if part), loc="left", fontsize=9, color=INK)
        bar = figure.colorbar(picture, ax=axes, shrink=0.75, pad=0.02)
        bar.set_ticks([place for place, _ in one.ticks], labels=[word for _, word in one.ticks])
        bar.ax.tick_params(labelsize=8, colors=INK)
        bar.outline.set_visible(False)
    beyond = " and ".join(f"{one:g}" for one in sorted({one.threshold for one in data.matrices}))
    beside = all(one.metric.startswith("ste_") for one in data.matrices)
    said = "1: as good as its expert" if beside else f"beyond {beyond}: it helps"
    headed(figure, " · ".join(part for part in (f"Transfer ({said})", data.name) if part))
    return figure


def accuracy(data: AccuracyData, looks: Looks) -> Figure:
    """How well each task is done after each task was learned; numbers where the task had been learned."""
    del looks
    tasks = data.tasks
    side = fitted(len(tasks), 3.2, 0.36, 10.5)
    figure = paper(side, max(5.6, side + 1.6 + 0.055 * max(len(task) for task in tasks)))
    _accuracy(figure, figure.subplots(), data)
    headed(figure, f"Accuracy matrix · {data.caption}")
    return figure


def _accuracy(figure: Figure, axes: Axes, data: AccuracyData) -> None:
    tasks, values = data.tasks, array_of(data.cells)
    low, high = data.limits
    picture = axes.imshow(values, cmap="viridis", vmin=low, vmax=high, aspect="equal")
    _grid(axes, tasks, "after learning", "evaluated")
    known = np.where(np.triu(np.ones_like(values, dtype=bool)), values, np.nan)
    _annotate(axes, known, 1 - 2 * (values - low) / max(high - low, 1e-12), data.counts, light_on_dark=True)
    bar = figure.colorbar(picture, ax=axes, shrink=0.75, pad=0.02)
    bar.ax.tick_params(labelsize=8, colors=INK)
    bar.outline.set_visible(False)


def learning_final(data: LearningFinalData, looks: Looks) -> Figure:
    """Each task just after it was learned, and at the end."""
    del looks
    figure, axes = _bars(data.tasks, f"Just learned, and at the end · {data.caption}", data.y)
    _learning_final(axes, data)
    axes.legend(fontsize=8.5, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), labelcolor=INK)
    return figure


def _learning_final(axes: Axes, data: LearningFinalData) -> None:
    _columns(axes, data.learned, -0.2, 0.38, color=GOOD, label="just learned")
    _columns(axes, data.final, 0.2, 0.38, color=POOR, hatch="///", label="at the end")


def forgetting(data: ForgettingData, looks: Looks) -> Figure:
    """What each task lost: just learned, less the end; what lies below 0 was gained."""
    del looks
    figure, axes = _bars(data.tasks, f"Forgetting by task · {data.caption}", data.y)
    _forgetting(axes, data)
    return figure


def _forgetting(axes: Axes, data: ForgettingData) -> None:
    colours = [GOOD if one < 0 else POOR for one in data.lost if one is not None]
    _columns(axes, data.lost, 0, 0.66, color=colours)
    axes.axhline(0, color=INK, linewidth=0.9)
    if len(set(data.counts)) > 1:
        names = [f"{short(task, 18)}\n(n = {count})" for task, count in zip(data.tasks, data.counts, strict=True)]
        axes.set_xticks(range(len(names)), names)


def trajectories(data: AccuracyData, looks: Looks) -> Figure:
    """Each task from its own learning on: how well it is done after each later task was learned."""
    figure = paper(4.0)
    _trajectories(figure.subplots(), data, looks)
    headed(figure, f"Trajectories · {data.caption}")
    task_legend(figure, data.tasks, looks)
    return figure


def overview(data: OverviewData, looks: Looks) -> Figure:
    """The accuracy matrix, just learned against the end, what each task lost, and trajectories, in one figure."""
    figure = paper(8.2, 11.0)
    ((matrix, bars), (lost, lines)) = figure.subplots(2, 2)
    _accuracy(figure, matrix, data.accuracy)
    matrix.set_title("Accuracy matrix", loc="left", fontsize=10, color=INK)
    _bar_axes(bars, data.learning_final.tasks, data.learning_final.y, "Just learned, and at the end")
    _learning_final(bars, data.learning_final)
    bars.legend(fontsize=8, frameon=False, loc="lower right", ncols=2, bbox_to_anchor=(1.0, 1.0), labelcolor=INK)
    if isinstance(data.forgetting, Nothing):
        lost.set_axis_off()
        lost.text(0.5, 0.5, plain(data.forgetting.why), ha="center", va="center", fontsize=9, color=PALE, wrap=True)
    else:
        _bar_axes(lost, data.forgetting.tasks, data.forgetting.y, "Forgetting by task (below 0: gained)")
        _forgetting(lost, data.forgetting)
    _trajectories(lines, data.accuracy, looks)
    lines.set_title("Trajectories", loc="left", fontsize=10, color=INK)
    headed(figure, data.accuracy.caption)
    task_legend(figure, data.accuracy.tasks, looks)
    return figure


def _trajectories(axes: Axes, data: AccuracyData, looks: Looks) -> None:
    tidy(axes, "", "after learning", data.y)
    stage, values = np.arange(len(data.tasks)), array_of(data.cells)
    for at, task in enumerate(data.tasks):
        look = looks[task]
        axes.plot(stage[: at + 1], values[at, : at + 1], color=look.colour, linewidth=0.8, alpha=0.25, linestyle=":")
        axes.plot(
            stage[at:],
            values[at, at:],
            color=look.colour,
            linestyle=look.line,
            linewidth=1.7,
            marker=look.marker,
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
        )
    _task_ticks(axes, data.tasks)


# --- parts ---------------------------------------------------------------------------------------


def _diverging() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("perdure", [POOR, "#f7f7f7", GOOD])


def _grid(axes: Axes, tasks: Sequence[str], x: str, y: str) -> None:
    many = len(tasks) > 6
    tidy(axes, "", x, y)
    axes.grid(visible=False)
    names = [short(task, 18) for task in tasks]
    axes.set_xticks(
        range(len(tasks)),
        names,
        rotation=90 if many else 30,
        ha="center" if many else "right",
        rotation_mode="default" if many else "anchor",
    )
    axes.set_yticks(range(len(tasks)), names)
    axes.tick_params(labelsize=8.5 if len(tasks) <= 12 else 7, length=0)
    axes.spines[["left", "bottom"]].set_visible(False)


def _annotate(axes: Axes, cells: Array, depth: Array, counts: Counts, *, light_on_dark: bool = False) -> None:
    """The numbers, dark on light cells and light on dark ones; too many tasks leave no room for them.

    Where they are not all of equally many lifetimes, how many stands below in brackets.
    """
    count = len(cells)
    if count > 30:
        return
    size = 9 if count <= 8 else 7 if count <= 16 else 5
    differ = _differ(counts)
    for row, column in np.argwhere(np.isnan(depth)).tolist() if count <= 16 else ():
        axes.text(column, row, "–", ha="center", va="center", fontsize=size, color=PALE)
    for row, column in np.argwhere(~np.isnan(cells)).tolist():
        value, deep = cells[row, column], depth[row, column]
        white = deep > 0.1 if light_on_dark else abs(deep) > 0.6
        text = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}" if count <= 8 else f"{value:.2g}"
        text += f"\n({counts[row][column]})" if differ else ""
        axes.text(column, row, text, ha="center", va="center", fontsize=size, color="white" if white else INK)


def _differ(counts: Counts) -> bool:
    """Whether cells say how many lifetimes they are of: where that differs, and there is room."""
    return len(counts) <= 8 and len({one for row in counts for one in row if one}) > 1


def _columns(
    axes: Axes,
    values: Sequence[float | None],
    shift: float,
    width: float,
    *,
    color: str | Sequence[str],
    hatch: str = "",
    label: str = "",
) -> None:
    """A bar for each value that there is; what is absent has a dash in its place, and no height."""
    known = [(at, value) for at, value in enumerate(values) if value is not None]
    axes.bar(
        [at + shift for at, _ in known],
        [value for _, value in known],
        width,
        color=color,
        hatch=hatch or None,
        edgecolor="white",
        linewidth=0,
        label=label,
    )
    for at, value in enumerate(values):
        if value is None:
            axes.text(at + shift, 0, "–", ha="center", va="bottom", color=PALE)


def _bars(tasks: Sequence[str], title: str, y: str) -> tuple[Figure, Axes]:
    figure = paper(3.6, min(14.0, max(5.0, 2.2 + 0.42 * len(tasks))))
    axes = figure.subplots()
    _bar_axes(axes, tasks, y)
    headed(figure, title)
    return figure, axes


def _bar_axes(axes: Axes, tasks: Sequence[str], y: str, title: str = "") -> None:
    tidy(axes, "", "", y)
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.grid(visible=False, axis="x")
    _task_ticks(axes, tasks)
    axes.set_xlim(-0.6, len(tasks) - 0.4)


def _task_ticks(axes: Axes, tasks: Sequence[str]) -> None:
    steep = len(tasks) > 6
    axes.set_xticks(range(len(tasks)), [short(task, 18) for task in tasks], rotation=90 if steep else 0)
    axes.tick_params(axis="x", labelsize=7 if len(tasks) > 16 else 8.5)
