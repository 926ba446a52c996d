"""Groups of lifetimes as plotly reads them: metrics against thresholds, matrices, trade-offs, profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from perdure.report.figures.axes import View
from perdure.report.figures.groups import VERDICTS, final_scores, shown_metrics
from perdure.report.figures.matrices import accuracy_cells, departures, transfer_cells
from perdure.report.interactive import Spec, axes, literal, rounded
from perdure.report.material import Material
from perdure.report.palette import GOOD, NEUTRAL, POOR, looks

__all__ = ["accuracy", "metrics", "profiles", "radar", "scatter", "transfer"]

_SYMBOLS = {"met": "circle", "not met": "x", "undecided": "square"}


def metrics(material: Material) -> Spec | None:
    """Each metric that has a threshold, as distance from it in units of its interval's half width or as it is."""
    names = [name for name in shown_metrics(material, View()) if _any(material, name)]
    if not names:
        return None
    traces: list[Any] = []
    layout: dict[str, Any] = {
        "grid": {"rows": -(-len(names) // 3), "columns": min(3, len(names)), "pattern": "independent", "ygap": 0.55}
    }
    layout |= {"shapes": [], "annotations": [], "showlegend": False}
    layout["height"] = 60 + layout["grid"]["rows"] * (95 + 30 * len(material.groups))
    for at, name in enumerate(names):
        mark = "" if at == 0 else str(at + 1)
        for group in material.groups:
            one = group.estimates.get(name)
            if one is None or one.mean is None:
                continue
            colour, _ = VERDICTS.get(one.verdict or "", (NEUTRAL, "o"))
            half = 0.0 if one.high is None else one.high - one.mean
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "x": rounded([one.mean]),
                    "y": [literal(group.group)],
                    "error_x": {"type": "data", "array": rounded([half]), "thickness": 2.4, "width": 0},
                    "marker": {"color": colour, "size": 10, "symbol": _SYMBOLS.get(one.verdict or "", "circle")},
                    "name": literal(group.group),
                    "hovertemplate": f"%{{y}}<br>%{{x:.5g}} ± {half:.3g}<br>{one.verdict or ''}<extra></extra>",
                    "xaxis": f"x{mark}",
                    "yaxis": f"y{mark}",
                }
            )
        layout[f"xaxis{mark}"] = {"title": {"text": name.replace("_", " ")}, "nticks": 5}
        layout[f"yaxis{mark}"] = {
            "showticklabels": at % 3 == 0,
            "range": [len(material.groups) - 0.4, -0.6],
            "type": "category",
            "categoryarray": [literal(group.group) for group in material.groups],
        }
        threshold = material.survey.metrics[name].threshold
        layout["shapes"].append(
            {
                "type": "line",
                "xref": f"x{mark}",
                "yref": f"y{mark} domain",
                "x0": threshold,
                "x1": threshold,
                "y0": 0,
                "y1": 1,
                "line": {"dash": "dash", "width": 1.2, "color": NEUTRAL},
            }
        )
    return {"data": traces, "layout": layout}


def scatter(material: Material, x: str, y: str) -> Spec | None:
    """Two metrics against each other, a point per lifetime."""
    drawn = looks(group.group for group in material.groups)
    traces: list[Any] = []
    for group in material.groups:
        pairs = []
        for one in material.of_group(group):
            across, up = (one.score.metrics[name].value if name in one.score.metrics else None for name in (x, y))
            if across is not None and up is not None:
                pairs.append((one.id, across, up))
        if pairs:
            look = drawn[group.group]
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": literal(group.group),
                    "x": rounded(pair[1] for pair in pairs),
                    "y": rounded(pair[2] for pair in pairs),
                    "text": [literal(pair[0]) for pair in pairs],
                    "marker": {"color": look.colour, "symbol": look.symbol, "size": 9, "opacity": 0.85},
                    "hovertemplate": "%{text}<br>%{x:.5g}, %{y:.5g}<extra></extra>",
                }
            )
    if not traces:
        return None
    lines = []
    for name, axis in ((x, "x"), (y, "y")):
        threshold = material.survey.metrics[name].threshold
        if threshold is not None:
            lines.append(_threshold(axis, threshold))
    return {"data": traces, "layout": {**axes(x.replace("_", " "), y.replace("_", " ")), "shapes": lines}}


def accuracy(material: Material, view: View) -> tuple[Spec, str] | None:
    """The accuracy matrix as a heat map, and what it is the mean of."""
    found, counted = accuracy_cells(material, view)
    if found is None:
        return None
    return _heat(found.tasks, found.after, "after learning", "evaluated", "Viridis"), counted


