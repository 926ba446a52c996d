"""`perdure figure`: draw one figure of lifetimes, as SVG, PNG or PDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from perdure.cli.options import (
    LOG_HELP,
    Experts,
    Json,
    Quiet,
    emit_json,
    left_out_facts,
    settings_facts,
    survey_logs,
    with_settings,
)
from perdure.cli.terminal import echo, leave

if TYPE_CHECKING:
    from perdure.reports.figures import Figure
    from perdure.settings import Settings
    from perdure.stats.groups import GroupedSurvey


EXAMPLE = "perdure figure lifetime logs/my-life --to life.svg"


@with_settings("logs", advanced=("style", "size"))
def figure(
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help="Kind of figure, such as lifetime; `list` shows all.", show_default=False),
    ],
    settings: Settings,
    logs: Annotated[list[Path] | None, typer.Argument(metavar="LOG...", help=LOG_HELP, show_default=False)] = None,
    experts: Experts = None,
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Output file: .svg, .png or .pdf (default: KIND.svg).")
    ] = None,
    of: Annotated[
        str | None,
        typer.Option("--of", metavar="NAME", help="The lifetime or group to draw (default: the first)."),
    ] = None,
    axis: Annotated[
        Literal["experiences", "steps"], typer.Option("--axis", help="What the x axis counts.")
    ] = "experiences",
    values: Annotated[
        Literal["auto", "measured", "scaled"],
        typer.Option(
            "--values",
            help="Show values as measured, or scaled per task to 1–101; auto scales if tasks have different units.",
        ),
    ] = "auto",
    size: Annotated[
        str,
        typer.Option("--size", metavar="column|page|INCHES", help="Width: column (3.3 inches), page (6.9), or inches."),
    ] = "page",
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help='Title instead of the default; "" for none.')
    ] = None,
    style: Annotated[
        Path | None,
        typer.Option("--style", metavar="FILE", help="CSS file to add to the built-in style, e.g. for another font."),
    ] = None,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Draw one figure of lifetimes. A task has the same, colour-blind safe colour in every figure.

    Exit status 0: drawn; 1: drawn, but something was left out; 2: nothing could be drawn, and no file is written.
    """
    from functools import partial

    from perdure.errors import PerdureError
    from perdure.reports.figures import FigureView, canvas_of, figure_kind, read_style, save_figure, view_of
    from perdure.reports.thinned import thin_lifetime
    from perdure.stats.groups import group_survey

    if kind == "list":
        _list(json)
        return
    chosen, canvas, css = figure_kind(kind), canvas_of(size, title), read_style(style)
    if not logs:
        raise PerdureError(f"perdure figure {kind} needs a log", f"give folders of lifetimes, as in: {EXAMPLE}")
    look = partial(thin_lifetime, columns=1500)
    survey = group_survey(survey_logs(logs, experts, settings, quiet, look=look, learning=False))
    view = view_of(survey, of, FigureView(axis=axis, values=values, metrics=settings.ids))
    picture = chosen.draw(survey, view, canvas)
    target = to or Path(f"{kind}.svg")
    save_figure(picture, target, style=css)
    if json:
        emit_json(_facts(kind, target, survey, picture, settings), json)
    if not quiet and json != "-":
        echo(str(target))
    leave(survey.left_out, survey.survey.faults, survey.apart)


def _facts(kind: str, target: Path, survey: GroupedSurvey, picture: Figure, settings: Settings) -> dict[str, Any]:
    left_out = left_out_facts(survey.survey.left_out)
    facts = {
        "figure": kind,
        "to": str(target),
        "lifetimes": [lifetime.id for lifetime in survey.lifetimes],
        "left_out": left_out,
    }
    return {**facts, "data": picture.as_json(), **settings_facts(survey.survey, settings)}


def _list(json: str | None) -> None:
    from perdure.reports.figures import FIGURES

    if json:
        emit_json({"figures": [{"name": figure.name, "summary": figure.summary} for figure in FIGURES.values()]}, json)
    for declared in FIGURES.values() if json != "-" else ():
        echo(f"{declared.name:24}{declared.summary}")
