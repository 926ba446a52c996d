"""Systems × metrics for people: t and p of each against its threshold, and how many are met."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from perdure.stats.tally import Tally

__all__ = ["show_tally"]


def show_tally(console: Console, tally: Tally) -> None:
    """Print both tables, and what they come to."""
    from rich.markup import escape

    from perdure.cli.score_table import columns, widest
    from perdure.report.tables import number, tallied

    for given in tallied(tally):
        table = columns(given.caption, [given.columns[0].name], [one.name for one in given.columns[1:]])
        for row in given.rows:
            table.add_row(*(escape(cell) if isinstance(cell, str) else number(cell) for cell in row))
        console.print(widest(console, [table]))
    console.print(tally.told, markup=False, style="bright_black")
