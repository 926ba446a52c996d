"""Figures of many lifetimes: metrics against thresholds, trade-offs, shares, profiles, power, Core Capabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from perdure.curves.arrays import LOWEST, SCALED, Array
from perdure.metrics.cost import cost_overhead
from perdure.metrics.efficiency import relative_performance, sample_efficiency
from perdure.metrics.maintenance import performance_maintenance
from perdure.metrics.transfer import forward_transfer
from perdure.reports.axes import (
    Entry,
    Panel,
    PanelSpec,
    Scale,
    compose,
    frame,
    grid,
    interval_mark,
    margin,
    multiples,
    scale_over,
)
from perdure.reports.figures.declare import (
    FigureView,
    NothingToDrawError,
    Numbers,
    display_names,
    figure,
    figure_metrics,
    flags_of,
    flags_text,
)
from perdure.reports.palette import VERDICTS, looks
from perdure.reports.svg import (
    Canvas,
    Figure,
    area,
    colour_marks,
    ellipsize,
    marker,
    path,
    rect,
    rule,
    stroke,
    text,
    text_width,
)
from perdure.reports.thinned import thinned_lifetime
from perdure.stats.capabilities import CAPABILITIES
from perdure.stats.capabilities import capabilities as capabilities_of
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import Estimate, Group
from perdure.text import interval, number, percent, plural

_DASH = "4 3"
_LEVELS = np.linspace(0, 1, 101)
_RESAMPLES = 500


@figure
def metrics(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot each metric's mean with its interval, group by group, against its threshold."""
    groups, declared = data.groups, data.survey.metrics
    panels: list[Numbers] = []
    for name in figure_metrics(data, view, judged=False):
        estimates = [_estimate(group, name) for group in groups]
        if any(estimate.mean is not None for estimate in estimates):
            metric = declared[name]
            panels.append(
                {
                    "metric": name,
                    "threshold": metric.threshold,
                    "margin": max((estimate.margin for estimate in estimates), default=0.0),
                    "higher": metric.better == "higher",
                    "scale": metric.scale,
                    "bar": metric.bar,
                    "values": [_group_value(data, group, name) for group in groups],
                }
            )
    if not panels:
        raise NothingToDrawError(data.apart or "no group of lifetimes has a value of a metric with a threshold")
    names = display_names(data)

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        em, row = inner.size, inner.size * 2.2
        longest = max(text_width(name, inner.small) for name in names.values())
        room = min(inner.width * 0.3, longest * inner.enlargement)
        deep = em * 3.2 + row * len(names)
        places, bottom = grid(len(panels), inner, least=room + em * 13, height=deep, gap=em * 1.5, most=3)
        parts = [
            _metric_panel(
                panel, names, inner, left + room + em, top + above + em * 1.8, left + wide - em * 0.4, row, room
            )
            for panel, (left, above, wide) in zip(panels, places, strict=True)
        ]
        return "".join(parts), top + bottom

    intervals = dict.fromkeys(
        value["interval"] for panel in panels for value in panel["values"] if value["low"] is not None
    )
    note = "; ".join(["Ticks: lifetimes", *(f"lines: {interval_name}" for interval_name in intervals)])
    note += "; dashed: the threshold" if any(panel["threshold"] is not None for panel in panels) else ""
    note += "; shaded: what its margin allows." if any(panel["margin"] for panel in panels) else "."
    note += (
        " †: some values are flagged." if any(value["flags"] for panel in panels for value in panel["values"]) else ""
    )
    entries = [Entry(verdict, kind, "both", shape=shape) for verdict, (kind, shape) in VERDICTS.items()]
    label = "Means and intervals of metrics against their thresholds"
    return compose(canvas, "", label, draw, entries, note, {"groups": _names(data), "panels": panels})


