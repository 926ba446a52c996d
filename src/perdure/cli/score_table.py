"""Survey for people: a table on stdout, and a progress bar on stderr."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import typer

from perdure.cli.terminal import clean, unguarded
from perdure.words import number

if TYPE_CHECKING:
    from rich.table import Table

    from perdure.cli.console import Console
    from perdure.gather.model import Survey
    from perdure.metrics.engine.declare import Metric
    from perdure.metrics.engine.measure import Measured
    from perdure.metrics.engine.score import Score

__all__ = ["columns", "progress_bar", "show", "show_over_time", "widest"]

_RELEARNED = "relearned"
_MOST = 8  # flags, or notes, of many lifetimes
_MARK_COLOURS = {"✓": "green", "✗": "red", "?": "yellow"}


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """What is to be told how many of how many are done; a bar on stderr where a person may be looking."""
    import sys

    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress

    from perdure.cli.console import Console

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("scoring", total=None, visible=False)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=total > 1)

        yield told


def show(scores: Survey, *, quiet: bool = False, grouped: bool = False) -> None:
    """Print one lifetime metric by metric; of many, whose values only groups may pool, what else is to say.

    Where groups were shown, they counted the flags already.
    """
    if len(scores.scores) == 1:
        _show_one(scores.scores[0], scores, quiet)
    elif not quiet:
        _show_notes(scores, flags=not grouped)
    for path, why in scores.left_out:
        _say(f"left out {why if path in why else f'{path}: {why}'}", "yellow", fold=False)


def _show_one(score: Score, scores: Survey, quiet: bool) -> None:
    from dataclasses import replace

    from perdure.stats.decide import decide
    from perdure.stats.words import MARKS

    rows: list[tuple[str, str, str, str]] = []
    said: dict[str, list[str]] = {}
    hidden: list[str] = []
    for name, one in score.metrics.items():
        if one.value is None:
            rows.append((name, "–", "", one.why or ""))
        elif _relearned(score, one):
            hidden.append(name)
        else:
            metric = scores.metrics[name]
            made = decide((score,), name, scores.bars[name], scores.settings.get("level", 0.95))
            for note in made.notes:
                said.setdefault(note, []).append(name)
            bar = replace(metric, margin=0.0).bar  # within one life the margin does not count
            rows.append((name, number(one.value), MARKS.get(made.verdict or "", ""), bar or _unit(metric, score)))
    _say(f"{score.id} · {score.measure} · {score.preset}", "bold")
    _table(rows)
    if score.identity.unit:
        from perdure.stats.reading import reading_of_one

        for line in reading_of_one(score, scores.metrics, scores.bars):
            _say(line)
    if quiet:
        return
    for note, names in said.items():
        _say(f"{note} [{', '.join(names)}]", "grey")
    if hidden:
        _say(f"not shown, tasks were learned again: {', '.join(hidden)}; --json has them", "grey")
    _say(_counts(score), "grey")
    flagged: dict[str, list[str]] = {}
    for name, one in score.metrics.items():
        for flag in one.flags:
            flagged.setdefault(flag, []).append(name)
    for flag, names in flagged.items():
        _say(f"flag: {flag} [{', '.join(names)}]", "grey")
    for note in (*score.notes, *(f"not learned: {task}" for task in score.not_learned)):
        _say(f"note: {note}", "grey")


def show_over_time(scores: Survey, metrics: Sequence[str] = ()) -> None:
    """Print every value behind the metrics, and the block at which it is known, as `--json` and `--out` count them."""
    from perdure.report.draw.data.places import shown_over_time

    for score in scores.scores:
        rows = [
            (name, key, str(place[-1]), number(value))
            for name in metrics or shown_over_time()
            if (one := score.metrics.get(name)) is not None
            for key, places in one.at.items()
            for place, value in zip(places, one.by[key], strict=True)
        ]
        heads = ("metric", "task", "block", "value")
        wide = [max(len(row[at]) for row in (heads, *rows)) for at in range(4)]
        _say("")
        _say(f"{score.id}: over time" if rows else f"{score.id}: no value belongs to a block", "bold")
        for metric, key, block, value in (heads, *rows) if rows else ():
            line = f" {metric:{wide[0]}}   {key:{wide[1]}}   {block:>{wide[2]}}   {value:>{wide[3]}}"
            _print(line)


def _relearned(score: Score, one: Measured) -> bool:
    """A log's accuracy-matrix number where a task was learned again: it then says that it kept what it relearned."""
    return score.identity.unit is None and any(flag.startswith(_RELEARNED) for flag in one.flags)


