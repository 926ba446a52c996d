"""What figures of many lifetimes show: metrics against thresholds, trade-offs, conditions, profiles, power."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perdure.curves.arrays import Array
from perdure.curves.model import LOWEST, SCALED
from perdure.errors import UnknownName
from perdure.frozen import frozen
from perdure.metrics.cost import cost_overhead
from perdure.metrics.efficiency import relative_performance, sample_efficiency
from perdure.metrics.engine.declare import METRICS
from perdure.metrics.engine.metric import AveragedAs
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.transfer import forward_transfer
from perdure.reports.draw.data.view import Flagged, Nothing, View, flags_of
from perdure.reports.material import Material
from perdure.stats.model import Estimate, Group

__all__ = [
    "Cloud",
    "GroupValue",
    "MetricPanel",
    "MetricsData",
    "Outline",
    "Point",
    "PowerCurve",
    "PowerData",
    "PowerPanel",
    "Profile",
    "ProfilesData",
    "ScatterData",
    "Shared",
    "SharesData",
    "efficiency_maintenance",
    "metrics",
    "performance_cost",
    "power",
    "profiles",
    "shares",
    "shown_metrics",
    "stability_plasticity",
]

_LEVELS = np.linspace(0, 1, 101)
_RESAMPLES = 500


@frozen
class GroupValue:
    """One metric over the lifetimes of one group."""

    group: str
    n: int
    """Lifetimes with a value."""
    missing: int
    mean: float | None
    low: float | None
    high: float | None
    verdict: str | None
    why: str | None
    lives: tuple[tuple[str, float], ...]
    """Each lifetime that has a value, and the value."""
    flags: tuple[Flagged, ...]


@frozen
class MetricPanel:
    """One metric, group by group, against its threshold."""

    metric: str
    threshold: float | None
    margin: float
    """By how much the threshold may be missed."""
    higher: bool
    """Whether higher is better."""
    scale: AveragedAs
    bar: str
    values: tuple[GroupValue, ...]
    """One per group, in their order."""


@frozen
class MetricsData:
    """Metrics against thresholds."""

    groups: tuple[str, ...]
    panels: tuple[MetricPanel, ...]


@frozen
class Point:
    """A lifetime that has both values."""

    id: str
    x: float
    y: float
    flags: tuple[str, ...]


@frozen
class Cloud:
    """The lifetimes of a group that have both values, and their mean."""

    group: str
    points: tuple[Point, ...]
    mean: tuple[float, float]
    missing: int
    """Lifetimes of the group that lack one of the values."""


@frozen
class ScatterData:
    """Two metrics against each other."""

    x: str
    y: str
    x_threshold: float | None
    y_threshold: float | None
    groups: tuple[str, ...]
    clouds: tuple[Cloud, ...]


@frozen
class Shared:
    """A metric beyond whose threshold lifetimes are counted."""

    metric: str
    condition: str
    bar: str


@frozen
class Outline:
    """The share of a group's lifetimes beyond each threshold; None where the group has no value, which is not 0 %."""

    group: str
    shares: tuple[float | None, ...]
    counts: tuple[int, ...]
    """Lifetimes with a value, metric by metric."""


@frozen
class SharesData:
    """Shares of lifetimes beyond thresholds."""

    groups: tuple[str, ...]
    metrics: tuple[Shared, ...]
    outlines: tuple[Outline, ...]


@frozen(eq=False)
class Profile:
    """The share of a group's lifetimes and tasks that end above each level, and its 95 % band."""

    group: str
    share: Array
    low: Array
    high: Array
    n: int
    """Lifetimes with a last evaluation on its task's range."""
    tasks: int


@frozen(eq=False)
class ProfilesData:
    """Performance profiles."""

    groups: tuple[str, ...]
    levels: Array
    profiles: tuple[Profile, ...]


@frozen(eq=False)
class PowerCurve:
    """The power of one metric's threshold test by the number of lifetimes."""

    metric: str
    effect: float
    """Its distance from the threshold in standard deviations."""
    power: Array
    n: int
    """Lifetimes behind it now."""
    now: float


@frozen(eq=False)
class PowerPanel:
    """The power of a group's tests."""

    group: str
    curves: tuple[PowerCurve, ...]


