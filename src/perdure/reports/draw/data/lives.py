"""What figures of one lifetime show: blocks, learning curves, evaluations, experts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from perdure.curves.arrays import Array
from perdure.errors import PerdureError
from perdure.frozen import frozen, replace
from perdure.reports.draw.data.view import Nothing, View, whose
from perdure.reports.material import Material
from perdure.reports.sketch import Beside, Sketch
from perdure.reports.stretches import Line, Stretch

__all__ = [
    "Evaluated",
    "EvaluationPanel",
    "EvaluationsData",
    "ExpertLine",
    "ExpertPanel",
    "ExpertsData",
    "Learned",
    "LifetimeData",
    "RawData",
    "RawPanel",
    "ScenarioData",
    "Span",
    "Stroke",
    "chosen",
    "drawn",
    "ends",
    "evaluations",
    "experts",
    "lifetime",
    "lifetime_of",
    "raw",
    "scenario",
    "scenario_of",
    "used",
    "x_words",
    "y_words",
]


@frozen(eq=False)
class Stroke:
    """Points of one line."""

    x: Array
    y: Array


@frozen
class Span:
    """A block on the x axis."""

    task: str
    mode: Literal["learn", "evaluate"]
    asleep: bool
    first: float
    last: float
    experiences: int


@frozen(eq=False)
class Learned:
    """A learning block: as logged, and smoothed."""

    task: str
    measured: Stroke
    smoothed: Stroke


@frozen
class Evaluated:
    """An evaluation block: the mean over its experiences, and its 95 % interval."""

    task: str
    x: float
    mean: float
    low: float | None
    """None for a single experience: one value has no spread, which is not a spread of 0."""
    high: float | None
    n: int
    """Experiences."""
    run: int
    """Evaluations of a task between two of its learning blocks are one run."""
    ahead: bool
    """Whether the task had not been learned yet."""


@frozen(eq=False)
class LifetimeData:
    """One lifetime over its length."""

    id: str
    x: str
    y: str
    tasks: tuple[str, ...]
    spans: tuple[Span, ...]
    learning: tuple[Learned, ...]
    evaluations: tuple[Evaluated, ...]


@frozen(eq=False)
class RawPanel:
    """A task's learning blocks one after the other."""

    task: str
    learning: tuple[Learned, ...]
    boundaries: tuple[int, ...]


@frozen(eq=False)
class RawData:
    """What was logged while learning, task by task."""

    id: str
    y: str
    panels: tuple[RawPanel, ...]
    one_axis: bool


@frozen
class EvaluationPanel:
    """A task's evaluations, and where it is learned."""

    task: str
    learning: tuple[Span, ...]
    evaluations: tuple[Evaluated, ...]


@frozen
class EvaluationsData:
    """Every evaluation of one lifetime, task by task."""

    id: str
    x: str
    y: str
    panels: tuple[EvaluationPanel, ...]
    one_axis: bool


@frozen(eq=False)
class ExpertLine:
    """One expert of a task, and where it is first at its best."""

    id: str
    line: Stroke
    best: tuple[float, float]


@frozen(eq=False)
class ExpertPanel:
    """A task's learning blocks stitched together, beside its experts."""

    task: str
    learner: Stroke
    best: tuple[float, float]
    boundaries: tuple[int, ...]
    experts: tuple[ExpertLine, ...]


@frozen(eq=False)
class ExpertsData:
    """One lifetime against experts, task by task."""

    id: str
    y: str
    panels: tuple[ExpertPanel, ...]
    one_axis: bool


@frozen
class ScenarioData:
    """The blocks of one lifetime."""

    id: str
    x: str
    tasks: tuple[str, ...]
    spans: tuple[Span, ...]


def lifetime(material: Material, view: View | None = None) -> LifetimeData | Nothing:
    """The lifetime asked for, or the first of its group."""
    view = view or View()
    sketch = chosen(material, view)
    return Nothing("there is no lifetime") if sketch is None else lifetime_of(sketch, view)


