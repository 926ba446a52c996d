"""Figures of many lifetimes: metrics against thresholds, trade-offs, conditions, profiles, power."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.errors import UnknownName
from perdure.report.figures.axes import INK, PALE, View, below, empty, fitted, headed, paper, short, tidy, wrapped
from perdure.report.material import Material
from perdure.report.palette import GOOD, NEUTRAL, POOR, Look, looks
from perdure.stats.model import Group

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "VERDICTS",
    "efficiency_maintenance",
    "final_scores",
    "metrics",
    "power",
    "profiles",
    "radar",
    "shown_metrics",
    "stability_plasticity",
]

VERDICTS = {"met": (GOOD, "o"), "not met": (POOR, "X"), "undecided": (NEUTRAL, "s")}
_LEVELS = np.linspace(0, 1, 101)


def metrics(material: Material, view: View | None = None) -> Figure:
    """Each metric's mean with its 95 % interval, group by group, against its threshold."""
    view = view or View()
    names = [name for name in shown_metrics(material, view) if any(_has(group, name) for group in material.groups)]
    if not names:
        return empty(material.apart or "no group of lifetimes has a value of a metric with a threshold")
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    groups = material.groups
    figure = paper(0.5 + rows * fitted(len(groups), 1.15, 0.7 + 0.26 * len(groups), 4.5), 10)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for name, axes in zip(names, panels.flat, strict=False):
        _against(axes, material, name)
    for spare in list(panels.flat)[len(names) :]:
        spare.set_axis_off()
    panels[0, 0].set_ylim(len(groups) - 0.4, -0.6)
    for row in panels:
        row[0].set_yticks(range(len(groups)), [short(group.group, 30) for group in groups])
    _verdict_legend(figure)
    return figure


def stability_plasticity(material: Material, view: View | None = None) -> Figure:
    """What is kept against what is carried over: performance maintenance and forward transfer, a point per lifetime."""
    return _scatter(material, "forward_transfer", "performance_maintenance", view)


def efficiency_maintenance(material: Material, view: View | None = None) -> Figure:
    """How fast against how lasting: sample efficiency and performance maintenance, a point per lifetime."""
    return _scatter(material, "performance_maintenance", "sample_efficiency", view)


def radar(material: Material, view: View | None = None) -> Figure:
    """The share of lifetimes beyond each threshold, spoke by spoke, ordered by condition of lifelong learning."""
    view = view or View()
    declared = material.survey.metrics
    names = sorted(
        (
            name
            for name in shown_metrics(material, view)
            if any(_share(group, name) is not None for group in material.groups)
        ),
        key=lambda name: declared[name].condition,
    )
    if len(names) < 3:
        return empty("a radar needs three metrics that have a threshold and a value")
    angles = np.linspace(0, 2 * np.pi, len(names), endpoint=False)
    figure = paper(6.2, 8.4)
    axes = figure.subplots(subplot_kw={"projection": "polar"})
    axes.set_theta_offset(np.pi / 2)  # type: ignore[attr-defined]
    axes.set_theta_direction(-1)  # type: ignore[attr-defined]
    drawn = _looks(material)
    for group in material.groups:
        shares = np.array([_share(group, name) or 0.0 for name in names])
        look = drawn[group.group]
        closed = np.append(angles, angles[0]), np.append(shares, shares[0])
        axes.plot(*closed, color=look.colour, linestyle=look.line, linewidth=1.8, marker=look.marker, markersize=5)
        axes.fill(*closed, color=look.colour, alpha=0.10)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.25, 0.5, 0.75, 1], ["25 %", "50 %", "75 %", "100 %"], fontsize=7.5, color=PALE)
    words = [name.replace("_", " ") + "\n" + (declared[name].condition or "no condition") for name in names]
    axes.set_xticks(angles, words, fontsize=8, color=INK)
    axes.tick_params(pad=8)
    for label, angle in zip(axes.get_xticklabels(), angles, strict=True):
        across = np.sin(angle)
        label.set_horizontalalignment("center" if abs(across) < 0.2 else "left" if across > 0 else "right")
    axes.grid(color="#000000", alpha=0.12)
    axes.spines["polar"].set_color(PALE)
    axes.set_title("Lifetimes beyond the threshold", loc="left", fontsize=10.5, color=INK, pad=22)
    _group_legend(figure, material, drawn)
    return figure


