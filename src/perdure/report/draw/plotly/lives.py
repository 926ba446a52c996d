"""Lifetimes as plotly reads them: plain data, small enough to travel inside a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.curves.model import Array
from perdure.report.draw.data.lives import Evaluated, ExpertsData, LifetimeData, Stroke
from perdure.report.draw.data.view import Nothing
from perdure.report.palette import Look

__all__ = ["Spec", "axes", "beside", "lifetime", "literal", "rounded"]

Spec = dict[str, Any]
"""`{"data": [...], "layout": {...}}`; colours of paper and ink are the page's own."""

_EXACT = 22  # the largest power of ten that a double holds exactly


def literal(text: str) -> str:
    """Text as it stands: plotly reads a few tags and entities, which a name from a log must not become."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def rounded(values: npt.ArrayLike | Sequence[float | None] | Sequence[Sequence[float | None]]) -> list[Any]:
    """Six significant digits, which is what a hover shows; where all are whole they lose their point; gaps stay."""
    given = np.asarray(values)
    if given.dtype.kind in "iu":
        return list(given.tolist())
    given = given.astype(np.float64)
    known = np.isfinite(given)
    size = np.floor(np.log10(np.abs(given), out=np.zeros(given.shape), where=known & (given != 0)))
    places = np.clip(5 - size, -_EXACT, _EXACT)
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    short = np.rint(given * up / down) / up * down
    if given.ndim == 2:
        return [_listed(*row) for row in zip(short, known, strict=True)]
    return _listed(short, known)


def _listed(short: Array, known: npt.NDArray[np.bool_]) -> list[Any]:
    everywhere = bool(known.all())
    some = short if everywhere else short[known]
    whole = bool((np.abs(some) < 1e15).all() and (some == np.rint(some)).all())
    shown: list[Any] = (np.where(known, short, 0).astype(np.int64) if whole else short).tolist()
    return shown if everywhere else [value if here else None for value, here in zip(shown, known, strict=True)]


def lifetime(data: LifetimeData | Nothing, looks: Mapping[str, Look]) -> Spec:
    """One lifetime: raw and smoothed learning, evaluations with intervals, shaded by the task being learned."""
    if isinstance(data, Nothing):
        return {"data": [], "layout": {}}
    traces: list[Any] = []
    for task in data.tasks:
        look = looks[task]
        learning = [one for one in data.learning if one.task == task]
        if learning:
            for strokes, width, opacity, word in (
                ([one.measured for one in learning], 0.8, 0.45, "as logged"),
                ([one.smoothed for one in learning], 2.2, 1, "smoothed"),
            ):
                x, y = _gapped(strokes)
                traces.append(_line(task, x, y, look.colour, width=width, opacity=opacity, name=f"{task}, {word}"))
        tested = [one for one in data.evaluations if one.task == task]
        if tested:
            traces.append(_dots(task, tested, look))
    shapes = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": one.first,
            "x1": one.last,
            "y0": 0,
            "y1": 1,
            "fillcolor": looks[one.task].colour,
            "opacity": 0.05 if one.asleep else 0.1,
            "line": {"width": 0},
            "layer": "below",
        }
        for one in data.spans
        if one.mode == "learn"
    ]
    layout = axes(data.x, data.y)
    layout["xaxis"]["range"] = [0, data.spans[-1].last]
    return {"data": traces, "layout": {**layout, "shapes": shapes[:400]}}


def beside(data: ExpertsData | Nothing, looks: Mapping[str, Look]) -> Spec | None:
    """Stitched learning against experts; None where no task has one."""
    if isinstance(data, Nothing):
        return None
    traces: list[Any] = []
    for panel in data.panels:
        task, colour = panel.task, looks[panel.task].colour
        for one in panel.experts:
            x, y, name = rounded(one.line.x), rounded(one.line.y), f"{task}, expert {one.id}"
            traces.append(_line(task, x, y, colour, width=1.2, dash="dot", opacity=0.75, name=name))
        x, y = rounded(panel.learner.x), rounded(panel.learner.y)
        traces.append(_line(task, x, y, colour, width=2.2, opacity=1, name=f"{task}, learner"))
    return {"data": traces, "layout": axes("experiences with the task", data.y)}


# --- parts ---------------------------------------------------------------------------------------


def axes(x: str, y: str) -> dict[str, Any]:
    """What stands at both axes."""
    return {"xaxis": {"title": {"text": literal(x)}}, "yaxis": {"title": {"text": literal(y)}}}


def _gapped(strokes: Sequence[Stroke]) -> tuple[list[Any], list[Any]]:
    """Several blocks as one trace: a gap between each two, so that a task stays one thing to toggle."""
    x, y = (
        np.concatenate([one for line in lines for one in (line, [np.nan])])[:-1]
        for lines in ([stroke.x for stroke in strokes], [stroke.y for stroke in strokes])
    )
    return rounded(x), rounded(y)


def _line(
    task: str,
    x: Sequence[float | int | None],
    y: Sequence[float | int | None],
    colour: str,
    *,
    width: float,
    opacity: float,
    name: str,
    dash: str = "solid",
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "name": literal(name),
        "meta": {"task": task},
        "opacity": opacity,
        "line": {"color": colour, "width": width, "dash": dash},
        "showlegend": False,
        "hovertemplate": "%{x}: %{y:.6g}<extra>%{fullData.name}</extra>",
    }


def _dots(task: str, own: Sequence[Evaluated], look: Look) -> dict[str, Any]:
    """A task's evaluations; the line between two is left out where the task is learned in between."""
    dots: list[tuple[float | None, ...]] = []
    before = own[0].run
    for one in own:
        if one.run != before:
            dots.append((None,) * 4)
        before = one.run
        ends = (None if end is None else abs(end - one.mean) for end in (one.high, one.low))
        dots.append((one.x, one.mean, *ends))
    x, y, above, below = rounded(list(zip(*dots, strict=True)))
    spread = {"array": above} if above == below else {"array": above, "arrayminus": below, "symmetric": False}
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": x,
        "y": y,
        "error_y": {"type": "data", **spread, "thickness": 1.3, "width": 2},
        "name": literal(f"{task}, evaluated"),
        "meta": {"task": task},
        "line": {"color": look.colour, "width": 1, "dash": "dot"},
        "marker": {"color": look.colour, "symbol": look.symbol, "size": 8, "line": {"width": 1, "color": "#ffffff"}},
        "showlegend": False,
        "hovertemplate": "%{x}: %{y:.6g}<extra>%{fullData.name}</extra>",
    }
