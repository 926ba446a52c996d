"""The SVG canvas: text, lines, areas and markers, and the figures made of them.

Colours of text and axes are classes, and those of tasks are inherited (`currentColor`), so that a page in dark mode can
choose others. A file has its own style sheet, to which users may add theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from math import cos, pi, sin
from textwrap import shorten, wrap
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.reports.palette import GOOD, NEUTRAL, POOR, Look

COLUMN, PAGE = 3.3, 6.9
"""Inches: a column of a two-column paper, and the width of its page between margins."""
INK, SOFT, PALE = "#1d2227", "#59636e", "#d5dae0"
_INCH = 96  # SVG pixels

_STYLE = (
    'text{font-family:"Liberation Sans",Arial,Helvetica,sans-serif;fill:' + INK + "}"
    f".soft{{fill:{SOFT}}}.strong{{font-weight:bold}}.light{{fill:#ffffff}}.dark{{fill:#000000}}.grid{{stroke:{PALE}}}.axis{{stroke:{SOFT}}}"
    f".ink{{color:{INK}}}.paper{{fill:#ffffff}}"
)
_NAMED_COLOURS = {"good": GOOD, "poor": POOR, "open": NEUTRAL, "ink": INK, "soft": SOFT}
_NOT_XML = r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


class Canvas(msgspec.Struct, frozen=True):
    """Width, font size and title of a figure, in pixels."""

    width: float = PAGE * _INCH
    size: float = 10.5
    """Font size."""
    title: str | None = None
    """Replaces the figure's own title; empty for none."""
    legend: bool = True
    """Whether the figure has a legend; a page names tasks next to its figures."""
    limits: tuple[float, float] | None = None
    """Limits of the values, if several figures share a scale."""
    tall: float = 1.0
    """Height relative to the default."""
    spread: float = 1.0
    """Room for each entry of a legend relative to its text: pages enlarge text on phones."""

    @property
    def enlargement(self) -> float:
        """Factor by which a page enlarges text on phones; 1 in print."""
        return min(self.spread, 1.36)

    @classmethod
    def inches(cls, width: float, title: str | None = None) -> Canvas:
        """Return a canvas for print: text of 8 points on a page, of 7 in a column."""
        return cls(width * _INCH, 10.6 if width > (COLUMN + PAGE) / 2 else 9.3, title)

    @property
    def small(self) -> float:
        """Font size of ticks and notes."""
        return self.size * 0.9

    def with_width(self, width: float) -> Canvas:
        """Return the same canvas with another width."""
        return msgspec.structs.replace(self, width=width)


class Figure(msgspec.Struct, frozen=True, eq=False):
    """A drawing, and the numbers that it shows.

    Attributes
    ----------
    width
        Width in SVG pixels.
    height
        Height in SVG pixels.
    body
        SVG markup.
    label
        Description for screen readers.
    data
        The numbers, by name.
    """

    width: float
    height: float
    body: str
    label: str
    data: Mapping[str, Any] = {}

    def __repr__(self) -> str:
        return f"Figure({shorten(self.label, 80, placeholder=' …')!r}, {self.width:.0f} × {self.height:.0f})"

    def inline(self, kind: str = "figure") -> str:
        """Return SVG for a page: as wide as its place, in the page's colours and font."""
        role = f'role="img" aria-label="{_escape_xml(self.label, quote=True)}"' if self.label else 'aria-hidden="true"'
        view = f"0 0 {px(self.width)} {px(self.height)}"
        return f'<svg class="{kind}" viewBox="{view}" {role}>{self.body}</svg>'

    def svg(self, style: str = "", scale: float = 1.0) -> str:
        """Return SVG for a file, with colours, fonts and a white background; `style` is CSS added to its own."""
        size = f'width="{self.width * scale:.2f}" height="{self.height * scale:.2f}"'
        width, height = px(self.width), px(self.height)
        role = f'role="img" aria-label="{_escape_xml(self.label, quote=True)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width} {height}" {role}>'
            f"<style>{_STYLE}{escape(style, quote=False)}</style>"
            f'<rect class="paper" width="{width}" height="{height}"/>{self.body}</svg>\n'
        )

    def _repr_svg_(self) -> str:
        return self.svg()

    def as_json(self) -> Any:
        """Return the numbers as JSON values. Missing and infinite numbers are null."""
        return msgspec.json.decode(msgspec.json.encode(self.data, enc_hook=lambda array: array.tolist()))


# --- text ----------------------------------------------------------------------------------------


def px(value: float) -> str:
    """Return a coordinate, rounded to tenths of a pixel."""
    return "0" if abs(value) < 0.05 else f"{value:.1f}".removesuffix(".0")


