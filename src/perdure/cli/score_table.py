"""Scores for people: a table on stdout, and a progress bar on stderr."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from perdure.metrics.declare import Metric
    from perdure.metrics.many import Scores
    from perdure.metrics.score import Score

__all__ = ["columns", "progress_bar", "show", "widest"]

_MOST = 8  # flags, or notes, of many lifetimes
_MARKS = {True: "[green]✓[/]", False: "[red]✗[/]", None: " "}


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """What is to be told how many of how many are done; a bar on stderr where a person may be looking."""
    import sys

    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scoring", total=None, visible=False)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=total > 1)

        yield told


def show(scores: Scores, *, quiet: bool = False) -> None:
    """Print one lifetime metric by metric; of many, whose values only groups may pool, what else is to say."""
    from rich.console import Console

    console = Console(highlight=False)
    if len(scores.lifetimes) == 1:
        _show_one(console, scores.lifetimes[0], scores, quiet)
    elif not quiet:
        _show_notes(console, scores)
    for path, why in scores.left_out:
        console.print("[yellow]left out[/]", _plain(why if path in why else f"{path}: {why}"), soft_wrap=True)


def _show_one(console: Console, score: Score, scores: Scores, quiet: bool) -> None:
    table = _table(f"{score.id} · {score.measure} · {score.preset}")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", ratio=1, style="bright_black", overflow="fold")
    for name, one in score.metrics.items():
        if one.value is None:
            table.add_row(name, "–", " ", _plain(one.why or ""))
        else:
            metric = scores.metrics[name]
            table.add_row(name, number(one.value), _MARKS[metric.demonstrated(one.value)], _meaning(metric))
    console.print(table)
    if quiet:
        return
    console.print(_plain(_counts(score)), style="bright_black")
    flagged: dict[str, list[str]] = {}
    for name, one in score.metrics.items():
        for flag in one.flags:
            flagged.setdefault(flag, []).append(name)
    for flag, names in flagged.items():
        console.print("flag:", _plain(f"{flag} [{', '.join(names)}]"), style="bright_black")
    for note in (*score.notes, *(f"not learned: {task}" for task in score.not_learned)):
        console.print("note:", _plain(note), style="bright_black")


def _show_notes(console: Console, scores: Scores) -> None:
    """What is to be said of many lifetimes, each thing once, with how many it holds of where not of all."""
    lifetimes = scores.lifetimes
    dropped, where = sum(one.dropped_rows for one in lifetimes), sum(bool(one.dropped_rows) for one in lifetimes)
    if dropped:
        rows = "1 row" if dropped == 1 else f"{dropped} rows"
        console.print(f"{rows} dropped in {where} of {len(lifetimes)} lifetimes", style="bright_black")
    if len({one.measure for one in lifetimes}) > 1:
        console.print("note: several measures are several groups; give --measure to score one", style="bright_black")
    flags: dict[str, dict[str, None]] = {}
    for one in lifetimes:
        for name, measured in one.metrics.items():
            for flag in measured.flags:
                flags.setdefault(flag, {})[name] = None
    for flag, names in list(flags.items())[:_MOST]:
        console.print("flag:", _plain(f"{flag} [{', '.join(names)}]"), style="bright_black")
    notes = Counter(note for one in lifetimes for note in one.notes)
    for note, count in list(notes.items())[:_MOST]:
        among = "" if count == len(lifetimes) else f" ({count} of {len(lifetimes)} lifetimes)"
        console.print("note:", _plain(note + among), style="bright_black")
    more = max(0, len(flags) - _MOST) + max(0, len(notes) - _MOST)
    if more:
        console.print(f"and {more} more flags and notes; --json has them all", style="bright_black")
    unlearned = [one.id for one in lifetimes if one.not_learned]
    if unlearned:
        console.print(_plain(f"a task was never learned in {', '.join(unlearned)}"), style="bright_black")


def widest(console: Console, tables: Iterable[Table]) -> Table:
    """The first of `tables` that fits the console with nothing cut off, spread where there is room; else the last."""
    from rich.measure import Measurement

    roomy = console.options.update(max_width=10_000)
    chosen: Table | None = None
    for chosen in tables:
        wide = Measurement.get(console, roomy, chosen).maximum
        if wide <= console.width:
            if wide + len(chosen.columns) <= console.width:
                chosen.padding = (0, 2, 0, 0)
            break
    assert chosen is not None, "there is at least one layout"
    return chosen


def columns(title: str, first: Sequence[str], rest: Sequence[str]) -> Table:
    """A table of whole ids: the `first` columns are ids or names, the `rest` numbers, with a blank between them."""
    from rich.table import Table

    table = Table(title=_plain(title), title_justify="left", box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in first:
        table.add_column(_plain(heading), no_wrap=True, overflow="fold")
    for heading in rest:
        table.add_column(_plain(heading), justify="right", no_wrap=True)
    return table


def _table(title: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=_plain(title), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    table.add_column("metric", no_wrap=True)
    return table


def number(value: float) -> str:
    """Four significant digits, and no exponent where it can be helped."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        digits = 3 if value == 0 else max(0, 3 - math.floor(math.log10(abs(value))))
        return f"{value:.{digits}f}"
    return f"{value:.3e}"


def _meaning(metric: Metric) -> str:
    if metric.threshold is None:
        return metric.unit
    sign = ("≥" if metric.inclusive else ">") if metric.better == "higher" else ("≤" if metric.inclusive else "<")
    margin = f" − {metric.margin:g}" if metric.margin else ""
    return f"{sign} {metric.threshold:g}{margin}"


def _counts(score: Score) -> str:
    reasons = ", ".join(f"{count} {why}" for why, count in score.dropped.items())
    dropped = f"{score.dropped_rows} rows dropped" + (f" ({reasons})" if reasons else "")
    if not score.blocks:
        return f"{len(score.tasks)} tasks"
    return (
        f"{score.learning_experiences} learning and {score.evaluation_experiences} evaluation experiences, "
        f"{len(score.tasks)} tasks, {len(score.blocks)} blocks; {dropped}"
    )


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
