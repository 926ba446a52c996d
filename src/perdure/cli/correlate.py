"""`perdure correlate`: compute rank correlations between metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.options import Experts, Json, Logs, Quiet, emit_json, settings_facts, survey_logs, with_settings
from perdure.cli.terminal import leave

if TYPE_CHECKING:
    from perdure.settings import Settings
    from perdure.stats.correlate import Correlations


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
    from perdure import api
    from perdure.stats.groups import why_not_pooled

    pool = survey_logs(logs, experts, settings.replace(metrics=settings.files), quiet, learning=False)
    result = api.correlate(pool, settings=settings, across=across)
    if json:
        emit_json({**result.as_json(), **settings_facts(pool, settings)}, json)
    if json != "-":
        _show(result, quiet)
    leave(result.left_out, pool.faults, why_not_pooled(pool))


def _show(result: Correlations, quiet: bool) -> None:
    from perdure.cli.console import Console, print_table
    from perdure.tables import Column, Table
    from perdure.text import p_text, plural

    rows = []
    for before, pair in zip((None, *result.pairs), result.pairs, strict=False):
        first = "" if before and before.first == pair.first else pair.first
        rho = "–" if pair.rho is None else f"{pair.rho:.2f}".replace("-", "−")
        rows.append((first, pair.second, rho, p_text(pair.p), p_text(pair.p_holm), pair.n))
    numbers = (Column(name, "number") for name in ("ρ", "p", "p (Holm)", "n"))
    table = Table(plural(result.n, "lifetime"), (Column("metric 1"), Column("metric 2"), *numbers), tuple(rows))
    console = Console()
    print_table(console, table, table.drop("n"), table.drop("n", "p (Holm)"))
    if not quiet:
        for pair in result.pairs:
            if pair.why:
                console.print(f"{pair.first}, {pair.second}: {pair.why}", markup=False, style="dim")
        console.print("ρ: Spearman's rank correlation. p: two-sided. Holm: adjusted over all pairs.", style="dim")
