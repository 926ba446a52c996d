"""Groups of lifetimes as plotly reads them: metrics against thresholds, matrices, trade-offs, profiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perdure.report.draw.data.capabilities import CapabilitiesData
from perdure.report.draw.data.groups import GroupValue, MetricsData, ProfilesData, RadarData, ScatterData
from perdure.report.draw.data.matrices import AccuracyData, Cells, Counts, TransferMatrix
from perdure.report.draw.data.view import Nothing, flags_text
from perdure.report.draw.matplotlib.groups import VERDICTS
from perdure.report.draw.plotly.lives import Spec, axes, literal, rounded
from perdure.report.palette import GOOD, NEUTRAL, POOR, looks

__all__ = ["accuracy", "capabilities", "metrics", "profiles", "radar", "scatter", "transfer"]

_SYMBOLS = {"met": "circle", "not met": "x", "undecided": "square"}


def metrics(data: MetricsData | Nothing) -> Spec | None:
    """Each metric's mean with its interval, group by group, against its threshold."""
    if isinstance(data, Nothing):
        return None
    traces: list[Any] = []
    rows, count = -(-len(data.panels) // 3), len(data.groups)
    layout: dict[str, Any] = {
        "grid": {"rows": rows, "columns": min(3, len(data.panels)), "pattern": "independent", "ygap": 0.55},
        "shapes": [],
        "annotations": [],
        "showlegend": False,
        "height": 60 + rows * (95 + 30 * count),
    }
    for at, panel in enumerate(data.panels):
        mark = "" if at == 0 else str(at + 1)
        place = {"xaxis": f"x{mark}", "yaxis": f"y{mark}"}
        for one in panel.values:
            if one.mean is None:
                layout["annotations"].append(
                    {
                        "text": "no value",
                        "x": 0.5,
                        "y": literal(one.group),
                        "xref": f"x{mark} domain",
                        "yref": f"y{mark}",
                        "showarrow": False,
                        "font": {"size": 11, "color": NEUTRAL},
                    }
                )
            else:
                traces.append({**_mean(one), **place})
        layout[f"xaxis{mark}"] = {"title": {"text": literal(panel.metric.replace("_", " "))}, "nticks": 5}
        layout[f"yaxis{mark}"] = {
            "showticklabels": at % 3 == 0,
            "range": [count - 0.4, -0.6],
            "type": "category",
            "categoryarray": [literal(group) for group in data.groups],
        }
        if panel.threshold is not None:
            line = {"x0": panel.threshold, "x1": panel.threshold, "y0": 0, "y1": 1}
            refs = {"xref": f"x{mark}", "yref": f"y{mark} domain"}
            layout["shapes"].append({"type": "line", **refs, **line, "line": _DASHED})
    return {"data": traces, "layout": layout}


def scatter(data: ScatterData | Nothing) -> Spec | None:
    """Two metrics against each other, a point per lifetime."""
    if isinstance(data, Nothing):
        return None
    drawn = looks(data.groups)
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": literal(f"{cloud.group} (n = {len(cloud.points)})"),
            "x": rounded([one.x for one in cloud.points]),
            "y": rounded([one.y for one in cloud.points]),
            "text": ["<br>".join(literal(text) for text in (one.id, *one.flags)) for one in cloud.points],
            "marker": {
                "color": drawn[cloud.group].colour,
                "symbol": drawn[cloud.group].symbol,
                "size": 9,
                "opacity": 0.85,
            },
            "hovertemplate": "%{text}<br>%{x:.5g}, %{y:.5g}<extra></extra>",
        }
        for cloud in data.clouds
    ]
    lines = [
        _threshold(axis, value)
        for axis, value in (("x", data.x_threshold), ("y", data.y_threshold))
        if value is not None
    ]
    return {"data": traces, "layout": {**axes(data.x.replace("_", " "), data.y.replace("_", " ")), "shapes": lines}}


def capabilities(data: CapabilitiesData | Nothing) -> Spec | None:
    """Each learner's score in each Core Capability; what has none is left open, and says why."""
    if isinstance(data, Nothing):
        return None
    drawn = looks(data.learners)
    traces = []
    for learner in data.learners:
        known = [one for one in data.found if one.learner == learner and one.score is not None]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": literal(learner),
                "x": rounded([one.score for one in known if one.score is not None]),
                "y": [one.name for one in known],
                "text": ["<br>".join(literal(each.name) for each in one.syllabi) for one in known],
                "textposition": "none",
                "marker": {"color": drawn[learner].colour},
                "hovertemplate": "%{x:.4g}<br>%{text}<extra></extra>",
            }
        )
    layout = {
        **axes("score: mean ratio to experts", ""),
        "shapes": [_threshold("x", 1.0)],
        "showlegend": len(data.learners) > 1,
        "height": 90 + 40 * len(data.capabilities),
    }
    order = {
        "type": "category",
        "categoryarray": list(data.capabilities)[::-1],
        "range": [-0.5, 4.5],
        "automargin": True,
    }
    return {"data": traces, "layout": {**layout, "yaxis": order}}


def accuracy(data: AccuracyData) -> Spec:
    """The accuracy matrix as a heat map."""
    spec = _heat(data.tasks, data.cells, data.counts, "after learning", "evaluated", "Viridis")
    low, high = rounded(data.limits)
    spec["data"][0] |= {"zmin": low, "zmax": high}
    return spec


def transfer(data: TransferMatrix) -> Spec:
    """One kind of transfer as a heat map about its threshold."""
    spec = _heat(data.tasks, data.cells, data.counts, "evaluated", "learned", [[0, POOR], [0.5, "#f7f7f7"], [1, GOOD]])
    places = rounded([place for place, _ in data.ticks])
    trace = spec["data"][0]
    trace |= {"z": _rows(data.ahead), "zmin": places[0], "zmax": places[-1]}
    trace["colorbar"] |= {"tickvals": places, "ticktext": [word for _, word in data.ticks]}
    return spec


