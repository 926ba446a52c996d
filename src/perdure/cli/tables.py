"""Tables of whole ids for the terminal, by Rich: the widest layout that fits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

    from perdure.cli.console import Console


def widest(console: Console, tables: Iterable[Table]) -> Table:
    """The first of `tables` that fits the console with nothing cut off, spread where there is room; else the last."""
    from rich.measure import Measurement

    roomy = console.options.update(max_width=10_000)
    chosen: Table | None = None
    for chosen in tables:
        wide = Measurement.get(console, roomy, chosen).maximum
        if wide <= console.width:
            if wide + len(chosen.columns) <= console.width:
                chosen.padding = (0, 2, 0, 0)
            break
    assert chosen is not None, "there is at least one layout"
    return chosen


def columns(title: str, first: Sequence[str], rest: Sequence[str]) -> Table:
    """A table of whole ids: the `first` columns are ids or names, the `rest` numbers, with a blank between them."""
    from rich.table import Table

    table = Table(title=_plain(title), title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in first:
        table.add_column(_plain(heading), no_wrap=True, overflow="fold")
    for heading in rest:
        table.add_column(_plain(heading), justify="right", no_wrap=True)
    return table


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
