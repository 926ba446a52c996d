"""Heat maps of tasks by tasks, with numbers if there is room; neighbours share a cell if there are too many tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.reports.svg import Canvas, ellipsize, rect, text, text_width
from perdure.text import number

MOST_TASKS = 60
"""Maximum number of tasks with a row each."""
NUMBERED_TASKS = 16
"""Maximum number of tasks whose cells have room for a number."""
_MOST_TOOLTIPS = 30  # tasks; with more of them, cells have no tooltips

Colour = Callable[[float], tuple[str, float]]
"""Value → colour, and how dark it is, 0 to 1."""


def heatmap(
    tasks: Sequence[str],
    cells: Array,
    counts: npt.NDArray[np.int64],
    canvas: Canvas,
    top: float,
    names: tuple[str, str],
    colour: Colour,
    *,
    later: bool = False,
) -> tuple[str, float]:
    """Draw cells below `top`. Return the markup and the bottom.

    A missing value has a dash and no colour. `names` are the headings of rows and columns. `later` numbers only the
    diagonal and the cells to its right.
    """
    width, small = -(-len(tasks) // MOST_TASKS), canvas.small
    headings, cells, counts = fold_names(tasks, width), fold_means(cells, width), fold_maxima(counts, width)
    count = len(headings)
    numbered = count <= NUMBERED_TASKS
    if not numbered:
        small *= max(0.55, 1 - (count - NUMBERED_TASKS) * 0.01)
    grown = canvas.enlargement if numbered else 1.0
    longest = max(text_width(task, small) for task in headings) * grown
    left = min(canvas.width * 0.34, longest) + small * 0.8
    wide = min((canvas.width - left) / count, small * 6.5 * grown)
    deep = min(wide, small * 3.2) if numbered else wide
    roomy = " roomy" if wide > small * 7 else ""
    step = 1 if numbered else max(1, ceil(small * canvas.spread / wide))  # tasks per name
    heads, top = _column_names(headings, small, left, top, wide, names, step, grown)
    parts = [heads]
    with_counts = counts_differ(counts)
    for row, task in enumerate(headings):
        middle = top + (row + 0.5) * deep + small * 0.34
        name = ellipsize(task, small * grown, left) if row % step == 0 else ""
        parts.append(text(left - small * 0.6, middle, name, small, "cell" if step > 1 else "", anchor="end"))
        for column, column_task in enumerate(headings):
            value, sample, x = float(cells[row, column]), int(counts[row, column]), left + column * wide
            if isnan(value):
                parts.append(text(x + wide / 2, middle, "–" if numbered else "", small, "soft", anchor="middle"))
                continue
            fill, dark = colour(value)
            words = (
                f"{task}, {names[1]} {column_task}: {number(value)}, n = {sample}" if count <= _MOST_TOOLTIPS else ""
            )
            parts.append(rect(x, top + row * deep, wide - 1, deep - 1, fill=fill, words=words))
            if numbered and (not later or column >= row):
                short = (f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}").replace("-", "−")
                shade = f"cell{roomy} {'light' if dark > 0.62 else 'dark'}"
                label = ellipsize(short + (f" ({sample})" if with_counts else ""), small, wide)
                parts.append(text(x + wide / 2, middle, label, small, shade, anchor="middle"))
    bottom = top + count * deep
    if width > 1:
        bottom += small * 1.6
        note = f"{width} neighbouring tasks share a row and a column, and a cell is their mean"
        parts.append(text(0, bottom, note, small, "soft"))
    return "".join(parts), bottom + small * 0.4


def counts_differ(counts: npt.NDArray[np.int64]) -> bool:
    """Return whether cells show their number of lifetimes: if it differs, and there is room."""
    return len(counts) <= 6 and len(set(counts[counts > 0].tolist())) > 1


def _column_names(
    headings: Sequence[str],
    small: float,
    left: float,
    top: float,
    wide: float,
    names: tuple[str, str],
    step: int,
    grown: float,
) -> tuple[str, float]:
    """Return the headings, with the columns' names rotated if they are too wide, and the bottom."""
    longest = max(text_width(task, small) for task in headings) * grown
    turned = 0.0 if longest <= wide - 2 else -55.0 if len(headings) <= NUMBERED_TASKS else -90.0
    most = min(longest, small * grown * 9)
    parts = [text(0, top + small * grown, f"{names[0]} ↓   {names[1]} →", small * 0.95, "soft")]
    top += small * 1.9 * grown + (most * (0.86 if turned == -55 else 1.0) if turned else small)
    for index, task in enumerate(headings):
        middle = left + (index + 0.5) * wide + (small * 0.3 if turned else 0.0)
        name = ellipsize(task, small * grown, most + 0.5 if turned else wide) if index % step == 0 else ""
        kind, place = "cell" if step > 1 else "", "start" if turned else "middle"
        parts.append(text(middle, top - small * 0.5, name, small, kind, anchor=place, turned=turned))
    return "".join(parts), top


# --- neighbours that share a cell ------------------------------------------------------------------


def fold_names(names: Sequence[str], width: int) -> tuple[str, ...]:
    """Return a name for every `width` neighbours."""
    parts = [names[start : start + width] for start in range(0, len(names), width)]
    return tuple(part[0] if len(part) == 1 else f"{part[0]} … {part[-1]}" for part in parts)


def fold_means(cells: Array, width: int) -> Array:
    """Return the mean of the known cells of neighbours, NaN if none is known."""
    known = ~np.isnan(cells)
    count = _fold(np.add, known.astype(np.float64), width)
    total = _fold(np.add, np.where(known, cells, 0.0), width)
    means: Array = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means


def fold_maxima(counts: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """Return the largest count of neighbours."""
    maxima: npt.NDArray[np.int64] = _fold(np.maximum, counts, width)
    return maxima


def _fold(combine: np.ufunc, cells: npt.NDArray[Any], width: int) -> npt.NDArray[Any]:
    starts = np.arange(0, len(cells), width)
    return combine.reduceat(combine.reduceat(cells, starts, axis=0), starts, axis=1)