@frozen(eq=False)
class PowerData:
    """Power, group by group, of the test that decides."""

    metrics: tuple[str, ...]
    lifetimes: tuple[int, ...]
    panels: tuple[PowerPanel, ...]
    wanted: float = 0.9
    """The power that the figure marks."""


def metrics(material: Material, view: View | None = None) -> MetricsData | Nothing:
    """Each shown metric of which a group has a value."""
    groups = material.groups
    names = [
        name
        for name in shown_metrics(material, view or View())
        if any(_estimate(group, name).mean is not None for group in groups)
    ]
    if not names:
        return Nothing(material.apart or "no group of lifetimes has a value of a metric with a threshold")
    declared = material.survey.metrics
    panels = tuple(
        MetricPanel(
            name,
            declared[name].threshold,
            max((_estimate(group, name).decision.margin for group in groups), default=0.0),
            declared[name].better == "higher",
            declared[name].scale,
            declared[name].bar,
            tuple(_value(material, group, name) for group in groups),
        )
        for name in names
    )
    return MetricsData(_names(material), panels)


def stability_plasticity(material: Material, view: View | None = None) -> ScatterData | Nothing:
    """Forward transfer and performance maintenance, a point per lifetime."""
    del view
    return _scatter(material, forward_transfer.name, performance_maintenance.name)


def efficiency_maintenance(material: Material, view: View | None = None) -> ScatterData | Nothing:
    """Performance maintenance and sample efficiency, a point per lifetime."""
    del view
    return _scatter(material, performance_maintenance.name, sample_efficiency.name)


def performance_cost(material: Material, view: View | None = None) -> ScatterData | Nothing:
    """Cost overhead and relative performance, both beside experts, a point per lifetime."""
    del view
    return _scatter(material, cost_overhead.name, relative_performance.name)


def shares(material: Material, view: View | None = None) -> SharesData | Nothing:
    """The shown metrics of which a group has a share, ordered by condition of lifelong learning."""
    declared, groups = material.survey.metrics, material.groups
    names = [
        name
        for name in shown_metrics(material, view or View())
        if any(_estimate(group, name).above is not None for group in groups)
    ]
    if not names:
        return Nothing("shares need a metric that has a threshold, and lifetimes with a value of it")
    names.sort(key=lambda name: declared[name].condition)
    outlines = []
    for group in groups:
        found = [_estimate(group, name) for name in names]
        outlines.append(Outline(group.group, tuple(one.above for one in found), tuple(one.n for one in found)))
    shared = tuple(Shared(name, declared[name].condition, declared[name].bar) for name in names)
    return SharesData(_names(material), shared, tuple(outlines))


def profiles(material: Material, view: View | None = None) -> ProfilesData | Nothing:
    """Each group's profile over the last evaluation of every task."""
    from perdure.stats.robust import performance_profile

    del view
    made = []
    for group in material.groups:
        scores, count = _final_scores(material, group)
        if scores:
            drawn = performance_profile(scores, _LEVELS, np.random.default_rng(0), resamples=_RESAMPLES)
            made.append(Profile(group.group, *drawn, n=count, tasks=len(scores)))
    if not made:
        return Nothing("no group of lifetimes was evaluated")
    return ProfilesData(_names(material), _LEVELS, tuple(made))


def power(material: Material, view: View | None = None) -> PowerData | Nothing:
    """The power of each group's threshold tests at 2 to 60 lifetimes, and at those there are."""
    from perdure.stats.power import power as power_of

    view = view or View()
    names = shown_metrics(material, view)
    asked = material.group(view.group) if view.group else None
    lifetimes = tuple(int(one) for one in np.unique(np.round(np.geomspace(2, 60, 40))))
    panels = []
    for group in (asked,) if asked else material.groups:
        curves = []
        for name in names:
            one = _estimate(group, name)
            if one.mean is None or not one.sd or one.bar.threshold is None:
                continue
            effect = _effect(one, one.bar.threshold, one.mean, one.sd)
            tails = one.decision.tails  # of the test that decides, at the level of its interval
            alpha = (1 - one.level) / 2 if tails == "one" else 1 - one.level
            reached = np.array([power_of(count, effect, alpha, tails) for count in lifetimes])
            curves.append(PowerCurve(name, effect, reached, one.n, power_of(one.n, effect, alpha, tails)))
        if curves:
            panels.append(PowerPanel(group.group, tuple(curves)))
    if not panels:
        return Nothing("power needs two lifetimes or more, and a metric with a threshold whose values differ")
    return PowerData(names, lifetimes, tuple(panels))


