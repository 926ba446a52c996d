"""`perdure compare`: two systems, or several against a baseline, metric by metric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perdure.cli.options import Json, Quiet, emit_json
from perdure.cli.scoring import Experts, Measure, Metrics, Preset, Variadic, listed

if TYPE_CHECKING:
    from rich.console import Console

    from perdure.stats.compare import Comparison, Difference
    from perdure.stats.systems import Comparisons

__all__ = ["COMMAND", "EXAMPLE", "compare"]

EXAMPLE = "perdure compare runs/replay runs/naive"
COMMAND = Variadic

_WIDEST = 5  # metrics beside each other; with more, the systems are


def compare(
    systems: Annotated[
        list[Path],
        typer.Argument(
            metavar="A B...",
            help="Folders of lifetimes, score JSONs or tables; one folder that holds several learners also does.",
            show_default=False,
        ),
    ],
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="NAME", help="What the others are held against; the last one if not given."),
    ] = None,
    paired: Annotated[
        Literal["auto", "yes", "no"],
        typer.Option("--paired", help="Whether lifetimes of the same seed and task order are pairs."),
    ] = "auto",
    experts: Experts = None,
    preset: Preset = "standard",
    measure: Measure = None,
    metrics: Metrics = None,
    level: Annotated[float, typer.Option("--level", min=0.5, max=0.999, help="Of the intervals.")] = 0.95,
    order: Annotated[bool, typer.Option("--order", help="Also test almost stochastic order.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of permutations and resampling.")] = 0,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Say which system does better, by how much, and how sure that is.

    Differences are A minus B. Lifetimes are paired where seeds and task orders match, and it is said on what grounds.
    Exit status 0: everything was compared; 1: something was left out; 2: nothing could be compared.
    """
    from perdure.cli.score_table import progress_bar
    from perdure.metrics.settings import Settings
    from perdure.stats.load import load_pool
    from perdure.stats.systems import compare_systems, systems_of

    named = listed(metrics)
    files = tuple(one for one in named if one.endswith(".py"))
    settings = Settings(preset=preset, measure=measure, metrics=files)
    with progress_bar(quiet) as progress:
        pools = [load_pool(path, experts or (), settings, progress=progress) for path in systems]
    compared = systems_of(pools)
    result = compare_systems(
        compared,
        baseline,
        metrics=[one for one in named if one not in files],
        paired=paired,
        level=level,
        order=order,
        seed=seed,
    )
    if json:
        emit_json(result.as_json(), json)
    if json != "-":
        _show(result, quiet)
    raise typer.Exit(1 if result.left_out or any(one.left_out for one in result.comparisons) else 0)


def _show(result: Comparisons, quiet: bool) -> None:
    from rich.console import Console

    from perdure.stats.words import sentence

    console = Console(highlight=False)
    if len(result.systems) > 2:
        _show_ablation(console, result)
    for one in result.comparisons:
        kind = " · ".join(text for text in (one.scenario_type, one.measure) if text)
        _show_comparison(console, one, f"{one.system} − {one.baseline}" + (f" · {kind}" if kind else ""))
        for difference in one.differences.values():
            console.print(sentence(difference, one.system, one.baseline), markup=False, soft_wrap=True)
        notes = [one.pairing.told, *one.notes]
        notes += [f"only {name} has {', '.join(metrics)}" for name, metrics in one.only_in.items()]
        if not quiet:
            for note in notes:
                console.print(note, markup=False, style="bright_black", soft_wrap=True)
        for name, why in one.left_out:
            console.print(f"left out {name}: {why}", markup=False, style="yellow", soft_wrap=True)
    for name, why in result.left_out:
        console.print(f"left out {name}: {why}", markup=False, style="yellow", soft_wrap=True)
    for note in result.notes:
        console.print(note, markup=False, style="bright_black", soft_wrap=True)
    if not quiet:
        console.print(
            "p: two-sided, after Holm over the metrics. δ (Cliff) and g (Hedges) are positive where the first system "
            "does better; better: how likely one of its lifetimes beats one of the other's.",
            markup=False,
            style="bright_black",
        )


def _show_comparison(console: Console, one: Comparison, title: str) -> None:
    from rich.markup import escape
    from rich.table import Table

    from perdure.stats.words import number, p_text

    ordered = any(difference.order is not None for difference in one.differences.values())
    permuted = one.pairing.paired
    table = Table(title=escape(title), title_justify="left", box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    headings = ["n", one.system, one.baseline, "difference", "interval", "p"]
    headings += [*(["permutation"] if permuted else []), "better", "δ", "g", *(["order ε"] if ordered else [])]
    for heading in headings:
        table.add_column(escape(heading), justify="right", no_wrap=heading not in (one.system, one.baseline))
    for name, difference in one.differences.items():
        counts = str(difference.n) if permuted else f"{difference.n}, {difference.baseline_n}"
        row = [
            counts,
            number(difference.mean),
            number(difference.baseline_mean),
            number(difference.difference),
            "–" if difference.low is None else f"{number(difference.low)} … {number(difference.high)}",
            p_text(difference.p_holm),
        ]
        row += [p_text(difference.permutation_p)] if permuted else []
        improvement = "–" if difference.improvement is None else f"{difference.improvement:.0%}"
        row += [improvement, number(difference.cliffs_delta), number(difference.hedges_g)]
        row += [number(difference.order)] if ordered else []
        table.add_row(escape(name), *row)
    console.print(table)


def _show_ablation(console: Console, result: Comparisons) -> None:
    """Mean ± sd of every system, the baseline first, with a star where it differs from it."""
    from rich.markup import escape
    from rich.table import Table

    for scenario_type, measure in dict.fromkeys((one.scenario_type, one.measure) for one in result.comparisons):
        here = [one for one in result.comparisons if (one.scenario_type, one.measure) == (scenario_type, measure)]
        metrics = list(dict.fromkeys(name for one in here for name in one.differences))
        first = {name: one.differences[name] for one in reversed(here) for name in one.differences}
        rows = [
            ["", *metrics],
            [f"{result.baseline} (baseline)", *(_cell(first[name], baseline=True) for name in metrics)],
            *([one.system, *(_cell(one.differences.get(name)) for name in metrics)] for one in here),
        ]
        if len(metrics) > _WIDEST:  # systems side by side instead
            rows = [list(column) for column in zip(*rows, strict=True)]
        title = " · ".join(text for text in ("mean ± sd", scenario_type, measure) if text)
        table = Table(title=escape(title), title_justify="left", box=None, pad_edge=False)
        for at, heading in enumerate(rows[0]):
            table.add_column(escape(heading), justify="right" if at else "left")
        for row in rows[1:]:
            table.add_row(*(escape(text) for text in row))
        console.print(table)
    console.print("* differs from the baseline, p < .05 after Holm", markup=False, style="bright_black")


def _cell(one: Difference | None, *, baseline: bool = False) -> str:
    from perdure.stats.compare import decided
    from perdure.stats.words import number

    if one is None:
        return "–"
    if baseline:
        return f"{number(one.baseline_mean)} ± {number(one.baseline_sd)}"
    return f"{number(one.mean)} ± {number(one.sd)}{'*' if decided(one) else ''}"
