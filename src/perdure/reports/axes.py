"""Axes: scales, ticks, panels, legends, and figures of one or several panels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.reports.palette import Look
from perdure.reports.svg import (
    Canvas,
    Figure,
    colour_marks,
    ellipsize,
    marker,
    path,
    px,
    rect,
    rule,
    stroke,
    text,
    text_width,
    wrap_text,
)

Looks = dict[str, Look]
"""Task or group → its colour, marker and line."""


class Scale(msgspec.Struct, frozen=True):
    """A linear or logarithmic mapping of values to pixels."""

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
        """Return the pixel of a value."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        position = np.log(value) if self.log else value
        part = (position - low) / (high - low)
        pixel = self.start + part * (self.stop - self.start)
        return float(pixel) if np.ndim(pixel) == 0 else pixel


def scale_over(
    values: Iterable[float | None], start: float, stop: float, *, log: bool = False, room: float = 0.05
) -> Scale:
    """Return a scale over all values, with some room; equal values are in the middle."""
    known = [value for value in values if value is not None and math.isfinite(value) and (value > 0 or not log)]
    low, high = (min(known), max(known)) if known else ((0.5, 2.0) if log else (0.0, 1.0))
    if log:
        reach = max(math.log(high / low), 0.05) * room
        return Scale(low * math.exp(-reach), high * math.exp(reach), start, stop, log=True)
    reach = (high - low) or abs(high) * 0.1 or 1.0
    extra = reach * (room if high > low else 0.5)
    return Scale(low - extra, high + extra, start, stop)


def ends_of(values: Sequence[Array]) -> list[float]:
    """Return the least and the greatest finite value of each array."""
    known = [array[np.isfinite(array)] for array in values]
    return [float(end) for array in known if len(array) for end in (array.min(), array.max())]


def ticks(scale: Scale, most: int) -> tuple[float, ...]:
    """Return about `most` round values on a scale."""
    if scale.log:
        return _ratios(scale, most)
    raw = (scale.high - scale.low) / max(1, most)
    size = 10 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    steps = [size * factor for factor in (10, 5, 2.5, 2, 1, 0.5)]
    wide = [step for step in steps if step >= raw * 0.999]
    for step in steps[len(wide) - 1 :]:
        first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
        if last > first or most < 3:  # a single tick shows no scale
            break
    return tuple(round(count * step, 12) + 0.0 for count in range(first, min(last, first + 50) + 1))


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
    """Return round ratios about 1: the set that covers the scale best."""
    sets = [tuple(ratio for ratio in ratios if scale.low <= ratio <= scale.high) for ratios in _RATIOS]
    width = math.log(scale.high / scale.low)

    def coverage(ratios: tuple[float, ...]) -> float:
        return (math.log(ratios[-1] / ratios[0]) / width if ratios else -1) + 0.1 * min(len(ratios), 4)

    best = max(sets, key=coverage)
    while len(best) > most:
        middle = best.index(1.0) if 1.0 in best else 0
        best = tuple(ratio for index, ratio in enumerate(best) if (index - middle) % 2 == 0)
    return best