def text(
    x: float, y: float, words: str, size: float, kind: str = "", *, anchor: str = "start", turned: float = 0.0
) -> str:
    """Return text whose start, middle or end (`anchor`) is at a point."""
    if not words:
        return ""
    aligned = "" if anchor == "start" else f' text-anchor="{anchor}"'
    style = f' class="{kind}"' if kind else ""
    turn = f' transform="rotate({px(turned)} {px(x)} {px(y)})"' if turned else ""
    return f'<text x="{px(x)}" y="{px(y)}" font-size="{px(size)}"{aligned}{style}{turn}>{_escape_xml(words)}</text>'


def _escape_xml(words: str, *, quote: bool = False) -> str:
    """Return text as XML, without characters that XML forbids; the names of lifetimes may contain them."""
    return escape(re.sub(_NOT_XML, "\ufffd", words), quote)


def tooltip(words: str) -> str:
    """Return the text that a mark shows under the pointer."""
    return f"<title>{_escape_xml(words)}</title>" if words else ""


# --- lines and areas -----------------------------------------------------------------------------


def colour_marks(look: Look | str, body: str, *, task: int | None = None) -> str:
    """Return marks in the colour of a task or group, or in a named colour; pages find tasks by their number."""
    if not body:
        return ""
    number = "" if task is None else f' data-task="{task}"'
    if isinstance(look, str):
        return f'<g class="{look}" color="{_NAMED_COLOURS[look]}"{number}>{body}</g>'
    return f'<g class="c{look.shade}" color="{look.colour}"{number}>{body}</g>'


def path(x: npt.ArrayLike, y: npt.ArrayLike) -> str:
    """Return a path through points, relative and in tenths of a pixel; NaN is a gap."""
    across, down = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    known = np.isfinite(across) & np.isfinite(down)
    if not known.all():
        starts = np.flatnonzero(known & ~np.r_[False, known[:-1]])
        stops = np.flatnonzero(known & ~np.r_[known[1:], False]) + 1
        return "".join(path(across[a:b], down[a:b]) for a, b in zip(starts, stops, strict=True))
    if not len(across):
        return ""
    places = np.rint(np.stack([across, down], axis=1) * 10).astype(np.int64)
    moves = np.diff(places, axis=0)
    moves = moves[(moves != 0).any(axis=1)]
    steps = "".join(f"{'' if move < 0 else ' '}{move}" for move in moves.ravel().tolist()).strip()
    return f"M{places[0, 0]} {places[0, 1]}" + (f"l{steps}" if steps else "h0")


def stroke(line: str, width: float, *, dash: Sequence[float] = (), opacity: float = 1.0, words: str = "") -> str:
    """Return a path as a line in the current colour."""
    if not line:
        return ""
    dashed = f' stroke-dasharray="{" ".join(px(length * width * 10) for length in dash)}"' if dash else ""
    faint = f' opacity="{opacity:g}"' if opacity != 1 else ""
    pen = f'stroke="currentColor" stroke-width="{px(width * 10)}" stroke-linejoin="round"'
    ends = "butt" if dash else "round"
    return (
        f'<path class="line" transform="scale(.1)" d="{line}" fill="none" {pen} stroke-linecap="{ends}"'
        f"{dashed}{faint}>{tooltip(words)}</path>"
    )


def area(x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, opacity: float) -> str:
    """Return the area between two lines."""
    across, under, above = (np.asarray(values, dtype=np.float64) for values in (x, low, high))
    outline = path(np.r_[across, across[::-1]], np.r_[under, above[::-1]])
    return f'<path transform="scale(.1)" d="{outline}z" fill="currentColor" opacity="{opacity:g}"/>'


