"""Groups for people: each group's estimates as a table, and the rule of the verdict under it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from perdure.metrics.many import Scores
    from perdure.stats.model import Estimate, Group

__all__ = ["grouped", "show_groups"]

_COLOURS = {"met": "green", "not met": "red", "undecided": "yellow"}
_MARKS = {"met": "✓", "not met": "✗", "undecided": "?"}
_WIDE = 125


def grouped(scores: Scores, pattern: str | None) -> tuple[tuple[Group, ...], str | None]:
    """The lifetimes in groups, or why they cannot be; a pattern that someone gave is an error to them instead."""
    from perdure.errors import PerdureError
    from perdure.stats.groups import groups

    try:
        return groups(scores, pattern=pattern), None
    except PerdureError as problem:
        if pattern:
            raise
        return (), str(problem)


def show_groups(groups: Sequence[Group], *, quiet: bool = False, console: Console | None = None) -> None:
    """Print every group, with and without the lifetimes in which a task was never learned."""
    if not groups:
        return
    from rich.console import Console

    from perdure.stats.threshold import RULE

    console = console or Console(highlight=False)
    for group in groups:
        what = f"{group.n} lifetimes · {group.measure} · {group.preset}"
        _show(console, group, f"{group.group} · {what}")
        if group.learned_only is not None:
            left = group.n - group.learned_only.n
            _show(console, group.learned_only, f"{group.group} · without {left} that did not learn every task")
        for name, why in group.left_out:
            console.print(f"left out {name}: {why}", markup=False, style="yellow")
    if not quiet:
        marks = "" if console.width >= _WIDE else "✓ met, ✗ not met, ? undecided. "
        console.print(marks + RULE, markup=False, style="bright_black")


def _show(console: Console, group: Group, title: str) -> None:
    from rich.markup import escape
    from rich.table import Table

    from perdure.stats.words import number, p_text

    table = Table(title=escape(title), title_justify="left", box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    level = next((f"{one.level:.0%} interval" for one in group.estimates.values()), "interval")
    # What fits 80 columns with every id whole; a wide terminal gets all of it.
    wide = console.width >= _WIDE
    headings = ("n", "mean", "sd", level, "IQM", "above", "t", "p", "sign p") if wide else ("mean", level, "above", "p")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict" if wide else "", no_wrap=True)
    for name, one in group.estimates.items():
        if not one.n:
            continue
        judged = one.bar.threshold is not None
        cells = {
            "n": str(one.n),
            "mean": number(one.mean),
            "sd": number(one.sd),
            level: "–" if one.low is None else f"{number(one.low)} … {number(one.high)}",
            "IQM": number(one.iqm),
            "above": "" if one.above_count is None else f"{one.above_count}/{one.n}",
            "t": number(one.t) if judged else "",
            "p": p_text(one.p) if judged else "",
            "sign p": p_text(one.sign_p) if judged else "",
        }
        table.add_row(escape(name), *(cells[heading] for heading in headings), _verdict(one, wide))
    console.print(table)
    without = [name for name, one in group.estimates.items() if not one.n]
    if without:
        console.print(f"no lifetime has a value of {', '.join(without)}", markup=False, style="bright_black")
    for name, one in group.estimates.items():
        if one.n and one.why and one.bar.threshold is not None:
            console.print(f"{name}: {one.why}", markup=False, style="bright_black")


def _verdict(one: Estimate, wide: bool) -> str:
    if not one.verdict:
        return ""
    return f"[{_COLOURS[one.verdict]}]{one.verdict if wide else _MARKS[one.verdict]}[/]"
