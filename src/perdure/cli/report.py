"""`perdure report`: everything that lifetimes show, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.options import Json, Quiet, emit_json, with_settings
from perdure.cli.scoring import Experts, Logs, Variadic

if TYPE_CHECKING:
    from perdure.settings import Settings

__all__ = ["COMMAND", "EXAMPLE", "report"]

EXAMPLE = "perdure report logs --to report.html"
COMMAND = Variadic


@with_settings("logs")
def report(
    logs: Logs,
    settings: Settings,
    experts: Experts = None,
    to: Annotated[
        Path, typer.Option("--to", metavar="FILE", help="Where to: .html, .md, .json or .tex, by its suffix.")
    ] = Path("report.html"),
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="What the report is called.")] = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Write what lifetimes show: verdicts, tables, figures, definitions, checklist and provenance.

    Exit status 0: everything given is in it; 1: something was left out; 2: nothing could be reported.
    """
    import shlex
    import sys

    from perdure.cli.answer import say
    from perdure.cli.scoring import progress_bar
    from perdure.report import write_report
    from perdure.stats.answer import answer

    command = shlex.join(["perdure", *sys.argv[1:]])
    with progress_bar(quiet) as progress:
        made = write_report(
            logs, to, experts=experts or (), settings=settings, title=title, command=command, progress=progress
        )
    if json:
        emit_json(made.as_json(), json)
    if not quiet and json != "-":
        several = len({group.scenario_type for group in made.material.groups}) > 1
        for line in made.leads:
            say(line)
        for group in made.material.groups:
            say(f"{group.scenario_type}: {answer(group)}" if several else answer(group))
        say(str(to), fold=False)
    for name, why in made.material.left_out:
        typer.echo(f"left out: {name}: {why}", err=True)
    raise typer.Exit(1 if made.material.left_out else 0)