def profiles(material: Material, view: View | None = None) -> Figure:
    """The share of lifetimes and tasks that end above each level, with a 95 % band."""
    from perdure.stats.robust import performance_profile

    del view
    figure = paper(3.8)
    axes = tidy(
        figure.subplots(),
        "Performance profiles",
        "level of the last evaluation, 0–1 of the task's range",
        "share of lifetimes and tasks above it",
    )
    drawn = _looks(material)
    any_drawn = False
    for group in material.groups:
        scores = final_scores(material, group)
        if not scores:
            continue
        any_drawn = True
        look = drawn[group.group]
        share, low, high = performance_profile(scores, _LEVELS, np.random.default_rng(0), resamples=500)
        axes.fill_between(_LEVELS, low, high, color=look.colour, alpha=0.15, linewidth=0)
        axes.plot(_LEVELS, share, color=look.colour, linestyle=look.line, linewidth=1.9)
    if not any_drawn:
        return empty("no group of lifetimes was evaluated")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    _group_legend(figure, material, drawn)
    return figure


def power(material: Material, view: View | None = None) -> Figure:
    """The chance that so many lifetimes show what these suggest, one panel per group; one-tailed at 5 %."""
    from matplotlib.lines import Line2D

    from perdure.stats.power import power as power_of

    view = view or View()
    names = shown_metrics(material, view)
    asked = material.group(view.group) if view.group else None
    effects = {
        group.group: found for group in ((asked,) if asked else material.groups) if (found := _effects(group, names))
    }
    if not effects:
        return empty("power needs two lifetimes or more, and a metric with a threshold whose values differ")
    counts = np.unique(np.round(np.geomspace(2, 60, 40)).astype(int))
    columns = min(2, len(effects))
    rows = -(-len(effects) // columns)
    figure = paper(0.6 + rows * 3.2)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    drawn = looks(names)
    for (group_name, found), axes in zip(effects.items(), panels.flat, strict=False):
        tidy(axes, wrapped(group_name, 108 // columns), "lifetimes", "power")
        for name, (effect, n) in found.items():
            look = drawn[name]
            reached = [power_of(int(count), effect, 0.05, "one") for count in counts]
            axes.plot(counts, reached, color=look.colour, linestyle=look.line, linewidth=1.7)
            now = power_of(n, effect, 0.05, "one")
            axes.plot(n, now, look.marker, color=look.colour, markersize=6, markeredgecolor="white")
        axes.axhline(0.9, color=PALE, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.text(60, 0.905, "90 %", ha="right", va="bottom", fontsize=8, color=PALE)
        axes.set_ylim(0, 1.03)
        axes.set_xlim(2, 60)
    for spare in list(panels.flat)[len(effects) :]:
        spare.set_axis_off()
    headed(figure, "Power of the threshold test")
    shown = [name for name in names if any(name in found for found in effects.values())]
    handles = [
        Line2D([], [], color=(look := drawn[name]).colour, linestyle=look.line, marker=look.marker, linewidth=1.7)
        for name in shown
    ]
    below(figure, handles, [name.replace("_", " ") for name in shown])
    return figure


def _effects(group: Group, names: Sequence[str]) -> dict[str, tuple[float, int]]:
    """Metric → its distance from the threshold in standard deviations, and the number of lifetimes behind it."""
    return {
        name: (abs(one.mean - one.bar.threshold) / one.sd, one.n)
        for name in names
        if (one := group.estimates.get(name)) and one.mean is not None and one.sd and one.bar.threshold is not None
    }


def shown_metrics(material: Material, view: View) -> tuple[str, ...]:
    """The metrics asked for, or those that have a threshold."""
    known = material.survey.metrics
    for name in view.metrics:
        if name not in known:
            raise UnknownName("metric", name, known)
    judged = [name for name, one in known.items() if one.threshold is not None]
    # A second reading of a metric (…_contrast, …_terminal) says the same again; tables have it.
    return view.metrics or tuple(name for name in judged if not any(name.startswith(f"{other}_") for other in judged))


def final_scores(material: Material, group: Group) -> list[np.ndarray]:
    """Per task, the last evaluation of each lifetime of the group, as a share of the task's range."""
    found: dict[str, list[float]] = {}
    for one in material.of_group(group):
        last = {part.block.task: part.mean for part in one.sketch.stretches if part.block.mode == "evaluate"}
        for task, mean in last.items():
            scaled = one.sketch.scaled(task, np.array([mean]))
            found.setdefault(task, []).append(float((scaled[0] - 1) / 100))
    return [np.array(values) for values in found.values()]


# --- parts ---------------------------------------------------------------------------------------


def _looks(material: Material) -> dict[str, Look]:
    return looks(group.group for group in material.groups)


def _has(group: Group, name: str) -> bool:
    return name in group.estimates and group.estimates[name].mean is not None


def _share(group: Group, name: str) -> float | None:
    return group.estimates[name].above if name in group.estimates else None


def _against(axes: Axes, material: Material, name: str) -> None:
    tidy(axes, name.replace("_", " "))
    axes.title.set_fontsize(9)
    axes.grid(visible=False, axis="y")
    threshold = material.survey.metrics[name].threshold
    if threshold is not None:
        axes.axvline(threshold, color=INK, linewidth=1.0, linestyle=(0, (3, 2)))
    for at, group in enumerate(material.groups):
        if not _has(group, name):
            axes.text(
                0.5,
                at,
                "no value",
                transform=axes.get_yaxis_transform(),
                ha="center",
                va="center",
                fontsize=7.5,
                color=PALE,
            )
            continue
        one = group.estimates[name]
        assert one.mean is not None
        colour, marker = VERDICTS.get(one.verdict or "", (INK, "o"))
        values = [life.score.metrics[name].value for life in material.of_group(group) if name in life.score.metrics]
        known = [value for value in values if value is not None]
        axes.plot(known, np.full(len(known), at + 0.22), "|", color=colour, alpha=0.55, markersize=5)
        if one.low is not None and one.high is not None:
            axes.plot([one.low, one.high], [at, at], color=colour, linewidth=2.2, solid_capstyle="butt")
        axes.plot(one.mean, at, marker, color=colour, markersize=7, markeredgecolor="white", markeredgewidth=0.8)
    axes.locator_params(axis="x", nbins=5)


def _scatter(material: Material, x: str, y: str, view: View | None) -> Figure:
    del view
    declared = material.survey.metrics
    points: dict[str, list[tuple[float, float]]] = {}
    for group in material.groups:
        for one in material.of_group(group):
            pair = [one.score.metrics[name].value if name in one.score.metrics else None for name in (x, y)]
            if pair[0] is not None and pair[1] is not None:
                points.setdefault(group.group, []).append((pair[0], pair[1]))
    if not points:
        return empty(f"no lifetime has both {x.replace('_', ' ')} and {y.replace('_', ' ')}")
    figure = paper(4.8, 6.6)
    axes = tidy(figure.subplots(), "", x.replace("_", " "), y.replace("_", " "))
    drawn = _looks(material)
    for name, found in points.items():
        across, up = np.array(found).T
        look = drawn[name]
        axes.scatter(
            across, up, s=34, color=look.colour, marker=look.marker, alpha=0.75, linewidth=0.6, edgecolor="white"
        )
        axes.plot(across.mean(), up.mean(), look.marker, color=look.colour, markersize=13, markeredgecolor=INK)
    for name, line in ((x, axes.axvline), (y, axes.axhline)):
        threshold = declared[name].threshold
        if threshold is not None:
            line(threshold, color=INK, linewidth=1.0, linestyle=(0, (3, 2)))
    axes.margins(0.12)
    axes.set_title("small: lifetimes · large: their mean · dashed: thresholds", loc="left", fontsize=8, color=PALE)
    _group_legend(figure, material, drawn, only=tuple(points))
    return figure


def _group_legend(figure: Figure, material: Material, drawn: dict[str, Look], only: Sequence[str] = ()) -> None:
    from matplotlib.lines import Line2D

    names = [group.group for group in material.groups if not only or group.group in only]
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
    below(figure, handles, names)


def _verdict_legend(figure: Figure) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=colour, marker=marker, linewidth=2.2) for colour, marker in VERDICTS.values()]
    below(
        figure,
        [*handles, Line2D([], [], color=INK, linewidth=1, linestyle=(0, (3, 2)))],
        [*VERDICTS, "threshold (ticks: lifetimes)"],
        most=40,
    )