def _group_value(data: GroupedSurvey, group: Group, name: str) -> Numbers:
    """Return one metric over the lifetimes of a group."""
    estimate, lives = _estimate(group, name), data.of_group(group)
    values = ((life.id, life.score.metrics[name].value) for life in lives if name in life.score.metrics)
    return {
        "group": group.group,
        "n": estimate.n,
        "missing": estimate.missing,
        "mean": estimate.mean,
        "low": estimate.low,
        "high": estimate.high,
        "interval": estimate.interval_name,
        "verdict": None if estimate.mean is None else estimate.verdict,
        "why": estimate.why,
        "lives": [(life, value) for life, value in values if value is not None],
        "flags": flags_of(lives, name),
    }


def _metric_panel(
    panel: Numbers,
    names: Mapping[str, str],
    canvas: Canvas,
    left: float,
    top: float,
    right: float,
    row: float,
    room: float,
) -> str:
    """Return one metric; the groups' names have `room` on its left."""
    threshold, values, small = panel["threshold"], panel["values"], canvas.small
    ends = [threshold, *(end for item in values for end in (item["mean"], item["low"], item["high"]))]
    lives = [value for item in values for _, value in item["lives"]]
    log = panel["scale"] == "log" and all(end > 0 for end in [*lives, *ends] if end is not None)
    x, bottom = scale_over([*ends, *lives], left, right, log=log), top + row * len(values)
    title = panel["metric"].replace("_", " ")
    parts = [frame(Panel(x, Scale(len(values), 0, bottom, top)), canvas, title=title, y_ticks=False, across=False)]
    if threshold is not None:
        by = panel["margin"]
        if by:
            allowed = max(threshold - by, x.low) if panel["higher"] else min(threshold + by, x.high)
            first, last = sorted((x(allowed), x(threshold)))
            parts.append(colour_marks("good", rect(first, top, last - first, bottom - top, opacity=0.1)))
        parts.append(rule(x(threshold), top, x(threshold), bottom, "axis", 1, _DASH))
    for index, item in enumerate(values):
        middle, mean = top + (index + 0.5) * row, item["mean"]
        name = ellipsize(names[item["group"]], small * canvas.enlargement, room)
        parts.append(text(left - canvas.size * 0.8, middle + small * 0.34, name, small, anchor="end"))
        if mean is None:
            parts.append(text((left + right) / 2, middle + small * 0.34, "no value", small, "soft", anchor="middle"))
            continue
        ticks = "".join(path([x(value)] * 2, [middle + row * 0.2, middle + row * 0.38]) for _, value in item["lives"])
        kind, shape = VERDICTS.get(item["verdict"] or "", ("ink", "circle"))
        words = _value_text(item)
        mark = interval_mark(mean, item["low"], item["high"], x, middle, canvas.size * 0.42, shape, words)
        parts.append(colour_marks(kind, stroke(ticks, 0.9, opacity=0.6) + mark))
        count = (f"n = {item['n']}" if item["missing"] else "") + ("†" if item["flags"] else "")
        parts.append(text(x(mean), middle - canvas.size * 0.6, count, small * 0.85, "soft", anchor="middle"))
    return "".join(parts)


def _value_text(item: Numbers) -> str:
    low, high = item["low"], item["high"]
    width = None if low is None or high is None else high - low
    ends = "" if width is None else f", {item['interval']} {interval(low, high, ' to ')}"
    without = f" ({item['missing']} without a value)" if item["missing"] else ""
    value = f"{item['group']}: {number(item['mean'], width)}{ends}, {plural(item['n'], 'lifetime')}{without}"
    return "; ".join(part for part in (value, item["verdict"], flags_text(item["flags"])) if part)


@figure
def stability_plasticity(data: GroupedSurvey, _: FigureView, canvas: Canvas) -> Figure:
    """Plot performance maintenance against forward transfer, a point per lifetime."""
    return _scatter(data, canvas, forward_transfer.name, performance_maintenance.name)


@figure
def efficiency_maintenance(data: GroupedSurvey, _: FigureView, canvas: Canvas) -> Figure:
    """Plot sample efficiency against performance maintenance, a point per lifetime."""
    return _scatter(data, canvas, performance_maintenance.name, sample_efficiency.name)