def rule(x1: float, y1: float, x2: float, y2: float, kind: str = "grid", width: float = 1.0, dash: str = "") -> str:
    """Return a straight line of the frame: grid, axis or threshold."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    ends = f'x1="{px(x1)}" y1="{px(y1)}" x2="{px(x2)}" y2="{px(y2)}"'
    return f'<line {ends} class="{kind}" stroke-width="{px(width)}"{dashed}/>'


def rect(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    fill: str = "currentColor",
    opacity: float = 1.0,
    words: str = "",
    more: str = "",
) -> str:
    """Return a rectangle."""
    faint = f' opacity="{opacity:g}"' if opacity != 1 else ""
    closed = f">{tooltip(words)}</rect>" if words else "/>"
    size = f'width="{px(max(0.0, width))}" height="{px(max(0.0, height))}"'
    return f'<rect x="{px(x)}" y="{px(y)}" {size} fill="{fill}"{faint}{more}{closed}'


# --- markers -------------------------------------------------------------------------------------


def _polygon(*radii: float) -> tuple[tuple[float, float], ...]:
    """Return corners at these distances from the centre, the first at the top."""
    angles = [2 * pi * corner / len(radii) - pi / 2 for corner in range(len(radii))]
    return tuple((radius * cos(angle), radius * sin(angle)) for radius, angle in zip(radii, angles, strict=True))


_ARM = ((-0.38, -1.0), (0.38, -1.0), (0.38, -0.38))
"""One arm of a plus; the others are turned by quarters."""
_PLUS = tuple(point for turn in range(4) for x, y in _ARM for point in [((x, y), (-y, x), (-x, -y), (y, -x))[turn]])
_TURNED = tuple(((x - y) * 0.72, (x + y) * 0.72) for x, y in _PLUS)
_OUTLINES: dict[str, tuple[tuple[float, float], ...]] = {
    "square": ((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)),
    "up": ((0, -1.05), (1, 0.8), (-1, 0.8)),
    "down": ((0, 1.05), (1, -0.8), (-1, -0.8)),
    "left": ((-1.05, 0), (0.8, 1), (0.8, -1)),
    "right": ((1.05, 0), (-0.8, 1), (-0.8, -1)),
    "diamond": ((0, -1.2), (1.05, 0), (0, 1.2), (-1.05, 0)),
    "plus": _PLUS,
    "cross": _TURNED,
    "pentagon": _polygon(*[1.0] * 5),
    "star": _polygon(*[1.0, 0.45] * 5),
}


def marker(shape: str, x: float, y: float, radius: float, words: str = "", *, edge: bool = True) -> str:
    """Return a mark at a point, with a thin white edge that separates neighbours."""
    around = ' class="edge" stroke="#ffffff" stroke-width=".8"' if edge else ""
    if shape == "circle":
        name, attributes = "circle", f'cx="{px(x)}" cy="{px(y)}" r="{px(radius)}"'
    else:
        points = " ".join(f"{px(x + a * radius)},{px(y + b * radius)}" for a, b in _OUTLINES[shape])
        name, attributes = "polygon", f'points="{points}"'
    closed = f">{tooltip(words)}</{name}>" if words else "/>"
    return f'<{name} {attributes} fill="currentColor"{around}{closed}'


# --- text that fits ------------------------------------------------------------------------------

# Advance widths of Helvetica in thousandths of its size (Adobe's font metrics); Arial and Liberation Sans share them.
_WIDTHS = {
    **dict.fromkeys("il", 222),
    **dict.fromkeys("j'", 210),
    **dict.fromkeys(" !,./:;I[\\]ft|", 278),
    **dict.fromkeys("()-r`{}", 333),
    **dict.fromkeys('*^"', 400),
    **dict.fromkeys("Jcksvxyz", 500),
    **dict.fromkeys("+<=>~−×", 584),
    **dict.fromkeys("FTZ", 611),
    **dict.fromkeys("&ABEKPSVXY", 667),
    **dict.fromkeys("CDHNRUw", 722),
    **dict.fromkeys("GOQ", 778),
    **dict.fromkeys("Mm", 833),
    **dict.fromkeys("%", 889),
    **dict.fromkeys("W…", 944),
    **dict.fromkeys("@—", 1015),
}
_OTHER, _WIDE = 556, 1000
_FIRST_WIDE = "\u2e80"  # first character of the East Asian scripts, whose letters are square


def text_width(text: str, size: float) -> float:
    """Return the width of a text, slightly too large, because a page uses its reader's font."""
    return sum(_WIDTHS.get(letter, _WIDE if letter >= _FIRST_WIDE else _OTHER) for letter in text) / 1000 * size * 1.06


def ellipsize(text: str, size: float, room: float) -> str:
    """Shorten a name in the middle, because names differ at their ends; empty if not even six characters fit."""
    if text_width(text, size) <= room:
        return text
    for most in range(len(text) - 1, 5, -1):
        head = (most - 1) * 2 // 3
        tried = f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"
        if text_width(tried, size) <= room:
            return tried
    return ""


def wrap_text(text: str, size: float, room: float, lines: int = 2) -> tuple[str, ...]:
    """Break a text into at most `lines` lines, and shorten lines that are still too long."""
    if text_width(text, size) <= room or not text:
        return (text,) if text else ()
    parts = wrap(text, max(4, int(len(text) * room / text_width(text, size))), break_on_hyphens=False)
    if len(parts) > lines:
        parts = [*parts[: lines - 1], " ".join(parts[lines - 1 :])]
    return tuple(ellipsize(part, size, room) for part in parts)
