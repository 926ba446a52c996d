"""`perdure report`: write a report, a table for a paper, or a statement of methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from perdure.cli.options import Experts, ForSpreadsheets, Json, Logs, Quiet, emit_json, progress_bar, with_settings
from perdure.cli.terminal import leave, say
from perdure.settings import Settings

EXAMPLE = "perdure report logs --to report.html"


@with_settings("logs", advanced=("for_spreadsheets",))
def report(
    logs: Logs,
    settings: Settings,
    experts: Experts = None,
    to: Annotated[
        Path,
        typer.Option(
            "--to",
            metavar="FILE",
            help="Output file. A report: .html, .md, .json; a paper's table: .tex, .csv; a methods statement: .txt.",
        ),
    ] = Path("report.html"),
    form: Annotated[
        Literal["report", "table", "methods"] | None,
        typer.Option("--as", help="What to write where the suffix does not decide (.md, .tex).", show_default=False),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="NAME", help="Method to compare the others with (default: the last)."),
    ] = None,
    paired: Annotated[
        Literal["auto", "yes", "no"],
        typer.Option("--paired", help="Pair lifetimes that have the same seed and task order."),
    ] = "auto",
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Title of the report, or caption of the table.")
    ] = None,
    for_spreadsheets: ForSpreadsheets = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Write a report: verdicts, tables, figures, definitions, checklist and provenance.

    --to table.tex writes a table for a paper: methods by metrics, mean and interval, the best in bold, marks where a
    method differs from the baseline.
    Exit status 0: everything was reported; 1: something was left out; 2: nothing could be reported.
    """
    import shlex
    import sys

    from perdure.log.places import as_text
    from perdure.reports import write

    with progress_bar(quiet) as progress:
        written = write.report(
            logs,
            to,
            experts=experts or (),
            settings=settings,
            title=title,
            command=shlex.join(["perdure", *map(as_text, sys.argv[1:])]),
            form=form,
            baseline=baseline,
            paired=paired,
            for_spreadsheets=for_spreadsheets,
            progress=progress,
        )
    if json:
        emit_json(written.as_json(), json)
    if not quiet and json != "-":
        if write.form_of(to, form) == "report":
            for line in written.answers:
                say(line)
        say(str(to), fold=False)
    leave(written.data.left_out, written.data.survey.faults, written.data.apart)
