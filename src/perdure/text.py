"""Format numbers, intervals, p-values, counts and lists for people.

The terminal, pages, Markdown and LaTeX share these functions, so a number looks the same in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

NOTHING = "–"
_MAX_DIGITS = 6  # even for a very narrow interval
_SMALL, _LARGE = 1e-3, 1e6  # numbers beyond these get an exponent


def number(value: float | None, width: float | None = None) -> str:
    """Format a number with four significant digits, or with the decimals that an interval of this `width` justifies.

    Half the width gets two significant digits, as the GUM writes an uncertainty (JCGM 100:2008, 7.2.6), and the number
    the same decimals, including zeros. Without a width, zeros at the end are dropped.
    """
    if value is None:
        return NOTHING
    if isinstance(value, int):
        return f"{value}".replace("-", "−")
    if width is not None and 0 < width < math.inf and abs(value) < _LARGE:
        place = math.floor(math.log10(max(abs(value), width / 2)))
        decimals = max(0, min(1 - math.floor(math.log10(width / 2)), _MAX_DIGITS - 1 - place))
        if decimals <= _MAX_DIGITS:
            return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")  # + 0.0 drops the minus of zero
    if value and not _SMALL <= abs(value) < _LARGE:
        return f"{value:.1e}".replace("-", "−")
    return (f"{value + 0.0:.4g}" if abs(value) < 9999.5 else f"{value:.0f}").replace("-", "−")


def decimals_of(values: Iterable[float]) -> int:
    """Return the decimals that numbers of one figure share: none for integers, else three digits of the largest.

    Numbers up to 1 have two decimals.
    """
    known = list(values)
    largest = max((abs(value) for value in known), default=0.0)
    if largest == 0 or all(value == round(value) for value in known):
        return 0
    digits = math.ceil(math.log10(largest))
    return max(0, 3 - digits if digits > 0 else 2 - digits)


def interval(low: float | None, high: float | None, between: str = " … ") -> str:
    """Format both ends of an interval with the decimals that its width justifies, or return a dash."""
    if low is None or high is None:
        return NOTHING
    return f"{number(low, high - low)}{between}{number(high, high - low)}"


def percent(share: float) -> str:
    """Return a share as `95 %`."""
    return f"{share:.0%}".replace("%", " %")


def p_text(p: float | None) -> str:
    """Format a p-value: `.032`, or `< .001`."""
    if p is None:
        return NOTHING
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 0.9995 else "1"


def p_words(p: float | None) -> str:
    """Format a p-value with its symbol: `p = .032`, or `p < .001`."""
    text = p_text(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def plural(count: int, noun: str) -> str:
    """Return `1 lifetime`, `2 lifetimes`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def join_words(things: Iterable[object], last: str = "and") -> str:
    """Return `a, b and c`."""
    *first, end = [str(item) for item in things] or ["none"]
    return f"{', '.join(first)} {last} {end}" if first else end


def join_names(names: Sequence[str], most: int = 20) -> str:
    """Return `a, b, c`; long names and long lists are cut."""
    listed = ", ".join(name if len(name) <= 60 else f"{name[:57]}…" for name in names[:most])
    return listed if len(names) <= most else f"{listed}, … ({len(names)} in all)"


def initials(metric: str) -> str:
    """Return the initials of an id of several words, as in the tables of papers: `PM` for performance_maintenance."""
    parts = metric.split("_")
    return "".join(part[:1] for part in parts).upper() if len(parts) > 1 else metric
