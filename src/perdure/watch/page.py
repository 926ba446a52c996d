"""The live page: progress, the curves of one lifetime, and the report so far."""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.gather.model import ScoredLifetime, Survey
from perdure.reports.figures import Canvas
from perdure.reports.figures.curves import lifetime_curves
from perdure.reports.figures.lifetimes import draw_lifetime
from perdure.reports.formats.html import body, html, template
from perdure.reports.formats.pictures import lifetime_picture
from perdure.reports.model import report_of
from perdure.reports.palette import looks
from perdure.reports.thinned import thinned_lifetime
from perdure.stats.groups import GroupedSurvey
from perdure.watch.monitor import Monitor
from perdure.watch.progress import (
    headline,
    retention_metric,
    retention_text,
    short_names,
    so_far_text,
    time_text,
)

_MOST_LISTED = 200
_MOST_FIGURES = 32  # in the cache, because each visitor may select another lifetime


def facts(monitor: Monitor) -> dict[str, Any]:
    """Return the progress of everything as JSON."""
    lifetimes = monitor.progress()
    return {
        "totals": msgspec.structs.asdict(monitor.totals(lifetimes)),
        "so_far": monitor.answers(),
        "warnings": monitor.warnings(),
        "lifetimes": [item.as_json() for item in lifetimes],
    }


class Page:
    """The page of one monitor. Figures and the report are drawn again only as their budgets allow."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self._version = 0
        self._shown_version = -1
        self._figures: dict[str, tuple[ScoredLifetime, str]] = {}
        self._outdated = False
        """Whether a figure is older than its lifetime."""
        self._report: tuple[tuple[int, str], dict[str, Any]] | None = None

    def html(self) -> str:
        """Return the whole page."""
        monitor = self.monitor
        empty = GroupedSurvey(Survey((), (), {}, monitor.settings.preset, monitor.metrics), ())
        title = f"Watching {', '.join(place.name for place in monitor.places)}"
        report = report_of(monitor.data() or empty, title=title)
        return html(report, live=self._so_far(), more_scripts=(template("live.js"),))

    def state(self, *, since: int = -1, of: str | None = None) -> dict[str, Any]:
        """Return the changes after version `since`, with the figure of the lifetime `of`, or else of the first."""
        monitor = self.monitor
        monitor.data()
        if monitor.version != self._shown_version or (self._outdated and monitor.figures.left > 0):
            self._shown_version = monitor.version
            self._version += 1
        always = {"version": self._version, "scored": monitor.published, "age": monitor.age_text}
        if since == self._version:
            return always
        lifetimes = monitor.progress()
        totals = monitor.totals(lifetimes)
        names = short_names([item.id for item in lifetimes])
        chosen = next((item.id for item in lifetimes if item.id == of), lifetimes[0].id if lifetimes else None)
        return {
            **always,
            "warnings": monitor.warnings(),
            "headline": headline(totals),
            "share": totals.share,
            "over": totals.all_done,
            "lifetimes": [
                {
                    **item.as_json(),
                    "name": names[item.id],
                    "left": time_text(item.left_s),
                    "kept": retention_text(item, monitor.metrics),
                    "verdict": item.verdicts.get(retention_metric(item) or "", ""),
                }
                for item in lifetimes[:_MOST_LISTED]
            ],
            "more": max(0, len(lifetimes) - _MOST_LISTED),
            "chosen": chosen,
            "figure": self._figure(chosen) if chosen else "",
            "said": monitor.answer(chosen) if chosen else "",
        }

    def report(self) -> dict[str, Any]:
        """Return the report so far: its HTML and the facts that its script shows."""
        monitor = self.monitor
        data = monitor.data()
        if data is None:
            return {"body": "", "facts": {"tasks": [], "tables": {}}}
        so_far = self._so_far()
        if self._report is None or self._report[0] != (monitor.published, so_far):
            with monitor.reports.work():
                main, script_facts = body(report_of(data), live=so_far)
            self._report = ((monitor.published, so_far), {"body": main, "facts": script_facts})
        return self._report[1]

    def _so_far(self) -> str:
        return so_far_text(self.monitor.totals(self.monitor.progress()))

    def _figure(self, name: str) -> str:
        """Return the curves of a lifetime as SVG, empty before it is read."""
        monitor = self.monitor
        life = next((life for life in monitor.lifetimes if life.id == name), None)
        if life is None:
            return ""
        cached, svg = self._figures.get(name, (None, ""))
        if cached is None or (cached is not life and monitor.figures.left > 0):
            with monitor.figures.work():
                svg = _draw(life, monitor)
            if len(self._figures) >= _MOST_FIGURES:
                self._figures.clear()
            self._figures[name] = cached, _ = life, svg
        self._outdated = cached is not life
        return svg


def _draw(life: ScoredLifetime, monitor: Monitor) -> str:
    reported = monitor.data()
    if life.score.identity.unit or not thinned_lifetime(life).blocks:  # a matrix, or scores only
        known = reported and any(item.id == life.id for item in reported.lifetimes)
        return lifetime_picture(reported, life).svg if reported and known else ""
    curves, tasks = lifetime_curves(life), reported.tasks if reported else ()
    colours = looks((*tasks, *(task for task in curves.tasks if task not in tasks)))  # as in the report
    canvas = Canvas(width=760, size=12, title="", legend=len(curves.tasks) > 1, spread=1.8, tall=1.2)
    return draw_lifetime(curves, colours, canvas).inline()
