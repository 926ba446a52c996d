"""`perdure info`: where logs are kept on this machine."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from perdure.cli.options import Json, emit_json

__all__ = ["EXAMPLE", "info"]

EXAMPLE = "perdure info --get logdir"


class _What(StrEnum):
    logdir = "logdir"
    datadir = "datadir"
    latest = "latest"
    version = "version"


def info(
    get: Annotated[_What | None, typer.Option("--get", help="Print only this value.")] = None,
    json: Json = None,
) -> None:
    """Show the version, the data and logs folders ($L2DATA, or l2data at home), and the latest log."""
    from datetime import datetime

    from perdure import __version__
    from perdure.log.places import data_folder, latest_log, logs_folder

    latest = latest_log()
    when = datetime.fromtimestamp(latest.stat().st_mtime).isoformat(timespec="seconds") if latest else None
    facts = {
        "version": __version__,
        "datadir": str(data_folder()),
        "logdir": str(logs_folder()),
        "latest": str(latest) if latest else None,
        "created": when,
    }
    if get:
        if facts[get] is None:
            typer.echo(f"perdure: no log in {logs_folder()}", err=True)
            raise typer.Exit(1)
        typer.echo(facts[get])
    elif json:
        emit_json(facts, json)
    else:
        typer.echo(f"Perdure v{__version__}")
        typer.echo(f"L2 data folder:\n    {facts['datadir']}\nL2 logs folder:\n    {facts['logdir']}")
        found = f"    {latest}\n    created on {when}" if latest else "    none yet"
        typer.echo(f"Most recent log folder:\n{found}")
