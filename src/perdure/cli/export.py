"""`perdure export`: a log as one table, into a tracker, or as what the tools of 2019 read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli.options import ForSpreadsheets, Json, Log, Quiet, emit_json, with_settings
from perdure.cli.terminal import echo
from perdure.text import plural

if TYPE_CHECKING:
    from perdure.classic.l2data import Written
    from perdure.settings import Settings


EXAMPLE = "perdure export logs/my-life --to my-life.parquet"

To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="FILE|TRACKER:WHERE|learnkit|taskinfo",
        help="Table file (.parquet, .arrow, .csv or .tsv); a tracker: tensorboard:DIR, mlflow:URI, wandb:PROJECT or "
        "aim:REPOSITORY; or logs or expert saturations for the 2019 tools.",
    ),
]
Into = Annotated[
    Path | None,
    typer.Option(
        "--into", metavar="DIR", help="Data folder for learnkit and taskinfo (default: $L2DATA).", show_default=False
    ),
]


@with_settings("log", only=["columns", "measure", "max_unpacked"])
def export(
    log: Log,
    settings: Settings,
    to: To,
    into: Into = None,
    for_spreadsheets: ForSpreadsheets = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Export a log as one table, into a tracker, or into the data folder of the 2019 framework.

    TRACKER:WHERE: adds a run per lifetime, with its records and what it scored. W&B is written offline.
    learnkit: writes every lifetime to DIR/logs/<syllabus>-<timestamp>/<worker>/<phase>/<task>/data-log.tsv.
    taskinfo: writes the saturation of each task's experts to DIR/taskinfo/info.json.
    """
    from perdure.log.write.export import is_tracker

    if to in ("learnkit", "taskinfo"):
        _into_data_folder(log, settings, to, into, json, quiet)
    elif into is not None:
        raise typer.BadParameter("--into only applies to --to learnkit and --to taskinfo; leave it out")
    elif is_tracker(to):
        _into_tracker(log, settings, to, json, quiet)
    else:
        _into_file(log, settings, to, json, quiet, for_spreadsheets=for_spreadsheets)


def _into_file(
    log: Path, settings: Settings, to: str, json: str | None, quiet: bool, *, for_spreadsheets: bool
) -> None:
    from perdure.log.read import read
    from perdure.log.write.export import export as write

    lifetime = read(log, columns=settings.columns, max_unpacked=settings.max_unpacked)
    write(lifetime, Path(to), for_spreadsheets=for_spreadsheets)
    for note in lifetime.notes:
        echo(f"note: {note}", err=True)
    if json:
        emit_json({"file": to, "rows": lifetime.experiences.height, "notes": list(lifetime.notes)}, json)
    elif not quiet:
        echo(f"{to}: {lifetime.experiences.height} records, {len(lifetime.experiences.columns)} columns")


def _into_tracker(log: Path, settings: Settings, to: str, json: str | None, quiet: bool) -> None:
    from perdure.gather.trackers import send

    sent = send(log, to, settings)
    if json:
        left_out = [{"path": path, "why": why} for path, why in sent.left_out]
        emit_json({"to": to, "runs": dict(sent.runs), "left_out": left_out}, json)
    for path, why in sent.left_out:
        echo(f"left out: {why if path in why else f'{path}: {why}'}", err=True)
    if not quiet and json != "-":
        for run, count in sent.runs.items():
            echo(f"{run}: {plural(count, 'record')}")
        echo(f"{plural(len(sent.runs), 'run')} in {to}")
    raise SystemExit(1 if sent.left_out else 0)


def _into_data_folder(log: Path, settings: Settings, to: str, into: Path | None, json: str | None, quiet: bool) -> None:
    from perdure.classic.l2data import write_experts, write_trees
    from perdure.files import data_folder

    folder = into or data_folder()
    facts: dict[str, Any]
    if to == "learnkit":
        written = write_trees(log, folder, settings.reading())
        facts = {"files": [str(one) for one in written.files]}
    else:
        stated, written = write_experts(log, folder, settings.measure, settings.reading())
        facts = {"files": [str(one) for one in written.files], "saturations": stated}
    if json:
        emit_json({**facts, "left_out": [{"path": path, "why": why} for path, why in written.left_out]}, json)
    told(written, quiet=quiet or json == "-")
    raise SystemExit(1 if written.left_out else 0)


def told(written: Written, *, quiet: bool) -> None:
    """Print what was written; what could not be goes to stderr."""
    for path, why in written.left_out:
        echo(f"left out: {why if path in why else f'{path}: {why}'}", err=True)
    for note in written.notes:
        echo(f"note: {note}", err=True)
    for file in () if quiet else written.files:
        echo(str(file))
