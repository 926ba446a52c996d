"""`perdure export`: a log as one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.options import Json, Log, Quiet, emit_json, with_settings

if TYPE_CHECKING:
    from perdure.settings import Settings

__all__ = ["EXAMPLE", "export"]

EXAMPLE = "perdure export logs/my-life --to my-life.parquet"


@with_settings("log", only=["columns"])
def export(
    log: Log,
    settings: Settings,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="Where to; .parquet, .arrow, .csv or .tsv decides.")],
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Write every record of a log into one table, in the format that the suffix names."""
    from perdure.log.export import export as write
    from perdure.log.read import read

    lifetime = read(log, columns=settings.columns)
    write(lifetime, to)
    for note in lifetime.notes:
        typer.echo(f"note: {note}", err=True)
    if json:
        emit_json({"file": str(to), "rows": lifetime.experiences.height, "notes": list(lifetime.notes)}, json)
    elif not quiet:
        typer.echo(f"{to}: {lifetime.experiences.height} records, {len(lifetime.experiences.columns)} columns")
