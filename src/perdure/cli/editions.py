"""Scores of two editions of the definitions, for people: what moved, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli.options import emit_json
from perdure.cli.scoring import settings_facts

if TYPE_CHECKING:
    from perdure.gather.model import Survey
    from perdure.settings import Settings

__all__ = ["show_editions"]


def show_editions(found: Survey, settings: Settings, json: str | None) -> None:
    """Print, or write as JSON, which values moved between the editions; nothing is tested across them."""
    from rich.markup import escape

    from perdure.cli.console import Console
    from perdure.cli.tables import columns
    from perdure.errors import PerdureError
    from perdure.stats.editions import moved
    from perdure.words import number

    made = moved(found.scores)
    if not made:
        raise PerdureError(
            "these scores use two editions of the definitions and cannot be pooled, and no lifetime was "
            "scored with both",
            "score the older logs again",
        )
    if json:
        emit_json({**settings_facts(found, settings), "moved": [one.as_json() for one in made]}, json)
    if json == "-":
        return
    console = Console(highlight=False)
    table = columns("Values under two editions of the definitions", [""], ["n", "first", "now", "moved"])
    for one in made:
        cells = (str(one.n), number(one.old), number(one.new), f"{one.changed} of {one.n}" if one.changed else "–")
        table.add_row(escape(one.metric), *cells)
    console.print(table)
    for one in made:
        if one.because:
            console.print(f"{one.metric}: {one.because}", markup=False, style="bright_black")
    console.print("Results of different editions are never pooled or tested against each other.", style="bright_black")
