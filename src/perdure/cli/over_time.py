"""`perdure score --over-time`: every value behind a metric, and the block at which it is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perdure.cli.answer import say
from perdure.text import number

if TYPE_CHECKING:
    from perdure.gather.model import Survey


def show_over_time(scores: Survey, metrics: Sequence[str] = ()) -> None:
    """Print every value behind the metrics, and the block at which it is known, as `--json` and `--out` count them."""
    from perdure.reports.figures.metric_values import over_time_metrics

    for score in scores.scores:
        rows = [
            (name, key, str(place[-1]), number(value))
            for name in metrics or over_time_metrics()
            if (one := score.metrics.get(name)) is not None
            for key, places in one.at.items()
            for place, value in zip(places, one.by[key], strict=True)
        ]
        heads = ("metric", "task", "block", "value")
        wide = [max(len(row[at]) for row in (heads, *rows)) for at in range(4)]
        say("")
        say(f"{score.id}: over time" if rows else f"{score.id}: no value can be assigned to a block", "bold")
        for metric, key, block, value in (heads, *rows) if rows else ():
            line = f" {metric:{wide[0]}}   {key:{wide[1]}}   {block:>{wide[2]}}   {value:>{wide[3]}}"
            say(line, fold=False)
