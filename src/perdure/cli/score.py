"""`perdure score`: a value, or the reason for its absence, for each metric."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from perdure.cli.options import Columns, Json, Quiet, column_mapping, emit_json
from perdure.cli.scoring import Experts, Logs, Measure, Metrics, Preset, Variadic, listed, margins_of, preparation

__all__ = ["COMMAND", "EXAMPLE", "score"]

EXAMPLE = "perdure score logs/my-life --experts logs/experts --json -"
COMMAND = Variadic

_PREPARATION = "Preparation"
_MATRIX = "Accuracy matrices"


def score(
    logs: Logs,
    experts: Experts = None,
    preset: Preset = "standard",
    measure: Measure = None,
    metrics: Metrics = None,
    json: Json = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="PATTERN",
            help="Group lifetimes by what this regular expression's first bracket matches in their ids.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write metrics, blocks, settings and prepared data there."),
    ] = None,
    window: Annotated[
        Literal["flat", "hanning", "hamming", "bartlett", "blackman", "none"] | None,
        typer.Option("--window", help="The smoothing window.", rich_help_panel=_PREPARATION),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            "--width", min=1, help="Its length in experiences (a fifth of the block).", rich_help_panel=_PREPARATION
        ),
    ] = None,
    smooth_evaluation: Annotated[
        bool | None,
        typer.Option(
            "--smooth-evaluation/--no-smooth-evaluation", help="Smooth evaluations too.", rich_help_panel=_PREPARATION
        ),
    ] = None,
    clamp: Annotated[
        bool | None,
        typer.Option(
            "--clamp/--no-clamp",
            help="Cut at the 10th and 90th percentile, or the bounds.",
            rich_help_panel=_PREPARATION,
        ),
    ] = None,
    scale: Annotated[
        Literal["task", "run", "none"] | None,
        typer.Option("--scale", help="One range per task, one for all, or as measured.", rich_help_panel=_PREPARATION),
    ] = None,
    bounds: Annotated[
        Path | None,
        typer.Option(
            "--bounds", metavar="FILE", help='JSON {"task": {"min": …, "max": …}}.', rich_help_panel=_PREPARATION
        ),
    ] = None,
    variants: Annotated[
        Literal["name", "params", "agnostic", "aware"] | None,
        typer.Option(
            "--variants",
            help="What is a task: the label, the label with its parameters, or the task without its variant.",
            rich_help_panel=_PREPARATION,
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise", metavar="SD", min=0, help="Add noise to the learner's values.", rich_help_panel=_PREPARATION
        ),
    ] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="The measure is an error, a cost, …", rich_help_panel=_PREPARATION)
    ] = False,
    aggregate: Annotated[
        Literal["mean", "median"], typer.Option("--aggregate", help="Over tasks, or over pairs.")
    ] = "mean",
    expert_average: Annotated[
        Literal["metrics", "time"],
        typer.Option("--expert-average", help="Average the values beside each expert, or the experts' curves first."),
    ] = "metrics",
    learned: Annotated[
        Path | None,
        typer.Option("--learned", metavar="FILE", help='JSON {"task": performance} at which it counts as learned.'),
    ] = None,
    margin: Annotated[
        list[str] | None, typer.Option("--margin", metavar="ID=X", help="Subtract X from a threshold. Repeatable.")
    ] = None,
    rows: Annotated[
        Literal["evaluated", "learned"] | None,
        typer.Option("--rows", help="What rows are, where a matrix does not tell.", rich_help_panel=_MATRIX),
    ] = None,
    transposed: Annotated[
        bool, typer.Option("--transposed", help="The same as --rows learned.", rich_help_panel=_MATRIX)
    ] = False,
    unit: Annotated[
        Literal["percent", "fraction", "raw"] | None,
        typer.Option("--unit", help="Of accuracies; percent where one exceeds 1.", rich_help_panel=_MATRIX),
    ] = None,
    as_given: Annotated[
        bool, typer.Option("--as-given", help="Zeros in a matrix were measured.", rich_help_panel=_MATRIX)
    ] = False,
    random_init: Annotated[
        str | None,
        typer.Option(
            "--random-init", metavar="X|X,…|FILE", help="Accuracy of an untrained learner.", rich_help_panel=_MATRIX
        ),
    ] = None,
    joint: Annotated[
        str | None,
        typer.Option(
            "--joint", metavar="X|X,…|FILE", help="Accuracy of a jointly trained learner.", rich_help_panel=_MATRIX
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Processes for many lifetimes.")] = None,
    column: Columns = None,
    quiet: Quiet = False,
) -> None:
    """Measure lifetimes: each metric's value, or the reason why it has none.

    Exit status 0: everything was scored; 1: something was left out; 2: nothing could be scored.
    """
    from perdure.cli.group_table import grouped, show_groups, thresholds
    from perdure.cli.score_table import progress_bar, show
    from perdure.gather.outputs import write_outputs
    from perdure.gather.survey import survey
    from perdure.metrics.score import prepared_table
    from perdure.metrics.settings import Settings

    if learned:
        from perdure.curves.bounds import read_numbers
    if random_init or joint:
        from perdure.log.matrix import read_baseline

    settings = Settings(
        preset=preset,
        measure=measure,
        prep=preparation(
            preset,
            bounds,
            window=window,
            width=width,
            smooth_evaluation=smooth_evaluation,
            clamp=clamp,
            scale=scale,
            variants=variants,
            noise=noise,
        ),
        metrics=listed(metrics),
        aggregate=aggregate,
        expert_average=expert_average,
        lower_is_better=lower_is_better,
        margins=margins_of(margin),
        learned=read_numbers(learned) if learned else {},
        random_init=read_baseline(random_init, "--random-init") if random_init else None,
        joint=read_baseline(joint, "--joint") if joint else None,
        unit=unit,
        rows=rows or ("learned" if transposed else None),
        as_given=as_given,
    )
    with progress_bar(quiet) as progress:
        scores = survey(
            logs,
            experts or (),
            settings,
            jobs=jobs,
            look=prepared_table if out else None,
            columns=column_mapping(column),
            progress=progress,
        )
    several = len(scores.lives) > 1
    found, refused = grouped(scores, group) if several or group or json else ((), None)
    if json:
        facts = scores.as_json()
        facts = {
            **facts,
            "settings": {**facts["settings"], "group": group},
            "thresholds": thresholds(scores),
            "groups": [one.as_json() for one in found],
            "not_grouped": refused,
        }
        emit_json(facts, json)
    if out:
        write_outputs(scores, out)
    if json != "-":
        if several or group:
            show_groups(found, quiet=quiet)
        show(scores, quiet=quiet)
        if refused:
            typer.echo(f"not grouped: {refused}", err=True)
    raise typer.Exit(1 if scores.left_out or refused or any(one.left_out for one in found) else 0)
