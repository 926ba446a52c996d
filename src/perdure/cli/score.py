"""`perdure score`: a value, or the reason for its absence, for each metric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perdure.cli.options import Address, ForSpreadsheets, Json, Quiet, emit_json, with_settings
from perdure.cli.scoring import Experts, Logs, Variadic, grouped, score_facts, surveyed

if TYPE_CHECKING:
    from perdure.settings import Settings

__all__ = ["COMMAND", "EXAMPLE", "score"]

EXAMPLE = "perdure score logs/my-life --experts logs/experts --json -"
COMMAND = Variadic


@with_settings("logs")
def score(
    logs: Logs,
    settings: Settings,
    experts: Experts = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Also write metrics, blocks, settings and prepared data to this folder."
        ),
    ] = None,
    over_time: Annotated[
        bool,
        typer.Option(
            "--over-time", help="Also show each value behind maintenance, transfer and recovery (or --metrics)."
        ),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Show every metric that has a value.")] = False,
    why: Annotated[
        bool, typer.Option("--why", help="Show why metrics have no value, and remarks on those that have one.")
    ] = False,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Number of processes.")] = None,
    for_spreadsheets: ForSpreadsheets = False,
    engine: Annotated[
        Literal["local", "ray"], typer.Option("--engine", help="Score in processes here, or on a Ray cluster.")
    ] = "local",
    address: Address = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Score lifetimes: whether the learner keeps what it learns, and the metrics that show it.

    Exit status 0: everything was scored; 1: something was left out; 2: nothing could be scored.
    """
    from perdure.cli.answer import Depth, show_answers
    from perdure.metrics.engine.score import prepared_table
    from perdure.stats.groups import alone

    look = prepared_table if out else None
    where: Literal["local", "ray"] = "ray" if address is not None else engine
    scores = surveyed(logs, experts, settings, quiet, jobs=jobs, look=look, engine=where, address=address)
    found, refused = grouped(scores)
    if json:
        emit_json(score_facts(scores, found, refused), json)
    if out:
        from perdure.gather.outputs import write_outputs

        write_outputs(scores, out, for_spreadsheets=for_spreadsheets)
    if json != "-":
        several = len(scores.lives) > 1 or settings.group is not None
        shown = found if several else (alone(scores, scores.scores[0]),)
        show_answers(scores, shown, Depth(every, why, settings.ids, quiet))
        if scores.preset == "framework-2019" and not quiet:
            from perdure.cli.capability_table import show_capabilities

            show_capabilities(scores)
        if over_time:
            from perdure.cli.over_time import show_over_time

            show_over_time(scores, settings.ids)
        if refused:
            typer.echo(f"not grouped: {refused}", err=True)
    raise typer.Exit(1 if scores.left_out or refused or any(one.left_out for one in found) else 0)
