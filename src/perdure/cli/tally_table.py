"""Systems × metrics for people: t and p of each against its threshold, and how many are met."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from perdure import tables
    from perdure.cli.console import Console
    from perdure.stats.tally import Tally


def show_tally(console: Console, tally: Tally) -> None:
    """Print both tables, and what they come to."""
    from perdure.cli.tables import widest
    from perdure.reports.tables import tallied

    for given in tallied(tally):
        console.print(widest(console, (_table(given, whole=whole) for whole in (True, False))))
    console.print(tally.told, markup=False, style="bright_black")


def _table(given: tables.Table, *, whole: bool) -> Table:
    """Names on one line, or, where numbers would be cut off, on several."""
    from rich.markup import escape

    from perdure.cli.tables import columns
    from perdure.text import number

    made = columns(given.caption, [given.columns[0].name], [one.name for one in given.columns[1:]])
    made.columns[0].no_wrap = whole
    for row in given.rows:
        made.add_row(*(escape(cell) if isinstance(cell, str) else number(cell) for cell in row))
    return made
