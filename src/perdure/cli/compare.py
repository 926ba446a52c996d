"""`perdure compare`: compare systems with a baseline, metric by metric."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perdure.cli.options import (
    Experts,
    FailIf,
    IfUndecided,
    Json,
    Logs,
    Quiet,
    Unless,
    emit_json,
    end_with_gate,
    settings_facts,
    survey_logs,
    with_settings,
)
from perdure.cli.terminal import Pairs, left_out_text

if TYPE_CHECKING:
    from perdure.cli.console import Console
    from perdure.settings import Settings
    from perdure.stats.compare import Comparison, Difference, Summary
    from perdure.stats.systems import Comparisons, Letters
    from perdure.stats.tally import Tally


EXAMPLE = "perdure compare runs/replay runs/naive"

_WIDEST = 5  # metrics as columns
_COLOURS = {"better": "green", "worse": "red", "no worse": "cyan", "no better": "cyan", "as good": "cyan"}
_LEGEND = (
    "Differences are A − B, ratios (×) A / B. Interval and p belong to one two-sided test, for one metric alone: "
    "paired t or Welch's t. Holm: p adjusted over all metrics tested together, shown or not; it decides. no worse, no "
    "better, as good as: the margin is ruled out by an interval that holds for all these metrics together. For "
    "information only: the rank test, Hedges' g (positive if the first system does better), and the probability that "
    "one of its lifetimes beats one of the other's."
)


@with_settings("logs", advanced=("seed", "order", "paired", "unless", "if_undecided"))
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
    every: Annotated[
        bool, typer.Option("--all", help="Show every number, a sentence per metric, and gains over own experts.")
    ] = False,
    order: Annotated[bool, typer.Option("--order", help="Also test almost stochastic order.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of permutations and resampling.")] = 0,
    fail_if: FailIf = None,
    unless: Unless = None,
    if_undecided: IfUndecided = "fail",
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Compare systems: which one ends up better, by how much, and whether the difference is significant.

    Each LOG is a system; a LOG with several learners counts as one system per learner.
    All systems are measured on the same scale. --fail-if worse judges the first against the baseline.
    Exit status 0: everything was compared; 1: something was left out, or a gate failed; 2: nothing could be compared.
    """
    from perdure import api
    from perdure.stats.gate import Gate, gate_comparisons

    # Metrics given by name restrict what is shown, not what is tested.
    pool = survey_logs(logs, experts, settings.replace(metrics=settings.files), quiet)
    result = api.compare(
        pool,
        settings=settings,
        baseline=baseline,
        scenario_types=scenario_types,
        paired=paired,
        order=order,
        seed=seed,
    )
    if json:
        emit_json({**result.as_json(), **settings_facts(pool, settings)}, json)
    if json != "-":
        _show(result, quiet=quiet, every=every or order or bool(settings.ids))
    status = 1 if pool.faults or result.left_out else 0
    end_with_gate(gate_comparisons(result.comparisons, Gate(fail_if, unless, if_undecided)), status, quiet)


def _show(result: Comparisons, *, quiet: bool, every: bool) -> None:
    from perdure.cli.console import Console
    from perdure.text import plural

    console = Console()
    if result.tally:
        show_tally(console, result.tally)
    if len(result.systems) > 2:
        _show_ablation(console, result, every=every)
    several = len(result.systems) > 2
    hidden = 0
    for comparison in result.comparisons:
        console.print(comparison.answer, markup=False, style="bold")
        if every or not several:
            _show_comparison(console, comparison, every=every)
        for difference in comparison.differences.values() if every else ():
            console.print(difference.sentence, markup=False)
        notes = [comparison.pairing.told, *comparison.notes]
        notes += [f"only {name} has {', '.join(metrics)}" for name, metrics in comparison.only_in.items()]
        shown = [] if quiet else notes if every else notes[: 0 if several else 1]
        hidden += len(notes) - len(shown)
        for note in shown:
            console.print(note, markup=False, style="bright_black")
    _show_left_out(console, result.left_out)
    for note in result.notes:
        console.print(note, markup=False, style="bright_black")
    if not quiet:
        more = f"{plural(hidden, 'more note')}, every number and its legend: --all" if hidden else "every number: --all"
        console.print(_LEGEND if every else more, markup=False, style="bright_black")


def show_tally(console: Console, tally: Tally) -> None:
    """Print systems × metrics with t and p, names × thresholds, and the number of thresholds that are met."""
    from perdure.cli.console import print_table
    from perdure.reports.tables import tally_tables

    for table in tally_tables(tally):
        print_table(console, table, table, wrap=True)
    console.print(tally.told, markup=False, style="bright_black")


def _show_left_out(console: Console, left_out: Pairs) -> None:
    for path, why in left_out:
        console.print(left_out_text(path, why), markup=False, style="yellow", soft_wrap=True)


