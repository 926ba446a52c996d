"""`perdure check`: is this log sound, and if not, where?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.cli.options import Json, Log, Quiet, emit_json, with_settings

if TYPE_CHECKING:
    from perdure.log.problem import Check
    from perdure.settings import Settings


EXAMPLE = "perdure check logs/my-life"


@with_settings("log", only=["columns", "rows", "unit", "max_unpacked"])
def check(log: Log, settings: Settings, json: Json = None, quiet: Quiet = False) -> None:
    """Check a log: list every problem with its file and line, and how to fix it.

    Exit status 0: no errors (warnings may remain); 1: errors; 2: not a log.
    """
    from perdure.log.check import check_log

    given = {name: getattr(settings, name) for name in ("columns", "rows", "unit", "max_unpacked")}
    found = check_log(log, **given)
    if json:
        emit_json(found.as_json(), json)
    if not json or json != "-":
        _show(found, quiet)
    raise SystemExit(0 if found.ok else 1)


def _show(found: Check, quiet: bool) -> None:
    from rich.text import Text

    from perdure.cli.console import Console

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
