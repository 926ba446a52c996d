"""`perdure report`: everything that lifetimes show, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perdure.cli.options import Columns, Json, Quiet, column_mapping, emit_json
from perdure.cli.scoring import Experts, Logs, Measure, Metrics, Preset, Variadic, listed, margins_of

__all__ = ["COMMAND", "EXAMPLE", "report"]

EXAMPLE = "perdure report logs --to report.html"
COMMAND = Variadic


def report(
    logs: Logs,
    to: Annotated[
        Path, typer.Option("--to", metavar="FILE", help="Where to: .html, .md, .json or .tex, by its suffix.")
    ] = Path("report.html"),
    experts: Experts = None,
    preset: Preset = "standard",
    measure: Measure = None,
    metrics: Metrics = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="What the report is called.")] = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="PATTERN", help="A regular expression on ids that names groups.")
    ] = None,
    margin: Annotated[
        list[str] | None, typer.Option("--margin", metavar="ID=X", help="Subtract X from a threshold. Repeatable.")
    ] = None,
    json: Json = None,
    column: Columns = None,
    quiet: Quiet = False,
) -> None:
    """Write what lifetimes show: verdicts, tables, figures, definitions, checklist and provenance.

    Exit status 0: everything given is in it; 1: something was left out; 2: nothing could be reported.
    """
    import shlex
    import sys

    from perdure.cli.score_table import progress_bar
    from perdure.metrics.settings import Settings
    from perdure.report import write_report

    settings = Settings(preset=preset, measure=measure, metrics=listed(metrics), margins=margins_of(margin))
    with progress_bar(quiet) as progress:
        made = write_report(
            logs,
            to,
            experts=experts or (),
            settings=settings,
            title=title,
            group=group,
            columns=column_mapping(column),
            command=shlex.join(["perdure", *sys.argv[1:]]),
            progress=progress,
        )
    if json:
        emit_json(made.as_json(), json)
    if not quiet and json != "-":
        for one in made.verdicts:
            typer.echo(f"{one.verdict}: {one.sentence}")
        typer.echo(str(to))
    for path, why in made.material.survey.left_out:
        typer.echo(f"left out: {path}: {why}", err=True)
    raise typer.Exit(1 if made.material.survey.left_out else 0)
