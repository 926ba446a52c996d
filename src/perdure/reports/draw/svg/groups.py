"""Figures of many lifetimes: metrics against thresholds, trade-offs, shares, profiles, power."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perdure.reports.draw.data import capabilities as learners
from perdure.reports.draw.data import groups
from perdure.reports.draw.data.capabilities import CapabilitiesData
from perdure.reports.draw.data.groups import (
    GroupValue,
    MetricPanel,
    MetricsData,
    PowerData,
    ProfilesData,
    ScatterData,
    SharesData,
)
from perdure.reports.draw.data.view import flags_text
from perdure.reports.draw.kinds import figure
from perdure.reports.draw.svg.axes import Entry, Looks, Panel, Scale, compose, frame, interval_mark, margin, scale_over
from perdure.reports.draw.svg.multiples import Cell, grid, multiples
from perdure.reports.draw.svg.paper import (
    Figure,
    Paper,
    area,
    coloured,
    fitting,
    marker,
    path,
    rect,
    rule,
    stroke,
    text,
    width_of,
)
from perdure.reports.palette import VERDICTS
from perdure.reports.palette import looks as looks_of
from perdure.words import interval, number, plural

__all__ = [
    "capabilities",
    "efficiency_maintenance",
    "metrics",
    "performance_cost",
    "power",
    "profiles",
    "shares",
    "stability_plasticity",
]

"""Verdict → colour and marker."""
_DASH = "4 3"


@figure(groups.metrics)
def metrics(data: MetricsData, looks: Looks, paper: Paper) -> Figure:
    """Each metric's mean with its interval, group by group, against its threshold."""
    del looks
    flagged = any(one.flags for panel in data.panels for one in panel.values)
    note = "Ticks: lifetimes; dashed: the threshold; shaded: what its margin allows." + (
        " †: some values are flagged." if flagged else ""
    )

    def draw(inner: Paper, top: float) -> tuple[str, float]:
        em, row = inner.size, inner.size * 2.2
        names = min(inner.width * 0.3, max(width_of(one, inner.small) for one in data.groups)) + em
        deep = em * 3.2 + row * len(data.groups)
        places, bottom = grid(len(data.panels), inner, least=names + em * 12, height=deep, gap=em * 1.5, most=3)
        parts = [
            _against(
                panel, data.groups, inner, (left + names, top + above + em * 1.8, left + wide - em * 0.4), row, names
            )
            for panel, (left, above, wide) in zip(data.panels, places, strict=True)
        ]
        return "".join(parts), top + bottom

    entries = [Entry(verdict, kind, "both") for verdict, (kind, _) in VERDICTS.items()]
    return compose(paper, "", "Means and intervals of metrics against their thresholds", draw, entries, note)


def _against(
    panel: MetricPanel, groups: Sequence[str], paper: Paper, place: tuple[float, float, float], row: float, names: float
) -> str:
    left, top, right = place
    ends = [panel.threshold, *(end for one in panel.values for end in (one.mean, one.low, one.high))]
    values = [value for one in panel.values for _, value in one.lives]
    log = panel.scale == "log" and all(one > 0 for one in [*values, *(one for one in ends if one is not None)])
    x = scale_over([*ends, *values], left, right, log=log)
    area_of = Panel(x, Scale(len(groups), 0, top + row * len(groups), top))
    parts = [frame(area_of, paper, title=panel.metric.replace("_", " "), y_ticks=False, across=False)]
    if panel.threshold is not None:
        if panel.margin:
            less = (
                max(panel.threshold - panel.margin, x.low)
                if panel.higher
                else min(panel.threshold + panel.margin, x.high)
            )
            a, b = sorted((x(less), x(panel.threshold)))
            parts.append(coloured("good", rect(a, top, b - a, row * len(groups), opacity=0.1)))
        parts.append(rule(x(panel.threshold), top, x(panel.threshold), top + row * len(groups), "axis", 1, _DASH))
    for at, one in enumerate(panel.values):
        middle = top + (at + 0.5) * row
        name = fitting(one.group, paper.small, names - paper.size)
        parts.append(text(left - paper.size * 0.8, middle + paper.small * 0.34, name, paper.small, at="end"))
        if one.mean is None:
            parts.append(
                text((left + right) / 2, middle + paper.small * 0.34, "no value", paper.small, "soft", at="middle")
            )
            continue
        lives = "".join(path([x(value)] * 2, [middle + row * 0.2, middle + row * 0.38]) for _, value in one.lives)
        kind, shape = VERDICTS.get(one.verdict or "", ("ink", "circle"))
        drawn = interval_mark(one.mean, one.low, one.high, x, middle, paper.size * 0.42, shape, _told(one))
        parts.append(coloured(kind, stroke(lives, 0.9, opacity=0.6) + drawn))
        said = (f"n = {one.n}" if one.missing else "") + ("†" if one.flags else "")
        parts.append(text(x(one.mean), middle - paper.size * 0.6, said, paper.small * 0.85, "soft", at="middle"))
    return "".join(parts)