def tick_text(value: float) -> str:
    """Return `0.5`, `−20`, `200k` or `1.5M`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:.6g}{unit}".replace("-", "−")
    return f"{value:.6g}".replace("-", "−")


# --- panels --------------------------------------------------------------------------------------


class Panel(msgspec.Struct, frozen=True):
    """A plot area with two scales."""

    x: Scale
    y: Scale

    @property
    def left(self) -> float:
        """Left edge in pixels."""
        return self.x.start

    @property
    def right(self) -> float:
        """Right edge in pixels."""
        return self.x.stop

    @property
    def top(self) -> float:
        """Top edge in pixels."""
        return self.y.stop

    @property
    def bottom(self) -> float:
        """Bottom edge in pixels."""
        return self.y.start

    def plot_area(self, body: str) -> str:
        """Return marks with the scales attached, by which a page maps the pointer to values."""
        x, y = self.x, self.y
        facts = " ".join(f"{end:.7g}" for end in (x.start, x.stop, x.low, x.high, y.start, y.stop, y.low, y.high))
        return f'<g class="panel" data-frame="{facts} {int(x.log)}">{body}</g>'


def interval_mark(
    mean: float, low: float | None, high: float | None, x: Scale, y: float, radius: float, shape: str, words: str = ""
) -> str:
    """Return a mean with its interval; a single lifetime has no interval."""
    reach = ""
    if low is not None and high is not None:
        ends = [min(max(x(end), x.start), x.stop) for end in (low, high)]
        reach = stroke(path(ends, [y, y]), radius * 0.8)
    return reach + marker(shape, min(max(x(mean), x.start), x.stop), y, radius, words)


def margin(scale: Scale, canvas: Canvas, most: int = 5) -> float:
    """Return the room for the tick labels of a y axis; text is larger on a phone."""
    return (
        max((text_width(tick_text(value), canvas.small) for value in ticks(scale, most)), default=0.0) * 1.3
        + canvas.size * 0.7
    )


def frame(
    panel: Panel,
    canvas: Canvas,
    *,
    title: str = "",
    x: str = "",
    y: str = "",
    x_ticks: bool | Sequence[tuple[float, str]] = True,
    y_ticks: bool | Sequence[tuple[float, str]] = True,
    across: bool = True,
    down: bool = False,
) -> str:
    """Return grid, ticks and labels of a panel: its title and the y label are above it."""
    em, small = canvas.size, canvas.small
    parts: list[str] = []
    room = panel.right - panel.left
    rows = _tick_labels(panel.y, y_ticks, max(2, int((panel.bottom - panel.top) / (em * 2.6))))
    columns = _tick_labels(panel.x, x_ticks, max(3, int(room / (em * 6))))
    for value, words in rows:
        place = panel.y(value)
        if across:
            parts.append(rule(panel.left, place, panel.right, place))
        parts.append(text(panel.left - em * 0.5, place + small * 0.34, words, small, "soft", anchor="end"))
    for value, words in columns:
        place = panel.x(value)
        if down:
            parts.append(rule(place, panel.top, place, panel.bottom))
        wide = text_width(words, small) / 2
        centre = min(max(place, panel.left - em + wide), panel.right + em * 0.6 - wide)
        parts.append(text(centre, panel.bottom + small * 1.35, words, small, "soft", anchor="middle"))
    if panel.bottom not in [panel.y(value) for value, _ in rows] or not across:
        parts.append(rule(panel.left, panel.bottom, panel.right, panel.bottom, "axis" if not across else "grid"))
    above = panel.top - em * 0.55
    if y:
        for line in reversed(wrap_text(y, small, room + panel.left * 0.5)):
            parts.append(text(panel.left, above, line, small, "soft"))
            above -= small * 1.3
    for line in reversed(wrap_text(title, em, room)):
        parts.append(text(panel.left, above, line, em, "strong"))
        above -= em * 1.3
    if x:
        below = panel.bottom + (small * 2.75 if columns else small * 1.5)
        parts.append(
            text(
                (panel.left + panel.right) / 2,
                below,
                ellipsize(x, small, room + em * 4),
                small,
                "soft",
                anchor="middle",
            )
        )
    return "".join(parts)


def _tick_labels(scale: Scale, labels: bool | Sequence[tuple[float, str]], most: int) -> list[tuple[float, str]]:
    if isinstance(labels, bool):
        return [(value, tick_text(value)) for value in ticks(scale, most)] if labels else []
    return list(labels)


# --- titles and legends --------------------------------------------------------------------------


_MOST_ENTRIES = 60


class Entry(msgspec.Struct, frozen=True):
    """A name in a legend, and how it is drawn."""

    name: str
    look: Look | str
    mark: str = "line"
    """line, marker, both, area or none."""
    dash: tuple[float, ...] = ()
    width: float = 2.0
    opacity: float = 1.0
    shape: str = ""
    """Shape of the marker; empty for that of the look, or a circle."""


def task_entries(tasks: Sequence[str], looks: Looks) -> list[Entry]:
    """Return a legend entry per task."""
    return [Entry(task, looks[task], "both", looks[task].dash) for task in tasks]


def legend(entries: Sequence[Entry], canvas: Canvas, top: float) -> tuple[str, float]:
    """Return the entries in rows, and the bottom of the last row."""
    small = canvas.small if len(entries) <= 16 else canvas.small * 0.9
    key, gap = small * 2.2, small * 1.4
    listed = entries[:_MOST_ENTRIES]
    names = [ellipsize(entry.name, small, min(canvas.width - key * 1.4, small * 42)) for entry in listed]
    if len(entries) > _MOST_ENTRIES:
        names.append(f"and {len(entries) - _MOST_ENTRIES} more")
        listed = [*listed, Entry("", "soft", "none")]
    x, y, parts = 0.0, top + small, list[str]()
    for entry, name in zip(listed, names, strict=True):
        wide = key + small * 0.5 + text_width(name, small) * canvas.spread
        if x and x + wide > canvas.width:
            x, y = 0.0, y + small * 1.6
        parts.append(_key(entry, x, y - small * 0.33, key, small) + text(x + key + small * 0.5, y, name, small, "soft"))
        x += wide + gap
    return "".join(parts), (y + small * 0.6 if entries else top)


def _key(entry: Entry, x: float, y: float, key: float, small: float) -> str:
    shape = entry.shape or (entry.look.shape if isinstance(entry.look, Look) else "circle")
    if entry.mark == "none":
        return ""
    if entry.mark == "area":
        return colour_marks(entry.look, rect(x, y - small * 0.4, key, small * 0.8, opacity=entry.opacity))
    body = ""
    if entry.mark in ("line", "both"):
        body = stroke(path([x, x + key], [y, y]), entry.width * small / 11, dash=entry.dash, opacity=entry.opacity)
    if entry.mark in ("marker", "both"):
        body += marker(shape, x + key / 2, y, small * 0.36)
    return colour_marks(entry.look, body)


def compose(
    canvas: Canvas,
    title: str,
    label: str,
    draw: Callable[[Canvas, float], tuple[str, float]],
    entries: Sequence[Entry] = (),
    note: str = "",
    data: Mapping[str, Any] | None = None,
) -> Figure:
    """Return a figure: title, drawing, note and legend. `draw` maps the canvas and the top to markup and the bottom."""
    em, top, parts = canvas.size, canvas.size * 0.2, list[str]()
    inset = em * 0.8
    inner = canvas.with_width(canvas.width - 2 * inset)
    for line in wrap_text(title if canvas.title is None else canvas.title, em * 1.1, inner.width):
        top += em * 1.35
        parts.append(text(0, top - em * 0.3, line, em * 1.1, "strong"))
    body, bottom = draw(inner, top + (em * 0.5 if parts else 0))
    parts.append(body)
    if note:
        for line in wrap_text(note, canvas.small, inner.width, 3):
            bottom += canvas.small * 1.4
            parts.append(text(0, bottom - canvas.small * 0.3, line, canvas.small, "soft"))
    if entries and canvas.legend:
        body, bottom = legend(entries, inner, bottom + em * 0.6)
        parts.append(body)
    moved = f'<g transform="translate({px(inset)} {px(inset * 0.5)})">{"".join(parts)}</g>'
    return Figure(canvas.width, bottom + inset, moved, label, data or {})


# --- several panels ------------------------------------------------------------------------------

_MANY = 12  # panels; more are smaller


class PanelSpec(msgspec.Struct, frozen=True, eq=False):
    """One of several panels: its title, the values that its scales must cover, and their unit."""

    title: str
    x: Sequence[Array]
    y: Sequence[Array]
    unit: str = ""


def multiples(
    cells: Sequence[PanelSpec],
    draw_panel: Callable[[int, Panel, Canvas], str],
    canvas: Canvas,
    title: str,
    label: str,
    *,
    x: str,
    y: str,
    key: Sequence[Entry] = (),
    entries: Sequence[Entry] = (),
    note: str = "",
    height: float = 13,
    data: Mapping[str, Any] | None = None,
) -> Figure:
    """Return a figure of several panels; `draw_panel` returns the marks of the panel with a given index."""

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        em, parts, few = inner.size, list[str](), len(cells) <= _MANY
        if key:
            body, top = legend(key, inner, top)
            parts.append(body)
        parts.append(text(0, top + em, ellipsize(y, inner.small, inner.width), inner.small, "soft"))
        top += em * (1.4 if y else 0.2)
        deep = em * height * inner.tall * (1.0 if few else 0.75)
        least, gap = em * (17 if few else 13), em * 1.4
        (_, _, wide), *_ = grid(len(cells), inner, least=least, height=deep, gap=gap)[0]
        # Room for titles of two lines
        more = em * 1.3 * (max(1, *(len(wrap_text(cell.title, em, wide * 0.85)) for cell in cells)) - 1)
        places, bottom = grid(len(cells), inner, least=least, height=deep + more, gap=gap)
        for index, (cell, (left, above, wide)) in enumerate(zip(cells, places, strict=True)):
            low = top + above + more + em * (3.1 if cell.unit else 1.9)
            high = top + above + more + deep - inner.small * 2.2
            up = scale_over(ends_of(cell.y), high, low)
            right = left + wide - em * 0.4
            panel = Panel(scale_over(ends_of(cell.x), left + margin(up, inner, 3), right, room=0.02), up)
            parts.append(
                frame(panel, inner, title=cell.title, y=cell.unit) + panel.plot_area(draw_panel(index, panel, inner))
            )
        parts.append(text(inner.width / 2, top + bottom + em * 0.6, x, inner.small, "soft", anchor="middle"))
        return "".join(parts), top + bottom + em * 1.2

    return compose(canvas, title, label, draw, entries, note, data)


def grid(
    count: int, canvas: Canvas, *, least: float, height: float, most: int = 5, gap: float = 0.0
) -> tuple[list[tuple[float, float, float]], float]:
    """Lay out panels in rows. Return each panel's left, top and width, and the bottom of the last row."""
    per_row = max(1, min(most, count, int((canvas.width + gap) / (least + gap))))
    rows = -(-count // per_row)
    per_row = -(-count // rows)  # rows of similar length: five panels are three over two, not four over one
    wide = (canvas.width - gap * (per_row - 1)) / per_row
    return [
        ((index % per_row) * (wide + gap), (index // per_row) * height, wide) for index in range(count)
    ], rows * height


def lay_out_columns(
    paints: Sequence[Callable[[float], tuple[str, float]]], columns: int, width: float, gap: float, top: float
) -> tuple[str, float]:
    """Return panels in columns of this width, row by row, and the bottom of the last row."""
    parts, row, deepest = list[str](), top, top
    for index, paint in enumerate(paints):
        if index % columns == 0:
            row = deepest + (gap if index else 0)
        body, bottom = paint(row)
        parts.append(f'<g transform="translate({px((index % columns) * width)} 0)">{body}</g>')
        deepest = max(deepest, bottom)
    return "".join(parts), deepest
