"""One colour, marker and line per task, the same in every figure, and told apart in grey."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["COLOURS", "GOOD", "NEUTRAL", "POOR", "Look", "colour_of", "looks"]

# Okabe and Ito 2008 without its yellow and black, which vanish on white and on dark paper, and two of Tol's muted set.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#999933")
GOOD, POOR, NEUTRAL = "#0072b2", "#d55e00", "#7a7a7a"
"""Met, not met, undecided: blue and vermilion, never green and red."""

_SHADES = (0.0, -0.38, 0.42, -0.62)
# The lengths of the cycles share no factor, so that no two of some hundred tasks look the same.
_MARKERS = (
    ("o", "circle"),
    ("s", "square"),
    ("^", "triangle-up"),
    ("D", "diamond"),
    ("v", "triangle-down"),
    ("P", "cross"),
    ("X", "x"),
    ("p", "pentagon"),
    ("*", "star"),
    ("<", "triangle-left"),
    (">", "triangle-right"),
)
_DASHES: tuple[tuple[tuple[float, tuple[float, ...]] | Literal["-"], str], ...] = (
    ("-", "solid"),
    ((0, (5, 1.5)), "dash"),
    ((0, (1.2, 1.2)), "dot"),
    ((0, (6, 1.5, 1.2, 1.5)), "dashdot"),
    ((0, (9, 2)), "longdash"),
)
_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "---", "+++")


@dataclass(frozen=True)
class Look:
    """How one task is drawn: by colour, and by marker, line and hatch where colour is lost."""

    colour: str
    marker: str
    symbol: str
    """The marker by the name that plotly knows."""
    line: tuple[float, tuple[float, ...]] | Literal["-"]
    dash: str
    hatch: str


def looks(tasks: Iterable[str]) -> dict[str, Look]:
    """Each task's look, decided by its position alone: the first eight differ in hue, later ones in lightness too."""
    return {task: _look(position) for position, task in enumerate(dict.fromkeys(tasks))}


def colour_of(tasks: Iterable[str]) -> dict[str, str]:
    """Each task's colour as `#rrggbb`."""
    return {task: look.colour for task, look in looks(tasks).items()}


def _look(position: int) -> Look:
    marker, symbol = _MARKERS[position % len(_MARKERS)]
    line, dash = _DASHES[position % len(_DASHES)]
    shade = _SHADES[position // len(COLOURS) % len(_SHADES)]
    colour = _shaded(COLOURS[position % len(COLOURS)], shade)
    return Look(colour, marker, symbol, line, dash, _HATCHES[position % len(_HATCHES)])


def _shaded(colour: str, amount: float) -> str:
    """The colour mixed with black (below 0) or white (above 0)."""
    towards = 255 if amount > 0 else 0
    parts = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * abs(amount)):02x}" for part in parts)
