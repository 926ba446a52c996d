"""`perdure check`: is this log sound, and if not, where?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perdure.cli.options import Columns, Json, Log, Quiet, column_mapping, emit_json

if TYPE_CHECKING:
    from perdure.log.problem import Check

__all__ = ["EXAMPLE", "check"]

EXAMPLE = "perdure check logs/my-life"


def check(
    log: Log,
    json: Json = None,
    column: Columns = None,
    rows: Annotated[
        Literal["evaluated", "learned"] | None,
        typer.Option("--rows", help="What the rows of an accuracy matrix are, where it does not tell."),
    ] = None,
    unit: Annotated[
        Literal["percent", "fraction", "raw"] | None,
        typer.Option("--unit", help="Of an accuracy matrix; percent where a cell exceeds 1."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Report every problem of a log with file and line, and what to do about it.

    Exit status 0: no errors (warnings may remain); 1: errors; 2: this is no log.
    """
    from perdure.log.check import check_log

    found = check_log(log, columns=column_mapping(column), rows=rows, unit=unit)
    if json:
        emit_json(found.as_json(), json)
    if not json or json != "-":
        _show(found, quiet)
    raise typer.Exit(0 if found.ok else 1)


def _show(found: Check, quiet: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for one in found.problems:
        where = one.file + (f":{one.line}" if one.line else "")
        line = Text().append(where, "bold").append(f"  {one.level}: ", "red" if one.level == "error" else "yellow")
        console.print(line.append(one.what, "").append(f"  → {one.fix}", "dim"))
    errors = sum(one.level == "error" for one in found.problems)
    warnings = len(found.problems) - errors
    if not quiet:
        for note in found.notes:
            console.print(Text(note, "dim"))
        console.print(
            f"{found.what or f'{found.rows} records'}, {_count(errors, 'error')}, {_count(warnings, 'warning')}"
        )


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
