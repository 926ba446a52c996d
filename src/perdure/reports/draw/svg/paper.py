"""Paper and ink: figures as SVG, their words, lines, areas and markers.

Colours of ink are classes and those of tasks are inherited (`currentColor`), so that a page in the dark may choose
others; a file brings its own style sheet, to which a reader's may be added.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from math import cos, pi, sin
from textwrap import shorten, wrap

import numpy as np
import numpy.typing as npt

from perdure.frozen import frozen, replace
from perdure.reports.palette import Look

__all__ = [
    "COLUMN",
    "INK",
    "PAGE",
    "SOFT",
    "Figure",
    "Paper",
    "area",
    "broken",
    "coloured",
    "fitting",
    "marker",
    "n",
    "path",
    "rect",
    "rule",
    "said",
    "stroke",
    "text",
    "width_of",
]

COLUMN, PAGE = 3.3, 6.9
"""Inches: a column of a two-column paper, and the width of its page between margins."""
INK, SOFT, PALE = "#1d2227", "#59636e", "#d5dae0"
_INCH = 96  # of SVG's pixels

_STYLE = (
    'text{font-family:"Liberation Sans",Arial,Helvetica,sans-serif;fill:' + INK + "}"
    f".soft{{fill:{SOFT}}}.strong{{font-weight:bold}}.light{{fill:#ffffff}}.grid{{stroke:{PALE}}}.axis{{stroke:{SOFT}}}"
    f".ink{{color:{INK}}}.paper{{fill:#ffffff}}"
)
_NOT_XML = r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


@frozen
class Paper:
    """How wide a figure is, how large its words are, and what stands over it."""

    width: float = PAGE * _INCH
    size: float = 10.5
    """Of words."""
    title: str | None = None
    """Instead of the figure's own; nothing for none at all."""
    legend: bool = True
    """Whether tasks are named in the figure; a page names them beside it."""
    limits: tuple[float, float] | None = None
    """Of the y axis of a lifetime, where several share one."""
    tall: float = 1.0
    """How high, beside what is usual."""
    spread: float = 1.0
    """How much room each word of a legend has, beside its own: on a telephone a page makes words larger."""

    @property
    def grown(self) -> float:
        """How much larger a page makes words on a telephone, beside what they are here; 1 on paper."""
        return min(self.spread, 1.36)

    @classmethod
    def inches(cls, width: float, title: str | None = None) -> Paper:
        """For print: words of 8 points on a page, of 7 in a column."""
        return cls(width * _INCH, 10.6 if width > (COLUMN + PAGE) / 2 else 9.3, title)

    @property
    def small(self) -> float:
        """The size of ticks and notes."""
        return self.size * 0.9

    def titled(self, own: str) -> str:
        """The title to show."""
        return own if self.title is None else self.title


@frozen(repr=False)
class Figure:
    """A drawing: how large, its markup, and what it shows in words."""

    width: float
    height: float
    body: str
    label: str

    def __repr__(self) -> str:
        return f"Figure({shorten(self.label, 80, placeholder=' …')!r}, {self.width:.0f} × {self.height:.0f})"

    def inline(self, kind: str = "figure") -> str:
        """For a page: as wide as its place, in the page's own ink and font."""
        seen = f'role="img" aria-label="{_escaped(self.label, quote=True)}"' if self.label else 'aria-hidden="true"'
        return f'<svg class="{kind}" viewBox="0 0 {n(self.width)} {n(self.height)}" {seen}>{self.body}</svg>'

    def svg(self, style: str = "", scale: float = 1.0) -> str:
        """For a file: with ink, font and white paper of its own, and a style sheet (CSS) over them."""
        size = f'width="{self.width * scale:.2f}" height="{self.height * scale:.2f}"'
        view = f'viewBox="0 0 {n(self.width)} {n(self.height)}"'
        seen = f'role="img" aria-label="{_escaped(self.label, quote=True)}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} {seen}>'
            f"<style>{_STYLE}{escape(style, quote=False)}</style>"
            f'<rect class="paper" width="{n(self.width)}" height="{n(self.height)}"/>{self.body}</svg>\n'
        )

    def _repr_svg_(self) -> str:
        return self.svg()

    def over(self, other: str) -> Figure:
        """The same with more drawn over it."""
        return replace(self, body=self.body + other)


# --- words ---------------------------------------------------------------------------------------


def n(value: float) -> str:
    """A coordinate: tenths of a pixel."""
    return (
        f"{value:.1f}".removesuffix(".0").replace("-0", "0") if abs(value) < 0.05 else f"{value:.1f}".removesuffix(".0")
    )


def text(x: float, y: float, words: str, size: float, kind: str = "", *, at: str = "start", turned: float = 0.0) -> str:
    """Words at a place, as they stand; `at` is start, middle or end."""
    if not words:
        return ""
    anchor = "" if at == "start" else f' text-anchor="{at}"'
    style = f' class="{kind}"' if kind else ""
    turn = f' transform="rotate({n(turned)} {n(x)} {n(y)})"' if turned else ""
    return f'<text x="{n(x)}" y="{n(y)}" font-size="{n(size)}"{anchor}{style}{turn}>{_escaped(words)}</text>'


def _escaped(words: str, *, quote: bool = False) -> str:
    """Words as XML takes them, without what it may not hold, and the name of a lifetime may."""
    return escape(re.sub(_NOT_XML, "\ufffd", words), quote)


def said(words: str) -> str:
    """What a mark says when it is pointed at."""
    return f"<title>{_escaped(words)}</title>" if words else ""


# --- lines and areas -----------------------------------------------------------------------------


