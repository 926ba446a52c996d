"""`perdure correlate`: which metrics go together over lifetimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.options import Json, Quiet, emit_json, with_settings
from perdure.cli.scoring import Experts, Logs, Variadic, settings_facts, surveyed

if TYPE_CHECKING:
    from rich.table import Table

    from perdure.metrics.engine.declare import Bar
    from perdure.metrics.engine.score import Score
    from perdure.settings import Settings
    from perdure.stats.correlate import Correlation

__all__ = ["COMMAND", "EXAMPLE", "correlate"]

EXAMPLE = "perdure correlate runs/replay runs/naive"
COMMAND = Variadic


@with_settings("logs")
def correlate(
    logs: Logs,
    settings: Settings,
    experts: Experts = None,
    across: Annotated[
        bool, typer.Option("--across", help="Pool different protocols and measures too, as Baker et al. 2023 did.")
    ] = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Rank correlations between metrics over all lifetimes given, with two-sided p (Spearman).

    Lifetimes of several learners and scenario types are pooled; different presets and settings
    are refused, and different protocols and measures unless `--across` is given. With --group, those
    whose ids match it count.
    """
    from dataclasses import replace

    from perdure import __version__
    from perdure.gather.model import SCHEMA
    from perdure.gather.score_files import definitions_of
    from perdure.metrics.engine.score import DEFINITIONS
    from perdure.stats.correlate import correlate as correlations
    from perdure.stats.groups import check_pool_across, left_out_of, split, usable

    pool = surveyed(logs, experts, replace(settings, metrics=settings.files), quiet)
    lives, partial = usable(pool.scores)
    if settings.group:
        lives = tuple(life for part in split(lives, settings.group).values() for life in part)
    check_pool_across(lives, widely=across)
    found = correlations(lives, _chosen(settings.ids, pool.bars, lives))
    left_out = (*pool.left_out, *left_out_of(pool.scores, partial))
    if json:
        facts = {
            "perdure": __version__,
            "schema": SCHEMA,
            "definitions": definitions_of(lives[0].preset) if lives else DEFINITIONS,
            "preset": pool.preset,
            **settings_facts(pool, settings),
            "n": len(lives),
            "correlations": [one.as_json() for one in found],
            "left_out": [{"path": path, "why": why} for path, why in left_out],
        }
        emit_json(facts, json)
    if json != "-":
        _show(found, len(lives), quiet)
        for path, why in left_out:
            typer.echo(f"left out {path}: {why}")
    raise typer.Exit(1 if left_out else 0)


def _chosen(ids: Sequence[str], bars: Mapping[str, Bar], lives: Sequence[Score]) -> Sequence[str]:
    """The metrics to correlate: those asked for, else those that some lifetime answered."""
    from perdure.errors import PerdureError, UnknownName

    for name in ids:
        if name not in bars:
            raise UnknownName("metric of these scores", name, bars)
    chosen = ids or _answered(bars, lives)
    if len(chosen) < 2:
        raise PerdureError(f"{len(chosen)} metrics have values; a correlation needs two (found: {', '.join(chosen)})")
    return chosen


def _answered(bars: Mapping[str, Bar], lives: Sequence[Score]) -> list[str]:
    """The metrics with a threshold that some lifetime has a value of; all that have values where none has one."""
    valued = [name for name in bars if any(life.values.get(name) is not None for life in lives)]
    return [name for name in valued if bars[name].threshold is not None] or valued


def _show(found: Sequence[Correlation], lives: int, quiet: bool) -> None:
    from perdure.cli.console import Console
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