def lifetime_of(sketch: Sketch, view: View | None = None) -> LifetimeData | Nothing:
    """A lifetime's learning curves and evaluations over its length."""
    view = view or View()
    if not sketch.stretches:
        return Nothing("there is no lifetime")
    sketch = replace(sketch, stretches=tuple(sketch.stretches))  # which are made when they are looked at
    return LifetimeData(
        id=sketch.id,
        x=x_words(sketch, view),
        y=y_words(sketch, view),
        tasks=sketch.tasks,
        spans=tuple(_span(one, view) for one in sketch.stretches),
        learning=tuple(_learning(sketch, view)),
        evaluations=tuple(_evaluated(sketch, view)),
    )


def raw(material: Material, view: View | None = None) -> RawData | Nothing:
    """A panel per task that is learned, its blocks one after the other, as measured."""
    view = view or View()
    sketch = chosen(material, view)
    learning = [one for one in sketch.stretches if one.smoothed is not None] if sketch else []
    if sketch is None or not learning:
        return Nothing("no lifetime that learns anything")
    panels = []
    for task in sketch.tasks:
        own = [one for one in learning if one.block.task == task]
        if own:
            stops = np.cumsum([one.length for one in own]).tolist()
            pieces = tuple(
                Learned(task, _moved(one.measured, before), _moved(one.smoothed, before))
                for one, before in zip(own, [0, *stops[:-1]], strict=True)
                if one.smoothed is not None
            )
            panels.append(RawPanel(task, pieces, tuple(stops[:-1])))
    return RawData(sketch.id, _as_measured(sketch), tuple(panels), used(sketch, view) == "measured")


def evaluations(material: Material, view: View | None = None) -> EvaluationsData | Nothing:
    """A panel per task that is evaluated."""
    view = view or View()
    sketch = chosen(material, view)
    found = tuple(_evaluated(sketch, view)) if sketch else ()
    if sketch is None or not found:
        return Nothing("no lifetime with evaluations")
    spans = [_span(one, view) for one in sketch.stretches if one.block.mode == "learn"]
    evaluated = {one.task for one in found}
    panels = tuple(
        EvaluationPanel(
            task,
            tuple(one for one in spans if one.task == task),
            tuple(one for one in found if one.task == task),
        )
        for task in sketch.tasks
        if task in evaluated
    )
    # Scaled values share an axis; as measured they do only where their ranges go together.
    shared = used(sketch, view) == "scaled" or used(sketch, View()) == "measured"
    return EvaluationsData(sketch.id, x_words(sketch, view), y_words(sketch, view), panels, shared)


def experts(material: Material, view: View | None = None) -> ExpertsData | Nothing:
    """A panel per task that has experts."""
    view = view or View()
    sketch = chosen(material, view)
    if sketch is None or not sketch.beside:
        return Nothing("no task of this lifetime has an expert")
    panels = tuple(_expert_panel(one, one.task in sketch.lower) for one in sketch.beside)
    return ExpertsData(sketch.id, _as_measured(sketch), panels, used(sketch, view) == "measured")


def scenario(material: Material, view: View | None = None) -> ScenarioData | Nothing:
    """The blocks of the lifetime asked for."""
    view = view or View()
    sketch = chosen(material, view)
    return Nothing("there is no lifetime") if sketch is None else scenario_of(sketch, view)


def scenario_of(sketch: Sketch, view: View | None = None) -> ScenarioData | Nothing:
    """A lifetime's blocks."""
    view = view or View()
    if not sketch.stretches:
        return Nothing("there is no lifetime")
    spans = tuple(_span(one, view) for one in sketch.stretches)
    return ScenarioData(sketch.id, x_words(sketch, view), sketch.tasks, spans)


