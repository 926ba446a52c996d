"""A run in the terminal: progress, a sparkline per lifetime, in a table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.stats.sentences import MARKS
from perdure.watch.follow import Follower
from perdure.watch.followed import Followed, Progress
from perdure.words import number

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["sparkline", "table", "time_left"]

_MAINTAINED = "performance_maintenance"
_BARS = "▁▂▃▄▅▆▇█"
_STATES = {
    "running": "green",
    "done": "blue",
    "quiet": "yellow",
    "failed": "red",
    "gone": "red",
    "waiting": "bright_black",
}


def sparkline(values: Sequence[float], width: int = 16) -> str:
    """One bar per value, or per stretch of values where there are more than fit; flat where nothing differs."""
    array = np.asarray(values, dtype=float)
    if not len(array):
        return ""
    parts = np.array([part.mean() for part in np.array_split(array, min(width, len(array)))])
    low, high = float(parts.min()), float(parts.max())
    steps = np.zeros(len(parts)) if high <= low else (parts - low) / (high - low) * (len(_BARS) - 1)
    return "".join(_BARS[round(step)] for step in steps)


def time_left(seconds: float | None) -> str:
    """`45 s`, `12 min`, `3.4 h`; nothing where it is not known."""
    if seconds is None:
        return ""
    return (
        f"{seconds:.0f} s"
        if seconds < 90
        else f"{seconds / 60:.0f} min"
        if seconds < 5400
        else f"{seconds / 3600:.1f} h"
    )


def table(follower: Follower, *, rows: int = 40) -> Table:
    """Every lifetime on one line, those that run first; ids stand whole, on a line of their own if they are long."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    shown.add_column("lifetime", overflow="fold", max_width=22)
    shown.add_column("state", no_wrap=True)
    shown.add_column("done", justify="right", no_wrap=True)
    shown.add_column("left", justify="right", no_wrap=True)
    shown.add_column("learning", no_wrap=True)
    shown.add_column("PM", justify="right", no_wrap=True)
    followed = {one.id: one for one in follower.lives.values()}
    found = ((one, followed.get(one.id)) for one in follower.progress())
    pairs = sorted(found, key=lambda pair: pair[0].state != "running")
    for one, life in pairs[:rows]:
        colour = _STATES.get(one.state, "white")
        value = one.values.get(_MAINTAINED)
        shown.add_row(
            escape(one.id),
            f"[{colour}]{one.state}[/]",
            _done(one),
            time_left(one.left_s),
            sparkline(_learning(life) if life else ()),
            "…" if value is None else f"{number(value)} {MARKS.get(one.verdicts.get(_MAINTAINED, ''), ' ')}",
        )
    said = [f"{one.id}: {warning}" for one, _ in pairs for warning in one.warnings] + list(follower.warnings())
    if len(pairs) > rows:
        said.append(f"and {len(pairs) - rows} more lifetimes")
    said = [*said[:8], *([f"and {len(said) - 8} more warnings"] if len(said) > 8 else [])]
    if any(one.verdicts for one, _ in pairs):
        marks = ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())
        said += [*follower.standing(), f"{marks}: of one lifetime by its own spread, of several by their interval"]
    shown.caption = escape("\n".join(said))
    shown.caption_justify = "left"
    return shown


def _done(one: Progress) -> str:
    return f"{one.done / one.total:.0%}" if one.total else str(one.done)


def _learning(life: Followed) -> list[float]:
    """The learning blocks' values in order, thinned."""
    blocks = [one for one in life.tail.ordered() if one.mode == "learn"] if life.tail else []
    return [float(value) for one in blocks for value in one.bins.line()[1]]
