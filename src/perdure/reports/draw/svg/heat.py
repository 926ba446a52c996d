"""A matrix of tasks by tasks as cells in colour, with their numbers where there is room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, isnan

import numpy as np

from perdure.reports.draw.data.folded import Fold
from perdure.reports.draw.data.matrices import Cells, Counts, array_of
from perdure.reports.draw.svg.paper import Paper, fitting, rect, text, width_of
from perdure.words import number

__all__ = ["MOST", "NUMBERED", "counts_differ", "heat"]

MOST = 60
"""Tasks that are drawn one by one."""
NUMBERED = 16
"""Tasks whose cells have room for a number."""
_TOLD = 30  # tasks whose cells say what they are when pointed at

Colour = Callable[[float], tuple[str, float]]
"""A cell's value → its colour, and how dark that is, 0 to 1."""


def heat(
    tasks: Sequence[str],
    cells: Cells,
    counts: Counts,
    paper: Paper,
    top: float,
    names: tuple[str, str],
    colour: Colour,
    *,
    later: bool = False,
) -> tuple[str, float]:
    """Cells below `top`, and how deep they reach; what is absent has a dash and no colour.

    `names` say what a row and a column is. Of more tasks than fit, neighbours share a cell, and that is said. `later`
    numbers only from the diagonal on.
    """
    fold, small = Fold.of(len(tasks), MOST), paper.small
    shown, cells, counts = fold.tasks(tasks), _folded(cells, fold), _counted(counts, fold)
    count = len(shown)
    if count > NUMBERED:
        small *= max(0.55, 1 - (count - NUMBERED) * 0.01)
    grown = paper.grown if count <= NUMBERED else 1.0
    longest = max(width_of(task, small) for task in shown) * grown
    left = min(paper.width * 0.34, longest) + small * 0.8
    wide = min((paper.width - left) / count, small * 6.5 * grown)
    deep = min(wide, small * 3.2) if count <= NUMBERED else wide
    roomy = " roomy" if wide > small * 7 else ""
    step = 1 if count <= NUMBERED else max(1, ceil(small * paper.spread / wide))  # every so many are named
    heads, top = _heads(shown, small, left, top, wide, names, step, grown)
    parts = [heads]
    differ = counts_differ(counts)
    for row, task in enumerate(shown):
        middle = top + (row + 0.5) * deep + small * 0.34
        named = fitting(task, small * grown, left) if row % step == 0 else ""
        parts.append(text(left - small * 0.6, middle, named, small, "cell" if step > 1 else "", at="end"))
        for column, other in enumerate(shown):
            value, x = cells[row][column], left + column * wide
            if value is None:
                parts.append(text(x + wide / 2, middle, "–" if count <= NUMBERED else "", small, "soft", at="middle"))
                continue
            fill, dark = colour(value)
            many = counts[row][column]
            words = f"{task}, {names[1]} {other}: {number(value)}, n = {many}"
            parts.append(
                rect(x, top + row * deep, wide - 1, deep - 1, fill=fill, words=words if count <= _TOLD else "")
            )
            if count <= NUMBERED and (not later or column >= row):
                said = fitting(_short(value) + (f" ({many})" if differ else ""), small, wide)
                parts.append(
                    text(
                        x + wide / 2,
                        middle,
                        said,
                        small,
                        f"cell{roomy} {'light' if dark > 0.62 else 'dark'}",
                        at="middle",
                    )
                )
    bottom = top + count * deep
    if fold.note:
        bottom += small * 1.6
        parts.append(text(0, bottom, fold.note.removeprefix("; "), small, "soft"))
    return "".join(parts), bottom + small * 0.4


def _folded(cells: Cells, fold: Fold) -> Cells:
    means = fold.means(array_of(cells))
    return tuple(tuple(None if isnan(one) else one for one in row) for row in means.tolist())


def _counted(counts: Counts, fold: Fold) -> Counts:
    most = fold.most(np.array(counts, dtype=np.float64))
    return tuple(tuple(int(one) for one in row) for row in most.tolist())


def counts_differ(counts: Counts) -> bool:
    """Whether cells say how many lifetimes they are of: where that differs, and there is room."""
    return len(counts) <= 6 and len({one for row in counts for one in row if one}) > 1


def _heads(
    shown: Sequence[str],
    small: float,
    left: float,
    top: float,
    wide: float,
    names: tuple[str, str],
    step: int,
    grown: float,
) -> tuple[str, float]:
    """What rows and columns are, and the names of the columns, turned where they are wider than these."""
    longest = max(width_of(task, small) for task in shown) * grown
    turned = 0.0 if longest <= wide - 2 else -55.0 if len(shown) <= NUMBERED else -90.0
    most = min(longest, small * grown * 9)
    parts = [text(0, top + small * grown, f"{names[0]} ↓   {names[1]} →", small * 0.95, "soft")]
    top += small * 1.9 * grown + (most * (0.86 if turned == -55 else 1.0) if turned else small)
    for at, task in enumerate(shown):
        middle = left + (at + 0.5) * wide + (small * 0.3 if turned else 0.0)
        name = fitting(task, small * grown, most + 0.5 if turned else wide) if at % step == 0 else ""
        kind, place = "cell" if step > 1 else "", "start" if turned else "middle"
        parts.append(text(middle, top - small * 0.5, name, small, kind, at=place, turned=turned))
    return "".join(parts), top


def _short(value: float) -> str:
    return (f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}").replace("-", "−")
