"""The live table in the terminal; it fits 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.gather.model import ScoredLifetime
from perdure.reports.thinned import thinned_lifetime
from perdure.stats.answer import kept_by
from perdure.stats.sentences import MARKS
from perdure.text import initials
from perdure.watch.monitor import Monitor
from perdure.watch.progress import headline, retention_metric, retention_text, short_names, so_far_text, time_text

if TYPE_CHECKING:
    from rich.console import Group


_BARS = "▁▂▃▄▅▆▇█"
_COLOURS = {
    "running": "green",
    "done": "bold",
    "quiet": "magenta",
    "failed": "red",
    "gone": "red",
    "waiting": "dim",
}
_MOST_WARNINGS = 8


def sparkline(values: Sequence[float], width: int = 16) -> str:
    """Return one bar per value, or per stretch of values if there are more than `width`."""
    array = np.asarray(values, dtype=float)
    if not len(array):
        return ""
    parts = np.array([part.mean() for part in np.array_split(array, min(width, len(array)))])
    low, high = float(parts.min()), float(parts.max())
    steps = np.zeros(len(parts)) if high <= low else (parts - low) / (high - low) * (len(_BARS) - 1)
    return "".join(_BARS[round(step)] for step in steps)


def table(monitor: Monitor, *, rows: int = 40) -> Group:
    """Return the totals, one line per lifetime, warnings, and the answers so far. Long names are wrapped."""
    from rich import box
    from rich.console import Group
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    lives = {life.id: life for life in monitor.lifetimes}
    lifetimes = monitor.progress()
    totals, names = monitor.totals(lifetimes), short_names([item.id for item in lifetimes])
    kept = dict.fromkeys(metric for item in lifetimes if (metric := retention_metric(item))) or [kept_by()["log"]]
    progress_table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    progress_table.add_column("lifetime", overflow="fold", max_width=22)
    progress_table.add_column("state", no_wrap=True)
    progress_table.add_column("done", justify="right", no_wrap=True)
    progress_table.add_column("left", justify="right", no_wrap=True)
    progress_table.add_column("learning", no_wrap=True)
    progress_table.add_column(" / ".join(initials(name).upper() for name in kept), justify="right", no_wrap=True)
    for item in lifetimes[:rows]:
        progress_table.add_row(
            escape(names[item.id]),
            f"[{_COLOURS[item.state]}]{item.state}[/]",
            f"{item.done / item.total:.0%}" if item.total else str(item.done or ""),
            time_text(item.left_s),
            sparkline(_learning_values(lives.get(item.id))),
            retention_text(item, monitor.metrics) or "…",
        )
    lines = [f"{names[item.id]}: {warning}" for item in lifetimes for warning in item.warnings]
    lines += monitor.warnings()
    if len(lifetimes) > rows:
        lines.append(f"and {len(lifetimes) - rows} more lifetimes")
    if len(lines) > _MOST_WARNINGS:
        lines[_MOST_WARNINGS:] = [f"and {len(lines) - _MOST_WARNINGS} more warnings"]
    answers = monitor.answers()
    if answers:
        so_far = so_far_text(totals)
        lines += [f"{so_far}:", *answers] if so_far else answers
    if any(item.verdicts for item in lifetimes):
        marks = ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())
        lines.append(f"({marks}; of one lifetime by the spread of its own evaluations or their items)")
    if monitor.age_text:
        lines.append(f"({monitor.age_text})")
    return Group(Text(headline(totals), style="bold"), progress_table, *map(Text, lines))


def _learning_values(life: ScoredLifetime | None) -> list[float]:
    blocks = thinned_lifetime(life).blocks if life else ()
    return [float(value) for block in blocks if block.smoothed is not None for value in block.measured.y]