def coloured(look: Look | str, body: str, *, task: int | None = None, opacity: float = 1.0) -> str:
    """Marks in a look's colour, or in one that says something; those of a task can be told by its number."""
    if not body:
        return ""
    of = "" if task is None else f' data-task="{task}"'
    faint = "" if opacity == 1 else f' opacity="{opacity:g}"'
    if isinstance(look, str):
        kinds = {"good": "#0072b2", "poor": "#c8551b", "open": "#7a7a7a", "ink": INK, "soft": SOFT}
        return f'<g class="{look}" color="{kinds[look]}"{of}{faint}>{body}</g>'
    return f'<g class="c{look.shade}" color="{look.colour}"{of}{faint}>{body}</g>'


def path(x: npt.ArrayLike, y: npt.ArrayLike) -> str:
    """A line through points, as whole tenths of a pixel, each from the one before; what is not a number is a gap."""
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
    steps = "".join(f"{'' if one < 0 else ' '}{one}" for one in moves.ravel().tolist()).strip()
    return f"M{places[0, 0]} {places[0, 1]}" + (f"l{steps}" if steps else "h0")


def stroke(drawn: str, width: float, *, dash: Sequence[float] = (), opacity: float = 1.0, words: str = "") -> str:
    """A path of tenths of pixels, drawn as a line in the colour that it stands in."""
    if not drawn:
        return ""
    dashed = f' stroke-dasharray="{" ".join(n(one * width * 10) for one in dash)}"' if dash else ""
    faint = f' opacity="{opacity:g}"' if opacity != 1 else ""
    pen = f'stroke="currentColor" stroke-width="{n(width * 10)}" stroke-linejoin="round"'
    ends = "butt" if dash else "round"
    return (
        f'<path class="line" transform="scale(.1)" d="{drawn}" fill="none" {pen} stroke-linecap="{ends}"'
        f"{dashed}{faint}>{said(words)}</path>"
    )


def area(x: npt.ArrayLike, low: npt.ArrayLike, high: npt.ArrayLike, opacity: float) -> str:
    """What lies between two lines."""
    across, under, above = (np.asarray(one, dtype=np.float64) for one in (x, low, high))
    drawn = path(np.r_[across, across[::-1]], np.r_[under, above[::-1]])
    return f'<path transform="scale(.1)" d="{drawn}z" fill="currentColor" opacity="{opacity:g}"/>'


def rule(x1: float, y1: float, x2: float, y2: float, kind: str = "grid", width: float = 1.0, dash: str = "") -> str:
    """A straight line that is no data: a grid, an axis, a threshold."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line x1="{n(x1)}" y1="{n(y1)}" x2="{n(x2)}" y2="{n(y2)}" class="{kind}" stroke-width="{n(width)}"{dashed}/>'
    )


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
    """A bar, a cell, a block."""
    faint = f' opacity="{opacity:g}"' if opacity != 1 else ""
    closed = f">{said(words)}</rect>" if words else "/>"
    size = f'width="{n(max(0.0, width))}" height="{n(max(0.0, height))}"'
    return f'<rect x="{n(x)}" y="{n(y)}" {size} fill="{fill}"{faint}{more}{closed}'


# --- markers -------------------------------------------------------------------------------------


def _polygon(corners: int, *, first: float = -pi / 2, star: bool = False) -> tuple[tuple[float, float], ...]:
    count = corners * (2 if star else 1)
    radii = (1.0, 0.45) if star else (1.0,)
    return tuple(
        (
            radii[at % len(radii)] * cos(first + 2 * pi * at / count),
            radii[at % len(radii)] * sin(first + 2 * pi * at / count),
        )
        for at in range(count)
    )


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
    "pentagon": _polygon(5),
    "star": _polygon(5, star=True),
}


def marker(shape: str, x: float, y: float, radius: float, words: str = "", *, edge: bool = True) -> str:
    """A mark about a point, with a thin edge of paper so that neighbours stay apart."""
    around = ' class="edge" stroke="#ffffff" stroke-width=".8"' if edge else ""
    if shape == "circle":
        name, drawn = "circle", f'cx="{n(x)}" cy="{n(y)}" r="{n(radius)}"'
    else:
        points = " ".join(f"{n(x + a * radius)},{n(y + b * radius)}" for a, b in _OUTLINES[shape])
        name, drawn = "polygon", f'points="{points}"'
    closed = f">{said(words)}</{name}>" if words else "/>"
    return f'<{name} {drawn} fill="currentColor"{around}{closed}'


# --- how wide words are, and how they are made to fit ---------------------------------------------

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
_FIRST_WIDE = "\u2e80"  # from here on come the scripts whose letters are as wide as they are high


def width_of(text: str, size: float) -> float:
    """How wide a text is at a size, a little generously: a page has its reader's own font."""
    return sum(_WIDTHS.get(one, _WIDE if one >= _FIRST_WIDE else _OTHER) for one in text) / 1000 * size * 1.06


def fitting(text: str, size: float, room: float) -> str:
    """A name that fits: its beginning and its end, which is where names differ; nothing where not three letters do."""
    if width_of(text, size) <= room:
        return text
    for most in range(len(text) - 1, 2, -1):
        head = (most - 1) * 2 // 3
        tried = f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"
        if width_of(tried, size) <= room:
            return tried
    return ""


def broken(text: str, size: float, room: float, lines: int = 2) -> tuple[str, ...]:
    """Text on one line, or on several; only what fits none of them is shortened."""
    if width_of(text, size) <= room or not text:
        return (text,) if text else ()
    found = wrap(text, max(4, int(len(text) * room / width_of(text, size))), break_on_hyphens=False)
    if len(found) > lines:
        found = [*found[: lines - 1], " ".join(found[lines - 1 :])]
    return tuple(fitting(one, size, room) for one in found)
