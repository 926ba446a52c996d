"""Scores for people: a table on stdout, and a progress bar on stderr."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from perdure.metrics.declare import Metric
    from perdure.metrics.many import Scores
    from perdure.metrics.score import Score

__all__ = ["progress_bar", "show"]

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


def show(scores: Scores, *, quiet: bool = False, table: bool = True) -> None:
    """Print one lifetime metric by metric, or many as their means; without the table only what else is to say."""
    from rich.console import Console

    console = Console(highlight=False)
    if len(scores.lifetimes) == 1:
        _show_one(console, scores.lifetimes[0], scores, quiet)
    else:
        if table:
            _show_means(console, scores)
        if not quiet:
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


def _show_means(console: Console, scores: Scores) -> None:
    lifetimes = scores.lifetimes
    table = _table(
        f"{len(lifetimes)} lifetimes · {', '.join(sorted({one.measure for one in lifetimes}))} · {scores.preset}"
    )
    for heading in ("mean", "sd", "n", "shown"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, metric in scores.metrics.items():
        values = [
            one.metrics[name].value for one in lifetimes if name in one.metrics and one.metrics[name].value is not None
        ]
        found = [value for value in values if value is not None]
        if not found:
            table.add_row(name, "–", "–", "0", "")
            continue
        mean = math.fsum(found) / len(found)
        sd = math.sqrt(math.fsum((value - mean) ** 2 for value in found) / (len(found) - 1)) if len(found) > 1 else None
        shown = sum(bool(metric.demonstrated(value)) for value in found)
        table.add_row(
            name,
            number(mean),
            "–" if sd is None else number(sd),
            str(len(found)),
            "" if metric.threshold is None else f"{shown}/{len(found)}",
        )
    console.print(table)
    console.print("shown: lifetimes beyond the threshold", style="bright_black")


def _show_notes(console: Console, scores: Scores) -> None:
    lifetimes = scores.lifetimes
    dropped, where = sum(one.dropped_rows for one in lifetimes), sum(bool(one.dropped_rows) for one in lifetimes)
    console.print(
        f"{dropped} rows dropped in {where} of {len(lifetimes)} lifetimes",
        style="bright_black",
    )
    if len({one.measure for one in lifetimes}) > 1:
        console.print("note: several measures are several groups; give --measure to score one", style="bright_black")
    unlearned = [one.id for one in lifetimes if one.not_learned]
    if unlearned:
        console.print(_plain(f"a task was never learned in {', '.join(unlearned)}"), style="bright_black")


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
