"""`perdure check`: find every problem of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli.options import Json, Log, Quiet, emit_json, with_settings

if TYPE_CHECKING:
    from perdure.log.problem import Check
    from perdure.settings import Settings


EXAMPLE = "perdure check logs/my-life"


@with_settings("log", only=["columns", "measure", "shape", "rows", "unit", "as_given", "max_unpacked"])
def check(log: Log, settings: Settings, json: Json = None, quiet: Quiet = False) -> None:
    """Check a log or a folder of logs: list every problem with its file and line, and how to fix it.

    Exit status 0: no errors (warnings may remain); 1: errors; 2: not a log.
    """
    from perdure import api

    result = api.check(log, settings)
    if json:
        emit_json(result.as_json(), json)
    if json != "-":
        _show(result, quiet)
    raise SystemExit(0 if result.ok else 1)


def _show(result: Check, quiet: bool) -> None:
    from rich.text import Text

    from perdure.cli.console import Console

    console = Console(soft_wrap=True)
    for problem in result.problems:
        place = problem.file + (f":{problem.line}" if problem.line else "")
        colour = "red" if problem.level == "error" else "magenta"
        line = Text().append(place, "bold").append(f"  {problem.level}: ", colour)
        console.print(line.append(problem.what, "").append(f"  → {problem.fix}", "dim"))
    errors = sum(problem.level == "error" for problem in result.problems)
    counts = f"{_count(errors, 'error')}, {_count(len(result.problems) - errors, 'warning')}"
    if not quiet:
        for note in result.notes:
            console.print(Text(note, "dim"))
        console.print(f"{result.what or f'{result.rows} records'}, {counts}")


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
