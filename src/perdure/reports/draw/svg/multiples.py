"""Small multiples: one panel for each task, metric or group, as many beside each other as have room."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perdure.curves.arrays import Array
from perdure.frozen import frozen
from perdure.reports.draw.svg.axes import Entry, Panel, compose, ends_of, frame, legend, margin, scale_over
from perdure.reports.draw.svg.paper import Figure, Paper, fitting, text

__all__ = ["Cell", "grid", "multiples"]

_MANY = 12  # panels; more are smaller


@frozen(eq=False)
class Cell:
    """One panel: its title, the values that it must have room for, and what they are measured in."""

    title: str
    x: Sequence[Array]
    y: Sequence[Array]
    unit: str = ""


def multiples(
    cells: Sequence[Cell],
    drawn: Callable[[int, Panel, Paper], str],
    paper: Paper,
    title: str,
    label: str,
    *,
    x: str,
    y: str,
    key: Sequence[Entry] = (),
    entries: Sequence[Entry] = (),
    height: float = 13,
) -> Figure:
    """A figure of panels; `drawn` gives what stands on one, by its number."""

    def draw(inner: Paper, top: float) -> tuple[str, float]:
        em, parts, few = inner.size, list[str](), len(cells) <= _MANY
        if key:
            body, top = legend(key, inner, top)
            parts.append(body)
        parts.append(text(0, top + em, fitting(y, inner.small, inner.width), inner.small, "soft"))
        top += em * (1.4 if y else 0.2)
        deep = em * height * inner.tall * (1.0 if few else 0.75)
        places, bottom = grid(len(cells), inner, least=em * (17 if few else 13), height=deep, gap=em * 1.4)
        for at, (cell, (left, above, wide)) in enumerate(zip(cells, places, strict=True)):
            low, high = top + above + em * (3.1 if cell.unit else 1.9), top + above + deep - inner.small * 2.2
            up = scale_over(ends_of(cell.y), high, low)
            right = left + wide - em * 0.4
            panel = Panel(scale_over(ends_of(cell.x), left + margin(up, inner, 3), right, room=0.02), up)
            parts.append(frame(panel, inner, title=cell.title, y=cell.unit) + panel.inside(drawn(at, panel, inner)))
        parts.append(text(inner.width / 2, top + bottom + em * 0.6, x, inner.small, "soft", at="middle"))
        return "".join(parts), top + bottom + em * 1.2

    return compose(paper, title, label, draw, entries)


def grid(
    count: int, paper: Paper, *, least: float, height: float, most: int = 5, gap: float = 0.0
) -> tuple[list[tuple[float, float, float]], float]:
    """Where panels stand, each (left, top, width), and how deep they reach: as many beside each other as have room."""
    beside = max(1, min(most, count, int((paper.width + gap) / (least + gap))))
    rows = -(-count // beside)
    beside = -(-count // rows)  # three over two rather than four over one
    wide = (paper.width - gap * (beside - 1)) / beside
    return [((at % beside) * (wide + gap), (at // beside) * height, wide) for at in range(count)], rows * height