def used(sketch: Sketch, view: View) -> Literal["measured", "scaled"]:
    """Which values are drawn: as measured, unless asked otherwise or the tasks' ranges do not go together."""
    if view.values != "auto":
        return view.values
    return "measured" if sketch.ranges_agree else "scaled"


# --- parts ---------------------------------------------------------------------------------------


def chosen(material: Material, view: View) -> Sketch | None:
    """What is seen of the lifetime asked for, or of the first of its group."""
    lives = whose(material, view).lives
    return lives[0].sketch if lives else None


def x_words(sketch: Sketch, view: View) -> str:
    """What the x axis counts."""
    return view.axis if view.axis == "experiences" else f"{sketch.steps or 'steps'} taken"


def y_words(sketch: Sketch, view: View) -> str:
    """What the y axis shows."""
    if used(sketch, view) == "scaled":
        return f"{sketch.measure}, each task scaled 1–101"
    return _as_measured(sketch)


def _as_measured(sketch: Sketch) -> str:
    return sketch.measure + (" (lower is better)" if sketch.lower_is_better else "")


def _span(one: Stretch, view: View) -> Span:
    first, last = ends(one, view)
    return Span(one.block.task, one.block.mode, one.block.subtype == "sleep", first, last, one.length)


def ends(stretch: Stretch, view: View) -> tuple[float, float]:
    """Where a block begins and ends on the x axis."""
    if view.axis == "experiences":
        return stretch.first, stretch.first + stretch.length
    if stretch.steps is None:
        raise PerdureError(
            "no column of this log counts steps (looked for: steps, step_count, episode_steps, episode_step_count)",
            "log one, or draw over experiences",
        )
    return stretch.steps


def _learning(sketch: Sketch, view: View) -> Iterator[Learned]:
    for one in sketch.stretches:
        if one.smoothed is not None:
            measured, smoothed = (_stroke(sketch, one, line, view) for line in (one.measured, one.smoothed))
            yield Learned(one.block.task, measured, smoothed)


def _stroke(sketch: Sketch, stretch: Stretch, line: Line, view: View) -> Stroke:
    if view.axis == "experiences":
        x = (stretch.first + line.x).astype(np.float64)
    else:
        ends(stretch, view)
        assert line.steps is not None
        x = line.steps
    return Stroke(x, drawn(sketch, view, stretch.block.task, line.y))


def drawn(sketch: Sketch, view: View, task: str, values: Array) -> Array:
    """Values as measured, as they are drawn."""
    return sketch.scaled(task, values) if used(sketch, view) == "scaled" else values


def _evaluated(sketch: Sketch, view: View) -> Iterator[Evaluated]:
    """Every evaluation in its order, with the run of its task that it belongs to."""
    learned: dict[str, int] = {}
    for one in sketch.stretches:
        task = one.block.task
        if one.block.mode == "learn":
            learned[task] = learned.get(task, 0) + 1
            continue
        known = [value for value in (one.mean, one.low, one.high) if value is not None]
        mean, *reach = (float(value) for value in drawn(sketch, view, task, np.array(known)))
        low, high = (min(reach), max(reach)) if len(reach) == 2 else (None, None)
        middle = sum(ends(one, view)) / 2
        yield Evaluated(task, middle, mean, low, high, one.length, learned.get(task, 0), task not in learned)


def _moved(line: Line, by: float) -> Stroke:
    return Stroke((line.x + by).astype(np.float64), line.y)


def _expert_panel(one: Beside, lower: bool) -> ExpertPanel:
    lines = tuple(ExpertLine(name, _moved(line, 1), _best(line, lower)) for name, line in one.experts)
    return ExpertPanel(one.task, _moved(one.learner, 1), _best(one.learner, lower), one.boundaries, lines)


def _best(line: Line, lower: bool) -> tuple[float, float]:
    """Where a line is first at its best, counted from 1, and how good that is."""
    at = int(line.y.argmin() if lower else line.y.argmax())
    return float(line.x[at] + 1), float(line.y[at])