def _table(rows: Sequence[tuple[str, str, str, str]]) -> None:
    """Metric, value, mark, and what to know of it, which folds within its own column."""
    named = max(len("metric"), *(len(name) for name, *_ in rows)) if rows else 0
    valued = max(len("value"), *(len(value) for _, value, *_ in rows)) if rows else 0
    before = 1 + named + 3 + valued + 3 + 1 + 3
    room = max(20, _width() - before)
    _say(f" {'metric':{named}}   {'value':>{valued}}", "bold", fold=False)
    _say(f" {'─' * (max(_width(), before) - 2)}", fold=False)
    for name, value, marked, note in rows:
        first, *further = wrap(note, room) or [""]
        mark = typer.style(marked, fg=_MARK_COLOURS[marked]) if marked else " "
        shown = _styled(clean(first), "grey")
        _print(f" {clean(name):{named}}   {value:>{valued}}   {mark}   {shown}".rstrip())
        for line in further:
            _say(" " * before + line, "grey", fold=False)


def _show_notes(scores: Survey, *, flags: bool) -> None:
    """What is to be said of many lifetimes, each thing once, with how many it holds of where not of all."""
    lifetimes = scores.scores
    dropped, where = sum(one.dropped_rows for one in lifetimes), sum(bool(one.dropped_rows) for one in lifetimes)
    if dropped:
        rows = "1 row" if dropped == 1 else f"{dropped} rows"
        _say(f"{rows} dropped in {where} of {len(lifetimes)} lifetimes", "grey")
    if len({one.measure for one in lifetimes}) > 1:
        _say("note: several measures are several groups; give --measure to score one", "grey")
    flagged: dict[str, dict[str, None]] = {}
    for one in lifetimes if flags else ():
        for name, measured in one.metrics.items():
            for flag in measured.flags:
                flagged.setdefault(flag, {})[name] = None
    for flag, names in list(flagged.items())[:_MOST]:
        _say(f"flag: {flag} [{', '.join(names)}]", "grey")
    notes = Counter(note for one in lifetimes for note in one.notes)
    for note, count in list(notes.items())[:_MOST]:
        among = "" if count == len(lifetimes) else f" ({count} of {len(lifetimes)} lifetimes)"
        _say(f"note: {note}{among}", "grey")
    more = max(0, len(flagged) - _MOST) + max(0, len(notes) - _MOST)
    if more:
        _say(f"and {more} more flags and notes; --json has them all", "grey")
    unlearned = [one.id for one in lifetimes if one.not_learned]
    if unlearned:
        _say(f"a task was never learned in {', '.join(unlearned)}", "grey")


# --- lines ---------------------------------------------------------------------------------------

# By hand and not by Rich: one lifetime is what people score most, and Rich would take a tenth of the time.

_STYLES: dict[str, dict[str, Any]] = {
    "": {},
    "bold": {"bold": True},
    "grey": {"fg": "bright_black"},
    "yellow": {"fg": "yellow"},
}


def _say(text: str, style: str = "", *, fold: bool = True) -> None:
    for line in wrap(text, _width()) if fold else [text]:
        _print(_styled(clean(line), style))


def _print(line: str) -> None:
    # Echo takes colours out where nobody would see them: in a file, in a pipe.
    typer.echo(line, file=unguarded(), color=False if os.environ.get("NO_COLOR") else None)


def _styled(text: str, style: str) -> str:
    return typer.style(text, **_STYLES[style]) if text and style else text


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


# --- tables of groups ----------------------------------------------------------------------------


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


def _unit(metric: Metric, score: Score) -> str:
    """What the value is measured in; what has the measure's own unit is called by the measure."""
    return (score.measure or "") if metric.unit == "measure" else metric.unit


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