def transfer(material: Material, view: View) -> tuple[Spec, str] | None:
    """The transfer matrix as a heat map about its threshold, and what it is the mean of."""
    tasks, cells, threshold, counted = transfer_cells(material, view)
    if not tasks:
        return None
    spec = _heat(tasks, cells, "evaluated", "learned", [[0, POOR], [0.5, "#f7f7f7"], [1, GOOD]])
    ahead, ticks = departures(cells, threshold)
    trace = spec["data"][0]
    trace["colorbar"] |= {"tickvals": rounded(ticks), "ticktext": list(ticks.values())}
    trace["customdata"], trace["z"] = trace["z"], _rows(ahead)
    trace["text"] = [["" if value is None else f"{value:.3g}" for value in row] for row in trace["customdata"]]
    trace |= {"texttemplate": "%{text}" if len(tasks) <= 12 else "", "zmin": min(ticks), "zmax": max(ticks)}
    trace["hovertemplate"] = trace["hovertemplate"].replace("%{z:", "%{customdata:")
    return spec, counted


def radar(material: Material) -> Spec | None:
    """The share of lifetimes beyond each threshold."""
    names = [
        name
        for name in shown_metrics(material, View())
        if any(name in group.estimates and group.estimates[name].above is not None for group in material.groups)
    ]
    if len(names) < 3:
        return None
    drawn = looks(group.group for group in material.groups)
    words = [name.replace("_", "<br>", 1).replace("_", " ") for name in names]  # one line would not fit beside it
    traces = [
        {
            "type": "scatterpolar",
            "r": [*(shares := rounded(group.estimates[name].above or 0.0 for name in names)), shares[0]],
            "theta": [*words, words[0]],
            "fill": "toself",
            "opacity": 0.75,
            "name": literal(group.group),
            "line": {"color": drawn[group.group].colour, "dash": drawn[group.group].dash},
        }
        for group in material.groups
    ]
    polar = {
        "radialaxis": {"range": [0, 1], "tickformat": ".0%", "angle": 90, "tickangle": 90},
        "angularaxis": {"rotation": 90, "direction": "clockwise"},
    }
    legend = 20 * len(traces)
    room = {"l": 90, "r": 90, "t": 40, "b": 60 + legend}  # for words all round, and a legend of a line per group
    return {"data": traces, "layout": {"polar": polar, "height": 430 + legend, "margin": room}}


def profiles(material: Material) -> Spec | None:
    """The share of lifetimes and tasks that end above each level."""
    from perdure.stats.robust import performance_profile

    levels = np.linspace(0, 1, 51)
    drawn = looks(group.group for group in material.groups)
    traces: list[Any] = []
    for group in material.groups:
        scores = final_scores(material, group)
        if scores:
            share, _, _ = performance_profile(scores, levels, np.random.default_rng(0), resamples=2)
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "name": literal(group.group),
                    "x": rounded(levels),
                    "y": rounded(share),
                    "line": {"color": drawn[group.group].colour, "dash": drawn[group.group].dash, "width": 2.2},
                }
            )
    words = axes("level of the last evaluation, 0–1 of the task's range", "share above it")
    return {"data": traces, "layout": words} if traces else None


def _any(material: Material, name: str) -> bool:
    return any(name in group.estimates and group.estimates[name].mean is not None for group in material.groups)


def _threshold(axis: str, value: float) -> dict[str, Any]:
    other = "y" if axis == "x" else "x"
    ends = {
        f"{axis}0": value,
        f"{axis}1": value,
        f"{other}0": 0,
        f"{other}1": 1,
        f"{other}ref": "paper",
        f"{axis}ref": axis,
    }
    return {"type": "line", **ends, "line": {"dash": "dash", "width": 1.2, "color": NEUTRAL}}


def _heat(tasks: Sequence[str], cells: np.ndarray[Any, Any], x: str, y: str, colours: Any) -> Spec:
    trace = {
        "type": "heatmap",
        "x": [literal(task) for task in tasks],
        "y": [literal(task) for task in tasks],
        "z": _rows(cells),
        "colorscale": colours,
        "hoverongaps": False,
        "texttemplate": "%{z:.3g}" if len(tasks) <= 12 else "",
        "hovertemplate": f"{x} %{{x}}<br>{y} %{{y}}<br>%{{z:.5g}}<extra></extra>",
        "colorbar": {"thickness": 12},
    }
    layout = axes(x, y)
    layout["yaxis"] |= {"autorange": "reversed", "type": "category", "automargin": True}
    layout["xaxis"] |= {"type": "category", "automargin": True}
    return {"data": [trace], "layout": {**layout, "height": min(760, 300 + 16 * len(tasks))}}


def _rows(cells: np.ndarray[Any, Any]) -> list[list[float | int | None]]:
    return [[None if np.isnan(value) else rounded([value])[0] for value in row] for row in cells]
