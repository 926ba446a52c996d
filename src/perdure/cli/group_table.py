"""Groups for people: each group's estimates as a table, and the rule of the verdict under it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from perdure.cli.console import Console
    from perdure.gather.model import Survey
    from perdure.metrics.engine.declare import Metric
    from perdure.stats.model import Estimate, Group

__all__ = ["grouped", "score_facts", "show_groups"]

_COLOURS = {"met": "green", "not met": "red", "undecided": "yellow"}
_WIDE = ("n", "mean", "sd", "interval", "IQM", "above", "t", "against", "p")
_NARROW = ("mean", "interval", "above", "p")


def grouped(scores: Survey) -> tuple[tuple[Group, ...], str | None]:
    """The lifetimes in groups, or why they cannot be; a pattern that someone gave is an error to them instead."""
    from perdure.errors import PerdureError
    from perdure.stats.groups import groups, not_pooled

    try:
        return groups(scores), "; ".join(not_pooled(scores.scores)) or None
    except PerdureError as problem:
        if scores.settings.get("group"):
            raise
        return (), str(problem)


def score_facts(scores: Survey, groups: Sequence[Group], refused: str | None = None) -> dict[str, Any]:
    """Everything that was scored, as `score.schema.json` describes it."""
    from perdure.stats.capabilities import capabilities

    return {
        **scores.as_json(),
        "thresholds": _thresholds(scores),
        "capabilities": [one.as_json() for one in capabilities(scores)],
        "groups": [one.as_json() for one in groups],
        "not_grouped": refused,
    }


def _thresholds(scores: Survey) -> dict[str, dict[str, Any]]:
    """What each metric is held against, so that scores keep it where the file that declared them is not at hand."""
    return {
        name: {
            "threshold": metric.threshold,
            "margin": metric.margin,
            "better": metric.better,
            "inclusive": metric.inclusive,
            "headline": metric.headline,
            "scale": metric.scale,
            "expert": metric.expert,
        }
        for name, metric in scores.metrics.items()
    }


def show_groups(
    groups: Sequence[Group],
    *,
    quiet: bool = False,
    console: Console | None = None,
    declared: Mapping[str, Metric] | None = None,
) -> None:
    """Print every group, with and without the lifetimes in which a task was never learned."""
    if not groups:
        return
    from perdure.cli.console import Console
    from perdure.stats.words import MARKS, decides, rule_of
    from perdure.words import plural

    console = console or Console(highlight=False)
    for group in groups:
        what = f"{plural(group.n, 'lifetime')} · {group.measure} · {group.preset}"
        _show(console, group, f"{group.group} · {what}", declared or {}, quiet=quiet)
        if group.learned_only is not None:
            left = group.n - group.learned_only.n
            _show(
                console,
                group.learned_only,
                f"{group.group} · without {left} that did not learn every task",
                declared or {},
                quiet=quiet,
            )
        for name, why in group.left_out:
            console.print(f"left out {name}: {why}", markup=False, style="yellow")
    if not quiet:
        marks = ", ".join(f"{mark} {verdict}" for verdict, mark in MARKS.items())
        for preset in dict.fromkeys(group.preset for group in groups):
            said = f"{marks}. {rule_of(preset)}" if decides(preset) else rule_of(preset)
            console.print(said, markup=False, style="bright_black")


def _show(console: Console, group: Group, title: str, declared: Mapping[str, Metric], *, quiet: bool) -> None:
    from perdure.cli.score_table import widest
    from perdure.stats.reading import reading

    decided = {name: one.decision for name, one in group.estimates.items() if one.decision.verdict}
    words = [f"{name}: {made.word}: {made.says}" for name, made in decided.items() if made.says]
    answer = [*words, *reading(group, declared)]
    if answer:  # first, and by whom: the table below it is long
        console.print(group.group, markup=False, style="bold")
    for line in answer:
        console.print(line, markup=False)
    layouts = _WIDE, _NARROW, _NARROW[:-2] + _NARROW[-1:]
    console.print(widest(console, (_table(group, title, layout) for layout in layouts)))
    notes: dict[str, list[str]] = {}
    absent: dict[tuple[int, str], list[str]] = {}
    carried: dict[tuple[str, int], list[str]] = {}
    for name, one in group.estimates.items():
        made = one.decision
        for note in (*made.notes, *made.flags) if one.n else ():
            notes.setdefault(note, []).append(name)
        for flagged in one.carried:
            carried.setdefault(flagged, []).append(name)
        if one.missing:
            absent.setdefault((one.missing, one.absent or "no reason is given"), []).append(name)
    hidden = [name for name, one in group.estimates.items() if _hidden(group, one)]
    if hidden:
        said = f"{', '.join(hidden)}: not shown, tasks were learned again; --json has them"
        console.print(said, markup=False, style="bright_black")
    for (flag, count), names in carried.items() if not quiet else ():
        said = f"flag: {flag} ({count} of {group.n} lifetimes) [{', '.join(names)}]"
        console.print(said, markup=False, style="bright_black")
    for note, names in notes.items():
        console.print(f"{', '.join(names)}: {note}", markup=False, style="bright_black")
    for (missing, why), names in absent.items():
        of = "no value of" if missing == group.n else f"{missing} of {group.n} lifetimes lack"
        console.print(f"{of} {', '.join(names)}: {why}", markup=False, style="bright_black")


def _table(group: Group, title: str, layout: Sequence[str]) -> Table:
    from rich.markup import escape

    from perdure.cli.score_table import columns
    from perdure.words import interval, number, p_text

    level = next((f"{one.level:.0%} interval" for one in group.estimates.values()), "interval")
    table = columns(title, [""], [level if heading == "interval" else heading for heading in layout])
    in_words = layout is _WIDE
    table.add_column("verdict" if in_words else "", no_wrap=True, min_width=1)
    for name, one in group.estimates.items():
        if not one.n or _hidden(group, one):
            continue
        judged = one.verdict is not None
        cells = {
            "n": str(one.n),
            "mean": number(one.mean, one.width),
            "sd": _spread(one),
            "interval": interval(one.low, one.high),
            "IQM": number(one.iqm, one.width),
            "above": "" if one.above_count is None else f"{one.above_count}/{one.n}",
            "t": number(one.t) if judged else "",
            "against": number(one.decision.against) if judged else "",
            "p": p_text(one.p) if judged else "",
        }
        table.add_row(escape(name), *(cells[heading] for heading in layout), _verdict(one, in_words))
    return table


def _spread(one: Estimate) -> str:
    """The sd over lifetimes; of logarithms a factor."""
    from math import exp

    from perdure.words import number

    of_logarithms = one.sd is not None and one.decision.scale != "linear"
    return f"×{number(exp(one.sd or 0.0), one.width)}" if of_logarithms else number(one.sd, one.width)


def _verdict(one: Estimate, in_words: bool) -> str:
    from perdure.stats.words import MARKS

    if not one.verdict:
        return ""
    mark = MARKS[one.verdict]
    said = f"{mark} {one.word or one.verdict}" if in_words else mark
    return f"[{_COLOURS[one.verdict]}]{said}[/]"


def _hidden(group: Group, one: Estimate) -> bool:
    """A log's accuracy-matrix numbers, where a task was learned again: they then say it kept what it relearned."""
    from perdure.metrics.matrix.cells import RELEARNED

    return group.unit is None and any(flag == RELEARNED for flag, _ in one.carried)
