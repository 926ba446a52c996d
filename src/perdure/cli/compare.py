"""`perdure compare`: two systems, or several against a baseline, metric by metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perdure.cli.options import Json, Quiet, emit_json, with_settings
from perdure.cli.scoring import Experts, Logs, settings_facts, surveyed

if TYPE_CHECKING:
    from rich.table import Table

    from perdure.cli.console import Console
    from perdure.settings import Settings
    from perdure.stats.compare import Comparison, Summary
    from perdure.stats.systems import Comparisons, Letters


EXAMPLE = "perdure compare runs/replay runs/naive"

_WIDEST = 5  # metrics beside each other; with more, the systems are


@with_settings("logs")
def compare(
    logs: Logs,
    settings: Settings,
    experts: Experts = None,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", metavar="NAME", help="The system to compare the others with (default: the last)."),
    ] = None,
    scenario_types: Annotated[
        bool,
        typer.Option(
            "--scenario-types",
            help="Compare each learner's scenario types with each other, such as condensed with dispersed.",
        ),
    ] = False,
    paired: Annotated[
        Literal["auto", "yes", "no"],
        typer.Option("--paired", help="Pair lifetimes that have the same seed and task order."),
    ] = "auto",
    order: Annotated[bool, typer.Option("--order", help="Also test almost stochastic order.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of permutations and resampling.")] = 0,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Compare systems: which does better, by how much, and whether the difference is significant.

    Each LOG is a system; a LOG with several learners counts as one system per learner. Differences are A minus B.
    With --scenario-types, the systems are the scenario types that each learner went through.
    Lifetimes are paired where seeds and task orders match; the output says which pairing was used.
    Exit status 0: everything was compared; 1: something was left out; 2: nothing could be compared.
    """
    from perdure.verbs.compare import compare as compared

    # Metrics asked for by name restrict what is shown, not what is tested beside it.
    found = surveyed(logs, experts, settings.replace(metrics=settings.files), quiet)
    result = compared(
        found,
        settings=settings,
        baseline=baseline,
        scenario_types=scenario_types,
        paired=paired,
        order=order,
        seed=seed,
    )
    if json:
        emit_json({**result.as_json(), **settings_facts(found, settings)}, json)
    if json != "-":
        _show(result, quiet)
    raise SystemExit(1 if found.faults or result.left_out or any(one.left_out for one in result.comparisons) else 0)


def _show(result: Comparisons, quiet: bool) -> None:
    from perdure.cli.console import Console
    from perdure.cli.tally_table import show_tally
    from perdure.stats.sentences import sentence

    console = Console(highlight=False)
    if result.tally:
        show_tally(console, result.tally)
    if len(result.systems) > 2:
        _show_ablation(console, result)
    for one in result.comparisons:
        kind = " · ".join(text for text in _where(one) if text)
        _show_comparison(console, one, f"{one.system} against {one.baseline}" + (f" · {kind}" if kind else ""))
        for difference in one.differences.values():
            console.print(sentence(difference, one.system, one.baseline), markup=False)
        notes = [one.pairing.told, *one.notes]
        notes += [f"only {name} has {', '.join(metrics)}" for name, metrics in one.only_in.items()]
        if not quiet:
            for note in notes:
                console.print(note, markup=False, style="bright_black")
        for name, why in one.left_out:
            console.print(f"left out: {name}: {why}", markup=False, style="yellow", soft_wrap=True)
    for path, why in result.left_out:
        console.print(f"left out: {path}: {why}", markup=False, style="yellow", soft_wrap=True)
    for note in result.notes:
        console.print(note, markup=False, style="bright_black")
    if not quiet:
        console.print(
            "p: two-sided paired t test or Welch's t test, with its interval. Holm: adjusted over all headline metrics "
            "that both systems have, shown or not. Ratios (×) are A / B. For information only: the rank test, "
            "Hedges' g (positive if the first system does better), and the probability that one of its lifetimes "
            "beats one of the other's.",
            markup=False,
            style="bright_black",
        )