def _told(one: GroupValue) -> str:
    width = None if one.low is None or one.high is None else one.high - one.low
    reach = "" if width is None else f", interval {interval(one.low, one.high, ' to ')}"
    without = f" ({one.missing} without a value)" if one.missing else ""
    parts = (one.verdict or "", flags_text(one.flags))
    return "; ".join(
        (
            f"{one.group}: {number(one.mean, width)}{reach}, {plural(one.n, 'lifetime')}{without}",
            *(part for part in parts if part),
        )
    )


@figure(groups.stability_plasticity)
def stability_plasticity(data: ScatterData, looks: Looks, paper: Paper) -> Figure:
    """What is kept against what is carried over: performance maintenance and forward transfer, a point per lifetime."""
    del looks
    return _scatter(data, paper)


@figure(groups.efficiency_maintenance)
def efficiency_maintenance(data: ScatterData, looks: Looks, paper: Paper) -> Figure:
    """How fast against how lasting: sample efficiency and performance maintenance, a point per lifetime."""
    del looks
    return _scatter(data, paper)


@figure(groups.performance_cost)
def performance_cost(data: ScatterData, looks: Looks, paper: Paper) -> Figure:
    """What is achieved against what it costs: relative performance and cost overhead, a point per lifetime."""
    del looks
    return _scatter(data, paper)


def _scatter(data: ScatterData, paper: Paper) -> Figure:
    drawn = looks_of(data.groups)
    points = [one for cloud in data.clouds for one in cloud.points]
    names = data.x.replace("_", " "), data.y.replace("_", " ")

    def draw(inner: Paper, top: float) -> tuple[str, float]:
        em = inner.size
        high = top + em * 1.8
        y = scale_over([data.y_threshold, *(one.y for one in points)], high + min(inner.width * 0.66, em * 26), high)
        x = scale_over([data.x_threshold, *(one.x for one in points)], margin(y, inner), inner.width)
        panel = Panel(x, y)
        parts = [frame(panel, inner, x=names[0], y=names[1])]
        if data.x_threshold is not None:
            parts.append(rule(x(data.x_threshold), high, x(data.x_threshold), panel.bottom, "axis", 1, _DASH))
        if data.y_threshold is not None:
            parts.append(rule(panel.left, y(data.y_threshold), panel.right, y(data.y_threshold), "axis", 1, _DASH))
        for cloud in data.clouds:
            look = drawn[cloud.group]
            dots = "".join(
                marker(
                    look.shape,
                    x(one.x),
                    y(one.y),
                    em * 0.38,
                    f"{one.id}: {names[0]} {number(one.x)}, {names[1]} {number(one.y)}",
                )
                for one in cloud.points
            )
            middle = marker(look.shape, x(cloud.mean[0]), y(cloud.mean[1]), em * 0.75, f"{cloud.group}, the mean")
            parts.append(coloured(look, f'<g opacity=".6">{dots}</g>{middle}'))
        return "".join(parts), panel.bottom + inner.small * 3.1

    entries = [
        Entry(one.group + (f" ({one.missing} without both)" if one.missing else ""), drawn[one.group], "marker")
        for one in data.clouds
    ]
    return compose(paper, "", f"{names[1]} against {names[0]}, a point per lifetime, the mean larger", draw, entries)