def _show_comparison(console: Console, comparison: Comparison, *, every: bool) -> None:
    from perdure.cli.console import print_table
    from perdure.tables import Coloured, Column, Table
    from perdure.text import interval, number, p_text, percent

    rows = []
    for name, found in _shown(comparison, every).items():
        p = found.p if found.p_holm is None else found.p_holm
        word = found.word or ("exploratory" if name not in comparison.tested else "untested")
        width = found.width and found.width * (found.baseline_mean or 1.0 if found.scale == "ratio" else 1.0)
        row = (
            name.replace("_", " "),
            str(found.n) if comparison.pairing.paired else f"{found.n}, {found.baseline_n}",
            number(found.mean, width),
            number(found.baseline_mean, width),
            ("×" if found.scale == "ratio" else "") + number(found.difference, found.width),
            interval(found.low, found.high),
            p_text(found.p),
            p_text(p),
            Coloured(word, _COLOURS.get(found.verdict or "", "bright_black")),
            p_text(found.rank_p),
            "–" if found.improvement is None else percent(found.improvement),
            number(found.hedges_g),
            number(found.order),
        )
        rows.append(row)
    systems = (comparison.system, comparison.baseline)
    heads = ("n", *systems, "difference", "interval", "p", "Holm", "", "rank p", "better", "g", "order ε")
    title = " · ".join(text for text in (f"{systems[0]} against {systems[1]}", *_stratum(comparison)) if text)
    columns = (Column(""), *(Column(head, "number" if head else "text") for head in heads))
    table = Table(title, columns, tuple(rows))
    order = [len(heads)] if any(found.order is not None for found in comparison.differences.values()) else []
    brief = ([0, 2, 3, 4, 5, 7, 8], [0, 4, 5, 7, 8], [0, 4, 7, 8])
    full = ([*range(len(heads)), *order], [0, 2, 3, 4, 5, 6, 7, 8, *order], [0, 4, 5, 7, 8, *order], [0, 4, 7, 8])
    print_table(console, *map(table.select, full if every else brief))


def _shown(comparison: Comparison, every: bool) -> Mapping[str, Difference]:
    """Return the metrics to show: those that are tested, or all."""
    return comparison.differences if every or not comparison.tested else comparison.tested


def _stratum(compared: Comparison | Letters) -> tuple[str | None, ...]:
    return compared.learner, compared.scenario_type, compared.measure


def _show_ablation(console: Console, result: Comparisons, *, every: bool) -> None:
    """Print mean ± sd of every system, the baseline first, with letters that show which systems differ."""
    from perdure.cli.console import print_table
    from perdure.tables import Column, Table

    for stratum in dict.fromkeys(map(_stratum, result.comparisons)):
        comparisons = [comparison for comparison in result.comparisons if _stratum(comparison) == stratum]
        metrics = list(dict.fromkeys(name for comparison in comparisons for name in _shown(comparison, every)))
        letters = next((letters for letters in result.letters if _stratum(letters) == stratum), None)
        ratios = {
            name
            for comparison in comparisons
            for name, difference in comparison.differences.items()
            if difference.scale == "ratio"
        }
        summaries: dict[str, tuple[str, dict[str, Summary]]] = {f"{result.baseline} (baseline)": (result.baseline, {})}
        for comparison in comparisons:
            for name in comparison.differences:
                own, baseline = comparison.alone[name]
                summaries[f"{result.baseline} (baseline)"][1][name] = baseline
                summaries.setdefault(comparison.system, (comparison.system, {}))[1][name] = own
        rows = [["", *(name.replace("_", " ") for name in metrics)]]
        for label, (system, by_metric) in summaries.items():
            rows.append([label])
            for name in metrics:
                letter = letters.by_metric.get(name, {}).get(system, "") if letters else ""
                text = _summary(by_metric[name], name in ratios) if name in by_metric else "–"
                rows[-1].append(f"{text} {letter}".rstrip())
        listed = [["", "", ""]]
        for at, name in enumerate(metrics, start=1):
            listed += [
                [name.replace("_", " ") if number == 0 else "", row[0], row[at]] for number, row in enumerate(rows[1:])
            ]
        # Metrics are columns if they fit, else systems, else each pair of both has a line.
        layouts = [*([rows] if len(metrics) <= _WIDEST else []), [list(column) for column in zip(*rows, strict=True)]]
        title = " · ".join(text for text in ("mean ± sd", *stratum) if text)
        tables = []
        for layout in (*layouts, listed):
            first, *others = layout[0]
            columns = (Column(first), *(Column(head, "number") for head in others))
            tables.append(Table(title, columns, tuple(map(tuple, layout[1:]))))
        print_table(console, *tables)
        if letters:
            console.print(letters.told, markup=False, style="bright_black")


def _summary(found: Summary, is_ratio: bool) -> str:
    """Return mean and sd; the sd of a ratio is a factor. An sd gets the two digits of half an interval's width."""
    from math import exp

    from perdure.text import number

    if is_ratio and found.sd and found.mean:
        return f"{number(found.mean, 2 * found.mean * found.sd)} ×÷ {number(exp(found.sd), 2 * found.sd)}"
    width = found.sd and 2 * found.sd
    return f"{number(found.mean, width)} ± {number(found.sd, width)}"
