"""A run in the terminal: totals, a sparkline per lifetime, the answers so far, in a table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.stats.sentences import MARKS
from perdure.watch.follow import Follower
from perdure.watch.followed import Followed, Progress
from perdure.watch.totals import called, headline, kept_words, so_far, time_left

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["sparkline", "table"]

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


def table(follower: Follower, *, rows: int = 40) -> Group:
    """How far all are, every lifetime on a line, those that run first, and what is decided so far.

    Names stand whole, on lines of their own if they are long.
    """
    from rich import box
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    shown.add_column("lifetime", overflow="fold", max_width=22)
    shown.add_column("state", no_wrap=True)
    shown.add_column("done", justify="right", no_wrap=True)
    shown.add_column("left", justify="right", no_wrap=True)
    shown.add_column("learning", no_wrap=True)
    shown.add_column("PM", justify="right", no_wrap=True)
    followed = {one.id: one for one in follower.lives.values()}
    lives = follower.progress()
    whole, names = follower.totals(lives), called([one.id for one in lives])
    for one in lives[:rows]:
        life = followed.get(one.id)
        colour = _STATES.get(one.state, "white")
        shown.add_row(
            escape(names[one.id]),
            f"[{colour}]{one.state}[/]",
            _done(one),
            time_left(one.left_s),
            sparkline(_learning(life) if life else ()),
            kept_words(one, follower.metrics) or "…",
        )
    said = [f"{names[one.id]}: {warning}" for one in lives for warning in one.warnings] + list(follower.warnings())
    if len(lives) > rows:
        said.append(f"and {len(lives) - rows} more lifetimes")
    said = [*said[:8], *([f"and {len(said) - 8} more warnings"] if len(said) > 8 else [])]
    standing = follower.standing()
    if standing:
        said += [f"{so_far(whole)}:"] if so_far(whole) else []
        said += standing
    if any(one.verdicts for one in lives):
        marks = ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())
        said.append(f"({marks}; of one lifetime by the spread of its own evaluations)")
    return Group(Text(headline(whole), style="bold"), shown, *map(Text, said))


def _done(one: Progress) -> str:
    return f"{one.done / one.total:.0%}" if one.total else str(one.done)


def _learning(life: Followed) -> list[float]:
    """The learning blocks' values in order, thinned."""
    blocks = [one for one in life.tail.ordered() if one.mode == "learn"] if life.tail else []
    return [float(value) for one in blocks for value in one.bins.line()[1]]