@figure(groups.shares)
def shares(data: SharesData, looks: Looks, paper: Paper) -> Figure:
    """The share of lifetimes beyond each threshold, metric by metric and group by group."""
    del looks
    drawn = looks_of(data.groups)

    def draw(inner: Paper, top: float) -> tuple[str, float]:
        em, small = inner.size, inner.small
        row, gap = em * (1.5 if len(data.groups) <= 4 else 1.1), em * 0.8
        names = [f"{one.metric.replace('_', ' ')}" for one in data.metrics]
        left = min(inner.width * 0.4, max(width_of(name, small) for name in names)) + em
        deep = (row * len(data.groups) + gap) * len(names)
        panel = Panel(Scale(0, 1, left, inner.width - em * 3), Scale(1, 0, top + deep, top))
        marks = [(part, f"{part:.0%}".replace("%", " %")) for part in (0, 0.5, 1.0)]
        parts = [
            frame(
                panel, inner, x_ticks=marks, y_ticks=False, across=False, down=True, x="lifetimes beyond the threshold"
            )
        ]
        for at, name in enumerate(names):
            head = top + at * (row * len(data.groups) + gap)
            middle = head + row * len(data.groups) / 2 + small * 0.34
            parts.append(text(left - em * 0.6, middle, fitting(name, small, left - em * 0.6), small, at="end"))
            for rank, one in enumerate(data.outlines):
                share, place = one.shares[at], head + rank * row
                if share is None:
                    parts.append(text(left + em * 0.4, place + row * 0.75, "not measured", small * 0.9, "soft"))
                    continue
                words = f"{one.group}: {round(share * one.counts[at])} of {plural(one.counts[at], 'lifetime')}"
                wide = max(1.5, panel.x(share) - left)
                parts.append(coloured(drawn[one.group], rect(left, place, wide, row * 0.82, words=words)))
                count = f"{round(share * one.counts[at])}/{one.counts[at]}"
                parts.append(text(left + wide + em * 0.3, place + row * 0.72, count, small * 0.9, "soft"))
        return "".join(parts), top + deep + small * 3.1

    entries = [Entry(one.group, drawn[one.group], "area") for one in data.outlines]
    return compose(paper, "", "The share of lifetimes beyond each threshold", draw, entries)


@figure(groups.profiles)
def profiles(data: ProfilesData, looks: Looks, paper: Paper) -> Figure:
    """The share of lifetimes and tasks that end above each level, with a 95 % band."""
    del looks
    drawn = looks_of(data.groups)

    def draw(inner: Paper, top: float) -> tuple[str, float]:
        em = inner.size
        y = Scale(0, 1.02, top + em * 1.6 + min(inner.width * 0.5, em * 20), top + em * 1.6)
        panel = Panel(Scale(0, 1, margin(y, inner), inner.width - em), y)
        parts = [
            frame(
                panel,
                inner,
                x="level of the last evaluation, 0–1 of the task's range",
                y="share of lifetimes and tasks above it",
            )
        ]
        bodies = []
        for one in data.profiles:
            look, x = drawn[one.group], panel.x(data.levels)
            band = area(x, y(one.low), y(one.high), 0.15)
            bodies.append(
                coloured(look, band + stroke(path(x, y(one.share)), em * 0.17, dash=look.dash, words=one.group))
            )
        return "".join(parts) + panel.inside("".join(bodies)), panel.bottom + inner.small * 3.1

    entries = [
        Entry(f"{one.group} (n = {one.n})", drawn[one.group], dash=drawn[one.group].dash) for one in data.profiles
    ]
    return compose(
        paper, "", "Performance profiles: the share of lifetimes and tasks that end above each level", draw, entries
    )


