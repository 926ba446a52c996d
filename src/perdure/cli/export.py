"""`perdure export`: write a log as one table, to a tracker, or in the format of the 2019 tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli.options import ForSpreadsheets, Json, Log, Quiet, emit_json, left_out_facts, with_settings
from perdure.cli.terminal import echo, leave
from perdure.text import plural

if TYPE_CHECKING:
    from perdure.api import Exported
    from perdure.settings import Settings


EXAMPLE = "perdure export logs/my-life --to my-life.parquet"

_OF_2019 = ("learnkit", "taskinfo")


@with_settings("log", only=["columns", "measure", "max_unpacked"])
def export(
    log: Log,
    settings: Settings,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="FILE|TRACKER:WHERE|learnkit|taskinfo",
            help="Table file (.parquet, .arrow, .csv or .tsv); a tracker: tensorboard:DIR, mlflow:URI, wandb:PROJECT "
            "or aim:REPOSITORY; or logs or expert saturations for the 2019 tools.",
        ),
    ],
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            metavar="DIR",
            help="Data folder for learnkit and taskinfo (default: $L2DATA).",
            show_default=False,
        ),
    ] = None,
    for_spreadsheets: ForSpreadsheets = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Export a log as one table, into a tracker, or into the data folder of the 2019 framework.

    TRACKER:WHERE: adds a run per lifetime, with its records and what it scored. W&B is written offline.
    learnkit: writes every lifetime to DIR/logs/<syllabus>-<timestamp>/<worker>/<phase>/<task>/data-log.tsv.
    taskinfo: writes the saturation of each task's experts to DIR/taskinfo/info.json.
    """
    from perdure import api

    if into is not None and to not in _OF_2019:
        raise typer.BadParameter("--into only applies to --to learnkit and --to taskinfo; leave it out")
    done = api.export(log, to, settings, into=into, for_spreadsheets=for_spreadsheets)
    for note in done.notes:
        echo(f"note: {note}", err=True)
    if json:
        emit_json(_facts(to, done), json)
    if not quiet and json != "-":
        if to in _OF_2019:
            lines = list(done.files)
        elif done.files:
            lines = [f"{to}: {done.records[to]} records, {done.columns} columns"]
        else:
            lines = [f"{run}: {plural(count, 'record')}" for run, count in done.records.items()]
            lines.append(f"{plural(len(done.records), 'run')} in {to}")
        echo("\n".join(lines))
    leave(done.left_out)


def _facts(to: str, done: Exported) -> dict[str, Any]:
    if to in _OF_2019:
        saturations = {} if done.saturations is None else {"saturations": done.saturations}
        return {"files": list(done.files), **saturations, "left_out": left_out_facts(done.left_out)}
    if done.files:
        return {"file": to, "rows": done.records[to], "notes": list(done.notes)}
    return {"to": to, "runs": dict(done.records), "left_out": left_out_facts(done.left_out)}
