"""One colour, marker and line per task, the same in every figure, and distinct in grey."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

# Okabe and Ito 2008 without its yellow and black, which vanish on white and on dark paper, and two of Tol's muted set.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#999933")
GOOD, POOR, NEUTRAL = "#0072b2", "#c8551b", "#7a7a7a"
"""Met, not met, undecided: blue and vermilion, never green and red."""

VERDICTS = {"met": ("good", "circle"), "not met": ("poor", "cross"), "undecided": ("open", "square")}
"""Verdict → its colour, as pages and figures call it, and its marker."""

_SHADES = (0.0, -0.38, 0.42, -0.62)
# The lengths of the cycles share no factor, so that no two of some hundred tasks look the same.
_SHAPES = (
    "circle",
    "square",
    "up",
    "diamond",
    "down",
    "plus",
    "cross",
    "pentagon",
    "star",
    "left",
    "right",
)
_DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.5), (1.2, 1.2), (6, 1.5, 1.2, 1.5), (9, 2))
_ON_DARK = 0.35


class Look(msgspec.Struct, frozen=True):
    """Colour, marker and line of one task."""

    colour: str
    shape: str
    """Shape of the marker."""
    dash: tuple[float, ...]
    """Lengths of dashes and gaps, in widths of the line; empty for a solid line."""
    shade: int
    """Number of the colour, by which a page in dark mode chooses another."""
    position: int
    """Number of the task, by which a page finds its marks."""


def looks(tasks: Iterable[str]) -> dict[str, Look]:
    """Return each task's look by its position: the first eight differ in hue, later ones in lightness too."""
    return {task: _look(position) for position, task in enumerate(dict.fromkeys(tasks))}


def dark_colours() -> tuple[str, ...]:
    """Return every colour for dark mode, by `Look.shade`."""
    return tuple(mix(_look(shade).colour, "#ffffff", _ON_DARK) for shade in range(len(COLOURS) * len(_SHADES)))


def mix(colour: str, second: str, amount: float) -> str:
    """Mix two colours."""
    channels = ((int(code[start : start + 2], 16) for code in (colour, second)) for start in (1, 3, 5))
    return "#" + "".join(f"{round(first + (second - first) * amount):02x}" for first, second in channels)


def contrast(colour: str, second: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.2): 1 for equal ones, 21 for black and white."""
    darker, lighter = sorted(_luminance(code) + 0.05 for code in (colour, second))
    return lighter / darker


def _luminance(colour: str) -> float:
    channels = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _look(position: int) -> Look:
    shade = position % (len(COLOURS) * len(_SHADES))
    amount = _SHADES[shade // len(COLOURS)]
    colour = mix(COLOURS[shade % len(COLOURS)], "#ffffff" if amount > 0 else "#000000", abs(amount))
    return Look(colour, _SHAPES[position % len(_SHAPES)], _DASHES[position % len(_DASHES)], shade, position)