def _show_comparison(console: Console, one: Comparison, title: str) -> None:
    from perdure.cli.tables import widest

    order = ["order ε"] if any(difference.order is not None for difference in one.differences.values()) else []
    layouts = (
        ["n", one.system, one.baseline, "difference", "interval", "p", "Holm", "rank p", "better", "g", *order],
        ["difference", "interval", "p", "Holm", "g", *order],
        ["difference", "interval", "p", "Holm", *order],
        ["difference", "interval", "Holm"],
    )
    console.print(widest(console, (_comparison_table(one, title, layout) for layout in layouts)))


def _comparison_table(one: Comparison, title: str, layout: Sequence[str]) -> Table:
    from rich.markup import escape

    from perdure.cli.tables import columns
    from perdure.text import interval, number, p_text

    table = columns(title, [""], layout)
    for name, found in one.differences.items():
        cells = {
            "n": str(found.n) if one.pairing.paired else f"{found.n}, {found.baseline_n}",
            "difference": ("×" if found.scale == "ratio" else "") + number(found.difference, found.width),
            "interval": interval(found.low, found.high),
            "p": p_text(found.p),
            "Holm": p_text(found.p_holm),
            "rank p": p_text(found.rank_p),
            "better": "–" if found.improvement is None else f"{found.improvement:.0%}",
            "g": number(found.hedges_g),
            "order ε": number(found.order),
        }
        # By place, since a system may be called as a column is.
        row = [cells.get(heading, "") for heading in layout]
        if layout[0] == "n":
            row[1:3] = number(found.mean, found.width), number(found.baseline_mean, found.width)
        table.add_row(escape(name), *row)
    return table


def _where(one: Comparison | Letters) -> tuple[str | None, ...]:
    """What its systems are compared within."""
    return one.learner, one.scenario_type, one.measure


def _show_ablation(console: Console, result: Comparisons) -> None:
    """Mean ± sd of every system, the baseline first, with letters that say who differs from whom."""
    from perdure.cli.tables import widest

    for where in dict.fromkeys(_where(one) for one in result.comparisons):
        here = [one for one in result.comparisons if _where(one) == where]
        metrics = list(dict.fromkeys(name for one in here for name in one.differences))
        baseline = {name: one.alone[name][1] for one in here for name in one.differences}
        letters = next((one for one in result.letters if _where(one) == where), None)
        rows = [
            ["", *metrics],
            [
                f"{result.baseline} (baseline)",
                *(_cell(baseline[name], name, result.baseline, here, letters) for name in metrics),
            ],
        ]
        for one in here:
            known = {name: _cell(one.alone[name][0], name, one.system, here, letters) for name in one.differences}
            rows.append([one.system, *(known.get(name, "–") for name in metrics)])
        title = " · ".join(text for text in ("mean ± sd", *where) if text)
        # Metrics beside each other where they fit, else the systems, else one line for each of both.
        turned = [list(column) for column in zip(*rows, strict=True)]
        listed = [["", "", ""]]
        for at, name in enumerate(metrics, start=1):
            listed += [[name if row is rows[1] else "", row[0], row[at]] for row in rows[1:]]
        layouts = [rows] if len(metrics) <= _WIDEST else []
        console.print(widest(console, (_ablation_table(title, each) for each in (*layouts, turned, listed))))
        if letters:
            console.print(letters.told, markup=False, style="bright_black")


def _ablation_table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    from rich.markup import escape

    from perdure.cli.tables import columns

    table = columns(title, rows[0][:1], rows[0][1:])
    for row in rows[1:]:
        table.add_row(*(escape(text) for text in row))
    return table


def _cell(found: Summary, metric: str, system: str, here: Sequence[Comparison], letters: Letters | None) -> str:
    """A system's mean and spread, which of ratios is a factor, and its letters."""
    from math import exp

    from perdure.text import number

    given = letters.by_metric.get(metric, {}).get(system, "") if letters else ""
    ratio = any(one.differences[metric].scale == "ratio" for one in here if metric in one.differences)
    # An sd gets the two digits that half an interval's width would.
    if ratio and found.sd and found.mean:
        times = exp(found.sd)
        said = f"{number(found.mean, 2 * found.mean * found.sd)} ×÷ {number(times, 2 * found.sd)}"
    else:
        width = found.sd and 2 * found.sd
        said = f"{number(found.mean, width)} ± {number(found.sd, width)}"
    return f"{said} {given}".rstrip()
