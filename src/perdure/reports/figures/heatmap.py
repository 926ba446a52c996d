"""Heat maps with numbers if there is room; neighbours share a cell if there are too many rows or columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.reports.palette import contrast
from perdure.reports.svg import Canvas, ellipsize, rect, text, text_width
from perdure.text import number

MOST_TASKS = 60
"""Maximum number of tasks with a row each."""
NUMBERED_TASKS = 16
"""Maximum number of tasks whose cells have room for a number."""
_MOST_TOOLTIPS = 30  # tasks; with more of them, cells have no tooltips


def heatmap(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Array,
    counts: npt.NDArray[np.int64],
    canvas: Canvas,
    top: float,
    names: tuple[str, str],
    colour: Callable[[float], str],
    words: Callable[[float], str],
) -> tuple[str, float]:
    """Draw cells below `top`, as wide as the canvas. Return the markup and the bottom.

    A missing value has a dash and no colour. `names` are the headings of rows and columns, and `words` formats a value.
    """
    folded = (-(-len(rows) // MOST_TASKS), -(-len(columns) // MOST_TASKS))
    small = canvas.small
    rows, columns = fold_names(rows, folded[0]), fold_names(columns, folded[1])
    cells, counts = fold_means(cells, folded), fold_maxima(counts, folded)
    count = max(len(rows), len(columns))
    numbered = count <= NUMBERED_TASKS + 1
    if not numbered:
        small *= max(0.55, 1 - (count - NUMBERED_TASKS) * 0.01)
    grown = canvas.enlargement if numbered else 1.0
    longest = max(text_width(name, small) for name in rows) * grown
    left = min(canvas.width * 0.34, longest) + small * 0.8
    wide = (canvas.width - left) / len(columns)
    deep = min(wide, small * 3.2 * grown) if numbered else min(wide, small * 2)
    roomy = " roomy" if wide > small * 7 else ""
    step = 1 if numbered else max(1, ceil(small * canvas.spread / deep))  # rows per name
    heads, top = _column_names(columns, small, left, top, wide, names, grown, numbered=numbered)
    parts = [heads]
    with_counts = counts_differ(counts)
    for row, name in enumerate(rows):
        middle = top + (row + 0.5) * deep + small * 0.34
        label = ellipsize(name, small * grown, left) if row % step == 0 else ""
        parts.append(text(left - small * 0.6, middle, label, small, "cell" if step > 1 else "", anchor="end"))
        for column, column_name in enumerate(columns):
            value, sample, x = float(cells[row, column]), int(counts[row, column]), left + column * wide
            if isnan(value):
                parts.append(text(x + wide / 2, middle, "–" if numbered else "", small, "soft", anchor="middle"))
                continue
            fill = colour(value)
            about = (
                f"{name}, {names[1]} {column_name}: {number(value)}, n = {sample}" if count <= _MOST_TOOLTIPS else ""
            )
            parts.append(rect(x, top + row * deep, wide - 1, deep - 1, fill=fill, words=about))
            if numbered:
                shade = "light" if contrast(fill, "#ffffff") > contrast(fill, "#000000") else "dark"
                shown = ellipsize(words(value) + (f" ({sample})" if with_counts else ""), small, wide)
                parts.append(text(x + wide / 2, middle, shown, small, f"cell{roomy} {shade}", anchor="middle"))
    bottom = top + len(rows) * deep
    if max(folded) > 1:
        bottom += small * 1.6
        note = f"{max(folded)} neighbouring tasks share a row and a column, and a cell is their mean"
        parts.append(text(0, bottom, note, small, "soft"))
    return "".join(parts), bottom + small * 0.4


def counts_differ(counts: npt.NDArray[np.int64]) -> bool:
    """Return whether cells show their number of lifetimes: if it differs, and there is room."""
    return len(counts) <= 6 and len(set(counts[counts > 0].tolist())) > 1


def _column_names(
    columns: Sequence[str],
    small: float,
    left: float,
    top: float,
    wide: float,
    names: tuple[str, str],
    grown: float,
    *,
    numbered: bool,
) -> tuple[str, float]:
    """Return the headings, with the columns' names rotated if they are too wide, and the bottom.

    Names are shortened instead if a column has room for about eight characters.
    """
    longest = max(text_width(name, small) for name in columns) * grown
    turned = 0.0 if longest <= wide - 2 or wide > small * grown * 5 else -55.0 if numbered else -90.0
    most = min(longest, small * grown * 9)
    step = 1 if numbered else max(1, ceil(small * 1.2 / wide))  # columns per name
    parts = [text(0, top + small * grown, f"{names[0]} ↓   {names[1]} →", small * 0.95, "soft")]
    top += small * 1.9 * grown + (most * (0.86 if turned == -55 else 1.0) if turned else small)
    for index, name in enumerate(columns):
        middle = left + (index + 0.5) * wide + (small * 0.3 if turned else 0.0)
        label = ellipsize(name, small * grown, most + 0.5 if turned else wide - 2) if index % step == 0 else ""
        kind, place = "cell" if step > 1 else "", "start" if turned else "middle"
        parts.append(text(middle, top - small * 0.5, label, small, kind, anchor=place, turned=turned))
    return "".join(parts), top


# --- neighbours that share a cell ------------------------------------------------------------------


def fold_names(names: Sequence[str], width: int) -> tuple[str, ...]:
    """Return a name for every `width` neighbours."""
    parts = [names[start : start + width] for start in range(0, len(names), width)]
    return tuple(part[0] if len(part) == 1 else f"{part[0]} … {part[-1]}" for part in parts)


def fold_means(cells: Array, widths: tuple[int, int]) -> Array:
    """Return the mean of the known cells of neighbouring rows and columns, NaN if none is known."""
    known = ~np.isnan(cells)
    count = _fold(np.add, known.astype(np.float64), widths)
    total = _fold(np.add, np.where(known, cells, 0.0), widths)
    means: Array = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return means


def fold_maxima(counts: npt.NDArray[np.int64], widths: tuple[int, int]) -> npt.NDArray[np.int64]:
    """Return the largest count of neighbours."""
    maxima: npt.NDArray[np.int64] = _fold(np.maximum, counts, widths)
    return maxima


def _fold(combine: np.ufunc, cells: npt.NDArray[Any], widths: tuple[int, int]) -> npt.NDArray[Any]:
    for axis, width in enumerate(widths):
        cells = combine.reduceat(cells, np.arange(0, cells.shape[axis], width), axis=axis)
    return cells