@figure(groups.power)
def power(data: PowerData, looks: Looks, paper: Paper) -> Figure:
    """The chance that so many lifetimes show what these suggest, one panel per group."""
    del looks
    drawn = looks_of(data.metrics)
    known = {one.metric for panel in data.panels for one in panel.curves}
    counts = np.array(data.lifetimes, dtype=np.float64)

    def curves(at: int, place: Panel, inner: Paper) -> str:
        level, wanted = place.y(data.wanted), f"{100 * data.wanted:g} %"
        parts = [rule(place.left, level, place.right, level, "axis", 1, _DASH)]
        parts.append(text(place.right, level - inner.small * 0.3, wanted, inner.small * 0.9, "soft", at="end"))
        for one in data.panels[at].curves:
            look = drawn[one.metric]
            words = f"{one.metric.replace('_', ' ')}, {plural(one.n, 'lifetime')}: {one.now:.0%}".replace("%", " %")
            dot = marker(look.shape, place.x(min(one.n, counts[-1])), place.y(one.now), inner.size * 0.42, words)
            parts.append(coloured(look, stroke(path(place.x(counts), place.y(one.power)), 1.7, dash=look.dash) + dot))
        return "".join(parts)

    cells = [Cell(panel.group, [counts[[0, -1]]], [np.array([0.0, 1.0])]) for panel in data.panels]
    entries = [
        Entry(name.replace("_", " "), drawn[name], "both", drawn[name].dash) for name in data.metrics if name in known
    ]
    label = "Power of the threshold test by the number of lifetimes"
    title = "Power of the threshold test"
    return multiples(cells, curves, paper, title, label, x="lifetimes", y="power", entries=entries, height=17)


@figure(learners.capabilities)
def capabilities(data: CapabilitiesData, looks: Looks, paper: Paper) -> Figure:
    """Each learner's score in each Core Capability of 2019, beside experts; points are its syllabi."""
    del looks
    drawn, count = looks_of(data.learners), len(data.learners)
    scores = [
        each for one in data.found for each in (one.score, *(part.score for part in one.syllabi)) if each is not None
    ]

    def draw(inner: Paper, top: float) -> tuple[str, float]:
        em, small = inner.size, inner.small
        left = max(width_of(name, small) for name in data.capabilities) + em
        bar, rows = em * 1.5, len(data.capabilities)
        row = bar * count + em * 0.9
        reach = scale_over([0.0, 1.0, *scores], left, inner.width - em)
        panel = Panel(Scale(0, reach.high, left, inner.width - em), Scale(rows, 0, top + row * rows, top))
        parts = [
            frame(
                panel,
                inner,
                y_ticks=False,
                across=False,
                x="score: mean ratio to experts (dashed: as good as an expert)",
            )
        ]
        for name_at, name in enumerate(data.capabilities):
            parts.append(text(left - em * 0.6, top + (name_at + 0.5) * row, name, small, at="end"))
        for at, one in enumerate(data.found):
            learner, place = divmod(at, rows)
            y = top + place * row + learner * bar + em * 0.3
            if one.score is None:
                parts.append(
                    text(
                        left + em * 0.5, y + bar * 0.7, fitting(one.why or "", small, panel.right - left), small, "soft"
                    )
                )
                continue
            words = f"{one.learner}, {one.name}: {number(one.score)}"
            dots = "".join(
                marker("circle", panel.x(part.score), y + bar * 0.42, em * 0.25, f"{part.name}: {number(part.score)}")
                for part in one.syllabi
                if part.score is not None
            )
            parts.append(
                coloured(
                    drawn[one.learner], rect(left, y, panel.x(one.score) - left, bar * 0.85, opacity=0.75, words=words)
                )
            )
            parts.append(coloured("ink", dots))
        parts.append(rule(panel.x(1.0), top, panel.x(1.0), panel.bottom, "axis", 1, _DASH))
        return "".join(parts), panel.bottom + small * 3.1

    entries = [Entry(one, drawn[one], "area") for one in data.learners] if count > 1 else []
    return compose(paper, "Core Capabilities", "Scores of Core Capabilities beside experts", draw, entries)
