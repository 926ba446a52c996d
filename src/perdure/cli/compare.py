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
from perdure.cli.terminal import echo, left_out_text, say

if TYPE_CHECKING:
    from perdure.cli.answers import Depth
    from perdure.cli.console import Console
    from perdure.settings import Settings
    from perdure.stats.compare import Comparison, Difference, Summary
    from perdure.stats.systems import Comparisons, Letters
    from perdure.stats.tally import Tally


EXAMPLE = "perdure compare runs/replay runs/naive"

_WIDEST = 5  # metrics as columns
_MOST_TABLES = 2  # pairs with a table on the first screen; of more pairs it shows the sentences
_MOST_NAMED = 5  # pairs without a difference
_COLOURS = {
    "better": "green",
    "worse": "red",
    "undecided": "magenta",
    **dict.fromkeys(("no worse", "no better", "as good"), "cyan"),
}
_BRIEF = "Differences are the first minus the second, ratios (×) the first over the second"
_LEGEND = (
    f"{_BRIEF}. Interval and p belong to one two-sided test, for one metric alone: "
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
    why: Annotated[bool, typer.Option("--why", help="Show remarks on the comparison.")] = False,
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
    from perdure.cli.answers import Depth
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
        _show(result, Depth(every or order, why, settings.ids, quiet))
    for name, reason in pool.faults:
        echo(f"error in {name}: {reason}", err=True)
    status = 1 if pool.faults or result.left_out else 0
    end_with_gate(gate_comparisons(result.comparisons, Gate(fail_if, unless, if_undecided)), status, quiet)


def _show(result: Comparisons, depth: Depth) -> None:
    from perdure.cli.console import Console
    from perdure.text import plural

    console = Console()
    if result.tally:
        show_tally(console, result.tally)
    few = len(result.comparisons) <= _MOST_TABLES
    if len(result.systems) > 2:
        _show_ranking(result)
        if depth.every:
            _show_ablation(console, result, depth)
    remarks: list[str] = []
    for number, comparison in enumerate(result.comparisons):
        if number or len(result.systems) > 2:
            say("")
        if comparison.answer:
            say(comparison.answer, "bold")
        if depth.every or few:
            _show_comparison(console, comparison, depth)
        for difference in comparison.differences.values() if depth.every else ():
            say(difference.sentence)
        remarks += comparison.notes
        remarks += [f"only {name} has {', '.join(metrics)}" for name, metrics in comparison.only_in.items()]
    for path, why in result.left_out:
        say(left_out_text(path, why), "magenta", fold=False)
    for note in result.notes:
        say(note, "dim")
    if depth.quiet:
        return
    pairings = dict.fromkeys(comparison.pairing.told for comparison in result.comparisons)
    remarks = [*(list(pairings) if len(pairings) > 1 else ()), *dict.fromkeys(remarks)]
    for pairing in pairings if len(pairings) == 1 else ():
        say(pairing, "dim")
    shows_remarks = depth.every or depth.why
    for remark in remarks if shows_remarks else ():
        say(remark, "dim")
    if depth.every:
        say(_LEGEND, "dim")
    else:
        hidden = [f"{plural(len(remarks), 'remark')}: --why"] if remarks and not shows_remarks else []
        say(" · ".join([f"{_BRIEF}; every number: --all" if few else "tables and every number: --all", *hidden]), "dim")


def show_tally(console: Console, tally: Tally) -> None:
    """Print systems × metrics with t and p, names × thresholds, and the number of thresholds that are met."""
    from perdure.cli.console import print_table
    from perdure.reports.tables import tally_tables

    for table in tally_tables(tally):
        print_table(console, table, table, wrap=True)
    console.print(tally.told, markup=False, style="dim")


def _show_comparison(console: Console, comparison: Comparison, depth: Depth) -> None:
    from perdure.cli.console import print_table
    from perdure.stats.model import LEVEL
    from perdure.tables import Coloured, Column, Table
    from perdure.text import interval, mean_text, number, p_text, percent

    rows: list[tuple[str | Coloured, ...]] = []
    more: list[tuple[str, ...]] = []
    for name, found in _shown(comparison, depth).items():
        is_ratio, label = found.scale == "ratio", name.replace("_", " ")
        word = (found.word or ("exploratory" if name not in comparison.tested else "untested")).removeprefix("is ")
        row = (
            label,
            mean_text(found.mean, found.sd, ratio=is_ratio),
            mean_text(found.baseline_mean, found.baseline_sd, ratio=is_ratio),
            ("×" if is_ratio else "") + number(found.difference, found.width),
            interval(found.low, found.high),
            Coloured(word, _COLOURS.get(found.verdict or "", "dim")),
            p_text(found.p if found.p_holm is None else found.p_holm),
        )
        rows.append(row)
        further = (
            label,
            str(found.n) if comparison.pairing.paired else f"{found.n}, {found.baseline_n}",
            p_text(found.p),
            p_text(found.rank_p),
            "–" if found.improvement is None else percent(found.improvement),
            number(found.hedges_g),
            number(found.order),
        )
        more.append(further)
    systems = (comparison.system, comparison.baseline)
    titles = (f"{systems[0]} against {systems[1]}", f"A {systems[0]}, B {systems[1]}")
    level = percent(next((found.level for found in comparison.differences.values()), LEVEL))

    def table(title: str, *names: str) -> Table:
        caption = " · ".join(text for text in (title, *_stratum(comparison)) if text)
        heads = (Column(name, "number") for name in (*names, f"{level} interval"))
        return Table(caption, (Column(""), *heads, Column(""), Column("Holm p", "number")), tuple(rows))

    named, brief = table(titles[0], *systems, "difference"), table(titles[1], "A", "B", "A − B")
    print_table(
        console, named, brief, brief.select(range(6)), named.select([0, 3, 4, 5, 6]), named.select([0, 3, 4, 5])
    )
    if depth.every:
        columns = (Column(""), *(Column(head, "number") for head in ("n", "p", "rank p", "better", "g", "order ε")))
        order = [6] if any(found.order is not None for found in comparison.differences.values()) else []
        print_table(console, Table("", columns, tuple(more)).select([*range(6), *order]))


def _shown(comparison: Comparison, depth: Depth) -> Mapping[str, Difference]:
    """Return the metrics to show: those that are tested, or all."""
    return comparison.differences if depth.every or depth.ids or not comparison.tested else comparison.tested


def _stratum(compared: Comparison | Letters) -> tuple[str | None, ...]:
    return compared.learner, compared.scenario_type, compared.measure


def _show_ranking(result: Comparisons) -> None:
    """Print the systems by the metric that answers which one ends up better, and the pairs that do not differ."""
    from itertools import combinations

    from perdure.text import join_words, mean_text, plural

    for letters in result.letters:
        comparisons = [comparison for comparison in result.comparisons if _stratum(comparison) == _stratum(letters)]
        reached = comparisons[0].level_reached
        if reached is None or any(one.level_reached and one.level_reached.p_holm is None for one in comparisons):
            continue
        means = {comparison.system: comparison.alone[reached.metric][0] for comparison in comparisons}
        means[result.baseline] = comparisons[0].alone[reached.metric][1]
        best = sorted(means, key=lambda name: means[name].mean or 0.0, reverse=reached.better == "higher")
        listed = ", ".join(f"{name} {mean_text(means[name].mean, means[name].sd)}" for name in best)
        own = letters.by_metric[reached.metric]
        same = [f"{one} and {other}" for one, other in combinations(best, 2) if set(own[one]) & set(own[other])]
        equal = join_words([*same[:_MOST_NAMED], *([f"{len(same) - _MOST_NAMED} more"] if same[_MOST_NAMED:] else [])])
        shown = f"no difference is shown between {equal}" if same else "all of them differ"
        where = " · ".join(part for part in (comparisons[0].section, reached.metric.replace("_", " ")) if part)
        say(f"{where}: {listed}; {shown}, after Holm over {plural(letters.tests, 'test')} of all pairs.", "bold")


def _show_ablation(console: Console, result: Comparisons, depth: Depth) -> None:
    """Print mean ± sd of every system, the baseline first, with letters that show which systems differ."""
    from perdure.cli.console import print_table
    from perdure.tables import Column, Table

    for stratum in dict.fromkeys(map(_stratum, result.comparisons)):
        comparisons = [comparison for comparison in result.comparisons if _stratum(comparison) == stratum]
        metrics = list(dict.fromkeys(name for comparison in comparisons for name in _shown(comparison, depth)))
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
            console.print(letters.told, markup=False, style="dim")


def _summary(found: Summary, is_ratio: bool) -> str:
    """Return mean and sd; the sd of a ratio is a factor. An sd gets the two digits of half an interval's width."""
    from math import exp

    from perdure.text import mean_text, number

    mean = mean_text(found.mean, found.sd, ratio=is_ratio)
    spread = exp(found.sd) if is_ratio and found.sd else found.sd
    return f"{mean} {'×÷' if is_ratio and found.sd else '±'} {number(spread, found.sd and 2 * found.sd)}"
