"""One colour, marker and line per task, the same in every figure, and told apart in grey."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

__all__ = ["COLOURS", "GOOD", "NEUTRAL", "POOR", "VERDICTS", "Look", "colour_of", "dark_colours", "looks", "mixed"]

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
    """How one task is drawn: by colour, and by marker and line where colour is lost."""

    colour: str
    shape: str
    """Of its marker."""
    dash: tuple[float, ...]
    """On and off, in widths of the line; nothing for a solid one."""
    shade: int
    """Which of the colours it is: a page may choose others for dark paper."""


def looks(tasks: Iterable[str]) -> dict[str, Look]:
    """Each task's look, decided by its position alone: the first eight differ in hue, later ones in lightness too."""
    return {task: _look(position) for position, task in enumerate(dict.fromkeys(tasks))}


def colour_of(tasks: Iterable[str]) -> dict[str, str]:
    """Each task's colour as `#rrggbb`."""
    return {task: look.colour for task, look in looks(tasks).items()}


def dark_colours() -> tuple[str, ...]:
    """Every colour as it stands out on dark paper, by `Look.shade`."""
    return tuple(mixed(_look(at).colour, "#ffffff", _ON_DARK) for at in range(len(COLOURS) * len(_SHADES)))


def mixed(colour: str, other: str, amount: float) -> str:
    """The colour with so much of the other in it."""
    parts = ((int(one[at : at + 2], 16) for one in (colour, other)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(one + (two - one) * amount):02x}" for one, two in parts)


def _look(position: int) -> Look:
    shade = position % (len(COLOURS) * len(_SHADES))
    amount = _SHADES[shade // len(COLOURS)]
    colour = mixed(COLOURS[shade % len(COLOURS)], "#ffffff" if amount > 0 else "#000000", abs(amount))
    return Look(colour, _SHAPES[position % len(_SHAPES)], _DASHES[position % len(_DASHES)], shade)
