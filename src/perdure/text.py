"""Format numbers, intervals, p-values, counts and lists for people.

The terminal, pages, Markdown and LaTeX share these functions, so a number looks the same in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

NOTHING = "–"
_MAX_DIGITS = 6  # even for a very narrow interval
_SMALL, _LARGE = 1e-3, 1e6  # numbers beyond these get an exponent


_NEGLIGIBLE = 1e-3  # of an interval's width


def number(value: float | None, width: float | None = None, *, significant: bool = False) -> str:
    """Format a number with four significant digits, or with the decimals that an interval of this `width` justifies.

    Half the width gets two significant digits, as the GUM writes an uncertainty (JCGM 100:2008, 7.2.6), and the number
    the same decimals, including zeros. Without a width, zeros at the end are dropped. A number that would print as 0
    gets two significant digits unless it is negligible beside the width; with `significant`, every number gets them.
    """
    if value is None:
        return NOTHING
    if isinstance(value, int):
        return f"{value}".replace("-", "−")
    if width is not None and 0 < width < math.inf and abs(value) < _LARGE:
        place = math.floor(math.log10(max(abs(value), width / 2)))
        decimals = max(0, min(1 - math.floor(math.log10(width / 2)), _MAX_DIGITS - 1 - place))
        if significant or (abs(value) < 10**-decimals / 2 and abs(value) >= _NEGLIGIBLE * width):
            decimals = max(decimals, 1 - math.floor(math.log10(abs(value)))) if value else decimals
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


def mean_text(value: float | None, sd: float | None, *, ratio: bool = False) -> str:
    """Return a mean with the digits that its spread justifies; the sd of a ratio is of its logarithm."""
    return number(value, sd and 2 * sd * abs(value or 1.0) if ratio else sd and 2 * sd)


def interval(low: float | None, high: float | None, between: str = " … ") -> str:
    """Format both ends of an interval with the decimals that its width justifies, or return a dash.

    Ends on one side of 0, such as those of a ratio, have two significant digits or more, so that neither prints as 0;
    if both are on one side of 1, neither prints as 1.
    """
    if low is None or high is None:
        return NOTHING
    ends = []
    for end in (low, high):
        text = number(end, high - low, significant=low > 0 or high < 0)
        if (low > 1 or 0 < low <= high < 1) and "1.000000".startswith(text):
            decimals = -math.floor(math.log10(abs(end - 1)))
            text = f"{end:.{decimals}f}" if decimals <= _MAX_DIGITS else text
        ends.append(text)
    return between.join(ends)


def digits_width(mean: float | None, low: float | None, high: float | None, *, ratio: bool) -> float | None:
    """Return the width that decides a mean's digits: that of its interval, for a ratio in proportion to the mean."""
    if low is None or high is None:
        return None
    return mean * math.log(high / low) if ratio and mean and low > 0 else high - low


def percent(share: float) -> str:
    """Return a share as `95 %`."""
    return f"{share:.0%}".replace("%", " %")


def p_text(p: float | None) -> str:
    """Format a p-value: `.032`, or `< .001`. Only p-values of .05 or more print as `.050`."""
    if p is None:
        return NOTHING
    if 0.0495 <= p < 0.05:
        return f".0{math.floor(10_000 * p)}"
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


def join_first(names: Iterable[str], most: int = 5) -> str:
    """Return `a, b and 3 more`."""
    every = list(names)
    listed = ", ".join(every[:most])
    return listed if len(every) <= most else f"{listed} and {len(every) - most} more"


def initials(metric: str) -> str:
    """Return the initials of an id of several words, as in the tables of papers: `PM` for performance_maintenance."""
    parts = metric.split("_")
    return "".join(part[:1] for part in parts).upper() if len(parts) > 1 else metric
