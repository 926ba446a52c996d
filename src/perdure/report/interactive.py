"""Lifetimes as plotly reads them: plain data, small enough to travel inside a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from perdure.gather.model import Life
from perdure.report.figures.axes import View, used
from perdure.report.material import Material
from perdure.report.sketch import Sketch, Stretch

__all__ = ["Spec", "axes", "beside", "lifetime", "literal", "rounded"]

Spec = dict[str, Any]
"""`{"data": [...], "layout": {...}}`; colours of paper and ink are the page's own."""


def literal(text: str) -> str:
    """Text as it stands: plotly reads a few tags and entities, which a name from a log must not become."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def rounded(values: Iterable[float]) -> list[float | int]:
    """Six significant digits, which is what a hover shows; whole numbers lose their point."""
    found: list[float | int] = []
    for value in values:
        short = float(f"{value:.6g}")
        found.append(int(short) if short.is_integer() and abs(short) < 1e15 else short)
    return found


def lifetime(told: Life, material: Material) -> Spec:
    """One lifetime: raw and smoothed learning, evaluations with intervals, shaded by the task being learned."""
    sketch = told.sketch
    scaled = used(sketch, View()) == "scaled"
    traces: list[Any] = []
    for task in sketch.tasks:
        own = [one for one in sketch.stretches if one.block.task == task]
        look = material.looks[task]
        learning = [one for one in own if one.smoothed is not None]
        if learning:
            x, y = _gapped(sketch, [(one, one.measured.x, one.measured.y) for one in learning], scaled)
            traces.append(_line(task, x, y, look.colour, width=0.8, opacity=0.45, name=f"{task}, as logged"))
            x, y = _gapped(sketch, [(one, one.smoothed.x, one.smoothed.y) for one in learning if one.smoothed], scaled)
            traces.append(_line(task, x, y, look.colour, width=2.2, opacity=1, name=f"{task}, smoothed"))
        tested = [one for one in own if one.block.mode == "evaluate"]
        if tested:
            traces.append(_dots(sketch, task, own, look.colour, look.symbol, scaled))
    shapes = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": one.first,
            "x1": one.first + one.length,
            "y0": 0,
            "y1": 1,
            "fillcolor": material.looks[one.block.task].colour,
            "opacity": 0.1 if one.block.subtype == "wake" else 0.05,
            "line": {"width": 0},
            "layer": "below",
        }
        for one in sketch.stretches
        if one.block.mode == "learn"
    ]
    unit = f"{sketch.measure}, each task scaled 1–101" if scaled else sketch.measure
    layout = axes("experiences", unit)
    layout["xaxis"]["range"] = [0, sketch.experiences]
    return {"data": traces, "layout": {**layout, "shapes": shapes[:400]}}


def beside(told: Life, material: Material) -> Spec | None:
    """Stitched learning against experts; None where no task has one."""
    traces: list[Any] = []
    for one in told.sketch.beside:
        colour = material.looks[one.task].colour
        for name, line in one.experts:
            traces.append(
                _line(
                    one.task,
                    rounded(line.x + 1),
                    rounded(line.y),
                    colour,
                    width=1.2,
                    dash="dot",
                    opacity=0.75,
                    name=f"{one.task}, expert {name}",
                )
            )
        traces.append(
            _line(
                one.task,
                rounded(one.learner.x + 1),
                rounded(one.learner.y),
                colour,
                width=2.2,
                opacity=1,
                name=f"{one.task}, learner",
            )
        )
    return {"data": traces, "layout": axes("experiences with the task", told.sketch.measure)} if traces else None


# --- parts ---------------------------------------------------------------------------------------


def axes(x: str, y: str) -> dict[str, Any]:
    """What stands at both axes."""
    return {"xaxis": {"title": {"text": literal(x)}}, "yaxis": {"title": {"text": literal(y)}}}


def _gapped(
    sketch: Sketch, parts: Sequence[tuple[Stretch, Any, Any]], scaled: bool
) -> tuple[list[float | int | None], list[float | int | None]]:
    """Several blocks as one trace: a gap between each two, so that a task stays one thing to toggle."""
    x: list[float | int | None] = []
    y: list[float | int | None] = []
    for at, (stretch, places, heights) in enumerate(parts):
        if at:
            x.append(None)
            y.append(None)
        x += rounded(stretch.first + places)
        y += rounded(sketch.scaled(stretch.block.task, heights) if scaled else heights)
    return x, y


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


def _dots(sketch: Sketch, task: str, own: Sequence[Stretch], colour: str, symbol: str, scaled: bool) -> dict[str, Any]:
    """A task's evaluations; the line between two is left out where the task is learned in between."""

    def drawn(value: float) -> float:
        return float(sketch.scaled(task, np.array([value]))[0]) if scaled else value

    x: list[float | int | None] = []
    y: list[float | int | None] = []
    error: list[float | int | None] = []
    for one in own:
        if one.block.mode == "evaluate":
            mean, high = drawn(one.mean), drawn(one.mean if one.high is None else one.high)
            x += rounded([one.first + one.length / 2])
            y += rounded([mean])
            error += rounded([abs(high - mean)])
        elif x and x[-1] is not None:
            x.append(None)
            y.append(None)
            error.append(None)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": x,
        "y": y,
        "error_y": {"type": "data", "array": error, "thickness": 1.3, "width": 2},
        "name": literal(f"{task}, evaluated"),
        "meta": {"task": task},
        "line": {"color": colour, "width": 1, "dash": "dot"},
        "marker": {"color": colour, "symbol": symbol, "size": 8, "line": {"width": 1, "color": "#ffffff"}},
        "showlegend": False,
        "hovertemplate": "%{x}: %{y:.6g}<extra>%{fullData.name}</extra>",
    }
