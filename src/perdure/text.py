"""The one way to write facts for people: numbers, intervals, p-values, counts and lists.

The terminal, pages, Markdown and LaTeX all write by these, so that a number looks the same wherever it stands.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

NOTHING = "–"
_MOST = 6  # digits, however narrow the interval
_SMALL, _LARGE = 1e-3, 1e6  # beyond them a person would write an exponent


def number(value: float | None, width: float | None = None) -> str:
    """Four significant digits; beside an interval of this `width`, the decimals that it leaves certain.

    Half the width gets two significant digits, as the GUM writes an uncertainty (JCGM 100:2008, 7.2.6), and the number
    the same decimals, zeros and all. Without a width, zeros at the end say nothing and go.
    """
    if value is None:
        return NOTHING
    if isinstance(value, int):
        return f"{value}".replace("-", "−")
    if width is not None and 0 < width < math.inf and abs(value) < _LARGE:
        place = math.floor(math.log10(max(abs(value), width / 2)))
        decimals = max(0, min(1 - math.floor(math.log10(width / 2)), _MOST - 1 - place))
        if decimals <= _MOST:
            return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")  # + 0.0: no minus before a nought
    if value and not _SMALL <= abs(value) < _LARGE:
        return f"{value:.1e}".replace("-", "−")
    return (f"{value + 0.0:.4g}" if abs(value) < 9999.5 else f"{value:.0f}").replace("-", "−")


def interval(low: float | None, high: float | None, between: str = " … ") -> str:
    """Both ends by the width between them, or a dash."""
    if low is None or high is None:
        return NOTHING
    return f"{number(low, high - low)}{between}{number(high, high - low)}"


def percent(share: float) -> str:
    """Return a share as `95 %`."""
    return f"{share:.0%}".replace("%", " %")


def p_text(p: float | None) -> str:
    """`.032`, or `< .001`."""
    if p is None:
        return NOTHING
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 0.9995 else "1"


def p_words(p: float | None) -> str:
    """`p = .032`, or `p < .001`."""
    text = p_text(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def plural(count: int, what: str) -> str:
    """`1 lifetime`, `2 lifetimes`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def join_words(things: Iterable[object], last: str = "and") -> str:
    """`a, b and c`."""
    *first, end = [str(one) for one in things] or ["none"]
    return f"{', '.join(first)} {last} {end}" if first else end


def join_names(names: Sequence[str], most: int = 20) -> str:
    """`a, b, c`; long names and long lists are cut."""
    shown = ", ".join(name if len(name) <= 60 else f"{name[:57]}…" for name in names[:most])
    return shown if len(names) <= most else f"{shown}, … ({len(names)} in all)"


def initials(metric: str) -> str:
    """`PM` of performance_maintenance: the initials of an id of several words, as papers' tables are headed."""
    parts = metric.split("_")
    return "".join(part[:1] for part in parts).upper() if len(parts) > 1 else metric
