"""`perdure correlate`: which metrics go together over lifetimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.options import Json, Quiet, emit_json
from perdure.cli.scoring import Experts, Measure, Metrics, Preset, Variadic, listed

if TYPE_CHECKING:
    from rich.table import Table

    from perdure.metrics.declare import Bar
    from perdure.metrics.score import Score
    from perdure.stats.correlate import Correlation

__all__ = ["COMMAND", "EXAMPLE", "correlate"]

EXAMPLE = "perdure correlate runs/replay runs/naive"
COMMAND = Variadic


def correlate(
    logs: Annotated[
        list[Path],
        typer.Argument(metavar="LOG...", help="Folders of lifetimes, score JSONs or tables.", show_default=False),
    ],
    experts: Experts = None,
    preset: Preset = "standard",
    measure: Measure = None,
    metrics: Metrics = None,
    across: Annotated[
        bool, typer.Option("--across", help="Pool different protocols and measures too, as Baker et al. 2023 did.")
    ] = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Rank correlations between metrics over all lifetimes given, with two-sided p (Spearman).

    Lifetimes of several learners and scenario types are pooled; different presets and settings
    are refused, and different protocols and measures unless `--across` is given.
    """
    from perdure import __version__
    from perdure.cli.score_table import progress_bar
    from perdure.errors import PerdureError, UnknownName
    from perdure.gather.survey import survey
    from perdure.metrics.settings import Settings
    from perdure.stats.correlate import correlate as correlations
    from perdure.stats.groups import check_pool_across, usable

    named = listed(metrics)
    files = tuple(one for one in named if one.endswith(".py"))
    settings = Settings(preset=preset, measure=measure, metrics=files)
    with progress_bar(quiet) as progress:
        pool = survey(logs, experts or (), settings, progress=progress)
    lives, partial = usable(pool.scores)
    check_pool_across(lives, widely=across)
    chosen = [one for one in named if one not in files] or _answered(pool.bars, lives)
    for name in chosen:
        if name not in pool.bars:
            raise UnknownName("metric of these scores", name, pool.bars)
    if len(chosen) < 2:
        raise PerdureError(f"{len(chosen)} metrics have values; a correlation needs two (found: {', '.join(chosen)})")
    found = correlations(lives, chosen)
    if json:
        facts = {
            "perdure": __version__,
            "n": len(lives),
            "correlations": [one.as_json() for one in found],
            "left_out": [{"id": name, "why": why} for name, why in (*pool.left_out, *partial)],
        }
        emit_json(facts, json)
    if json != "-":
        _show(found, len(lives), quiet)
        for name, why in (*pool.left_out, *partial):
            typer.echo(f"left out {name}: {why}")
    raise typer.Exit(1 if pool.left_out or partial else 0)


def _answered(bars: Mapping[str, Bar], lives: Sequence[Score]) -> list[str]:
    """The metrics with a threshold that some lifetime has a value of; all that have values where none has one."""
    valued = [name for name in bars if any(life.values.get(name) is not None for life in lives)]
    return [name for name in valued if bars[name].threshold is not None] or valued


def _show(found: Sequence[Correlation], lives: int, quiet: bool) -> None:
    from rich.console import Console

    from perdure.cli.score_table import widest

    console = Console(highlight=False)
    layouts = (("Spearman ρ", "p", "p (Holm)", "n"), ("ρ", "p", "p (Holm)", "n"), ("ρ", "p", "p (Holm)"), ("ρ", "p"))
    console.print(widest(console, (_table(found, lives, layout) for layout in layouts)))
    if not quiet:
        for one in found:
            if one.why:
                console.print(f"{one.first}, {one.second}: {one.why}", markup=False, style="bright_black")
        console.print("ρ: Spearman's. p: two-sided; Holm: adjusted over all pairs.", style="bright_black")


def _table(found: Sequence[Correlation], lives: int, layout: Sequence[str]) -> Table:
    from rich.markup import escape

    from perdure.cli.score_table import columns
    from perdure.stats.words import counted, p_text

    table = columns(counted(lives, "lifetime"), ["metric 1", "metric 2"], layout)
    before = ""
    for one in found:
        rho = "–" if one.rho is None else f"{one.rho:.2f}".replace("-", "−")
        cells = {"ρ": rho, "p": p_text(one.p), "p (Holm)": p_text(one.p_holm), "n": str(one.n)}
        shown = "" if one.first == before else one.first
        row = (cells[heading.removeprefix("Spearman ")] for heading in layout)
        table.add_row(escape(shown), escape(one.second), *row)
        before = one.first
    return table