def radar(data: RadarData | Nothing) -> Spec | None:
    """The share of lifetimes beyond each threshold; a spoke that a group has no value on is left open."""
    if isinstance(data, Nothing):
        return None
    drawn = looks(data.groups)
    # One line would not fit beside it.
    words = [literal(one.metric).replace("_", "<br>", 1).replace("_", " ") for one in data.spokes]
    traces = []
    for one in data.outlines:
        shares = rounded(one.shares)
        absent = [spoke.metric for spoke, share in zip(data.spokes, shares, strict=True) if share is None]
        name = one.group + (f" (not measured: {', '.join(absent).replace('_', ' ')})" if absent else "")
        traces.append(
            {
                "type": "scatterpolar",
                "mode": "lines+markers",
                "r": [*shares, shares[0]],
                "theta": [*words, words[0]],
                "customdata": [*one.counts, one.counts[0]],
                # An area that leaves out a spoke would look like a share of 0 there.
                "fill": "none" if absent else "toself",
                "opacity": 0.75,
                "name": literal(name),
                "line": {"color": drawn[one.group].colour, "dash": drawn[one.group].dash},
                "hovertemplate": "%{r:.0%} of %{customdata} lifetimes<extra>%{fullData.name}</extra>",
            }
        )
    polar = {
        "radialaxis": {"range": [0, 1], "tickformat": ".0%", "angle": 90, "tickangle": 90},
        "angularaxis": {"rotation": 90, "direction": "clockwise"},
    }
    legend = 20 * len(traces)
    room = {"l": 90, "r": 90, "t": 40, "b": 60 + legend}  # for words all round, and a legend of a line per group
    return {"data": traces, "layout": {"polar": polar, "height": 430 + legend, "margin": room}}


def profiles(data: ProfilesData | Nothing) -> Spec | None:
    """The share of lifetimes and tasks that end above each level."""
    if isinstance(data, Nothing):
        return None
    drawn = looks(data.groups)
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": literal(f"{one.group} (n = {one.n})"),
            "x": rounded(data.levels),
            "y": rounded(one.share),
            "line": {"color": drawn[one.group].colour, "dash": drawn[one.group].dash, "width": 2.2},
        }
        for one in data.profiles
    ]
    return {"data": traces, "layout": axes("level of the last evaluation, 0–1 of the task's range", "share above it")}


# --- parts ---------------------------------------------------------------------------------------

_DASHED = {"dash": "dash", "width": 1.2, "color": NEUTRAL}


def _mean(one: GroupValue) -> dict[str, Any]:
    """A group's mean with its interval; a single lifetime has none, which is not one of no width."""
    assert one.mean is not None
    colour, _ = VERDICTS.get(one.verdict or "", (NEUTRAL, "o"))
    said = [f"{one.mean:.5g}, n = {one.n}" + (f" ({one.missing} without a value)" if one.missing else "")]
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "x": rounded([one.mean]),
        "y": [literal(one.group)],
        "marker": {"color": colour, "size": 10, "symbol": _SYMBOLS.get(one.verdict or "", "circle")},
        "name": literal(one.group),
    }
    if one.low is not None and one.high is not None:
        ends = {"array": rounded([one.high - one.mean]), "arrayminus": rounded([one.mean - one.low])}
        trace["error_x"] = {"type": "data", "symmetric": False, **ends, "thickness": 2.4, "width": 0}
        said.append(f"95 % interval {one.low:.5g} to {one.high:.5g}")
    said += [literal(text) for text in (one.verdict or "", flags_text(one.flags)) if text]
    # As text, not in the template: a name from a log must not be taken for a place in it.
    return {**trace, "text": ["<br>".join(said)], "hovertemplate": "%{y}<br>%{text}<extra></extra>"}


def _threshold(axis: str, value: float) -> dict[str, Any]:
    other = "y" if axis == "x" else "x"
    ends = {f"{axis}0": value, f"{axis}1": value, f"{other}0": 0, f"{other}1": 1}
    return {"type": "line", **ends, f"{other}ref": "paper", f"{axis}ref": axis, "line": _DASHED}


def _heat(tasks: Sequence[str], cells: Cells, counts: Counts, x: str, y: str, colours: Any) -> Spec:
    """Cells in colour: the caller says by which scale; the numbers are the cells' own, with how many lifetimes."""
    trace = {
        "type": "heatmap",
        "x": [literal(task) for task in tasks],
        "y": [literal(task) for task in tasks],
        "colorscale": colours,
        "hoverongaps": False,
        "z": _rows(cells),
        "text": [["" if value is None else f"{value:.3g}" for value in row] for row in cells],
        "texttemplate": "%{text}" if len(tasks) <= 12 else "",
        "customdata": [
            ["" if value is None else f"{value:.5g}, n = {n}" for value, n in zip(row, many, strict=True)]
            for row, many in zip(cells, counts, strict=True)
        ],
        "hovertemplate": f"{x} %{{x}}<br>{y} %{{y}}<br>%{{customdata}}<extra></extra>",
        "colorbar": {"thickness": 12},
    }
    layout = axes(x, y)
    layout["yaxis"] |= {"autorange": "reversed", "type": "category", "automargin": True, "showgrid": False}
    layout["xaxis"] |= {"type": "category", "automargin": True, "showgrid": False}
    return {"data": [trace], "layout": {**layout, "height": min(760, 300 + 16 * len(tasks))}}


def _rows(cells: Cells) -> list[list[float | int | None]]:
    return [rounded(row) for row in cells]
