"""Axes: scales, ticks, panels side by side, titles and legends."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.frozen import frozen, replace
from perdure.reports.draw.svg.paper import (
    Figure,
    Paper,
    broken,
    coloured,
    fitting,
    marker,
    n,
    path,
    rect,
    rule,
    stroke,
    text,
    width_of,
)
from perdure.reports.palette import Look

__all__ = [
    "Entry",
    "Looks",
    "Panel",
    "Scale",
    "compose",
    "ends_of",
    "frame",
    "interval_mark",
    "legend",
    "margin",
    "scale_over",
    "task_entries",
    "tick_text",
    "ticks",
]

Looks = dict[str, Look]
"""How each task is drawn, in every figure."""


@frozen
class Scale:
    """From values to places; `log` by their logarithms."""

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    @overload
    def __call__(self, value: float) -> float: ...
    @overload
    def __call__(self, value: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]: ...
    def __call__(self, value: float | Array) -> float | Array:
        """Where a value is drawn."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        given = np.log(value) if self.log else value
        part = (given - low) / (high - low)
        found = self.start + part * (self.stop - self.start)
        return float(found) if np.ndim(found) == 0 else found


def scale_over(
    values: Iterable[float | None], start: float, stop: float, *, log: bool = False, room: float = 0.05
) -> Scale:
    """A scale on which all values have room; equal ones stand in the middle."""
    known = [one for one in values if one is not None and math.isfinite(one) and (one > 0 or not log)]
    low, high = (min(known), max(known)) if known else ((0.5, 2.0) if log else (0.0, 1.0))
    if log:
        reach = max(math.log(high / low), 0.05) * room
        return Scale(low * math.exp(-reach), high * math.exp(reach), start, stop, log=True)
    reach = (high - low) or abs(high) * 0.1 or 1.0
    extra = reach * (room if high > low else 0.5)
    return Scale(low - extra, high + extra, start, stop)


def ends_of(values: Sequence[Array]) -> list[float]:
    """The least and the greatest of each; what is not a number does not count."""
    known = [one[np.isfinite(one)] for one in values]
    return [float(end) for one in known if len(one) for end in (one.min(), one.max())]


def ticks(scale: Scale, most: int) -> tuple[float, ...]:
    """At most so many round values on a scale."""
    if scale.log:
        return _ratios(scale, most)
    raw = (scale.high - scale.low) / max(1, most)
    size = 10 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    step = next((size * one for one in (1, 2, 2.5, 5, 10) if size * one >= raw * 0.999), size * 10)
    first = math.ceil(scale.low / step - 1e-9)
    last = math.floor(scale.high / step + 1e-9)
    return tuple(round(at * step, 12) + 0.0 for at in range(first, min(last, first + 50) + 1))


_RATIOS = (
    (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0),
    (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0),
    (0.5, 0.7, 1.0, 1.4, 2.0),
    (0.5, 0.8, 1.0, 1.25, 2.0),
    (0.8, 0.9, 1.0, 1.1, 1.2),
    (0.9, 0.95, 1.0, 1.05, 1.1),
    (0.98, 0.99, 1.0, 1.01, 1.02),
)


def _ratios(scale: Scale, most: int) -> tuple[float, ...]:
    """Round ratios about 1: those that reach furthest over the scale, of equal ones the most."""
    seen = [tuple(one for one in some if scale.low <= one <= scale.high) for some in _RATIOS]
    whole = math.log(scale.high / scale.low)
    found = max(seen, key=lambda some: (math.log(some[-1] / some[0]) / whole if some else -1) + 0.1 * min(len(some), 4))
    while len(found) > most:
        middle = found.index(1.0) if 1.0 in found else 0
        found = tuple(one for at, one in enumerate(found) if (at - middle) % 2 == 0)
    return found


