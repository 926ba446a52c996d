"""What the live page shows: how far everything is, what runs now, and the report so far."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

from perdure.metrics.engine.metric import Metric
from perdure.report.draw.data.lives import Evaluated, Learned, LifetimeData, Span, Stroke
from perdure.report.draw.svg.lives import lifetime
from perdure.report.draw.svg.paper import Paper
from perdure.report.formats.html import body, html, template
from perdure.report.formats.pictures import picture_of
from perdure.report.model import report_of
from perdure.report.palette import looks
from perdure.watch.follow import Follower
from perdure.watch.followed import Followed, Progress
from perdure.watch.totals import called, headline, kept_of, kept_words, so_far, time_left

__all__ = ["facts", "growing", "page", "state", "written"]

_PAPER = Paper(width=760, size=12, title="", spread=1.8, tall=1.1)
_MOST = 200
"""Lifetimes that the page lists; a run has them all in its report."""


def facts(follower: Follower) -> dict[str, Any]:
    """Where everything stands, for a machine."""
    lives = follower.progress()
    return {
        "totals": follower.totals(lives).as_json(),
        "so_far": follower.standing(),
        "warnings": follower.warnings(),
        "lifetimes": [_progress(one) for one in lives],
    }


def state(follower: Follower, *, since: int = -1, of: str | None = None) -> dict[str, Any]:
    """What the page asks for once a second; nothing but the version where nothing is new.

    Of the lifetime that is asked for, of the first that runs where none is, there is a figure.
    """
    if since == follower.version:
        return {"version": follower.version, "scored": follower.published}
    lives = follower.progress()
    whole = follower.totals(lives)
    names = called([one.id for one in lives])
    chosen = next((one for one in lives if one.id == of), None) or next(iter(lives), None)
    return {
        "version": follower.version,
        "scored": follower.published,
        "warnings": follower.warnings(),
        "headline": headline(whole),
        "share": whole.share,
        "over": whole.over,
        "lifetimes": [{**_progress(one), **_words(one, names[one.id], follower.metrics)} for one in lives[:_MOST]],
        "more": max(0, len(lives) - _MOST),
        "chosen": chosen.id if chosen else None,
        "figure": follower.drawn(chosen.id, partial(_figure, follower, chosen.id)) if chosen else "",
        "said": follower.said(chosen.id) if chosen else "",
    }


def _progress(one: Progress) -> dict[str, Any]:
    values = {name: value for name, value in one.values.items() if value is not None}
    return {
        "id": one.id,
        "state": one.state,
        "done": one.done,
        "total": one.total,
        "block": one.block,
        "left_s": one.left_s,
        "warnings": one.warnings,
        "values": values,
        "verdicts": one.verdicts,
        "waits": one.waits,
    }


def _words(one: Progress, name: str, metrics: Mapping[str, Metric]) -> dict[str, str]:
    kept = kept_of(one)
    return {
        "name": name,
        "left": time_left(one.left_s),
        "kept": kept_words(one, metrics),
        "verdict": "" if kept is None else one.verdicts.get(kept, ""),
    }


def _figure(follower: Follower, name: str) -> str:
    followed = next((one for one in follower.lives.values() if one.id == name), None)
    if followed is not None:
        return growing(followed, follower)
    told = follower.material()
    return picture_of(told, name).svg if told else ""


def growing(life: Followed, follower: Follower) -> str:
    """A lifetime's curves as far as they were logged, and smoothed, as SVG; nothing before its first experience."""
    blocks = [one for one in (life.tail.ordered() if life.tail else []) if one.count]
    if not blocks or life.tail is None:
        return ""
    spans: list[Span] = []
    learning: list[Learned] = []
    tested: list[Evaluated] = []
    learned: dict[str, int] = {}
    first = 0.0
    for one in blocks:
        learns = one.mode == "learn"
        mode: Literal["learn", "evaluate"] = "learn" if learns else "evaluate"
        spans.append(Span(one.task, mode, False, first, first + one.count, one.count))
        if learns:
            (x, y), (centres, means) = one.bins.line(), one.bins.smoothed(follower.prep)
            learning.append(Learned(one.task, Stroke(first + x, y), Stroke(first + centres, means)))
            learned[one.task] = learned.get(one.task, 0) + 1
        else:
            reach = one.half_width or None
            low, high = (None, None) if reach is None else (one.mean - reach, one.mean + reach)
            run, ahead = learned.get(one.task, 0), one.task not in learned
            tested.append(Evaluated(one.task, first + one.count / 2, one.mean, low, high, one.count, run, ahead))
        first += one.count
    tasks = tuple(dict.fromkeys([one.task for one in blocks if one.mode == "learn"] + [one.task for one in blocks]))
    told = follower.material()
    seen = looks((*told.tasks, *(one for one in tasks if one not in told.tasks)) if told else tasks)
    shown = LifetimeData(
        life.id, "experiences", life.tail.measure or "", tasks, tuple(spans), tuple(learning), tuple(tested)
    )
    return lifetime(
        shown, seen, Paper(width=760, size=12, title="", legend=len(tasks) > 1, spread=1.8, tall=1.2)
    ).inline()


def _so_far(follower: Follower) -> str:
    """How many lifetimes the report is of."""
    return so_far(follower.totals(follower.progress()))


def page(follower: Follower) -> str:
    """The whole page, as it stands before its first question."""
    from perdure.gather.model import Survey
    from perdure.report.material import Material

    found = follower.material()
    nothing = Material(Survey((), (), {}, follower.settings.preset, follower.metrics), ())
    title = f"Watching {', '.join(place.name for place in follower.logs)}"
    return html(report_of(found or nothing, title=title), live=_so_far(follower), more_scripts=(template("live.js"),))


def written(follower: Follower) -> dict[str, Any]:
    """The report so far."""
    found = follower.material()
    if found is None:
        return {"body": "", "facts": {"tasks": [], "tables": {}}}
    started = time.perf_counter()
    main, given = body(report_of(found), live=_so_far(follower))
    follower.spent(time.perf_counter() - started)
    return {"body": main, "facts": given}
