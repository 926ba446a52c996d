"""`perdure new`: start your own metric, task, learner, reader or report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from perdure.cli.options import Quiet
from perdure.cli.terminal import echo

EXAMPLE = "perdure new metric head-start"

Kind = Annotated[
    Literal["metric", "task", "learner", "reader", "report"], typer.Argument(help="What to write.", show_default=False)
]
Name = Annotated[str, typer.Argument(help="Its name, which is also its folder's.", show_default=False)]
Into = Annotated[Path, typer.Option("--into", metavar="DIR", help="Folder to make it in.")]


def new(kind: Kind, name: Name, into: Into = Path(), quiet: Quiet = False) -> None:
    """Write a working plug-in to change: a package with one module, its test and its entry point."""
    from perdure.starters import write_starter

    written = write_starter(kind, name, into)
    if not quiet:
        for file in written:
            echo(str(file))
        echo(f"Next: cd {written[0].parent} && pip install --editable . && python -m pytest")