@figure
def performance_cost(data: GroupedSurvey, _: FigureView, canvas: Canvas) -> Figure:
    """Plot relative performance against cost overhead, a point per lifetime."""
    return _scatter(data, canvas, cost_overhead.name, relative_performance.name)


def _scatter(data: GroupedSurvey, canvas: Canvas, x_metric: str, y_metric: str) -> Figure:
    x_name, y_name = x_metric.replace("_", " "), y_metric.replace("_", " ")
    clouds: list[Numbers] = []
    for group in data.groups:
        lives = data.of_group(group)
        points: list[Numbers] = []
        for life in lives:
            across, up = (life.score.metrics.get(name) for name in (x_metric, y_metric))
            if across and up and across.value is not None and up.value is not None:
                flags = [str(flag) for flag in dict.fromkeys((*across.flags, *up.flags))]
                points.append({"id": life.id, "x": across.value, "y": up.value, "flags": flags})
        if points:
            mean = [float(np.mean([point[axis] for point in points])) for axis in ("x", "y")]
            missing = len(lives) - len(points)
            clouds.append({"group": group.group, "points": points, "mean": mean, "missing": missing})
    if not clouds:
        raise NothingToDrawError(f"no lifetime has both {x_name} and {y_name}")
    declared = data.survey.metrics
    x_bar, y_bar = (declared[name].threshold if name in declared else None for name in (x_metric, y_metric))
    names = _names(data)
    look_of = looks(names)
    every = [point for cloud in clouds for point in cloud["points"]]

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        em = inner.size
        high = top + em * 1.8
        y = scale_over([y_bar, *(point["y"] for point in every)], high + min(inner.width * 0.66, em * 26), high)
        x = scale_over([x_bar, *(point["x"] for point in every)], margin(y, inner), inner.width)
        panel = Panel(x, y)
        parts = [frame(panel, inner, x=x_name, y=y_name)]
        if x_bar is not None:
            parts.append(rule(x(x_bar), high, x(x_bar), panel.bottom, "axis", 1, _DASH))
        if y_bar is not None:
            parts.append(rule(panel.left, y(y_bar), panel.right, y(y_bar), "axis", 1, _DASH))
        for cloud in clouds:
            look, dots = look_of[cloud["group"]], ""
            for point in cloud["points"]:
                words = f"{point['id']}: {x_name} {number(point['x'])}, {y_name} {number(point['y'])}"
                dots += marker(look.shape, x(point["x"]), y(point["y"]), em * 0.38, words)
            across, up = cloud["mean"]
            middle = marker(look.shape, x(across), y(up), em * 0.75, f"{cloud['group']}, the mean")
            parts.append(colour_marks(look, f'<g opacity=".6">{dots}</g>{middle}'))
        return "".join(parts), panel.bottom + inner.small * 3.1

    entries = []
    for cloud in clouds:
        without = f" ({cloud['missing']} without both)" if cloud["missing"] else ""
        entries.append(Entry(display_names(data)[cloud["group"]] + without, look_of[cloud["group"]], "marker"))
    label = f"{y_name} against {x_name}, a point per lifetime, the mean larger"
    axes = {"x": x_metric, "y": y_metric, "x_threshold": x_bar, "y_threshold": y_bar, "groups": names}
    return compose(canvas, "", label, draw, entries, data={**axes, "clouds": clouds})


