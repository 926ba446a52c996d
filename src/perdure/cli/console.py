"""Print with Rich: a console that shows names, messages and paths as plain text, and tables that fit it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

import rich.console
from rich.measure import Measurement
from rich.segment import Segment

from perdure.cli.terminal import clean, unguarded
from perdure.tables import Table


class Console(rich.console.Console):
    """A console that cleans each piece of text before it is styled, and removes links."""

    def __init__(self, *, file: IO[str] | None = None, stderr: bool = False, **options: Any) -> None:
        super().__init__(file=file or unguarded(stderr=stderr), stderr=stderr, **{"highlight": False, **options})

    def render(
        self, renderable: rich.console.RenderableType, options: rich.console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the pieces of `renderable`; Rich's own cursor movements are control pieces and stay."""
        for piece in super().render(renderable, options):
            if piece.control:
                yield piece
            elif piece.style is not None and piece.style.link is not None:
                yield Segment(clean(piece.text), piece.style.update_link(None))
            else:
                yield Segment(clean(piece.text), piece.style)


def print_table(console: Console, *layouts: Table, wrap: bool = False) -> None:
    """Print the first of `layouts` that fits the console without cutting a cell, else the last, which may `wrap`."""
    unlimited = console.options.update(max_width=10_000)
    for number, layout in enumerate(layouts, start=1):
        table = layout.to_terminal(wrap=wrap and number == len(layouts))
        needed = Measurement.get(console, unlimited, table).maximum
        if needed <= console.width:
            if needed + len(layout.columns) <= console.width:
                table.padding = (0, 2, 0, 0)
            break
    console.print(table)
