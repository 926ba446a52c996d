"""Figures of who helps whom and what is kept: transfer, the accuracy matrix, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perdure.log.accuracy import AccuracyMatrix
from perdure.report.figures.axes import INK, PALE, View, empty, fitted, headed, paper, short, task_legend, tidy
from perdure.report.material import Material
from perdure.report.palette import GOOD, POOR
from perdure.scenario.sites import key_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

__all__ = [
    "accuracy",
    "accuracy_cells",
    "departures",
    "forgetting",
    "learning_final",
    "trajectories",
    "transfer",
    "transfer_cells",
]

Array = npt.NDArray[np.float64]
_TRANSFERS = ("backward_transfer", "forward_transfer")


def transfer(material: Material, view: View | None = None) -> Figure:
    """How learning one task changes another: a row is learned, a column evaluated just before and after."""
    view = view or View()
    tasks, cells, threshold, counted = transfer_cells(material, view)
    if not tasks:
        return empty("no task is evaluated just before and just after another is learned")
    count = len(tasks)
    side = fitted(count, 3.4, 0.34, 10)
    figure = paper(side, max(5.6, side + 1.6 + 0.055 * max(len(task) for task in tasks)))
    axes = figure.subplots()
    ahead, ticks = departures(cells, threshold)
    reach = max(ticks)
    picture = axes.imshow(ahead, cmap=_diverging(), vmin=-reach, vmax=reach, aspect="equal")
    _grid(axes, tasks, tasks, "evaluated", "learned")
    _annotate(axes, cells, ahead / reach)
    bar = figure.colorbar(picture, ax=axes, shrink=0.75, pad=0.02)
    bar.set_ticks(list(ticks), labels=list(ticks.values()))
    bar.ax.tick_params(labelsize=8, colors=INK)
    bar.outline.set_visible(False)
    headed(figure, f"Transfer (beyond {threshold:g}: it helps) · {counted}")
    return figure


def accuracy(material: Material, view: View | None = None) -> Figure:
    """How well each task is done after each task was learned; numbers where the task had been learned."""
    view = view or View()
    found, counted = accuracy_cells(material, view)
    if found is None:
        return empty("no accuracy matrix: nothing was learned and evaluated")
    tasks, values = found.tasks, found.after
    side = fitted(len(tasks), 3.2, 0.36, 10.5)
    figure = paper(side, max(5.6, side + 1.6 + 0.055 * max(len(task) for task in tasks)))
    axes = figure.subplots()
    low, high = _limits(values, found.unit)
    picture = axes.imshow(values, cmap="viridis", vmin=low, vmax=high, aspect="equal")
    _grid(axes, tasks, tasks, "after learning", "evaluated")
    known = np.where(np.triu(np.ones_like(values, dtype=bool)), values, np.nan)
    _annotate(axes, known, 1 - 2 * (values - low) / max(high - low, 1e-12), light_on_dark=True)
    bar = figure.colorbar(picture, ax=axes, shrink=0.75, pad=0.02)
    bar.ax.tick_params(labelsize=8, colors=INK)
    bar.outline.set_visible(False)
    headed(figure, f"Accuracy matrix · {counted}")
    return figure


def learning_final(material: Material, view: View | None = None) -> Figure:
    """Each task just after it was learned, and at the end."""
    view = view or View()
    found, counted = accuracy_cells(material, view)
    if found is None:
        return empty("no accuracy matrix: nothing was learned and evaluated")
    figure, axes = _bars(found.tasks, f"Just learned, and at the end · {counted}", _word(found.unit))
    at = np.arange(len(found.tasks))
    learned, final = np.diag(found.after), found.after[:, -1]
    axes.bar(at - 0.2, np.nan_to_num(learned), 0.38, color=GOOD, label="just learned")
    axes.bar(
        at + 0.2,
        np.nan_to_num(final),
        0.38,
        color=POOR,
        hatch="///",
        edgecolor="white",
        linewidth=0,
        label="at the end",
    )
    axes.legend(fontsize=8.5, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), labelcolor=INK)
    return figure


def forgetting(material: Material, view: View | None = None) -> Figure:
    """What each task lost: its highest evaluation since it was learned, less its last."""
    view = view or View()
    found, counted = accuracy_cells(material, view)
    if found is None or len(found.tasks) < 2:
        return empty("forgetting needs two learned tasks")
    after = found.after[:-1]
    since = np.where(np.triu(np.ones_like(found.after, dtype=bool))[:-1], after, np.nan)
    seen = ~np.isnan(since).all(axis=1)
    lost = np.full(len(after), np.nan)
    lost[seen] = np.nanmax(since[seen], axis=1) - after[seen, -1]
    figure, axes = _bars(found.tasks[:-1], f"Forgetting by task · {counted}", f"lost {_word(found.unit)}")
    axes.bar(np.arange(len(lost)), np.nan_to_num(lost), 0.66, color=[POOR if value > 0 else GOOD for value in lost])
    axes.axhline(0, color=INK, linewidth=0.9)
    for at, value in enumerate(lost):
        if np.isnan(value):
            axes.text(at, 0, "–", ha="center", va="bottom", color=PALE)
    return figure


def trajectories(material: Material, view: View | None = None) -> Figure:
    """Each task from its own learning on: how well it is done after each later task was learned."""
    view = view or View()
    found, counted = accuracy_cells(material, view)
    if found is None:
        return empty("no accuracy matrix: nothing was learned and evaluated")
    figure = paper(4.0)
    axes = tidy(figure.subplots(), "", "after learning", _word(found.unit))
    headed(figure, f"Trajectories · {counted}")
    stage = np.arange(len(found.tasks))
    for at, task in enumerate(found.tasks):
        look = material.looks[task]
        axes.plot(
            stage[: at + 1], found.after[at, : at + 1], color=look.colour, linewidth=0.8, alpha=0.25, linestyle=":"
        )
        axes.plot(
            stage[at:],
            found.after[at, at:],
            color=look.colour,
            linestyle=look.line,
            linewidth=1.7,
            marker=look.marker,
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
        )
    _task_ticks(axes, found.tasks)
    task_legend(figure, found.tasks, material.looks)
    return figure


# --- cells ---------------------------------------------------------------------------------------


def transfer_cells(material: Material, view: View) -> tuple[tuple[str, ...], Array, float, str]:
    """Tasks, the mean first value of each ordered pair, the threshold, and how many lifetimes are in it."""
    lives, counted = material.together(view.lifetime, view.group)
    pairs = {key_text((learned, other)): (learned, other) for learned in material.tasks for other in material.tasks}
    values: dict[tuple[str, str], list[float]] = {}
    threshold = 1.0
    for name in _TRANSFERS:
        declared = material.survey.metrics.get(name)
        if declared is None:
            continue
        threshold = 1.0 if declared.threshold is None else declared.threshold
        for one in lives:
            measured = one.score.metrics.get(name)
            for text, found in measured.by.items() if measured else ():
                if found and text in pairs:
                    values.setdefault(pairs[text], []).append(found[0])
    involved = {task for key in values for task in key}
    tasks = tuple(task for task in material.tasks if task in involved)
    cells = np.full((len(tasks), len(tasks)), np.nan)
    place = {task: at for at, task in enumerate(tasks)}
    for (learned, other), known in values.items():
        cells[place[learned], place[other]] = float(np.mean(known))
    return tasks, cells, threshold, counted


def departures(cells: Array, threshold: float) -> tuple[Array, dict[float, str]]:
    """How far each cell lies from the threshold, and five places on that scale with what they mean.

    A ratio of 2 helps as much as one of ½ harms, so about 1 it is the logarithm that counts.
    """
    ratio = threshold == 1
    ahead = np.log2(np.maximum(cells, 1e-3)) if ratio else cells - threshold
    known = np.abs(ahead[np.isfinite(ahead)])
    reach = max(0.05, float(known.max())) if len(known) else 1.0
    places = [float(tick) for tick in np.linspace(-reach, reach, 5)]
    return ahead, {tick: f"{2**tick if ratio else tick + threshold:.2g}" for tick in places}


def accuracy_cells(material: Material, view: View) -> tuple[AccuracyMatrix | None, str]:
    """The accuracy matrix of the lifetime asked for, or the mean over those that learn the same tasks in one order."""
    lives, counted = material.together(view.lifetime, view.group)
    found = [one.sketch.matrix for one in lives if one.sketch.matrix is not None]
    if not found:
        return None, ""
    first = found[0]
    same = [matrix for matrix in found if matrix.tasks == first.tasks]
    stacked = np.stack([matrix.values for matrix in same])
    known = ~np.isnan(stacked)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    count = known.sum(axis=0)
    mean = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    left = len(found) - len(same)
    said = counted + (f" ({left} with other tasks or orders left out)" if left else "")
    return AccuracyMatrix(first.tasks, mean, first.unit), said


def _limits(values: Array, unit: str) -> tuple[float, float]:
    fixed: Mapping[str, tuple[float, float]] = {"percent": (0, 100), "fraction": (0, 1)}
    if unit in fixed:
        return fixed[unit]
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _word(unit: str) -> str:
    return {"percent": "accuracy (%)", "fraction": "accuracy"}.get(unit, "performance, as measured")


# --- drawing -------------------------------------------------------------------------------------


def _diverging() -> Colormap:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("perdure", [POOR, "#f7f7f7", GOOD])


def _grid(axes: Axes, rows: Sequence[str], columns: Sequence[str], x: str, y: str) -> None:
    size = 8.5 if len(rows) <= 12 else 7
    tidy(axes, "", x, y)
    axes.grid(visible=False)
    axes.set_xticks(
        range(len(columns)),
        [short(task, 18) for task in columns],
        rotation=90 if len(columns) > 6 else 30,
        ha="center" if len(columns) > 6 else "right",
        rotation_mode="default" if len(columns) > 6 else "anchor",
    )
    axes.set_yticks(range(len(rows)), [short(task, 18) for task in rows])
    axes.tick_params(labelsize=size, length=0)
    axes.spines[["left", "bottom"]].set_visible(False)


def _annotate(axes: Axes, cells: Array, depth: Array, *, light_on_dark: bool = False) -> None:
    """The numbers, dark on light cells and light on dark ones; too many tasks leave no room for them."""
    count = len(cells)
    if count > 30:
        return
    size = 9 if count <= 8 else 7 if count <= 16 else 5
    for row, column in np.argwhere(~np.isnan(cells)):
        value, deep = cells[row, column], depth[row, column]
        white = deep > 0.1 if light_on_dark else abs(deep) > 0.6
        text = f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}" if count <= 8 else f"{value:.2g}"
        axes.text(column, row, text, ha="center", va="center", fontsize=size, color="white" if white else INK)


def _bars(tasks: Sequence[str], title: str, y: str) -> tuple[Figure, Axes]:
    figure = paper(3.6, min(14.0, max(5.0, 2.2 + 0.42 * len(tasks))))
    axes = tidy(figure.subplots(), "", "", y)
    headed(figure, title)
    axes.grid(visible=False, axis="x")
    _task_ticks(axes, tasks)
    return figure, axes


def _task_ticks(axes: Axes, tasks: Sequence[str]) -> None:
    steep = len(tasks) > 6
    axes.set_xticks(range(len(tasks)), [short(task, 18) for task in tasks], rotation=90 if steep else 0)
    axes.tick_params(axis="x", labelsize=7 if len(tasks) > 16 else 8.5)