@figure
def shares(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the share of lifetimes beyond each threshold, metric by metric and group by group."""
    declared, groups, names = data.survey.metrics, data.groups, _names(data)
    names_shown = [
        name for name in figure_metrics(data, view) if any(_estimate(group, name).above is not None for group in groups)
    ]
    if not names_shown:
        raise NothingToDrawError("shares need a metric that has a threshold, and lifetimes with a value of it")
    names_shown.sort(key=lambda name: declared[name].condition)
    outlines: list[Numbers] = []
    margin = any(_estimate(group, name).margin for group in groups for name in names_shown)
    for group in groups:
        estimates = [_estimate(group, name) for name in names_shown]
        outlines.append(
            {
                "group": group.group,
                "shares": [estimate.above for estimate in estimates],
                "counts": [estimate.n for estimate in estimates],
            }
        )
    look_of = looks(names)

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        em, small = inner.size, inner.small
        row, gap = em * (1.5 if len(groups) <= 4 else 1.1), em * 0.8
        titles = [name.replace("_", " ") for name in names_shown]
        left = min(inner.width * 0.4, max(text_width(title, small) for title in titles)) + em
        deep = (row * len(groups) + gap) * len(titles)
        panel = Panel(Scale(0, 1, left, inner.width - em * 3), Scale(1, 0, top + deep, top))
        marks = [(part, percent(part)) for part in (0, 0.5, 1.0)]
        label = "lifetimes beyond the threshold" + (" minus its margin" if margin else "")
        parts = [frame(panel, inner, x_ticks=marks, y_ticks=False, across=False, down=True, x=label)]
        for index, title in enumerate(titles):
            head = top + index * (row * len(groups) + gap)
            middle = head + row * len(groups) / 2 + small * 0.34
            parts.append(text(left - em * 0.6, middle, ellipsize(title, small, left - em * 0.6), small, anchor="end"))
            for rank, outline in enumerate(outlines):
                share, count, place = outline["shares"][index], outline["counts"][index], head + rank * row
                if share is None:
                    parts.append(text(left + em * 0.4, place + row * 0.75, "not measured", small * 0.9, "soft"))
                    continue
                outliers = round(share * count)
                words = f"{outline['group']}: {outliers} of {plural(count, 'lifetime')}"
                wide = max(1.5, panel.x(share) - left)
                parts.append(colour_marks(look_of[outline["group"]], rect(left, place, wide, row * 0.82, words=words)))
                parts.append(
                    text(left + wide + em * 0.3, place + row * 0.72, f"{outliers}/{count}", small * 0.9, "soft")
                )
        return "".join(parts), top + deep + small * 3.1

    entries = [Entry(name, look_of[group], "area") for group, name in display_names(data).items()]
    described = [
        {"metric": name, "condition": declared[name].condition, "bar": declared[name].bar} for name in names_shown
    ]
    numbers = {"groups": names, "metrics": described, "outlines": outlines}
    return compose(canvas, "", "The share of lifetimes beyond each threshold", draw, entries, data=numbers)


@figure
def profiles(data: GroupedSurvey, _: FigureView, canvas: Canvas) -> Figure:
    """Plot the share of lifetimes and tasks that end above each level, with a 95 % band."""
    from perdure.stats.robust import performance_profile

    names = _names(data)
    lines: list[Numbers] = []
    for group in data.groups:
        scores, count = _final_scores(data, group)
        if scores:
            rng = np.random.default_rng(0)
            share, low, high = performance_profile(scores, _LEVELS, rng, resamples=_RESAMPLES)
            line: Numbers = {
                "group": group.group,
                "share": share,
                "low": low,
                "high": high,
                "n": count,
                "tasks": len(scores),
            }
            lines.append(line)
    if not lines:
        raise NothingToDrawError("no group of lifetimes was evaluated")
    look_of = looks(names)

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        em = inner.size
        y = Scale(0, 1.02, top + em * 1.6 + min(inner.width * 0.5, em * 20), top + em * 1.6)
        panel = Panel(Scale(0, 1, margin(y, inner), inner.width - em), y)
        x_name = "level of the last evaluation, 0–1 of the task's range"
        framed = frame(panel, inner, x=x_name, y="share of lifetimes and tasks above it")
        bodies, x = "", panel.x(_LEVELS)
        for line in lines:
            look = look_of[line["group"]]
            band = area(x, y(line["low"]), y(line["high"]), 0.15)
            curve = stroke(path(x, y(line["share"])), em * 0.17, dash=look.dash, words=line["group"])
            bodies += colour_marks(look, band + curve)
        return framed + panel.plot_area(bodies), panel.bottom + inner.small * 3.1

    entries = []
    for line in lines:
        look = look_of[line["group"]]
        name = display_names(data)[line["group"]]
        entries.append(Entry(f"{name} (n = {line['n']})", look, dash=look.dash))
    label = "Performance profiles: the share of lifetimes and tasks that end above each level"
    numbers = {"groups": names, "levels": _LEVELS, "profiles": lines}
    return compose(canvas, "", label, draw, entries, data=numbers)


def _final_scores(data: GroupedSurvey, group: Group) -> tuple[Sequence[Array], int]:
    """Return, per task, each lifetime's last evaluation as a share of the task's range, and the number of lifetimes.

    A task whose values never differ has no range.
    """
    by_task: dict[str, list[float]] = {}
    counted = 0
    for life in data.of_group(group):
        thinned = thinned_lifetime(life)
        last = {block.block.task: block.mean for block in thinned.blocks if block.block.mode == "evaluate"}
        ranged = [task for task in last if (span := thinned.ranges.get(task)) and span.high > span.low]
        for task in ranged:
            scaled = float(thinned.scale(task, np.array([last[task]]))[0])
            by_task.setdefault(task, []).append((scaled - LOWEST) / SCALED)
        counted += bool(ranged)
    return [np.array(values) for values in by_task.values()], counted


@figure
def power(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the power of each metric's test by the number of lifetimes, one panel per group."""
    from perdure.stats.power import Design
    from perdure.stats.power import power as power_of

    names = figure_metrics(data, view)
    lifetimes = [int(count) for count in np.unique(np.round(np.geomspace(2, 60, 40)))]
    panels = []
    for group in [data.group(view.group)] if view.group else data.groups:
        curves = []
        for name in names:
            estimate = _estimate(group, name)
            if estimate.mean is None or not estimate.sd or estimate.bar.threshold is None:
                continue
            effect = _effect(estimate, estimate.bar.threshold, estimate.mean, estimate.sd)
            tails = estimate.tails  # of the test that decides, at the level of its interval
            alpha = (1 - estimate.level) / 2 if tails == "one" else 1 - estimate.level
            design = Design(alpha=alpha, tails=tails)
            reached = [power_of(count, effect, design) for count in lifetimes]
            now = power_of(estimate.n, effect, design)
            curves.append({"metric": name, "effect": effect, "power": reached, "n": estimate.n, "now": now})
        if curves:
            panels.append({"group": group.group, "curves": curves})
    if not panels:
        raise NothingToDrawError("power needs two lifetimes or more, and a metric with a threshold whose values differ")
    return draw_power({"metrics": names, "lifetimes": lifetimes, "panels": panels, "wanted": 0.9}, canvas)


def draw_power(data: Mapping[str, Any], canvas: Canvas) -> Figure:
    """Draw curves of power by the number of lifetimes; the power `wanted` is marked."""
    look_of, panels = looks(data["metrics"]), data["panels"]
    known = {curve["metric"] for panel in panels for curve in panel["curves"]}
    counts = np.array(data["lifetimes"], dtype=np.float64)

    def draw(index: int, place: Panel, inner: Canvas) -> str:
        level = place.y(data["wanted"])
        parts = [rule(place.left, level, place.right, level, "axis", 1, _DASH)]
        label = f"{100 * data['wanted']:g} %"
        parts.append(text(place.right, level - inner.small * 0.3, label, inner.small * 0.9, "soft", anchor="end"))
        for curve in panels[index]["curves"]:
            look, n, now = look_of[curve["metric"]], curve["n"], curve["now"]
            words = f"{curve['metric'].replace('_', ' ')}, {plural(n, 'lifetime')}: {percent(now)}"
            dot = marker(look.shape, place.x(min(n, counts[-1])), place.y(now), inner.size * 0.42, words)
            line = path(place.x(counts), place.y(np.array(curve["power"])))
            parts.append(colour_marks(look, stroke(line, 1.7, dash=look.dash) + dot))
        return "".join(parts)

    specs = [PanelSpec(panel["group"], [counts[[0, -1]]], [np.array([0.0, 1.0])]) for panel in panels]
    entries = [
        Entry(name.replace("_", " "), look_of[name], "both", look_of[name].dash)
        for name in data["metrics"]
        if name in known
    ]
    title, label = "Power of the threshold test", "Power of the threshold test by the number of lifetimes"
    return multiples(specs, draw, canvas, title, label, x="lifetimes", y="power", entries=entries, height=17, data=data)


def _effect(estimate: Estimate, threshold: float, mean: float, sd: float) -> float:
    """Return the distance of the mean from the threshold minus its margin, in standard deviations."""
    bar = threshold - estimate.bar.sign * estimate.margin
    if estimate.scale == "log" and bar > 0:
        return abs(float(np.log(mean) - np.log(bar))) / sd
    return abs(mean - bar) / sd


@figure
def capabilities(data: GroupedSurvey, _: FigureView, canvas: Canvas) -> Figure:
    """Plot each learner's score in each Core Capability of 2019, relative to experts; points are its syllabi."""
    scored = capabilities_of(data.survey)
    if not scored:
        raise NothingToDrawError("Core Capabilities are scored under the preset framework-2019")
    if all(capability.score is None for capability in scored):
        raise NothingToDrawError(
            "no score of a Core Capability: it needs ratios to experts, or custom metrics that declare it"
        )
    names, learners = tuple(CAPABILITIES), list(dict.fromkeys(capability.learner for capability in scored))
    look_of, count, rows = looks(learners), len(learners), len(names)
    scores = [score for item in scored for score in (item.score, *(part.score for part in item.syllabi))]

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        em, small = inner.size, inner.small
        left = max(text_width(name, small) for name in names) + em
        bar = em * 1.5
        row = bar * count + em * 0.9
        right = inner.width - em
        reach = scale_over([0.0, 1.0, *scores], left, right)
        panel = Panel(Scale(0, reach.high, left, right), Scale(rows, 0, top + row * rows, top))
        meanings = dict.fromkeys(item.meaning for item in scored if item.score is not None)
        x_name = f"score: {'; '.join(meanings)} (dashed: as good as an expert)"
        parts = [frame(panel, inner, y_ticks=False, across=False, x=x_name)]
        for index, name in enumerate(names):
            parts.append(text(left - em * 0.6, top + (index + 0.5) * row, name, small, anchor="end"))
        for index, item in enumerate(scored):  # learner by learner
            learner, place = divmod(index, rows)
            y = top + place * row + learner * bar + em * 0.3
            if item.score is None:
                why = ellipsize(item.why or "", small, right - left)
                parts.append(text(left + em * 0.5, y + bar * 0.7, why, small, "soft"))
                continue
            words = f"{item.learner}, {item.name}: {number(item.score)}"
            dots = "".join(
                marker("circle", panel.x(part.score), y + bar * 0.42, em * 0.25, f"{part.name}: {number(part.score)}")
                for part in item.syllabi
                if part.score is not None
            )
            body = rect(left, y, panel.x(item.score) - left, bar * 0.85, opacity=0.75, words=words)
            parts.append(colour_marks(look_of[item.learner], body))
            parts.append(colour_marks("ink", dots))
        parts.append(rule(panel.x(1.0), top, panel.x(1.0), panel.bottom, "axis", 1, _DASH))
        return "".join(parts), panel.bottom + small * 3.1

    entries = [Entry(learner, look_of[learner], "area") for learner in learners] if count > 1 else []
    label = "Scores of Core Capabilities beside experts"
    numbers = {"capabilities": names, "learners": learners, "found": scored}
    return compose(canvas, "Core Capabilities", label, draw, entries, data=numbers)


def _names(data: GroupedSurvey) -> list[str]:
    return [group.group for group in data.groups]


def _estimate(group: Group, name: str) -> Estimate:
    """Return the estimate of a metric; an empty one if the group has none."""
    return group.estimates.get(name) or Estimate(metric=name, group=group.group, n=0, missing=group.n)