def shown_metrics(material: Material, view: View) -> tuple[str, ...]:
    """The metrics asked for, or the headline ones."""
    known = material.survey.metrics
    asked = tuple(METRICS.canonical(one) for one in view.metrics)
    for name in asked:
        if name not in known:
            raise UnknownName("metric", name, known)
    judged = [name for name, one in known.items() if one.threshold is not None]
    # Logs lead with their headline metrics; what has none, with whatever has a threshold.
    kind = "matrix" if any(one.score.identity.unit for one in material.lives) else "log"
    leading = tuple(name for name in judged if known[name].headline == kind)
    return asked or leading or tuple(name for name in judged if not known[name].headline)


# --- parts ---------------------------------------------------------------------------------------


def _names(material: Material) -> tuple[str, ...]:
    return tuple(group.group for group in material.groups)


def _estimate(group: Group, name: str) -> Estimate:
    """What a group says about a metric; where it says nothing, that none has a value."""
    return group.estimates.get(name) or Estimate(name, group.group, 0, group.n)


def _effect(one: Estimate, threshold: float, mean: float, sd: float) -> float:
    """How far the mean lies from the threshold less its margin, in standard deviations on the scale that decides."""
    less = threshold - one.bar.sign * one.decision.margin
    if one.decision.scale == "log" and less > 0:
        return abs(float(np.log(mean) - np.log(less))) / sd
    return abs(mean - less) / sd


def _value(material: Material, group: Group, name: str) -> GroupValue:
    one, lives = _estimate(group, name), material.of_group(group)
    values = ((life.id, life.score.metrics[name].value) for life in lives if name in life.score.metrics)
    return GroupValue(
        group=group.group,
        n=one.n,
        missing=one.missing,
        mean=one.mean,
        low=one.low,
        high=one.high,
        verdict=None if one.mean is None else one.verdict,
        why=one.why,
        lives=tuple((name, value) for name, value in values if value is not None),
        flags=flags_of(lives, name),
    )


def _scatter(material: Material, x: str, y: str) -> ScatterData | Nothing:
    clouds = []
    for group in material.groups:
        lives = material.of_group(group)
        points = []
        for life in lives:
            across, up = (life.score.metrics.get(name) for name in (x, y))
            if across and up and across.value is not None and up.value is not None:
                flags = tuple(dict.fromkeys((*across.flags, *up.flags)))
                points.append(Point(life.id, across.value, up.value, flags))
        if points:
            mean = float(np.mean([one.x for one in points])), float(np.mean([one.y for one in points]))
            clouds.append(Cloud(group.group, tuple(points), mean, len(lives) - len(points)))
    if not clouds:
        return Nothing(f"no lifetime has both {x.replace('_', ' ')} and {y.replace('_', ' ')}")
    declared = material.survey.metrics
    thresholds = [declared[name].threshold if name in declared else None for name in (x, y)]
    return ScatterData(x, y, thresholds[0], thresholds[1], _names(material), tuple(clouds))


def _final_scores(material: Material, group: Group) -> tuple[Sequence[Array], int]:
    """Per task, the last evaluation of each lifetime as a share of the task's range; and how many lifetimes have one.

    A task whose values never differ has no range to take a share of.
    """
    found: dict[str, list[float]] = {}
    counted = 0
    for one in material.of_group(group):
        last = {part.block.task: part.mean for part in one.sketch.stretches if part.block.mode == "evaluate"}
        ranged = [task for task in last if (span := one.sketch.ranges.get(task)) and span.high > span.low]
        for task in ranged:
            scaled = float(one.sketch.scaled(task, np.array([last[task]]))[0])
            found.setdefault(task, []).append((scaled - LOWEST) / SCALED)
        counted += bool(ranged)
    return [np.array(values) for values in found.values()], counted
