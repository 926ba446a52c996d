"""`perdure score`: compute the metrics of lifetimes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perdure.cli.answers import Depth, show_answers, show_over_time
from perdure.cli.options import (
    Address,
    Experts,
    FailIf,
    ForSpreadsheets,
    IfUndecided,
    Json,
    Logs,
    Quiet,
    Unless,
    emit_json,
    end_with_gate,
    survey_logs,
    with_settings,
)
from perdure.cli.terminal import echo

if TYPE_CHECKING:
    from perdure.settings import Settings
    from perdure.stats.groups import GroupedSurvey


EXAMPLE = "perdure score logs/my-life --experts logs/experts --json -"


@with_settings("logs", advanced=("jobs", "for_spreadsheets", "engine", "address", "unless", "if_undecided"))
def score(
    logs: Logs,
    settings: Settings,
    experts: Experts = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Also write metrics, blocks, settings and prepared data."),
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
    fail_if: FailIf = None,
    unless: Unless = None,
    if_undecided: IfUndecided = "fail",
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Score lifetimes: whether the learner keeps what it learns, and the metrics that show it.

    --fail-if forgets and --unless keeps judge every group.
    Exit status 0: everything was scored; 1: something was left out, or a gate failed; 2: nothing could be scored.
    """
    from perdure.metrics.score import prepared_table
    from perdure.stats.gate import Gate, gate_groups
    from perdure.stats.groups import group_survey

    if out:
        from perdure.gather.output_files import FILES
        from perdure.log.read import refuse_overwriting

        for name in FILES:
            refuse_overwriting(out / name, (*logs, *(experts or ())))
    engine = "ray" if address is not None else engine
    look = prepared_table if out else None
    how = {"jobs": jobs, "look": look, "learning": False, "engine": engine, "address": address}
    survey = group_survey(survey_logs(logs, experts, settings, quiet, **how))
    if json:
        emit_json(survey.as_json(), json)
    if out:
        from perdure.gather.output_files import write_outputs

        write_outputs(survey.survey, out, for_spreadsheets=for_spreadsheets)
    if json != "-":
        _show(survey, settings, Depth(every, why, settings.ids, quiet), over_time=over_time)
    end_with_gate(gate_groups(survey.groups, Gate(fail_if, unless, if_undecided)), 0 if survey.whole else 1, quiet)


def _show(grouped: GroupedSurvey, settings: Settings, depth: Depth, *, over_time: bool) -> None:
    from perdure.stats.groups import alone

    survey = grouped.survey
    several = len(survey.lifetimes) > 1 or settings.group is not None
    show_answers(survey, grouped.groups if several else (alone(survey, survey.scores[0], grouped.groups),), depth)
    if over_time:
        show_over_time(survey, settings.ids)
    if grouped.apart:
        echo(f"not grouped: {grouped.apart}", err=True)
