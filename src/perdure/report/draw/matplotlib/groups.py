"""Figures of many lifetimes: metrics against thresholds, trade-offs, conditions, profiles, power."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.report.draw.data.capabilities import CapabilitiesData
from perdure.report.draw.data.groups import (
    MetricPanel,
    MetricsData,
    PowerData,
    ProfilesData,
    RadarData,
    ScatterData,
)
from perdure.report.draw.matplotlib.axes import (
    INK,
    PALE,
    Looks,
    below,
    fitted,
    headed,
    paper,
    plain,
    short,
    tidy,
    wrapped,
)
from perdure.report.palette import GOOD, NEUTRAL, POOR, Look, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "VERDICTS",
    "capabilities",
    "efficiency_maintenance",
    "metrics",
    "performance_cost",
    "power",
    "profiles",
    "radar",
    "stability_plasticity",
]

VERDICTS = {"met": (GOOD, "o"), "not met": (POOR, "X"), "undecided": (NEUTRAL, "s")}
_DASHED = (0, (3, 2))


def metrics(data: MetricsData, tasks: Looks) -> Figure:
    """Each metric's mean with its 95 % interval, group by group, against its threshold."""
    from matplotlib.lines import Line2D

    del tasks
    count = len(data.groups)
    columns = min(3, len(data.panels))
    rows = -(-len(data.panels) // columns)
    figure = paper(0.5 + rows * fitted(count, 1.15, 0.7 + 0.26 * count, 4.5), 10)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for panel, axes in zip(data.panels, grid.flat, strict=False):
        _against(axes, panel)
    for spare in list(grid.flat)[len(data.panels) :]:
        spare.set_axis_off()
    grid[0, 0].set_ylim(count - 0.4, -0.6)
    for row in grid:
        row[0].set_yticks(range(count), [short(group, 30) for group in data.groups])
    handles = [Line2D([], [], color=colour, marker=marker, linewidth=2.2) for colour, marker in VERDICTS.values()]
    flagged = [one for panel in data.panels for one in panel.values if one.flags]
    below(
        figure,
        [
            *handles,
            Line2D([], [], color=INK, linewidth=1, linestyle=_DASHED),
            *([Line2D([], [], linewidth=0)] if flagged else []),
        ],
        [*VERDICTS, "threshold (ticks: lifetimes)", *(["†: some values are flagged"] if flagged else [])],
        most=40,
    )
    return figure


def stability_plasticity(data: ScatterData, tasks: Looks) -> Figure:
    """What is kept against what is carried over: performance maintenance and forward transfer, a point per lifetime."""
    del tasks
    return _scatter(data)


def efficiency_maintenance(data: ScatterData, tasks: Looks) -> Figure:
    """How fast against how lasting: sample efficiency and performance maintenance, a point per lifetime."""
    del tasks
    return _scatter(data)


def performance_cost(data: ScatterData, tasks: Looks) -> Figure:
    """What is achieved against what it costs: relative performance and cost overhead, a point per lifetime."""
    del tasks
    return _scatter(data)


def radar(data: RadarData, tasks: Looks) -> Figure:
    """The share of lifetimes beyond each threshold, spoke by spoke, ordered by condition of lifelong learning."""
    del tasks
    angles = np.linspace(0, 2 * np.pi, len(data.spokes), endpoint=False)
    figure = paper(6.2, 8.4)
    axes = figure.subplots(subplot_kw={"projection": "polar"})
    axes.set_theta_offset(np.pi / 2)  # type: ignore[attr-defined]
    axes.set_theta_direction(-1)  # type: ignore[attr-defined]
    drawn = looks(data.groups)
    labels = []
    for one in data.outlines:
        look = drawn[one.group]
        shares = np.array([np.nan if share is None else share for share in one.shares])
        closed = np.append(angles, angles[0]), np.append(shares, shares[0])
        axes.plot(*closed, color=look.colour, linestyle=look.line, linewidth=1.8, marker=look.marker, markersize=5)
        absent = [spoke.metric for spoke, share in zip(data.spokes, one.shares, strict=True) if share is None]
        if not absent:  # an area that leaves out a spoke would look like a share of 0 there
            axes.fill(*closed, color=look.colour, alpha=0.10)
        labels.append(one.group + _not_measured(absent))
    axes.set_ylim(0, 1)
    axes.set_yticks([0.25, 0.5, 0.75, 1], ["25 %", "50 %", "75 %", "100 %"], fontsize=7.5, color=PALE)
    words = [one.metric.replace("_", " ") + "\n" + (one.condition or "no condition") for one in data.spokes]
    axes.set_xticks(angles, [plain(one) for one in words], fontsize=8, color=INK)
    axes.tick_params(pad=8)
    for label, angle in zip(axes.get_xticklabels(), angles, strict=True):
        across = np.sin(angle)
        label.set_horizontalalignment("center" if abs(across) < 0.2 else "left" if across > 0 else "right")
    axes.grid(color="#000000", alpha=0.12)
    axes.spines["polar"].set_color(PALE)
    axes.set_title("Lifetimes beyond the threshold", loc="left", fontsize=10.5, color=INK, pad=22)
    _group_legend(figure, [one.group for one in data.outlines], drawn, labels)
    return figure


def profiles(data: ProfilesData, tasks: Looks) -> Figure:
    """The share of lifetimes and tasks that end above each level, with a 95 % band."""
    del tasks
    figure = paper(3.8)
    axes = tidy(
        figure.subplots(),
        "Performance profiles",
        "level of the last evaluation, 0–1 of the task's range",
        "share of lifetimes and tasks above it",
    )
    drawn = looks(data.groups)
    for one in data.profiles:
        look = drawn[one.group]
        axes.fill_between(data.levels, one.low, one.high, color=look.colour, alpha=0.15, linewidth=0)
        axes.plot(data.levels, one.share, color=look.colour, linestyle=look.line, linewidth=1.9)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    labels = [f"{one.group} (n = {one.n})" for one in data.profiles]
    _group_legend(figure, [one.group for one in data.profiles], drawn, labels)
    return figure


def power(data: PowerData, tasks: Looks) -> Figure:
    """The chance that so many lifetimes show what these suggest, one panel per group."""
    from matplotlib.lines import Line2D

    del tasks
    columns = min(2, len(data.panels))
    rows = -(-len(data.panels) // columns)
    figure = paper(0.6 + rows * 3.2)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    drawn = looks(data.metrics)
    for panel, axes in zip(data.panels, grid.flat, strict=False):
        tidy(axes, wrapped(panel.group, 108 // columns), "lifetimes", "power")
        for one in panel.curves:
            look = drawn[one.metric]
            axes.plot(data.lifetimes, one.power, color=look.colour, linestyle=look.line, linewidth=1.7)
            axes.plot(one.n, one.now, look.marker, color=look.colour, markersize=6, markeredgecolor="white")
        axes.axhline(0.9, color=PALE, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.text(60, 0.905, "90 %", ha="right", va="bottom", fontsize=8, color=PALE)
        axes.set_ylim(0, 1.03)
        axes.set_xlim(2, 60)
    for spare in list(grid.flat)[len(data.panels) :]:
        spare.set_axis_off()
    headed(figure, "Power of the threshold test")
    known = {one.metric for panel in data.panels for one in panel.curves}
    shown = [name for name in data.metrics if name in known]
    handles = [
        Line2D([], [], color=(look := drawn[name]).colour, linestyle=look.line, marker=look.marker, linewidth=1.7)
        for name in shown
    ]
    below(figure, handles, [name.replace("_", " ") for name in shown])
    return figure


# --- parts ---------------------------------------------------------------------------------------


def _not_measured(absent: Sequence[str]) -> str:
    return f" (not measured: {', '.join(name.replace('_', ' ') for name in absent)})" if absent else ""


def _against(axes: Axes, panel: MetricPanel) -> None:
    tidy(axes, plain(panel.metric.replace("_", " ")))
    axes.title.set_fontsize(9)
    axes.grid(visible=False, axis="y")
    if panel.threshold is not None:
        axes.axvline(panel.threshold, color=INK, linewidth=1.0, linestyle=_DASHED)
    across = axes.get_yaxis_transform()
    for at, one in enumerate(panel.values):
        if one.mean is None:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}  # the threshold may run through it
            words = axes.text(0.5, at, "no value", transform=across, ha="center", va="center", bbox=box)
            words.set(fontsize=7.5, color=PALE)
            continue
        colour, marker = VERDICTS.get(one.verdict or "", (INK, "o"))
        known = [value for _, value in one.lives]
        axes.plot(known, np.full(len(known), at + 0.22), "|", color=colour, alpha=0.55, markersize=5)
        if one.low is not None and one.high is not None:
            axes.plot([one.low, one.high], [at, at], color=colour, linewidth=2.2, solid_capstyle="butt")
        axes.plot(one.mean, at, marker, color=colour, markersize=7, markeredgecolor="white", markeredgewidth=0.8)
        said = (f"n = {one.n}" if one.missing else "") + ("†" if one.flags else "")
        over = axes.annotate(said, (one.mean, at), xytext=(0, 4), textcoords="offset points", fontsize=7.5, color=INK)
        over.set(ha="center", va="bottom")
    axes.locator_params(axis="x", nbins=5)


def _scatter(data: ScatterData) -> Figure:
    figure = paper(4.8, 6.6)
    axes = tidy(figure.subplots(), "", data.x.replace("_", " "), data.y.replace("_", " "))
    drawn = looks(data.groups)
    for cloud in data.clouds:
        look = drawn[cloud.group]
        axes.scatter(
            [one.x for one in cloud.points],
            [one.y for one in cloud.points],
            s=34,
            color=look.colour,
            marker=look.marker,
            alpha=0.75,
            linewidth=0.6,
            edgecolor="white",
        )
        axes.plot(*cloud.mean, look.marker, color=look.colour, markersize=13, markeredgecolor=INK)
    for threshold, line in ((data.x_threshold, axes.axvline), (data.y_threshold, axes.axhline)):
        if threshold is not None:
            line(threshold, color=INK, linewidth=1.0, linestyle=_DASHED)
    axes.margins(0.12)
    axes.set_title("small: lifetimes · large: their mean · dashed: thresholds", loc="left", fontsize=8, color=PALE)
    labels = [f"{cloud.group} (n = {len(cloud.points)})" for cloud in data.clouds]
    _group_legend(figure, [cloud.group for cloud in data.clouds], drawn, labels)
    return figure


def _group_legend(figure: Figure, names: Sequence[str], drawn: dict[str, Look], labels: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            color=drawn[name].colour,
            linestyle=drawn[name].line,
            linewidth=1.8,
            marker=drawn[name].marker,
            markersize=6,
        )
        for name in names
    ]
    below(figure, handles, labels, most=70)


def capabilities(data: CapabilitiesData, tasks: Looks) -> Figure:
    """Each learner's score in each Core Capability of 2019, beside experts; points are its syllabi."""
    del tasks
    drawn, count = looks(data.learners), len(data.learners)
    rows = len(data.capabilities)
    figure = paper(1.2 + 0.32 * rows * max(1.4, count))
    axes = figure.subplots()
    for at, one in enumerate(data.found):
        learner, row = divmod(at, rows)
        place, colour = row + 0.8 * ((learner + 0.5) / count - 0.5), drawn[one.learner].colour
        if one.score is None:
            axes.annotate(plain(f"  {one.why}"), (0, place), fontsize=8, color=PALE, va="center")
            continue
        axes.barh(place, one.score, height=0.7 / count, color=colour, alpha=0.75, label=plain(one.learner))
        known = [each.score for each in one.syllabi if each.score is not None]
        axes.plot(known, [place] * len(known), "o", color=INK, markersize=4)
    axes.axvline(1, color=INK, linewidth=1, linestyle=_DASHED)
    axes.set_xlim(left=0)
    axes.set_yticks(range(rows), list(data.capabilities))
    axes.set_ylim(rows - 0.5, -0.5)
    tidy(axes, x="score: mean ratio to experts (dashed: as good as an expert)")
    handles, words = axes.get_legend_handles_labels()
    named = dict(zip(words, handles, strict=True))
    if count > 1:
        below(figure, list(named.values()), list(named))
    headed(figure, "Core Capabilities")
    return figure
