"""Console: rich's, but what it shows of names, messages and paths is text; see `terminal`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, Any

import rich.console
from rich.segment import Segment

from perdure.cli.terminal import clean, unguarded


class Console(rich.console.Console):
    """Cleans each piece before it is styled. Links, which only markup in a name could ask for, are taken out."""

    def __init__(self, *, file: IO[str] | None = None, stderr: bool = False, **more: Any) -> None:
        super().__init__(file=file or unguarded(stderr=stderr), stderr=stderr, **more)

    def render(
        self, renderable: rich.console.RenderableType, options: rich.console.ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The pieces of `renderable`; rich's own cursor movements are pieces of another kind, and stay."""
        for piece in super().render(renderable, options):
            if piece.control:
                yield piece
            elif piece.style is not None and piece.style.link is not None:
                yield Segment(clean(piece.text), piece.style.update_link(None))
            elif piece.text.isprintable():
                yield piece
            else:
                yield Segment(clean(piece.text), piece.style)
