"""`perdure info`: show the version and the folders of data and logs."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from perdure.cli.options import Json, emit_json
from perdure.cli.terminal import echo

EXAMPLE = "perdure info --get logdir"


def info(
    get: Annotated[
        Literal["logdir", "datadir", "latest", "version"] | None, typer.Option("--get", help="Print only this value.")
    ] = None,
    json: Json = None,
) -> None:
    """Show the version, the data and logs folders ($L2DATA, or l2data at home), and the latest log."""
    from datetime import datetime

    from perdure import __version__
    from perdure.files import data_folder
    from perdure.log.places import latest_log, logs_folder

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
        value = facts[get]
        if value is None:
            echo(f"perdure: no log in {logs_folder()}", err=True)
            raise SystemExit(1)
        echo(value)
    elif json:
        emit_json(facts, json)
    else:
        echo(f"Perdure v{__version__}")
        echo(f"L2 data folder:\n    {facts['datadir']}\nL2 logs folder:\n    {facts['logdir']}")
        saved = f"    {latest}\n    created on {when}" if latest else "    none yet"
        echo(f"Most recent log folder:\n{saved}")