def tick_text(value: float) -> str:
    """`0.5`, `−20`, `200k`, `1.5M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:.6g}{unit}".replace("-", "−")
    return f"{value:.6g}".replace("-", "−")


# --- panels --------------------------------------------------------------------------------------


@frozen
class Panel:
    """An area with two scales."""

    x: Scale
    y: Scale

    @property
    def left(self) -> float:
        """Of the area."""
        return self.x.start

    @property
    def right(self) -> float:
        """Of the area."""
        return self.x.stop

    @property
    def top(self) -> float:
        """Of the area."""
        return self.y.stop

    @property
    def bottom(self) -> float:
        """Of the area."""
        return self.y.start

    def inside(self, body: str) -> str:
        """What is drawn in it; a page can tell from it which values a place stands for."""
        x, y = self.x, self.y
        facts = " ".join(f"{one:.7g}" for one in (x.start, x.stop, x.low, x.high, y.start, y.stop, y.low, y.high))
        return f'<g class="panel" data-frame="{facts} {int(x.log)}">{body}</g>'


def interval_mark(
    mean: float, low: float | None, high: float | None, x: Scale, y: float, radius: float, shape: str, words: str = ""
) -> str:
    """A mean and its interval; a single lifetime has none, which is not one of no width."""
    reach = ""
    if low is not None and high is not None:
        ends = [min(max(x(end), x.start), x.stop) for end in (low, high)]
        reach = stroke(path(ends, [y, y]), radius * 0.8)
    return reach + marker(shape, min(max(x(mean), x.start), x.stop), y, radius, words)


def margin(scale: Scale, paper: Paper, most: int = 5) -> float:
    """How much room the ticks of a y axis take on its left; on a phone its words are larger."""
    return (
        max((width_of(tick_text(one), paper.small) for one in ticks(scale, most)), default=0.0) * 1.3 + paper.size * 0.7
    )


def frame(
    panel: Panel,
    paper: Paper,
    *,
    title: str = "",
    x: str = "",
    y: str = "",
    x_ticks: bool | Sequence[tuple[float, str]] = True,
    y_ticks: bool | Sequence[tuple[float, str]] = True,
    across: bool = True,
    down: bool = False,
) -> str:
    """The lines, ticks and words about a panel: its title and what is on y above, what is on x below."""
    em, small = paper.size, paper.small
    parts: list[str] = []
    room = panel.right - panel.left
    rows = _marked(panel.y, y_ticks, max(2, int((panel.bottom - panel.top) / (em * 2.6))))
    columns = _marked(panel.x, x_ticks, max(3, int(room / (em * 6))))
    for value, words in rows:
        place = panel.y(value)
        if across:
            parts.append(rule(panel.left, place, panel.right, place))
        parts.append(text(panel.left - em * 0.5, place + small * 0.34, words, small, "soft", at="end"))
    for value, words in columns:
        place = panel.x(value)
        if down:
            parts.append(rule(place, panel.top, place, panel.bottom))
        wide = width_of(words, small) / 2
        where = min(max(place, panel.left - em + wide), panel.right + em * 0.6 - wide)
        parts.append(text(where, panel.bottom + small * 1.35, words, small, "soft", at="middle"))
    if panel.bottom not in [panel.y(value) for value, _ in rows] or not across:
        parts.append(rule(panel.left, panel.bottom, panel.right, panel.bottom, "axis" if not across else "grid"))
    above = panel.top - em * 0.55
    if y:
        for line in reversed(broken(y, small, room + panel.left * 0.5)):
            parts.append(text(panel.left, above, line, small, "soft"))
            above -= small * 1.3
    for line in reversed(broken(title, em, room)):
        parts.append(text(panel.left, above, line, em, "strong"))
        above -= em * 1.3
    if x:
        below = panel.bottom + (small * 2.75 if columns else small * 1.5)
        parts.append(
            text((panel.left + panel.right) / 2, below, fitting(x, small, room + em * 4), small, "soft", at="middle")
        )
    return "".join(parts)


def _marked(scale: Scale, asked: bool | Sequence[tuple[float, str]], most: int) -> list[tuple[float, str]]:
    if isinstance(asked, bool):
        return [(value, tick_text(value)) for value in ticks(scale, most)] if asked else []
    return list(asked)


# --- titles and legends --------------------------------------------------------------------------


@frozen
class Entry:
    """A line of a legend: how a thing is drawn, given where, and what it is called."""

    name: str
    look: Look | str
    drawn: str = "line"
    """line, marker, both, area, ticked."""
    dash: tuple[float, ...] = ()
    width: float = 2.0
    opacity: float = 1.0


def task_entries(tasks: Sequence[str], looks: Looks, drawn: str = "both") -> list[Entry]:
    """The tasks with their colours, lines and markers."""
    return [Entry(task, looks[task], drawn, looks[task].dash) for task in tasks]


def legend(entries: Sequence[Entry], paper: Paper, top: float, most: int = 60) -> tuple[str, float]:
    """Entries one after the other in as many rows as they need, and how deep they reach."""
    small = paper.small if len(entries) <= 16 else paper.small * 0.9
    key, gap = small * 2.2, small * 1.4
    shown = entries[:most]
    named = [fitting(one.name, small, min(paper.width - key * 1.4, small * 42)) for one in shown]
    if len(entries) > most:
        named.append(f"and {len(entries) - most} more")
        shown = [*shown, Entry("", "soft", "none")]
    x, y, parts = 0.0, top + small, list[str]()
    for one, name in zip(shown, named, strict=True):
        wide = key + small * 0.5 + width_of(name, small) * paper.spread
        if x and x + wide > paper.width:
            x, y = 0.0, y + small * 1.6
        parts.append(_key(one, x, y - small * 0.33, key, small) + text(x + key + small * 0.5, y, name, small, "soft"))
        x += wide + gap
    return "".join(parts), (y + small * 0.6 if entries else top)


def _key(one: Entry, x: float, y: float, key: float, small: float) -> str:
    shape = one.look.shape if isinstance(one.look, Look) else "circle"
    if one.drawn == "none":
        return ""
    if one.drawn == "area":
        return coloured(one.look, rect(x, y - small * 0.4, key, small * 0.8, opacity=one.opacity))
    body = ""
    if one.drawn in ("line", "both"):
        drawn = path([x, x + key], [y, y])
        body = stroke(drawn, one.width * small / 11, dash=one.dash, opacity=one.opacity)
    if one.drawn in ("marker", "both"):
        body += marker(shape, x + key / 2, y, small * 0.36)
    return coloured(one.look, body)


def compose(
    paper: Paper,
    title: str,
    label: str,
    draw: Callable[[Paper, float], tuple[str, float]],
    entries: Sequence[Entry] = (),
    note: str = "",
) -> Figure:
    """A whole figure: its title, what `draw` puts below a given height (and how deep that is), and its legend."""
    em, top, parts = paper.size, paper.size * 0.2, list[str]()
    inset = em * 0.8
    whole, paper = paper.width, replace(paper, width=paper.width - 2 * inset)
    for line in broken(paper.titled(title), em * 1.1, paper.width):
        top += em * 1.35
        parts.append(text(0, top - em * 0.3, line, em * 1.1, "strong"))
    body, bottom = draw(paper, top + (em * 0.5 if parts else 0))
    parts.append(body)
    if note:
        for line in broken(note, paper.small, paper.width, 3):
            bottom += paper.small * 1.4
            parts.append(text(0, bottom - paper.small * 0.3, line, paper.small, "soft"))
    if entries and paper.legend:
        body, bottom = legend(entries, paper, bottom + em * 0.6)
        parts.append(body)
    moved = f'<g transform="translate({n(inset)} {n(inset * 0.5)})">{"".join(parts)}</g>'
    return Figure(whole, bottom + inset, moved, label)
