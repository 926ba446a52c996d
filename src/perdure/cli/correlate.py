"""`perdure correlate`: which metrics go together over lifetimes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.options import Json, Quiet, emit_json, with_settings
from perdure.cli.scoring import Experts, Logs, settings_facts, surveyed
from perdure.cli.terminal import echo

if TYPE_CHECKING:
    from rich.table import Table

    from perdure.settings import Settings
    from perdure.stats.correlate import Correlation


EXAMPLE = "perdure correlate runs/replay runs/naive"


@with_settings("logs")
def correlate(
    logs: Logs,
    settings: Settings,
    experts: Experts = None,
    across: Annotated[
        bool, typer.Option("--across", help="Also pool different protocols and measures, as Baker et al. 2023 did.")
    ] = False,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Compute Spearman rank correlations between metrics over all given lifetimes, with two-sided p.

    Lifetimes of several learners and scenario types are pooled. Different presets and settings are
    refused; different protocols and measures are refused unless `--across` is given. With --group, only
    lifetimes whose id matches are used.
    """
    from perdure.verbs.correlate import correlate as correlated

    pool = surveyed(logs, experts, settings.replace(metrics=settings.files), quiet)
    found = correlated(pool, settings=settings, across=across)
    if json:
        emit_json({**found.as_json(), **settings_facts(pool, settings)}, json)
    if json != "-":
        _show(found.pairs, found.n, quiet)
        for path, why in found.left_out:
            echo(f"left out: {path}: {why}")
    raise SystemExit(1 if found.left_out else 0)


def _show(found: Sequence[Correlation], lives: int, quiet: bool) -> None:
    from perdure.cli.console import Console
    from perdure.cli.tables import widest

    console = Console(highlight=False)
    layouts = (("Spearman ρ", "p", "p (Holm)", "n"), ("ρ", "p", "p (Holm)", "n"), ("ρ", "p", "p (Holm)"), ("ρ", "p"))
    console.print(widest(console, (_table(found, lives, layout) for layout in layouts)))
    if not quiet:
        for one in found:
            if one.why:
                console.print(f"{one.first}, {one.second}: {one.why}", markup=False, style="bright_black")
        console.print(
            "ρ: Spearman's rank correlation. p: two-sided. Holm: adjusted over all pairs.", style="bright_black"
        )


def _table(found: Sequence[Correlation], lives: int, layout: Sequence[str]) -> Table:
    from rich.markup import escape

    from perdure.cli.tables import columns
    from perdure.text import p_text, plural

    table = columns(plural(lives, "lifetime"), ["metric 1", "metric 2"], layout)
    before = ""
    for one in found:
        rho = "–" if one.rho is None else f"{one.rho:.2f}".replace("-", "−")
        cells = {"ρ": rho, "p": p_text(one.p), "p (Holm)": p_text(one.p_holm), "n": str(one.n)}
        shown = "" if one.first == before else one.first
        row = (cells[heading.removeprefix("Spearman ")] for heading in layout)
        table.add_row(escape(shown), escape(one.second), *row)
        before = one.first
    return table
